"""Several tabs, phones and double clicks at once: one row for each thing that was done."""
from collections.abc import Callable
from datetime import timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection

from flashcards import quizzes, services
from flashcards.models import Attempt, Card, Quiz, QuizAnswer, Rating, Review
from flashcards.quizzes import Course
from tests.flashcards.conftest import NOON

pytestmark = pytest.mark.django_db(transaction=True)
THREADS = 10


def at_once(act: Callable[[int], Any]) -> list[Any]:
    """What ten threads get that start `act` (given 0 to 9) together; a failed one is its exception."""
    barrier, results = Barrier(THREADS), [None] * THREADS

    def run(number: int) -> None:
        try:
            barrier.wait()
            results[number] = act(number)
        except Exception as fault:  # told by the assertion on the results
            results[number] = fault
        finally:
            connection.close()

    threads = [Thread(target=run, args=[number]) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_ten_threads_answering_one_card_make_one_review(card: Card) -> None:
    for ordinal in (1, 2, 3):
        now = NOON + ordinal * timedelta(days=3)
        results = at_once(lambda at: services.answer_card(card, Rating(at % 4 + 1), ordinal=ordinal, now=now))  # noqa: B023
        assert sorted(results) == [False] * 9 + [True]
        assert Review.objects.count() == ordinal
    card.refresh_from_db()
    assert (card.answers, card.log_length) == (3, 3)


def test_ten_commits_are_one_attempt_and_everybody_gets_it(card: Card) -> None:
    results = at_once(lambda at: services.commit_attempt(card, ordinal=1, now=NOON, typed=str(at)).pk)
    assert results == [Attempt.objects.get().pk] * THREADS


def test_ten_undos_from_the_history_are_one(card: Card) -> None:
    services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON)
    row = Review.objects.get()
    results = at_once(lambda _: services.undo_any(card.user, row.pk, now=NOON) is not None)
    assert sorted(results) == [False] * 9 + [True]
    assert Review.objects.count() == 2


def test_an_act_on_ten_cards_is_undone_once_whichever_row_is_named(deal: Callable[[int], list[Card]]) -> None:
    cards = deal(THREADS)
    for card in cards:
        services.answer_card(card, Rating.EASY, ordinal=1, now=NOON)
    user = cards[0].user
    assert services.move_due(user, {card.pk: NOON.date() + timedelta(days=99) for card in cards}, now=NOON) == THREADS
    rows = list(Review.objects.filter(kind=Review.Kind.SET_DUE).order_by("-pk").values_list("pk", flat=True))
    undos = (services.undo, services.undo_any)
    results = at_once(lambda at: undos[at % 2](user, rows[at if at % 2 else 0], now=NOON) is not None)
    assert sorted(results) == [False] * 9 + [True]
    assert Review.objects.filter(kind=Review.Kind.UNDO).count() == THREADS


def test_ten_undos_of_one_answer_are_one(card: Card) -> None:
    services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON)
    row = Review.objects.get()
    results = at_once(lambda _: services.undo(card.user, row.pk, now=NOON) is not None)
    assert sorted(results) == [False] * 9 + [True]
    assert Review.objects.count() == 2


def test_ten_first_looks_start_one_clock(card: Card) -> None:
    results = at_once(lambda at: services.open_card(card, NOON + timedelta(seconds=at)).opened_at)
    assert len(set(results)) == 1


def test_ten_first_visits_deal_one_card_for_each_question(card: Card) -> None:
    Card.objects.all().delete()
    assert at_once(lambda _: services.ensure_cards(card.user)) == [None] * THREADS
    assert Card.objects.count() == 1


def test_a_quiz_begun_and_answered_by_ten_at_once_is_begun_and_answered_once(card: Card) -> None:
    made = at_once(lambda _: quizzes.begin(card.user, [card.question], title="A quiz", seed=1, now=NOON).pk)
    quiz = Quiz.objects.get()
    assert made == [quiz.pk] * THREADS
    place = Course(quiz, NOON).at(1)
    given = at_once(lambda at: quizzes.answer(quiz, place, now=NOON, typed=str(at)).pk)
    assert given == [QuizAnswer.objects.get().pk] * THREADS
    place = Course(quiz, NOON).at(1)
    assert sorted(at_once(lambda _: quizzes.score(quiz, place, [], NOON))) == [False] * 9 + [True]
    at_once(lambda _: quizzes.add_missed(card.user, {card.question.slug: 1}, NOON))
    assert Review.objects.count() == 1
