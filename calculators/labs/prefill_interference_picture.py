"""The pictures of the prefill-interference lab: one clock for the gap, the tokens, the chunks and who waits."""
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

from calculators.labs.base import Shown
from calculators.models.base import left_out
from calculators.models.prefill_interference import Interference, Rival
from calculators.pictures import (
    NARROW,
    WIDE,
    Bar,
    Drawing,
    Path,
    Scale,
    Shape,
    Text,
    corner,
    line,
    polyline,
    wall_beside,
)

FLATTEST = 0.3  # of a decade: what the gap's scale spans at least
MOST_DRAWN = 300  # chunks; more are drawn in groups at their longest gap
THINNEST_TICK = 3  # units between two tokens; nearer ones are a solid bar
NUMBERED = 18  # width from which a chunk carries its number
LANE = 112  # width of the lanes' names
TOP = 15  # above it a round gap would run into the heading
ROWS = 24  # of the table of chunks
ROUND = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a picture's parts lie: the clock from left to right, the gap's scale (of log10 ms), the lanes' heights."""

    narrow: bool
    unit_s: float
    clock: Scale
    gap: Scale
    decode: float
    long: float
    waits: float
    foot: float

    def y(self, gap_ms: float) -> float:
        return self.gap(log10(gap_ms))


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over; `missed` names the derivation line that the reader's number leaves out."""

    wide: Drawing
    narrow: Drawing
    wide_unit: str
    narrow_unit: str
    knobs_wide: Drawing
    knobs_narrow: Drawing
    missed: str
    chunk_rows: tuple[tuple[int, float, float], ...]
    every: int
    waiting: bool
    held_gib: float
    held_percent: float


def picture(shown: Shown) -> Picture:
    """Both drawings of both pictures; what the reader said is a longest gap in ms."""
    result, said, prefill = shown.result, shown.said, shown.result.prefill
    frames = [frame_of(result, said, narrow) for narrow in (False, True)]
    wide, narrow = (course(result, frame, said, shown.inputs) for frame in frames)
    every = ceil(prefill.chunks / ROWS)
    shown = [*range(0, prefill.chunks, every)]
    if shown[-1] != prefill.chunks - 1:
        shown.append(prefill.chunks - 1)
    return Picture(
        wide=wide, narrow=narrow, wide_unit=seconds(frames[0].unit_s), narrow_unit=seconds(frames[1].unit_s),
        knobs_wide=knobs(result, 480), knobs_narrow=knobs(result, NARROW),
        missed=left_out(result.lines, said) if said else "",
        chunk_rows=tuple((k + 1, prefill.ends_s[k], prefill.gaps_ms[k]) for k in shown), every=every,
        waiting=bool(result.backlog.waits), held_gib=result.after.kv_held_bytes / 2**30,
        held_percent=100 * result.after.pool_share,
    )


def frame_of(result: Interference, said: float | None, narrow: bool) -> Frame:
    """The scales: a clock of round columns from just before the arrival until the decode shows, a log scale of gaps."""
    busy_s, ends_s = result.after.from_s, result.after.ends_s
    until = min(ends_s * 1.1, busy_s * (1.2 if narrow else 2.4))
    most = 6 if narrow else 22
    unit = next(n * 10.0**power for power in range(-4, 5) for n in ROUND if until / (n * 10.0**power) <= most)
    columns = ceil(until / unit - 1e-9)
    clock = Scale(-unit / 2, columns * unit, 2, NARROW - 4) if narrow else Scale(-unit, columns * unit, LANE, WIDE - 14)
    gaps = [result.base_gap_ms, result.peak_gap_ms, *result.backlog.gaps_ms, result.after.settled_gap_ms]
    gaps += [result.after.last_gap_ms] * (result.after.tokens > 0)
    if said and min(gaps) / 100 <= said <= max(gaps) * 100:
        gaps.append(said)
    low, high = log10(min(gaps)), log10(max(gaps))
    gap = Scale(low, max(high, low + FLATTEST), 172 if narrow else 206, 30)
    decode = 212 if narrow else 254
    return Frame(narrow, unit, clock, gap, decode, decode + (38 if narrow else 30), decode + (82 if narrow else 62),
                 decode + (82 if narrow else 62) + 11 * max(len(result.backlog.waits), 3) + 12)


def course(result: Interference, frame: Frame, said: float | None, inputs: Mapping[str, Any]) -> Drawing:
    """The whole course on one clock."""
    shapes = (
        *paper(frame), *gap_line(result, frame), *gap_figures(frame), *guess(result, frame, said),
        *gap_words(result, frame, inputs["prompt_tokens"]), *decode_lane(result, frame, inputs["decoders"]),
        *long_lane(result, frame, inputs["output_tokens"]), *wait_lane(result, frame),
    )
    return Drawing(NARROW if frame.narrow else WIDE, frame.foot + 24, result.finding, shapes)


def paper(frame: Frame) -> Iterator[Shape]:
    """Columns of the clock with round figures under them, and the decades of the gap."""
    clock, narrow = frame.clock, frame.narrow
    columns = round(clock.high / frame.unit_s)
    labelled = range(0, columns + 1, 1 if narrow or columns <= 8 else 5)
    for column in range(columns + 1):
        x = clock(column * frame.unit_s)
        yield line(x, 10, x, frame.foot, "grid")
        if column in labelled:
            unit = " s" if column == max(labelled) else ""
            anchor = "end" if column == columns and narrow else "middle"
            yield Text(x, frame.foot + 18, f"{column * frame.unit_s:g}{unit}", "axis", anchor)
    x1, x2 = clock(clock.low), clock(clock.high)
    for gap_ms in round_gaps(frame):
        y = frame.y(gap_ms)
        yield line(x1, y, x2, y, "grid")
    yield Text(0, 10, "the gap" if narrow else "gap between two tokens", "axis")


def gap_figures(frame: Frame) -> Iterator[Shape]:
    """The round gaps beside their lines; on a phone below them at the right, clear of the steps."""
    for gap_ms in round_gaps(frame):
        x, below = (frame.clock(frame.clock.high), 14) if frame.narrow else (frame.clock(frame.clock.low) - 10, 4)
        yield Text(x, frame.y(gap_ms) + below, span(gap_ms), "axis halo", "end")


def round_gaps(frame: Frame) -> list[float]:
    """Decades within the scale, with their 2 and 5 when it spans less than one and a half."""
    low, high = frame.gap.low - 0.02, frame.gap.high + 0.08
    between = ROUND if high - low < 1.5 else (1,)
    marks = (n * 10.0**power for power in range(floor(low), ceil(high) + 1) for n in between)
    return [mark for mark in marks if low <= log10(mark) <= high and frame.y(mark) >= TOP]


def phases(result: Interference) -> list[tuple[float, float, float]]:
    """Steps of the line, (from s, to s, gap ms); chunks beyond MOST_DRAWN in groups at their longest."""
    prefill, at_s, steps = result.prefill, 0.0, []
    group = ceil(prefill.chunks / MOST_DRAWN)
    for first in range(0, prefill.chunks, group):
        gaps = prefill.gaps_ms[first:first + group]
        steps.append((at_s, at_s + sum(gaps) / 1e3, max(gaps)))
        at_s += sum(gaps) / 1e3
    group = ceil(len(result.backlog.gaps_ms) / MOST_DRAWN) or 1
    for first in range(0, len(result.backlog.gaps_ms), group):
        gaps = result.backlog.gaps_ms[first:first + group]
        steps.append((at_s, at_s + sum(gaps) / 1e3, max(gaps)))
        at_s += sum(gaps) / 1e3
    return steps


def gap_line(result: Interference, frame: Frame) -> Iterator[Shape]:
    """The gap as steps; while the long request decodes it climbs with the contexts."""
    clock, after = frame.clock, result.after
    end = clock.high
    points = [(clock(clock.low), frame.y(result.base_gap_ms)), (clock(0), frame.y(result.base_gap_ms))]
    for start_s, stop_s, gap_ms in phases(result):
        points += [(clock(start_s), frame.y(gap_ms)), (clock(stop_s), frame.y(gap_ms))]
    if after.tokens:
        stop_s = min(after.ends_s, end)
        share = (stop_s - after.from_s) / (after.ends_s - after.from_s)
        reached = after.first_gap_ms + share * (after.last_gap_ms - after.first_gap_ms)
        points += [(clock(after.from_s), frame.y(after.first_gap_ms)), (clock(stop_s), frame.y(reached))]
    if after.ends_s < end:
        points += [(clock(after.ends_s), frame.y(after.settled_gap_ms)), (clock(end), frame.y(after.settled_gap_ms))]
    yield polyline(points, "stepped")


def gap_words(result: Interference, frame: Frame, prompt: int) -> Iterator[Shape]:
    """The figures that stand on the line: before, first, longest, backlog, after, and once it is over."""
    clock, prefill, backlog, after = frame.clock, result.prefill, result.backlog, result.after
    base_y = frame.y(result.base_gap_ms)
    yield Text(clock(clock.low) + 2, base_y + 16, figure(result.base_gap_ms, not frame.narrow), "value halo")
    peak_at = clock((prefill.ends_s[prefill.peak_chunk - 1] + ([0.0, *prefill.ends_s])[prefill.peak_chunk - 1]) / 2)
    yield Text(max(peak_at, clock(0) + 34), frame.y(result.peak_gap_ms) - 9, span(result.peak_gap_ms), "end halo",
               "middle")
    if result.peak_over_first > 1.3 and peak_at - clock(0) > 90:
        first_y = frame.y(prefill.first_gap_ms)
        yield Text(clock(0) - 6, first_y - 5, figure(prefill.first_gap_ms, False), "value halo", "end")
    x = clock(prefill.takes_s)
    calm_y = frame.y(after.first_gap_ms) - 8
    if backlog.gaps_ms:
        x = clock(after.from_s)
    if backlog.gaps_ms and calm_y - frame.y(backlog.gaps_ms[0]) > 20:
        words = figure(backlog.gaps_ms[0], False) if frame.narrow else f"{span(backlog.gaps_ms[0])}: the backlog"
        yield Text(x + 6, frame.y(backlog.gaps_ms[0]) + 5, words, "value halo")
    if after.tokens and after.gap_ms > 1.05 * result.base_gap_ms:
        more = "" if frame.narrow else f": {prompt:,} more tokens of KV in every step"
        yield Text(x + 6, calm_y, f"{figure(after.first_gap_ms, not frame.narrow)}{more}", "value halo")
    if after.ends_s < clock.high - 2 * frame.unit_s and not frame.narrow:
        settled = frame.y(after.settled_gap_ms)
        yield Text(clock(clock.high), settled + 16, span(after.settled_gap_ms), "value halo", "end")


def guess(result: Interference, frame: Frame, said: float | None) -> Iterator[Shape]:
    """The reader's longest gap as a pen line over the prefill."""
    if not said or said < 0 or not frame.gap.low - 1e-9 <= log10(said) <= frame.gap.high + 1e-9:
        return
    y, x1, x2 = frame.y(said), frame.clock(frame.clock.low), frame.clock(result.prefill.takes_s)
    yield line(x1, y, x2, y, "pen")
    yield Text(max((x1 + x2) / 2, x1 + 46), y + 17, f"your {span(said)}", "pen-text halo", "middle")


def decode_lane(result: Interference, frame: Frame, decoders: int) -> Iterator[Shape]:
    """A tick for every token the decoders get; where they come too close to be told apart, a solid bar."""
    clock, y, after = frame.clock, frame.decode, result.after
    if not decoders:
        yield from lane_name(frame, y, "", "nobody decodes beside it")
        yield Text(clock(0) + 6, y + 14, "" if frame.narrow else "nobody decodes beside it", "label")
        return
    who = "1 decodes" if decoders == 1 else f"{decoders:,} decode"
    yield from lane_name(frame, y, who, f"{who}: a token at each mark")
    dense = (clock(1) - clock(0)) / 1e3  # units a millisecond
    yield Bar(clock(clock.low), y, clock(0) - clock(clock.low), 20, "solid")
    for start_s, stop_s, gap_ms in phases(result):
        if gap_ms * dense < THINNEST_TICK:
            yield Bar(clock(start_s), y, round(clock(stop_s) - clock(start_s), 2), 20, "solid")
        else:
            yield Bar(clock(stop_s) - 1, y, 2, 20, "solid")
    x = clock(after.from_s)
    width = clock(clock.high) - x
    words = f"a token every {span(after.first_gap_ms)}" if width > 170 and after.tokens else ""
    yield Bar(x, y, round(width, 2), 20, "solid", words, "on-ink", left=12)


def long_lane(result: Interference, frame: Frame, tokens: int) -> Iterator[Shape]:
    """The long request: a bar a chunk, then its decode, ended by a folded corner when it ends in view."""
    clock, y, prefill, after = frame.clock, frame.long, result.prefill, result.after
    chunks = f"{prefill.chunks:,} chunk{'s' * (prefill.chunks > 1)}"
    yield from lane_name(frame, y, "the long one", f"the long one: {chunks}, then decode")
    start = clock(0)
    if (clock(prefill.takes_s) - start) / prefill.chunks < THINNEST_TICK:
        width = clock(prefill.takes_s) - start
        yield Bar(start, y, round(width, 2), 20, "s-running", chunks if width > 90 else "", "on-running")
    else:
        for number, end_s in enumerate(prefill.ends_s, 1):
            width = clock(end_s) - start
            text = str(number) if width >= NUMBERED else ""
            yield Bar(start, y, round(max(width - 1, 1), 2), 20, "s-running", text, "on-running")
            start = clock(end_s)
    x, end = clock(prefill.takes_s), clock(min(after.ends_s, clock.high))
    if end - x < 2:
        return
    share = f"{after.pool_share:.0%}" if after.pool_share >= 0.01 else "under 1%"
    held = f"decodes its {tokens:,} tokens, {share} of the KV pool held"
    words = held if end - x > 350 else f"decodes {tokens:,} tokens" if end - x > 170 else ""
    yield Bar(x, y, round(end - x, 2), 20, "s-decoding", words, "on-wash", left=12)
    if after.ends_s < clock.high:
        yield corner(end, y)


def wait_lane(result: Interference, frame: Frame) -> Iterator[Shape]:
    """Some of the arrivals, each hollow from its coming to its first token, and the wall before which none is."""
    clock, y, backlog = frame.clock, frame.waits, result.backlog
    one = "each one" if backlog.one_in == 1 else f"one in {backlog.one_in:,}"
    yield from lane_name(frame, y, "arrivals", f"arrivals, {one}, until the first token")
    if not backlog.waits:
        yield Text(clock(0) + 6, y + 14, "nobody arrives meanwhile", "label")
    elif not frame.narrow:
        yield Text(clock(clock.low) - 12, y + 30, one, "label", "end")
    for row, wait in enumerate(backlog.waits):
        x1, x2 = clock(wait.at_s), clock(min(wait.first_token_s, clock.high))
        yield Bar(x1, y + 11 * row, round(max(x2 - x1, 2), 2), 7, "s-waiting")
        if row in (0, len(backlog.waits) - 1) and x2 < clock(clock.high) - (44 if frame.narrow else 90):
            words = f"{'waits ' * (not frame.narrow and row == 0)}{seconds(wait.ttft_s)}"
            yield Text(x2 + 8, y + 8 + 11 * row, words, "value")
    if result.lockout_s:
        x = clock(result.lockout_s)
        yield from wall_beside(x, y - 6, frame.foot - 6, left=True)
        words = f"locked out for {seconds(result.lockout_s)}"
        if x - clock(0) > 150:
            yield Text(clock(0) + 16, frame.foot - 10, words, "limit-text")
        else:
            yield Text(x + 8, frame.foot - 10, words, "limit-text")


def lane_name(frame: Frame, y: float, name: str, sentence: str) -> Iterator[Shape]:
    """A lane's name: left of it, or on a phone a line above it."""
    if frame.narrow:
        yield Text(frame.clock(frame.clock.low), y - 5, sentence, "label")
    else:
        yield Text(frame.clock(frame.clock.low) - 12, y + 15, name, "name", "end")


def knobs(result: Interference, width: float) -> Drawing:
    """Two knobs, two damages: the longest gap and the lockout of each rival setting, as bars on one baseline each."""
    names, first, second = (132, 144, 322) if width > NARROW else (104, 110, 236)
    room = (width - second) - 66 if width > NARROW else width - second - 52
    longest_gap = max(rival.peak_gap_ms for rival in result.rivals)
    longest_lockout = max(rival.takes_s for rival in result.rivals)
    shapes: list[Shape] = [
        Text(0, 12, "budget", "axis"), Text(first, 12, "longest gap, ms", "axis"),
        Text(second, 12, "arrivals locked out, s" if width > NARROW else "locked out, s", "axis"),
    ]
    for row, rival in enumerate(result.rivals):
        y, css = 26 + 26 * row, "present" if rival.present else "other"
        weight = "strong" if rival.present else "value"
        shapes.append(Text(names, y + 13, rival_name(rival), weight, "end"))
        gap = Bar(first, y, round(max(rival.peak_gap_ms / longest_gap * room, 1), 2), 16, css)
        lock = Bar(second, y, round(max(rival.lockout_s / longest_lockout * room, 1), 2), 16, css)
        shapes += [gap, Text(gap.x + gap.w + 8, y + 13, f"{rival.peak_gap_ms:,.0f}", weight)]
        if rival.lockout_s:
            shapes += [lock, Text(lock.x + lock.w + 8, y + 13, f"{rival.lockout_s:,.3g}", weight)]
        else:
            shapes += [Bar(second, y + 2, 4, 12, "edge"), Text(second + 12, y + 13, "none", weight)]
    foot = 26 + 26 * len(result.rivals)
    shapes += [line(x, 22, x, foot, "edge") for x in (first, second)]
    title = "The longest gap and the lockout under other budgets and a threshold"
    return Drawing(width, foot + 4, title, tuple(shapes))


def rival_name(rival: Rival) -> str:
    """"4,096", or "threshold 2,048"."""
    return f"threshold {rival.threshold:,}" if rival.threshold else f"{rival.budget:,}"


def thumbnail(result: Interference) -> Drawing:
    """The stepped gap over the decoders' tokens, without axis or words."""
    end_s = result.after.from_s * 1.25
    clock = Scale(-end_s * 0.12, end_s, 1, 215)
    gap = Scale(log10(result.base_gap_ms), log10(result.peak_gap_ms), 40, 3)
    points = [(1.0, 40.0), (clock(0), 40.0)]
    for start_s, stop_s, gap_ms in phases(result):
        points += [(clock(start_s), gap(log10(gap_ms))), (clock(stop_s), gap(log10(gap_ms)))]
    calm = gap(log10(result.after.gap_ms))
    points += [(points[-1][0], calm), (215.0, calm)]
    ticks = [Bar(clock(stop_s) - 0.75, 50, 1.5, 12, "solid") for _, stop_s, _ in phases(result)]
    x = clock(result.after.from_s)
    solid = [Bar(1, 50, clock(0) - 1, 12, "solid"), Bar(x, 50, round(215 - x, 2), 12, "solid")]
    shapes: tuple[Bar | Path, ...] = (polyline(points, "stepped"), *ticks, *solid)
    return Drawing(216, 64, result.finding, shapes)


def figure(gap_ms: float, unit: bool) -> str:
    """A gap to three figures in ms: "10.0", "984", "1,210"."""
    text = f"{gap_ms:,.0f}" if gap_ms >= 99.5 else f"{gap_ms:.1f}"
    return f"{text} ms" if unit else text


def span(gap_ms: float) -> str:
    """A gap in ms below a second and in s from there: "10.0 ms", "984 ms", "1.21 s"; round ones bare, "10 ms"."""
    value, unit = (gap_ms, "ms") if gap_ms < 999.5 else (gap_ms / 1e3, "s")
    if value == round(value):
        return f"{value:,.0f} {unit}"
    return f"{value:,.0f} {unit}" if value >= 99.5 else f"{value:.1f} {unit}" if unit == "ms" else f"{value:.2f} {unit}"


def seconds(value_s: float) -> str:
    """"8.61 s", "12.4 s", "250 ms"."""
    if value_s < 0.9995:
        return span(value_s * 1e3)
    if value_s == round(value_s):
        return f"{value_s:,.0f} s"
    return f"{value_s:.2f} s" if value_s < 10 else f"{value_s:,.1f} s"
