"""Which cards and quizzes a person may open: their own, and what they know of a question that was withdrawn."""
from django.db.models import Q
from django.http import Http404
from django.shortcuts import get_object_or_404

from accounts.models import User
from flashcards.models import Card, Quiz, State
from flashcards.prepared import Prepared

CARD = Prepared(
    lambda user, pk: Card.objects.select_related("question__topic", "note__topic").filter(pk=pk, user=user),
    "user", "pk")


def card_for(user: User, pk: int) -> Card:
    """This person's card; any other is unknown (404)."""
    if (card := CARD.first(user=user.pk, pk=pk)) is None:
        raise Http404(f"no card {pk} is theirs")
    card.user = user
    return card


def question_card_for(user: User, slug: str) -> Card:
    """This person's card of a question: one that is drilled, or that they began before it was withdrawn; else 404."""
    cards = Card.objects.select_related("question__topic", "user__profile")
    card = get_object_or_404(cards, user=user, question__slug=slug)
    if (card.question.draft or card.question.retired) and card.state == State.NEW:
        raise Http404(f"no question {slug!r} is open")
    return card


def number_card_for(user: User, slug: str) -> Card:
    """This person's card of a number card's first side: one that is drilled, or that they began before it was
    withdrawn; else 404."""
    cards = Card.objects.select_related("note__topic", "user__profile").filter(user=user, note__slug=slug)
    drilled = Q(note__draft=False, note__retired=False) | ~Q(state=State.NEW)
    if (card := cards.filter(drilled).order_by("direction").first()) is None:
        raise Http404(f"no number card {slug!r} is open")
    return card


def quiz_for(user: User, pk: int) -> Quiz:
    """This person's quiz; any other is unknown (404)."""
    return get_object_or_404(Quiz.objects.select_related("user__profile"), pk=pk, user=user)
