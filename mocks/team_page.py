"""A team's page: its members and invitations, and to who interviews how its interviews went."""
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import combinations
from statistics import mean

from django.db.models import F

from accounts.models import User
from calculators.pictures import Bar, Drawing
from mocks import agreement, teams
from mocks.agreement import Agreement
from mocks.courses import Course, Result, places_for, result_of
from mocks.mock_page import HEAVY, MOST_LISTED, Part
from mocks.models import Interview, Invitation, Membership
from mocks.report import FORMER, Reader
from mocks.room import Phase, Role, Room
from questions.access import published

MAY = {
    Membership.Role.OWNER: "you invite and remove members, plan and lead interviews, and release reports.",
    Membership.Role.INTERVIEWER: "you plan and lead interviews, score them, and can be interviewed yourself.",
    Membership.Role.CANDIDATE: (
        "you are interviewed. Who interviews you and who observes sees what you type; you read of the report what the "
        "team’s owner releases to you."),
    Membership.Role.OBSERVER: (
        "you watch the interviews that you are asked to, see what the candidate sees, and keep notes that nobody else "
        "reads."),
}


@dataclass(frozen=True, slots=True)
class Coverage:
    """A topic's questions and how many of them the team has asked."""

    topic: str
    asked: int
    of: int

    @property
    def drawing(self) -> Drawing:
        return coverage_bar(self.asked, self.of)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two who scored the same points; `higher_by` is how much more the first gives in the mean."""

    first: str
    second: str
    agreement: Agreement
    higher_by: float

    @property
    def words(self) -> str:
        """Who gives more: "Ben by 0.20"; "neither" where both give the same."""
        if not round(self.higher_by, 2):
            return "neither"
        return f"{self.first if self.higher_by > 0 else self.second} by {abs(self.higher_by):.2f}"


@dataclass(frozen=True, slots=True)
class Invited:
    """An invitation as the owner sees it."""

    row: Invitation
    now: datetime

    @property
    def used(self) -> list[str]:
        """Who came in by it."""
        return [use.user.name for use in self.row.uses.all()]

    @property
    def is_live(self) -> bool:
        return not self.end

    @property
    def end(self) -> str:
        """Why it lets nobody in any more; "" while it does."""
        if self.row.withdrawn_at:
            return "withdrawn"
        if len(self.used) >= self.row.most_uses:
            return "used up"
        return "expired" if self.row.expires_at <= self.now else ""

    @property
    def address(self) -> str:
        return teams.join_address(self.row)


class TeamPage:
    """What a team's page shows to one of its members."""

    def __init__(self, member: Membership, now: datetime) -> None:
        self.member, self.team, self.user, self.now = member, member.team, member.user, now

    @cached_property
    def members(self) -> list[Membership]:
        """Owners first, then by how long they have been in it."""
        order = list(Membership.Role)
        return sorted(self.team.memberships.select_related("user").order_by("joined_at", "pk"),
                      key=lambda one: order.index(one.role))

    @property
    def has_held(self) -> bool:
        return any(one.is_over for one in self.past)

    @property
    def others(self) -> list[Membership]:
        return [one for one in self.members if one.pk != self.member.pk]

    @property
    def is_last_owner(self) -> bool:
        return self.member.is_owner and sum(one.is_owner for one in self.members) == 1

    @property
    def may_be_candidate(self) -> bool:
        return self.member.takes(Role.CANDIDATE)

    @property
    def names(self) -> dict[str, str]:
        """Everybody who is in the team or scored in it, by number."""
        known = {str(one.user_id): one.user.name for one in self.members}
        known |= {str(seat.user_id): seat.user.name for part in self.parts for seat in part.interview.seats.all()}
        return known

    @cached_property
    def invited(self) -> list[Invited]:
        """The team's invitations, those that still hold first, then the latest."""
        rows = self.team.invitations.select_related("made_by", "team").prefetch_related("uses__user")
        return sorted((Invited(row, self.now) for row in rows), key=lambda one: not one.is_live)[:MOST_LISTED]

    # Interviews

    @cached_property
    def parts(self) -> list[Part]:
        """The team's interviews: all to who interviews in it, to others those that they have a part in."""
        rows = (
            Interview.objects.filter(team=self.team).select_related("team", "candidate").defer(*HEAVY)
            .prefetch_related("seats__user").annotate(released=F("state__released"))
        )
        if not self.member.leads:
            rows = rows.filter(seats__user=self.user)
        found = [self.part(row) for row in rows]
        return found if self.member.leads else [one for one in found if one.role]

    def part(self, row: Interview) -> Part:
        role = next((seat.role for seat in row.seats.all() if seat.user_id == self.user.pk), None)
        role = Role(role) if role and self.member.takes(role) else None
        owns = self.member.is_owner and row.candidate_id != self.user.pk
        return Part(row, self.user, role, bool(row.released), owns)

    @property
    def ahead(self) -> list[Part]:
        """Running, then planned, the next first."""
        return sorted((one for one in self.parts if one.is_ahead(self.now)), key=lambda one: one.order)

    @cached_property
    def past(self) -> list[Part]:
        """Those that ended, the latest first."""
        return sorted((one for one in self.parts if not one.is_ahead(self.now)),
                      key=lambda one: one.interview.ended_at, reverse=True)

    @property
    def past_shown(self) -> list[Part]:
        return self.past[:MOST_LISTED]

    @property
    def lead(self) -> str:
        """How many members and interviews there are, in a sentence."""
        members, held = len(self.members), sum(one.is_over for one in self.past)
        if not self.member.leads:
            return f"{members} member{'s' if members > 1 else ''}."
        interviews = {0: "no interview", 1: "one interview"}.get(held, f"{held} interviews")
        return f"{members} member{'s' if members > 1 else ''}, {interviews} so far."

    # How they went. It is said to who interviews in the team, and of each interview only once they may read its scores:
    # not of their own until it is released, not of one that they are still to score.

    @cached_property
    def rooms(self) -> list[tuple[Interview, Room]]:
        """The interviews that are over and whose scores this member may read, the earliest first."""
        if not self.member.leads:
            return []
        states = dict(Interview.objects.filter(team=self.team, phase=Phase.OVER).values_list("pk", "state"))
        rooms = [(part, Room.from_json(states[part.interview.pk])) for part in self.past[::-1]
                 if part.interview.pk in states]
        return [(part.interview, room) for part, room in rooms if self.reads_scores(part, room)]

    def reads_scores(self, part: Part, room: Room) -> bool:
        reader = Reader(str(self.user.pk), rates=part.leads, is_candidate=part.interview.candidate_id == self.user.pk)
        return reader.may_read("scores", room) and not reader.is_blind(room)

    @cached_property
    def courses(self) -> list[Course]:
        """Each candidate's interviews that were scored, by name."""
        found: dict[User, list[Result]] = defaultdict(list)
        for interview, room in self.rooms:
            if (result := result_of(interview, room, room.submitted)).of:
                found[interview.candidate].append(result)
        places = places_for(found.values())
        return sorted((Course(user.name, results, places) for user, results in found.items()),
                      key=lambda one: one.name)

    @cached_property
    def coverage(self) -> list[Coverage]:
        """How many of each topic's questions the team has asked, in the bank's order."""
        states = Interview.objects.filter(team=self.team, phase=Phase.OVER).values_list("state", flat=True)
        asked = {item["slug"] for state in states for item in state["items"] if item["opened"]}
        topics = [(question.topic.slug, question.slug in asked) for question in published()]
        of, done = Counter(topic for topic, _ in topics), Counter(topic for topic, was in topics if was)
        return [Coverage(topic, done[topic], of[topic]) for topic in of]

    @cached_property
    def scored_by_two(self) -> dict[tuple[str, str], list[tuple[int, int]]]:
        """The scores of every two who scored the same points: {(one, other): [(one's, other's)]}."""
        found: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for _, room in self.rooms:
            for pair in combinations(sorted(room.submitted, key=int), 2):
                found[pair] += agreement.pairs_in(room, pair)
        return {pair: scores for pair, scores in found.items() if scores}

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every two of them, those with the most points first."""
        names = self.names
        found = [
            Pair(names.get(one, FORMER), names.get(other, FORMER), agreement.of(scores),
                 mean(first - second for first, second in scores))
            for (one, other), scores in self.scored_by_two.items()
        ]
        return sorted(found, key=lambda pair: -pair.agreement.points)

    @cached_property
    def agreement(self) -> Agreement:
        """Of all of them together."""
        if len(self.pairs) == 1:
            return self.pairs[0].agreement
        return agreement.among([scores for pair in self.scored_by_two.values() for scores in pair])


def coverage_bar(asked: int, of: int) -> Drawing:
    """A square for each question of a topic, those that were asked filled."""
    side = 10
    return Drawing((side + 3) * of, side + 2, "", tuple(
        Bar((side + 3) * at + 1, 1, side, side, "solid" if at < asked else "hollow") for at in range(of)))
