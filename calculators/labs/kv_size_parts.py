"""What the pictures of the kv-size lab are put together from: parts with a heading, bars from one line, tables."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from calculators.pictures import NARROW, WIDE, Bar, Drawing, Shape, Text, line

HALF = 480  # width of a drawing beside the derivation
ROW = 26
LETTER = 7.2  # width of a letter at the size of a bar's words


class Swatch(NamedTuple):
    """A legend's entry: the class and the pattern of its shape, and what it stands for."""

    css: str
    says: str
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One picture of a page: heading, note beside it, both drawings, what a square of each is, and its legend."""

    heading: str
    wide: Drawing
    narrow: Drawing
    note: str = ""
    wide_unit: str = ""
    narrow_unit: str = ""
    legend: tuple[Swatch, ...] = ()
    words: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a picture: a caption, the heads, and rows of words."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over: the main part, the one beside the derivation, one below, and the tables."""

    main: Part
    side: Part
    tables: tuple[Table, ...]
    below: Part | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of bars: its name, a length and the words behind it for each column; `present` is the case at hand."""

    name: str
    lengths: tuple[float, ...]
    words: tuple[str, ...]
    present: bool


def bars(title: str, heads: Sequence[str], rows: Sequence[Row], width: float) -> Drawing:
    """Rows of bars in one column or more, each column on a scale of its own and from one line; values on the bars."""
    names = min(max(len(row.name) for row in rows) * LETTER + 8, width * 0.36)
    narrow = width <= NARROW
    left = 2 if narrow and len(heads) == 1 else names
    step = (width - left) / len(heads)
    pitch = ROW + 16 if left == 2 else ROW
    shapes: list[Shape] = [Text(left + 8 + step * place, 12, head, "axis") for place, head in enumerate(heads)]
    foot = 24 + pitch * len(rows)
    for place in range(len(heads)):
        longest = max(row.lengths[place] for row in rows) or 1
        taken = max(len(row.words[place]) for row in rows) * LETTER + 22
        for number, row in enumerate(rows):
            x, y = left + 8 + step * place, 24 + pitch * number + (16 if left == 2 else 0)
            length = max(row.lengths[place] / longest * (step - taken), 1)
            weight = "strong" if row.present else "value"
            shapes.append(Bar(x, y, round(length, 2), 16, "present" if row.present else "other"))
            shapes.append(Text(round(x + length + 8, 2), y + 13, row.words[place], weight))
        shapes.append(line(left + 8 + step * place, 20, left + 8 + step * place, foot - 4, "edge"))
    shapes += names_of(rows, left, pitch)
    return Drawing(width, foot, title, tuple(shapes))


def names_of(rows: Sequence[Row], left: float, pitch: float) -> Iterator[Shape]:
    """The rows' names: left of the line, or above their bar where there is no room."""
    for number, row in enumerate(rows):
        css = "strong" if row.present else "value"
        if left == 2:
            yield Text(left + 14, 36 + pitch * number, row.name, css)
        else:
            yield Text(left, 37 + pitch * number, row.name, css, "end")


def both(title: str, heads: Sequence[str], rows: Sequence[Row], wide: float = HALF) -> tuple[Drawing, Drawing]:
    """The same bars wide and narrow."""
    return bars(title, heads, rows, wide), bars(title, heads, rows, NARROW)


def sides() -> tuple[tuple[float, bool], tuple[float, bool]]:
    """Width and narrowness of the two drawings of a main picture."""
    return (WIDE, False), (NARROW, True)
