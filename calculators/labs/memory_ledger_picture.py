"""The picture of the memory ledger: one bar to scale on a GiB each, walls at the limits, small terms drawn larger."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from calculators.beside import Words, beside
from calculators.labs.base import Shown
from calculators.models.memory_ledger import ESTIMATED, EXACT, GIVEN, MEASURED, NEVER, RESULT, Ledger, Term
from calculators.pictures import NARROW, WALL, WIDE, Bar, Drawing, Scale, Shape, Text, line, wall_beside
from calculators.ruled import columns, figures, past_words, round_unit, width_of

LOOKS = {MEASURED: ("solid", ""), ESTIMATED: ("guessed", "estimated"), RESULT: ("result", ""), NEVER: ("never", "")}
TOP, HIGH = 64, 52  # of the bar to scale
LARGER, LARGE = 184, 54  # of the small terms, drawn larger
LEAST = 3  # GiB: a term below it is small
NEAR = 0.03  # of the KV without a term: as near as a guess must come to have left it out


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table beside its swatch."""

    term: Term
    css: str
    pattern: str
    missed: bool

    @property
    def total(self) -> bool:
        return self.term.known == RESULT


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over: both drawings, the table's rows, and what a square of each drawing is."""

    wide: Drawing
    narrow: Drawing
    rows: tuple[Row, ...]
    wide_unit: str
    narrow_unit: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the bar from one place to another, in GiB."""

    start: float
    end: float
    term: Term

    @property
    def gib(self) -> float:
        return self.end - self.start

    @property
    def label(self) -> str:
        return f"{self.term.label} {self.term.gib:,.2f}"


def picture(shown: Shown) -> Picture:
    """Both drawings and the rows; what the reader said is the KV in GiB."""
    result, said = shown.result, shown.said
    missed = left_out(result, said)
    rows = tuple(Row(term, *LOOKS.get(term.known, ("", "")), missed=term.label == missed) for term in result.terms)
    units = [round_unit(furthest(result), most) for most in (100, 10)]
    return Picture(upright_or_flat(result, said, units[0], narrow=False),
                   upright_or_flat(result, said, units[1], narrow=True), rows,
                   *(f"One square is {figures(unit)} GiB." for unit in units))


def left_out(result: Ledger, said: float | None) -> str:
    """The label of the term whose size the reader's number is too high by; "" without one."""
    if said is None:
        return ""
    terms = [term for term in result.terms if term.known in (MEASURED, ESTIMATED) and term.gib > 0]
    without = [(abs(said / (result.kv_gib + term.gib) - 1), term.label) for term in terms if result.kv_gib > 0]
    distance, label = min(without, default=(1.0, ""))
    return label if distance <= NEAR and distance < abs(said / result.kv_gib - 1) / 2 else ""


def pieces(result: Ledger) -> list[Piece]:
    """What the budget is taken up by, in order, up to what is never charged."""
    made, place = [], 0.0
    for term in result.terms:
        if term.known in (GIVEN, EXACT) or term.label.startswith("of it"):
            continue
        if term.known == NEVER:
            place = min(result.budget_gib, result.total_gib)
        gib = max(term.gib, 0.0)
        made.append(Piece(place, place + gib, term))
        place += gib
    return made


def furthest(result: Ledger) -> float:
    """The end of the scale in GiB: the GPU, or what the terms would take."""
    return max(result.total_gib, *(piece.end for piece in pieces(result))) * 1.01


def upright_or_flat(result: Ledger, said: float | None, unit: float, narrow: bool) -> Drawing:
    return upright(result, said, unit) if narrow else flat(result, said, unit)


def small_ones(result: Ledger) -> list[Piece]:
    """The run of small terms between weights and KV, which the wide picture draws larger."""
    return [piece for piece in pieces(result)
            if piece.term.known in (MEASURED, ESTIMATED) and piece.term.label not in ("weights", "consumed")]


def flat(result: Ledger, said: float | None, unit: float) -> Drawing:
    """The bar from left to right, and its small terms again below it."""
    scale = Scale(0, furthest(result), 0, WIDE - 8)
    shapes: list[Shape] = [line(0, TOP - 14, scale.end, TOP - 14, "grid"), *columns_above(scale, unit)]
    for piece in pieces(result):
        if piece.gib > 0:
            shapes += bar_of(piece, scale)
    wall = scale(result.budget_gib)
    shapes += wall_beside(wall, 22, TOP + HIGH + 12)
    words = budget_words(result)
    left = wall > width_of(words) + 8
    shapes.append(Text(wall + (-8 if left else 14), 24, words, "limit-text", "end" if left else "start"))
    if result.total_gib < scale.high / 1.011:
        end = scale(result.total_gib)
        shapes += [line(end, TOP - 4, end, TOP + HIGH + 12, "s-limit"),
                   Text(end + 8, 40, f"the GPU ends, {result.total_gib:,.2f}", "limit-text",
                        "start" if end < WIDE - 170 else "end")]
    shapes += guess(result, scale, said)
    foot = LARGER + LARGE + 30
    shapes += enlarged(result, scale)
    return Drawing(WIDE, foot, result.finding, tuple(shapes))


def columns_above(scale: Scale, unit: float) -> Iterator[Shape]:
    """A line each square, its figures over the bar."""
    for shape in columns(scale, unit, TOP - 14, TOP + HIGH + 14, every=10):
        yield Text(shape.x, TOP - 20, shape.text, shape.css, shape.anchor) if isinstance(shape, Text) else shape


def bar_of(piece: Piece, scale: Scale) -> Iterator[Shape]:
    """A piece of the bar with its words where they fit."""
    css, pattern = LOOKS[piece.term.known]
    x, width = scale(piece.start), scale(piece.end) - scale(piece.start)
    yield Bar(x, TOP, round(width, 2), HIGH, css, pattern=pattern)
    if piece.term.known == MEASURED and width > width_of(piece.term.label) + 16:
        yield Text(x + 10, TOP + 22, piece.term.label, "on-ink")
        yield Text(x + 10, TOP + 41, f"{piece.term.gib:,.2f}", "on-ink")
    elif piece.term.known == NEVER and width > 44:
        yield Text(round(x + width - 6, 2), TOP + 31, f"{piece.term.gib:,.2f}", "label halo", "end")


def kv_words(result: Ledger) -> tuple[str, str]:
    """"KV pool, what is left" and its size."""
    size = f"{result.kv_gib:,.2f} GiB"
    if result.kv_blocks:
        size += f" = {result.kv_blocks:,} blocks = {result.kv_tokens:,} tokens"
    return "KV pool, what is left", size


def budget_words(result: Ledger) -> str:
    share = next(term for term in result.terms if term.known == EXACT)
    return f"budget, {share.expression} = {result.budget_gib:,.2f}"


def guess(result: Ledger, scale: Scale, said: float | None) -> Iterator[Shape]:
    """The words of the KV pool, and where the reader's number would have ended it."""
    pool = next(piece for piece in pieces(result) if piece.term.known == RESULT)
    x, width = scale(pool.start), scale(pool.end) - scale(pool.start)
    lead, size = kv_words(result)
    named: list[Text] = []
    if pool.gib > 0 and width > width_of(size) + 24:
        named = [Text(x + 12, TOP + 22, lead, "strong"), Text(x + 12, TOP + 41, size, "value")]
    elif pool.gib > 0 or result.kv_gib <= 0:
        near = x + width
        anchor = "end" if near > WIDE / 2 else "start"
        words = f"KV pool: {size}" if pool.gib > 0 else f"no KV: {result.kv_gib:,.2f} GiB"
        named = [Text(near if anchor == "end" else x, TOP + HIGH + 30, words, "strong halo", anchor)]
    yield from named
    if said is not None and said > 0:
        end = pool.start + said
        place = scale(min(end, scale.high))
        beyond = " and further" if end > scale.high else ", past the budget" if end > result.budget_gib * 1.001 else ""
        words = f"your {said:,.4g} would end here{beyond}"
        yield past_words(place, TOP - 6, TOP + HIGH + 16, named)
        left = place - width_of(words) > 0
        below = TOP + HIGH + (46 if named and named[-1].y > TOP + HIGH else 30)
        yield Text(place if left else place + 4, below, words, "pen-text halo", "end" if left else "start")


def enlarged(result: Ledger, scale: Scale) -> Iterator[Shape]:
    """The small terms from one line, so many times larger, with leaders to their place."""
    small = small_ones(result)
    start, end = min((piece.start for piece in small), default=0), max((piece.end for piece in small), default=0)
    if end - start <= 0:
        return
    whole = scale(end) - scale(start)
    times = next((n for n in (40, 20, 10, 5, 2) if whole * n <= 660), 0)
    if not times:
        return
    yield line(scale(start), TOP + HIGH + 2, 1, LARGER - 3, "leader")
    yield line(scale(end), TOP + HIGH + 2, round(whole * times, 2), LARGER - 3, "leader")
    below: list[tuple[float, str]] = []
    for piece in small:
        css, pattern = LOOKS[piece.term.known]
        x = round((scale(piece.start) - scale(start)) * times, 2)
        width = round((scale(piece.end) - scale(piece.start)) * times - 2, 2)
        if width < 1:
            continue
        yield Bar(x, LARGER, width, LARGE, css, pattern=pattern)
        if width > width_of(piece.term.label) + 20:
            if pattern:
                yield Bar(x + 8, LARGER + 8, width_of(piece.term.label) + 8, LARGE - 16, "plate")
            look = "value" if pattern else "on-ink"
            yield Text(x + 12, LARGER + 23, piece.term.label, look)
            yield Text(x + 12, LARGER + 42, f"{piece.term.gib:,.2f}", look)
        else:
            below.append((x + width / 2, piece.label))
    yield from spaced(below, LARGER + LARGE + 18)
    x = round(whole * times + 20, 2)
    yield Text(x, LARGER + 16, f"{end - start:,.2f} GiB, drawn {times} times larger", "value")
    yield Text(x, LARGER + 37, f"With the {result.slack_gib:,.2f} beyond the budget they are what", "note")
    yield Text(x, LARGER + 55, "is missing between weights and KV.", "note")


def spaced(named: Sequence[tuple[float, str]], y: float) -> Iterator[Text]:
    """Words in the middle under their places, moved right where they would touch."""
    free = 0.0
    for place, words in named:
        half = width_of(words) / 2
        middle = max(place, free + half)
        yield Text(round(middle, 2), y, words, "label", "middle")
        free = middle + half + 12


def upright(result: Ledger, said: float | None, unit: float) -> Drawing:
    """The bar from top to bottom for a phone, each part named at its right."""
    left, width, top, foot = 60, 110, 12, 470
    scale = Scale(0, furthest(result), top, foot)
    shapes: list[Shape] = []
    for number in range(int(scale.high / unit + 1e-9) + 1):
        y = scale(number * unit)
        shapes += [line(left - 6, y, left, y, "edge"), Text(left - 10, y + 4, figures(number * unit), "axis", "end")]
    small, named = small_ones(result), []
    for piece in pieces(result):
        if piece.gib <= 0:
            continue
        css, pattern = LOOKS[piece.term.known]
        y, high = scale(piece.start), scale(piece.end) - scale(piece.start)
        shapes.append(Bar(left, y, width, round(high, 2), css, pattern=pattern))
        if piece in small and piece.gib < LEAST:
            continue
        name = "head-room and baseline" if piece.term.known == NEVER else piece.term.label
        named.append(Words(y + high / 2, (name, f"{piece.gib:,.2f} GiB"), "value"))
    few = [piece for piece in small if 0 < piece.gib < LEAST]
    if few:
        middle = (scale(few[0].start) + scale(few[-1].end)) / 2
        total = sum(piece.gib for piece in few)
        named.append(Words(middle, (f"{len(few)} small ones, {total:,.2f}",), "label"))
    wall = scale(result.budget_gib)
    shapes += upside_down(left - 6, left + width + 6, wall)
    named.append(Words(wall, (f"budget {result.budget_gib:,.2f}",), "limit-text"))
    if result.kv_gib <= 0:
        named.append(Words(wall + 20, (f"no KV: {result.kv_gib:,.2f} GiB",), "strong"))
    if said is not None and said > 0:
        pool = next(piece for piece in pieces(result) if piece.term.known == RESULT)
        y = scale(min(pool.start + said, scale.high))
        shapes.append(line(left - 6, y, left + width + 8, y, "pen"))
        named.append(Words(y, (f"your {said:,.4g}",), "pen-text"))
    shapes += beside(left + width + 14, named, top - 6, foot + 22)
    return Drawing(NARROW, foot + 26, result.finding, tuple(shapes))


def upside_down(x1: float, x2: float, y: float) -> Iterator[Shape]:
    """A limit at height y that forbids what lies below it."""
    yield Bar(x1, y, x2 - x1, WALL, "wall", pattern="wall")
    yield line(x1, y, x2, y, "s-limit")


def thumbnail(result: Ledger) -> Drawing:
    """The bar alone, with its wall."""
    scale = Scale(0, furthest(result), 1, 207)
    shapes: list[Shape] = []
    for piece in pieces(result):
        css, pattern = LOOKS[piece.term.known]
        if piece.gib > 0:
            width = round(scale(piece.end) - scale(piece.start), 2)
            shapes.append(Bar(scale(piece.start), 16, width, 32, css, pattern=pattern))
    shapes += wall_beside(scale(result.budget_gib), 8, 56)
    return Drawing(216, 64, result.finding, tuple(shapes))
