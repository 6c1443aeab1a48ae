"""What laws are said with."""
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

GIB = 2**30
LAST_DIGITS = 1e-12  # of a float: what its rounding may make up


def near(one: float, other: float) -> bool:
    """Whether two numbers are the same but for rounding."""
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-4)


def same(one: float, other: float) -> bool:
    """Whether two numbers are the same but for the last digits of a float, however small they are."""
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def at_most(one: float, other: float) -> bool:
    """Whether a number is not larger than another, but for the last digits of a float."""
    return one <= other or same(one, other)


def rising(values: Iterable[float]) -> bool:
    """Whether no value is below the one before it."""
    return all(at_most(one, other) for one, other in pairwise(values))


def falling(values: Sequence[float]) -> bool:
    """Whether no value is above the one before it."""
    return rising(values[::-1])


def is_ceiling(count: int, part: float, whole: float) -> bool:
    """Whether so many parts cover the whole, and one fewer would not."""
    return whole * (1 - LAST_DIGITS) <= count * part and (count - 1) * part < whole * (1 - LAST_DIGITS)


def is_floor(count: int, part: float, whole: float) -> bool:
    """Whether so many parts fit in the whole, and one more would not."""
    return at_most(count * part, whole) and whole < (count + 1) * part
