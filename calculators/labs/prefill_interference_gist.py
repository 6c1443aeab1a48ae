"""How the longest gap comes about: a bar for each prefill step, its attention on top of the rest."""
from collections.abc import Iterator
from math import ceil

from calculators.beside import Words, beside
from calculators.labs.base import Gist, Shown
from calculators.models.base import Line
from calculators.models.prefill_interference import Interference
from calculators.models.quantity import say
from calculators.pictures import MEASURE, NARROW, Bar, Drawing, Scale, Shape, Text, line
from calculators.ruled import figures, round_unit

MOST_BARS = 64  # steps; more are drawn in groups, each by its longest
FURTHEST = 2  # times the longest gap: a number beyond is named and not drawn
CLEAR = 15  # between two figures on the axis, or over a bar and the pen line


def gist(shown: Shown) -> Gist:
    """Both drawings; what the reader said is a longest gap in ms."""
    return Gist(*(steps(shown.result, shown.said, width) for width in (MEASURE, NARROW)))


def steps(result: Interference, said: float | None, width: float) -> Drawing:
    """The bars, what the first and the longest come to, and the reader's number across them."""
    prefill, narrow = result.prefill, width == NARROW
    left, right, top, foot = (46, NARROW - 4, 34, 176) if narrow else (46, 540, 34, 222)
    drawn = said if said and 0 < said <= FURTHEST * result.peak_gap_ms else None
    most = max(result.peak_gap_ms, drawn or 0)
    unit = round_unit(most, 5)
    up = Scale(0, unit * ceil(most / unit - 1e-9), foot, top)
    shapes = [*axis(up, unit, left, right, drawn if narrow else None), *bars(result, up, left, right)]
    if drawn:
        shapes.append(line(left, up(drawn), right + (0 if narrow else 8), up(drawn), "pen"))
    shapes += [*bar_figures(result, up, drawn, left, right), *step_numbers(prefill.chunks, left, right, foot)]
    each = "" if prefill.chunks == 1 else f" (up to {prefill.full_chunk:,} prompt tokens each)"
    shapes.append(Text((left + right) / 2, foot + 35, f"prefill step{each}", "axis", "middle"))
    if narrow:
        shapes += narrow_words(up, said, drawn, left, foot)
    else:
        shapes += beside(right + 14, wide_words(result, up, said, drawn), 8, foot)
    title = (f"{result.gap_verdict} The first gap is {say(prefill.first_gap_ms, 'ms')}, the longest "
             f"{say(result.peak_gap_ms, 'ms')}, {result.prefill.peak_attention_share:.0%} of it attention.")
    return Drawing(width, foot + (62 if narrow else 42), title, tuple(shapes))


def axis(up: Scale, unit: float, left: float, right: float, clear_of: float | None) -> Iterator[Shape]:
    """A line at each unit with its figure, except where the reader's own stands."""
    yield Text(0, 12, "gap, ms", "axis")
    for number in range(round(up.high / unit) + 1):
        y = up(number * unit)
        yield line(left, y, right, y, "grid")
        if clear_of is None or abs(up(clear_of) - y) > CLEAR + 4:
            yield Text(left - 8, y + 4, figures(number * unit), "axis", "end")


def groups(chunks: int) -> list[range]:
    """The steps of each bar, counted from 0."""
    every = ceil(chunks / MOST_BARS)
    return [range(first, min(first + every, chunks)) for first in range(0, chunks, every)]


def bars(result: Interference, up: Scale, left: float, right: float) -> Iterator[Shape]:
    """For each step what is no attention below, and the long prompt's attention on it."""
    prefill, drawn = result.prefill, groups(result.prefill.chunks)
    pitch = (right - left) / len(drawn)
    thick = pitch - (3 if pitch > 10 else 1)
    for place, group in enumerate(drawn):
        longest = max(group, key=prefill.gaps_ms.__getitem__)
        gap, attention = prefill.gaps_ms[longest], prefill.attentions_ms[longest]
        x, y, middle = round(left + place * pitch + 1.5, 2), up(gap), up(gap - attention)
        yield Bar(x, middle, round(thick, 2), round(up.start - middle, 2), "pale")
        yield Bar(x, y, round(thick, 2), round(middle - y, 2), "solid")


def bar_figures(result: Interference, up: Scale, drawn: float | None, left: float, right: float) -> Iterator[Shape]:
    """The first gap over its bar when it is another than the longest, and the longest, both clear of the pen line."""
    prefill, count = result.prefill, len(groups(result.prefill.chunks))
    pitch = (right - left) / count
    every = ceil(prefill.chunks / MOST_BARS)
    peak_x = left + ((prefill.peak_chunk - 1) // every + 0.5) * pitch

    def over(gap_ms: float) -> float:
        y = up(gap_ms) - 6
        return up(drawn) - 6 if drawn and -2 < y - up(drawn) < CLEAR else y

    peak = say(result.peak_gap_ms, "")
    if result.peak_over_first > 1.1 and peak_x - left > 60:
        first = say(prefill.first_gap_ms, "")
        x = max(left + pitch / 2, left + 4 * len(first))
        yield Text(x, over(prefill.first_gap_ms), first, "value halo", "middle")
    yield Text(min(peak_x, right - 4.5 * len(peak)), over(result.peak_gap_ms), peak, "name halo", "middle")


def step_numbers(chunks: int, left: float, right: float, foot: float) -> Iterator[Shape]:
    """Numbers under the bars, as many as there is room for, the last one always."""
    pitch = (right - left) / chunks
    every = max(round_unit(26 / pitch, 1), 1)
    numbers = [number for number in range(1, chunks, round(every)) if (chunks - number) * pitch >= 26]
    for number in (*numbers, chunks):
        yield Text(round(left + (number - 0.5) * pitch, 2), foot + 17, f"{number:,}", "axis", "middle")


def rest_of(result: Interference) -> tuple[Line, ...]:
    """The derivation's lines that make up the longest gap besides the long prompt's attention."""
    first, _, *others = result.lines
    return (first, *others[:next(place for place, each in enumerate(others) if each.total)])


def wide_words(result: Interference, up: Scale, said: float | None, drawn: float | None) -> list[Words]:
    """What lies at the right of the bars: the parts of the longest, and the reader's number."""
    gap, attention = result.peak_gap_ms, result.prefill.peak_attention_ms
    words = [
        Words(up(gap - attention / 2), ("attention over what", "is already prefilled")),
        Words(up((gap - attention) / 2), tuple(f"{each.label}, {each.figure}" for each in rest_of(result))),
    ]
    if drawn:
        words.append(Words(up(drawn), (f"you: {say(drawn, 'ms', 4)}",), "pen-text"))
    elif said and said > 0:
        words.append(Words(0, (f"you: {say(said, 'ms', 4)},", "far above this"), "pen-text"))
    return words


def narrow_words(up: Scale, said: float | None, drawn: float | None, left: float, foot: float) -> Iterator[Shape]:
    """The reader's number at the axis, and a key of the two parts under all."""
    if drawn:
        y = up(drawn)
        yield Text(left - 8, y - 4, "you", "pen-text", "end")
        yield Text(left - 8, y + 10, say(drawn, "", 4), "pen-text", "end")
    elif said and said > 0:
        yield Text(NARROW, 12, f"you: {say(said, 'ms', 4)}, far above this", "pen-text", "end")
    yield Bar(left, foot + 47, 12, 10, "solid")
    yield Text(left + 18, foot + 56, "attention", "label")
    yield Bar(left + 100, foot + 47, 12, 10, "pale")
    yield Text(left + 118, foot + 56, "all else", "label")
