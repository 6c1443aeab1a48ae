"""Paper ruled in round columns, and bars that lie on it."""
from collections.abc import Callable, Iterable, Iterator
from math import ceil, floor

from calculators.pictures import Bar, Path, Scale, Shape, Text, line

ROUND = (1, 2, 5)
LETTER = 7.4  # width of a letter of a label, about
LARGER = {"end": 1.5, "name": 1.25}  # words of these looks against a label's
EDGE = 4  # from a picture's left edge: a figure in the middle of a line there would stand out of it


def round_unit(span: float, most: int) -> float:
    """The smallest of 1, 2 or 5 times a power of ten of which at most `most` make up the span."""
    return next(n * 10.0**power for power in range(-9, 15) for n in ROUND if span / (n * 10.0**power) <= most)


def figures(value: float) -> str:
    """A round figure on an axis: "0", "0.5", "2,000"."""
    return f"{value:,.10g}"


def columns(scale: Scale, unit: float, top: float, foot: float, every: int = 5, said: Callable[[float], str] = figures,
            most: int = 12) -> Iterator[Shape]:
    """A line at each unit from `top` to `foot` and a figure under every `every`-th, fewer where they are many.

    `said` writes a figure; the first and the last one keep within the picture's edges.
    """
    first, last = ceil(scale.low / unit - 1e-9), floor(scale.high / unit + 1e-9)
    every *= max(ceil((last - first) / every / most), 1)
    for number in range(first, last + 1):
        x = scale(number * unit)
        yield line(x, top, x, foot, "grid")
        if number % every == 0:
            anchor = "start" if x < EDGE else "end" if x > scale.end - 24 else "middle"
            yield Text(x, foot + 17, said(number * unit), "axis", anchor)


def rows(scale: Scale, unit: float, left: float, right: float) -> Iterator[Shape]:
    """A line at each unit of an upright scale from `left` to `right`, its figure at the left."""
    for number in range(ceil(scale.low / unit - 1e-9), floor(scale.high / unit + 1e-9) + 1):
        y = scale(number * unit)
        yield line(left, y, right, y, "grid")
        yield Text(left - 8, y + 4, figures(number * unit), "axis", "end")


def width_of(words: str) -> float:
    """Room that a label takes, about."""
    return LETTER * len(words)


def past_words(x: float, top: float, foot: float, shapes: Iterable[Shape], css: str = "pen") -> Path:
    """An upright line from `top` to `foot` that leaves out the words in its way."""
    pieces, start = [], top
    for above, below in sorted(heights_at(x, shapes)):
        pieces.append((start, min(above, foot)))
        start = max(start, below)
    pieces.append((start, foot))
    return Path("".join(f"M{x:g} {a:g}L{x:g} {b:g}" for a, b in pieces if b > a) or f"M{x:g} {foot:g}", css)


def heights_at(x: float, shapes: Iterable[Shape]) -> Iterator[tuple[float, float]]:
    """From where to where words stand at x."""
    for shape in shapes:
        if isinstance(shape, Path) or not shape.text:
            continue
        css, at, foot = (shape.text_css, shape.text_x, shape.text_y + 5) if isinstance(shape, Bar) else (
            shape.css, shape.x, shape.y)
        larger = max((LARGER.get(look, 1) for look in css.split()), default=1)
        width = 0.95 * width_of(shape.text) * larger
        left = at - width * {"start": 0, "middle": 0.5, "end": 1}[shape.anchor]
        if left - 3 < x < left + width + 3:
            yield round(foot - 11 * larger, 2), round(foot + 4 * larger, 2)


def fitting(words: str, room: float) -> str:
    """The words, or as many of them as there is room for."""
    if width_of(words) <= room:
        return words
    return words[: max(int(room / LETTER) - 1, 0)].rpartition(" ")[0] + " …"


def bar_with_words(x: float, y: float, width: float, height: float, css: str, value: str, words: str,
                   right: float) -> Iterator[Shape]:
    """A filled bar, its value and its words inside where they fit, else after it; words that fit nowhere are left out.
    """
    width = max(round(width, 2), 1)
    yield Bar(x, y, width, height, css)
    inside = room_for(value, words) < width
    start = round(x + 10 if inside else x + width + 14, 2)
    baseline = y + height / 2 + 5
    yield Text(start, baseline, value, "on-ink" if inside else "strong")
    if inside or start + room_for(value, words) < right:
        yield Text(round(start + width_of(value) + 8, 2), baseline, words, "on-ink" if inside else "label")


def room_for(value: str, words: str) -> float:
    """Room that a value and its words take in or after a bar, about."""
    return width_of(value) + width_of(words) + 30
