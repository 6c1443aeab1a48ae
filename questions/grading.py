"""Judging what a reader committed, and the grade that follows from it."""
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from calculators.models.base import Refusal
from calculators.models.quantity import read, say

AGAIN, HARD, GOOD, EASY = 1, 2, 3, 4
HARD_TIMES = 3  # a number within three times its tolerance is still Hard
SLIP_SHARE = 0.03  # a number this close to a known wrong one was reached the same way


class UnreadEntries(Refusal):
    """A map of which some entries can't be read; `faults` holds a sentence for each of them."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        super().__init__(" ".join(f"{name}: {sentence}" for name, sentence in faults.items()))
        self.faults = dict(faults)


@dataclass(frozen=True, slots=True)
class Entry:
    """One request of a committed map."""

    name: str
    said: int
    expected: int

    @property
    def right(self) -> bool:
        return self.said == self.expected


@dataclass(frozen=True, slots=True)
class Judgement:
    """A commitment beside the right answer.

    `ratio` is how many times it is off, 1 or more, and None where a ratio says nothing (a zero, two signs, a map).
    `near` is within three times the tolerance. `value` and `expected` are in the unit asked for.
    """

    value: float | dict[str, int]
    expected: float | dict[str, int]
    within: bool
    near: bool
    reading: str = ""
    ratio: float | None = None
    direction: str = ""  # "too low", "too high", or "" where it is exact
    off: str = ""  # how far off, in words: "3.9×", "12 ms"
    slip: str = ""  # the sentence for a known wrong way that leads to this number
    entries: tuple[Entry, ...] = ()


def judge_number(typed: str, expected: float, unit: str, tolerance: float, slips: tuple = ()) -> Judgement:
    """The typed number beside the expected one; `tolerance` is a fraction of the expected one.

    Raises Refusal when no number of that unit can be read.
    """
    allowed = tolerance * abs(expected)
    judgement = judge_estimate(typed, expected, unit, expected - allowed, expected + allowed)
    return judgement if judgement.within else replace(judgement, slip=slip_at(judgement.value, slips))


def judge_estimate(typed: str, expected: float, unit: str, low: float, high: float) -> Judgement:
    """The typed number beside the expected one, right from `low` to `high`; near is three times as far from it as the
    range reaches.

    Raises Refusal when no number of that unit can be read.
    """
    quantity = read(typed, unit)
    value, error = quantity.value, abs(quantity.value - expected)
    exact = math.isclose(value, expected, rel_tol=1e-9)
    slack = 1e-9 * abs(expected)
    within = exact or low - slack <= value <= high + slack
    ratio = None
    if value * expected > 0:
        ratio = max(value / expected, expected / value)
    return Judgement(
        value=value,
        expected=expected,
        within=within,
        near=within or error <= HARD_TIMES * max(high - expected, expected - low) + slack,
        reading=quantity.reading,
        ratio=ratio,
        direction="" if exact else "too low" if value < expected else "too high",
        off=times(ratio) if ratio else say(error, unit),
    )


def times(ratio: float) -> str:
    """How many times off, in two figures or as many as tell it from 1: "3.9×", "1.04×", "under 0.05%"."""
    if ratio < 1.0005:
        return "under 0.05%"
    digits = 4 if ratio < 1.01 else 3 if ratio < 1.1 or ratio >= 100 else 2
    return say(ratio, "×", digits)


def slip_at(value: float, slips: tuple) -> str:
    """The sentence of the known wrong value that lies nearest, if one is near enough; else ''."""
    nearest = min(slips, key=lambda slip: abs(slip[0] - value), default=None)
    return nearest[1] if nearest and abs(nearest[0] - value) <= SLIP_SHARE * abs(nearest[0]) else ""


def read_map(typed: Mapping[str, str], names: tuple[str, ...]) -> dict[str, int]:
    """The tokens said for each name; an empty entry is 0.

    Raises UnreadEntries with a sentence for each entry that is no whole number of tokens.
    """
    said, faults = {}, {}
    for name in names:
        text = (typed.get(name) or "").strip()
        try:
            value = read(text, "tokens").value if text else 0
        except Refusal as refusal:
            faults[name] = str(refusal)
            continue
        if value < 0 or value != int(value):
            faults[name] = "A request gets a whole number of tokens, 0 or more."
        said[name] = int(value)
    if faults:
        raise UnreadEntries(faults)
    return said


def judge_map(typed: Mapping[str, str], expected: Mapping[str, int], names: tuple[str, ...]) -> Judgement:
    """The typed {request: tokens} map beside the expected one, entry by entry; a request left out gets 0.

    Raises UnreadEntries.
    """
    said = read_map(typed, names)
    entries = tuple(Entry(name, said[name], expected.get(name, 0)) for name in names)
    right = all(entry.right for entry in entries)
    wrong = sum(not entry.right for entry in entries)
    off = "" if right else f"{wrong} of {len(entries)} wrong"
    return Judgement(value=said, expected=dict(expected), within=right, near=right, off=off, entries=entries)


def suggest_grade(
    judgement: Judgement | None,
    *,
    ticked: int,
    points: int,
    tolerance: float = 0,
    seconds: float | None = None,
    minutes: float = 0,
) -> tuple[int, str]:
    """The suggested grade, 1 (Again) to 4 (Easy), and its reason in a line.

    The lower of what the ticks and the number give; without a judgement the ticks alone count.
    """
    by_points = GOOD if 5 * ticked >= 4 * points else HARD if 2 * ticked >= points else AGAIN
    reason = [f"{ticked} of {points} points"]
    by_number = GOOD
    if judgement is not None:
        by_number = GOOD if judgement.within else HARD if judgement.near else AGAIN
        reason.append(words_of(judgement, tolerance))
    if by_number == GOOD and ticked == points and seconds is not None and seconds < minutes * 60:
        return EASY, ", ".join([*reason, f"in less than {minutes:g} min"])
    return min(by_points, by_number), ", ".join(reason)


def percent(tolerance: float) -> str:
    """A tolerance as it is said: "25%", "0.2%"."""
    return f"{100 * tolerance:.3g}%"


def words_of(judgement: Judgement, tolerance: float) -> str:
    """How the number or the map did, in a few words."""
    if judgement.entries:
        right = sum(entry.right for entry in judgement.entries)
        return f"{right} of {len(judgement.entries)} entries right"
    if not tolerance:
        return "number exact" if judgement.within else "number not exact"
    return f"number {'within' if judgement.within else 'outside'} {percent(tolerance)}"
