"""A card all of whose answers are removed is new again, and what was removed between two answers breaks nothing."""
from datetime import timedelta

import pytest

from flashcards import services
from flashcards.models import Card, Rating, State
from tests.flashcards.conftest import NOON

DAY = timedelta(days=1)
AGAIN, HARD, GOOD, EASY = Rating


def act(card: Card, what: object, *given: object, days: int = 0) -> None:
    card.refresh_from_db()
    assert what(card, *given, ordinal=card.next_ordinal, now=NOON + days * DAY)
    card.refresh_from_db()


def answer_at(card: Card, ordinal: int) -> int:
    return card.reviews.get(ordinal=ordinal).pk


def test_the_last_of_two_answers_removed_leaves_a_new_card(card: Card) -> None:
    act(card, services.answer_card, GOOD)
    act(card, services.answer_card, GOOD, days=3)
    act(card, services.remove, answer_at(card, 1), days=4)
    act(card, services.remove, answer_at(card, 2), days=4)
    assert (card.state, card.stability, card.due_day, card.due_at) == (State.NEW, None, None, None)
    act(card, services.answer_card, GOOD, days=5)
    assert card.stability == pytest.approx(2.3065, abs=1e-4)  # FSRS-6's first stability after Good, its parameter w2


def test_answers_removed_around_a_later_one_leave_that_one_as_the_first(card: Card) -> None:
    act(card, services.answer_card, AGAIN)
    act(card, services.answer_card, GOOD, days=3)
    act(card, services.remove, answer_at(card, 1), days=4)
    act(card, services.answer_card, GOOD, days=9)
    act(card, services.remove, answer_at(card, 2), days=10)
    assert (card.state, card.stability) == (State.REVIEW, pytest.approx(2.3065, abs=1e-4))
    assert services.rebuild_card(card, write=False) == ""
