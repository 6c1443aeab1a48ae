"""Who may know of a team or an interview, and in which part: fetched and judged in one call, at each request."""
from collections.abc import Collection
from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.urls import reverse

from accounts.models import User
from accounts.often import rows_of
from mocks.models import Interview, Invitation, Membership, Template
from mocks.room import PARTS, Role

# Somebody's seat in a room, what they are in its team, and whether that has an owner beside the candidate.
PLACE = """
SELECT seat.role, member.role, EXISTS(
    SELECT 1 FROM mocks_membership AS owner
    WHERE owner.team_id = room.team_id AND owner.role = 'owner' AND owner.user_id <> room.candidate_id)
FROM mocks_interview AS room
LEFT JOIN mocks_seat AS seat ON seat.interview_id = room.id AND seat.user_id = %(user)s
LEFT JOIN mocks_membership AS member ON member.team_id = room.team_id AND member.user_id = %(user)s
WHERE room.id = %(room)s
"""


class NotYet(PermissionDenied):
    """Refused for now, to somebody who is in the interview; `way` is where they go on: an address, and its name."""

    def __init__(self, sentence: str, way: tuple[str, str]) -> None:
        super().__init__(sentence)
        self.way = way


@dataclass(frozen=True, slots=True)
class Presence:
    """A person in an interview: the part they take now, None for a team's owner who takes none."""

    interview: Interview
    user: User
    role: Role | None
    owns: bool  # the team, and is not the one who is interviewed
    lacks_owner: bool = False  # whether nobody owns the team but the one who is interviewed

    @property
    def who(self) -> str:
        return str(self.user.pk)

    @property
    def is_alone(self) -> bool:
        return self.interview.is_solo

    @property
    def leads(self) -> bool:
        return self.role == Role.INTERVIEWER

    @property
    def is_candidate(self) -> bool:
        return self.role == Role.CANDIDATE

    @property
    def releases(self) -> bool:
        """Whether this person decides what the candidate gets to read: the team's owner, and where that is nobody but
        the candidate who interviews them."""
        return self.owns or (self.lacks_owner and self.leads)


def membership_for(user: User, team: int) -> Membership:
    """This person's place in a team; a team that they are not in is unknown (404)."""
    if (found := Membership.objects.select_related("team").filter(user=user, team__pk=team).first()) is None:
        raise Http404("no such team")
    return found


def led_team_for(user: User, team: int) -> Membership:
    """The same for who plans interviews in it; its other members are refused."""
    found = membership_for(user, team)
    if not found.leads:
        raise PermissionDenied("This is for the team’s interviewers.")
    return found


def owned_team_for(user: User, team: int) -> Membership:
    """The same for its owner alone."""
    found = membership_for(user, team)
    if not found.is_owner:
        raise PermissionDenied("This is for the team’s owner.")
    return found


def invitation_for(user: User, pk: int) -> Invitation:
    """An invitation into a team of which this person is the owner; any other is unknown (404)."""
    found = Invitation.objects.select_related("team").filter(
        pk=pk, team__memberships__user=user, team__memberships__role=Membership.Role.OWNER).first()
    if found is None:
        raise Http404("no such invitation")
    return found


def template_for(user: User, pk: int) -> Template:
    """A template of a team in which this person plans interviews; any other is unknown (404)."""
    found = Template.objects.select_related("team").filter(pk=pk, team__memberships__user=user).first()
    if found is None:
        raise Http404("no such template")
    led_team_for(user, found.team_id)
    return found


def room_for(user: User, code: str) -> Presence:
    """An interview that this person takes a part in, or of a team that they own; any other is unknown (404).

    A part holds while the team lets the person take it: who left the team, or whose role no longer has the part, is
    out at the next request.
    """
    interview = Interview.objects.select_related("team", "candidate").filter(code=code).first()
    if interview is None or (presence := presence_in(user, interview)) is None:
        raise Http404("no such interview")
    return presence


def presence_in(user: User, interview: Interview) -> Presence | None:
    """The part that this person takes in an interview as things stand; None for a stranger to it."""
    found = rows_of(PLACE, {"room": interview.pk, "user": user.pk})
    part, place, has_owner = found[0] if found else (None, None, False)
    if interview.is_solo:
        return Presence(interview, user, Role.CANDIDATE, owns=False) if part else None
    if place is None:
        return None
    role = Role(part) if part in Membership.TAKES[place] else None
    owns = place == Membership.Role.OWNER and interview.candidate_id != user.pk
    return Presence(interview, user, role, owns, lacks_owner=not has_owner) if role or owns else None


def owner_apart(interview: Interview, asking: Collection[int]) -> bool:
    """Whether the team has an owner who is neither the candidate nor among these who interview."""
    owners = Membership.objects.filter(team=interview.team_id, role=Membership.Role.OWNER)
    others = {*owners.values_list("user", flat=True)} - {interview.candidate_id}
    return bool(others) and not others & {*asking}


def releasers_of(interview: Interview) -> list[User]:
    """Who decides what the candidate of a team's interview gets to read, in the order in which they joined."""
    others = list(Membership.objects.filter(team=interview.team_id).exclude(user=interview.candidate_id).select_related(
        "user").order_by("pk"))
    asking = set(interview.seats.filter(role=Role.INTERVIEWER).values_list("user", flat=True))
    leading = [one for one in others if one.user_id in asking and one.takes(Role.INTERVIEWER)]
    return [one.user for one in [one for one in others if one.is_owner] or leading]


def leader_for(user: User, code: str) -> Presence:
    """The interview for who interviews in it, or who is alone in it; others in it are refused."""
    presence = room_for(user, code)
    if not (presence.leads or presence.is_alone):
        raise PermissionDenied("This is for the interviewers.")
    return presence


def plan_for(user: User, code: str) -> Presence:
    """The interview for who may see and change its plan: its interviewers and the team's owner, never its candidate."""
    presence = room_for(user, code)
    if not (presence.leads or presence.owns or presence.is_alone):
        raise PermissionDenied("The plan is for the interviewers.")
    return presence


def report_for(user: User, code: str) -> Presence:
    """The interview for who may read its report: interviewers, the team's owner, who did it alone, and the candidate
    once something is released; an observer's part ends with the interview."""
    presence = room_for(user, code)
    state = presence.interview.folded()
    if not state.is_over:
        raise NotYet("There is a report once the interview has ended.", way_to_room(presence))
    if presence.leads or presence.owns or presence.is_alone:
        return presence
    if presence.is_candidate and set(state.released) & set(PARTS):
        return presence
    if not presence.is_candidate:
        raise PermissionDenied("The report is for the interviewers and the team’s owner.")
    who = " or ".join(one.name for one in releasers_of(presence.interview))
    raise NotYet(
        f"Nothing of this interview has been released to you yet.{f' {who} can do that.' if who else ''}",
        (reverse("mocks:mock"), "Mock"))


def way_to_room(presence: Presence) -> tuple[str, str]:
    return reverse("mocks:room", args=[presence.interview.code]), "To the room"
