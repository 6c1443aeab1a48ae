"""What a drill can be made of: every card that may be drilled, by filters in the address with their counts."""
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.safestring import SafeString

from accounts.models import User
from flashcards.drills import MISSED, Drill, Round, drill_of, lab_of
from flashcards.filters import Facet, Filtered, filtered
from flashcards.models import Card, State
from flashcards.overview import front
from flashcards.question_list import lab_slug
from questions.models import Question, Topic

MOST_SHOWN = 12


class DrillPage:
    """The page as its address has it."""

    def __init__(self, user: User, now: datetime, sent: QueryDict) -> None:
        self.user, self.now = user, now
        self.drill = replace(drill_of(sent), since=None, cram=False)
        self.sent = QueryDict(mutable=True)
        for name, text in self.drill.fields.items():
            self.sent.setlist(name, text.split(","))

    @cached_property
    def round(self) -> Round:
        return Round(self.user, self.drill, self.now)

    @cached_property
    def filtered(self) -> Filtered:
        """The filters with what each choice would leave."""
        everything = Round(self.user, Drill(new=self.drill.new), self.now)
        missed = {card.pk for card in Round(self.user, Drill(missed="week"), self.now).cards}
        return filtered(everything.cards, facets(missed), self.sent, keep=("new",))

    @property
    def count(self) -> int:
        return len(self.round.line)

    @property
    def rows(self) -> list[tuple[Card, SafeString, float | None, str]]:
        """The first in line: the card, its front, its recall and how it stands."""
        return [(card, front(card), None if card.state == State.NEW else self.round.recall(card),
                 "new" if card.state == State.NEW else "due" if self.round.is_due(card) else "early")
                for card in self.round.line[:MOST_SHOWN]]

    @property
    def more(self) -> int:
        """How many stand behind those shown."""
        return max(self.count - MOST_SHOWN, 0)

    def query(self, **changed: bool) -> str:
        return f"?{urlencode(replace(self.drill, **changed).fields, safe=',')}"

    @property
    def start_query(self) -> str:
        return self.query(cram=False)

    @property
    def cram_query(self) -> str:
        return self.query(cram=True)

    @property
    def new_query(self) -> str:
        """The same filters with new cards taken in, or left out again."""
        return self.query(new=not self.drill.new, cram=False)


def facets(missed: set[int]) -> list[Facet]:
    """What a drill can be filtered by; `missed` are the cards missed this week."""
    topics = Topic.objects.values_list("slug", flat=True)
    labs = sorted({lab_slug(question) for question in Question.objects.only("runs")} - {""})
    return [
        Facet("missed", "Which", [(value, label, lambda card: card.pk in missed) for value, label in MISSED.items()]),
        Facet("topic", "Topic", [(slug, slug, lambda card, slug=slug: topic_of(card) == slug) for slug in topics]),
        Facet("kind", "Kind", [
            (kind, kind, lambda card, kind=kind: card.kind_words == kind)
            for kind in (*Question.Kind.values, "number", "own")]),
        Facet("level", "Level", [
            (level, level, lambda card, level=level: bool(card.question_id) and card.question.level == level)
            for level in Question.Level.values]),
        Facet("lab", "Lab", [(slug, slug, lambda card, slug=slug: lab_of(card) == slug) for slug in labs]),
    ]


def topic_of(card: Card) -> str:
    return card.item.topic.slug if card.item.topic else ""
