"""A person's own card of words in a review: one side in front, a flip, then both; a gap left out, then filled."""
from functools import cached_property
from hashlib import sha256
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from flashcards.models import Card, Direction
from flashcards.number_desk import NumberDesk
from flashcards.number_page import NumberPage
from questions import own
from questions.models import Note


def sides_of(card: Card) -> tuple[str, str]:
    """What stands in front and what behind, in Markdown."""
    note = card.note
    if note.kind == Note.Kind.CLOZE:
        front, back = own.cloze_sides(note.front, int(card.direction[1:]))
        return front, f"{back}\n\n{note.back}" if note.back else back
    return (note.back, note.front) if card.direction == Direction.REVERSE else (note.front, note.back)


class Words(NumberDesk):
    """What differs for words: there is nothing to type, and the sides are Markdown."""

    reverse = True  # nothing is typed: it is flipped, as a number card is from its number

    @cached_property
    def sides_html(self) -> tuple[SafeString, SafeString]:
        front, back = sides_of(self.card)
        return mark_safe(own.html_of(front)), mark_safe(own.html_of(back))

    @property
    def front_html(self) -> SafeString:
        return self.sides_html[0]

    @property
    def back_html(self) -> SafeString:
        return self.sides_html[1]

    @property
    def title(self) -> str:
        return own.line_of(sides_of(self.card)[0])

    def commit(self) -> dict[str, Any]:
        """That it was said, and what the card said then."""
        return {"aloud": True, "digest": sha256("\0".join(sides_of(self.card)).encode()).hexdigest()}

    @property
    def fields(self) -> list[tuple[str, SafeString]]:
        """What the note holds, each by its name, as its page shows it."""
        note = self.note
        return [(name, mark_safe(own.html_of(text))) for name, text in (("front", note.front), ("back", note.back))
                if text]


class OwnDesk(Words):
    """One turn with a card of words."""


class OwnPage(Words, NumberPage):
    """Its own page."""
