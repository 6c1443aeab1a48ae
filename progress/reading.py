"""A person's reports on one connection, each read when it is first asked for."""
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import sqlalchemy as sa

from accounts.models import User
from flashcards import queue
from flashcards.study_day import study_day
from progress import counts, kept, reports
from progress.counts import Calibration, Share

RANGES = ((1, 6), (7, 13), (14, 29), (30, 89), (90, 99_999))  # days ahead of which a forecast was made
MOST_LAPSING = 8
MATURE = 21  # days of interval
WEEK = timedelta(days=7)
AHEAD = 365  # days of the forecast


@dataclass(frozen=True, slots=True)
class StudyDay:
    """A study day's answers, how many of them carry a time, and what these took in all."""

    day: date
    answers: int
    timed: int
    seconds: int


class Reading:
    """What the Progress pages and their CSV files are made from."""

    def __init__(self, connection: sa.Connection, user: User, now: datetime) -> None:
        self.connection, self.user, self.now = connection, user, now
        self.profile = user.profile
        self.today = study_day(now, self.profile.zone, self.profile.day_start)
        self.parameters = queue.parameters(self.profile)

    @cached_property
    def answers(self) -> counts.Answers:
        whose = self.connection.engine.url, self.user.pk, self.user.date_joined
        return kept.answers(self.connection, self.user.pk, self.cards, whose)

    @cached_property
    def scored(self) -> counts.Scored:
        return counts.scored(self.answers)

    @cached_property
    def cards(self) -> counts.Cards:
        return reports.cards_of(self.connection, self.user.pk)

    @cached_property
    def topics(self) -> dict[int, str]:
        return reports.topic_names(self.connection)

    @cached_property
    def study_days(self) -> list[StudyDay]:
        """Every study day that has an answer, the earliest first."""
        answers = self.answers
        if not len(answers.day):
            return []
        timed, first = answers.seconds >= 0, int(answers.day.min())
        at = answers.day - first
        of, with_time, taken = np.bincount(at), np.bincount(at, timed), np.bincount(at, answers.seconds * timed)
        return [StudyDay(date.fromordinal(first + int(day)), int(of[day]), int(with_time[day]), int(taken[day]))
                for day in np.flatnonzero(of)]

    @cached_property
    def lapsing(self) -> list[reports.Lapsing]:
        """The cards that were forgotten most often."""
        cards = self.cards
        often = np.lexsort((cards.pk, cards.answers, -cards.lapses))[:MOST_LAPSING]
        return reports.lapsing(self.connection, self.user.pk, [int(pk) for pk in cards.pk[often]])

    @cached_property
    def leeches(self) -> int:
        """How many cards were forgotten as often as makes a leech."""
        return int((self.cards.lapses >= self.profile.leech_lapses).sum())

    # True retention: the first answer of its day on a card in review

    @cached_property
    def retention(self) -> Share:
        """All of it; of none when there is nothing yet."""
        remembered = self.scored.remembered[self.scored.in_review]
        return Share(int(remembered.sum()), len(remembered))

    @cached_property
    def by_week(self) -> list[tuple[date, Share]]:
        """By week, each by its Monday."""
        return [(date.fromordinal(week * 7 + 1), share) for week, share in self._retention((self.scored.day - 1) // 7)]

    @cached_property
    def by_topic(self) -> dict[str, Share]:
        topic_of_each = self.cards.topic[counts.places(self.scored.card, self.cards.pk)]
        return {self.topics[topic]: share for topic, share in self._retention(topic_of_each)}

    @cached_property
    def by_maturity(self) -> dict[str, Share]:
        """Of cards with an interval under 21 days, and of those with a longer one."""
        return {("young", "mature")[old]: share for old, share in self._retention(self.scored.interval >= MATURE)}

    def _retention(self, keys: np.ndarray) -> list[tuple[int, Share]]:
        counted = self.scored.in_review
        return list(counts.by(keys.astype(int)[counted], self.scored.remembered[counted]).items())

    # Predictions

    @cached_property
    def predicted(self) -> np.ndarray:
        """Predicted recall at each scored answer, by the parameters that hold now."""
        return counts.recall_after(self.scored.elapsed, self.scored.stability, self.parameters)

    @cached_property
    def calibration(self) -> Calibration | None:
        return counts.calibration(self.predicted, self.scored.remembered)

    @cached_property
    def held(self) -> list[tuple[int, int, float, Share]]:
        """By how many days ahead a forecast was made, with nothing answered in between: its mean, and what came."""
        rows = []
        for low, high in RANGES:
            among = (self.scored.elapsed >= low) & (self.scored.elapsed <= high)
            if among.any():
                came = Share(int(self.scored.remembered[among].sum()), int(among.sum()))
                rows.append((low, high, float(self.predicted[among].mean()), came))
        return rows

    @cached_property
    def stated(self) -> dict[float, Share]:
        """By the confidence that was stated, 0 to 1: how many answers were within the tolerance."""
        told = (self.answers.confidence > 0) & (self.answers.within >= 0)
        shares = counts.by(self.answers.confidence[told], self.answers.within[told])
        return {sure / 100: share for sure, share in shares.items()}

    # What is weak

    @cached_property
    def recall_by_topic(self) -> dict[str, tuple[float, int]]:
        """By topic: the mean predicted recall today of the cards begun, and how many these are."""
        of, sums = np.bincount(self.begun.topic), np.bincount(self.begun.topic, self.recall_today)
        return {name: (float(sums[pk] / of[pk]), int(of[pk]))
                for pk, name in self.topics.items() if pk < len(of) and of[pk]}

    @cached_property
    def begun(self) -> counts.Cards:
        """The cards that have a memory and may come up."""
        among = (self.cards.stability > 0) & ~self.cards.suspended
        return counts.Cards(*(getattr(self.cards, name)[among] for name in counts.Cards.__slots__))

    @cached_property
    def recall_today(self) -> np.ndarray:
        """Predicted recall today of each card begun."""
        days = np.maximum(self.today.toordinal() - self.begun.last_day, 0)
        return counts.recall_after(days, self.begun.stability, self.parameters)

    @cached_property
    def missed(self) -> list[tuple[str, str, dict[str, Any], Share]]:
        """The rubric's points as they are now, by how often they were left unticked: slug, title, point, of answers."""
        sets = reports.ticked(self.connection, self.user.pk)
        rubrics = reports.rubrics(self.connection, {question for question, _, _ in sets})
        answers: dict[int, int] = {}
        ticks: dict[tuple[int, str], int] = {}
        for question, ids, count in sets:
            answers[question] = answers.get(question, 0) + count
            for point in set(ids):
                ticks[question, point] = ticks.get((question, point), 0) + count
        rows = [
            (slug, title, point, Share(answers[pk] - ticks.get((pk, point["id"]), 0), answers[pk]))
            for pk, (slug, title, rubric) in rubrics.items() for point in rubric
        ]
        return sorted((row for row in rows if row[3].hits), key=lambda row: (-row[3].hits, -row[3].share, row[0]))

    # Days

    @cached_property
    def weeks_of_minutes(self) -> list[tuple[date, float, int, int]]:
        """By week from the first, by its Monday: minutes, answers that carry a time, answers."""
        weeks: dict[date, list[float]] = {}
        for day in self.study_days:
            sums = weeks.setdefault(day.day - timedelta(days=day.day.weekday()), [0, 0, 0])
            for at, more in enumerate((day.seconds / 60, day.timed, day.answers)):
                sums[at] += more
        if not weeks:
            return []
        first, last = min(weeks), max(weeks)
        mondays = (first + WEEK * at for at in range((last - first).days // 7 + 1))
        return [(monday, *weeks.get(monday, (0, 0, 0))) for monday in mondays]

    @cached_property
    def seconds_an_answer(self) -> float | None:
        """The mean of all that carry a time; None when none does."""
        timed = sum(day.timed for day in self.study_days)
        return sum(day.seconds for day in self.study_days) / timed if timed else None

    @cached_property
    def forecast(self) -> list[tuple[date, int]]:
        """Cards falling due on each of the 365 days from today, today's with what is overdue."""
        days = self.cards.due_day[(self.cards.due_day > 0) & self.cards.under_way & ~self.cards.suspended]
        steps = [study_day(at, self.profile.zone, self.profile.day_start).toordinal()
                 for at in reports.steps_due(self.connection, self.user.pk)]
        ahead = np.maximum(np.append(days, steps).astype(int) - self.today.toordinal(), 0)
        counts_ahead = np.bincount(ahead[ahead < AHEAD], minlength=AHEAD)
        return [(self.today + timedelta(days=at), int(count)) for at, count in enumerate(counts_ahead)]
