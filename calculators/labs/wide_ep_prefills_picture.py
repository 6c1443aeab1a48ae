"""The picture of aligned prefills: ranks by steps, a column as long as everybody's step, and a run at each interval."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.labs.base import Shown
from calculators.labs.wide_ep_parts import ValueBar, value_bars
from calculators.models.aligned_prefills import Run, Step, Summary
from calculators.models.quantity import say
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line
from calculators.ruled import width_of

PAIR = 480
ROW, TOP, GAUGE = 26, 30, 74
MOST_ROWS = 60  # of the table of steps, the last ones


@dataclass(frozen=True, slots=True)
class Picture:
    """The step at hand among those before it, and mean step and first token by interval, each wide and narrow."""

    map: Drawing
    map_narrow: Drawing
    means_wide: Drawing
    means_narrow: Drawing
    now: Step
    words: str
    rows: tuple[Step, ...]
    rows_left_out: int


def picture(shown: Shown) -> Picture:
    """What the fragment loops over."""
    run, at = shown.result, shown.step
    first = max(at + 1 - MOST_ROWS, 0)
    return Picture(step_map(run, at, WIDE, 17), step_map(run, at, NARROW, 5), means(run.intervals, PAIR),
                   means(run.intervals, NARROW), run.steps[at], words_of(run, at), run.steps[first: at + 1], first)


def words_of(run: Run, at: int) -> str:
    """What the shared counter says in this step, and what it costs everybody."""
    now = run.steps[at]
    prefilling = sum(tokens > 0 for tokens in now.prefill)
    interval = run.at_hand.interval
    if not now.release and prefilling:
        left_behind = f"{prefilling} rank{'s' * (prefilling > 1)} had left prompts behind"
        return (f"Counter {now.counter} is no multiple of {interval}, but {left_behind} and prefill"
                f"{'s' * (prefilling == 1)}: all take {say(now.step_ms, 'ms')}.")
    if not now.release:
        held = sum(now.waiting)
        kept = f"{held} prompt{'s' * (held != 1)} wait{'s' * (held == 1)}" if held else "nothing waits"
        return f"Counter {now.counter} is no multiple of {interval}: only decodes, {say(now.step_ms, 'ms')}; {kept}."
    if not prefilling:
        return f"Prefill may start and nothing waits: {say(now.step_ms, 'ms')}."
    who = f"{prefilling} rank{'s' * (prefilling > 1)} prefill{'s' * (prefilling == 1)}"
    return f"{who}, up to {max(now.prefill):,} tokens: all take {say(now.step_ms, 'ms')}."


def step_map(run: Run, at: int, width: float, columns: int) -> Drawing:
    """Each shown step a column, each rank a row; under it the step's length."""
    narrow = width == NARROW
    left = 34 if narrow else 84
    column = (width - left) / columns
    first = max(at + 1 - columns, 0)
    ranks = len(run.steps[0].prefill)
    foot = TOP + ROW * ranks
    longest = max(run.at_hand.max_ms, 1)
    up = Scale(0, longest, foot + 22 + GAUGE, foot + 22)
    shapes: list[Shape] = []
    for place in range(columns):
        x = left + place * column
        shapes += [line(x, TOP - 6, x, foot, "grid")]
    shapes += [line(left, foot, width, foot, "rule")]
    for rank in range(ranks):
        shapes.append(Text(0, TOP + rank * ROW + 17, f"r{rank}" if narrow else f"rank {rank}", "label"))
    shapes.append(Text(0, up.start - 4, "ms" if narrow else "step, ms", "axis"))
    for step in run.steps[first: at + 1]:
        shapes += column_of(step, round(left + (step.step - first) * column, 2), column, up)
    x = round(left + (at - first) * column, 2)
    shapes.append(Bar(x - 1, 2, round(min(column + 2, width - x), 2), up.start + 18, "frame"))
    if at + 1 - first < columns - 2:
        shapes.append(Text(x + column + 14, TOP + 10, "not shown yet", "note"))
    title = f"Step {at} of {len(run.steps) - 1}. {words_of(run, at)}"
    return Drawing(width, up.start + 24, title, tuple(shapes))


def column_of(step: Step, x: float, column: float, up: Scale) -> Iterator[Shape]:
    """One step: its number, each rank's cell, and how long it is."""
    middle = round(x + column / 2, 2)
    yield Text(middle, 20, f"{step.step:,}", "now" if step.release else "axis", "middle")
    for rank, tokens in enumerate(step.prefill):
        y, wide = TOP + rank * ROW, round(column - 3, 2)
        if tokens:
            named = [words for words in (f"{tokens:,}", f"{tokens / 1000:.0f}k") if width_of(words) < wide]
            yield Bar(x + 1.5, y, wide, 22, "s-running", named[0] if named else "", "on-running")
        elif step.waiting[rank]:
            yield Bar(x + 1.5, y + 4, wide, 14, "s-waiting", f"{step.waiting[rank]}", "axis")
        else:
            yield Bar(x + 1.5, y, wide, 22, "s-decoding")
    yield Bar(x + 3, up(step.step_ms), round(column - 6, 2), round(up.start - up(step.step_ms), 2),
              "present" if max(step.prefill) else "other")
    yield Text(middle, up.start + 14, f"{step.step_ms:.0f}", "axis", "middle")


def means(intervals: tuple[Summary, ...], width: float) -> Drawing:
    """Decode rate of a run at each interval, with its mean time to first token."""
    bars = [ValueBar(f"N = {each.interval}", each.tokens_per_s, f"{each.tokens_per_s:,.0f}/s",
                     f"{each.ttft_ms:,.0f} ms" if each.ttft_ms is not None else "no prompt", each.present)
            for each in intervals]
    return value_bars(bars, "Decode tokens a second and GPU by interval", "mean TTFT", width)
