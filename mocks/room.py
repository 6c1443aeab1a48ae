"""An interview as its events tell it. `fold(events)` is the whole of a room's state; nothing else decides it.

Instants are whole milliseconds since the epoch, UTC; spans are milliseconds. People are known by their number, as text.
"""
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from calculators.models.base import Refusal

MOST_TEXT = 20_000  # characters of a scratchpad
MOST_NOTE = 2_000
MOST_ADDRESS = 4_000
MOST_EXTENSION_MINUTES = 60
LATE_MS = 15_000  # within which a text typed before the interview moved on still arrives
LATE_ALONE_MS = 2_000
TOO_LATE = "The time for this question is over; its scratchpad stays as it is."
LEAST_SCORE, MOST_SCORE = 0, 3
VERDICTS = ("strong yes", "yes", "no", "strong no")
LEVELS = ("senior", "staff", "principal")
CALLED = ("verdict", "level", "reason")
PARTS = ("scores", "answers", "comments")
# What the candidate and the observers are told nothing of, not even that it happened.
KEPT_BACK = frozenset({"note", "drop_note", "score", "call", "submit", "agree", "agree_call"})


class Phase(StrEnum):
    LOBBY = "lobby"
    BRIEF = "brief"
    ANSWER = "answer"
    FOLLOW_UPS = "follow-ups"
    SCORE = "score"
    DEBRIEF = "debrief"
    OVER = "over"
    CALLED_OFF = "called off"


ASKING = (Phase.ANSWER, Phase.FOLLOW_UPS)
OF_A_QUESTION = (*ASKING, Phase.SCORE)
RUNNING = (Phase.BRIEF, *OF_A_QUESTION, Phase.DEBRIEF)


class Role(StrEnum):
    INTERVIEWER = "interviewer"
    CANDIDATE = "candidate"
    OBSERVER = "observer"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that was done in a room: the `ordinal`-th, by `actor`, at `at_ms`."""

    ordinal: int
    kind: str
    actor: str
    at_ms: int
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reveal:
    """A hint or a follow-up that the candidate was shown, at `clock_ms` of its question."""

    number: int
    clock_ms: int
    by: str


@dataclass(frozen=True, slots=True)
class LabState:
    """A lab as it stood: pushed by an interviewer, set by the candidate, or what the candidate committed to."""

    kind: str  # "pushed", "set" or "committed"
    address: str
    by: str
    clock_ms: int
    typed: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """A private note, stamped with the interview's clock, phase and question; `number` is its event's ordinal."""

    number: int
    by: str
    clock_ms: int
    question_ms: int
    phase: str
    position: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Item:
    """A question of the plan and what has come of it."""

    slug: str
    minutes: float
    points: tuple[str, ...] = ()
    hints: int = 0
    follow_ups: int = 0
    spent_ms: int = 0
    opened: bool = False
    skipped: bool = False
    extended_minutes: float = 0
    shown_hints: tuple[Reveal, ...] = ()
    shown_follow_ups: tuple[Reveal, ...] = ()
    labs: tuple[LabState, ...] = ()
    lab_open: bool = False
    scratch: str = ""
    scratch_at: int = 0  # the ordinal of the event that wrote it; 0 while nothing is written

    @property
    def lab(self) -> LabState | None:
        """The lab in front of the candidate as it was last set."""
        shown = [state for state in self.labs if state.kind != "committed"]
        return shown[-1] if self.lab_open and shown else None

    @property
    def lab_committed(self) -> bool:
        """Whether something was committed in the lab since it was last pushed: until then it holds its result."""
        kinds = [state.kind for state in self.labs]
        return "committed" in kinds[len(kinds) - 1 - kinds[::-1].index("pushed"):] if "pushed" in kinds else False

    @property
    def allowed_ms(self) -> int:
        return round((self.minutes + self.extended_minutes) * 60_000)


@dataclass(frozen=True, slots=True)
class Mark:
    """One interviewer's judgement of one rubric point; `clock_ms` is its question's clock when it was last changed
    while that question was in hand."""

    value: int | None = None
    evidence: str = ""
    comment: str = ""
    clock_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """An overall judgement: at which level, and why."""

    verdict: str = ""
    level: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Room:
    """Where an interview stands after so many events."""

    length: int = 0
    open_length: int = 0  # how many of them everybody in the room may know of
    moved_ms: int | None = None  # when it last came into another phase or to another question
    phase: Phase = Phase.LOBBY
    position: int | None = None
    minutes: float = 0
    extended_minutes: float = 0
    items: tuple[Item, ...] = ()
    started_ms: int | None = None
    ended_ms: int | None = None
    spent_ms: int = 0
    since_ms: int | None = None  # when what runs now began to; None while nothing does
    paused: bool = False
    remarks: tuple[Remark, ...] = ()
    marks: Mapping[str, Mapping[str, Mapping[str, Mark]]] = field(default_factory=dict)  # {who: {position: {point: }}}
    calls: Mapping[str, Call] = field(default_factory=dict)
    submitted: Mapping[str, int] = field(default_factory=dict)  # {who: ordinal}
    agreed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # {position: {point: value}}
    agreed_call: Call = Call()
    released: tuple[str, ...] = ()
    drilled: tuple[str, ...] = ()  # slugs that the candidate took into the drill

    @property
    def item(self) -> Item | None:
        """The question in hand."""
        return self.items[self.position] if self.position is not None and self.phase in OF_A_QUESTION else None

    @property
    def is_over(self) -> bool:
        return self.phase == Phase.OVER

    @property
    def is_called_off(self) -> bool:
        """Whether it was taken back before it began."""
        return self.phase == Phase.CALLED_OFF

    @property
    def has_begun(self) -> bool:
        return self.phase not in (Phase.LOBBY, Phase.CALLED_OFF)

    @property
    def stamp(self) -> str:
        """What a page names when it moves the interview on, so that a second click finds it moved."""
        return f"{self.phase}:{'' if self.position is None else self.position}"

    @property
    def allowed_ms(self) -> int:
        return round((self.minutes + self.extended_minutes) * 60_000)

    def clock_ms(self, now_ms: int) -> int:
        """How long the interview has run, without its pauses."""
        return self.spent_ms + (max(0, now_ms - self.since_ms) if self.since_ms is not None else 0)

    def question_ms(self, now_ms: int) -> int:
        """How long the question in hand has been asked, without pauses; 0 without one."""
        if self.item is None:
            return 0
        ticking = self.since_ms is not None and self.phase in ASKING
        return self.item.spent_ms + (max(0, now_ms - self.since_ms) if ticking else 0)

    @property
    def time_up_ms(self) -> int | None:
        """When the time of the question in hand is up as its clock runs; None while it doesn't."""
        if self.item is None or self.phase not in ASKING or self.since_ms is None:
            return None
        return self.since_ms + max(0, self.item.allowed_ms - self.item.spent_ms)

    def mark(self, who: str, position: int, point: str) -> Mark:
        return self.marks.get(who, {}).get(str(position), {}).get(point, Mark())

    def unscored(self, who: str) -> list[tuple[int, str]]:
        """The (position, point) of asked questions that this interviewer has given no score yet."""
        return [
            (position, point) for position, item in enumerate(self.items) if item.opened and not item.skipped
            for point in item.points if self.mark(who, position, point).value is None
        ]

    def to_json(self) -> dict[str, Any]:
        """The state as JSON has it: `from_json` gives back an equal one."""
        return asdict(self)

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> "Room":
        if not state:
            return cls()
        items = tuple(
            Item(**item | {
                "points": tuple(item["points"]),
                "shown_hints": tuple(Reveal(**one) for one in item["shown_hints"]),
                "shown_follow_ups": tuple(Reveal(**one) for one in item["shown_follow_ups"]),
                "labs": tuple(LabState(**one) for one in item["labs"]),
            }) for item in state["items"])
        marks = {
            who: {at: {point: Mark(**mark) for point, mark in points.items()} for at, points in positions.items()}
            for who, positions in state["marks"].items()
        }
        return cls(**dict(state) | {
            "phase": Phase(state["phase"]), "items": items, "marks": marks,
            "remarks": tuple(Remark(**one) for one in state["remarks"]),
            "calls": {who: Call(**call) for who, call in state["calls"].items()},
            "agreed_call": Call(**state["agreed_call"]),
            "released": tuple(state["released"]), "drilled": tuple(state["drilled"]),
        })


def fold(events: Iterable[Event]) -> Room:
    """The room after these events, in their order, from an empty lobby."""
    room = Room()
    for event in events:
        room = step(room, event)
    return room


def step(room: Room, event: Event) -> Room:
    """The room after one more event. What may be done is judged by `refuse`, before."""
    after = STEPS[event.kind](room, event)
    moved_ms = room.moved_ms if after.stamp == room.stamp else event.at_ms
    return replace(
        after, length=event.ordinal, open_length=room.open_length + (event.kind not in KEPT_BACK), moved_ms=moved_ms)


# Time. A span is booked where it was spent whenever the phase changes, so no event needs the ones before it.

def book(room: Room, now_ms: int, runs: bool) -> Room:
    """The room with the time since its clock last started booked, and the clock running from now or standing."""
    spent = max(0, now_ms - room.since_ms) if room.since_ms is not None else 0
    if room.phase in ASKING and spent:
        room = with_item(room, spent_ms=room.item.spent_ms + spent)
    return replace(room, spent_ms=room.spent_ms + spent, since_ms=now_ms if runs else None)


def with_item(room: Room, at: int | None = None, **changes: Any) -> Room:
    """The room with a question changed, the one in hand unless another is named."""
    position = room.position if at is None else at
    items = list(room.items)
    items[position] = replace(items[position], **changes)
    return replace(room, items=tuple(items))


def start(room: Room, event: Event) -> Room:
    items = tuple(Item(**item | {"points": tuple(item["points"])}) for item in event.detail["items"])
    return replace(
        room, phase=Phase.BRIEF, minutes=event.detail["minutes"], items=items, started_ms=event.at_ms,
        since_ms=event.at_ms)


def ask(room: Room, event: Event) -> Room:
    """On to a question of the plan: its clock starts, or goes on where it was asked before."""
    room = replace(book(room, event.at_ms, runs=True), paused=False)
    room = replace(room, phase=Phase.ANSWER, position=event.detail["position"])
    return with_item(room, opened=True, skipped=False)


def phase(room: Room, event: Event) -> Room:
    room = book(room, event.at_ms, runs=not room.paused)
    return replace(room, phase=Phase(event.detail["to"]))


def skip(room: Room, event: Event) -> Room:
    room = book(with_item(room, skipped=True), event.at_ms, runs=not room.paused)
    return replace(room, phase=Phase.SCORE)


def debrief(room: Room, event: Event) -> Room:
    return replace(book(room, event.at_ms, runs=True), phase=Phase.DEBRIEF, paused=False)


def end(room: Room, event: Event) -> Room:
    return replace(book(room, event.at_ms, runs=False), phase=Phase.OVER, paused=False, ended_ms=event.at_ms)


def call_off(room: Room, event: Event) -> Room:
    return replace(room, phase=Phase.CALLED_OFF)


def pause(room: Room, event: Event) -> Room:
    return replace(book(room, event.at_ms, runs=False), paused=True)


def resume(room: Room, event: Event) -> Room:
    return replace(room, paused=False, since_ms=event.at_ms)


def extend(room: Room, event: Event) -> Room:
    minutes = event.detail["minutes"]
    if event.detail["of"] == "all":
        return replace(room, extended_minutes=room.extended_minutes + minutes)
    return with_item(room, extended_minutes=room.item.extended_minutes + minutes)


def reveal(name: str) -> Any:
    def revealed(room: Room, event: Event) -> Room:
        shown = Reveal(event.detail["number"], room.question_ms(event.at_ms), event.actor)
        return with_item(room, **{name: (*getattr(room.item, name), shown)})
    return revealed


def lab_state(kind: str) -> Any:
    def kept(room: Room, event: Event) -> Room:
        state = LabState(kind, event.detail["address"], event.actor, room.question_ms(event.at_ms),
                         event.detail.get("typed", ""))
        return with_item(room, labs=(*room.item.labs, state), lab_open=True)
    return kept


def close_lab(room: Room, event: Event) -> Room:
    return with_item(room, lab_open=False)


def scratch(room: Room, event: Event) -> Room:
    """The scratchpad of the question that the page wrote it for, the one in hand unless it is named."""
    return with_item(room, event.detail.get("position"), scratch=event.detail["text"], scratch_at=event.ordinal)


def note(room: Room, event: Event) -> Room:
    remark = Remark(
        event.ordinal, event.actor, room.clock_ms(event.at_ms), room.question_ms(event.at_ms), str(room.phase),
        room.position, event.detail["text"])
    return replace(room, remarks=(*room.remarks, remark))


def drop_note(room: Room, event: Event) -> Room:
    return replace(room, remarks=tuple(one for one in room.remarks if one.number != event.detail["names"]))


def score(room: Room, event: Event) -> Room:
    """One interviewer's mark, of which the event names what changed: value, evidence, comment."""
    at, point = str(event.detail["position"]), event.detail["point"]
    changed = {name: event.detail[name] for name in ("value", "evidence", "comment") if name in event.detail}
    mine = room.marks.get(event.actor, {})
    of_question = mine.get(at, {})
    if room.item is not None and room.position == event.detail["position"]:
        changed["clock_ms"] = room.question_ms(event.at_ms)
    mark = replace(of_question.get(point, Mark()), **changed)
    return replace(room, marks={**room.marks, event.actor: {**mine, at: {**of_question, point: mark}}})


def call(room: Room, event: Event) -> Room:
    changed = {name: event.detail[name] for name in CALLED if name in event.detail}
    return replace(room, calls={
        **room.calls, event.actor: replace(room.calls.get(event.actor, Call()), **changed)})


def submit(room: Room, event: Event) -> Room:
    return replace(room, submitted={**room.submitted, event.actor: event.ordinal})


def agree(room: Room, event: Event) -> Room:
    at = str(event.detail["position"])
    points = {**room.agreed.get(at, {}), event.detail["point"]: event.detail["value"]}
    return replace(room, agreed={**room.agreed, at: points})


def agree_call(room: Room, event: Event) -> Room:
    return replace(room, agreed_call=Call(**{name: event.detail[name] for name in CALLED if name in event.detail}))


def release(room: Room, event: Event) -> Room:
    return replace(room, released=tuple(part for part in PARTS if part in event.detail["parts"]))


def drill(room: Room, event: Event) -> Room:
    return replace(room, drilled=tuple(dict.fromkeys((*room.drilled, *event.detail["slugs"]))))


STEPS = {
    "start": start, "call_off": call_off, "ask": ask, "phase": phase, "skip": skip, "debrief": debrief, "end": end,
    "pause": pause, "resume": resume, "extend": extend,
    "hint": reveal("shown_hints"), "follow_up": reveal("shown_follow_ups"),
    "push_lab": lab_state("pushed"), "set_lab": lab_state("set"), "commit_lab": lab_state("committed"),
    "close_lab": close_lab, "scratch": scratch, "note": note, "drop_note": drop_note,
    "score": score, "call": call, "submit": submit, "agree": agree, "agree_call": agree_call,
    "release": release, "drill": drill,
}


# What may be done. An owner without a seat calls off, ends what nobody else would, and releases; in a room of one's own
# the candidate does the interviewer's part.

LEADS = frozenset({
    "start", "call_off", "ask", "phase", "skip", "debrief", "end", "pause", "resume", "extend", "hint", "follow_up",
    "push_lab", "close_lab", "score", "call", "submit", "agree", "agree_call",
})
OWNS = frozenset({"call_off", "end", "release"})
RIGHTS = {kind: frozenset({Role.INTERVIEWER}) for kind in LEADS} | {
    "scratch": frozenset({Role.CANDIDATE}), "set_lab": frozenset({Role.CANDIDATE}),
    "commit_lab": frozenset({Role.CANDIDATE}), "drill": frozenset({Role.CANDIDATE}),
    "note": frozenset({Role.INTERVIEWER, Role.OBSERVER}), "drop_note": frozenset({Role.INTERVIEWER, Role.OBSERVER}),
    "release": frozenset(),
}
BEFORE = {  # the phases in which each may be done; any, where none is named
    "start": (Phase.LOBBY,), "call_off": (Phase.LOBBY,), "ask": RUNNING, "phase": OF_A_QUESTION, "skip": ASKING,
    "debrief": (Phase.BRIEF, Phase.SCORE), "end": RUNNING, "pause": RUNNING, "resume": RUNNING, "extend": RUNNING,
    "hint": ASKING, "follow_up": ASKING,
    "push_lab": ASKING, "close_lab": OF_A_QUESTION, "set_lab": ASKING, "commit_lab": ASKING, "scratch": RUNNING,
    "submit": (Phase.DEBRIEF, Phase.OVER), "agree": (Phase.DEBRIEF, Phase.OVER),
    "agree_call": (Phase.DEBRIEF, Phase.OVER), "release": (Phase.OVER,), "drill": (Phase.OVER,),
}
ONWARD = {
    Phase.ANSWER: (Phase.FOLLOW_UPS, Phase.SCORE), Phase.FOLLOW_UPS: (Phase.ANSWER, Phase.SCORE),
    Phase.SCORE: (Phase.ANSWER, Phase.FOLLOW_UPS),
}


def refuse(room: Room, event: Event, role: Role | None, *, alone: bool = False, releases: bool = False) -> None:
    """Say no to what can't be done. Raises Refusal with a sentence for whoever tried.

    `role` is that of the actor's seat, None without one; `alone` in a room of one person, who does every part;
    `releases` for the team's owner, who may call it off, end it and release the report.
    """
    kind = event.kind
    if kind not in STEPS:
        raise Refusal("There is no such act in a room.")
    if not (alone or role in RIGHTS[kind] or (kind in OWNS and releases)):
        raise Refusal("Your part in this interview does not do that.")
    if room.phase not in BEFORE.get(kind, tuple(Phase)):
        raise Refusal(f"Not now: this interview is in its phase “{room.phase}”.")
    late = room.phase not in ASKING and event.at_ms - (room.moved_ms or 0) > LATE_ALONE_MS
    if alone and kind == "scratch" and late:  # only what was on its way: nobody but the clock moves on
        raise Refusal(TOO_LATE)
    if kind in CHECKS:
        CHECKS[kind](room, event)


def refuse_phase(room: Room, event: Event) -> None:
    if event.detail.get("to") not in ONWARD[room.phase]:
        raise Refusal("The interview has moved on.")


def refuse_ask(room: Room, event: Event) -> None:
    refuse_position(room, event.detail.get("position"))
    if room.phase in ASKING and event.detail["position"] == room.position:
        raise Refusal("This question is being asked.")


def refuse_pause(room: Room, event: Event) -> None:
    if room.paused:
        raise Refusal("The clock stands already.")


def refuse_resume(room: Room, event: Event) -> None:
    if not room.paused:
        raise Refusal("The clock runs already.")


def refuse_extend(room: Room, event: Event) -> None:
    minutes, of = event.detail.get("minutes"), event.detail.get("of")
    if type(minutes) is not int or not 1 <= minutes <= MOST_EXTENSION_MINUTES:
        raise Refusal(f"An extension is 1 to {MOST_EXTENSION_MINUTES} minutes.")
    if of != "all" and (of != "question" or room.item is None):
        raise Refusal("There is no question to extend.")


def refuse_hint(room: Room, event: Event) -> None:
    refuse_reveal(room.item.shown_hints, room.item.hints, number := event.detail.get("number"))
    if number != len(room.item.shown_hints):
        raise Refusal("Hints are shown in their order.")


def refuse_follow_up(room: Room, event: Event) -> None:
    refuse_reveal(room.item.shown_follow_ups, room.item.follow_ups, event.detail.get("number"))


def refuse_reveal(shown: Iterable[Reveal], there: int, number: Any) -> None:
    if type(number) is not int or not 0 <= number < there:
        raise Refusal("There is no such line.")
    if any(one.number == number for one in shown):
        raise Refusal("It is shown already.")


def refuse_push_lab(room: Room, event: Event) -> None:
    refuse_text(event.detail.get("address"), MOST_ADDRESS, "A lab’s address")


def refuse_set_lab(room: Room, event: Event) -> None:
    refuse_open_lab(room, event)
    refuse_push_lab(room, event)


def refuse_commit_lab(room: Room, event: Event) -> None:
    refuse_set_lab(room, event)
    refuse_text(event.detail.get("typed"), MOST_NOTE, "What is committed")


def refuse_open_lab(room: Room, event: Event) -> None:
    if room.item.lab is None:
        raise Refusal("No lab is open.")


def refuse_scratch(room: Room, event: Event) -> None:
    position = event.detail.get("position", room.position)
    if room.phase not in ASKING or position != room.position:
        refuse_late(room, event, position)
    refuse_text(event.detail.get("text"), MOST_TEXT, "The scratchpad", may_be_empty=True)


def refuse_late(room: Room, event: Event, position: Any) -> None:
    """Take what was typed before the interview moved on, for a moment; then the question is closed."""
    refuse_position(room, position)
    if not room.items[position].opened or event.at_ms - (room.moved_ms or 0) > LATE_MS:
        raise Refusal(TOO_LATE)


def refuse_note(room: Room, event: Event) -> None:
    refuse_text(event.detail.get("text"), MOST_NOTE, "A note")


def refuse_drop_note(room: Room, event: Event) -> None:
    if not any(one.number == event.detail.get("names") and one.by == event.actor for one in room.remarks):
        raise Refusal("There is no such note of yours.")


def refuse_score(room: Room, event: Event) -> None:
    refuse_submitted(room, event)
    refuse_point(room, event.detail)
    if "value" in event.detail and event.detail["value"] is not None:  # None takes a score back
        refuse_value(event.detail["value"])
    for name in ("evidence", "comment"):
        refuse_text(event.detail.get(name, ""), MOST_NOTE, f"The {name}", may_be_empty=True)


def refuse_call(room: Room, event: Event) -> None:
    refuse_submitted(room, event)
    refuse_called({"verdict": VERDICTS[0]} | dict(event.detail))


def refuse_submit(room: Room, event: Event) -> None:
    refuse_submitted(room, event)
    if left := len(room.unscored(event.actor)):
        raise Refusal(f"{left} points have no score yet." if left > 1 else "One point has no score yet.")
    if not room.calls.get(event.actor, Call()).verdict:
        raise Refusal("The overall call is missing.")


def refuse_submitted(room: Room, event: Event) -> None:
    if event.actor in room.submitted:
        raise Refusal("Your scores are in; they stay as they are.")


def refuse_agree(room: Room, event: Event) -> None:
    refuse_unsubmitted(room, event)
    refuse_point(room, event.detail)
    refuse_value(event.detail.get("value"))


def refuse_agree_call(room: Room, event: Event) -> None:
    refuse_unsubmitted(room, event)
    refuse_called(event.detail)


def refuse_unsubmitted(room: Room, event: Event) -> None:
    if event.actor not in room.submitted:
        raise Refusal("Your own scores come first.")


def refuse_release(room: Room, event: Event) -> None:
    if set(event.detail.get("parts", ["?"])) - set(PARTS):
        raise Refusal(f"What is released is among {', '.join(PARTS)}.")


def refuse_position(room: Room, position: Any) -> None:
    if type(position) is not int or not 0 <= position < len(room.items):
        raise Refusal("There is no such question in this interview.")


def refuse_text(text: Any, most: int, what: str, may_be_empty: bool = False) -> None:
    if not isinstance(text, str) or not (text.strip() or may_be_empty):
        raise Refusal(f"{what} is empty.")
    if len(text) > most:
        raise Refusal(f"{what} takes at most {most:,} characters; this is {len(text):,}.")
    if "\0" in text:
        raise Refusal(f"{what} holds a character that can’t be kept.")


def refuse_point(room: Room, detail: Mapping[str, Any]) -> None:
    refuse_position(room, detail.get("position"))
    item = room.items[detail["position"]]
    if not item.opened:
        raise Refusal("This question has not been asked.")
    if detail.get("point") not in item.points:
        raise Refusal("The question has no such point.")


def refuse_value(value: Any) -> None:
    if type(value) is not int or not LEAST_SCORE <= value <= MOST_SCORE:
        raise Refusal("A score is 0, 1, 2 or 3.")


def refuse_called(called: Mapping[str, Any]) -> None:
    if called.get("verdict") not in VERDICTS:
        raise Refusal(f"The call is one of {', '.join(VERDICTS)}.")
    if called.get("level", "") not in ("", *LEVELS):
        raise Refusal(f"The level is one of {', '.join(LEVELS)}.")
    refuse_text(called.get("reason", ""), MOST_NOTE, "The reason", may_be_empty=True)


CHECKS = {
    "phase": refuse_phase, "ask": refuse_ask, "pause": refuse_pause, "resume": refuse_resume, "extend": refuse_extend,
    "hint": refuse_hint, "follow_up": refuse_follow_up, "push_lab": refuse_push_lab, "set_lab": refuse_set_lab,
    "commit_lab": refuse_commit_lab, "close_lab": refuse_open_lab, "scratch": refuse_scratch, "note": refuse_note,
    "drop_note": refuse_drop_note, "score": refuse_score, "call": refuse_call, "submit": refuse_submit,
    "agree": refuse_agree, "agree_call": refuse_agree_call, "release": refuse_release,
}
