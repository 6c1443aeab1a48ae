"""The Mock page: the interviews of one person, and their teams."""
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from django.db.models import Count, F

from accounts.models import User
from flashcards.quiz_page import in_words
from mocks.models import Interview, Membership, Seat
from mocks.room import Phase, Role

MOST_LISTED = 50
HEAVY = ("spec", "plan", "asked", "state")  # columns that no list reads
FAR = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Part:
    """What a person does in an interview."""

    interview: Interview
    user: User
    role: Role
    released: bool = False  # whether its candidate may read something of the report

    @property
    def is_running(self) -> bool:
        return self.interview.phase not in (Phase.LOBBY, Phase.OVER, Phase.CALLED_OFF)

    @property
    def is_over(self) -> bool:
        return self.interview.phase in (Phase.OVER, Phase.CALLED_OFF)

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
        reads = self.leads or self.is_alone or (self.role == Role.CANDIDATE and self.released)
        return self.is_over and not self.is_called_off and reads

    @property
    def words(self) -> str:
        """The interview as this person sees it: "Ben interviews you", "you interview Ada", "alone"."""
        if self.is_alone:
            return "alone"
        asking = [seat.user for seat in self.interview.seats.all() if seat.role == Role.INTERVIEWER]
        others = [user.name for user in asking if user.pk != self.user.pk]
        asked = "you" if self.role == Role.CANDIDATE else self.interview.candidate.name
        names = ["you", *others] if self.leads else others
        return f"{in_words(names)} {'interview' if len(names) > 1 or self.leads else 'interviews'} {asked}" if names \
            else f"an interview of {asked}"


class MockPage:
    """What the Mock page shows to a person."""

    def __init__(self, user: User, now: datetime) -> None:
        self.user, self.now = user, now

    @cached_property
    def memberships(self) -> list[Membership]:
        """The person's teams, each with the number of its members as `size`."""
        return list(Membership.objects.filter(user=self.user).select_related("team").annotate(
            size=Count("team__memberships")).order_by("team__name", "team"))

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

    @property
    def running(self) -> list[Part]:
        return self._parts(lambda one: one.is_running, lambda one: one.interview.started_at)

    @property
    def planned(self) -> list[Part]:
        """Those to come, the next first; without a time last."""
        return self._parts(
            lambda one: not one.is_running and not one.is_over, lambda one: one.interview.scheduled_at or FAR)

    @cached_property
    def past(self) -> list[Part]:
        """Those that ended or were called off, the latest first."""
        return self._parts(lambda one: one.is_over, lambda one: one.interview.ended_at)[::-1]

    def _parts(self, which: Callable[[Part], bool], order: Callable[[Part], datetime]) -> list[Part]:
        return sorted(filter(which, self.parts), key=order)

    @property
    def past_shown(self) -> list[Part]:
        return self.past[:MOST_LISTED]

    @property
    def lead(self) -> str:
        """What matters now, as the page's title."""
        if self.running:
            return "An interview is running."
        if self.planned:
            count = len(self.planned)
            return "One interview is planned." if count == 1 else f"{count} interviews are planned."
        return "No interview is planned." if self.past or self.memberships else "Practise the interview itself."
