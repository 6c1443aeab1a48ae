"""A question as a file: read, written, checked, and compared with its row in the database."""
import json
import math
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import date
from enum import StrEnum
from hashlib import sha256
from typing import Any

import tomli_w

from questions.runs import in_order

HEADINGS = {
    "Said aloud": "said_aloud",
    "Derivation": "derivation",
    "The catch": "catch",
    "What I would measure": "measure",
}
TEXTS = ("ask", *HEADINGS.values())
# The keys that an entry of each array must have, and those it may have.
ARRAYS = {
    "rubric": (("id", "text", "named", "explained", "bounded"), ()),
    "hints": (("text",), ()),
    "traps": (("said", "tempting", "refuted"), ()),
    "follow_ups": (("ask", "key"), ()),
    "options": (("text", "why"), ("right",)),
    "sources": (("id",), ("file", "url", "symbol", "flag", "version", "date", "title")),
}


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """One question, as its file or its row holds it. Topic and slug are the file's path."""

    topic: str
    slug: str
    title: str = ""
    kind: str = ""
    level: str = ""
    minutes: int = 0
    draft: bool = False
    next: list[str] = field(default_factory=list)
    check: dict[str, Any] = field(default_factory=dict)
    keep: dict[str, Any] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    rubric: list[dict[str, Any]] = field(default_factory=list)
    hints: list[dict[str, Any]] = field(default_factory=list)
    traps: list[dict[str, Any]] = field(default_factory=list)
    follow_ups: list[dict[str, Any]] = field(default_factory=list)
    options: list[dict[str, Any]] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    ask: str = ""
    said_aloud: str = ""
    derivation: str = ""
    catch: str = ""
    measure: str = ""


FIELDS = {item.name: item for item in fields(QuestionFile)}
FRONT = [name for name in FIELDS if name not in ("topic", "slug", *TEXTS)]


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong and where: a field, an entry of an array ("rubric 3, text") or a run. `snippet` finds the line."""

    where: str
    sentence: str
    snippet: str = ""

    @property
    def field(self) -> str:
        """The document's field that it is about."""
        return re.split(r"[ .,]", self.where)[0]

    def __str__(self) -> str:
        return f"{self.where}: {self.sentence}"


class BadFile(ValueError):
    """A text that is no question file; `faults` says why."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = faults


def parse(text: str, topic: str, slug: str) -> QuestionFile:
    """The question that a file holds, its words trimmed and its dates as text.

    Raises BadFile when the text can't be carried as one; whether it is right is check()'s matter.
    """
    text = text.replace("\r\n", "\n")
    found = re.match(r"\s*^\+\+\+[ ]*\n(?P<front>.*?)^\+\+\+[ ]*$(?P<body>.*)", text, re.DOTALL | re.MULTILINE)
    if not found:
        raise BadFile([Fault("front matter", "The file begins with its front matter between two lines of +++.")])
    try:
        front = plain(tomllib.loads(found["front"]))
    except tomllib.TOMLDecodeError as fault:
        raise BadFile([Fault("front matter", f"Not TOML: {fault} (counted from the first +++).")]) from None
    faults = [Fault(name, "There is no such key.", name) for name in front if name not in FRONT]
    for name in FRONT:
        wanted = type(getattr(QuestionFile("", ""), name))
        if name in front and type(front[name]) is not wanted:
            faults.append(Fault(name, f"It takes {KIND_OF[wanted]}.", name))
    faults += [Fault(name, NOT_HELD, name) for name, value in front.items() if not all(map(can_be_held, leaves(value)))]
    texts, odd = split_body(found["body"])
    if "\0" in found["body"]:
        odd.append(Fault("body", NOT_HELD))
    if faults + odd:
        raise BadFile(faults + odd)
    return QuestionFile(topic=topic, slug=slug, **front, **texts)


NOT_HELD = "It takes texts without NUL, finite numbers, true and false."
KIND_OF = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}


def split_body(body: str) -> tuple[dict[str, str], list[Fault]]:
    """The ask and the parts of the answer by field, trimmed, and what is wrong with the headings."""
    first, *rest = re.split(r"^##[ ]+(.*?)[ ]*$", body, flags=re.MULTILINE)
    texts, faults = {"ask": first.strip()}, []
    for heading, part in zip(rest[::2], rest[1::2], strict=True):
        name = HEADINGS.get(heading)
        if name is None:
            faults.append(Fault("body", f"There is no part “{heading}”; there are {', '.join(HEADINGS)}.", heading))
        elif name in texts:
            faults.append(Fault("body", f"The part “{heading}” stands there twice.", heading))
        else:
            texts[name] = part.strip()
    return texts, faults


def plain(value: Any) -> Any:
    """The value with its dates as text, so that it fits JSON."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def can_be_held(leaf: Any) -> bool:
    """Whether the database takes it."""
    if isinstance(leaf, str):
        return "\0" not in leaf
    return isinstance(leaf, int) or (isinstance(leaf, float) and math.isfinite(leaf))


def leaves(value: Any) -> Iterator[Any]:
    """Every key and every plain value in a table."""
    if isinstance(value, dict):
        yield from value
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)
    else:
        yield value


def dump(document: QuestionFile) -> str:
    """The file of a question; parse() reads the same question from it."""
    front = {name: getattr(document, name) for name in FRONT if getattr(document, name) != default_of(name)}
    if "runs" in front:
        front["runs"] = {name: front["runs"][name] for name in in_order(front["runs"])}
    body = "\n\n".join(
        f"## {heading}\n{getattr(document, name)}" for heading, name in HEADINGS.items() if getattr(document, name)
    )
    return f"+++\n{tomli_w.dumps(front)}+++\n{document.ask}\n\n{body}\n"


def default_of(name: str) -> Any:
    """What a field holds when its file does not name it."""
    return getattr(QuestionFile("", ""), name)


def digest(document: Any) -> str:
    """A fingerprint of the content of a question or a note: the same for other bytes with the same meaning, and for
    fields at their default."""
    blank = type(document)("", "")
    content = {item.name: lean(item.name, settled(getattr(document, item.name))) for item in fields(document)}
    content = {name: value for name, value in content.items() if value != getattr(blank, name)}
    return sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def settled(value: Any) -> Any:
    """The value without what carries no meaning: the kind of line end, space around a text, 2.0 for 2."""
    if isinstance(value, dict):
        return {key: settled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [settled(item) for item in value]
    if isinstance(value, str):
        return value.replace("\r\n", "\n").strip()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def lean(name: str, value: Any) -> Any:
    """An array's entries and the runs without the keys that say nothing: an empty text, a false, an empty table."""
    def kept(table: Any) -> Any:
        return {k: v for k, v in table.items() if v not in ("", False, {}, [])} if isinstance(table, dict) else table

    if name in ARRAYS:
        return [kept(entry) for entry in value]
    return {run: kept(table) for run, table in value.items()} if name == "runs" else value


class Act(StrEnum):
    """What loading does with one question."""

    CREATE = "create"
    UPDATE = "update"
    NOTHING = "nothing"
    KEEP_EDIT = "keep the edit"
    CAME_HOME = "the edit came home"
    CONFLICT = "conflict"
    RETIRE = "retire"
    KEEP_OWN = "keep what was made in the admin"


def decide(file: str | None, row: str | None, loaded: str) -> Act:
    """What to do, from three digests: the file's (None: no file), the row's (None: no row), the row's at its last load
    ("": never loaded). A row is edited when it differs from what was loaded."""
    if row is None:
        return Act.CREATE
    if file is None:
        return Act.RETIRE if loaded else Act.KEEP_OWN
    if row == loaded:
        return Act.NOTHING if file == row else Act.UPDATE
    if file == row:
        return Act.CAME_HOME
    return Act.KEEP_EDIT if file == loaded else Act.CONFLICT
