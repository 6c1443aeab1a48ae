"""How a card stands with its person, and all that was done with it."""
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

from django.urls import reverse

from calculators.pictures import Drawing
from flashcards import memory, pictures, queue
from flashcards.leeches import is_leech
from flashcards.models import Attempt, Card, Rating, Review, State
from flashcards.overview import action_words, due_words
from flashcards.question_list import lab_slug
from flashcards.study_day import study_day
from questions.services import lab_of_note

CURVE = 300
MOST_DRAWN = 24  # answers: more would leave their letters no room


@dataclass(frozen=True, slots=True)
class Past:
    """A line of the history: what was done and when; of an answer also what was typed, how sure, how long it took."""

    at: datetime
    day: date
    words: str  # "Good", "Left uncounted", "Suspended"
    attempt: Attempt | None
    points: int = 0  # of the rubric, ticked
    answer: Review | None = None  # the answer that it is, where that can be changed or removed
    counts_as: Rating | None = None  # of an answer
    removed: bool = False  # an answer that no longer counts

    @property
    def grades(self) -> list[Rating]:
        """What an answer can be changed to."""
        return [rating for rating in Rating if rating != self.counts_as]

    @property
    def was(self) -> str:
        """The grade first given, where it counts as another by now."""
        changed = self.counts_as and self.answer and self.answer.rating != self.counts_as
        return self.answer.get_rating_display() if changed else ""

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


class CardHistory:
    """One card's past and present."""

    def __init__(self, card: Card, now: datetime) -> None:
        self.card, self.now, self.profile = card, now, card.user.profile

    @cached_property
    def study_day(self) -> date:
        return study_day(self.now, self.profile.zone, self.profile.day_start)

    @cached_property
    def log(self) -> list[Review]:
        return list(self.card.reviews.select_related("attempt", "names").order_by("ordinal"))

    @property
    def ordinal(self) -> int:
        """The place in the card's log that an action from this page would take."""
        return self.card.next_ordinal

    @property
    def recall(self) -> float | None:
        """The chance, 0 to 1, that it is remembered today; None before the first answer."""
        return memory.predicted_recall(self.card.memory, self.study_day, queue.parameters(self.profile))

    @property
    def due_words(self) -> str:
        return due_words(self.card, self.now)

    @property
    def put_off(self) -> bool:
        """Whether its person put it off to a day that is still to come."""
        return bool(self.card.buried_until and self.card.buried_until > self.study_day)

    @property
    def is_up(self) -> bool:
        """Whether it was asked for, or is due by itself."""
        card = self.card
        due = card.due_at <= self.now if card.due_at else card.due_day is not None and card.due_day <= self.study_day
        return not card.suspended and not self.put_off and (card.asked or due)

    @property
    def would_come_today(self) -> bool:
        """Whether today is a day on which it may come up: it is due, or not begun."""
        return self.is_up or self.card.state == State.NEW

    @property
    def leech(self) -> bool:
        """Whether it lapses so often that it is a leech."""
        return is_leech(self.card.lapses, self.profile.leech_lapses)

    @property
    def lab(self) -> str:
        """The address of the lab that helps with it; empty without one."""
        if self.card.note_id:
            return lab_of_note(self.card.note)[0]
        slug = lab_slug(self.card.question)
        return reverse("calculators:lab_page", args=[slug]) if slug else ""

    @cached_property
    def memory_curve(self) -> Drawing | None:
        """The predicted recall from the first answer, or one of the latest, to today; None without an answer."""
        parameters, counts_as = queue.parameters(self.profile), memory.answers_of(memory.standing(self.log))
        answers = [
            pictures.Answered(row.study_day, Rating(counts_as[row.pk]).label, remembered.stability,
                              lapse=counts_as[row.pk] == Rating.AGAIN and row.was == "review")
            for row, remembered, _ in memory.course(self.log, parameters) if counts_as.get(row.pk)
        ]
        if not answers or self.recall is None:
            return None
        return pictures.memory_curve(
            answers[-MOST_DRAWN:], self.study_day, self.profile.desired_retention, self.recall,
            lambda days, stability: memory.recall_after(days, stability, parameters), width=CURVE)

    @property
    def count_words(self) -> str:
        """How often it was answered and forgotten: "6 answers, lapsed once"."""
        answers, lapses = sum(line.counts_as is not None for line in self.lines), self.card.lapses
        often = {1: "once", 2: "twice"}.get(lapses, f"{lapses} times")
        return f"{answers} answer{'' if answers == 1 else 's'}{f', lapsed {often}' if lapses else ''}"

    @cached_property
    def lines(self) -> list[Past]:
        """Everything that was done with it and stands, the latest first."""
        left = self.card.attempts.filter(kind=Attempt.Kind.LEAVE)
        return sorted([*self.reviewed(), *map(self.left_uncounted, left)], key=lambda past: past.at, reverse=True)

    @property
    def has_answers(self) -> bool:
        """Whether the history holds anything that was said."""
        return any(past.attempt for past in self.lines)

    def reviewed(self) -> Iterator[Past]:
        standing = memory.standing(self.log)
        counts_as = memory.answers_of(standing)
        for row in standing:
            if row.kind == Review.Kind.UNDO:
                continue
            if row.pk in counts_as:
                rating = counts_as[row.pk]
                label = Rating(rating or row.rating).label
                yield Past(row.at, row.study_day, label, row.attempt, self.points(row.attempt), answer=row,
                           counts_as=rating and Rating(rating), removed=rating is None)
            else:
                yield Past(row.at, row.study_day, deed(row), row.attempt)

    def left_uncounted(self, attempt: Attempt) -> Past:
        day = study_day(attempt.at, self.profile.zone, self.profile.day_start)
        return Past(attempt.at, day, "Left uncounted", attempt, self.points(attempt))

    def points(self, attempt: Attempt | None) -> int:
        """How many of the rubric's present points were ticked."""
        rubric = self.card.question.rubric if self.card.question_id else []
        return sum(point["id"] in attempt.ticks for point in rubric) if attempt else 0


def title_of(card: Card) -> str:
    """What the card is called in a sentence: the question's title, or what a number card asks."""
    return card.note.ask.replace("`", "") if card.note_id else card.question.title


def deed(row: Review) -> str:
    """What a row of the log did, on its own: "Due day set to 24 Dec 2026", "Grade changed from Hard to Good"."""
    match row.kind:
        case Review.Kind.SET_DUE if not row.asked and row.due_day:
            return f"Due day set to {row.due_day.day} {row.due_day:%b %Y}"
        case Review.Kind.AMEND:
            was, now = row.names.get_rating_display(), row.get_rating_display()
            return f"Grade of {_day(row.names)} changed from {was} to {now}"
        case Review.Kind.REMOVE:
            return f"{row.names.get_rating_display()} of {_day(row.names)} removed"
    return action_words(row)


def _day(row: Review) -> str:
    return f"{row.study_day.day} {row.study_day:%b %Y}"
