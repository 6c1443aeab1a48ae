"""Whether anything is new in a room, for the page that asks every second: one query, and no state is read."""
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, Subquery

from accounts.models import User
from mocks.models import Membership, Seat
from mocks.room import Phase, Role
from mocks.services import HERE_FOR, SEEN_EVERY

COLUMNS = (
    "user_id", "role", "seen_at", "member", "interview_id", "interview__team_id", "interview__candidate_id",
    "interview__log_length", "interview__open_length", "interview__phase",
)


@dataclass(frozen=True, slots=True)
class Glance:
    """How a room stands for somebody in it.

    `length` counts the events that their page may know of; `seated` are those who take a part as things stand, `here`
    names those of them whose pages are open, in the order of their seats; `to_be_seen` says that this person's own page
    was not noted lately.
    """

    interview: int
    length: int
    seated: frozenset[str]
    here: str
    is_over: bool
    is_alone: bool
    to_be_seen: bool


def glance_at(user: User, code: str, now: datetime) -> Glance | None:
    """How the room stands for this person; None for somebody who has no part in it as things stand."""
    role_now = Membership.objects.filter(team=OuterRef("interview__team"), user=OuterRef("user")).values("role")[:1]
    seats = Seat.objects.filter(interview__code=code).annotate(member=Subquery(role_now)).values_list(*COLUMNS)
    seated, here, mine, row = [], [], None, None
    for row in seats:
        who, role, seen_at, member, team = row[0], row[1], row[2], row[3], row[5]
        if team is not None and (member is None or role not in Membership.TAKES[member]):
            continue
        seated.append(str(who))
        if who == user.pk:
            mine = row
        if who == user.pk or (seen_at is not None and seen_at > now - HERE_FOR):
            here.append(str(who))
    if row is None or (mine is None and not owns(user, row)):
        return None
    pk, team, log_length, open_length, phase = row[4], row[5], row[7], row[8], row[9]
    knows_all = mine is not None and (mine[1] == Role.INTERVIEWER or team is None)
    return Glance(
        interview=pk, length=log_length if knows_all else open_length, seated=frozenset(seated), here="-".join(here),
        is_over=phase in (Phase.OVER, Phase.CALLED_OFF), is_alone=team is None,
        to_be_seen=mine is not None and (mine[2] is None or mine[2] <= now - SEEN_EVERY))


def owns(user: User, row: tuple) -> bool:
    """Whether this person owns the seat's team, and is not the one who is interviewed."""
    team, candidate = row[5], row[6]
    return candidate != user.pk and Membership.objects.filter(
        team=team, user=user, role=Membership.Role.OWNER).exists()
