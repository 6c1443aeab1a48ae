"""The pictures of a leak: memory against each counter in panels of one height, and suspects against the slope."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.labs.base import Gist, Shown
from calculators.log_paper import LogPaper, dot, log_paper
from calculators.models.leak_rate import RSS, SURE, WIDER, Fit, LeakRate, Suspect
from calculators.models.quantity import say
from calculators.pictures import MEASURE, NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line
from calculators.ruled import columns, figures, round_unit, rows, width_of

PANELS = 3
HIGH, TOP = 190, 46
NAMES = 220


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragments loop over: the panels and the suspects, each wide and narrow."""

    wide: Drawing
    narrow: Drawing
    suspects_wide: Drawing
    suspects_narrow: Drawing


def picture(shown: Shown) -> Picture:
    """All drawings; what the reader said is a slope in bytes, or of the suspects' view a name."""
    result = shown.result
    said = shown.said if isinstance(shown.said, float) else None
    named = shown.said if isinstance(shown.said, str) else ""
    return Picture(panels(result, said, False), panels(result, said, True), suspects(result, named, False),
                   suspects(result, named, True))


def gist(shown: Shown) -> Gist:
    """The samples against the best counter alone, with the reader's slope beside the fitted one."""
    result = shown.result
    return Gist(*(
        Drawing(width, TOP + HIGH + 26, result.finding,
                tuple(panel(result, result.present, 56, width - 12, TOP, shown.said, True)))
        for width in (MEASURE, NARROW)
    ))


def chosen(result: LeakRate) -> list[Fit]:
    """The fits that are drawn: the best first, then those that moved, in their columns' order."""
    others = [fit for fit in result.fits if fit.moved and fit.name != result.driver]
    return [result.present, *others][:PANELS]


def panels(result: LeakRate, said: float | None, narrow: bool) -> Drawing:
    """Points and their line for each counter, side by side, or on a phone one below the other."""
    width, fits = NARROW if narrow else WIDE, chosen(result)
    step = 0 if narrow else (WIDE - 56) / len(fits)
    pitch = TOP + HIGH + 42 if narrow else 0
    shapes: list[Shape] = []
    for number, fit in enumerate(fits):
        left = 56 + step * number
        right = width - 12 if narrow else left + step - 40
        shapes += panel(result, fit, left, right, TOP + pitch * number, said if number == 0 else None, number == 0)
    title = f"{result.finding} {result.driver_verdict}"
    return Drawing(width, TOP + HIGH + 40 + pitch * (len(fits) - 1), title, tuple(shapes))


def panel(result: LeakRate, fit: Fit, left: float, right: float, top: float, said: float | None,
          present: bool) -> Iterator[Shape]:
    """One counter: the samples as dots, the fit as a line, and what the reader's slope would have made of it."""
    place, memory = result.columns.index(fit.name), result.columns.index(RSS)
    xs, ys = [row[place] for row in result.points], [row[memory] / 1024 for row in result.points]
    low, high = min(ys), max(ys)
    spare = (high - low) * 0.08 or 0.5
    up = Scale(max(low - spare, 0), high + spare, top + HIGH, top)
    across = Scale(min(xs), max(max(xs), min(xs) + 1), left, right)
    yield from rows(up, round_unit(up.high - up.low, 6), left, right)
    yield from columns(across, round_unit(across.high - across.low, 6), top, top + HIGH, every=2, said=short, most=3)
    yield line(left, top, left, top + HIGH, "edge")
    name = fit.words
    yield Text(left, top - 28, name, "strong" if present else "value")
    yield Text(left, top - 11, f"R² {fit.r_squared:.4f}" if fit.moved else "it never moved", "label")
    yield Text(right, top - 11, "GiB resident", "axis", "end")
    start = fit.intercept_gib
    if fit.moved:
        yield from slope_line(start, fit.slope_bytes, across, up, "ink thin" if present else "edge")
    for x, y in zip(xs, ys, strict=True):
        yield dot(across(x), up(y), "present" if present else "other", 3)
    if said is not None and said > 0:
        yield from slope_line(start, said, across, up, "pen")
        yield Text(right, top + HIGH - 10, f"your {say(said, 'B')}", "pen-text halo", "end")


def slope_line(start_gib: float, slope_bytes: float, across: Scale, up: Scale, css: str) -> Iterator[Shape]:
    """A line of that slope from its value at zero, cut at the panel's edges."""
    each = slope_bytes / 2**30

    def height(x: float) -> float:
        return start_gib + each * x

    first, last = across.low, across.high
    if each > 0:
        first = min(max(first, (up.low - start_gib) / each), last)
        last = max(min(last, (up.high - start_gib) / each), first)
    if last > first and up.low - 1e-6 <= height(first) <= up.high + 1e-6:
        yield line(across(first), up(height(first)), across(last), up(min(max(height(last), up.low), up.high)), css)


def short(value: float) -> str:
    """"150k", "1.2M": a count on an axis."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.10g}{unit}"
    return figures(value)


def drawn(result: LeakRate) -> list[Suspect]:
    """The suspects that have a size."""
    return [suspect for suspect in result.suspects if suspect.high_bytes > 0]


def suspects(result: LeakRate, named: str, narrow: bool) -> Drawing:
    """Bytes an event of each suspect on paper of doublings, and the band that the slope leaves."""
    width, listed, row = NARROW if narrow else WIDE, drawn(result), 44 if narrow else 30
    left = 4 if narrow else NAMES
    slope = result.slope_bytes if result.slope_bytes > 1 else 1.0
    low = min(slope, *(suspect.low_bytes for suspect in listed)) / 1.5
    high = max(slope, *(suspect.high_bytes for suspect in listed)) * 1.5
    paper = log_paper((low, high), (1, 2), left, width - (14 if narrow else 120), 40, row * len(listed))
    foot = paper.up.start
    shapes: list[Shape] = [*(line(paper.across(p), 40, paper.across(p), foot, "grid")
                             for p in range(round(paper.across.low), round(paper.across.high) + 1)),
                           *paper.foot(8 if narrow else 4, in_bytes)]
    shapes += band(result, paper, slope, foot, width)
    for number, suspect in enumerate(listed):
        y = 40 + row * number
        shapes += suspect_row(suspect, paper, y, row, narrow, suspect.slug == named)
    left_over = "; ".join(f"{each.name}: {each.reason or 'left'}" for each in result.suspects)
    return Drawing(width, foot + 28, f"{result.suspects_verdict} {left_over}", tuple(shapes))


def band(result: LeakRate, paper: LogPaper, slope: float, foot: float, width: float) -> Iterator[Shape]:
    """The slope with its tolerance, named at the top."""
    apart = SURE * result.error_bytes
    low, high = max(slope - apart, slope / 4) * (1 - WIDER), (slope + apart) * (1 + WIDER)
    x1, x2 = (min(max(paper.x(value), paper.across.start), paper.across.end) for value in (low, high))
    yield Bar(round(x1, 2), 40, round(max(x2 - x1, 1), 2), foot - 40, "pale")
    yield line(paper.x(slope), 32, paper.x(slope), foot, "ink")
    words = f"the slope, {say(result.slope_bytes, 'B')}"
    half = width_of(words) / 2
    yield Text(round(min(max(paper.x(slope), half), width - half), 2), 24, words, "strong", "middle")


def suspect_row(suspect: Suspect, paper: LogPaper, y: float, row: float, narrow: bool,
                named: bool) -> Iterator[Shape]:
    """One suspect: its bytes from low to high, those that are left in ink."""
    x1 = paper.x(suspect.low_bytes or suspect.high_bytes / 2)
    wide = round(max(paper.x(suspect.high_bytes) - x1, 4), 2)
    css = "present" if suspect.survives else "other"
    look = "pen-text" if named else "strong" if suspect.survives else "value"
    if narrow:
        yield Text(paper.across.start, y + 14, suspect.name, f"{look} halo")
    else:
        yield Text(paper.across.start - 12, y + 20, suspect.name, look, "end")
    yield Bar(round(x1, 2), y + row - 20, wide, 12, css)


def in_bytes(value: float) -> str:
    """"16 B", "64 KiB", "4 MiB" on an axis."""
    for unit, size in (("MiB", 2**20), ("KiB", 2**10)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"


def thumbnail(result: LeakRate) -> Drawing:
    """The samples against the best counter, with their line."""
    place, memory = result.columns.index(result.driver), result.columns.index(RSS)
    xs, ys = [row[place] for row in result.points], [row[memory] for row in result.points]
    across, up = Scale(min(xs), max(xs), 4, 212), Scale(min(ys), max(ys), 60, 4)
    shapes = (line(across(xs[0]), up(ys[0]), across(xs[-1]), up(ys[-1]), "edge"),
              *(dot(across(x), up(y), "present", 2.5) for x, y in zip(xs, ys, strict=True)))
    return Drawing(216, 64, result.finding, shapes)
