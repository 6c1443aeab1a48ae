"""Paper on which one column or one row is a factor of two, for quantities that span several of them."""
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, floor, log2

from calculators.pictures import Path, Scale, Shape, Text, line


@dataclass(frozen=True, slots=True)
class LogPaper:
    """Two scales of doublings: each runs between whole powers of two, x to the right and y upwards."""

    across: Scale
    up: Scale

    def x(self, value: float) -> float:
        return self.across(log2(value))

    def y(self, value: float) -> float:
        return self.up(log2(value))

    def holds(self, x: float) -> bool:
        """Whether a value lies between the paper's left and right edge."""
        return x > 0 and self.across.low <= log2(x) <= self.across.high

    def columns(self, parts: int) -> list[float]:
        """Values from the left edge to the right, `parts` to each column."""
        low, high = self.across.low, self.across.high
        return [2 ** (low + place / parts) for place in range(round((high - low) * parts) + 1)]

    def grid(self, every: int, said: Callable[[float], str]) -> Iterator[Shape]:
        """Lines at each doubling, figures left of every `every`-th row, as `said` writes them."""
        for power in range(round(self.across.low), round(self.across.high) + 1):
            x = self.across(power)
            yield line(x, self.up.end, x, self.up.start, "grid")
        for power in range(round(self.up.low), round(self.up.high) + 1):
            y = self.up(power)
            yield line(self.across.start, y, self.across.end, y, "grid")
            if power % every == 0:
                yield Text(self.across.start - 8, y + 4, said(2.0**power), "axis", "end")

    def foot(self, every: int, said: Callable[[float], str]) -> Iterator[Shape]:
        """Figures under every `every`-th column; the last keeps within the right edge."""
        for power in range(round(self.across.low), round(self.across.high) + 1):
            if power % every == 0:
                anchor = "end" if power == self.across.high else "middle"
                yield Text(self.across(power), self.up.start + 18, said(2.0**power), "axis", anchor)


def log_paper(xs: tuple[float, float], ys: tuple[float, float], left: float, right: float, top: float,
              row: float) -> LogPaper:
    """Paper for values from lowest to highest, opened to whole doublings; each row is `row` high from `top` down."""
    (x1, x2), (y1, y2) = doublings(*xs), doublings(*ys)
    return LogPaper(Scale(x1, x2, left, right), Scale(y1, y2, round(top + (y2 - y1) * row, 2), top))


def doublings(low: float, high: float) -> tuple[int, int]:
    """The whole powers of two that enclose two values, at least one apart."""
    first = floor(log2(low) + 1e-9)
    return first, max(ceil(log2(high) - 1e-9), first + 1)


def dot(x: float, y: float, css: str, radius: float = 4.5) -> Path:
    """A disc on a point."""
    r = radius
    return Path(f"M{x - r:g} {y:g}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0Z", css)
