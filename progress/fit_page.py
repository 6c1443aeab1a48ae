"""What the Fit page shows: how the latest fit stands, what it was worth, and the parameters in use."""
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any

from accounts.models import Profile, User
from calculators.pictures import MEASURE, NARROW
from flashcards import memory, queue, works
from flashcards.memory import DEFAULT_PARAMETERS, Memory, Rules
from flashcards.models import Adoption, Work
from progress import fit_pictures
from progress.fit import LEAST_SCORED, SPLITS
from progress.fit_pictures import Lane
from progress.sheets import Sheet
from progress.work_state import WorkState

SWITCHED = "Your cards are switched. What is due stays where it is."
GOOD_TIMES = 6  # answers in a row that the intervals are shown for
ORDINALS = ("2nd sixth", "3rd sixth", "4th sixth", "5th sixth", "last sixth")
NAMES = (
    "stability after a first Again", "after a first Hard", "after a first Good", "after a first Easy",
    "first difficulty", "its fall with a better first grade", "difficulty’s change by a grade",
    "its way back to that of Easy", "growth of stability, as a whole", "less growth the more stable it is",
    "more growth the lower recall was", "stability after a lapse, as a whole", "less the more difficult",
    "more the more stable it was", "more the lower recall was", "growth by Hard, as a share", "growth by Easy, times",
    "change on the same day, by a grade", "on the same day, offset", "on the same day, less the more stable",
    "how the forgetting curve bends",
)


@dataclass(frozen=True, slots=True)
class Score:
    """A row of before and after: log loss and RMSE over bins, where they are known."""

    name: str
    later_loss: float | None
    loss: float
    rmse: float


@dataclass(frozen=True, slots=True)
class Switch:
    """Parameters that are or were in use, from an instant on; None for the defaults that everybody begins with."""

    pk: int
    name: str
    since: datetime | None
    in_use: bool


class FitPage:
    """The page as it stands at `now`."""

    def __init__(self, user: User, now: datetime) -> None:
        self.user, self.now = user, now
        self.profile = Profile.objects.get(user=user)
        self.state = WorkState(user, Work.Kind.FIT, now)
        self.switching = WorkState(user, Work.Kind.ADOPT, now)
        self.result = self.state.result
        self.least, self.splits = LEAST_SCORED, SPLITS

    @property
    def fitted_to(self) -> str:
        return f"to {self.result['scored']:,} reviews of {self.result['answers']:,} answers"

    @property
    def is_judged(self) -> bool:
        return bool(self.result.get("gain"))

    @cached_property
    def in_use(self) -> list[float]:
        return list(self.profile.fsrs_parameters)

    @property
    def is_adopted(self) -> bool:
        """Whether the latest fit's parameters are those in use."""
        return self.is_judged and self.in_use == self.result["parameters"]

    @property
    def waits(self) -> bool:
        """Whether the page waits for a fit, or for a switch of every card."""
        return self.state.is_under_way or self.switching.is_under_way

    @property
    def switched_last(self) -> bool:
        """Whether a switch by a process of its own is what came to its end last."""
        if self.switching.work is None or self.switching.is_under_way:
            return False
        fitted_at = self.state.work and self.state.work.done_at
        return fitted_at is None or self.switching.work.asked_at > fitted_at

    @property
    def switch_fault(self) -> str:
        """Why the last switch came to nothing, in words; empty when it did not, or a fit came since."""
        if not self.switched_last or self.switching.is_done:
            return ""
        said = self.switching.fault or works.STOPPED
        return f"{said} Nothing was switched: your cards are as they were, and you can switch again."

    @property
    def may_be_adopted(self) -> bool:
        return self.state.is_done and self.is_judged and self.result["worth_it"] and not self.is_adopted

    @property
    def lead(self) -> str:
        """The page's title: what came of the latest fit."""
        if self.switching.is_under_way:
            return "Switching your cards to other parameters"
        if self.state.is_under_way:
            return "Fitting to your reviews"
        if self.state.has_stopped:
            return "The fit stopped before it was done."
        if self.state.fault:
            return "The fit came to nothing."
        if not self.state.is_done:
            return "Fit FSRS to my reviews"
        if not self.is_judged:
            return f"{self.result['scored']:,} reviews are too few for a fit."
        if self.is_adopted:
            return "Your cards go by your own parameters."
        return "Your own parameters predict better." if self.result["worth_it"] else "The defaults are as good for you."

    @property
    def outcome(self) -> str:
        """What a page that waited for the fit, or for a switch, says once."""
        if self.switched_last:
            return self.switch_fault or SWITCHED
        return f"The fit is done. {self.lead}" if self.state.is_done else self.lead

    @property
    def why(self) -> str:
        """The verdict in words, with its figures."""
        gain, latest = self.result["gain"], self.result["latest"]
        on_all = f"On {gain['predictions']:,} later reviews, fitted parameters {gained(gain)} log loss on each"
        on_latest = f"on the latest {latest['predictions']:,} of them they {gained(latest)}"
        if self.result["worth_it"]:
            return f"{on_all}, more than twice the standard error; {on_latest}."
        if gain["mean"] <= 2 * gain["error"]:
            return f"{on_all}. That is not more than twice the standard error, so it may be chance; {on_latest}."
        return f"{on_all}, but {on_latest}: how you remembered long ago is no reason to change how you are asked now."

    @cached_property
    def scores(self) -> list[Score]:
        """Before and after: on later reviews, which the judged fits had not seen, and on all."""
        seen, later, gain = self.result["seen"], self.result["later_loss"], self.result["gain"]["mean"]
        own_are_else = seen["yours"] not in (seen["defaults"], seen["fitted"])
        rows = [Score("defaults", later, **seen["defaults"])]
        rows += [Score("in use at the fit", None, **seen["yours"])] if own_are_else else []
        return [*rows, Score("fitted", later - gain, **seen["fitted"])]

    @cached_property
    def lanes(self) -> list[Lane]:
        """The gain on each later sixth, on the latest third, and on all."""
        result = self.result
        rows = [Lane(name, **split) for name, split in zip(ORDINALS, result["splits"], strict=True)]
        return [*rows, Lane("latest third", **result["latest"]), Lane("all five", **result["gain"], of_all=True)]

    @cached_property
    def wide(self) -> object:
        return fit_pictures.gains(self.lanes, width=MEASURE)

    @cached_property
    def narrow(self) -> object:
        return fit_pictures.gains(self.lanes, width=NARROW)

    @cached_property
    def intervals(self) -> list[tuple[str, list[str]]]:
        """What Good each time leads to, by the defaults and by the fit, at the retention that is asked for."""
        by = {"defaults": DEFAULT_PARAMETERS, "fitted": tuple(self.result["parameters"])}
        return [(name, [queue.label(timedelta(days)) for days in self._good_each_time(w)]) for name, w in by.items()]

    @property
    def times(self) -> range:
        return range(1, GOOD_TIMES + 1)

    @cached_property
    def parameters(self) -> list[tuple[int, str, float, float]]:
        """Each parameter's number, what it says, its default and its fitted value."""
        return list(zip(range(21), NAMES, DEFAULT_PARAMETERS, self.result["parameters"], strict=True))

    def sheet(self, slug: str) -> Sheet | None:
        """One of the fit's tables as its CSV file holds it; None where there is none."""
        if not self.is_judged:
            return None
        if slug == "gains":
            rows = [(lane.name, lane.predictions, lane.mean, lane.error) for lane in self.lanes]
            return Sheet("fit-gains", "Gain of the fit on later reviews",
                         ("part of the log", "reviews", "gain", "standard error"), tuple(rows))
        if slug == "scores":
            rows = [(one.name, one.later_loss, one.loss, one.rmse) for one in self.scores]
            return Sheet("fit-scores", "Before and after",
                         ("parameters", "log loss, later", "log loss, all", "RMSE (bins), all"), tuple(rows))
        if slug == "parameters":
            return Sheet("fit-parameters", "All 21 parameters", ("w", "what it sets", "default", "fitted"),
                         tuple(self.parameters))
        return None

    @cached_property
    def switches(self) -> list[Switch]:
        """The parameters in use and the earlier ones, the latest first, each set once; the defaults are among them."""
        rows, seen = [], set()
        for row in Adoption.objects.filter(user=self.user).select_related("fit").order_by("-pk"):
            if (key := tuple(row.parameters)) not in seen:
                seen.add(key)
                rows.append(Switch(row.pk, self._name(row), row.at, row.parameters == self.in_use))
        if () not in seen:
            rows.append(Switch(0, "the defaults", None, not self.in_use))
        return rows

    def _name(self, row: Adoption) -> str:
        if not row.parameters:
            return "the defaults"
        if row.fit is None:
            return "21 numbers of your own"
        return f"fitted on {self.profile.local(row.fit.asked_at):%-d %B %Y} to {row.fit.result['scored']:,} reviews"

    def _good_each_time(self, parameters: Sequence[float]) -> list[int]:
        by = Rules(tuple(parameters), self.profile.desired_retention, maximum_interval=self.profile.maximum_interval)
        remembered, day, days = Memory(), date(2026, 1, 1), []
        for _ in self.times:
            at = datetime(day.year, day.month, day.day, 12, tzinfo=self.now.tzinfo)
            remembered, due = memory.step(remembered, 3, at=at, study_day=day, rules=by)
            days.append((due.day - day).days)
            day = due.day
        return days


def gained(gain: dict[str, Any]) -> str:
    """A gain in words, with its standard error: "saved 0.0069 (0.0026)"."""
    mean = gain["mean"]
    verb = "saved" if mean >= 0 else "cost"
    return f"{verb} {abs(mean):.4f} (standard error {gain['error']:.4f})"
