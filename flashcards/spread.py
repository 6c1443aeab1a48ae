"""Where days and cards are put: intervals that never cross, new cards spread evenly among reviews."""
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import TypeVar

T = TypeVar("T")


def strictly(days: Mapping[int, date], last: date) -> dict[int, date]:
    """The due days of Hard, Good and Easy (2, 3, 4), each at least a day after the one before, but not after `last`."""
    spread: dict[int, date] = {}
    earliest = date.min
    for rating in sorted(days):
        spread[rating] = min(max(days[rating], earliest), last)
        earliest = spread[rating] + timedelta(days=1)
    return spread


def interleave(reviews: Sequence[T], new: Sequence[T], *, reviews_done: int = 0, new_done: int = 0) -> list[T]:
    """What is left of a day in order, its new cards spread evenly among its reviews.

    What was done counts as the day's beginning, so the order of the rest is the same however far one has come.
    """
    all_reviews, all_new = reviews_done + len(reviews), new_done + len(new)
    gap = all_reviews / (all_new + 1)
    left_reviews, left_new, line = list(reviews), list(new), []
    while left_reviews or left_new:
        passed, shown = all_reviews - len(left_reviews), all_new - len(left_new)
        is_new = left_new and (not left_reviews or passed >= gap * (shown + 1))
        line.append((left_new if is_new else left_reviews).pop(0))
    return line
