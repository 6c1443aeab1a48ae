"""Where intervals fall: Anki's published fuzz ranges (worked out by hand from its table), free days, caps, order."""
from collections import Counter
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashcards.spread import Placed, Placing, fuzz_range, place, ranges

MONDAY = date(2026, 3, 2)
HARD, GOOD, EASY = 2, 3, 4
YEARS = 36_500


def by(**more: object) -> Placing:
    return Placing(MONDAY, **{"most": YEARS, "seed": "7, 3"} | more)


def day(days: int) -> date:
    return MONDAY + timedelta(days=days)


@pytest.mark.parametrize(("days", "low", "high"), [
    (1, 1, 1), (2, 2, 2),  # below 2.5 days nothing moves
    (3, 2, 4),  # 1 + 0.15 x 0.5 = 1.075
    (7, 5, 9),  # 1 + 0.15 x 4.5 = 1.675
    (10, 8, 12),  # 1 + 0.675 + 0.1 x 3 = 1.975
    (20, 17, 23),  # 1 + 0.675 + 1.3 = 2.975
    (100, 93, 107),  # 2.975 + 0.05 x 80 = 6.975
])
def test_fuzz_stays_inside_ankis_range(days: int, low: int, high: int) -> None:
    assert fuzz_range(days, 1, YEARS) == (low, high)


def test_the_cap_and_the_last_interval_bound_the_range() -> None:
    assert fuzz_range(100, 1, 98) == (91, 98)  # around 98: 1 + 0.675 + 1.3 + 3.9 = 6.875
    assert fuzz_range(10, 9, YEARS) == (9, 12)
    assert fuzz_range(3, 4, YEARS) == (4 - 1 + 1, 5)


def test_without_fuzz_an_interval_is_bare_fsrs() -> None:
    placed = place({HARD: 9, GOOD: 14, EASY: 30}, by(fuzz=False), {day(14): 99})
    assert {rating: one.days for rating, one in placed.items()} == {HARD: 9, GOOD: 14, EASY: 30}


@pytest.mark.parametrize("fuzz", [True, False])
def test_equal_intervals_are_pushed_apart(fuzz: bool) -> None:
    placed = place({HARD: 1, GOOD: 1, EASY: 1}, by(fuzz=fuzz), {})
    assert [one.days for one in placed.values()] == [1, 2, 3]


def test_the_cap_binds_before_the_order_does() -> None:
    placed = place({HARD: 4, GOOD: 9, EASY: 9}, by(most=4, fuzz=False), {})
    assert list(placed.values()) == [Placed(4, 4), Placed(4, 9, "capped"), Placed(4, 9, "capped")]


def test_the_freest_day_of_the_range_is_taken_and_says_why() -> None:
    loads = {day(days): 20 for days in range(8, 13)} | {day(11): 3}
    assert place({GOOD: 10}, by(), loads) == {GOOD: Placed(11, 10, "full")}


def test_an_easy_day_takes_half_and_a_free_day_nothing_while_others_can() -> None:
    loads = {day(days): 9 for days in range(8, 13)}
    halved = place({GOOD: 10}, by(week="2212222"), loads | {day(9): 7})  # day 10 is a Thursday, day 9 a Wednesday
    assert halved[GOOD].days != 9  # 7 on a half day weighs as 15 would
    free = {rating: one.days for rating, one in place({GOOD: 10}, by(week="2220222"), {}).items()}
    assert free[GOOD] != 10


def test_a_week_of_free_days_still_places_the_card() -> None:
    assert 8 <= place({GOOD: 10}, by(week="0000000"), {})[GOOD].days <= 12


def test_a_longer_interval_is_never_fuzzed_back_to_the_last_one() -> None:
    for seed in range(50):
        assert place({GOOD: 11}, by(before=10, seed=str(seed)), {})[GOOD].days >= 11


def test_the_seed_alone_decides_among_free_days() -> None:
    assert place({GOOD: 100}, by(), {}) == place({GOOD: 100}, by(), {})
    taken = Counter(place({GOOD: 100}, by(seed=str(seed)), {})[GOOD].days for seed in range(600))
    assert set(taken) == set(range(93, 108))
    assert max(taken.values()) < 2 * 600 / 15


@given(
    bare=st.lists(st.integers(1, 2_000), min_size=3, max_size=3).map(sorted), most=st.integers(1, 2_000),
    before=st.none() | st.integers(0, 2_000), fuzz=st.booleans(), seed=st.text(max_size=3),
    loads=st.dictionaries(st.integers(1, 2_200).map(day), st.integers(0, 50), max_size=40),
    week=st.text("012", min_size=7, max_size=7),
)
def test_hard_is_before_good_before_easy_unless_the_cap_binds(
    bare: list[int], most: int, before: int | None, fuzz: bool, seed: str, loads: dict[date, int], week: str,
) -> None:
    how = by(most=most, before=before, fuzz=fuzz, seed=seed, week=week)
    intervals = dict(zip((HARD, GOOD, EASY), bare, strict=True))
    placed, reach, latest = place(intervals, how, loads), ranges(intervals, how), 0
    for rating, one in placed.items():
        assert 1 <= one.days <= most
        assert one.days > latest or one.days == most
        low, high = reach[rating]
        assert low <= one.days <= max(high, latest + 1)
        latest = one.days
