"""Calls as rows: time runs down, a lane for each side of each engine, and on the flanks who holds the blocks."""
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from calculators.labs.base import Expected, Shown
from calculators.labs.kv_size_parts import Swatch, Table
from calculators.models.kv_calls import COMPUTING, FREE, GONE, HASHED, HELD, SCHEDULER, WORKERS, Holding, Step
from calculators.models.quantity import span
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Path, Shape, Text, line

WINDOW = 16  # rows while stepping; the last step shows all
ROW, TWO_LINES = 24, 38
HEAD = 42
LETTER = 7.3  # of the code type in a row
LOOKS = {  # shape's class, pattern, width as a share of the gauge, and what it stands for
    COMPUTING: ("s-running", "", 1.0, "computing, blocks held for it"),
    HELD: ("s-waiting", "", 0.55, "blocks held, nobody computes"),
    HASHED: ("s-cached", "cached", 1.0, "free, still hashed"),
    FREE: ("s-idle", "idle", 1.0, "free"),
    GONE: ("wall", "wall", 1.0, "gone"),
}


@dataclass(frozen=True, slots=True)
class Sheet:
    """Where lanes, gauges and words stand; `engines` are drawn as columns, the last one mirrored if there are two."""

    width: float
    lanes: dict[tuple[str, str], float]
    gauges: dict[str, float]
    heads: tuple[tuple[float, str, str], ...]
    words: float  # where a name begins on a phone; 0: right of its own lane
    right: float
    clock: bool


TWO_WIDE = Sheet(
    WIDE, {("P", SCHEDULER): 104, ("P", WORKERS): 346, ("D", WORKERS): 606, ("D", SCHEDULER): 806},
    {"P": 66, "D": 1056}, ((104, "P, prefill", "scheduler"), (346, "", "workers"), (606, "D, decode", "workers"),
                           (806, "", "scheduler")), 0, 1040, True,
)
TWO_NARROW = Sheet(
    NARROW, {("P", SCHEDULER): 72, ("P", WORKERS): 84, ("D", WORKERS): 100, ("D", SCHEDULER): 112},
    {"P": 52, "D": 334}, ((72, "P", "s"), (84, "", "w"), (100, "D", "w"), (112, "", "s")), 122, 328, True,
)
ONE_WIDE = Sheet(
    WIDE, {("engine", SCHEDULER): 80, ("engine", WORKERS): 500}, {"engine": 38},
    ((80, "scheduler’s half", "in EngineCore"), (500, "workers’ half", "in each worker")), 0, 960, False,
)
ONE_NARROW = Sheet(
    NARROW, {("engine", SCHEDULER): 30, ("engine", WORKERS): 46}, {"engine": 6}, ((30, "", "s"), (46, "", "w")), 58,
    340, False,
)


@dataclass(frozen=True, slots=True)
class CallPicture:
    """One call in words, the calls so far as rows, and the same as a table."""

    step: Step
    place: str
    holdings: tuple[tuple[str, str], ...]
    before: str
    also: str
    wide: Drawing
    narrow: Drawing
    legend: tuple[Swatch, ...]
    left_out: int
    table: Table


def calls(shown: Shown, wide: Sheet, narrow: Sheet, words: dict[str, str]) -> CallPicture:
    """The picture of one call; `words` name the lanes."""
    steps, at = shown.result.steps, shown.step
    step = steps[at]
    first = 0 if at == shown.last_step else max(at + 1 - WINDOW, 0)
    rows = steps[first: at + 1]
    seen = {holding.looks for row in rows for holding in row.held_by.values()}
    return CallPicture(
        step=step, place=place_of(step, words),
        holdings=tuple((engine, told(holding)) for engine, holding in step.held_by.items()),
        before=", ".join(step.before), also=", ".join(step.also),
        wide=drawing(rows, wide), narrow=drawing(rows, narrow), left_out=first,
        legend=tuple(Swatch(css, says, pattern) for looks, (css, pattern, _, says) in LOOKS.items() if looks in seen),
        table=Table("The calls so far", ("call", "by", "comes back", "after"), tuple(
            (f"{number}. {row.written}", place_of(row, words), row.returned, row.says)
            for number, row in enumerate(steps[: at + 1])
        )),
    )


def place_of(step: Step, words: dict[str, str]) -> str:
    """Whose call it is: "P’s scheduler", "the router"."""
    return words.get(step.engine, step.engine) + (f" {step.lane}" if step.lane in (SCHEDULER, WORKERS) else "")


def told(holding: Holding) -> str:
    """A request on one engine, in words."""
    if holding.looks == GONE:
        return "gone"
    if not holding.status:
        return "not here yet"
    blocks = "no block" if not holding.held else f"{holding.held:,} blocks"
    return f"{holding.status}, {holding.computed:,} computed, {blocks}"


def blocks_held(engines: Mapping[str, str], step: Step) -> tuple[Expected, ...]:
    """What Predict asks of each call: the blocks that the request holds on each engine, under the name given."""
    return tuple(Expected(name, step.held_by[engine].held, f"after “{step.name}”. {step.says}", unit="blocks")
                 for name, engine in engines.items())


def drawing(rows: tuple[Step, ...], sheet: Sheet) -> Drawing:
    """A row a call, the newest last and framed."""
    tops, y = [], float(HEAD)
    for row in rows:
        tops.append(y)
        y += TWO_LINES if row.returned and row.name != "forward" else ROW
    foot = y
    shapes: list[Shape] = [*heads(sheet), *lanes(sheet, foot), *gauges(rows, tops, foot, sheet)]
    clock = ""
    for row, top in zip(rows, tops, strict=True):
        if top > HEAD:
            shapes.append(line(sheet_left(sheet), top, sheet.right, top, "grid"))
        shapes += call(row, top, sheet)
        if sheet.clock and span(row.at_ms / 1e3) != clock:
            clock = span(row.at_ms / 1e3)
            shapes.append(Text(4, top + 16, clock, "axis" if sheet.words else "strong"))
    shapes.append(Bar(1, tops[-1], sheet.width - 2, foot - tops[-1], "frame"))
    holders = ", ".join(f"{engine} {told(holding)}" for engine, holding in rows[-1].held_by.items())
    return Drawing(sheet.width, foot + 4, f"After {rows[-1].name}: {holders}.", tuple(shapes))


def sheet_left(sheet: Sheet) -> float:
    return min(sheet.lanes.values()) - 8


def heads(sheet: Sheet) -> Iterator[Shape]:
    """Names over the lanes, and over the gauges what they count."""
    for x, engine, side in sheet.heads:
        anchor = "middle" if sheet.words else "start"
        yield Text(x, 14, engine, "strong", anchor)
        yield Text(x, 32, side, "axis", anchor)
    if sheet.words:
        yield Text(sheet.words, 32, "s scheduler, w workers", "axis")
    else:
        yield from (Text(x + 14, 32, "blocks", "axis", "end") for x in sheet.gauges.values())


def lanes(sheet: Sheet, foot: float) -> Iterator[Shape]:
    yield from (line(x, HEAD, x, foot, "edge") for x in sheet.lanes.values())


def gauges(rows: tuple[Step, ...], tops: list[float], foot: float, sheet: Sheet) -> Iterator[Shape]:
    """Who holds the blocks, from the first row shown to the last, one bar as long as it stays so."""
    for engine, x in sheet.gauges.items():
        looks = [row.held_by[engine].looks for row in rows]
        starts = [place for place in range(len(looks)) if not place or looks[place] != looks[place - 1]]
        for place, after in zip(starts, [*starts[1:], len(looks)], strict=True):
            css, pattern, share, _ = LOOKS[looks[place]]
            end = tops[after] if after < len(looks) else foot
            gauge = 10 if sheet.words else 14
            yield Bar(round(x + gauge * (1 - share) / 2, 2), tops[place], round(gauge * share, 2), end - tops[place],
                      css, pattern=pattern)


def call(row: Step, top: float, sheet: Sheet) -> Iterator[Shape]:
    """One row: a dot on its lane and its name, or what goes between the engines."""
    x = sheet.lanes.get((row.engine, row.lane))
    if x is None:
        yield from between(row, top, sheet)
        return
    words = sheet.words or x + 11
    yield dot(x, top + 12)
    if row.name == "forward":
        wide = (sheet.right - words) if sheet.words else 220 if ("P", WORKERS) in sheet.lanes else 300
        wide = min(wide, 186) if x == 606 else wide
        yield Bar(words, top + 3, wide, ROW - 6, "s-running", f"forward, {row.returned}", "on-running", left=8)
        return
    yield Text(words, top + 16, row.name, "call halo")
    if row.returned:
        yield Text(words, top + 31, f"→ {row.returned}", "axis halo")
    yield from handed(row, top, sheet, words)


def handed(row: Step, top: float, sheet: Sheet, words: float) -> Iterator[Shape]:
    """An arrow between the two halves: thin where a message goes down, bold where results come back."""
    down, back = row.name == "build_connector_meta", row.name == "get_transfer_results" and row.returned != "nothing"
    if not (down or back):
        return
    here = sheet.lanes[row.engine, row.lane]
    there = sheet.lanes[row.engine, WORKERS if down else SCHEDULER]
    css, y = ("arrow", top + 12) if down else ("ink-arrow", top + 12)
    if there > here:
        start = here + 6 if sheet.words else words + len(row.name) * LETTER + 4
        end = there - 5
    else:
        start, end = here - 6, there + 5
    if abs(end - start) > 2:
        yield arrowed(start, end, y, css)


def arrowed(x1: float, x2: float, y: float, css: str) -> Path:
    """A straight arrow to either side."""
    back = -3.5 if x2 > x1 else 3.5
    return Path(f"M{x1:g} {y:g}H{x2:g}m{back:g} -3l{-back:g} 3l{back:g} 3", css)


def between(row: Step, top: float, sheet: Sheet) -> Iterator[Shape]:
    """The network's, router's or client's row."""
    places = list(sheet.lanes.values())
    left, right = (places[1], places[2]) if len(places) == 4 else (places[0], places[-1])
    tall = TWO_LINES if row.returned else ROW
    if sheet.words:
        if row.engine == "network":
            yield Bar(left, top + 5, right - left, tall - 10, "result")
        else:
            yield line(places[0], top + 12, places[-1], top + 12, "never")
        yield Text(sheet.words, top + 16, row.name, "strong")
        if row.returned:
            yield Text(sheet.words, top + 31, row.returned, "axis")
        return
    if row.engine == "network":
        said = f"{row.name}, {row.returned}" if row.returned else row.name
        yield Bar(left, top + 5, right - left, tall - 10, "result", said, "strong")
        return
    yield line(places[0], top + 12, places[-1], top + 12, "never")
    yield Text((left + right) / 2, top + 16, f"{row.engine}: {row.name}", "value halo", "middle")


def dot(x: float, y: float) -> Path:
    """A filled dot."""
    return Path(f"M{x - 4:g} {y:g}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0", "dot")
