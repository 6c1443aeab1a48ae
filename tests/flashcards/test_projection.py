"""The days played through: each step is FSRS-6's, limits hold, and what nobody began is nowhere."""
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from flashcards.memory import DEFAULT_PARAMETERS, Memory, Rules, interval, predicted_recall, recall_after, step
from flashcards.projection import NOBODY_KNOWS, Deck, Habits, Terms, after, intervals, project

W = np.array(DEFAULT_PARAMETERS)
TERMS = Terms(DEFAULT_PARAMETERS, 0.9, new_questions_per_day=2, new_numbers_per_day=6, reviews_per_day=24)
MONDAY = date(2026, 3, 2)


def deck(begun: int = 0, questions: int = 0, numbers: int = 0) -> Deck:
    """Cards of stability 3 that were answered three days ago and fall due today, then new ones."""
    new = np.arange(begun + questions + numbers) >= begun
    number = np.arange(len(new)) >= begun + questions
    return Deck(np.full(len(new), 3.0), np.full(len(new), 5.0), np.where(new, NOBODY_KNOWS, 0), np.where(new, 0, -3),
                new, number, np.where(number, 10.0, 60.0))


@pytest.mark.parametrize("rating", [1, 2, 3, 4])
def test_an_answer_moves_a_card_as_the_scheduler_does(rating: int) -> None:
    at, rules = datetime(2026, 3, 2, 12, tzinfo=UTC), Rules()
    memory, _ = step(Memory(), 3, at=at, study_day=MONDAY, rules=rules)
    later = MONDAY + timedelta(days=5)
    recall = recall_after(np.array([5]), np.array([memory.stability]), W)
    assert recall[0] == pytest.approx(predicted_recall(memory, later))
    stability, difficulty = after(
        np.array([memory.stability]), np.array([memory.difficulty]), recall, np.array([rating]), W)
    memory, _ = step(memory, rating, at=at + timedelta(days=5), study_day=later, rules=rules)
    assert (stability[0], difficulty[0]) == pytest.approx((memory.stability, memory.difficulty))
    assert intervals(stability, 0, TERMS)[0] == interval(memory.stability, rules)


def test_limits_hold_and_what_is_past_them_is_held() -> None:
    course = project(deck(begun=100), TERMS, Habits(), days=4, seed=1)
    assert course.reviews.max() == 24
    assert course.held[0] == 76
    assert course.started.sum() == 0


def test_new_cards_begin_as_many_a_day_as_set_until_none_is_left() -> None:
    course = project(deck(questions=5, numbers=7), TERMS, Habits(), days=5, seed=1)
    assert list(course.started) == [8, 3, 1, 0, 0]
    assert course.all_started == 2


def test_what_is_known_is_no_more_than_what_was_begun() -> None:
    course = project(deck(begun=10, questions=4), TERMS, Habits(), days=30, seed=3)
    assert all(0 <= known <= begun for known, begun in zip(course.known, 10 + course.started.cumsum(), strict=True))


def test_seconds_are_those_of_each_look_and_a_lapse_takes_two() -> None:
    all_forgotten = Habits(first=(1, 0, 0, 0))
    assert project(deck(questions=2), TERMS, all_forgotten, days=1, seed=1).seconds[0] == 2 * 2 * 60
    none_forgotten = Habits(first=(0, 0, 1, 0))
    assert project(deck(questions=2, numbers=6), TERMS, none_forgotten, days=1, seed=1).seconds[0] == 2 * 60 + 6 * 10


def test_no_interval_passes_the_interview() -> None:
    terms = Terms(DEFAULT_PARAMETERS, 0.9, 0, 0, 24, maximum_interval=100, interview=9)
    assert list(intervals(np.array([1.0, 50.0, 500.0]), 2, terms)) == [1, 7, 7]
    assert list(intervals(np.array([500.0]), 9, terms)) == [100]  # on the day itself it binds nothing


def test_the_same_seed_is_the_same_course_and_an_empty_deck_asks_nothing() -> None:
    one, other = (project(deck(begun=30, questions=9), TERMS, Habits(), days=20, seed=5) for _ in range(2))
    assert (one.seconds == other.seconds).all()
    assert project(deck(), TERMS, Habits(), days=3, seed=1).seconds.sum() == 0
