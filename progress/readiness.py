"""How much of a set of cards will be remembered on a day to come, and which answers until then raise it."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from progress.counts import recall_after

Array = np.ndarray
AHEAD = 120  # the most days that a plan looks ahead


@dataclass(frozen=True, slots=True)
class Known:
    """Cards as they are remembered; a card that was never answered has stability 0. Days count from today (0)."""

    stability: Array
    difficulty: Array  # 1 to 10
    last: Array  # the day of the latest answer, 0 or less


@dataclass(frozen=True, slots=True)
class PlanDay:
    """What to answer on a day, as places in the set, and how many of the set are then ready for the day to come."""

    day: int
    cards: tuple[int, ...]
    ready: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The days until then with something to answer, at most so many a day; `reached`: whether all are ready."""

    a_day: int
    days: tuple[PlanDay, ...]
    reached: bool


def recall_on(known: Known, day: int, w: Sequence[float]) -> Array:
    """The chance, 0 to 1, that each card is remembered on the day if nothing is answered until then; 0 for new ones."""
    days, begun = np.maximum(day - known.last, 0), known.stability > 0
    return np.where(begun, recall_after(days, np.where(begun, known.stability, 1), w), 0.0)


def after_good(known: Known, day: int, w: Sequence[float]) -> Known:
    """The cards as each would be if answered Good on the day, as FSRS-6 has it."""
    begun = known.stability > 0
    s, d = np.where(begun, known.stability, 1), np.where(begun, known.difficulty, 5)
    days = np.maximum(day - known.last, 0)
    later = s * (1 + np.exp(w[8]) * (11 - d) * s ** -w[9] * np.expm1(w[10] * (1 - recall_after(days, s, w))))
    same_day = s * np.maximum(np.exp(w[17] * w[18]) * s ** -w[19], 1)
    first = np.clip(w[4] - np.exp(2 * w[5]) + 1, 1, 10)
    easiest = w[4] - np.exp(3 * w[5]) + 1
    return Known(
        np.where(begun, np.where(days > 0, later, same_day), w[2]),
        np.where(begun, np.clip(w[7] * easiest + (1 - w[7]) * d, 1, 10), first),
        np.maximum(known.last, day),
    )


def gain(known: Known, today: int, day: int, w: Sequence[float]) -> Array:
    """How much recall on the day rises, card by card, if it is answered Good today."""
    return recall_on(after_good(known, today, w), day, w) - recall_on(known, day, w)


def planned(known: Known, day: int, target: float, w: Sequence[float]) -> Plan:
    """The fewest answers a day, all of them Good, with which every card has the target on the day, and which ones.

    A card waits for the first day from which one answer is enough; only where that leaves too many for the last days
    are others answered before. Where no number reaches the target, all that can be done.
    """
    count, tried = len(known.stability), {}

    def at(a_day: int) -> Plan:
        if a_day not in tried:
            waiting = _simulated(known, day, target, w, a_day, early=False)
            tried[a_day] = waiting if waiting.reached else _simulated(known, day, target, w, a_day, early=True)
        return tried[a_day]

    low, high = 0, max(count, 1)
    if not at(high).reached:
        return at(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if at(middle).reached else (middle, high)
    return at(high)


def _simulated(known: Known, day: int, target: float, w: Sequence[float], a_day: int, *, early: bool) -> Plan:
    days = []
    for today in range(max(day - AHEAD, 0), day):
        now, after = recall_on(known, day, w), after_good(known, today, w)
        then = recall_on(after, day, w)
        wanting = now < target
        enough = wanting & (then >= target)
        order = np.lexsort((-(then - now), ~enough))
        chosen = order[(enough if not early else wanting & (then > now))[order]][:a_day]
        if not len(chosen):
            continue
        mask = np.zeros(len(now), bool)
        mask[chosen] = True
        known = Known(*(np.where(mask, new, old) for new, old in (
            (after.stability, known.stability), (after.difficulty, known.difficulty), (after.last, known.last))))
        ready = int((recall_on(known, day, w) >= target).sum())
        days.append(PlanDay(today, tuple(int(place) for place in chosen), ready))
    return Plan(a_day, tuple(days), bool((recall_on(known, day, w) >= target).all()))
