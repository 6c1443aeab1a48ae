"""The picture of a serve command: its lines beside what each means, and one GPU filled in the order of a start."""
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from calculators.labs.base import Shown
from calculators.models.base import Line
from calculators.models.serve_builder import Part, Serve
from calculators.models.serve_fit import Fit
from calculators.models.serve_rule import Finding
from calculators.models.serve_words import glossary
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line, wall_beside
from calculators.ruled import columns, round_unit, width_of

GLOSSARY = glossary()
TOP, HIGH = 52, 66
FEWEST_CELLS, MOST_CELLS = 2, 120
ROOM = 10  # units of width around words in a bar


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the derivation, its value to two decimals where it is a size."""

    number: str
    line: Line
    figure: str


class Said(NamedTuple):
    """A finding, and the address of the same command without its flag ("" where no knob takes it out)."""

    finding: Finding
    without: str


class CommandLine(NamedTuple):
    """A line of the command with what is said of it."""

    part: Part
    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over: the lines, both drawings (None without a fit), the checks, what a square is."""

    lines: tuple[CommandLine, ...]
    text_rows: int
    wide: Drawing | None
    narrow: Drawing | None
    rows: tuple[Row, ...]
    unit: str
    glossary: tuple[tuple[str, str, str], ...]


def picture(shown: Shown, without: Callable[[Mapping[str, Any], str], str]) -> Picture:
    """The lines and both drawings. `without` gives the address without a flag; the reader said a number of requests."""
    result: Serve = shown.result
    lines = tuple(CommandLine(part, tuple(said_of(part, each, shown, without) for each in part.findings))
                  for part in result.parts)
    wide, narrow = (bar(result.fit, shown.said, width) if result.fit.ledger else None for width in (WIDE, NARROW))
    return Picture(
        lines, result.command.count("\n") + 1, wide, narrow,
        tuple(row(number, each) for number, each in enumerate(result.lines, 1)),
        square(result.fit) if result.fit.ledger else "", GLOSSARY,
    )


def said_of(part: Part, each: Finding, shown: Shown, without: Callable[[Mapping[str, Any], str], str]) -> Said:
    return Said(each, without(shown.inputs, part.dest) if each.refused and part.by_knob else "")


def row(number: int, each: Line) -> Row:
    """A check with its number; what follows from the last one has none."""
    size = each.unit.startswith("GiB")
    return Row("" if each.label.startswith("with ") else str(number), each,
               f"{each.value:,.2f}" if size else each.figure)


def end_of(made: Fit) -> float:
    """The end of the scale in GiB: the GPU, or what weights and the rest would take."""
    ledger = made.ledger
    return max(ledger.total_gib, ledger.loaded_gib + made.overhead_gib, ledger.budget_gib) * 1.01


def unit_of(made: Fit) -> float:
    return round_unit(end_of(made), 100)


def square(made: Fit) -> str:
    """What one square is, and whether the pool's cells are requests."""
    cells = "; a cell of the pool is one request of full length" if FEWEST_CELLS <= made.at_once <= MOST_CELLS else ""
    return f"One square is {unit_of(made):g} GiB{cells}."


def bar(made: Fit, said: float | None, width: int) -> Drawing:
    """One GPU from left to right: weights, what lies between, the pool, and the wall of the budget."""
    ledger, narrow = made.ledger, width == NARROW
    scale = Scale(0, end_of(made), 0, width - 8)
    foot = TOP + HIGH
    unit = round_unit(end_of(made), 10) if narrow else unit_of(made)
    shapes: list[Shape] = [*columns(scale, unit, TOP - 10, foot + 10, every=1 if narrow else 10)]
    between = ledger.loaded_gib + made.overhead_gib
    shapes += filled(scale, 0, ledger.loaded_gib, "solid", "", ("weights", f"{ledger.loaded_gib:,.2f}"))
    shapes += filled(scale, ledger.loaded_gib, between, "guessed", "estimated",
                     ("peak and buffers", f"{made.overhead_gib:,.2f}"))
    if ledger.kv_gib > 0:
        shapes += pool(scale, between, made)
    wall = scale(ledger.budget_gib)
    shapes += wall_beside(wall, 24, foot + 10)
    words = f"budget {ledger.budget_gib:,.2f}"
    shapes.append(Text(wall - 8, 26, words, "limit-text", "end") if wall > width_of(words) + 12
                  else Text(wall + 14, 26, words, "limit-text"))
    if ledger.total_gib > ledger.budget_gib:
        shapes += unused(scale, ledger.budget_gib, ledger.total_gib)
    if ledger.kv_gib <= 0:
        words = f"no room for KV: {ledger.kv_gib:,.2f} GiB".replace("-", "−")
        shapes.append(Text(width - 8, foot + 46, words, "strong", "end"))
    shapes += guess(scale, between, made, said, width)
    shapes.append(Text(0, foot + 66, "GiB of one GPU", "axis"))
    return Drawing(width, foot + 72, ledger.finding, tuple(shapes))


def filled(scale: Scale, start: float, end: float, css: str, pattern: str, words: tuple[str, ...]) -> Iterator[Shape]:
    """A part of the bar with its words where they fit."""
    x, width = scale(start), round(scale(end) - scale(start), 2)
    if width <= 0:
        return
    yield Bar(x, TOP, width, HIGH, css, pattern=pattern)
    fitting = [text for text in words if width_of(text) + 2 * ROOM <= width]
    look = "value" if pattern else "on-ink"
    if pattern and fitting:
        plate = max(map(width_of, fitting)) + 8
        yield Bar(x + ROOM - 4, TOP + 10, plate, 22 * len(fitting), "plate")
    for at, text in enumerate(fitting):
        yield Text(x + ROOM, TOP + 26 + 20 * at, text, look)


def pool(scale: Scale, start: float, made: Fit) -> Iterator[Shape]:
    """The KV pool, a cell for each request of full length where they can be told apart."""
    x, end = scale(start), scale(start + made.kv_gib)
    width = round(end - x, 2)
    yield Bar(x, TOP, width, HIGH, "result")
    if FEWEST_CELLS <= made.at_once <= MOST_CELLS and width / made.at_once >= 3:
        for number in range(1, int(made.at_once) + 1):
            at = scale(start + number * made.request_gib)
            yield line(at, TOP + HIGH / 2 + 4, at, TOP + HIGH, "edge")
        yield line(x, TOP + HIGH / 2 + 4, end, TOP + HIGH / 2 + 4, "edge")
    said = (f"KV pool {made.kv_gib:,.2f} GiB = {made.at_once:,.1f} requests", f"KV {made.kv_gib:,.2f} GiB",
            f"{made.at_once:,.1f} fit", f"KV {made.kv_gib:,.0f}")
    words = next((text for text in said if width_of(text) + 2 * ROOM <= width), "")
    if words:
        yield Text(x + ROOM, TOP + 24, words, "strong")


def unused(scale: Scale, start: float, end: float) -> Iterator[Shape]:
    """What lies beyond the budget."""
    x, width = scale(start) + 10, round(scale(end) - scale(start) - 10, 2)
    if width > 0:
        yield Bar(x, TOP, width, HIGH, "never", "not used" if width > width_of("not used") + 8 else "", "label")


def guess(scale: Scale, start: float, made: Fit, said: float | None, width: int) -> Iterator[Shape]:
    """Where the reader's number of requests would end the pool."""
    if said is None or said <= 0 or not made.request_gib:
        return
    end = start + said * made.request_gib
    place = scale(min(end, scale.high))
    words = f"your {said:,.4g}" + (" would end beyond it" if end > scale.high else "")
    yield line(place, TOP + HIGH / 2, place, TOP + HIGH + 8, "pen")
    left = place + width_of(words) + 10 > width
    yield Text(place - 6 if left else place + 6, TOP + HIGH + 46, words, "pen-text halo", "end" if left else "start")


def thumbnail(result: Serve) -> Drawing:
    """The bar alone, with its wall."""
    made = result.fit
    scale = Scale(0, end_of(made), 1, 207)
    between = made.ledger.loaded_gib + made.overhead_gib
    shapes: list[Shape] = [
        Bar(1, 16, round(scale(made.ledger.loaded_gib) - 1, 2), 32, "solid"),
        Bar(scale(made.ledger.loaded_gib), 16, round(scale(between) - scale(made.ledger.loaded_gib), 2), 32, "guessed",
            pattern="estimated"),
        Bar(scale(between), 16, round(scale(between + made.kv_gib) - scale(between), 2), 32, "result"),
    ]
    shapes += [line(at, 33, at, 48, "edge") for number in range(1, int(min(made.at_once, 40)) + 1)
               for at in [scale(between + number * made.request_gib)]]
    shapes += wall_beside(scale(made.ledger.budget_gib), 8, 56)
    return Drawing(216, 64, result.finding, tuple(shapes))
