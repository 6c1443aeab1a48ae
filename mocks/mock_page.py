"""The Mock page: the interviews of one person, and their teams."""
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from django.db.models import Count, F

from accounts.models import User
from flashcards.quiz_page import in_words
from mocks.courses import Course, places_for, result_of
from mocks.models import Interview, Membership, Seat
from mocks.room import RUNNING, Phase, Role, Room

MOST_LISTED = 50
HEAVY = ("spec", "plan", "asked", "state")  # columns that no list reads
FAR = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Part:
    """What a person does in an interview; without a role they only know of it."""

    interview: Interview
    user: User
    role: Role | None
    released: bool = False  # whether its candidate may read something of the report
    owns: bool = False  # the team, and is not the one who is interviewed

    @property
    def is_running(self) -> bool:
        return self.interview.phase in RUNNING

    @property
    def is_over(self) -> bool:
        return self.interview.phase == Phase.OVER

    @property
    def is_called_off(self) -> bool:
        return self.interview.phase == Phase.CALLED_OFF

    @property
    def is_alone(self) -> bool:
        return self.interview.is_solo

    @property
    def leads(self) -> bool:
        return self.role == Role.INTERVIEWER

    @property
    def reads_report(self) -> bool:
        reads = self.leads or self.owns or self.is_alone or (self.role == Role.CANDIDATE and self.released)
        return self.is_over and reads

    @property
    def plans(self) -> bool:
        """Whether the plan is this person's to see and to change."""
        return self.interview.phase == Phase.LOBBY and (self.leads or self.owns or self.is_alone)

    def is_ahead(self, now: datetime) -> bool:
        """Whether it runs or is to come; one that was called off is shown among those until its time."""
        at = self.interview.scheduled_at
        return not self.is_over and (not self.is_called_off or bool(at and at > now))

    @property
    def order(self) -> tuple[bool, datetime]:
        """The running ones first, then by their time, those without one last."""
        if self.is_running:
            return False, self.interview.started_at
        return True, self.interview.scheduled_at or FAR

    @property
    def words(self) -> str:
        """The interview as this person sees it: "Ben interviews you", "you interviewed Ada", "alone"."""
        if self.is_alone:
            return "alone"
        asking = [seat.user for seat in self.interview.seats.all() if seat.role == Role.INTERVIEWER]
        others = [user.name for user in asking if user.pk != self.user.pk]
        asked = "you" if self.interview.candidate_id == self.user.pk else self.interview.candidate.name
        names = ["you", *others] if self.leads else others
        if not names:
            return f"an interview of {asked}" if self.is_over else f"nobody interviews {asked} yet"
        several = self.leads or len(names) > 1
        verb = "interview" if several else "interviews"
        if self.is_called_off:
            verb = "were to interview" if several else "was to interview"
        return f"{in_words(names)} {'interviewed' if self.is_over else verb} {asked}"


class MockPage:
    """What the Mock page shows to a person."""

    def __init__(self, user: User, now: datetime) -> None:
        self.user, self.now = user, now

    @cached_property
    def memberships(self) -> list[Membership]:
        """The person's teams, each with the number of its members as `size`."""
        return list(Membership.objects.filter(user=self.user).select_related("team").annotate(
            size=Count("team__memberships")).order_by("team__name", "team"))

    @property
    def leads(self) -> bool:
        """Whether the person may plan an interview in one of their teams."""
        return any(one.leads for one in self.memberships)

    @cached_property
    def parts(self) -> list[Part]:
        """The interviews that the person has a part in and the team lets them take it."""
        held = {one.team_id: one for one in self.memberships}
        seats = (
            Seat.objects.filter(user=self.user)
            .select_related("interview__team", "interview__candidate")
            .defer(*(f"interview__{name}" for name in HEAVY))
            .prefetch_related("interview__seats__user")
            .annotate(released=F("interview__state__released"))
        )
        return [
            Part(seat.interview, self.user, Role(seat.role), bool(seat.released)) for seat in seats
            if seat.interview.is_solo or (
                seat.interview.team_id in held and held[seat.interview.team_id].takes(seat.role))
        ]

    @cached_property
    def running(self) -> list[Part]:
        return sorted((one for one in self.parts if one.is_running), key=lambda one: one.order)

    @cached_property
    def planned(self) -> list[Part]:
        """Those to come, the next first; without a time last."""
        ahead = (one for one in self.parts if one.is_ahead(self.now) and not one.is_running)
        return sorted(ahead, key=lambda one: one.order)

    @cached_property
    def past(self) -> list[Part]:
        """Those that ended, the latest first."""
        past = (one for one in self.parts if not one.is_ahead(self.now))
        return sorted(past, key=lambda one: one.interview.ended_at, reverse=True)

    @cached_property
    def course(self) -> Course | None:
        """How one's own interviews came out, alone and those whose scores are released; None without any."""
        mine = [one for one in self.past[::-1] if one.is_over and one.role == Role.CANDIDATE]
        states = Interview.objects.filter(pk__in=[one.interview.pk for one in mine if one.is_alone or one.released])
        rooms = {pk: Room.from_json(state) for pk, state in states.values_list("pk", "state")}
        results = [
            result_of(one.interview, room, [str(self.user.pk)] if one.is_alone else room.submitted)
            for one in mine if (room := rooms.get(one.interview.pk)) and (one.is_alone or "scores" in room.released)
        ]
        scored = [one for one in results if one.of]
        return Course("You", scored, places_for([scored])) if scored else None

    @property
    def past_shown(self) -> list[Part]:
        return self.past[:MOST_LISTED]

    @property
    def lead(self) -> str:
        """What matters now, as the page's title."""
        if self.running:
            return "An interview is running."
        if count := sum(not one.is_called_off for one in self.planned):
            return "One interview is planned." if count == 1 else f"{count} interviews are planned."
        return "No interview is planned." if self.parts or self.memberships else "Practise the interview itself."
