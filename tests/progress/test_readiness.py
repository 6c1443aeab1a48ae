"""Recall on a day to come and plans for it: against FSRS itself, and what must hold of any plan."""
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from flashcards.memory import DEFAULT_PARAMETERS, Memory, Rules, predicted_recall, step
from progress import readiness
from progress.readiness import Known

TODAY = date(2026, 3, 2)
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def remembered(*log: tuple[int, int]) -> Memory:
    """The memory that ratings leave, each some days before or after today, by the package itself."""
    memory = Memory()
    for ahead, rating in log:
        day = TODAY + timedelta(days=ahead)
        memory, _ = step(memory, rating, at=NOON + timedelta(days=ahead), study_day=day, rules=Rules())
    return memory


LOGS = ([(-30, 3)], [(-30, 3), (-20, 1), (-19, 3)], [(-9, 4), (-2, 2)], [(0, 3)], [(-400, 4), (-300, 3), (-1, 3)], [])


def known(logs: tuple[list[tuple[int, int]], ...] = LOGS) -> Known:
    memories = [remembered(*log) for log in logs]
    return Known(
        np.array([memory.stability or 0 for memory in memories], float),
        np.array([memory.difficulty or 0 for memory in memories], float),
        np.array([(memory.last_day - TODAY).days if memory.last_day else 0 for memory in memories]))


def test_recall_on_a_day_is_what_fsrs_predicts() -> None:
    for day in (0, 1, 30):
        predicted = [predicted_recall(remembered(*log), TODAY + timedelta(days=day)) or 0 for log in LOGS]
        assert readiness.recall_on(known(), day, DEFAULT_PARAMETERS) == pytest.approx(predicted)


@pytest.mark.parametrize("day", [0, 3, 45])
def test_a_good_answer_leaves_what_fsrs_says(day: int) -> None:
    after = readiness.after_good(known(), day, DEFAULT_PARAMETERS)
    for at, log in enumerate(LOGS):
        memory = remembered(*log, (day, 3))
        assert (after.stability[at], after.difficulty[at]) == pytest.approx((memory.stability, memory.difficulty)), log
        assert after.last[at] == day


def test_what_is_answered_today_is_worth_more_on_the_day() -> None:
    gains = readiness.gain(known(), 0, 30, DEFAULT_PARAMETERS)
    answered_today = np.array([bool(log) and log[-1][0] == 0 for log in LOGS])
    assert (gains[~answered_today] > 0).all()
    assert gains[answered_today] == pytest.approx([0])  # a second Good on the same day leaves stability as it is


@pytest.mark.parametrize(("day", "target"), [(14, 0.8), (14, 0.95), (60, 0.9), (1, 0.9)])
def test_a_plan_that_says_it_reaches_the_target_does(day: int, target: float) -> None:
    deck = known(LOGS * 6)
    plan = readiness.planned(deck, day, target, DEFAULT_PARAMETERS)
    assert all(0 <= planned.day < day and len(planned.cards) <= plan.a_day for planned in plan.days)
    logs = [list(log) for log in LOGS * 6]
    for planned in plan.days:
        for card in planned.cards:
            logs[card].append((planned.day, 3))
    recall = [predicted_recall(remembered(*log), TODAY + timedelta(days=day)) or 0 for log in logs]
    assert plan.reached == all(chance >= target - 1e-9 for chance in recall)
    assert plan.reached
    # One fewer a day would not do by either way of planning.
    if plan.a_day > 1:
        assert not any(readiness._simulated(deck, day, target, DEFAULT_PARAMETERS, plan.a_day - 1, early=early).reached
                       for early in (False, True))


def test_what_is_ready_needs_nothing() -> None:
    plan = readiness.planned(known((LOGS[4],)), 10, 0.8, DEFAULT_PARAMETERS)
    assert (plan.days, plan.reached) == ((), True)


def test_a_plan_for_no_cards_is_empty() -> None:
    plan = readiness.planned(known(()), 10, 0.8, DEFAULT_PARAMETERS)
    assert (plan.days, plan.reached) == ((), True)
