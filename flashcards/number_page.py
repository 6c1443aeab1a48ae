"""A number card on its own page: both sides open, how each stands with its person, and all that was done with them."""
from functools import cached_property

from django.urls import reverse

from flashcards.card_history import CardHistory
from flashcards.models import Card, Review
from flashcards.number_desk import NumberDesk
from flashcards.services import memo_on


class NumberPage(NumberDesk):
    """A number card's own page; the card is the side that something was just done to."""

    page, fragment = "flashcards/number.html", "flashcards/_number_turn.html"
    alone = True

    @cached_property
    def sides(self) -> list[CardHistory]:
        """Each side that is asked, the forward one first."""
        cards = Card.objects.filter(user=self.user, note=self.note).select_related("user__profile", "note")
        return [CardHistory(card, self.now) for card in cards.order_by("direction")]

    @cached_property
    def memo(self) -> str:
        """What the person noted down about it."""
        return memo_on(self.user, self.note)

    @property
    def memo_url(self) -> str:
        return reverse("flashcards:number_note", args=[self.note.slug])

    @property
    def undoable(self) -> Review | None:
        """The person's last action, if it was on one of the sides."""
        return self.last if self.last and self.last.card.note_id == self.card.note_id else None
