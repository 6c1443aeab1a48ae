"""The pictures of the batch-ceilings lab: step, throughput and a user's speed over the batch, and three walls."""
from collections.abc import Iterator
from dataclasses import dataclass
from math import log2

from calculators.labs.base import Shown
from calculators.log_paper import LogPaper, dot, log_paper
from calculators.models.batch_ceilings import LARGEST_BATCH, BatchCeilings, Point, point
from calculators.models.quantity import say
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line, polyline, wall_beside
from calculators.ruled import past_words

FINENESS = 8  # points of a line in each doubling of the batch
LABELS = 62  # height of the ceilings' names
ROOM = 66  # width of a figure beside a dot
NAMES = {"KV": "KV pool", "ridge": "ridge", "flag": "flag"}


@dataclass(frozen=True, slots=True)
class Panel:
    """One quantity over the batch: a figure of a Point, its name and unit, and whether it falls as the batch grows."""

    figure: str
    name: str
    falls: bool
    unit: str = ""


PANELS = (
    Panel("step_ms", "step time, ms", False, " ms"),
    Panel("tokens_per_s", "all together, tokens/s", False),
    Panel("user_tokens_per_s", "each user, tokens/s", True),
)


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over; `past` says whether more is admitted than the lowest ceiling."""

    wide: Drawing
    narrow: Drawing
    contexts_wide: Drawing
    contexts_narrow: Drawing
    past: bool
    capped: bool


def picture(shown: Shown) -> Picture:
    """Both drawings of both pictures; what the reader said is a batch."""
    result, said = shown.result, shown.said
    context = shown.inputs["context_tokens"]
    return Picture(
        wide=over_the_batch(result, context, said, narrow=False),
        narrow=over_the_batch(result, context, said, narrow=True),
        contexts_wide=by_context(result, 480), contexts_narrow=by_context(result, NARROW),
        past=result.reached > result.lowest, capped=result.reached < LARGEST_BATCH,
    )


def over_the_batch(result: BatchCeilings, context: int, said: float | None, narrow: bool) -> Drawing:
    """Three panels on one scale of batches, crossed by the walls."""
    left, right, row = (46, NARROW - 6, 15) if narrow else (72, WIDE - 14, 18)
    top, shapes, papers = LABELS + 26, [], []
    for panel in PANELS:
        values = [getattr(each, panel.figure) for each in result.sweep]
        paper = log_paper((1, LARGEST_BATCH), (min(values), max(values)), left, right, top, row)
        shapes += [*paper.grid(2, figure), Text(left, top - 8, panel.name, "label")]
        papers.append(paper)
        top = paper.up.start + 34
    last = papers[-1]
    shapes += last.foot(2, figure)
    if not narrow:
        shapes.append(Text(right, last.up.start + 18, "sequences", "axis", "end"))
    shapes += ceilings(result, last, narrow)
    for panel, paper in zip(PANELS, papers, strict=True):
        shapes += course(result, context, panel, paper, narrow)
    if said and last.holds(said):
        x = last.x(said)
        beside_names = max(x, left + 165)
        shapes.append(plate(beside_names, papers[1].up.start + 10, f"your {said:,.4g}", "pen-text", right))
        shapes.append(past_words(x, LABELS + 26, last.up.start, shapes))
    return Drawing(NARROW if narrow else WIDE, last.up.start + 24, result.finding, tuple(shapes))


def ceilings(result: BatchCeilings, paper: LogPaper, narrow: bool) -> Iterator[Shape]:
    """The three walls, each from its name down: the further left, the lower the name; one off the paper is an arrow."""
    walls = sorted(((result.kv_ceiling, "KV"), (result.ridge, "ridge"), (result.flag, "flag")), reverse=True)
    for row, (batch, name) in enumerate(walls):
        y, words = 14 + 20 * row, f"{NAMES[name]} {batch:,}"
        css = "end" if name == result.binds else "limit-text"
        if not paper.holds(batch):
            yield Text(paper.across.end, y, f"{words} →", css, "end")
            continue
        x = paper.x(batch)
        yield from wall_beside(x, y - 10, paper.up.start)
        if x - (76 if narrow else 96) > 0:
            yield Text(x - 8, y, words, css, "end")
        else:
            yield Text(x + 14, y, words, css)


def course(result: BatchCeilings, context: int, panel: Panel, paper: LogPaper, narrow: bool) -> Iterator[Shape]:
    """The line as far as the scheduler admits, dashed beyond, with a dot at the lowest ceiling and one at the end."""
    reached = min(result.reached, LARGEST_BATCH)
    batches = {*paper.columns(FINENESS), reached, result.ridge, result.lowest}
    points = [
        (batch, (paper.x(batch), paper.y(getattr(point(result.machine, batch, context), panel.figure))))
        for batch in sorted(batch for batch in batches if paper.holds(batch))
    ]
    yield polyline([place for batch, place in points if batch <= reached], "stepped")
    if reached < LARGEST_BATCH:
        yield polyline([place for batch, place in points if batch >= reached], "never")
    if paper.holds(result.full.batch) and result.full.batch > result.best.batch:
        yield from marked(result.full, panel, paper, "result", narrow)
    if paper.holds(result.best.batch):
        yield from marked(result.best, panel, paper, "present", narrow)


def marked(at: Point, panel: Panel, paper: LogPaper, css: str, narrow: bool) -> Iterator[Shape]:
    """A dot with its figure: of the lowest ceiling left of it, of what is admitted right of it, clear of the line."""
    value = getattr(at, panel.figure)
    x, y = paper.x(at.batch), paper.y(value)
    words = figure(value) + ("" if narrow else panel.unit)
    width = 7.5 * len(words) + 6
    if css == "present" and x - ROOM > paper.across.start:
        yield plate(x - 10 - width / 2, y + (6 if panel.falls else -20), words, "strong", paper.across.end)
    elif css == "present":
        yield plate(x + 14 + 4 * len(words), y - 8, words, "strong", paper.across.end)
    elif x + ROOM < paper.across.end:
        yield plate(x + 14 + width / 2, y + (-18 if panel.falls else 4), words, "value", paper.across.end)
    else:
        yield plate(x, y - 25, words, "value", paper.across.end)
    yield dot(x, y, css)


def plate(x: float, y: float, words: str, css: str, right: float) -> Bar:
    """Words on a paper-coloured ground near x, so that they can stand on a wall, kept left of the right edge."""
    width = 7.5 * len(words) + 6
    return Bar(round(min(x - width / 2, right - width), 2), y, width, 16, "plate", words, css)


def by_context(result: BatchCeilings, width: float) -> Drawing:
    """The lowest ceiling for sequences of several lengths, and hollow what is admitted past the ridge."""
    wide = width > NARROW
    names, first, words = (88, 100, width - 104) if wide else (58, 66, width - 96)
    wall = min(result.ridge, result.flag)
    scale = Scale(0, max(wall, *(row.reached for row in result.contexts)), first, words - 12)
    shapes: list[Shape] = [
        Text(names, 12, "tokens each", "axis", "end") if wide else Text(0, 12, "tokens", "axis"),
    ]
    x, foot = scale(wall), 24 + 26 * len(result.contexts)
    name = f"{'ridge' if wall == result.ridge else 'flag'} {wall:,}"
    shapes += [Text(max(x, first + 70), 12, name, "limit-text", "end"), *wall_beside(x, 18, foot)]
    for place, row in enumerate(result.contexts):
        y, weight = 24 + 26 * place, "strong" if row.present else "value"
        shapes.append(Text(names, y + 13, f"{row.context:,}", weight, "end"))
        if row.reached > row.lowest:
            shapes.append(Bar(first, y, scale(row.reached) - first, 16, "edge"))
        solid = round(max(scale(row.lowest) - first, 1), 2)
        shapes.append(Bar(first, y, solid, 16, "present" if row.present else "other"))
        shapes.append(Text(words, y + 13, f"{row.lowest:,} {NAMES[row.binds]}", weight))
    shapes.append(line(first, 20, first, foot, "edge"))
    return Drawing(width, foot + 4, "The lowest ceiling for sequences of several lengths", tuple(shapes))


def thumbnail(result: BatchCeilings) -> Drawing:
    """Throughput over the batch and the three walls, without axis or words."""
    low, high = log2(result.sweep[0].tokens_per_s), log2(result.sweep[-1].tokens_per_s)
    across, up = Scale(0, log2(LARGEST_BATCH), 1, 215), Scale(low, high, 60, 8)
    points = [(across(log2(each.batch)), up(log2(each.tokens_per_s))) for each in result.sweep]
    shapes: list[Shape] = [polyline(points, "stepped")]
    for batch in (result.kv_ceiling, result.ridge, result.flag):
        if batch < LARGEST_BATCH:
            shapes += wall_beside(across(log2(batch)), 2, 62)
    best = result.best
    shapes.append(dot(across(log2(best.batch)), up(log2(best.tokens_per_s)), "present"))
    return Drawing(216, 64, result.finding, tuple(shapes))


def figure(value: float) -> str:
    """A figure to three digits, thousands apart: "0.58", "22.4", "38,070"."""
    return say(value, "")
