"""A person's own deck, pace and habits, as the days to come are played through with them."""
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from statistics import median

import numpy as np

from accounts.models import Profile, User
from calculators.pictures import NARROW, Bar, Drawing, Shape, Text, line, polyline
from flashcards import queue
from flashcards.agenda import new_numbers, new_questions
from flashcards.models import Card, Review, State
from flashcards.projection import NOBODY_KNOWS, Course, Deck, Habits, Terms, project
from flashcards.study_day import study_day

DAYS = 30
WIDE = 300  # units, the pen column's width
LAST_WEEK = slice(-7, None)
OWN_FROM = 50  # first answers, or remembered ones, before a person's own shares are taken
TIMED_FROM = 20  # answers of a grade, before how long it takes is the person's own
LATEST = 5_000  # answers that habits are read from


def deck_of(user: User, today: date) -> Deck:
    """Every card that is in the drill, and the new ones in the order they come."""
    pace = queue.pace_of(user)
    fields = ("stability", "difficulty", "due_day", "due_at", "last_day", "state", "note_id", "question__kind",
              "question__minutes")
    drilled = Card.objects.filter(user=user, suspended=False)
    begun = drilled.exclude(state=State.NEW).order_by("pk").values_list(*fields)
    new = [*new_questions(user, today).values_list(*fields), *new_numbers(user, today).values_list(*fields)]
    rows = [*begun, *new]
    days = [(row[2] or today, row[4] or today) for row in rows]
    return Deck(
        stability=np.array([row[0] or 1.0 for row in rows], float),
        difficulty=np.array([row[1] or 5.0 for row in rows], float),
        due=np.array([NOBODY_KNOWS if row[5] == State.NEW else (due - today).days
                      for row, (due, _) in zip(rows, days, strict=True)], int),
        last=np.array([min((last - today).days, 0) for _, last in days], int),
        new=np.array([row[5] == State.NEW for row in rows], bool),
        number=np.array([row[6] is not None for row in rows], bool),
        seconds=np.array([pace.get(row[7] or "number", row[8] * 60 if row[8] else queue.NUMBER_SECONDS)
                          for row in rows], float),
    )


def habits_of(user: User) -> Habits:
    """How the person graded lately; where there is little to go by, as the defaults have it."""
    latest = Review.objects.filter(card__user=user).answers().order_by("-pk")
    seen = Counter(latest.values_list("was", "rated")[:LATEST])
    first = [seen[State.NEW, grade] for grade in (1, 2, 3, 4)]
    remembered = [seen[State.REVIEW, grade] for grade in (2, 3, 4)]
    default = Habits()
    return Habits(
        tuple(count / sum(first) for count in first) if sum(first) >= OWN_FROM else default.first,
        tuple(count / sum(remembered) for count in remembered) if sum(remembered) >= OWN_FROM else default.remembered,
        effort_of(user),
    )


def effort_of(user: User) -> tuple[float, float, float, float]:
    """How long each grade takes the person, as a multiple of their pace with cards of its kind. A grade seldom timed
    takes as long as any."""
    pace = queue.pace_of(user)
    timed = Review.objects.filter(card__user=user, was__in=(State.NEW, State.REVIEW), attempt__seconds__gt=0).answers()
    taken: dict[int, list[float]] = {grade: [] for grade in (1, 2, 3, 4)}
    latest = timed.order_by("-pk").values_list("rated", "card__question__kind", "attempt__seconds")[:LATEST]
    for grade, kind, seconds in latest:
        if usual := pace.get(kind or "number"):
            taken[grade].append(seconds / usual)
    again, hard, good, easy = (median(ratios) if len(ratios) >= TIMED_FROM else 1.0 for ratios in taken.values())
    return again, hard, good, easy


def terms_of(profile: Profile, today: date) -> Terms:
    """The terms that a profile, saved or not, sets."""
    return Terms(
        parameters=queue.parameters(profile), desired_retention=profile.desired_retention,
        new_questions_per_day=profile.new_questions_per_day, new_numbers_per_day=profile.new_numbers_per_day,
        reviews_per_day=profile.reviews_per_day, maximum_interval=profile.maximum_interval,
        interview=(profile.interview_day - today).days if profile.interview_day else None,
        question_steps=len(queue.waits(profile.question_steps)), number_steps=len(queue.waits(profile.number_steps)),
        relearning_steps=len(queue.waits(profile.relearning_steps)), fuzz=profile.fuzz,
    )


@dataclass(frozen=True, slots=True)
class Effect:
    """The coming 30 days as the settings stand, and as they would be; both from the same deck and the same luck."""

    today: date
    now: Course
    then: Course
    answers: int  # that the person's pace and habits are read from

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """What changes, in figures: name, as it is, as changed."""
        end = self.today + timedelta(days=DAYS - 1)
        figures = [
            ("today", *(minutes(course.seconds[0]) for course in self.courses)),
            (f"a day, by {end.day} {end:%b}", *(minutes(course.seconds[LAST_WEEK].mean()) for course in self.courses)),
            (f"known on {end.day} {end:%b}", *(f"{course.known[-1]:.0f} cards" for course in self.courses)),
            ("all begun by", *map(self.begun_words, self.courses)),
        ]
        if any(course.held.any() for course in self.courses):
            figures.append(("most held back", *(f"{course.held.max():.0f} cards" for course in self.courses)))
        return figures

    @property
    def courses(self) -> tuple[Course, Course]:
        return self.now, self.then

    @property
    def words(self) -> str:
        """The effect in a line: "Today 31 to 27 min; in a month 14 to 16 min a day"."""
        today = [round(course.seconds[0] / 60) for course in self.courses]
        month = [round(course.seconds[LAST_WEEK].mean() / 60) for course in self.courses]
        return f"Today {to_words(today)} min; in a month {to_words(month)} min a day."

    @property
    def differs(self) -> bool:
        return bool((self.now.seconds != self.then.seconds).any())

    @property
    def drawings(self) -> dict[str, Drawing]:
        return {"wide": drawn(self, WIDE), "narrow": drawn(self, NARROW)}

    def begun_words(self, course: Course) -> str:
        if course.all_started is None:
            return "later"
        day = self.today + timedelta(days=course.all_started)
        return f"{day.day} {day:%b}"


def effect(user: User, saved: Profile, changed: Profile, now: datetime) -> Effect:
    """What the changed settings do to the person's coming days."""
    today = study_day(now, saved.zone, saved.day_start)
    deck, habits = deck_of(user, today), habits_of(user)
    seed = today.toordinal()
    now_course, then = (
        project(deck, terms_of(profile, today), habits, days=DAYS, seed=seed) for profile in (saved, changed))
    return Effect(today, now_course, then, Review.objects.filter(card__user=user).answers().count())


def drawn(effect: Effect, width: int) -> Drawing:
    """Minutes a day: a bar as it is, today's in ink, and a pen step line as changed."""
    floor, top, right = 96, 14, width - 26
    most = max(course.seconds.max() for course in effect.courses) / 60
    unit = next((step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500) if step * 2.5 >= most), 1_000)
    scale = (floor - top) / max(most, 2 * unit)
    step = right / DAYS
    shapes: list[Shape] = []
    for at in (1, 2):
        y = round(floor - at * unit * scale, 1)
        shapes += [line(0, y, right, y, "grid"), Text(width, y + 4, f"{at * unit}", "axis", "end")]
    for day, seconds in enumerate(effect.now.seconds):
        height = round(seconds / 60 * scale, 1)
        if height > 0:
            shapes.append(Bar(round(day * step, 1), round(floor - height, 1), round(step - 1.5, 1), height,
                              "other" if day else "present"))
    points = []
    for day, seconds in enumerate(effect.then.seconds):
        y = round(floor - seconds / 60 * scale, 1)
        points += [(round(day * step, 1), y), (round((day + 1) * step - 1.5, 1), y)]
    end = effect.today + timedelta(days=DAYS - 1)
    shapes += [
        line(0, floor, right, floor, "edge"), polyline(points, "pen"), Text(0, floor + 16, "today", "axis"),
        Text(right, floor + 16, f"{end.day} {end:%b}", "axis", "end"), Text(width, floor, "min", "axis", "end"),
    ]
    return Drawing(width, floor + 22, f"Minutes a day for {DAYS} days. {effect.words}", tuple(shapes))


def minutes(seconds: float) -> str:
    return f"{max(round(seconds / 60), 1) if seconds else 0} min"


def to_words(pair: list[int]) -> str:
    return f"{pair[0]} to {pair[1]}" if pair[0] != pair[1] else f"stays {pair[0]}"
