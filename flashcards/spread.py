"""Where days and cards are put: seeded fuzz, the freest day, intervals that never cross, new cards among reviews."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil
from random import Random
from typing import TypeVar

T = TypeVar("T")
# How far fuzz may move an interval: a day, and a share of each of its parts. Anki's rslib/src/scheduler/states/fuzz.rs.
FUZZ = ((2.5, 7, 0.15), (7, 20, 0.10), (20, float("inf"), 0.05))  # from, to (days), share
UNFUZZED = 2.5  # days
TAKES = {"2": 1.0, "1": 0.5, "0": 1e-9}  # how much of the load of any other day a weekday takes
NORMAL_WEEK = "2222222"


@dataclass(frozen=True, slots=True)
class Placing:
    """What decides where a card's intervals fall, all in days from `base`: the last interval, the longest allowed."""

    base: date  # the study day that intervals are counted from
    most: int  # the longest interval; 1 at least
    before: int | None = None  # the interval that the card comes from; None for one that was not in review
    fuzz: bool = True
    seed: str = ""
    week: str = NORMAL_WEEK  # how much each weekday takes, Monday first: 2, 1 or 0


@dataclass(frozen=True, slots=True)
class Placed:
    """An interval in days as it will be, beside what bare FSRS gives, and why it was moved."""

    days: int
    bare: int
    moved: str = ""  # "", "capped", "full" or "easy"


def fuzz_range(days: int, least: int, most: int) -> tuple[int, int]:
    """The shortest and the longest interval that fuzz may make of `days`, within `least` and `most`.

    A day and a share of the interval to either side, none below 2.5 days; a range of one day gets a second one.
    Source: Anki, rslib/src/scheduler/states/fuzz.rs, constrained_fuzz_bounds.
    """
    least = min(least, most)
    days = min(max(days, least), most)
    delta = 0.0
    if days >= UNFUZZED:
        delta = 1 + sum(share * max(min(days, end) - start, 0) for start, end, share in FUZZ)
    low, high = (min(max(int(bound + 0.5), least), most) for bound in (days - delta, days + delta))
    if low == high and 2 < high < most:
        high += 1
    return low, high


def ranges(bare: Mapping[int, int], by: Placing) -> dict[int, tuple[int, int]]:
    """For each rating the days among which its interval may fall, whatever the others take."""
    return {rating: _range(days, by) for rating, days in bare.items()}


def place(bare: Mapping[int, int], by: Placing, loads: Mapping[date, int]) -> dict[int, Placed]:
    """The intervals of Hard, Good and Easy (2, 3, 4): each inside its range on the day that `loads` and the week leave
    freest, each at least a day longer than the one before unless the cap binds, and never shorter than the last one
    where bare FSRS gives a longer one.

    Days that are equally free are told apart by the seed alone, so what is shown is what will happen.
    """
    placed: dict[int, Placed] = {}
    floor = 1
    for rating in sorted(bare):
        days = bare[rating]
        low, high = _range(days, by)
        low = min(max(low, floor), by.most)
        high = max(high, low)
        order = Random(by.seed).sample(range(low, high + 1), high - low + 1)
        taken = min(order, key=lambda at: _cost(at, by, loads))  # of equals the first
        placed[rating] = Placed(taken, days, _moved(days, taken, by, loads))
        floor = taken + 1
    return placed


def _range(days: int, by: Placing) -> tuple[int, int]:
    """The days among which an interval may fall; none of them a step backwards where bare FSRS takes none."""
    least = by.before + 1 if by.before is not None and days > by.before else 1
    if not by.fuzz:
        only = min(max(days, least), by.most)
        return only, only
    return fuzz_range(days, least, by.most)


def _cost(days: int, by: Placing, loads: Mapping[date, int]) -> float:
    day = by.base + timedelta(days=days)
    return (loads.get(day, 0) + 1) / TAKES[by.week[day.weekday()]]


def _moved(bare: int, taken: int, by: Placing, loads: Mapping[date, int]) -> str:
    if bare > by.most:
        return "capped"
    if taken == bare or _cost(bare, by, loads) <= _cost(taken, by, loads):
        return ""
    there, here = (by.base + timedelta(days=days) for days in (bare, taken))
    return "full" if loads.get(there, 0) > loads.get(here, 0) else "easy"


def interleave(reviews: Sequence[T], new: Sequence[T], *, reviews_done: int = 0, new_done: int = 0) -> list[T]:
    """What is left of a day in order, its new cards spread evenly among its reviews.

    What was done counts as the day's beginning, so the order of the rest is the same however far one has come.
    """
    gap = (reviews_done + len(reviews)) / (new_done + len(new) + 1)
    line: list[T] = []
    at = 0
    for place, card in enumerate(new, start=new_done + 1):
        until = max(ceil(gap * place) - reviews_done, at)
        line += [*reviews[at:until], card]
        at = until
    return [*line, *reviews[at:]]
