"""The pages of a quiz: one place of it, asked or beside the answer, and how it came out."""
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from html import unescape
from random import Random
from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.html import strip_tags
from django.utils.safestring import SafeString

from calculators.models.base import Refusal
from flashcards import quizzes
from flashcards.forms import OptionForm
from flashcards.models import Card, QuizAnswer
from flashcards.question_desk import QuestionDesk
from flashcards.quizzes import Course, Place
from questions.figures import BadFigure
from questions.models import Question, Topic
from questions.services import Posed, pose, pose_from

LETTERS = "abcdefgh"
UNSAID = {"": "not answered", "passed": "did not know", "aloud": "said out loud"}


@dataclass(frozen=True, slots=True)
class Offered:
    """An option as the quiz shows it."""

    letter: str
    index: int  # as the question has it
    html: SafeString
    why: SafeString
    right: bool


class QuizDesk(QuestionDesk):
    """One place of a quiz, before or after its commit."""

    alone = True

    def __init__(self, course: Course, place: Place) -> None:
        self.course, self.quiz, self.at, self.now = course, course.quiz, place, course.now
        self.user = course.quiz.user

    @property
    def question(self) -> Question:
        return self.at.question

    @property
    def attempt(self) -> QuizAnswer | None:
        """What was committed here, once it may be seen beside the answer."""
        return self.at.answer if self.course.reveals else None

    @cached_property
    def posed(self) -> Posed:
        """The question with this place's numbers, and after the commit with those that were committed on."""
        if self.at.answer:
            return pose_from(self.question, self.at.answer.values)
        posed = pose(self.question, f"quiz {self.quiz.seed}, {self.at.number}")
        told_apart = len({option["html"] for option in posed.options}) == len(posed.options)
        return posed if told_apart else pose(self.question)

    @property
    def has_options(self) -> bool:
        return self.quiz.by_options and bool(self.question.options)

    @property
    def check_kind(self) -> str:
        return "options" if self.has_options else super().check_kind

    @cached_property
    def options(self) -> list[Offered]:
        """The options in this quiz's own order; where the right one stands in the bank says nothing here."""
        entries = list(enumerate(self.posed.options))
        Random(f"options {self.quiz.seed}, {self.at.number}").shuffle(entries)
        return [Offered(letter, index, option["html"], option["why"], bool(option.get("right")))
                for letter, (index, option) in zip(LETTERS, entries, strict=False)]

    @property
    def unchanged(self) -> bool:
        """Whether the question still is what it was when it was answered."""
        return self.attempt.digest == self.posed.digest

    @property
    def mine_index(self) -> int | None:
        """Which option was chosen; None when it was passed, or its options are others by now."""
        return self.attempt.chosen if self.unchanged else None

    @property
    def confidence_ask(self) -> str:
        return "How sure are you?" if self.has_options else super().confidence_ask

    @cached_property
    def form(self) -> Any:
        return OptionForm(LETTERS[:len(self.options)]) if self.has_options else super().form

    def fill(self, sent: QueryDict) -> Any:
        """Put what was sent into the form."""
        self.form = OptionForm(LETTERS[:len(self.options)], sent) if self.has_options else super().fill(sent)
        return self.form

    @cached_property
    def draft(self) -> QuizAnswer:
        """What is typed so far, as an answer that nothing keeps; once it is scored, the score."""
        seen = self.quiz.looks.filter(place=self.at.number).first()
        return self.at.score or QuizAnswer(**(seen.draft if seen else {}))

    @property
    def elapsed_s(self) -> int:
        opened = quizzes.look(self.quiz, self.at.number, self.now).opened_at
        return max(int((self.now - opened).total_seconds()), 0)

    def commit(self) -> dict[str, Any]:
        """What the valid form commits."""
        if not self.has_options:
            return super().commit()
        chosen = next(option for option in self.options if option.letter == self.form.cleaned_data["choice"])
        return self.nothing | {
            "chosen": chosen.index, "typed": plain(chosen.html), "within": chosen.right,
            "confidence": self.form.cleaned_data["confidence"],
        }

    @property
    def nothing(self) -> dict[str, Any]:
        """What an answer keeps of the question alone."""
        if not self.can_be_posed:
            return {"values": {}, "digest": ""}
        return {"values": self.posed.values, "digest": self.posed.digest}

    @property
    def before(self) -> Place | None:
        return self.course.beside(self.at.number, -1)

    @property
    def after(self) -> Place | None:
        """The next place; once the quiz is over and something is unscored, the next of those."""
        if self.course.is_over and self.course.unscored:
            rest = [one for one in self.course.unscored if one.number != self.at.number]
            return next((one for one in rest if one.number > self.at.number), rest[0] if rest else None)
        return self.course.beside(self.at.number, 1)

    @property
    def after_address(self) -> str:
        return place_address(self.quiz.pk, self.after)


def place_address(quiz_pk: int, place: Place | None) -> str:
    """The page of a place, without one the quiz's own: how it stands."""
    if place is None:
        return reverse("flashcards:quiz", args=[quiz_pk])
    return reverse("flashcards:quiz_place", args=[quiz_pk, place.number])


def plain(html: str) -> str:
    """A rendered line as plain text."""
    return " ".join(unescape(strip_tags(html)).split())


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question in the table at a quiz's end; `staffs` is empty where nothing differs."""

    place: Place
    address: str
    mine: str
    staffs: str
    card: Card | None
    waits: bool  # whether it was missed and is not in today's line yet

    @property
    def right(self) -> bool | None:
        return self.place.right


class QuizEnd:
    """How a quiz came out."""

    def __init__(self, course: Course) -> None:
        self.course, self.quiz = course, course.quiz

    @cached_property
    def outcomes(self) -> list[Outcome]:
        cards = {card.question_id: card for card in self.quiz.user.cards.filter(question__in=self.quiz.questions)}
        missed = {place.number for place in self.course.missed}
        return [self.outcome(place, cards.get(place.question.pk), place.number in missed)
                for place in self.course.places]

    def outcome(self, place: Place, card: Card | None, missed: bool) -> Outcome:
        desk = QuizDesk(self.course, place)
        staffs, shown = "", missed and place.answer and desk.can_be_posed
        if shown and desk.has_options:
            staffs = next(plain(option.html) for option in desk.options if option.right)
        elif shown and desk.posed.check:
            staffs = desk.staffs
        elif place.score:
            staffs = f"{len(place.score.ticks)} of {len(place.question.rubric)} points"
        waits = missed and card is not None and not card.asked and not card.suspended
        return Outcome(place, place_address(self.quiz.pk, place), said(place), staffs, card, waits)

    @property
    def waiting(self) -> list[Outcome]:
        """What was missed and can still be put into the drill."""
        return [one for one in self.outcomes if one.waits]

    @property
    def topics(self) -> list[tuple[Topic, list[Place], int]]:
        """Each topic's places and how many of them were right."""
        return [(topic, places, sum(one.right is True for one in places)) for topic, places in self.course.by_topic]

    @property
    def lead(self) -> str:
        """The score and where it was lost: "4 of 6. Both misses are in kernels."."""
        return f"{self.course.right} of {self.course.total}. {lost(self.course)}"

    @property
    def before(self) -> str:
        """How the same questions went the last time: "2 of 6; engine and sizing were missed then."; empty without."""
        if (other := quizzes.earlier(self.quiz, self.course.now)) is None:
            return ""
        topics = missed_topics(other)
        then = f"{in_words(topics)} {'was' if len(topics) == 1 else 'were'} missed then" if topics else "nothing missed"
        return f"{other.right} of {other.total}; {then}."

    @property
    def before_at(self) -> datetime | None:
        other = quizzes.earlier(self.quiz, self.course.now)
        return other.quiz.started_at if other else None

    @property
    def weakest(self) -> Question | None:
        """The first question missed in the topic with the most misses."""
        missed = self.course.missed
        counts = {one.question.topic_id: sum(o.question.topic_id == one.question.topic_id for o in missed)
                  for one in missed}
        return max(missed, key=lambda one: counts[one.question.topic_id]).question if missed else None

    @property
    def weakest_lab(self) -> tuple[str, str]:
        """The address and the title of that question's lab, before its answer; both "" without."""
        try:
            posed = pose(self.weakest)
        except (Refusal, BadFigure):
            return "", ""
        return posed.lab, posed.lab_title


def said(place: Place) -> str:
    """What was answered, in a line."""
    answer = place.answer
    if answer is None or answer.passed:
        return UNSAID["passed" if answer else ""]
    if answer.said:
        return f"{{{', '.join(f'{name}: {text}' for name, text in answer.said.items())}}}"
    outline = " ".join(answer.outline.split())
    return answer.typed or (f"{outline[:90]}…" if len(outline) > 90 else outline) or UNSAID["aloud"]


def missed_topics(course: Course) -> list[str]:
    """The topics of what was missed, in the bank's order."""
    missed = {one.question.topic_id for one in course.missed}
    return [topic.slug for topic, _ in course.by_topic if topic.pk in missed]


def lost(course: Course) -> str:
    """Where the missed ones are, in a sentence."""
    missed, topics, waiting = course.missed, missed_topics(course), len(course.unscored)
    rest = f" {waiting} {'waits' if waiting == 1 else 'wait'} to be scored." if waiting else ""
    if not missed:
        return "Nothing missed." if not waiting else rest.strip()
    if len(topics) > 1:
        return f"Missed in {in_words(topics)}.{rest}"
    every = {1: "The miss is", 2: "Both misses are"}.get(len(missed), f"All {len(missed)} misses are")
    return f"{every} in {topics[0]}.{rest}"


def in_words(names: list[str]) -> str:
    """Names as a sentence has them: "engine, sizing and kernels"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
