"""A person's side of mock interviews as an export has it: their teams, what of their own interviews they may read, and
what they wrote as an interviewer or observer."""
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from accounts.models import User
from accounts.rows import Taken, row_of, rows_in
from mocks.access import presence_in
from mocks.models import Interview, Membership, Seat
from mocks.report_page import report_of
from mocks.room import Role, Room

HELD = ("code", "scheduled_at", "started_at", "ended_at", "minutes", "phase")
MEMBER = ("role", "joined_at", "shares_drill")


def of(user: User) -> dict[str, Any]:
    """Their teams, and every interview in which they have a part, the earliest first."""
    members = Membership.objects.filter(user=user).select_related("team").order_by("pk")
    seats = Seat.objects.filter(user=user).select_related("interview__team", "interview__candidate")
    return {
        "teams": [{"name": one.team.name, **row_of(one, MEMBER)} for one in members],
        "interviews": [interview_of(user, seat) for seat in seats.order_by("interview").iterator(chunk_size=100)],
    }


def interview_of(user: User, seat: Seat) -> dict[str, Any]:
    """An interview as this person took part in it."""
    row = seat.interview
    state, who = row.folded(), str(user.pk)
    told = {
        "team": row.team and row.team.name, "part": seat.role, **row_of(row, HELD),
        "notes": [{"clock_ms": one.clock_ms, "phase": one.phase, "text": one.text}
                  for one in state.remarks if one.by == who],
    }
    if seat.role == Role.CANDIDATE:
        told["scratchpads"] = [item.scratch for item in state.items if item.opened]
        told["report"] = report_for(user, row, state)
    if who in state.marks or who in state.calls:
        told["scores"] = scores_of(row, state, who)
    return told


def report_for(user: User, row: Interview, state: Room) -> dict[str, Any] | None:
    """What its candidate may read of it; None while that is nothing."""
    presence = presence_in(user, row)
    if presence is None or not state.is_over or not (presence.is_alone or state.released):
        return None
    return report_of(presence).to_json()


def scores_of(row: Interview, state: Room, who: str) -> dict[str, Any]:
    """What this person scored and wrote beside it."""
    call = state.calls.get(who)
    return {
        "handed_in": who in state.submitted,
        "call": call and {"verdict": call.verdict, "level": call.level, "reason": call.reason},
        "points": [
            {"question": row.asked[int(position)]["title"], "point": point, "value": mark.value,
             "evidence": mark.evidence, "comment": mark.comment}
            for position, points in sorted(state.marks.get(who, {}).items(), key=lambda one: int(one[0]))
            for point, mark in points.items()
        ],
    }


def put(user: User, part: Mapping[str, Any], now: datetime, taken: Taken) -> None:
    """Bring none of it in, and say so: an interview is its team's record, and who else was in it is elsewhere."""
    for name, words in (("interviews", "mock interviews: they stay where they were held; the file keeps what you may "
                         "read of them"), ("teams", "teams: ask there for an invitation")):
        if count := len(rows_in(part, name)):
            taken.left_out.append(f"{count} {words}.")
