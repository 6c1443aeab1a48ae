"""The pictures of the epp lab: filters and scores as bars, the lead over one weight, and each weight as a ruler."""
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from calculators.beside import Words, beside
from calculators.labs.base import Gist, Shown
from calculators.log_paper import dot
from calculators.models.epp import HEAVIEST, SCORERS, Picked, Ruler, Scored, two
from calculators.pictures import MEASURE, NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line, wall_beside
from calculators.ruled import columns, past_words, round_unit, rows, width_of

PAIR = 480  # width of a drawing beside another
PARTS = ("present", "solid", "other")


@dataclass(frozen=True, slots=True)
class Sheet:
    """Where the bars of scores lie: with columns of figures at the left, or with these over each bar."""

    width: float
    left: float
    right: float
    row: float
    bar: float
    figures_over: bool
    top: float = 30


WIDE_SHEET = Sheet(WIDE, 348, 1_000, 46, 30, False)
MEASURE_SHEET = Sheet(MEASURE, 8, 640, 56, 24, True)
NARROW_SHEET = Sheet(NARROW, 8, NARROW - 48, 56, 24, True)


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over: drawings, each wide and narrow."""

    scores: Drawing
    scores_narrow: Drawing
    lead: Drawing | None
    lead_narrow: Drawing | None
    rulers: Drawing | None
    rulers_narrow: Drawing | None
    unit: str
    unit_narrow: str


def picture(shown: Shown) -> Picture:
    """All drawings; what the reader said is a score."""
    result, left = shown.result, bool(shown.result.winners)
    span = widest(result, shown.said)
    return Picture(
        scores=scores(result, shown.said, WIDE_SHEET), scores_narrow=scores(result, shown.said, NARROW_SHEET),
        lead=lead(result, PAIR) if left else None, lead_narrow=lead(result, NARROW) if left else None,
        rulers=rulers(result.rulers, result.winner, PAIR) if left else None,
        rulers_narrow=rulers(result.rulers, result.winner, NARROW) if left else None,
        unit=f"{unit_of(span, WIDE_SHEET):g}", unit_narrow=f"{unit_of(span, NARROW_SHEET):g}",
    )


def gist(shown: Shown) -> Gist:
    """The bars of scores, in the measure and for a phone."""
    return Gist(*(scores(shown.result, shown.said, sheet) for sheet in (MEASURE_SHEET, NARROW_SHEET)))


def widest(result: Picked, said: float | None) -> float:
    """The end of the scale of scores: the highest, a reader's number of its size included, and never nothing."""
    highest = max((pod.score for pod in result.pods), default=0)
    return max(highest, said if said and 0 < said <= 2 * highest else 0, 0.5)


def unit_of(span: float, sheet: Sheet) -> float:
    """What one column of the paper behind the bars is worth."""
    return round_unit(span, 12 if sheet.figures_over else 45)


def scores(result: Picked, said: float | None, sheet: Sheet) -> Drawing:
    """A row for each pod: its figures, the wall of a filter before what it would have had, and its score in parts."""
    span = widest(result, said)
    unit = unit_of(span, sheet)
    scale = Scale(0, span, sheet.left, sheet.right - (0 if sheet.figures_over else 130))
    foot = sheet.top + sheet.row * len(result.pods)
    named = 1 if unit >= 1 else round(1 / unit) if span > 1 else ceil(round_unit(span, 5) / unit)
    shapes: list[Shape] = [*columns(scale, unit, sheet.top - 4, foot, every=named)]
    shapes.append(line(sheet.left, sheet.top - 4, sheet.left, foot, "edge"))
    if not sheet.figures_over:
        shapes += [Text(10, 16, "pod", "axis"), Text(200, 16, "prefix", "axis", "end"),
                   Text(258, 16, "queue", "axis", "end"), Text(324, 16, "KV used", "axis", "end")]
    for place, pod in enumerate(result.pods):
        shapes += row(pod, pod.name in result.winners, sheet.top + place * sheet.row, scale, sheet, len(result.winners))
    if said and 0 < said <= span:
        x = scale(said)
        shapes.append(past_words(x, sheet.top - 8, foot, shapes))
        shapes.append(Text(x, 16, f"you {said:.4g}", "pen-text", "middle" if x > 40 else "start"))
    return Drawing(sheet.width, foot + 24, result.finding, tuple(shapes))


def row(pod: Scored, wins: bool, y: float, scale: Scale, sheet: Sheet, winners: int) -> Iterator[Shape]:
    """One pod."""
    weight = "name" if wins else "label" if pod.reason else "strong"
    if wins:
        yield Bar(1, y + 1, sheet.width - 2, sheet.row - 2, "frame")
    if sheet.figures_over:
        bar_y = y + sheet.row - sheet.bar - 7
        yield Text(8, y + 18, pod.name, weight)
        figures = f"{pod.prefix:.2f}, {pod.queue:,}, {pod.kv_used:.2f}"
        words = f"prefix {pod.prefix:.2f}, queue {pod.queue:,}, KV {pod.kv_used:.2f}"
        fits = width_of(words) + width_of(pod.name) < sheet.width - 24
        yield Text(sheet.width - 8, y + 18, words if fits else figures, "axis", "end")
    else:
        bar_y = y + (sheet.row - sheet.bar) / 2
        baseline = y + sheet.row / 2 + 5
        yield Text(10, baseline, pod.name, weight)
        for x, figure in ((200, f"{pod.prefix:.2f}"), (258, f"{pod.queue:,}"), (324, f"{pod.kv_used:.2f}")):
            yield Text(x, baseline, figure, "label" if pod.reason else "value", "end")
    if pod.reason:
        yield from forgone(pod, bar_y, scale, sheet)
    else:
        yield from earned(pod, wins, bar_y, scale, sheet)
    if wins and not sheet.figures_over:
        words = "takes the request" if winners == 1 else "tied, at random"
        yield Text(sheet.width - 12, y + sheet.row / 2 + 5, words, "strong", "end")


def parts(pod: Scored, scale: Scale) -> Iterator[tuple[str, float, float, float]]:
    """Each part with its scorer: from where to where it lies, and what it is worth."""
    start = 0.0
    for scorer, part in zip(SCORERS, pod.parts, strict=False):
        yield scorer, scale(start), scale(start + part), part
        start += part


def earned(pod: Scored, wins: bool, y: float, scale: Scale, sheet: Sheet) -> Iterator[Shape]:
    """The parts of a score, filled, each named where there is room."""
    for look, (scorer, start, end, part) in zip(PARTS, parts(pod, scale), strict=False):
        wide = max(end - start - 2, 0)
        fitting = [words for words in (f"{scorer} {two(part)}", two(part)) if width_of(words) < wide]
        yield Bar(round(start, 2), y, round(wide, 2), sheet.bar, look if wins else "other",
                  fitting[0] if fitting else "", "on-ink")
    yield Text(round(scale(pod.score) + 9, 2), y + sheet.bar / 2 + 6, pod.says, "end" if wins else "value")


def forgone(pod: Scored, y: float, scale: Scale, sheet: Sheet) -> Iterator[Shape]:
    """The wall at zero with its reason, and the parts behind it, empty."""
    after = scale.start + 22 + width_of(pod.reason)
    for _, start, end, part in parts(pod, scale):
        named = two(part) if min((start + end) / 2 - after, end - start) > 28 else ""
        if end - start > 1:
            yield Bar(round(start, 2), y + 1, round(end - start, 2), sheet.bar - 2, "never", named, "label")
    hatch, edge = wall_beside(scale.start, y - 2, y + sheet.bar + 2)
    yield hatch
    yield edge
    yield Text(scale.start + 16, y + sheet.bar / 2 + 5, pod.reason, "limit-text halo")
    if pod.parts:
        yield Text(round(max(scale(pod.score) + 9, after), 2), y + sheet.bar / 2 + 5, pod.says, "label halo")


def lead(result: Picked, width: float) -> Drawing:
    """The survivors' scores as the prefix weight runs from 0 to 5, the leader heavy, its bend marked."""
    pods, ruler = result.survivors, result.rulers[0]
    right = width - 96
    top, foot = 28, 210
    across = Scale(0, HEAVIEST, 30, right)
    others = {pod.name: sum(pod.parts[1:]) for pod in pods}

    def score(pod: Scored, weight: float) -> float:
        return weight * pod.terms[0] + others[pod.name]

    most = max(score(pod, HEAVIEST) for pod in pods) or 1
    unit = round_unit(most, 5)
    up = Scale(0, unit * ceil(most / unit - 1e-9), foot, top)
    by_name = {pod.name: pod for pod in pods}
    shapes: list[Shape] = [*rows(up, unit, 30, right), *columns(across, 1, top, foot, every=1)]
    shapes += [line(across(0), up(score(pod, 0)), across(HEAVIEST), up(score(pod, HEAVIEST)), "edge") for pod in pods]
    for each in ruler.leads:
        leader = by_name[each.leader]
        shapes.append(line(across(each.start), up(score(leader, each.start)), across(each.end),
                           up(score(leader, each.end)), "stepped"))
    now = across(ruler.weight)
    at = up(score(by_name[result.winner], ruler.weight))
    shapes += [line(now, top - 6, now, foot, "pen"), dot(now, at, "present")]
    shapes.append(Text(now, top - 12, f"yours: {ruler.weight:g}", "pen-text", "middle" if now > 60 else "start"))
    if ruler.flip is not None:
        x, y = across(ruler.flip), up(score(by_name[result.winner], ruler.flip))
        anchor = "start" if x < 90 or x - 50 < now < x else "end" if x < now < x + 50 else "middle"
        shapes += [dot(x, y, "result"),
                   Text(x, min(y + 22, foot - 8), f"flips at {ruler.flip:.4g}", "strong halo", anchor)]
    shapes += beside(right + 8, [
        Words(up(score(pod, HEAVIEST)), (pod.name[:12],), "strong" if pod.name in result.winners else "label")
        for pod in pods
    ], top - 8, foot + 8)
    shapes.append(Text((30 + right) / 2, foot + 36, "weight of prefix, the others held", "axis", "middle"))
    title = f"Score of each pod over the prefix weight. {result.flip_words}"
    return Drawing(width, foot + 44, title, tuple(shapes))


def rulers(each: tuple[Ruler, ...], winner: str, width: float) -> Drawing:
    """Each weight alone from 0 to 5: ink where the present winner leads, a tick where the lead changes."""
    scale = Scale(0, HEAVIEST, 56, width - 12)
    shapes: list[Shape] = []
    for place, ruler in enumerate(each):
        y = 24 + place * 76
        shapes.append(Text(0, y + 16, ruler.scorer, "name"))
        for stretch in ruler.leads:
            start, end = scale(stretch.start), scale(stretch.end)
            fits = end - start > width_of(stretch.leader) + 8
            shapes.append(Bar(start, y, round(end - start, 2), 22, "present" if stretch.leader == winner else "other",
                              stretch.leader if fits else "", "on-ink"))
        flip = ruler.flip
        for number in range(int(HEAVIEST) + 1):
            if flip is None or abs(scale(number) - scale(flip)) > 28:
                shapes.append(Text(scale(number), y + 38, f"{number}", "axis", "middle"))
        if flip is not None:
            shapes += [line(scale(flip), y - 6, scale(flip), y + 26, "ink"),
                       Text(scale(flip), y + 40, f"{flip:.4g}", "strong", "middle")]
        x = scale(ruler.weight)
        shapes += [line(x, y - 6, x, y, "pen"), dot(x, y - 9, "pen-dot"),
                   Text(x + 9, y - 5, f"{ruler.weight:g}", "pen-text") if x < width - 40 else
                   Text(x - 9, y - 5, f"{ruler.weight:g}", "pen-text", "end")]
    title = "; ".join(f"{ruler.scorer} {'has no flip' if ruler.flip is None else f'flips at {ruler.flip:.4g}'}"
                      for ruler in each)
    return Drawing(width, 24 + len(each) * 76 - 20, f"Each weight alone, 0 to 5: {title}.", tuple(shapes))


def thumbnail(result: Picked) -> Drawing:
    """The bars without words: the winner's in ink, the filtered ones empty behind their wall."""
    scale = Scale(0, widest(result, None), 2, 214)
    shapes: list[Shape] = []
    for place, pod in enumerate(result.pods):
        y = 2 + place * 12.4
        width = round(scale(pod.score) - scale.start, 2)
        if pod.reason:
            shapes += [Bar(2, y + 0.5, width, 8, "never"), line(2, y - 1, 2, y + 10, "s-limit")]
        else:
            shapes.append(Bar(2, y, width, 9, "present" if pod.name in result.winners else "other"))
    return Drawing(216, 64, result.finding, tuple(shapes))
