"""An interviewer's score sheet once the questions are asked: every point of what was asked, and the overall call."""
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import QueryDict

from mocks.access import Presence
from mocks.report import FORMER
from mocks.report_page import CallChoices, interviewers_of, names_in
from mocks.room import CALLED, MOST_NOTE, MOST_SCORE, Call, Mark

WORDS = ("evidence", "comment")
FIELDS = ("value", *WORDS)
FIELD = re.compile(r"(?:value|evidence|comment)-(?P<position>\d{1,3})-(?P<point>[A-Za-z0-9_-]{1,60})")


def tidy(text: str) -> str:
    """A text as it is kept."""
    return text.replace("\r\n", "\n").strip()


@dataclass(frozen=True, slots=True)
class Entry:
    """A rubric point on the sheet, with the mark as it is kept or, where the sheet came back with a fault, as typed."""

    position: int
    point: Mapping[str, str]
    mark: Mark
    kept: Mark
    faults: Mapping[str, str]
    may_be_left: bool

    @property
    def name(self) -> str:
        """What its fields are called by."""
        return f"{self.position}-{self.point['id']}"

    @property
    def choices(self) -> list[tuple[int, str, bool]]:
        """Each score with its anchor, and whether it is the one given."""
        anchors = ("not said", self.point["named"], self.point["explained"], self.point["bounded"])
        return [(value, anchors[value], self.mark.value == value) for value in range(MOST_SCORE + 1)]

    @property
    def is_missing(self) -> bool:
        return self.kept.value is None and not self.may_be_left


class ScoreSheet(CallChoices):
    """The sheet of one interviewer. `sent` is a form that came back; what it does not hold is as it is kept."""

    def __init__(self, presence: Presence, sent: QueryDict | None = None) -> None:
        self.presence, self.sent = presence, sent if sent is not None else QueryDict()
        self.interview = presence.interview
        self.state = self.interview.folded()
        self.who = presence.who
        self.faults: dict[str, str] = {}

    @property
    def is_in(self) -> bool:
        return self.who in self.state.submitted

    @property
    def kept_call(self) -> Call:
        return self.state.calls.get(self.who, Call())

    @property
    def call(self) -> Call:
        """The overall call, as typed where the sheet came back."""
        return Call(*(self.sent.get(name, getattr(self.kept_call, name)) for name in CALLED))

    @property
    def most_text(self) -> int:
        return MOST_NOTE

    @property
    def fields(self) -> tuple[str, ...]:
        """What is sent of a point."""
        return FIELDS

    @cached_property
    def questions(self) -> list[tuple[int, str, list[Entry]]]:
        """The questions that were asked: number, title, their points."""
        found = []
        for position, (item, posed) in enumerate(zip(self.state.items, self.interview.asked, strict=True)):
            if item.opened:
                rubric = {point["id"]: point for point in posed["rubric"]}
                entries = [self.entry(position, rubric[point], item.skipped) for point in item.points]
                found.append((position + 1, posed["title"], entries))
        return found

    def entry(self, position: int, point: Mapping[str, str], may_be_left: bool) -> Entry:
        kept = self.state.mark(self.who, position, point["id"])
        name = f"{position}-{point['id']}"
        value = self.sent.get(f"value-{name}", "")
        typed = Mark(
            int(value) if re.fullmatch("[0-3]", value) else kept.value,
            *(self.sent.get(f"{word}-{name}", getattr(kept, word)) for word in WORDS))
        return Entry(position, point, typed, kept, {
            word: fault for word in WORDS if (fault := self.faults.get(f"{word}-{name}"))}, may_be_left)

    @property
    def missing(self) -> list[tuple[int, str, Entry]]:
        """The points that have no score yet, with their question's number and title."""
        return [(number, title, entry) for number, title, entries in self.questions for entry in entries
                if entry.is_missing]

    @property
    def waiting_for(self) -> list[str]:
        """The other interviewers whose scores are not in."""
        names = names_in(self.interview, self.state)
        return [names.get(who, FORMER) for who in interviewers_of(self.interview)
                if who != self.who and who not in self.state.submitted]

    def marks(self) -> dict[tuple[int, str], dict[str, Any]]:
        """What was changed on the page: {(position, point): what was given}. A field that stands as the page showed it
        says nothing, so that a page left open undoes nothing that was done elsewhere."""
        given: dict[tuple[int, str], dict[str, Any]] = {}
        for name in self.sent:
            if (match := FIELD.fullmatch(name)) and self.sent[name] != self.sent.get(f"was-{name}"):
                what, text = name.partition("-")[0], self.sent[name]
                if what == "value" and not re.fullmatch("[0-3]", text):
                    continue
                mark = given.setdefault((int(match["position"]), match["point"]), {})
                mark[what] = int(text) if what == "value" else tidy(text)
        return given

    def called(self) -> dict[str, str]:
        """What was changed of the call, likewise."""
        return {name: tidy(self.sent[name]) for name in CALLED
                if name in self.sent and self.sent[name] != self.sent.get(f"was-{name}", "") and (
                    self.sent[name] or name == "reason")}

    @property
    def shown_from_now(self) -> dict[str, str]:
        """What the page that was sent shows as kept from now on, by field."""
        return {name: self.sent[name] for name in self.sent if FIELD.fullmatch(name) or name in CALLED}

    @property
    def replaced(self) -> dict[str, str]:
        """By field, what another page of this interviewer has written since the one that was sent was shown, of which
        its words take the place."""
        found = {}
        for name in self.sent:
            typed, shown, kept = tidy(self.sent[name]), tidy(self.sent.get(f"was-{name}", "")), self.kept_text(name)
            if f"was-{name}" in self.sent and kept and kept not in (typed, shown) and typed != shown:
                found[name] = kept
        return found

    def kept_text(self, name: str) -> str:
        """The words kept for a field; "" where it takes none."""
        if name == "reason":
            return self.kept_call.reason
        match = FIELD.fullmatch(name)
        what = name.partition("-")[0]
        if match is None or what not in WORDS:
            return ""
        return getattr(self.state.mark(self.who, int(match["position"]), match["point"]), what)

    def check(self, *, hand_in: bool) -> bool:
        """Whether the sheet can be kept and, with `hand_in`, handed in; else `faults` says what is wrong, by field."""
        self.faults = dict(self.found_faults(hand_in=hand_in))
        self.__dict__.pop("questions", None)
        return not self.faults

    def found_faults(self, *, hand_in: bool) -> Iterator[tuple[str, str]]:
        for name in (*self.sent, "reason"):
            if (FIELD.fullmatch(name) or name == "reason") and len(self.sent.get(name, "")) > MOST_NOTE:
                yield name, f"At most {MOST_NOTE:,} characters; this is {len(self.sent[name]):,}."
        if not hand_in:
            return
        given = self.marks()
        missing = [entry for _, _, entry in self.missing
                   if given.get((entry.position, entry.point["id"]), {}).get("value") is None]
        if missing:
            yield "missing", f"{len(missing)} points have no score yet." if len(missing) > 1 else (
                "One point has no score yet.")
        for name, sentence in (("verdict", "Choose one of the four."), ("level", "Say at which level."),
                               ("reason", "A call needs its reason, in a sentence.")):
            if not getattr(self.call, name).strip():
                yield name, sentence
