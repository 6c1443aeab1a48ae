"""What the Readiness page says: recall on a day to come by topic and question, what raises it, and a plan."""
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

import numpy as np

from calculators.pictures import MEASURE, NARROW, Drawing
from progress import pictures, readiness, reports, sheets
from progress.forms import FARTHEST, ReadinessForm
from progress.pictures import Drawn, Spread
from progress.readiness import Known, Plan
from progress.reading import Reading
from progress.sheets import Sheet

TARGET = 80  # percent: what counts as ready until another is asked for
AHEAD = timedelta(days=28)  # the day that is looked at while there is no interview
MOST_RAISING, NAMED = 3, 4
LEAST_HELD = 30


@dataclass(frozen=True, slots=True)
class Standing:
    """A question: recall today and on the day, 0 to 1 (None while it was never answered), and what Good today adds."""

    slug: str
    title: str
    topic: str
    today: float | None
    then: float | None
    gain: float


@dataclass(frozen=True, slots=True)
class PlannedDay:
    """A day of the plan: the questions to answer, and how many are then ready."""

    day: date
    questions: tuple[Standing, ...]
    ready: int

    @property
    def named(self) -> tuple[Standing, ...]:
        return self.questions[:NAMED]

    @property
    def more(self) -> int:
        return max(len(self.questions) - NAMED, 0)


class ReadinessPage:
    """One person's questions on a day to come; `given` is what the address asks for."""

    def __init__(self, reading: Reading, given: Mapping[str, str]) -> None:
        self.reading = reading
        interview = reading.profile.interview_day
        self.interview = interview if interview and timedelta() < interview - reading.today <= FARTHEST else None
        usual = {"on": (self.interview or reading.today + AHEAD).isoformat(), "target": str(TARGET)}
        self.form = ReadinessForm({**usual, **given}, today=reading.today)
        self.usual = ReadinessForm(usual, today=reading.today)
        self.usual.is_valid()
        # A fault leaves the picture as it is without what was asked for; the form says so.
        self.asked = self.form.cleaned_data if self.form.is_valid() else self.usual.cleaned_data

    @property
    def on(self) -> date:
        return self.asked["on"]

    @property
    def target(self) -> float:
        return self.asked["target"] / 100

    @property
    def days(self) -> int:
        return (self.on - self.reading.today).days

    @property
    def query(self) -> str:
        """What a CSV file of the same figures is asked for with."""
        return f"?on={self.on.isoformat()}&target={self.asked['target']}"

    @cached_property
    def rows(self) -> list[reports.Drilled]:
        return reports.drilled(self.reading.connection, self.reading.user.pk)

    @cached_property
    def known(self) -> Known:
        today = self.reading.today
        return Known(
            np.array([row.stability or 0.0 for row in self.rows], float),
            np.array([row.difficulty or 0.0 for row in self.rows], float),
            np.array([min((row.last_day - today).days, 0) if row.last_day else 0 for row in self.rows], int))

    @cached_property
    def standings(self) -> list[Standing]:
        """The questions of the drill, in the bank's order."""
        w = self.reading.parameters
        today, then = readiness.recall_on(self.known, 0, w), readiness.recall_on(self.known, self.days, w)
        gains = readiness.gain(self.known, 0, self.days, w)
        return [
            Standing(row.slug, row.title, row.topic, float(now) if row.stability else None,
                     float(later) if row.stability else None, float(more))
            for row, now, later, more in zip(self.rows, today, then, gains, strict=True)
        ]

    @property
    def ready(self) -> int:
        return ready_of(self.standings, self.target)

    @property
    def lead(self) -> str:
        return f"{self.ready} of {len(self.standings)} questions ready for {self.on.day} {self.on:%B}, as it stands."

    @property
    def by_topic(self) -> dict[str, list[Standing]]:
        topics: dict[str, list[Standing]] = {}
        for standing in self.standings:
            topics.setdefault(standing.topic, []).append(standing)
        return topics

    @cached_property
    def topics(self) -> Drawn | None:
        return self.drawn(MEASURE)

    @cached_property
    def topics_beside(self) -> Drawn | None:
        """The same, to stand beside another picture."""
        return self.drawn(520)

    def drawn(self, width: int) -> Drawn | None:
        rows = list(self.spreads())
        if not rows:
            return None
        finding = f"{self.lead} Ready is a predicted recall of {self.target:.2f} or more."
        return Drawn(*(pictures.spreads(rows, finding, width=wide, target=self.target) for wide in (width, NARROW)))

    def spreads(self) -> Iterable[Spread]:
        """Of each topic with something begun: the mean recall on the day, and the tenth lowest to the tenth highest."""
        for topic, standings in self.by_topic.items():
            recall = [standing.then for standing in standings if standing.then is not None]
            if recall:
                low, high = np.percentile(recall, (10, 90))
                yield Spread(topic, float(low), float(np.mean(recall)), float(high),
                             f"{ready_of(standings, self.target)} of {len(standings)} ready")

    @property
    def not_begun(self) -> list[str]:
        """Topics of which nothing was answered yet."""
        return [topic for topic, standings in self.by_topic.items() if all(one.then is None for one in standings)]

    @property
    def raising(self) -> list[Standing]:
        """The questions that would gain most on the day from a Good today."""
        return sorted(self.standings, key=lambda standing: -standing.gain)[:MOST_RAISING]

    @property
    def questions_sheet(self) -> Sheet:
        rows = ((one.title, one.topic, *(None if share is None else round(share, 4) for share in (one.today, one.then)),
                 round(one.gain, 4)) for one in sorted(self.standings, key=lambda one: (one.then or 0, -one.gain)))
        return Sheet("readiness", f"Recall on {self.on.isoformat()} by question, the lowest first",
                     ("question", "topic", "recall today", "recall then", "gain of Good today"), tuple(rows))

    # The plan

    @cached_property
    def plan(self) -> Plan:
        return readiness.planned(self.known, self.days, self.target, self.reading.parameters)

    @property
    def plan_words(self) -> str:
        """What the plan asks for and reaches, in a sentence."""
        if not self.plan.days:
            return "Nothing needs to be answered for it." if self.plan.reached else "No answer until then would do it."
        count = max(len(day.cards) for day in self.plan.days)
        end = self.plan.days[-1].ready
        reach = "all" if self.plan.reached else f"{end} of {len(self.standings)}"
        return f"At most {count} question{'' if count == 1 else 's'} a day, each remembered, " \
               f"make{'s' if count == 1 else ''} {reach} ready."

    @property
    def planned(self) -> list[PlannedDay]:
        return [
            PlannedDay(self.reading.today + timedelta(days=day.day), tuple(self.standings[at] for at in day.cards),
                       day.ready)
            for day in self.plan.days
        ]

    @property
    def plan_sheet(self) -> Sheet:
        rows = ((day.day, one.title, one.topic) for day in self.planned for one in day.questions)
        return Sheet("plan", f"What to answer until {self.on.isoformat()}", ("day", "question", "topic"), tuple(rows))

    # How forecasts held

    @property
    def held_sheet(self) -> Sheet:
        return sheets.forecasts_held(self.reading)

    @property
    def held_words(self) -> str:
        """What forecasts of a week or more came to."""
        held = [(expected, came) for low, _, expected, came in self.reading.held if low >= 7]
        count = sum(came.of for _, came in held)
        if count < LEAST_HELD:
            return f"Told from {LEAST_HELD} forecasts of a week or more on; {count} came due so far."
        expected = sum(mean * came.of for mean, came in held) / count
        return f"Where recall was forecast a week ahead or more, {expected:.1%} was expected and " \
               f"{sum(came.hits for _, came in held) / count:.1%} came, in {count:,} reviews."

    @property
    def held_picture(self) -> Drawing | None:
        rows = [
            Spread(f"{low}–{high} d" if high < 9999 else f"{low} d on", came.low, came.share, came.high,
                   f"{expected:.2f} said")
            for low, high, expected, came in self.reading.held if came.of >= sheets.LEAST_OF_A_ROW
        ]
        finding = "; ".join(f"{row.name} ahead: {row.words}, {row.middle:.2f} came" for row in rows)
        return pictures.spreads(rows, finding, width=NARROW) if rows else None


def ready_of(standings: Iterable[Standing], target: float) -> int:
    return sum(standing.then is not None and standing.then >= target for standing in standings)
