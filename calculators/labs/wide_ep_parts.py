"""What the wide-ep lab's pictures share: ranks as lanes through one step and the next, and bars with their values."""
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from calculators.models.quantity import say
from calculators.models.wide_ep import GroupStep
from calculators.pictures import NARROW, Bar, Drawing, Scale, Shape, Text, line
from calculators.ruled import columns, past_words, round_unit, width_of

MOST_LANES = 8
LANE, BAR_HEIGHT, TOP = 28, 24, 36


@dataclass(frozen=True, slots=True)
class ValueBar:
    """One bar: its name at the left, its value after it, a note at the right edge."""

    name: str
    value: float
    words: str
    note: str = ""
    present: bool = False


def lanes_of(ranks: int, special: int) -> list[int]:
    """The ranks that are drawn, of many the first and the one that differs."""
    if ranks <= MOST_LANES:
        return list(range(ranks))
    first = list(range(MOST_LANES - 1))
    return first if special in first else [*first[:-1], special]


def column_ms(base: GroupStep, loaded: GroupStep, narrow: bool) -> float:
    """What one column of the paper behind two steps is worth."""
    return round_unit(base.step_ms + loaded.step_ms, 10 if narrow else 70)


def two_steps(base: GroupStep, loaded: GroupStep, special: int, on_bar: str, on_wait: str, title: str,
              width: float, said_ms: float | None = None) -> Drawing:
    """A usual step of all ranks and the one after it, in which one rank takes longer.

    What the reader said of the second one is a pen line where it would have ended.
    """
    narrow, ranks = width == NARROW, len(base.compute_ms)
    drawn = lanes_of(ranks, special)
    left, right = (34, NARROW - 48) if narrow else (84, width - 84)
    total = base.step_ms + loaded.step_ms
    scale = Scale(0, total, left, right)
    foot = TOP + LANE * len(drawn)
    unit = column_ms(base, loaded, narrow)
    every = 2 if narrow else 10
    shapes: list[Shape] = [*columns(scale, unit, TOP - 4, foot, every=every)]
    for place, rank in enumerate(drawn):
        y, weight = TOP + place * LANE, "strong" if rank == special else "label"
        shapes.append(Text(0, y + 17, f"r{rank}" if narrow else f"rank {rank}", weight))
        shapes += lane(base, rank, 0, y, scale)
        shapes += lane(loaded, rank, base.step_ms, y, scale)
        busy = "strong" if rank == special else "axis"
        shapes.append(Text(width, y + 17, f"{loaded.busy[rank]:.1%}", busy, "end"))
    shapes += [line(scale(ms), TOP - 10, scale(ms), foot + 3, "ink") for ms in (base.step_ms, total)]
    shapes += step_words(base, loaded, scale, narrow)
    shapes.append(Text(width, 16, "busy", "axis", "end"))
    shapes += bar_words(base, loaded, special, drawn, on_bar, on_wait, scale)
    if said_ms and 0 < said_ms <= loaded.step_ms:
        x = scale(base.step_ms + said_ms)
        shapes += [Text(x - 5, TOP + 19, "you", "pen-text halo", "end"), past_words(x, TOP - 8, foot, shapes)]
    if ranks > len(drawn):
        like = 0 if special else 1
        shapes.append(Text(0, foot + 36, f"and {ranks - len(drawn)} more ranks like rank {like}", "note"))
    return Drawing(width, foot + (44 if ranks > len(drawn) else 24), title, tuple(shapes))


def lane(step: GroupStep, rank: int, starts_ms: float, y: float, scale: Scale) -> Iterator[Shape]:
    """One rank's compute, its wait for the slowest, and the all-to-all."""
    ends_ms, longest = starts_ms + step.step_ms, max(step.compute_ms)
    start, computed, sent = (scale(starts_ms + ms) for ms in (0, step.compute_ms[rank], longest))
    yield Bar(start, y + 2, round(computed - start, 2), BAR_HEIGHT, "s-running")
    if sent - computed > 1:
        yield Bar(computed, y + 2, round(sent - computed, 2), BAR_HEIGHT, "s-gap", pattern="idle")
    yield Bar(sent, y + 2, round(scale(ends_ms) - sent, 2), BAR_HEIGHT, "s-wire", pattern="wire")


def step_words(base: GroupStep, loaded: GroupStep, scale: Scale, narrow: bool) -> Iterator[Shape]:
    """How long either step takes, over it."""
    middle = scale(base.step_ms)
    yield Text(max(middle - 6, scale.start), 16, say(base.step_ms, "ms"), "label",
               "end" if middle - 6 > scale.start + 52 else "start")
    times = loaded.step_ms / base.step_ms
    words = say(loaded.step_ms, "ms", 4) + ("" if narrow else f", {times:.3g} times as long")
    room = max((middle + scale.end) / 2, middle + width_of(words) / 2 + (64 if middle - 6 <= scale.start + 52 else 0))
    yield Text(round(min(room, scale.end - width_of(words) / 2), 2), 16, words, "strong", "middle")


def bar_words(base: GroupStep, loaded: GroupStep, special: int, drawn: list[int], on_bar: str, on_wait: str,
              scale: Scale) -> Iterator[Shape]:
    """Words on the long bar, and in the wait of another rank, where they fit."""
    start, end = scale(base.step_ms), scale(base.step_ms + loaded.compute_ms[special])
    y = TOP + drawn.index(special) * LANE + 19
    if width_of(on_bar) + 24 < end - start:
        yield Text(start + 14, y, on_bar, "on-running")
    other = next(rank for rank in reversed(drawn) if rank != special)
    waits = scale(base.step_ms + loaded.compute_ms[other])
    if width_of(on_wait) + 16 < end - waits:
        yield Text(round((waits + end) / 2, 2), TOP + drawn.index(other) * LANE + 19, on_wait, "strong halo", "middle")


def value_bars(rows: Iterable[ValueBar], title: str, head: str, width: float, names: float = 72) -> Drawing:
    """Bars from one line, each with its value; `head` stands over the notes at the right."""
    rows = list(rows)
    values = max(width_of(row.words) for row in rows) + 16
    notes = max((width_of(row.note) for row in rows), default=0) + 8
    left, right = names + 12, width - values - notes
    scale = Scale(0, max(*(row.value for row in rows), 1e-9), left, right)
    foot = 24 + 26 * len(rows)
    shapes: list[Shape] = [Text(width, 12, head, "axis", "end"), line(left, 18, left, foot, "edge")]
    for place, row in enumerate(rows):
        y, weight = 24 + 26 * place, "strong" if row.present else "label"
        long = round(max(scale(row.value) - left, 1), 2)
        shapes += [
            Text(names, y + 13, row.name, weight, "end"), Bar(left, y, long, 16, "present" if row.present else "other"),
            Text(round(left + long + 8, 2), y + 13, row.words, "strong" if row.present else "value"),
        ]
        if row.note:
            shapes.append(Text(width, y + 13, row.note, "strong" if row.present else "axis", "end"))
    return Drawing(width, foot + 4, title, tuple(shapes))
