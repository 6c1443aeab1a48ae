"""The pictures of the recompute-or-move lab: both costs over the size of a copy, and what copies and models need."""
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import log2

from calculators.labs.base import Shown
from calculators.log_paper import LogPaper, dot, log_paper
from calculators.models.quantity import say
from calculators.models.recompute_or_move import Copies, RecomputeOrMove, in_bytes
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line, polyline, wall_beside

FINENESS = 8  # points of the move's line in each doubling of the copy
SMALLEST, LARGEST = 4 * 1024, 16 * 2**20  # copies on the paper, unless those at hand lie outside
LARGEST_CROSSING = 2**28
TOP = 40


@dataclass(frozen=True, slots=True)
class Rate:
    """One bar of GB/s with its name."""

    name: str
    gb_per_s: float
    present: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over: three drawings, each wide and narrow, and the rows of the table of copies."""

    wide: Drawing
    narrow: Drawing
    copies_wide: Drawing
    copies_narrow: Drawing
    models_wide: Drawing
    models_narrow: Drawing
    crossing: str
    rows: tuple[tuple[str, Copies], ...]


def picture(shown: Shown) -> Picture:
    """Both drawings of each picture; what the reader said is a bandwidth in GB/s."""
    result, link = shown.result, shown.result.move.link_gb_per_s
    needed = result.move.trips * result.context_gb_per_s
    copies = [Rate(in_bytes(each.bytes), each.gb_per_s, each.present) for each in result.sizes]
    models = [Rate(each.name, each.gb_per_s, each.present) for each in result.others]
    return Picture(
        wide=costs(result, narrow=False), narrow=costs(result, narrow=True),
        copies_wide=reached(copies, needed, link, 480), copies_narrow=reached(copies, needed, link, NARROW),
        models_wide=needs(models, link, shown.said, 480), models_narrow=needs(models, link, shown.said, NARROW),
        crossing=in_bytes(result.crossing_bytes or 0),
        rows=tuple((in_bytes(each.bytes), each) for each in result.sizes),
    )


def costs(result: RecomputeOrMove, narrow: bool) -> Drawing:
    """Recomputing as a level line, moving as one that falls with the copy's size, and the wall where they cross."""
    move = result.move
    left, right, row = (44, NARROW - 6, 22) if narrow else (72, WIDE - 14, 26)
    crossing = result.crossing_bytes if (result.crossing_bytes or 0) <= LARGEST_CROSSING else None
    sizes = (SMALLEST, LARGEST, result.copy_bytes, *([crossing] if crossing else []))
    smallest, largest = max(min(sizes), 256), max(sizes)
    costs_ms = (result.recompute_ms, result.move_ms, move.in_copies(int(smallest)).takes_ms, move.wire_ms)
    paper = log_paper((smallest, largest), (min(costs_ms), max(costs_ms)), left, right, TOP, row)
    points = [(paper.x(size), paper.y(move.in_copies(round(size)).takes_ms)) for size in paper.columns(FINENESS)]
    level = paper.y(result.recompute_ms)
    shapes: list[Shape] = [
        Text(0, TOP - 14, "ms", "axis"), *paper.grid(2, in_figures), *paper.foot(4 if narrow else 2, in_bytes),
        line(left, level, right, level, "stepped"), polyline(points, "stepped"), *crossed(result, paper, narrow),
        level_words(result, level, points), *present(result, paper, level, narrow),
    ]
    return Drawing(NARROW if narrow else WIDE, paper.up.start + 24, result.finding, tuple(shapes))


def level_words(result: RecomputeOrMove, level: float, points: list[tuple[float, float]]) -> Text:
    """What recomputing costs, over its line, at the end where the move's line is further away."""
    words = f"recompute {in_figures(result.recompute_ms)} ms"
    (left, first), (right, last) = points[0], points[-1]
    at_left = abs(first - level) > abs(last - level) and abs(last - level) < 24
    return Text(left + 8, level - 8, words, "strong") if at_left else Text(right - 8, level - 8, words, "strong", "end")


def crossed(result: RecomputeOrMove, paper: LogPaper, narrow: bool) -> Iterator[Shape]:
    """The wall at the copy where both cost the same: left of it a copy is too small for moving to win."""
    middle = (paper.across.start + paper.across.end) / 2
    if result.crossing_bytes is None:
        yield Text(middle, 16, "at no size does moving win", "limit-text", "middle")
    elif paper.holds(result.crossing_bytes):
        x, least = paper.x(result.crossing_bytes), in_bytes(result.crossing_bytes)
        yield from wall_beside(x, 4, paper.up.start, left=True)
        words = f"from {least} moving wins" if narrow else f"from {least} on, moving wins"
        yield Text(x + 8, 16, words, "limit-text") if x < middle else Text(x - 14, 16, words, "limit-text", "end")
    else:
        large = result.crossing_bytes > LARGEST_CROSSING
        words = f"moving wins from {in_bytes(result.crossing_bytes)} →" if large else "at every size moving wins"
        yield Text(middle, 16, words, "limit-text", "middle")


def present(result: RecomputeOrMove, paper: LogPaper, level: float, narrow: bool) -> Iterator[Shape]:
    """The copy at hand as a dot on the line, tied to the level one by the ratio.

    Its words stand over it at the right; above the paper where the wall would run through them.
    """
    x, y = paper.x(result.copy_bytes), paper.y(result.move_ms)
    copies = "1 copy" if result.copies == 1 else f"{result.copies:,} copies"
    words = f"move {in_figures(result.move_ms)} ms" if narrow else (
        f"move {in_figures(result.move_ms)} ms: {copies} of {in_bytes(result.copy_bytes)}")
    width = 7.2 * len(words) + 4
    start, tied = round(min(x + 8, paper.across.end - width), 2), y
    wall = paper.x(result.crossing_bytes) if paper.holds(result.crossing_bytes or 0) else 0
    if x < wall < start + width + 8:
        start = max(min(x - width / 2, wall - 14 - width), paper.across.start)
        yield line(x, TOP - 4, x, y, "edge")
        yield Text(round(start, 2), TOP - 8, words, "strong")
    else:
        tied = y - 25 if y > level and start < x else y
        yield Bar(start, y - 25, width, 17, "plate", words, "strong", left=2)
    if abs(tied - level) > 18 and abs(y - level) > 26:
        yield line(x, tied, x, level, "edge")
        yield Text(x - 7, (tied + level) / 2 + 5, f"{result.times:.1f}×", "value", "end")
    yield dot(x, y, "present")


def reached(rates: Iterable[Rate], needed: float, link: float, width: float) -> Drawing:
    """What a copy of each size reaches, against the least that moving needs and what the link gives."""
    rows = [*rates, Rate("the link", link, False)]
    wall = f"needs {in_figures(needed)}"
    return rate_bars("GB/s that a copy reaches, by its size", rows, needed, wall, True, None, width)


def needs(rates: Iterable[Rate], link: float, said: float | None, width: float) -> Drawing:
    """The break-even bandwidth of each model, against what the link gives; the reader's number as a pen line."""
    rows = list(rates)
    return rate_bars("Break-even bandwidth by model, GB/s", rows, link, f"link {in_figures(link)}", False, said, width)


def rate_bars(title: str, rows: list[Rate], wall: float, name: str, least: bool, said: float | None,
              width: float) -> Drawing:
    """Bars of GB/s with their values; the wall forbids what lies left of it when it is the `least`, else right."""
    names = 108
    first, right = names + 12, width - 66
    scale = Scale(0, max(wall, *(row.gb_per_s for row in rows)), first, right)
    foot, x = 24 + 26 * len(rows), scale(wall)
    hatch, edge = wall_beside(x, 18, foot, left=least)
    shapes: list[Shape] = [
        Text(x, 12, name, "limit-text", "start" if x < first + 70 else "end"), hatch,
        line(first, 20, first, foot, "edge"),
    ]
    for place, row in enumerate(rows):
        y, weight = 24 + 26 * place, "strong" if row.present else "value"
        bar = Bar(first, y, round(max(scale(row.gb_per_s) - first, 1), 2), 16, "present" if row.present else "other")
        shapes += [Text(names, y + 13, row.name, weight, "end"), bar,
                   Text(right + 14, y + 13, in_figures(row.gb_per_s), weight)]
        if row.present and said and 0 < said <= scale.high:
            shapes += guess(scale(said), y, f"your {said:.3g}", first + bar.w, right)
    return Drawing(width, foot + 4, title, (*shapes, edge))


def guess(x: float, y: float, words: str, end: float, right: float) -> Iterator[Shape]:
    """The reader's number as a pen line over its row, named past the bar's end where there is room."""
    width = 8 * len(words)
    past = max(x, end) + 6
    yield Bar(round(past if past + width < right else x - 6 - width, 2), y, width, 16, "plate", words, "pen-text")
    yield line(x, y - 4, x, y + 20, "pen")


def thumbnail(result: RecomputeOrMove) -> Drawing:
    """The two lines and the wall where they cross, without axis or words."""
    powers = [14 + place / 2 for place in range(15)]  # 16 KiB to 2 MiB
    costs_ms = [result.wire_ms + result.overhead_ms * result.copy_bytes / 2**power for power in powers]
    across, up = Scale(powers[0], powers[-1], 1, 215), Scale(log2(costs_ms[-1]), log2(costs_ms[0]), 58, 6)
    level, x = up(log2(result.recompute_ms)), across(log2(result.crossing_bytes))
    points = [(across(power), up(log2(cost))) for power, cost in zip(powers, costs_ms, strict=True)]
    shapes = (line(1, level, 215, level, "stepped"), polyline(points, "stepped"),
              *wall_beside(x, 2, 62, left=True), dot(x, level, "present"))
    return Drawing(216, 64, result.finding, shapes)


def in_figures(value: float) -> str:
    """A figure to three digits, thousands apart: "0.58", "22.4", "38,070"."""
    return say(value, "")
