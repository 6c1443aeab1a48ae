"""What somebody sees who is alone in a room: the candidate's side, and once an answer has closed the interviewer's.

While a question is asked nothing of its answer is on the side, as for any candidate.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mocks.room import ASKING, Phase, Room
from mocks.sides import (
    CandidateSide,
    FollowUp,
    Person,
    Point,
    Staff,
    Trap,
    candidate_side,
    interviewer_side,
)


@dataclass(frozen=True, slots=True)
class Coming:
    """What may be told of the question that comes next."""

    position: int
    minutes: float
    topic: str
    kind: str

    @property
    def number(self) -> int:
        return self.position + 1


@dataclass(frozen=True, slots=True)
class AloneSide:
    """All that somebody alone may see; `looked` is the question in hand. What belongs to its answer is empty while it
    is asked."""

    seen: CandidateSide
    stamp: str
    looked: int | None
    next_hint: int | None  # the number of the hint that could be shown
    hints_left: int
    own_lab: str
    own_lab_title: str
    coming: Coming | None
    staff: Staff | None
    points: tuple[Point, ...]
    unscored: int
    follow_ups: tuple[FollowUp, ...]
    traps: tuple[Trap, ...]
    time_was_up: bool  # whether the clock closed the answer
    submitted: bool = False
    looked_back: bool = False


def alone_side(
    room: Room, asked: Sequence[Mapping[str, Any]], people: Sequence[Person], who: str
) -> AloneSide:
    """What they see as the room stands."""
    item = room.item
    asking = item is not None and room.phase in ASKING
    theirs = interviewer_side(room, asked, people, who) if room.phase == Phase.SCORE else None
    shown = len(item.shown_hints) if asking else 0
    posed = asked[room.position] if item is not None else None
    return AloneSide(
        seen=candidate_side(room, asked, [replace(one, name="") for one in people]), stamp=room.stamp,
        looked=room.position if item is not None else None,
        next_hint=shown if asking and shown < item.hints else None, hints_left=item.hints - shown if asking else 0,
        own_lab=posed["lab"] if posed and asking else "", own_lab_title=posed["lab_title"] if posed and asking else "",
        coming=coming_in(room, asked),
        staff=theirs.staff if theirs else None, points=theirs.points if theirs else (),
        unscored=sum(point.value is None for point in theirs.points) if theirs and not item.skipped else 0,
        follow_ups=theirs.follow_ups if theirs else (), traps=theirs.traps if theirs else (),
        time_was_up=item is not None and not asking and item.spent_ms >= item.allowed_ms,
    )


def coming_in(room: Room, asked: Sequence[Mapping[str, Any]]) -> Coming | None:
    """The first question that was not asked yet; None when all were."""
    for position, item in enumerate(room.items):
        if not item.opened:
            return Coming(position, item.minutes, asked[position]["topic"], asked[position]["kind"])
    return None
