"""A person's latest rows are found at the log's end, and wherever else they are."""
from collections.abc import Callable

import pytest

from accounts.models import User
from flashcards import latest, services
from flashcards.latest import Latest
from flashcards.models import Card, Rating, Review
from tests.flashcards.conftest import NOON

Deal = Callable[[int], list[Card]]
END = 4


@pytest.fixture
def log(ada: User, ben: User, deal: Deal, monkeypatch: pytest.MonkeyPatch) -> list[Review]:
    """Ada's five answers, Ben's one, Ada's three; a log's end is four rows."""
    monkeypatch.setattr(latest, "END", END)
    cards = deal(8)
    services.ensure_cards(ben)
    for card in [*cards[:5], Card.objects.filter(user=ben).first(), *cards[5:]]:
        assert services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON)
    return list(Review.objects.order_by("pk"))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 20])
def test_as_many_as_are_asked_for_come_the_latest_first(ada: User, log: list[Review], count: int) -> None:
    own = [row for row in reversed(log) if row.card.user_id == ada.pk]
    assert len(own) == 8
    assert Latest(Review, lambda rows: rows, count).all(ada) == own[:count]


def test_each_finds_their_own_alone(
    ben: User, eve: User, log: list[Review], django_assert_num_queries: Callable
) -> None:
    last = Latest(Review, lambda rows: rows.values_list("pk"))
    with django_assert_num_queries(1):
        assert last.first(ben) == (log[5].pk,)
    assert last.first(eve) is None


def test_what_is_beyond_the_end_is_found_too(
    ada: User, ben: User, log: list[Review], django_assert_num_queries: Callable
) -> None:
    last = Latest(Review, lambda rows: rows.values_list("pk"))
    for card in Card.objects.filter(user=ada, log_length=1)[:END]:
        assert services.answer_card(card, Rating.GOOD, ordinal=2, now=NOON)
    with django_assert_num_queries(2):
        assert last.first(ben) == (log[5].pk,)
    assert services.last_action(ben) == log[5]


def test_rows_that_do_not_count_are_passed_over(ada: User, log: list[Review]) -> None:
    """All of the log's end is undone and its undoing: what stands before it is the latest."""
    standing = Latest(Review, lambda rows: rows.standing())
    for row in reversed(log[6:]):
        assert services.undo(ada, row.pk, now=NOON)
    assert standing.first(ada) == log[4]
