"""What a plan is made from: who, when, how long, on which topics. Half-filled it is read as far as it goes."""
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms

from accounts.models import User
from calculators.models.base import Refusal
from mocks.models import Membership
from mocks.plan import LEAST_MINUTES, MOST_MINUTES
from mocks.room import Role
from questions.models import Question

USUAL_MINUTES, USUAL_ALONE = 45, 20
LATE = timedelta(hours=1)  # how long ago a planned time may be
FAR = timedelta(days=731)  # how far ahead
MINUTES_WRONG = f"An interview takes {LEAST_MINUTES} to {MOST_MINUTES} minutes."


def choices(values: Iterable[str]) -> list[tuple[str, str]]:
    return [(value, value) for value in values]


class SpecForm(forms.Form):
    """How long, and which questions; no topics, kinds or levels are all of them."""

    minutes = forms.IntegerField(
        min_value=LEAST_MINUTES, max_value=MOST_MINUTES,
        error_messages=dict.fromkeys(("required", "invalid", "min_value", "max_value"), MINUTES_WRONG))
    topic = forms.MultipleChoiceField(required=False)
    kind = forms.MultipleChoiceField(required=False, choices=choices(Question.Kind.values))
    level = forms.MultipleChoiceField(required=False, choices=choices(Question.Level.values))

    def __init__(self, topics: Sequence[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["topic"].choices = choices(topics)


class PlanForm(SpecForm):
    """The same with who takes which part, and when on its planner's clock."""

    candidate = forms.ChoiceField(required=False)
    interviewer = forms.MultipleChoiceField(required=False)
    observer = forms.MultipleChoiceField(required=False)
    day = forms.DateField(required=False, error_messages={"invalid": "A day is written like 2026-11-24."})
    at = forms.TimeField(required=False, error_messages={"invalid": "A time is written like 14:00."})

    def __init__(
        self, topics: Sequence[str], members: Sequence[Membership], planner: User, now: datetime, *args: Any,
        candidate: User | None = None, **kwargs: Any,
    ) -> None:
        super().__init__(topics, *args, **kwargs)
        self.members = {str(one.user_id): one for one in members}
        self.planner, self.now, self.zone = planner, now, planner.profile.zone
        asked = [(str(candidate.pk), candidate.name)] if candidate else [
            ("", "choose"), *((key, one.user.name) for key, one in self.members.items() if one.user_id != planner.pk)]
        self.fields["candidate"].choices = asked
        for name, role in (("interviewer", Role.INTERVIEWER), ("observer", Role.OBSERVER)):
            self.fields[name].choices = [
                (key, one.user.name) for key, one in self.members.items()
                if one.takes(role) and one.user_id != getattr(candidate, "pk", None)]

    @property
    def candidate_user(self) -> User | None:
        """Who is interviewed; None while nobody is chosen."""
        chosen = self.members.get(self.cleaned_data.get("candidate") or "")
        return chosen.user if chosen else None

    def clean(self) -> dict[str, Any]:
        """What is wrong whatever else comes: one person in two parts, a time that no clock shows."""
        given = self.cleaned_data
        parts = [given.get("candidate"), *(given.get("interviewer") or []), *(given.get("observer") or [])]
        twice = next((key for key in parts if key and parts.count(key) > 1), None)
        if twice:
            who = self.members[twice].user
            self.add_error(
                "observer" if twice in (given.get("observer") or []) else "interviewer",
                f"{'You take' if who == self.planner else who.name + ' takes'} one part alone.")
        if given.get("day") and given.get("at"):
            try:
                given["scheduled_at"] = instant(given["day"], given["at"], self.zone)
            except Refusal as refusal:
                self.add_error("at", str(refusal))
        return given

    def check_to_save(self) -> bool:
        """Whether an interview can be made of it; else the faults say what is missing."""
        given = self.cleaned_data
        if not given.get("candidate") and "candidate" not in self.errors:
            self.add_error("candidate", "Choose who is interviewed.")
        if not given.get("interviewer") and "interviewer" not in self.errors:
            self.add_error("interviewer", "Somebody has to interview.")
        elif str(self.planner.pk) not in (given.get("interviewer") or []) and not self.planner_owns:
            self.add_error("interviewer", "Who plans interviews too; only the team’s owner plans for others.")
        if bool(given.get("day")) != bool(given.get("at")) and not {"day", "at"} & set(self.errors):
            self.add_error("at", "A time needs its day." if given.get("at") else "A day needs its time.")
        if (at := given.get("scheduled_at")) and at < self.now - LATE:
            self.add_error("at", "That time is past.")
        elif at and at > self.now + FAR:
            self.add_error("day", "That is more than two years ahead.")
        return not self.errors

    @property
    def planner_owns(self) -> bool:
        mine = self.members.get(str(self.planner.pk))
        return mine is not None and mine.is_owner

    def seats(self) -> dict[User, Role]:
        """The parts beside the candidate's."""
        given = self.cleaned_data
        return {
            self.members[key].user: role
            for name, role in (("interviewer", Role.INTERVIEWER), ("observer", Role.OBSERVER)) for key in given[name]
        }


def instant(day: Any, at: Any, zone: str) -> datetime:
    """A day and a time on a zone's clock as an instant, the first of two where the clock is set back.

    Raises Refusal for a time that the clock leaves out.
    """
    local = datetime.combine(day, at, tzinfo=ZoneInfo(zone))
    try:
        found = local.astimezone(UTC)
    except OverflowError:
        raise Refusal("No clock shows that time.") from None
    if found.astimezone(ZoneInfo(zone)).replace(tzinfo=None) != local.replace(tzinfo=None):
        raise Refusal(f"On that day the clock leaves {at:%H:%M} out in {zone}.")
    return found
