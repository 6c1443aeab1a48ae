"""The Numbers page: every number card as a place in a grid, how it stands with this person, and the filters."""
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from django.http import QueryDict
from django.utils.safestring import SafeString

from accounts.models import User
from flashcards import queue
from flashcards.filters import Facet, Filtered, filtered
from flashcards.leeches import is_leech
from flashcards.models import Card, Direction, State
from questions.models import Note, Question
from questions.notes import shown_value
from questions.related import questions_by_note
from questions.services import inline, lab_of_note, value_with_unit

MARKS = {"suspended": "dash", "new": "hollow", "lapsed": "diamond", "due": "square"}


@dataclass(frozen=True, slots=True)
class NumberPlace:
    """A number card's side as it stands with its person."""

    note: Note
    standing: str  # suspended, new, lapsed (and due), due or learning
    questions: list[Question] = field(default_factory=list)  # that lean on it
    leech: bool = False  # forgotten again and again

    @property
    def mark(self) -> str:
        return MARKS.get(self.standing, "")

    @property
    def ask(self) -> SafeString:
        return inline(self.note.ask)

    @property
    def cue(self) -> SafeString:
        return inline(self.note.cue)

    @property
    def origin(self) -> SafeString:
        return inline(self.note.origin)

    @property
    def value(self) -> str:
        return shown_value(self.note)

    @property
    def whole(self) -> str:
        return value_with_unit(self.note)

    @property
    def lab(self) -> tuple[str, str]:
        """The address and the title of the lab that computes it."""
        return lab_of_note(self.note)

    @property
    def is_due(self) -> bool:
        return self.standing in ("due", "lapsed")


class NumberList:
    """What the page shows of the address's side and filters."""

    def __init__(self, user: User, now: datetime, sent: QueryDict) -> None:
        self.plan = queue.plan(user, now, "numbers")
        self.side = Direction.REVERSE if sent.get("side") == "reverse" else Direction.FORWARD
        cards = Card.objects.filter(user=user, direction=self.side, note__owner=None).exclude(note=None)
        offered = [card for card in cards.select_related("note__topic") if shown_to(card)]
        offered.sort(key=lambda card: (card.note.topic.position, card.note.position, card.pk))
        asked_in, today = questions_by_note(), self.plan.study_day
        self.places = [
            NumberPlace(card.note, standing(card, today, now), asked_in.get(card.note.slug, []),
                        is_leech(card.lapses, user.profile.leech_lapses))
            for card in offered
        ]
        self.filtered: Filtered = filtered(self.places, facets(self.places), sent, keep=("side",))
        self.sent = sent

    @property
    def topics(self) -> list[tuple[str, list[NumberPlace]]]:
        """The places that the filters leave, by topic."""
        return [(slug, list(places)) for slug, places in groupby(self.filtered.items, lambda one: one.note.topic.slug)]

    @property
    def sides(self) -> list[tuple[str, str, bool]]:
        """The two sides, each with its address's query and whether it is shown; the filters stay."""
        sides = []
        for side in Direction:
            query = self.sent.copy()
            query.pop("side", None)
            if side == Direction.REVERSE:
                query["side"] = side.value
            sides.append((side.label, f"?{query.urlencode()}", side == self.side))
        return sides

    @property
    def clear_query(self) -> str:
        """The address's query without filters."""
        return "?side=reverse" if self.side == Direction.REVERSE else "?"

    @property
    def drill_words(self) -> str:
        """What a sitting with the number cards would be, "4 due", "4 due and 6 new"; empty when none is up."""
        new = sum(card.state == State.NEW for card in self.plan.line)
        due = len(self.plan.line) - new
        return " and ".join([f"{due} due"] * bool(due) + [f"{new} new"] * bool(new))


def shown_to(card: Card) -> bool:
    """Whether the card has a place: one that is still offered, or that its person has begun."""
    note = card.note
    offered = not (note.retired or note.draft) and (card.direction == Direction.FORWARD or note.reverse)
    return offered or card.state != State.NEW


def standing(card: Card, today: object, now: datetime) -> str:
    """How a card stands with its person today."""
    if card.suspended:
        return "suspended"
    if card.state == State.NEW:
        return "new"
    if card.due_at <= now if card.due_at else card.due_day <= today:
        return "lapsed" if card.state == State.RELEARNING or card.lapses else "due"
    return "learning"


def facets(places: list[NumberPlace]) -> list[Facet]:
    """What the page can be filtered by."""
    topics = dict.fromkeys(place.note.topic.slug for place in places)
    return [
        Facet("topic", "Topic", [
            (slug, slug, lambda place, slug=slug: place.note.topic.slug == slug) for slug in topics
        ]),
        Facet("state", "State", [
            ("due", "due", lambda place: place.is_due),
            *((name, name, lambda place, name=name: place.standing == name)
              for name in ("new", "learning", "suspended")),
            ("leech", "leech", lambda place: place.leech),
        ]),
        Facet("from", "From", [
            ("lab", "computed by a lab", lambda place: bool(place.note.calc)),
            ("vllm", "vLLM’s source", lambda place: bool(place.note.source.get("file"))),
            ("page", "a vendor or paper", lambda place: bool(place.note.source.get("url"))),
        ]),
    ]
