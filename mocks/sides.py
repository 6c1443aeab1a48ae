"""What each part in an interview may see. A page is made from a side and from nothing else of the room.

The candidate's side is built of what was revealed to them, and the observers' is the same; all else stands on the
interviewers' side alone. Texts are safe HTML as they were posed; instants and spans are milliseconds.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from mocks.room import ASKING, OF_A_QUESTION, RUNNING, Item, Phase, Role, Room

ANCHORS = ("not said",)  # what a 0 says where the question has no words for it


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who takes a part; `here` while their page is open."""

    who: str
    name: str
    role: str
    here: bool


@dataclass(frozen=True, slots=True)
class Clock:
    """Time spent against time allowed; it runs from `since_ms`, or stands."""

    spent_ms: int
    allowed_ms: int
    since_ms: int | None

    def at(self, now_ms: int) -> int:
        """How much is spent by then."""
        return self.spent_ms + (max(0, now_ms - self.since_ms) if self.since_ms is not None else 0)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the interview stands: its phase, and the how-manyth question of how many (from 1; 0 without one)."""

    phase: str
    number: int
    count: int
    paused: bool

    @property
    def asking(self) -> bool:
        return self.phase in ASKING

    @property
    def of_a_question(self) -> bool:
        return self.phase in OF_A_QUESTION

    @property
    def running(self) -> bool:
        return self.phase in RUNNING


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is put to the candidate."""

    scenario: str  # ends in the question itself
    given: str  # its tables, "" without


@dataclass(frozen=True, slots=True)
class Shown:
    """A hint or a follow-up that was revealed, by whom and when on the question's clock."""

    kind: str  # "hint" or "follow-up"
    number: int
    html: str
    by: str
    clock_ms: int


@dataclass(frozen=True, slots=True)
class Lab:
    """The lab in front of the candidate: where it was pushed, as it was last set, and whether a commit is still due."""

    start: str
    address: str
    by: str
    committed: bool
    pushes: int  # how often one was pushed for this question


@dataclass(frozen=True, slots=True)
class Scratch:
    """The candidate's own text for a question, the first from 0; `open` while it may be written."""

    position: int
    text: str
    open: bool


@dataclass(frozen=True, slots=True)
class CandidateSide:
    """All that the candidate may see, and the observers with them."""

    place: Place
    people: tuple[Person, ...]
    whole: Clock
    question: Clock | None
    ask: Asked | None
    shown: tuple[Shown, ...]
    lab: Lab | None
    scratch: Scratch | None
    released: bool = False  # whether something of the report may be read by the candidate


@dataclass(frozen=True, slots=True)
class Rung:
    """A hint on the ladder: shown at a time, next to be shown, or neither."""

    number: int
    html: str
    shown: Shown | None
    is_next: bool


@dataclass(frozen=True, slots=True)
class FollowUp:
    number: int
    ask: str
    key: str
    shown: Shown | None


@dataclass(frozen=True, slots=True)
class Point:
    """A rubric point with the words for each score, 0 to 3, and what this interviewer made of it."""

    id: str
    html: str
    anchors: tuple[str, ...]
    value: int | None
    evidence: str
    comment: str


@dataclass(frozen=True, slots=True)
class Trap:
    said: str
    tempting: str
    refuted: str


@dataclass(frozen=True, slots=True)
class Staff:
    """The staff answer and what goes with it."""

    said: str
    derivation: str
    catch: str
    measure: str


@dataclass(frozen=True, slots=True)
class LabUse:
    """A lab as it stood at a time of the question's clock: pushed, set or committed."""

    kind: str
    address: str
    by: str
    clock_ms: int
    typed: str


@dataclass(frozen=True, slots=True)
class Note:
    """One of somebody's own notes; `clock_ms` is the question's clock, or the interview's outside of questions."""

    number: int
    clock_ms: int
    phase: str
    question: int  # from 1; 0 outside of one
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A question of the plan in the interviewers' list."""

    position: int
    title: str
    minutes: float
    spent_ms: int
    is_now: bool
    opened: bool
    skipped: bool
    unscored: int

    @property
    def number(self) -> int:
        return self.position + 1

    @property
    def words(self) -> str:
        return f"{self.number}, {self.title}"


@dataclass(frozen=True, slots=True)
class InterviewerSide:
    """All that an interviewer may see; `looked` is the question that the page shows, the one in hand unless chosen."""

    seen: CandidateSide  # what the candidate sees
    stamp: str
    looked: int | None
    looked_back: bool
    title: str
    ask: Asked | None
    staff: Staff | None
    points: tuple[Point, ...]
    submitted: bool
    hints: tuple[Rung, ...]
    follow_ups: tuple[FollowUp, ...]
    traps: tuple[Trap, ...]
    own_lab: str
    own_lab_title: str
    lab_uses: tuple[LabUse, ...]
    scratch: Scratch | None
    notes: tuple[Note, ...]
    rows: tuple[Row, ...]

    @property
    def next_position(self) -> int | None:
        """The first question of the plan that was neither asked nor skipped."""
        return next((row.position for row in self.rows if not row.opened), None)

    @property
    def scored(self) -> int:
        return sum(point.value is not None for point in self.points)


@dataclass(frozen=True, slots=True)
class ObserverSide:
    """What the candidate sees, and one's own notes."""

    seen: CandidateSide
    notes: tuple[Note, ...]


def mark_of(text: str) -> str:
    """A short name for exactly this text."""
    return sha256(text.replace("\r\n", "\n").encode()).hexdigest()[:12]


def digest_of(parts: object) -> str:
    """A short name for what a part of a page is made from, so that the page can tell what it has."""
    return sha256(repr(parts).encode()).hexdigest()[:8]


def candidate_side(room: Room, asked: Sequence[Mapping[str, Any]], people: Sequence[Person]) -> CandidateSide:
    """What the candidate may see. Of the questions as posed only the one in hand is looked at, and of it what was
    revealed."""
    item, names = room.item, {person.who: person.name for person in people}
    number = room.position + 1 if item is not None else 0
    return CandidateSide(
        place=Place(str(room.phase), number, len(room.items), room.paused),
        people=tuple(people),
        whole=Clock(room.spent_ms, room.allowed_ms, room.since_ms),
        question=Clock(item.spent_ms, item.allowed_ms, room.since_ms if room.phase in ASKING else None)
        if item else None,
        ask=asked_of(asked[room.position]) if item else None,
        shown=revealed(item, asked[room.position], names) if item else (),
        lab=lab_of(item, names) if item and room.phase in ASKING else None,
        scratch=Scratch(room.position, item.scratch, room.phase in ASKING) if item else None,
        released=bool(room.released),
    )


def observer_side(
    room: Room, asked: Sequence[Mapping[str, Any]], people: Sequence[Person], who: str
) -> ObserverSide:
    """What an observer may see."""
    return ObserverSide(seen=candidate_side(room, asked, people), notes=notes_of(room, who))


def interviewer_side(
    room: Room, asked: Sequence[Mapping[str, Any]], people: Sequence[Person], who: str, look: int | None = None
) -> InterviewerSide:
    """What an interviewer may see; `look` chooses another question than the one in hand."""
    names = {person.who: person.name for person in people}
    looked = looked_at(room, who, look)
    posed = asked[looked] if looked is not None else None
    item = room.items[looked] if looked is not None else None
    in_hand = item is not None and item is room.item
    shown = {(one.kind, one.number): one for one in revealed(item, posed, names)} if item else {}
    hints = len(item.shown_hints) if item else 0
    return InterviewerSide(
        seen=candidate_side(room, asked, people),
        stamp=room.stamp, looked=looked, looked_back=looked is not None and not in_hand,
        title=posed["title"] if posed else "",
        ask=asked_of(posed) if posed else None,
        staff=Staff(**{name: posed["answer"][name] for name in ("said", "derivation", "catch", "measure")})
        if posed else None,
        points=tuple(point_of(room, who, looked, point) for point in posed["rubric"]) if posed else (),
        submitted=who in room.submitted,
        hints=tuple(
            Rung(number, html, shown.get(("hint", number)), is_next=in_hand and number == hints)
            for number, html in enumerate(posed["hints"])) if posed else (),
        follow_ups=tuple(
            FollowUp(number, one["ask"], one["key"], shown.get(("follow-up", number)))
            for number, one in enumerate(posed["follow_ups"])) if posed else (),
        traps=tuple(Trap(one["said"], one["tempting"], one["refuted"]) for one in posed["traps"]) if posed else (),
        own_lab=posed["lab"] if posed else "", own_lab_title=posed["lab_title"] if posed else "",
        lab_uses=tuple(
            LabUse(one.kind, one.address, names.get(one.by, ""), one.clock_ms, one.typed) for one in item.labs
        ) if item else (),
        scratch=Scratch(looked, item.scratch, open=False) if item else None,
        notes=notes_of(room, who),
        rows=tuple(row_of(room, asked, who, position) for position in range(len(room.items))),
    )


def looked_at(room: Room, who: str, look: int | None) -> int | None:
    """The question that an interviewer's page shows: the one chosen, the one in hand, and once they are asked the first
    that lacks a score, else the last that was asked."""
    opened = [position for position, item in enumerate(room.items) if item.opened]
    if look in opened:
        return look
    if room.item is not None:
        return room.position
    if room.phase not in (Phase.DEBRIEF, Phase.OVER) or not opened:
        return None
    return next((position for position, _ in room.unscored(who)), opened[-1])


def asked_of(posed: Mapping[str, Any]) -> Asked:
    return Asked(**{name: posed["ask"][name] for name in ("scenario", "given")})


def revealed(item: Item, posed: Mapping[str, Any], names: Mapping[str, str]) -> tuple[Shown, ...]:
    """What was revealed of a question, in the order of its clock: hints, and what was asked further."""
    hints = [Shown("hint", one.number, posed["hints"][one.number], names.get(one.by, ""), one.clock_ms)
             for one in item.shown_hints]
    asks = [Shown("follow-up", one.number, posed["follow_ups"][one.number]["ask"], names.get(one.by, ""), one.clock_ms)
            for one in item.shown_follow_ups]
    return tuple(sorted((*hints, *asks), key=lambda one: one.clock_ms))


def lab_of(item: Item, names: Mapping[str, str]) -> Lab | None:
    if item.lab is None:
        return None
    pushed = [state for state in item.labs if state.kind == "pushed"]
    return Lab(pushed[-1].address, item.lab.address, names.get(pushed[-1].by, ""), item.lab_committed, len(pushed))


def point_of(room: Room, who: str, position: int, point: Mapping[str, str]) -> Point:
    mark = room.mark(who, position, point["id"])
    anchors = (*ANCHORS, point["named"], point["explained"], point["bounded"])
    return Point(point["id"], point["html"], anchors, mark.value, mark.evidence, mark.comment)


def notes_of(room: Room, who: str) -> tuple[Note, ...]:
    """This person's own notes."""
    return tuple(
        Note(one.number, one.question_ms if one.question_ms else one.clock_ms, one.phase,
             one.position + 1 if one.position is not None and one.phase in OF_A_QUESTION else 0, one.text)
        for one in room.remarks if one.by == who)


def row_of(room: Room, asked: Sequence[Mapping[str, Any]], who: str, position: int) -> Row:
    item = room.items[position]
    unscored = sum(room.mark(who, position, point).value is None for point in item.points)
    return Row(
        position, asked[position]["title"], item.minutes + item.extended_minutes, item.spent_ms,
        is_now=room.item is item, opened=item.opened, skipped=item.skipped,
        unscored=unscored if item.opened and not item.skipped else 0)


def part_of(role: str | None) -> str:
    """Whose side somebody gets: an owner without a part sees what the observers see."""
    return str(role) if role in (Role.INTERVIEWER, Role.CANDIDATE) else str(Role.OBSERVER)
