"""The pictures of mock interviews' reports: how a team's interviews came out on the same question or point."""
from collections import Counter
from collections.abc import Sequence
from statistics import median

from calculators.pictures import Drawing, Path, Scale, Shape, line

WIDTH, EDGE = 150, 8
RADIUS, PITCH = 3, 7.5  # of a ring, and from one to the next above it
OVER_AXIS, UNDER_AXIS = 7, 15


def rings(values: Sequence[float], own: float | None, *, high: int, who: str) -> Drawing:
    """A ring for each interview over an axis from 0 to `high`, a triangle under it for this one.

    With `high` 1 the values are shares, which stand in columns as wide as a ring; else scores with a tick at each.
    """
    place = Scale(0, high, EDGE, WIDTH - EDGE)
    columns = Counter(
        round(place(round(value)) if high > 1 else EDGE + round((place(value) - EDGE) / PITCH) * PITCH, 2)
        for value in values)
    axis = OVER_AXIS + PITCH * max(columns.values())
    shapes: list[Shape] = [line(EDGE, axis, WIDTH - EDGE, axis, "edge")]
    shapes += [line(place(tick), axis - 4, place(tick), axis, "edge") for tick in range(high + 1)]
    shapes += [ring(x, axis - OVER_AXIS + 1 - PITCH * level) for x, count in sorted(columns.items())
               for level in range(count)]
    if own is not None:
        shapes.append(triangle(place(own), axis + 3))
    return Drawing(WIDTH, axis + UNDER_AXIS, finding(values, own, high, who), tuple(shapes))


def ring(x: float, y: float) -> Path:
    """A hollow circle round (x, y)."""
    r = RADIUS
    return Path(f"M{x - r:g} {y:g}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z", "ring")


def triangle(x: float, y: float) -> Path:
    """A filled triangle whose tip is at (x, y)."""
    return Path(f"M{x:g} {y:g}l5.5 8h-11Z", "dot")


def finding(values: Sequence[float], own: float | None, high: int, who: str) -> str:
    """What the picture shows, in words."""
    lowest, middle, highest = (amount(value, high) for value in (min(values), median(values), max(values)))
    of = "" if high == 1 else f" of {high}"
    words = f"{len(values)} interviews of the team: from {lowest} to {highest}{of}, half of them up to {middle}"
    return f"{words}; {who} {amount(own, high)}." if own is not None else f"{words}."


def amount(value: float, high: int) -> str:
    """A share as a percentage, a score as a number: "67%", "2.5"."""
    return f"{value:.0%}" if high == 1 else f"{value:.2f}".rstrip("0").rstrip(".")
