"""More than the day's limits give: which cards come, once, before the others; and one undo."""
from collections.abc import Callable
from datetime import timedelta

import pytest

from accounts.models import User
from flashcards import queue, services
from flashcards.models import Card, Rating, Review, State
from questions.models import Note, Topic
from tests.flashcards.conftest import NOON

DAY = timedelta(days=1)


@pytest.fixture
def due(ada: User, deal: Callable[[int], list[Card]]) -> list[Card]:
    """Five cards due, of which two a day are let through; the longer ago answered the lower its recall."""
    cards = deal(5)
    for ago, card in enumerate(cards, 20):
        assert services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON - ago * DAY)
    ada.profile.reviews_per_day = 2
    ada.profile.save()
    return cards


def ordinal_of(ada: User) -> int:
    return queue.next_card(ada, NOON).next_ordinal


def line(ada: User, now: object = NOON) -> list[str]:
    return [card.item.slug for card in queue.plan(ada, now).line]


def test_what_is_next_in_order_comes_and_first(ada: User, due: list[Card]):
    assert line(ada) == ["q5", "q4"]  # the lowest recall first
    assert services.bring_more(ada, "reviews", 2, after=0, now=NOON) == 2
    assert line(ada) == ["q3", "q2", "q5", "q4"]
    assert queue.held_back(ada, NOON, "reviews", 9) == [due[0].pk]
    for left in (3, 2, 1, 0):  # answered, they take nobody's place
        assert services.answer_card(queue.next_card(ada, NOON), Rating.EASY, ordinal=ordinal_of(ada), now=NOON)
        assert len(line(ada)) == left
    assert queue.plan(ada, NOON).held_back[0].words == "1 review past today’s limit of 2"


def test_asked_again_from_the_same_page_none_come(ada: User, due: list[Card]):
    assert services.bring_more(ada, "reviews", 1, after=Review.objects.last().pk, now=NOON) == 1
    rows = Review.objects.count()
    assert services.bring_more(ada, "reviews", 1, after=rows - 1, now=NOON) == 0
    assert Review.objects.count() == rows


def test_one_undo_takes_them_back(ada: User, due: list[Card]):
    before = line(ada)
    services.bring_more(ada, "reviews", 2, after=0, now=NOON)
    assert services.undo(ada, services.last_action(ada).pk, now=NOON)
    assert line(ada) == before
    assert not Card.objects.filter(asked=True).exists()


def test_new_numbers_come_without_a_sibling_of_the_day(ada: User, deal: Callable[[int], list[Card]]):
    topic = Topic.objects.create(slug="kernels", title="Kernels", position=2)
    for at in range(3):
        Note.objects.create(slug=f"n{at}", topic=topic, position=at, ask="How many?", value=1, accept=[1, 1])
    services.ensure_cards(ada)
    ada.profile.new_numbers_per_day = 1
    ada.profile.save()
    assert line(ada) == ["n0"]
    assert services.bring_more(ada, "new numbers", 9, after=0, now=NOON) == 2  # n1 and n2, no other side of the three
    assert line(ada) == ["n1", "n2", "n0"]
    assert set(Card.objects.filter(asked=True).values_list("state", flat=True)) == {State.NEW}
    assert all(services.rebuild_card(card, write=False) == "" for card in Card.objects.all())


def test_a_day_without_anything_held_back_has_no_more(ada: User, eve: User, due: list[Card]):
    assert services.bring_more(ada, "new questions", 5, after=0, now=NOON) == 0
    assert services.bring_more(eve, "reviews", 5, after=0, now=NOON) == 0
