"""Quizzes: begun once from a form, answered once at each place; how one stands is read from its rows and the clock."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby
from random import Random
from typing import Any

from django.db import transaction

from accounts.models import User
from flashcards import services
from flashcards.models import Card, Quiz, QuizAnswer, QuizLook, Rating
from flashcards.services import A_LOOK_LASTS, MOST_SECONDS
from questions.grading import suggest_grade
from questions.models import Question, Topic


@dataclass(frozen=True, slots=True)
class Place:
    """One question of a quiz as it stands."""

    number: int  # from 1
    question: Question
    answer: QuizAnswer | None
    score: QuizAnswer | None

    @property
    def right(self) -> bool | None:
        """Whether it was right; None while it is open, or an outline still to be scored."""
        settled = self.score or self.answer
        return settled.within if settled else None

    @property
    def unscored(self) -> bool:
        """Whether it was answered and waits to be scored by its rubric."""
        return self.answer is not None and self.right is None

    @property
    def seconds(self) -> int:
        return self.answer.seconds if self.answer else 0


class Course:
    """A quiz as it stands now."""

    def __init__(self, quiz: Quiz, now: datetime) -> None:
        self.quiz, self.now = quiz, now

    @cached_property
    def places(self) -> list[Place]:
        """Its questions in the order asked; one that was withdrawn before it was answered is left out."""
        rows = {(row.place, row.kind): row for row in self.quiz.answers.all()}
        found = Question.objects.select_related("topic").in_bulk(self.quiz.questions)
        places = [
            Place(at, found[key], rows.get((at, QuizAnswer.Kind.CHECK)), rows.get((at, QuizAnswer.Kind.SCORE)))
            for at, key in enumerate(self.quiz.questions, 1) if key in found
        ]
        return [one for one in places if one.answer or not (one.question.draft or one.question.retired)]

    def at(self, number: int) -> Place | None:
        """The place of this number, None when there is none."""
        return next((one for one in self.places if one.number == number), None)

    def beside(self, number: int, step: int) -> Place | None:
        """The place before (-1) or after (1) it."""
        numbers = [one.number for one in self.places]
        index = numbers.index(number) + step if number in numbers else -1
        return self.places[index] if 0 <= index < len(self.places) else None

    @property
    def total(self) -> int:
        return len(self.places)

    @property
    def answered(self) -> int:
        return sum(one.answer is not None for one in self.places)

    @property
    def right(self) -> int:
        return sum(one.right is True for one in self.places)

    @property
    def missed(self) -> list[Place]:
        """What was answered and not right, or not answered in time."""
        return [one for one in self.places if one.right is False or (self.is_over and one.answer is None)]

    @property
    def unscored(self) -> list[Place]:
        return [one for one in self.places if one.unscored]

    @property
    def current(self) -> Place | None:
        """The first place not answered yet; None when the quiz is over."""
        return None if self.is_over else next(one for one in self.places if one.answer is None)

    @property
    def is_over(self) -> bool:
        """Whether no answer is taken any more: all are given, the time is up, or its person ended it."""
        deadline = self.quiz.deadline
        late = deadline is not None and self.now >= deadline
        return self.quiz.ended_at is not None or late or all(one.answer for one in self.places)

    @property
    def reveals(self) -> bool:
        """Whether an answer is shown as soon as it is given; of a timed quiz only once it is over."""
        return self.quiz.deadline is None or self.is_over

    @property
    def seconds(self) -> int:
        """What the answers took together."""
        return sum(one.seconds for one in self.places)

    @property
    def elapsed(self) -> int:
        """Seconds since it began."""
        return max(int((self.now - self.quiz.started_at).total_seconds()), 0)

    @property
    def by_topic(self) -> list[tuple[Topic, list[Place]]]:
        """The places of each topic, in the bank's order of topics."""
        ordered = sorted(self.places, key=lambda one: (one.question.topic.position, one.number))
        return [(topic, list(places)) for topic, places in groupby(ordered, key=lambda one: one.question.topic)]


def begin(
    user: User, questions: Sequence[Question], *, title: str, query: str = "", by_options: bool = True,
    seconds_allowed: int | None = None, seed: int, now: datetime,
) -> Quiz:
    """Begin a quiz with these questions in this order; the same form sent again gives the quiz that it began."""
    quiz, _ = Quiz.objects.get_or_create(user=user, seed=seed, defaults={
        "title": title, "query": query, "questions": [question.pk for question in questions], "by_options": by_options,
        "seconds_allowed": seconds_allowed, "started_at": now,
    })
    return quiz


def chosen_from(questions: Sequence[Question], count: int, seed: int) -> list[Question]:
    """Some of the questions, at most `count` of them, in an order of chance; the same for the same seed."""
    return Random(f"quiz {seed}").sample(list(questions), min(count, len(questions)))


def look(quiz: Quiz, place: int, now: datetime) -> QuizLook:
    """Since when the place is looked at; the first look starts its clock, one long ago starts it anew."""
    seen, _ = QuizLook.objects.get_or_create(quiz=quiz, place=place, defaults={"opened_at": now})
    if quiz.deadline is None and now - seen.opened_at > A_LOOK_LASTS and not any(seen.draft.values()):
        seen.opened_at = now
        seen.save(update_fields=["opened_at"])
    return seen


def save_draft(quiz: Quiz, place: int, fields: dict[str, Any], now: datetime) -> None:
    """Keep what stands in a place's form before it is committed."""
    seen = look(quiz, place, now)
    seen.draft = fields
    seen.save(update_fields=["draft"])


@transaction.atomic
def answer(quiz: Quiz, place: Place, *, now: datetime, **fields: Any) -> QuizAnswer | None:
    """Commit the answer at a place. What comes back is the answer that stands: a second one changes nothing.

    None, and nothing is written, when the quiz is over.
    """
    quiz = Quiz.objects.select_for_update().get(pk=quiz.pk)
    check = QuizAnswer.Kind.CHECK
    if (standing := quiz.answers.filter(place=place.number, kind=check).first()) is not None:
        return standing
    if Course(quiz, now).is_over:
        return None
    seconds = int((now - look(quiz, place.number, now).opened_at).total_seconds())
    made = QuizAnswer.objects.create(
        quiz=quiz, place=place.number, kind=check, question=place.question, at=now,
        seconds=min(max(seconds, 0), MOST_SECONDS), **fields,
    )
    if Course(quiz, now).is_over:
        end(quiz, now)
    return made


@transaction.atomic
def score(quiz: Quiz, place: Place, ticks: list[str], now: datetime) -> bool:
    """Keep which rubric points an outline had; four fifths of them make it right. False when that was done before."""
    quiz = Quiz.objects.select_for_update().get(pk=quiz.pk)
    if place.answer is None or place.answer.within is not None:
        return False
    points = [point["id"] for point in place.question.rubric]
    ticks = [point for point in points if point in ticks]
    grade, _ = suggest_grade(None, ticked=len(ticks), points=len(points))
    _, made = QuizAnswer.objects.get_or_create(quiz=quiz, place=place.number, kind=QuizAnswer.Kind.SCORE, defaults={
        "question": place.question, "at": now, "ticks": ticks, "within": grade >= Rating.GOOD, "seconds": 0,
        "digest": place.answer.digest, "values": place.answer.values,
    })
    return made


def end(quiz: Quiz, now: datetime) -> None:
    """End the quiz, for good; once is enough."""
    Quiz.objects.filter(pk=quiz.pk, ended_at=None).update(ended_at=now)


def add_missed(user: User, offered: dict[str, int], now: datetime) -> int:
    """Have these questions ({slug: the log position that the page offered}) due today; how many came in by it."""
    cards = Card.objects.filter(user=user, question__slug__in=offered).select_related("question", "user__profile")
    return sum(services.add_to_drill(card, ordinal=offered[card.question.slug], now=now) for card in cards)


def open_quizzes(user: User, now: datetime) -> Iterator[Course]:
    """The person's quizzes that still take answers, the latest first."""
    for quiz in Quiz.objects.filter(user=user, ended_at=None).order_by("-pk"):
        if not (course := Course(quiz, now)).is_over:
            yield course


def earlier(quiz: Quiz, now: datetime) -> Course | None:
    """The last quiz over the same questions that was over before this one began, None without."""
    for other in Quiz.objects.filter(user=quiz.user, pk__lt=quiz.pk).order_by("-pk")[:50]:
        if sorted(other.questions) == sorted(quiz.questions) and (course := Course(other, now)).is_over:
            return course
    return None
