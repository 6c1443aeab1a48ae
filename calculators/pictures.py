"""The shapes and scales that lab pictures are made of. Models give numbers, these give places and write SVG.

Lengths are SVG units: a wide picture is drawn 1,080 wide, one in the measure 720 and a narrow one 350; each is shown at
about its own size.
A shape's `css` names its look (drillapp/static/css/pictures.css), a `pattern` a fill of calculators/_patterns.html.
"""
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from math import hypot

WIDE, MEASURE, NARROW = 1080, 720, 350
WALL = 8  # height of the hatched strip on the forbidden side of a limit


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle from its upper left corner, with a text in its middle or, with `left`, so far from its left edge."""

    x: float
    y: float
    w: float
    h: float
    css: str
    text: str = ""
    text_css: str = "value"
    pattern: str = ""
    left: float | None = None

    @property
    def text_x(self) -> float:
        return round(self.x + (self.w / 2 if self.left is None else self.left), 2)

    @property
    def text_y(self) -> float:
        return round(self.y + self.h / 2, 2)

    @property
    def anchor(self) -> str:
        return "middle" if self.left is None else "start"

    def svg(self) -> str:
        """The rectangle and its text as SVG."""
        fill = f' fill="url(#fill-{escape(self.pattern)})"' if self.pattern else ""
        rect = f'<rect class="{escape(self.css)}" x="{self.x}" y="{self.y}" width="{self.w}" height="{self.h}"{fill}/>'
        if not self.text:
            return rect
        place = f'x="{self.text_x}" y="{self.text_y}" dy="0.36em" text-anchor="{self.anchor}"'
        return f'{rect}<text class="{escape(self.text_css)}" {place}>{escape(self.text)}</text>'


@dataclass(frozen=True, slots=True)
class Text:
    """Words on their baseline; `anchor` is start, middle or end."""

    x: float
    y: float
    text: str
    css: str = "label"
    anchor: str = "start"

    def svg(self) -> str:
        """The words as SVG."""
        place = f'x="{self.x}" y="{self.y}" text-anchor="{self.anchor}"'
        return f'<text class="{escape(self.css)}" {place}>{escape(self.text)}</text>'


@dataclass(frozen=True, slots=True)
class Path:
    """A line or an outline, in SVG's own path language."""

    d: str
    css: str

    def svg(self) -> str:
        """The path as SVG."""
        return f'<path class="{escape(self.css)}" d="{escape(self.d)}"/>'


Shape = Bar | Text | Path


@dataclass(frozen=True, slots=True)
class Drawing:
    """One SVG: its size, the finding that its title says, and its shapes from back to front."""

    width: float
    height: float
    title: str
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight scale from values to places: `low` lies at `start`, `high` at `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return round(self.start + (value - self.low) * (self.end - self.start) / (self.high - self.low), 2)


def line(x1: float, y1: float, x2: float, y2: float, css: str) -> Path:
    """A straight line."""
    return Path(f"M{x1:g} {y1:g}L{x2:g} {y2:g}", css)


def polyline(points: list[tuple[float, float]], css: str) -> Path:
    """Straight lines from point to point."""
    return Path("M" + "L".join(f"{x:g} {y:g}" for x, y in points), css)


def wall_above(x1: float, x2: float, y: float) -> Iterator[Shape]:
    """A limit at height y that forbids what lies above it."""
    yield Bar(x1, y - WALL, x2 - x1, WALL, "wall", pattern="wall")
    yield line(x1, y, x2, y, "s-limit")


def wall_beside(x: float, y1: float, y2: float, left: bool = False) -> Iterator[Shape]:
    """A limit at x that forbids what lies right of it, or left of it."""
    yield Bar(x - WALL if left else x, y1, WALL, y2 - y1, "wall", pattern="wall")
    yield line(x, y1, x, y2, "s-limit")


def wall_along(x1: float, y1: float, x2: float, y2: float) -> Iterator[Shape]:
    """A limit from (x1, y1) up to (x2, y2) that forbids what lies above it."""
    count = max(int(hypot(x2 - x1, y2 - y1) / 5), 1)
    places = [(x1 + (x2 - x1) * n / count, y1 + (y2 - y1) * n / count) for n in range(1, count)]
    yield Path("".join(f"M{x:.1f} {y:.1f}l-1.5 -{WALL}" for x, y in places), "wall-strokes")
    yield line(x1, y1, x2, y2, "s-limit")


def arrow(x1: float, x2: float, y: float) -> Path:
    """A thin arrow to the right."""
    return Path(f"M{x1:g} {y:g}H{x2:g}m-3.5 -3l3.5 3l-3.5 3", "arrow")


def corner(x: float, y: float, size: float = 12) -> Path:
    """A folded corner, the sign of an end, whose tip is at the upper right (x, y)."""
    return Path(f"M{x - size:g} {y:g}H{x:g}V{y + size:g}Z", "corner")


def thousands(number: float) -> str:
    """A whole number with its thousands apart: "2,045"."""
    return f"{number:,.0f}"
