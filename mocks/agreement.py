"""How far interviewers agree who scored the same points alone: how many alike, the mean difference, weighted kappa."""
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from mocks.room import Room

LEAST_POINTS = 10  # scored by two; from fewer neither figure says anything


@dataclass(frozen=True, slots=True)
class Agreement:
    """Over `points` scores given by two: how many are alike, by how much they differ in the mean, and kappa.

    `kappa` is Cohen's with quadratic weights: 1 when all are alike, 0 when no more so than by chance; None where chance
    leaves nothing to disagree about, as when everybody gave every point the same score.
    """

    points: int
    alike: int
    mean_difference: float
    kappa: float | None

    @property
    def says_something(self) -> bool:
        return self.points >= LEAST_POINTS


def of(pairs: Sequence[tuple[int, int]]) -> Agreement:
    """The agreement over scores (one's, the other's) of the same points.

    Kappa = 1 - sum (a - b)^2 / sum of (a - b)^2 expected by chance, where chance pairs each score of the one with each
    of the other. Source: J. Cohen, Weighted kappa, Psychological Bulletin 70 (1968).
    """
    n = len(pairs)
    if not n:
        return Agreement(0, 0, 0.0, None)
    seen = sum((one - other) ** 2 for one, other in pairs) / n
    ones, others = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    chance = sum((one - other) ** 2 * ones[one] * others[other] for one in ones for other in others) / n**2
    return Agreement(
        points=n, alike=sum(one == other for one, other in pairs),
        mean_difference=sum(abs(one - other) for one, other in pairs) / n,
        kappa=1 - seen / chance if chance else None)


def among(pairs: Sequence[tuple[int, int]]) -> Agreement:
    """The same over the scores of several pairs of people, where it is chance who of two is named first: each pair
    counts both ways round."""
    both = of([*pairs, *((other, one) for one, other in pairs)])
    return replace(both, points=len(pairs), alike=both.alike // 2)


def pairs_in(room: Room, raters: Iterable[str]) -> list[tuple[int, int]]:
    """The scores of every two of these interviewers for the same point of an interview."""
    return [
        (one, other)
        for position, item in enumerate(room.items) for point in item.points
        for one, other in combinations([room.mark(who, position, point).value for who in raters], 2)
        if one is not None and other is not None
    ]
