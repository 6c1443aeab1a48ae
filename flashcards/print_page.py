"""Questions on paper: what is asked of all that the filters leave, and the answer where it was committed on before."""
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.http import QueryDict

from accounts.models import User
from calculators.models.base import Refusal
from flashcards.models import Attempt
from flashcards.question_list import FACETS, QuestionList, QuestionRow
from questions.figures import BadFigure
from questions.models import Topic
from questions.services import Posed, pose

MOST_PRINTED = 20  # questions: each plays its labs


@dataclass(frozen=True, slots=True)
class Sheet:
    """A question on paper, with the figures of its file; `answered` tells whether its answer may stand there."""

    posed: Posed
    answered: bool

    @property
    def derivation(self) -> list[dict[str, Any]]:
        """The derivation's pieces in order, each HTML or the lines of a run."""
        return [{"html": piece} if isinstance(piece, str) else {"lines": piece} for piece in self.posed.derivation]


class PrintPage:
    """The chosen questions as sheets, closed until their person has committed on them."""

    def __init__(self, user: User, now: datetime, sent: QueryDict) -> None:
        self.list = QuestionList(user, now, sent)
        self.with_answers = sent.get("answers") != "none"
        self.user = user

    @property
    def rows(self) -> list[QuestionRow]:
        return self.list.filtered.items

    @property
    def too_many(self) -> bool:
        return len(self.rows) > MOST_PRINTED

    @property
    def most(self) -> int:
        return MOST_PRINTED

    @property
    def topics(self) -> list[Topic]:
        return list(Topic.objects.all())

    @cached_property
    def answered(self) -> set[int]:
        """The chosen cards that were committed on at least once."""
        cards = [row.card.pk for row in self.rows]
        return set(Attempt.objects.filter(card__in=cards).values_list("card_id", flat=True))

    @cached_property
    def sheets(self) -> list[Sheet]:
        return list(self.each_sheet()) if not self.too_many else []

    def each_sheet(self) -> Iterator[Sheet]:
        for row in self.rows:
            try:
                posed = pose(row.question)
            except (Refusal, BadFigure):
                continue  # an edit that no lab can follow; its own page says so
            yield Sheet(posed, self.with_answers and row.card.pk in self.answered)

    @property
    def other_way(self) -> str:
        """The address's query for the asks alone, or from there with the answers again."""
        query = self.list.sent.copy()
        query.pop("answers", None)
        if self.with_answers:
            query["answers"] = "none"
        return f"?{query.urlencode()}"

    @property
    def back(self) -> str:
        """The query of the Questions page that these were chosen on."""
        pairs = QueryDict(mutable=True)
        for name, values in self.list.sent.lists():
            if name in (*FACETS, "q"):
                pairs.setlist(name, values)
        return f"?{pairs.urlencode()}" if pairs else ""
