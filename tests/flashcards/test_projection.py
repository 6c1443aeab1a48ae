"""The days played through: each step is FSRS-6's, limits hold, and what nobody began is nowhere."""
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from flashcards.memory import DEFAULT_PARAMETERS, Memory, Rules, interval, predicted_recall, recall_after, step
from flashcards.projection import (
    NOBODY_KNOWS,
    Deck,
    Habits,
    Play,
    Terms,
    after,
    first_difficulty,
    fuzzed,
    in_steps,
    intervals,
    project,
    project_all,
)
from flashcards.spread import fuzz_range

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


GRADES = {1: (1, 0, 0, 0), 2: (0, 1, 0, 0), 3: (0, 0, 1, 0), 4: (0, 0, 0, 1)}


@pytest.mark.parametrize(("rating", "looks"), [(1, 3), (2, 3), (3, 2), (4, 1)])
def test_a_new_card_is_looked_at_as_often_as_its_steps_have_it(rating: int, looks: int) -> None:
    """With two steps, each look but the first ending in Good: Again and Hard leave it at the first step, Good moves it
    to the second, Easy out of them (py-fsrs, Scheduler.review_card). Numbers of 10 s take Good's half for each more."""
    terms = replace(TERMS, number_steps=2)
    habits = Habits(first=GRADES[rating], effort=(1, 1, 0.5, 1))
    course = project(deck(questions=2, numbers=6), terms, habits, days=1, seed=1)
    first = 0.5 if rating == 3 else 1
    assert course.seconds[0] == 2 * 60 * first + 6 * 10 * (first + 0.5 * (looks - 1))


def test_a_lapse_is_looked_at_once_more_for_each_relearning_step() -> None:
    never = [Play(0.9, seed=1, strength=1e-9)]  # nothing is remembered
    for steps in (0, 1, 2):
        terms = replace(TERMS, relearning_steps=steps)
        assert project_all(deck(begun=1), terms, Habits(), never, days=1)[0].seconds[0] == 60 * (1 + steps)


@pytest.mark.parametrize("rating", [1, 3, 4])
def test_steps_leave_a_card_as_the_scheduler_does(rating: int) -> None:
    """But Hard, which bare FSRS lets wait between the steps, each grade is played here as there."""
    at, looks = datetime(2026, 3, 2, 12, tzinfo=UTC), {1: 2, 3: 1, 4: 0}[rating]
    rules = Rules(learning_steps=(timedelta(minutes=1), timedelta(minutes=10)))
    memory, _ = step(Memory(), rating, at=at, study_day=MONDAY, rules=rules)
    for look in range(looks):
        memory, _ = step(memory, 3, at=at + timedelta(minutes=11 * (look + 1)), study_day=MONDAY, rules=rules)
    assert memory.state == "review"
    stability, difficulty = in_steps(
        W[[rating - 1]], first_difficulty(np.array([rating]), W), np.array([looks]), W)
    assert (stability[0], difficulty[0]) == pytest.approx((memory.stability, memory.difficulty))


@pytest.mark.parametrize("before", [0, 1, 6, 30, 400])
@pytest.mark.parametrize("most", [3, 50, 36_500])
def test_fuzz_stays_in_the_range_that_a_card_really_gets(before: int, most: int) -> None:
    bare = np.arange(1, 200)
    for days, low, high in zip(bare, *(fuzzed(bare, np.full(199, before), most, np.full(199, luck))
                                       for luck in (0, 1 - 1e-9)), strict=True):
        least = before + 1 if days > before else 1
        assert (low, high) == fuzz_range(int(days), least, most)


def test_fuzz_spreads_what_would_fall_due_on_one_day() -> None:
    good = Habits(first=(0, 0, 0, 1))  # Easy: 8 days with the default parameters, 6 to 10 with fuzz
    terms, never_lapses = replace(TERMS, fuzz=True, new_numbers_per_day=60), [Play(0.9, seed=1, strength=1e9)]
    course, = project_all(deck(numbers=60), terms, good, never_lapses, days=12)
    assert (course.reviews[6:11] > 0).all()
    assert course.reviews.sum() == course.reviews[6:11].sum() == 60


def test_the_luck_of_a_play_is_the_same_in_whatever_company() -> None:
    plays = [Play(0.8, 3), Play(0.9, 4), Play(0.9, 3, strength=2)]
    begun = deck(begun=50, questions=9)
    together = project_all(begun, TERMS, Habits(), plays, days=20)
    for play, course in zip(plays, together, strict=True):
        alone = project_all(begun, TERMS, Habits(), [play], days=20)[0]
        assert (alone.seconds == course.seconds).all()
        assert alone.known == pytest.approx(course.known)


def test_a_limit_of_none_asks_nothing_of_what_was_begun() -> None:
    course = project(deck(begun=5), replace(TERMS, reviews_per_day=0), Habits(), days=2, seed=1)
    assert (list(course.reviews), list(course.held)) == ([0, 0], [5, 5])


def test_as_many_are_remembered_as_are_predicted_to_be() -> None:
    """Of 4,000 cards at 0.9 about 3,600 are: a lapse takes twice as long, and within four standard errors, 4 * 19,
    there are 400 of them."""
    many = replace(deck(begun=4_000), seconds=np.ones(4_000))
    course = project(many, replace(TERMS, reviews_per_day=9_999, relearning_steps=1), Habits(), days=1, seed=7)
    assert course.seconds[0] - 4_000 == pytest.approx(400, abs=4 * 19)


def test_no_interval_passes_the_interview() -> None:
    terms = Terms(DEFAULT_PARAMETERS, 0.9, 0, 0, 24, maximum_interval=100, interview=9)
    assert list(intervals(np.array([1.0, 50.0, 500.0]), 2, terms)) == [1, 7, 7]
    assert list(intervals(np.array([500.0]), 9, terms)) == [100]  # on the day itself it binds nothing


def test_the_same_seed_is_the_same_course_and_an_empty_deck_asks_nothing() -> None:
    one, other = (project(deck(begun=30, questions=9), TERMS, Habits(), days=20, seed=5) for _ in range(2))
    assert (one.seconds == other.seconds).all()
    assert project(deck(), TERMS, Habits(), days=3, seed=1).seconds.sum() == 0
