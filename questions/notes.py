"""Number cards as files: a deck is a topic's notes, read, written and checked by the same rules as the questions."""
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import tomli_w

from calculators.models.base import Refusal
from calculators.models.quantity import read, say, unit_of
from questions.checking import SLUG, check_entry, check_source, is_number
from questions.content import ARRAYS, KIND_OF, NOT_HELD, BadFile, Fault, can_be_held, leaves, plain, settled
from questions.figures import BadFigure, Ran, resolve
from questions.markup import unsafe
from questions.runs import RunLab

CALC_KEYS = ("lab", "view", "values", "figure")
LONGEST = {"ask": 160, "shown": 16, "unit": 24, "origin": 300, "cue": 120}
BLOCK = re.compile(r"^(?=\[\[note\]\]\s*$)", re.MULTILINE)
UNIT_ENDINGS = {
    "us": "µs", "ms": "ms", "s": "s", "bytes": "bytes", "kib": "KiB", "mib": "MiB", "gib": "GiB", "gb": "GB",
    "share": "×",
}


@dataclass(frozen=True, slots=True)
class NoteFile:
    """One number to know. `value` and the range `accept` (low, high) are in `unit`; the range is for a typed estimate.

    `shown` is how the card writes the value where that is not the number itself ("31k", "85 to 90"). `calc` is the run
    of a lab that computes it. With `reverse` it is drilled from the number as well, which stands there with a `cue`.
    """

    topic: str
    slug: str
    ask: str = ""
    value: float = 0
    shown: str = ""
    unit: str = ""
    accept: list[float] = field(default_factory=list)
    origin: str = ""
    source: dict[str, Any] = field(default_factory=dict)
    calc: dict[str, Any] = field(default_factory=dict)
    reverse: bool = True
    cue: str = ""
    draft: bool = False


KEYS = {item.name: type(getattr(NoteFile("", ""), item.name)) for item in fields(NoteFile) if item.name != "topic"}


def parse_deck(text: str, topic: str) -> list[NoteFile]:
    """The notes of a deck's text in its order, dates as text.

    Raises BadFile when the text can't be carried as a deck; whether it is right is check_note()'s matter.
    """
    try:
        deck = plain(tomllib.loads(text.replace("\r\n", "\n")))
    except tomllib.TOMLDecodeError as fault:
        raise BadFile([Fault("deck", f"Not TOML: {fault}.")]) from None
    entries = deck.pop("note", [])
    faults = [Fault("deck", f"There is no such key: {name}; a deck holds [[note]] only.", name) for name in deck]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        faults.append(Fault("deck", "Each note is a table under [[note]].", "note"))
        entries = []
    for number, entry in enumerate(entries, 1):
        faults += shape_faults(entry, number)
    if faults:
        raise BadFile(faults)
    return [NoteFile(topic=topic, **entry) for entry in entries]


def shape_faults(entry: Mapping[str, Any], number: int) -> Iterator[Fault]:
    """What keeps a table from being a note: an unknown key, a value of the wrong kind, no slug."""
    name = entry.get("slug") if isinstance(entry.get("slug"), str) else f"note {number}"
    if "slug" not in entry:
        yield Fault(name, "It has no slug.")
    if not all(map(can_be_held, leaves(entry))):
        yield Fault(name, NOT_HELD)
    for key, value in entry.items():
        if key not in KEYS:
            yield Fault(name, f"{key}: There is no such key.", key)
        elif key == "value" and not is_number(value):
            yield Fault(name, "value: It takes a number.", key)
        elif key != "value" and type(value) is not KEYS[key]:
            yield Fault(name, f"{key}: It takes {KIND_OF[KEYS[key]]}.", key)


def dump_note(note: NoteFile) -> str:
    """A note's block of a deck file; parse_deck() reads the same note from it."""
    blank = asdict(NoteFile("", ""))
    held = {"slug": note.slug} | {
        name: settled(value) for name, value in asdict(note).items() if name in KEYS and value != blank[name]
    }
    written = tomli_w.dumps({"note": held}).replace("[note]\n", "[[note]]\n", 1)
    return re.sub(r"\[\n((?: {4}.*\n)+)\]", lambda found: f"[{' '.join(found[1].split()).rstrip(',')}]", written)


def with_note(text: str, note: NoteFile) -> str:
    """A deck's text with this note in the place of the one of its slug, or at the end; the others stay as written."""
    head, *blocks = BLOCK.split(text)
    slugs = [tomllib.loads(block)["note"][0].get("slug") for block in blocks]
    block = dump_note(note).rstrip() + "\n\n"
    if note.slug in slugs:
        blocks[slugs.index(note.slug)] = block
    else:
        blocks = [*(one.rstrip() + "\n\n" for one in blocks), block]
    return (head + "".join(blocks)).strip() + "\n"


def shown_value(note: Any) -> str:
    """The value as the card writes it, without its unit; `note` is a NoteFile or its row."""
    return note.shown or say(note.value, "", 4)


def check_note(note: NoteFile, run_lab: RunLab) -> list[Fault]:
    """Every fault of a note, none when it is right; `run_lab` runs a view of a lab and raises Refusal."""
    return [*check_words(note), *check_range(note), *check_origin(note), *check_calc(note, run_lab)]


def check_words(note: NoteFile) -> Iterator[Fault]:
    """What the card says."""
    for name in ("topic", "slug"):
        if not SLUG.fullmatch(getattr(note, name)):
            yield Fault(name, f"“{getattr(note, name)}” is no slug: small letters, digits and single hyphens.")
    for name, most in LONGEST.items():
        text = getattr(note, name)
        if len(text) > most:
            yield Fault(name, f"It has {len(text)} characters; {most} at most.", name)
        yield from (Fault(name, sentence) for sentence in unsafe(text))
    for name in ("ask", "origin"):
        if not getattr(note, name).strip():
            yield Fault(name, "It is missing.")
    if note.reverse and not note.cue.strip():
        yield Fault("cue", "The number alone says too little: give it a cue, or reverse = false.")
    if note.cue and not note.reverse:
        yield Fault("cue", "Without a reverse side there is nothing to give a cue for.", note.cue)


def check_range(note: NoteFile) -> Iterator[Fault]:
    """The value, its unit and what is taken for right."""
    if re.search(r"[0-9/ ]", note.unit) and unit_of(note.unit) is None:
        yield Fault("unit", f"The unit “{note.unit}” can't be read.", note.unit)
    if len(note.accept) != 2 or not all(is_number(end) for end in note.accept):
        yield Fault("accept", "It takes two numbers, the lowest and the highest.", "accept")
    elif not is_number(note.value):
        yield Fault("value", "It takes a number.", "value")
    elif not note.accept[0] <= note.value <= note.accept[1]:
        yield Fault("accept", f"The value {say(note.value, note.unit, 4)} is not in the range.", "accept")


def check_origin(note: NoteFile) -> Iterator[Fault]:
    """Where the number was read, as of when."""
    if note.source:
        _, allowed = ARRAYS["sources"]
        yield from check_entry("source", note.source, (), allowed)
        yield from check_source("source", note.source)


def check_calc(note: NoteFile, run_lab: RunLab) -> Iterator[Fault]:
    """The lab that computes the number exists, takes the values, and comes to a number within the range."""
    if not note.calc:
        return
    yield from (Fault(f"calc.{key}", "There is no such key.", key) for key in note.calc if key not in CALC_KEYS)
    if not all(isinstance(note.calc.get(key), str) for key in ("lab", "figure")):
        yield Fault("calc", "It names a lab and a figure.", "calc")
        return
    try:
        value = computed(note, run_lab)
    except (Refusal, BadFigure) as fault:
        yield Fault("calc", str(fault), note.calc["lab"])
        return
    if len(note.accept) == 2 and not note.accept[0] <= value <= note.accept[1]:
        yield Fault("calc", f"The lab comes to {say(value, note.unit, 4)}, outside the range.", note.calc["lab"])


def computed(note: Any, run_lab: RunLab) -> float:
    """What the lab of `calc` comes to, in the note's unit; a figure whose name does not end in a unit is in it already.

    Raises Refusal or BadFigure when it comes to no such number.
    """
    ran = run_lab(note.calc["lab"], note.calc.get("view", ""), note.calc.get("values", {}))
    figure = note.calc["figure"]
    value = resolve(f"run.{figure}", {"run": Ran(ran.inputs, ran.result)})
    if not is_number(value):
        raise BadFigure(f"“{figure}” is no number.")
    last = re.split(r"[._]", figure)
    unit = UNIT_ENDINGS.get(last[-1], "") if "per" not in last[-2:-1] else ""
    return read(f"{value!r} {unit}", note.unit).value if unit else float(value)
