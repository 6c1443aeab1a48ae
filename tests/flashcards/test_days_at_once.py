"""A plan applied, and more asked for, by several tabs at once: each is done once."""
from collections.abc import Callable
from datetime import timedelta

import pytest

from accounts.models import User
from flashcards import backlog, services
from flashcards.backlog import Backlog, Wanted
from flashcards.models import Card, Rating, Review
from tests.flashcards.conftest import NOON
from tests.flashcards.test_threads import THREADS, at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_ten_that_apply_one_plan_move_its_cards_once(ada: User, deal: Callable[[int], list[Card]]) -> None:
    for card in deal(12):
        services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON - timedelta(days=21))
    found, wanted = Backlog(ada, NOON.date()), Wanted(days=4)
    seal = found.seal(found.plan(wanted))
    results = at_once(lambda _: backlog.spread(ada, wanted, seal, NOON) is not None)
    assert sorted(results) == [False] * (THREADS - 1) + [True]
    assert Review.objects.filter(kind="set_due").count() == 9  # three of the twelve stay today


def test_ten_that_ask_for_more_get_it_once(ada: User, deal: Callable[[int], list[Card]]) -> None:
    deal(12)
    ada.profile.new_questions_per_day = 2
    ada.profile.save()
    results = at_once(lambda _: services.bring_more(ada, "new questions", 3, after=0, now=NOON))
    assert sorted(results) == [0] * (THREADS - 1) + [3]
    assert Card.objects.filter(asked=True).count() == 3
