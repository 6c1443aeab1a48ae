"""A question on its own page: what a review shows of it, and how it stands with its person."""
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

from django.utils.safestring import SafeString

from calculators.pictures import Drawing
from flashcards import memory, pictures, queue
from flashcards.models import Attempt, Review
from flashcards.overview import action_words, due_words
from flashcards.question_desk import QuestionDesk
from flashcards.study_day import study_day
from questions import related
from questions.models import Note, Question
from questions.services import inline

CURVE = 300
MOST_DRAWN = 24  # answers: more would leave their letters no room


@dataclass(frozen=True, slots=True)
class Past:
    """A line of the history: what was done and when; of an answer also what was typed, how sure, how long it took."""

    at: datetime
    day: date
    words: str  # "Good", "Left uncounted", "Suspend"
    attempt: Attempt | None
    points: int = 0  # of the rubric, ticked

    @property
    def said(self) -> str:
        """The number or map as it was typed; empty when it was only said or outlined."""
        if self.attempt is None:
            return ""
        entries = [f"{name}: {text}" for name, text in self.attempt.said.items()]
        return f"{{{', '.join(entries)}}}" if entries else self.attempt.typed

    @property
    def how(self) -> str:
        """How the answer was given when no number was: "outline", "said out loud"."""
        if self.attempt is None or self.said:
            return ""
        return "outline" if self.attempt.outline else "said out loud" if self.attempt.aloud else ""

    @property
    def verdict(self) -> str:
        """How the number or map did: "right", or how far it was off; empty without one."""
        attempt = self.attempt
        if attempt is None or attempt.within is None:
            return ""
        if attempt.within:
            return "right"
        ratio = attempt.ratio or 0
        return f"{max(ratio, 1 / ratio):.2g}× too {'low' if ratio < 1 else 'high'}" if ratio > 0 else "not right"


class QuestionPage(QuestionDesk):
    """A question's own page, before or after the commit."""

    page, fragment = "flashcards/question.html", "flashcards/_question_turn.html"
    alone = True

    @cached_property
    def study_day(self) -> date:
        profile = self.user.profile
        return study_day(self.now, profile.zone, profile.day_start)

    @property
    def withdrawn(self) -> str:
        """Why the question is no longer drilled by others; empty while it is."""
        return "retired" if self.question.retired else "being rewritten" if self.question.draft else ""

    # How it stands

    @cached_property
    def log(self) -> list[Review]:
        return list(self.card.reviews.select_related("attempt", "names").order_by("ordinal"))

    @property
    def recall(self) -> float | None:
        """The chance, 0 to 1, that it is remembered today; None before the first answer."""
        return memory.predicted_recall(self.card.memory, self.study_day, queue.parameters(self.user.profile))

    @property
    def due_words(self) -> str:
        return due_words(self.card, self.now)

    @property
    def is_up(self) -> bool:
        """Whether it was asked for, or is due by itself."""
        card = self.card
        due = card.due_at <= self.now if card.due_at else card.due_day is not None and card.due_day <= self.study_day
        return not card.suspended and (card.asked or due)

    @cached_property
    def memory_curve(self) -> Drawing | None:
        """The predicted recall from the first answer, or one of the latest, to today; None without an answer."""
        profile = self.user.profile
        parameters = queue.parameters(profile)
        answers = [
            pictures.Answered(row.study_day, row.get_rating_display(), remembered.stability,
                              lapse=row.rating == 1 and row.was == "review")
            for row, remembered, _ in memory.course(self.log, parameters) if row.kind == Review.Kind.ANSWER
        ]
        if not answers:
            return None
        return pictures.memory_curve(
            answers[-MOST_DRAWN:], self.study_day, profile.desired_retention, self.recall,
            lambda days, stability: memory.recall_after(days, stability, parameters), width=CURVE)

    @property
    def count_words(self) -> str:
        """How often it was answered and forgotten: "6 answers, lapsed once"."""
        answers, lapses = self.card.answers, self.card.lapses
        often = {1: "once", 2: "twice"}.get(lapses, f"{lapses} times")
        return f"{answers} answer{'' if answers == 1 else 's'}{f', lapsed {often}' if lapses else ''}"

    @cached_property
    def history(self) -> list[Past]:
        """Everything that was done with it and stands, the latest first."""
        left = self.card.attempts.filter(kind=Attempt.Kind.LEAVE)
        return sorted([*self.reviewed(), *map(self.left_uncounted, left)], key=lambda past: past.at, reverse=True)

    @property
    def has_answers(self) -> bool:
        """Whether the history holds anything that was said."""
        return any(past.attempt for past in self.history)

    def reviewed(self) -> Iterator[Past]:
        for row in memory.standing(self.log):
            if row.kind != Review.Kind.UNDO:
                yield Past(row.at, row.study_day, action_words(row), row.attempt, self.points(row.attempt))

    def left_uncounted(self, attempt: Attempt) -> Past:
        profile = self.user.profile
        day = study_day(attempt.at, profile.zone, profile.day_start)
        return Past(attempt.at, day, "Left uncounted", attempt, self.points(attempt))

    def points(self, attempt: Attempt | None) -> int:
        """How many of the rubric's present points were ticked."""
        return sum(point["id"] in attempt.ticks for point in self.question.rubric) if attempt else 0

    @property
    def undoable(self) -> Review | None:
        """The person's last action, if it was on this question."""
        return self.last if self.last and self.last.card_id == self.card.pk else None

    @property
    def has_derivation(self) -> bool:
        """Whether there is anything to show of how the answer comes about."""
        return bool(self.posed.derivation or self.gist or (self.judgement and self.judgement.slip))

    # What belongs to it

    @cached_property
    def memo(self) -> str:
        """What the person noted down about it."""
        memo = self.user.memos.filter(question=self.question).first()
        return memo.text if memo else ""

    @property
    def next_questions(self) -> list[Question]:
        """What to ask next."""
        return related.next_to(self.question)

    @property
    def questions_before(self) -> list[Question]:
        """What leads here."""
        return related.before(self.question)

    @property
    def notes(self) -> list[tuple[Note, SafeString]]:
        """The number cards that it leans on, each with its front."""
        return [(note, inline(note.ask)) for note in related.notes_of(self.question)]
