"""FSRS fed with study days, and the log replayed. Figures by hand from FSRS-6's formulas and default parameters."""
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashcards import spread
from flashcards.memory import DAY, Due, Memory, Rules, feed, predicted_recall, preview, replay, standing, step
from flashcards.queue import label

MONDAY = date(2026, 3, 2)
AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
NO_STEPS = Rules()
TEN_MINUTES = timedelta(minutes=10)
AGAIN, HARD, GOOD, EASY = 1, 2, 3, 4


@dataclass
class Row:
    """A log row as replay reads it."""

    id: int | None
    kind: str = "answer"
    names_id: int | None = None
    rating: int | None = GOOD
    at: datetime = AT
    study_day: date = MONDAY
    state: str = "review"
    step: int | None = None
    due_day: date | None = None
    due_at: datetime | None = None
    stability: float | None = None
    difficulty: float | None = None
    fed_at: datetime | None = None
    asked: bool = False


def answered(memory: Memory, rating: int, day: date, at: datetime = AT, rules: Rules = NO_STEPS) -> Memory:
    return step(memory, rating, at=at, study_day=day, rules=rules)[0]


# The clock that is fed

def test_the_first_answer_is_fed_noon_of_its_study_day() -> None:
    assert feed(Memory(), datetime(2026, 3, 3, 2, tzinfo=UTC), MONDAY) == datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_an_evening_and_the_next_morning_are_a_whole_day_apart() -> None:
    evening = answered(Memory(), GOOD, MONDAY, datetime(2026, 3, 2, 23, 50, tzinfo=UTC))
    morning = answered(evening, GOOD, MONDAY + DAY, datetime(2026, 3, 3, 7, tzinfo=UTC))
    assert morning.fed_at - evening.fed_at == DAY


def test_a_study_day_of_25_hours_is_still_one_day() -> None:
    first = answered(Memory(), GOOD, MONDAY, AT)
    last = answered(first, GOOD, MONDAY, AT + timedelta(hours=24, minutes=30))
    assert timedelta(hours=23) < last.fed_at - first.fed_at < DAY
    assert last.stability == pytest.approx(2.3065)  # same-day Good: max(1, e^(0.5425 * 0.0912) * S^-0.0658) is 1


@pytest.mark.parametrize(("day", "at"), [
    (MONDAY - DAY, AT - timedelta(hours=2)),  # flown west
    (MONDAY, AT - timedelta(minutes=5)),  # the clock was set back
    (MONDAY - DAY, AT + timedelta(hours=2)),
])
def test_a_step_back_counts_as_the_same_day(day: date, at: datetime) -> None:
    before = answered(Memory(), GOOD, MONDAY)
    after = answered(before, GOOD, day, at)
    assert timedelta() <= after.fed_at - before.fed_at < DAY
    assert after.last_day == MONDAY
    assert answered(after, GOOD, MONDAY, AT + timedelta(hours=3)).fed_at - before.fed_at < DAY


# Steps

def test_the_first_rating_sets_stability_and_difficulty() -> None:
    first = answered(Memory(), GOOD, MONDAY)
    assert first.stability == 2.3065  # w2
    assert first.difficulty == pytest.approx(6.4133 - 2.718281828 ** (0.8334 * 2) + 1)  # w4 - e^(w5 (G - 1)) + 1


def test_without_steps_the_first_good_comes_back_in_two_days() -> None:
    memory, due = step(Memory(), GOOD, at=AT, study_day=MONDAY, rules=NO_STEPS)
    assert (memory.state, due) == ("review", Due(day=date(2026, 3, 4)))  # 2.3065 days, rounded


def test_inside_steps_due_is_exact() -> None:
    rules = Rules(learning_steps=(timedelta(minutes=1), TEN_MINUTES), relearning_steps=(TEN_MINUTES,))
    memory, due = step(Memory(), GOOD, at=AT, study_day=MONDAY, rules=rules)
    assert (memory.state, memory.step, due) == ("learning", 1, Due(at=AT + TEN_MINUTES))


def test_again_on_a_review_is_a_lapse_and_again_in_learning_is_none() -> None:
    rules = Rules(learning_steps=(TEN_MINUTES,), relearning_steps=(TEN_MINUTES,))
    learning = answered(Memory(), AGAIN, MONDAY, rules=rules)
    review = answered(learning, EASY, MONDAY, rules=rules)
    relearning = answered(review, AGAIN, MONDAY + 3 * DAY, rules=rules)
    again = answered(relearning, AGAIN, MONDAY + 3 * DAY, rules=rules)
    assert [m.lapses for m in (learning, review, relearning, again)] == [0, 0, 1, 1]
    assert [m.answers for m in (learning, review, relearning, again)] == [1, 2, 3, 4]


def test_steps_that_were_taken_out_since_do_not_hold_a_card() -> None:
    waiting = answered(Memory(), AGAIN, MONDAY, rules=Rules(learning_steps=(TEN_MINUTES, TEN_MINUTES)))
    memory, due = step(waiting, GOOD, at=AT + TEN_MINUTES, study_day=MONDAY, rules=NO_STEPS)
    assert memory.state == "review"
    assert due.day > MONDAY


def test_the_package_draws_nothing_at_random() -> None:
    card = answered(answered(Memory(), EASY, MONDAY), GOOD, MONDAY + 8 * DAY)
    outcomes = {preview(card, at=AT, study_day=MONDAY + 60 * DAY, rules=NO_STEPS)[GOOD] for _ in range(20)}
    assert len(outcomes) == 1


def test_what_is_previewed_is_what_happens() -> None:
    card = answered(Memory(), GOOD, MONDAY)
    now = {"at": AT + 2 * DAY, "study_day": MONDAY + 2 * DAY, "rules": NO_STEPS}
    assert preview(card, **now) == {rating: step(card, rating, **now) for rating in (1, 2, 3, 4)}


# Predicted recall

def test_recall_is_nine_tenths_after_a_stability_of_days() -> None:
    card = answered(Memory(), EASY, MONDAY)
    ten_days = Memory(**{**{f: getattr(card, f) for f in card.__slots__}, "stability": 10.0})
    assert predicted_recall(ten_days, MONDAY + 10 * DAY) == pytest.approx(0.9)  # what stability means
    assert predicted_recall(ten_days, MONDAY) == 1
    assert predicted_recall(ten_days, MONDAY - DAY) == 1
    assert predicted_recall(Memory(), MONDAY) is None


# Undo and replay

def test_an_undone_row_does_not_stand_nor_does_its_undo_change_it() -> None:
    rows = [Row(1), Row(2), Row(3, "undo", names_id=2)]
    assert [row.id for row in standing(rows)] == [1, 3]


def test_an_undo_that_is_undone_gives_its_row_back() -> None:
    rows = [Row(1), Row(2, "undo", names_id=1), Row(3, "undo", names_id=2)]
    assert [row.id for row in standing(rows)] == [1, 3]
    assert replay(rows)[0].answers == 1


def test_an_answer_undone_in_the_middle_is_as_if_it_had_not_been() -> None:
    monday, lapse = Row(1, due_day=MONDAY + 2 * DAY), Row(2, rating=AGAIN, study_day=MONDAY + 2 * DAY)
    friday = Row(3, study_day=MONDAY + 4 * DAY, at=AT + 4 * DAY, due_day=MONDAY + 20 * DAY)
    memory, due = replay([monday, lapse, friday, Row(4, "undo", names_id=2)])
    assert (memory, due) == replay([monday, friday])
    assert (memory.lapses, due.day) == (0, MONDAY + 20 * DAY)


def test_a_log_whose_every_answer_is_undone_is_a_new_card() -> None:
    rows = [Row(1), Row(2), Row(3, "undo", names_id=2), Row(4, "undo", names_id=1)]
    assert replay(rows) == (Memory(), Due())


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 40), st.integers(-200, 1400)), max_size=12))
def test_replay_says_what_the_steps_said(history: list[tuple[int, int, int]]) -> None:
    rules = Rules(learning_steps=(timedelta(minutes=1), TEN_MINUTES), relearning_steps=(TEN_MINUTES,))
    memory, due, day, rows = Memory(), Due(), MONDAY, []
    for number, (rating, days, minutes) in enumerate(history, start=1):
        day += days * DAY
        at = datetime.combine(day, time(12), UTC) + timedelta(minutes=minutes)
        memory, due = step(memory, rating, at=at, study_day=day, rules=rules)
        rows.append(Row(number, "answer", None, rating, at, day, memory.state, memory.step, due.day, due.at))
    assert replay(rows, rules.parameters) == (memory, due)


# Waits and the line

@pytest.mark.parametrize(("wait", "words"), [
    (timedelta(seconds=30), "30 s"),
    (timedelta(minutes=1), "1 min"),
    (timedelta(minutes=5, seconds=30), "5.5 min"),  # Hard on the first of the steps 1m 10m
    (timedelta(minutes=90), "1.5 h"),
    (timedelta(days=1), "1 d"),
    (timedelta(days=99), "99 d"),
    (timedelta(days=100), "3.3 mo"),
    (timedelta(days=364), "12.0 mo"),
    (timedelta(days=438), "1.2 y"),
    (timedelta(days=36_500), "99.9 y"),
])
def test_a_wait_is_said_shortly(wait: timedelta, words: str) -> None:
    assert label(wait) == words


# The order of a day

def test_new_cards_are_spread_evenly_among_reviews() -> None:
    assert spread.interleave("abcdef", "12") == list("ab1cd2ef")
    assert spread.interleave("", "12") == ["1", "2"]
    assert spread.interleave("ab", "") == ["a", "b"]


@given(st.integers(0, 20), st.integers(0, 20))
def test_the_order_of_the_rest_does_not_change_as_one_goes(reviews: int, new: int) -> None:
    line = spread.interleave([("review", at) for at in range(reviews)], [("new", at) for at in range(new)])
    assert len(set(line)) == reviews + new
    for done in range(len(line) + 1):
        rest = line[done:]
        left = {kind: [card for card in rest if card[0] == kind] for kind in ("review", "new")}
        assert rest == spread.interleave(
            left["review"], left["new"], reviews_done=reviews - len(left["review"]), new_done=new - len(left["new"])
        )
