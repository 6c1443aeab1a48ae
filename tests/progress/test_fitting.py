"""A person's log as the optimizer gets it, and what the Fit page keeps of a fit."""
from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest

from accounts.models import User
from flashcards import services, works
from flashcards.models import Card, Rating, Review, Work
from progress import fit, fitting
from progress.fit import Answer
from tests.flashcards.conftest import NOON, deal  # noqa: F401
from tests.progress.test_fit import learner

AGAIN, HARD, GOOD, EASY = Rating
DAY = timedelta(days=1)
FIRST = NOON.date().toordinal()
FORGETFUL = fit.DEFAULTS.copy()
FORGETFUL[[2, 8, 20]] = 0.3, 0.4, 0.6


def answer(card: Card, rating: Rating, day: int) -> Review:
    card.refresh_from_db()
    assert services.answer_card(card, rating, ordinal=card.next_ordinal, now=NOON + day * DAY)
    card.refresh_from_db()
    return card.reviews.last()


def keep(card: Card, answers: list[Answer]) -> None:
    """Write answers of one card into its log, as they came."""
    start = card.reviews.count() + 1
    Review.objects.bulk_create(
        Review(card=card, ordinal=start + at, kind=Review.Kind.ANSWER, rating=one.rating, was="review", state="review",
               at=NOON + (one.day - FIRST) * DAY, study_day=(NOON + (one.day - FIRST) * DAY).date(), zone="UTC",
               day_start="04:00")
        for at, one in enumerate(answers))


@pytest.fixture
def forgetful(deal: Callable[[int], list[Card]]) -> User:  # noqa: F811
    """Ada, with a log of 1,350 answers of somebody who forgets far sooner than the defaults have it."""
    cards = deal(150)
    log = learner(FORGETFUL, cards=150, reviews=8, seed=1)
    for number, card in enumerate(cards):
        keep(card, [one for one in log if one.card == number])
    return cards[0].user


def test_answers_come_in_order_as_they_count_now(deal: Callable[[int], list[Card]]) -> None:  # noqa: F811
    one, other = deal(2)
    first = answer(one, GOOD, 0)
    answer(other, EASY, 1)
    second = answer(one, AGAIN, 3)
    answer(other, HARD, 4)
    third = answer(one, GOOD, 6)
    services.undo(one.user, third.pk, now=NOON + 6 * DAY)
    one.refresh_from_db()
    services.amend(one, first.pk, HARD, ordinal=one.next_ordinal, now=NOON + 7 * DAY)
    one.refresh_from_db()
    services.remove(one, second.pk, ordinal=one.next_ordinal, now=NOON + 7 * DAY)
    assert fitting.answers_of(one.user) == [
        Answer(0, FIRST, HARD), Answer(1, FIRST + 1, EASY), Answer(1, FIRST + 4, HARD)]


def test_a_card_begun_anew_is_another_card(deal: Callable[[int], list[Card]]) -> None:  # noqa: F811
    card = deal(1)[0]
    answer(card, GOOD, 0)
    services.reset(card, ordinal=card.next_ordinal, now=NOON + DAY)
    answer(card, EASY, 2)
    assert fitting.answers_of(card.user) == [Answer(0, FIRST, GOOD), Answer(1, FIRST + 2, EASY)]


def test_what_came_after_a_memory_without_answers_is_left_out(deal: Callable[[int], list[Card]]) -> None:  # noqa: F811
    card = deal(1)[0]
    Review.objects.create(
        card=card, ordinal=1, kind=Review.Kind.IMPORT, was="new", state="review", stability=9, difficulty=5, at=NOON,
        study_day=NOON.date(), zone="UTC", day_start="04:00", due_day=(NOON + 9 * DAY).date(), fed_at=NOON)
    Card.objects.filter(pk=card.pk).update(log_length=1)
    answer(card, GOOD, 9)
    assert fitting.answers_of(card.user) == []
    services.reset(card, ordinal=card.next_ordinal, now=NOON + 9 * DAY)
    answer(card, EASY, 10)
    assert [one.rating for one in fitting.answers_of(card.user)] == [EASY]


def test_a_clock_set_back_changes_no_cards_order(deal: Callable[[int], list[Card]]) -> None:  # noqa: F811
    card = deal(1)[0]
    for day, rating in ((5, GOOD), (3, AGAIN), (8, EASY)):
        answer(card, rating, day)
    assert [one.rating for one in fitting.answers_of(card.user)] == [GOOD, AGAIN, EASY]


def test_a_stranger_has_no_log(deal: Callable[[int], list[Card]], eve: User) -> None:  # noqa: F811
    answer(deal(1)[0], GOOD, 0)
    assert fitting.answers_of(eve) == []


def test_too_few_reviews_keep_only_their_number(ada: User) -> None:
    work, _ = works.begin(ada, Work.Kind.FIT, now=NOON)
    assert works.do(work.pk)
    work.refresh_from_db()
    assert work.result == {"scored": 0, "gain": None, "latest": None, "worth_it": False, "splits": []}


def test_a_fit_that_is_worth_it_is_kept_with_what_it_was_worth(forgetful: User) -> None:
    work, _ = works.begin(forgetful, Work.Kind.FIT, now=NOON)
    assert works.do(work.pk)
    work.refresh_from_db()
    result, log = work.result, fit.log_of(fitting.answers_of(forgetful))
    assert (result["answers"], result["scored"], result["worth_it"]) == (1_350, 1_200, True)
    assert len(result["splits"]) == 5
    assert sum(split["predictions"] for split in result["splits"]) == result["gain"]["predictions"] == 1_000
    recall, remembered, _ = fit.predictions(log, np.array(result["parameters"]))
    assert result["seen"]["fitted"]["loss"] == pytest.approx(fit.log_losses(recall, remembered).mean(), abs=1e-5)
    assert result["seen"]["yours"] == result["seen"]["defaults"]
    recall, remembered, _ = fit.predictions(log, fit.DEFAULTS)
    assert result["later_loss"] == pytest.approx(fit.log_losses(recall, remembered)[200:].mean())
