"""A `vllm serve` command read: from shell text to flags with their values, as the parser of 0.33.0 takes them."""
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from calculators.models.base import Refusal
from calculators.models.serve_flags import (
    BY_DEST,
    CONFIG,
    FLAGS,
    GONE,
    JSON,
    JSON_OR_TEXT,
    MAYBE,
    REPEATED,
    SEVERAL,
    Flag,
    dashed,
    flag_called,
    flags_begun,
    nearest,
)
from calculators.models.serve_values import DEEPEST, check_keys, document, said, size, value_of, written
from calculators.models.shell_words import Word, split

MOST_WORDS = 2_000
MOST_NEAR = 30  # unknown flags that a spelling is looked up for
DEFAULT_MODEL = "Qwen/Qwen3-0.6B"
NEGATIVE = re.compile(r"-[0-9]+")
ENV = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
OTHER_STARTS = ("vllm.entrypoints.openai.api_server", "vllm/vllm-openai")  # a module, an image
DASHES = ("–", "—", "−")


class Given(NamedTuple):
    """One flag of a command: its name and value as they were typed, what they mean, and the line they stand on."""

    flag: Flag
    typed: str
    value: Any
    line: int = 0
    text: str = ""


class Unknown(NamedTuple):
    """A word that the parser refuses: the words, why, and the flag whose spelling is nearest ("" for none)."""

    text: str
    why: str
    near: str
    line: int


@dataclass(slots=True)
class Command:
    """A command as read: the model, the environment before it, its flags in order, and what is wrong with it.

    `unknown` is what the parser refuses; `faults` are what a shell trips over; `notes` are worth knowing.
    """

    model: str = ""
    env: dict[str, str] = field(default_factory=dict)
    given: list[Given] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def values(self) -> dict[str, Any]:
        """The value of each flag by the engine's name for it; one given twice holds its last."""
        return {one.flag.dest: one.value for one in self.given}

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting: what is given, and the parser's default of what is not."""
        return {flag.dest: flag.default for flag in FLAGS} | self.values

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is wrong, a sentence each."""
        return (*self.faults, *(one.why for one in self.unknown))


def read(text: str) -> Command:
    """The first `vllm serve` command of a text, or a bare list of flags. What can't be read is said, never raised."""
    words, faults = split(text)
    command = Command(faults=list(faults))
    if len(words) > MOST_WORDS:
        command.faults.append(f"Only the first {MOST_WORDS:,} words were read.")
        words = words[:MOST_WORDS]
    start = begin(words)
    if start is None:
        command.faults.append("No vllm serve command is in it, and no list of flags.")
        return command
    for word in words[:start]:
        if found := ENV.fullmatch(word.text):
            command.env[found[1]] = found[2]
    rest = [normal(word) for word in words[start:]]
    command.faults += (f"Line {word.line}: {word.text[:1]} is a typesetter’s dash; a flag begins with two plain ones."
                       for word in words[start:] if word.text[:1] in DASHES)
    command.faults += (f"Line {word.line}: no backslash ends the line before it, so a shell takes it for a command of "
                       "its own." for word in rest[1 if start == 0 else 0:] if word.parted)
    Reading(command, rest).run()
    return command


def begin(words: tuple[Word, ...]) -> int | None:
    """The place of the first argument; None where no command is found."""
    for at, word in enumerate(words):
        if word.text.rpartition("/")[2] == "vllm" and at + 1 < len(words) and words[at + 1].text == "serve":
            return at + 2
        if word.text.startswith(OTHER_STARTS):
            return at + 1
    first = next((at for at, word in enumerate(words) if not ENV.fullmatch(word.text)), None)
    if first is not None and words[first].text.startswith(("-", *DASHES)):
        return first
    return None


def normal(word: Word) -> Word:
    """The word with a typesetter's dashes at its head made two plain ones."""
    if word.text[:1] not in DASHES:
        return word
    return word._replace(text="--" + word.text.lstrip("".join(DASHES) + "-"))


class Reading:
    """The parser's way through the words: `at` is the next; what it makes of them goes into the command."""

    def __init__(self, command: Command, words: list[Word]) -> None:
        self.command = command
        self.words = words
        self.at = 0
        self.dotted: dict[str, tuple[Flag, dict[str, Any], str, int]] = {}

    def run(self) -> None:
        only_values = False
        while self.at < len(self.words):
            word = self.words[self.at]
            if only_values or is_value(word.text):
                self.at += 1
                self.positional(word)
            elif word.text == "--":
                self.at, only_values = self.at + 1, True
            else:
                self.at += 1
                self.option(word)
        for flag, value, typed, line in self.dotted.values():
            self.take(flag, typed, lambda flag=flag, value=value: checked(flag, value), line, written(value))
        self.say_twice()
        if not self.command.model:
            self.command.model = self.command.values.get("model", "")

    def positional(self, word: Word) -> None:
        if self.command.model:
            self.refuse(word.text, f"{said(word.text)} belongs to no flag; the model is {self.command.model}.", word)
        else:
            self.command.model = word.text

    def option(self, word: Word) -> None:
        """One flag with its values, or what is wrong with it."""
        name, equals, rest = word.text.partition("=")
        text = rest if equals else None
        if level := re.fullmatch(r"-O=?(.*)", word.text):
            flag, name, text = BY_DEST["optimization_level"], "-O", level[1] or None
        elif "." in name:
            self.dotted_key(name, text, word)
            return
        else:
            flag, name, attached = found(name, word.text)
            text = attached if text is None else text
        if flag is None:
            self.unknown(word, name)
        elif flag.takes_value:
            self.valued(flag, name, text, word)
        elif text is not None:
            self.refuse(word.text, f"{name} takes no value; {opposite(flag, name, text)}", word)
        else:
            self.take(flag, name, lambda: dashed(name) not in flag.off, word.line)

    def valued(self, flag: Flag, name: str, text: str | None, word: Word) -> None:
        """A flag and its value: `text` if it stands in the same word, else the words after it."""
        most = {SEVERAL: len(self.words), MAYBE: 1}.get(flag.many, 1)
        texts = list(self.values_ahead(most)) if text is None else [text]
        if not texts and flag.many == MAYBE:
            self.take(flag, name, lambda: True, word.line)
        elif not texts:
            self.refuse(name, f"{name} needs a value.", word)
        elif flag.many == SEVERAL:
            self.take(flag, name, lambda: [value_of(flag, one) for one in texts], word.line, " ".join(texts))
        else:
            self.take(flag, name, lambda: value_of(flag, texts[0]), word.line, texts[0])

    def values_ahead(self, most: int) -> Iterator[str]:
        """The words ahead that are values, at most so many; they are used up."""
        while most and self.at < len(self.words) and is_value(self.words[self.at].text):
            yield self.words[self.at].text
            self.at, most = self.at + 1, most - 1

    def take(self, flag: Flag, name: str, make: Callable[[], Any], line: int, text: str = "") -> None:
        """Add a flag whose value can be made; else say why not."""
        try:
            value = make()
        except Refusal as why:
            self.command.unknown.append(Unknown(f"{name} {text}".strip(), str(why), "", line))
            return
        if flag.many == REPEATED:
            value = [*self.command.values.get(flag.dest, []), value]
        self.command.given.append(Given(flag, name, value, line, text))

    def dotted_key(self, name: str, text: str | None, word: Word) -> None:
        """A key of a JSON flag given by itself, `--compilation-config.mode 3`; all keys of a flag make one value."""
        if text is None:
            text = next(self.any_ahead(), None)
        head, *keys = name.removesuffix("+").split(".")
        flag, head, _ = found(head, head)
        if name[1:].replace(".", "", 1).isdigit():
            self.refuse(name, f"The parser takes {name} for a key, for its dash and dot; write it after the flag’s =.",
                        word)
        elif flag is None:
            self.unknown(word, head)
        elif flag.kind not in (CONFIG, JSON, JSON_OR_TEXT) or not all(keys):
            self.refuse(name, f"{flag.name} has no keys; its value stands after a space.", word)
        elif text is None:
            self.refuse(name, f"{name} needs a value.", word)
        elif len(keys) > DEEPEST:
            self.refuse(name, f"{said(name)} is nested more than {DEEPEST} deep.", word)
        else:
            _, held, _, _ = self.dotted.setdefault(flag.dest, (flag, {}, head, word.line))
            merge(held, keys, text.split(",") if name.endswith("+") else guessed(text))

    def any_ahead(self) -> Iterator[str]:
        """The word ahead, whatever it is; it is used up."""
        if self.at < len(self.words):
            self.at += 1
            yield self.words[self.at - 1].text

    def unknown(self, word: Word, name: str) -> None:
        """A flag that 0.33.0 does not have, with what stands after it."""
        begun = flags_begun(name)
        after = self.words[self.at].text if self.at < len(self.words) else ""
        takes = after and is_value(after) and (self.command.model or "/" not in after) and "=" not in word.text
        text = f"{word.text} {after}" if takes else word.text
        self.at += bool(takes)
        long = "--" + name.lstrip("-").replace("_", "-")
        near = ""
        if len(begun) > 1:
            why = f"{name} may be {', '.join(begun[:4])}{' …' if len(begun) > 4 else ''}."
        elif long in GONE:
            why = f"{long} was removed. {GONE[long]}"
        else:
            near = nearest(name) if len(self.command.unknown) < MOST_NEAR else ""
            why = f"0.33.0 has no flag {name}" + (f"; the nearest is {near}." if near else ".")
        self.command.unknown.append(Unknown(text, why, near, word.line))

    def refuse(self, text: str, why: str, word: Word) -> None:
        self.command.unknown.append(Unknown(text, why, "", word.line))

    def say_twice(self) -> None:
        """Name what was given more than once: the last one counts."""
        seen: set[str] = set()
        for one in self.command.given:
            if one.flag.dest in seen and one.flag.many != REPEATED:
                self.command.notes.append(f"{one.flag.name} is given twice; the last one counts.")
            seen.add(one.flag.dest)


def is_value(text: str) -> bool:
    """Whether the parser takes a word for a value: what begins with no dash, is a negative number or has a space."""
    if not text.startswith("-") or text == "-":
        return True
    if text == "--" or flag_called(text.partition("=")[0]) is not None:
        return False
    return bool(NEGATIVE.fullmatch(text)) or (" " in text and "=" not in text.partition(" ")[0])


def found(name: str, text: str) -> tuple[Flag | None, str, str | None]:
    """The flag that a name means, its whole name, and a value written right behind a short one ("-n2")."""
    if flag := flag_called(name):
        return flag, name, None
    begun = flags_begun(name)
    if len(begun) == 1 and (name.startswith("--") or "=" not in text):
        return flag_called(begun[0]), begun[0], None
    if not name.startswith("--") and (flag := flag_called(text[:2])) and len(text) > 2:
        return flag, text[:2], text[2:].removeprefix("=")
    return None, name, None


def opposite(flag: Flag, name: str, value: str) -> str:
    """How to say what "--flag=false" meant."""
    if value.lower() in ("false", "0", "off", "no"):
        return f"write {flag.negative}." if flag.negative else "leave it out."
    return f"write {name} alone."


def guessed(text: str) -> Any:
    """The value of a dotted key: JSON, else a size, else the text itself."""
    for read_as in (document, size):
        try:
            return read_as("", text)
        except Refusal:
            continue
    return text


def merge(held: dict[str, Any], keys: list[str], value: Any) -> None:
    """Put a value under its keys, beside what the other keys hold."""
    for key in keys[:-1]:
        inner = held.get(key)
        if not isinstance(inner, dict):
            inner = held[key] = {}
        held = inner
    last = keys[-1]
    if isinstance(value, list) and isinstance(held.get(last), list):
        value = held[last] + value
    held[last] = value


def checked(flag: Flag, value: dict[str, Any]) -> dict[str, Any]:
    """A value made of dotted keys, its keys known."""
    if flag.kind == CONFIG:
        check_keys(flag.name, flag.keys or {}, value)
    return value
