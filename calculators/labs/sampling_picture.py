"""The picture of the sampling lab: probability as a strip of full width, one strip a stage, two orders side by side."""
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from calculators.labs.base import Shown
from calculators.models.sampling import Chain, Sampling, Stage, go, in_words
from calculators.pictures import NARROW, WALL, WIDE, Bar, Drawing, Shape, Text, line, polyline, wall_beside
from calculators.ruled import LETTER, width_of

STRIP, PITCH, TOP = 34, 100, 34
COLUMN = 500  # of two orders side by side
BAR_WORDS = 52  # what the figure of min-p’s bar takes beside it
NOT_YET = "not shown yet"


@dataclass(frozen=True, slots=True)
class Row:
    """An order as a row of the table: each token with its share in words, "gone" for one that can't be sampled."""

    name: str
    order: str
    named: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over."""

    wide: Drawing
    narrow: Drawing
    names: tuple[str, ...]
    stage_rows: tuple[Row, ...]
    order_rows: tuple[Row, ...]
    drawn: tuple[tuple[str, int], ...]
    sentences: tuple[tuple[str, str], ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where an order's strips lie: the left edge, the width of probability 1, the top."""

    x: float
    width: float
    top: float

    def across(self, share: float) -> float:
        return round(self.x + share * self.width, 2)

    def y(self, step: int) -> float:
        return self.top + TOP + PITCH * step


def picture(shown: Shown) -> Picture:
    """Both drawings of one step, its sentences, and the tables."""
    result, at = shown.result, shown.step
    complete, names = at == shown.last_step, tuple(result.left.shares)
    return Picture(
        wide=both(result, at, (Place(0, COLUMN, 0), Place(WIDE - COLUMN, COLUMN, 0)), WIDE),
        narrow=both(result, at, (Place(0, NARROW, 0), Place(0, NARROW, height_of(result) + 24)), NARROW),
        names=names, stage_rows=tuple(stage_rows(result, at)), drawn=tuple(result.drawn.items()),
        order_rows=tuple(Row(f"{chain.name}", " ".join(chain.order), in_cells(chain.stages[-1]))
                         for chain in chains(result)) if complete else (),
        sentences=tuple(sentences(result, at)), complete=complete,
    )


def chains(result: Sampling) -> list[Chain]:
    """The three known orders, and the reader's own where they are others."""
    own = {chain.order: chain for chain in (result.left, result.right)}
    return list({**{chain.order: chain for chain in result.known}, **own}.values())


def height_of(result: Sampling) -> float:
    """Height of one order's strips, with the words under the last."""
    return TOP + PITCH * (len(result.steps) - 1) + STRIP + 36


def both(result: Sampling, at: int, places: tuple[Place, Place], width: float) -> Drawing:
    """Both orders up to a step."""
    shapes: list[Shape] = []
    for chain, place in zip((result.left, result.right), places, strict=True):
        shapes += order(result, chain, at, place)
    title = result.finding if at == len(result.steps) - 1 else "; ".join(
        f"{chain.name}: after {chain.stages[at].title} {in_words(chain.stages[at].kept)}"
        for chain in (result.left, result.right))
    return Drawing(width, places[1].top + height_of(result), title, tuple(shapes))


def order(result: Sampling, chain: Chain, at: int, place: Place) -> Iterator[Shape]:
    """One order: its name, its strips up to the step, and what can be sampled under the last."""
    last = len(chain.stages) - 1
    yield Text(place.x, place.top + 14, chain.name, "name")
    yield Text(place.x + 9 * len(chain.name) + 14, place.top + 14, said_of(chain.order), "label")
    for tenth in range(11):
        yield line(place.across(tenth / 10), place.y(0), place.across(tenth / 10), place.y(last) + STRIP, "grid")
    for step in range(last + 1):
        if step > at:
            yield Bar(place.x, place.y(step), place.width, STRIP, "never", NOT_YET, "label")
            continue
        following = chain.stages[step + 1] if step < at else None
        if step:
            yield from stretch(result, chain.stages[step - 1], chain.stages[step], place, step)
            yield from words(chain.stages[step], place, step)
        yield from strip(result, chain.stages[step], following, place, step, "result" if step == last else "solid")
    if at == last:
        names, tail = ", ".join(chain.kept), "can be sampled"
        yield Text(place.x, place.y(last) + STRIP + 26, names, "end")
        if 11 * len(names) + width_of(tail) < place.width:
            yield Text(place.x + 11 * len(names) + 8, place.y(last) + STRIP + 26, tail, "label")


def said_of(order: str) -> str:
    """Where min-p stands, in words."""
    others = [letter for letter in order if letter != "T"]
    if order.endswith("T"):
        return "temperature last"
    if others.index("m") == 0:
        return "min-p before top-k and top-p"
    return "min-p last" if others.index("m") == 2 else "min-p between top-k and top-p"


def strip(result: Sampling, stage: Stage, following: Stage | None, place: Place, step: int,
          css: str) -> Iterator[Shape]:
    """Every token's share as a piece of the strip; what the following stage takes is hollow, its wall stands there."""
    y, wall = place.y(step), cut_at(result, stage, following, place)
    for name, x1, x2 in pieces(result, stage, place):
        goes = following is not None and name in following.gone
        look = "never" if goes else css
        text_css = "on-ink" if look == "solid" else "label" if goes else "value"
        yield Bar(x1, y, round(max(x2 - x1 - (1 if look == "solid" else 0), 0.5), 2), STRIP, look)
        left, right = clear_of(wall, x1, x2)
        said, middle = label(name, stage.shares[name], right - left), round((left + right) / 2, 2)
        yield Text(middle, y + 22, said, text_css, "middle")
    if following is not None and following.letter == "m" and following.bar:
        x = place.across(following.bar)
        yield polyline([(place.x, y - 4), (place.x, y - 9), (x, y - 9), (x, y - 4)], "s-limit thin")
        if x + BAR_WORDS < place.across(1):
            yield Text(x + 6, y - 5, f"{following.bar:.4f}", "limit-text")
        else:  # no room beside it
            yield Text(x, y - 12, f"{following.bar:.4f}", "limit-text halo", "end")
    if wall is not None:
        yield from wall_beside(wall, y - 5, y + STRIP + 5)


def cut_at(result: Sampling, stage: Stage, following: Stage | None, place: Place) -> float | None:
    """Where the next stage's wall stands: at the mass for top-p, else before the first token that goes; None without.
    """
    if following is None:
        return None
    if following.letter == "p" and following.bar is not None:
        return place.across(following.bar) if following.bar < 1 else None
    first = next((x1 for name, x1, _ in pieces(result, stage, place) if name in following.gone), None)
    return first if following.letter in "mk" else None


def clear_of(wall: float | None, x1: float, x2: float) -> tuple[float, float]:
    """The wider part of a piece that the wall's hatch leaves free."""
    if wall is None or wall + WALL <= x1 or wall >= x2:
        return x1, x2
    return max((x1, max(wall, x1)), (min(wall + WALL, x2), x2), key=lambda part: part[1] - part[0])


def pieces(result: Sampling, stage: Stage, place: Place) -> Iterator[tuple[str, float, float]]:
    """Each standing token with the ends of its piece, the largest first."""
    start = 0.0
    for name in result.drawn_order:
        if name in stage.kept:
            end = min(start + stage.shares[name], 1.0)
            yield name, place.across(start), place.across(end)
            start = end


def label(name: str, share: float, width: float) -> str:
    """The name and the share where they fit, else the name, else nothing."""
    full = f"{name} {share:.4f}"
    if LETTER * len(full) + 8 < width:
        return full
    return name if LETTER * len(name) + 5 < width else ""


def words(stage: Stage, place: Place, step: int) -> Iterator[Shape]:
    """What the stage did, between the strip before and its own; a plate keeps the lines off the words."""
    y = place.y(step - 1) + STRIP
    goes = f": {go(stage.gone)}" if stage.gone else "" if stage.letter in "Ta" else ": nothing goes"
    for below, said, css in ((20, stage.title + goes, "strong"), (37, stage.why, "note")):
        said = clipped(said, place.width)
        yield Bar(place.x, y + below - 13, round(min(0.92 * width_of(said), place.width), 2), 17, "plate")
        yield Text(place.x, y + below, said, css)


def clipped(text: str, width: float) -> str:
    """A text that fits the strip's width."""
    most = int(width / 6.6)
    return text if len(text) <= most else text[: most - 1] + "…"


def stretch(result: Sampling, before: Stage, stage: Stage, place: Place, step: int) -> Iterator[Shape]:
    """Thin lines from where each survivor ended to where it ends now."""
    old = {name: x2 for name, _, x2 in pieces(result, before, place)}
    new = {name: x2 for name, _, x2 in pieces(result, stage, place)}
    for name in stage.kept:
        yield line(old[name], place.y(step - 1) + STRIP + 2, new[name], place.y(step) - 12, "edge")


def sentences(result: Sampling, at: int) -> Iterator[tuple[str, str]]:
    """What the step did in each order: the order's name and a sentence."""
    for chain in (result.left, result.right) if result.left.order != result.right.order else (result.left,):
        stage = chain.stages[at]
        lost = f"{go(stage.gone)}; " if stage.gone else ""
        left = f"{in_words(stage.kept)} {'is' if len(stage.kept) == 1 else 'are'} left"
        yield chain.name, f"{stage.title}: {lost}{left} ({stage.why})."


def stage_rows(result: Sampling, at: int) -> Iterator[Row]:
    """The table of shares after each stage, up to the step."""
    for chain in (result.left, result.right) if result.left.order != result.right.order else (result.left,):
        for stage in chain.stages[: at + 1]:
            yield Row(chain.name, stage.title, in_cells(stage))


def in_cells(stage: Stage) -> tuple[tuple[str, str], ...]:
    """Each token with its share to four decimals, or "gone"."""
    return tuple((name, f"{share:.4f}" if name in stage.kept else "gone") for name, share in stage.shares.items())


def thumbnail(result: Sampling) -> Drawing:
    """The left order's strips without words."""
    place, shapes = Place(1, 214, 0), []
    chosen = (result.left.stages[0], result.left.stages[1], result.left.stages[-1])
    for row, stage in enumerate(chosen):
        y, css = 3 + 22 * row, "result" if row == 2 else "solid"
        shapes += [Bar(x1, y, round(max(x2 - x1 - 1, 0.5), 2), 14, css)
                   for _, x1, x2 in pieces(result, stage, place)]
    for row, (before, after) in enumerate(pairwise(chosen)):
        old = {name: x2 for name, _, x2 in pieces(result, before, place)}
        shapes += [line(old[name], 18 + 22 * row, x2, 24 + 22 * row, "edge")
                   for name, _, x2 in pieces(result, after, place)]
    return Drawing(216, 64, result.finding, tuple(shapes))
