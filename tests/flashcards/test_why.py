"""What is said of an interval, a due day as it is typed, which lapses are told. Weekdays by the calendar of 2026."""
from datetime import date

import pytest

from calculators.models.base import Refusal
from flashcards.due_day import read_day
from flashcards.leeches import is_told
from flashcards.spread import Placed, Placing
from flashcards.why import why

MONDAY = date(2026, 3, 2)
HARD, GOOD, EASY = 2, 3, 4
PLAIN = {HARD: Placed(4, 4), GOOD: Placed(8, 8), EASY: Placed(15, 15)}


def by(most: int = 36_500, before: int | None = None) -> Placing:
    return Placing(MONDAY, most, before)


def test_as_bare_fsrs_has_it_nothing_is_said() -> None:
    assert why(PLAIN, by(), chosen=GOOD) == ""
    assert why({}, by()) == ""


@pytest.mark.parametrize(("moved", "said"), [
    ({GOOD: Placed(9, 8, "full")}, "Good 8 to 9 d: Tuesday 10 March is fuller."),
    ({GOOD: Placed(7, 6, "easy")}, "Good 6 to 7 d: Sunday is an easy day."),
    ({EASY: Placed(15, 16, "full")}, "Easy 16 to 15 d: Wednesday 18 March is fuller."),
    ({HARD: Placed(5, 4, "full"), EASY: Placed(15, 16, "full")}, "Easy 16 to 15 d: Wednesday 18 March is fuller."),
    ({HARD: Placed(5, 4, "full"), GOOD: Placed(9, 8, "full")}, "Good 8 to 9 d: Tuesday 10 March is fuller."),
    ({EASY: Placed(1_001, 1_000, "full")}, "Easy 1,000 to 1,001 d: 26 November 2028 is fuller."),
])
def test_a_day_left_for_a_freer_one_is_named(moved: dict[int, Placed], said: str) -> None:
    assert why(PLAIN | moved, by(), chosen=EASY if EASY in moved else None) == said


def test_the_chosen_grade_is_told_before_the_others() -> None:
    moved = {HARD: Placed(5, 4, "full"), GOOD: Placed(9, 8, "full")}
    assert why(PLAIN | moved, by(), chosen=HARD).startswith("Hard 4 to 5 d: Friday ")


def test_only_longer_than_the_grade_before_is_no_reason() -> None:
    assert why({HARD: Placed(1, 1), GOOD: Placed(2, 1, "full"), EASY: Placed(3, 1, "full")}, by()) == ""


def test_an_interview_caps_and_is_named_with_its_day() -> None:
    placed = {HARD: Placed(4, 4), GOOD: Placed(10, 21, "capped"), EASY: Placed(10, 40, "capped")}
    assert why(placed, by(10), interview=date(2026, 3, 12)) == "Good and Easy capped: interview on 12 March."


def test_a_longest_interval_caps_too() -> None:
    placed = {rating: Placed(90, 200, "capped") for rating in (HARD, GOOD, EASY)}
    assert why(placed, by(90), interview=date(2027, 3, 12)) == "Capped: your longest interval is 90 d."


def test_where_a_cap_keeps_grades_from_growing_a_day_a_line_says_so() -> None:
    placed = {HARD: Placed(3, 3), GOOD: Placed(4, 4), EASY: Placed(4, 4)}
    assert why(placed, by(4), interview=date(2026, 3, 6)) == "Good and Easy capped: interview on 6 March."


@pytest.mark.parametrize(("overdue", "before", "said"), [
    (40, 10, True), (5, 10, True), (4, 10, False), (2, 1, False), (3, 1, True), (40, 365, False), (0, None, False),
])
def test_long_overdue_counts_for_more_and_is_said(overdue: int, before: int | None, said: bool) -> None:
    sentence = f"Overdue {overdue} days; remembered, that counts for more."
    assert why(PLAIN, by(before=before), overdue=overdue) == (sentence if said else "")


# A day as it is typed

@pytest.mark.parametrize(("text", "day"), [
    ("2026-12-24", "2026-12-24"), (" In  5 days ", "2026-03-07"), ("5", "2026-03-07"), ("5d", "2026-03-07"),
    ("1 day", "2026-03-03"), ("in 2 weeks", "2026-03-16"), ("tomorrow", "2026-03-03"), ("today", "2026-03-02"),
    ("0", "2026-03-02"), ("2028-02-29", "2028-02-29"),
])
def test_a_day_is_read(text: str, day: str) -> None:
    assert read_day(text, MONDAY) == date.fromisoformat(day)


@pytest.mark.parametrize(("text", "said"), [
    ("", "Type a day"), ("soon", "“soon” can’t be read"), ("2026-02-30", "can’t be read"), ("-3", "can’t be read"),
    ("2026-03-01", "has passed"), ("in 40000 days", "too far ahead"), ("999999999", "too far ahead"),
    ("9999-01-01", "too far ahead"), ("٣", "can’t be read"), ("20260312", "too far ahead"),
])
def test_what_cant_be_read_is_refused_with_a_sentence(text: str, said: str) -> None:
    with pytest.raises(Refusal, match=said):
        read_day(text, MONDAY)


# Leeches, by Anki's own table: a threshold of 8 tells at 8, 12, 16 …, one of 3 at 3, 5, 7 …

@pytest.mark.parametrize(("threshold", "told"), [(8, [8, 12, 16, 20]), (3, [3, 5, 7, 9, 11, 13, 15, 17, 19]),
                                                 (2, list(range(2, 21))), (99, [])])
def test_a_leech_is_told_at_the_threshold_and_each_further_half(threshold: int, told: list[int]) -> None:
    assert [lapses for lapses in range(21) if is_told(lapses, threshold)] == told
