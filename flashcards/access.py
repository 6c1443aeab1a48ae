"""Which cards a person may open: their own."""
from django.shortcuts import get_object_or_404

from accounts.models import User
from flashcards.models import Card


def card_for(user: User, pk: int) -> Card:
    """This person's card; any other is unknown (404)."""
    cards = Card.objects.select_related("question__topic", "note__topic", "user__profile")
    return get_object_or_404(cards, pk=pk, user=user)
