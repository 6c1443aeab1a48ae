"""Whether anything is new in a room, for the page that asks every second: one query, and no state is read until
something is."""
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, connection
from django.http import Http404

from accounts.models import User
from accounts.often import rows_of
from mocks.access import Presence
from mocks.models import Interview, Membership
from mocks.room import Phase, Role
from mocks.services import HERE_FOR, SEEN_EVERY

SEAT = """
seat.user_id, seat.role, seat.seen_at > %(here_since)s, seat.seen_at > %(noted_since)s, member.role,
person.first_name, person.email,
room.id, room.team_id, room.candidate_id, room.log_length, room.open_length, room.phase
"""
SEATS = """
mocks_interview AS room
JOIN mocks_seat AS seat ON seat.interview_id = room.id
JOIN accounts_user AS person ON person.id = seat.user_id
LEFT JOIN mocks_membership AS member ON member.team_id = room.team_id AND member.user_id = seat.user_id
"""
STANDING = f"SELECT {SEAT} FROM {SEATS} WHERE room.code = %(code)s ORDER BY seat.id"

KEPT = (  # of a row, in the order of Interview's fields, as from_db needs them
    "id", "code", "candidate_id", "team_id", "minutes", "asked", "state", "log_length", "open_length", "phase")
ROW = f"""
SELECT person.first_name, person.email, {", ".join(f"room.{name}" for name in KEPT)}
FROM mocks_interview AS room
JOIN accounts_user AS person ON person.id = room.candidate_id
WHERE room.id = %(room)s
"""


class Standing(NamedTuple):
    """A seat as it stands, with its room."""

    user: int
    role: str
    is_here: bool | None
    was_noted: bool | None
    member: str | None
    first_name: str
    email: str
    interview: int
    team: int | None
    candidate: int
    log_length: int
    open_length: int
    phase: str

    @property
    def holds(self) -> bool:
        """Whether the team lets this person take the part now."""
        return self.team is None or (self.member is not None and self.role in Membership.TAKES[self.member])

    @property
    def name(self) -> str:
        return User(first_name=self.first_name, email=self.email).name


@dataclass(frozen=True, slots=True)
class Glance:
    """How a room stands for somebody in it.

    `role` and `owns` are those of their Presence. `length` counts the events that their page may know of; `seated` are
    the seats of those who take a part as things stand, in order, `here` names those of them whose pages are open;
    `to_be_seen` says that this person's own page was not noted lately.
    """

    interview: int
    role: Role | None
    owns: bool
    length: int
    seated: tuple[Standing, ...]
    here: str
    is_over: bool
    is_alone: bool
    to_be_seen: bool


def glance_at(user: User, code: str, now: datetime) -> Glance | None:
    """How the room stands for this person; None for somebody who has no part in it as things stand."""
    return glance_of(user, [Standing(*row) for row in rows_of(STANDING, {"code": code} | instants(now))])


def glance_of(user: User, seats: Sequence[Standing]) -> Glance | None:
    """The same of a room's seats, in their order."""
    if not seats:
        return None
    room, held = seats[0], [seat for seat in seats if seat.holds]
    mine = next((seat for seat in held if seat.user == user.pk), None)
    owned = owns(user, room) if mine is None else mine.member == Membership.Role.OWNER and mine.user != room.candidate
    if mine is None and not owned:
        return None
    knows_all = mine is not None and (mine.role == Role.INTERVIEWER or room.team is None)
    return Glance(
        interview=room.interview, role=Role(mine.role) if mine else None, owns=owned,
        length=room.log_length if knows_all else room.open_length,
        seated=tuple(held),
        here="-".join(str(seat.user) for seat in held if seat.is_here or seat is mine),
        is_over=room.phase in (Phase.OVER, Phase.CALLED_OFF), is_alone=room.team is None,
        to_be_seen=mine is not None and not mine.was_noted)


def owns(user: User, room: Standing) -> bool:
    """Whether this person owns the room's team, and is not the one who is interviewed."""
    return room.candidate != user.pk and Membership.objects.filter(
        team=room.team, user=user, role=Membership.Role.OWNER).exists()


def presence_of(user: User, glance: Glance) -> Presence:
    """The part that this person takes as it was found; whether they release the report is not asked here."""
    return Presence(row_of(glance), user, glance.role, glance.owns)


def row_of(glance: Glance) -> Interview:
    """The room's interview with what a page of it is made from, and its candidate's name. What a page shows only before
    it begins is read where it is asked for."""
    found = rows_of(ROW, {"room": glance.interview})
    if not found:
        raise Http404("no such interview")  # it was deleted a moment ago
    first_name, email, *values = found[0]
    kept = dict(zip(KEPT, values, strict=True))
    kept |= {name: json.loads(kept[name]) for name in ("asked", "state")}
    row = Interview.from_db(DEFAULT_DB_ALIAS, KEPT, kept.values())
    row.candidate = User.from_db(DEFAULT_DB_ALIAS, ("id", "first_name", "email"), (row.candidate_id, first_name, email))
    return row


def instants(now: datetime) -> dict[str, Any]:
    """What is compared in a query, by name: now, since when somebody is here, and since when one was noted lately."""
    at = {"now": now, "here_since": now - HERE_FOR, "noted_since": now - SEEN_EVERY}
    return {name: connection.ops.adapt_datetimefield_value(instant) for name, instant in at.items()}
