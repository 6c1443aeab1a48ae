"""The pictures of the GPU count: a bar of replicas for each constraint, and why time asks for more than any alone."""
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from calculators.labs.base import Shown
from calculators.models.gpu_count import Constraint, GpuCount, Shared
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line, wall_beside
from calculators.ruled import bar_with_words, columns, past_words, room_for, round_unit, width_of

NAMES = 176  # where the bars begin in the wide picture
NEAR = 0.03  # of a count: as near as a guess has to be to stand in a constraint's row


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the bars lie: from x1 to x2, rows of `row` from `top` down, bars `high`; on a phone names stand above."""

    narrow: bool
    x1: float
    x2: float
    top: float
    row: float
    high: float

    @property
    def width(self) -> float:
        return NARROW if self.narrow else WIDE

    def y(self, number: int) -> float:
        return self.top + number * self.row


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over; `alone` is the most that any other constraint asks for.

    `missed` names the lines that the reader's number leaves out.
    """

    wide: Drawing
    narrow: Drawing
    wide_unit: str
    narrow_unit: str
    shares_wide: Drawing
    shares_narrow: Drawing
    wide_share: float
    narrow_share: float
    alone: int
    missed: tuple[str, ...]


def picture(shown: Shown) -> Picture:
    """Both drawings of both pictures; what the reader said is a number of GPUs."""
    result, said, each = shown.result, shown.said, shown.inputs["gpus_per_replica"]
    frames = Frame(False, NAMES, WIDE - 24, 38, 34, 26), Frame(True, 2, NARROW - 22, 56, 44, 20)
    units = [max(round_unit(reach(result), most), 1) for most in (36, 12)]
    wide, narrow = (asked(result, frame, unit, said, each) for frame, unit in zip(frames, units, strict=True))
    busy = Frame(False, 128, WIDE - 24, 30, 30, 20), Frame(True, 2, NARROW - 12, 44, 44, 18)
    parts = [round_unit(room(result, frame), most) for frame, most in zip(busy, (24, 12), strict=True)]
    shares = [shared(result, frame, part, shown.inputs["busy_share"]) for frame, part in zip(busy, parts, strict=True)]
    return Picture(
        wide=wide, narrow=narrow, wide_unit=counted(units[0]), narrow_unit=counted(units[1]), shares_wide=shares[0],
        shares_narrow=shares[1], wide_share=parts[0], narrow_share=parts[1],
        alone=max(ceil(constraint.asks) for constraint in result.constraints if not constraint.binds),
        missed=missed(result, said),
    )


def reach(result: GpuCount) -> float:
    """How far the scale of replicas goes."""
    return max(result.replicas_with_spare * 1.04, result.replicas + 1)


def missed(result: GpuCount, said: float | None) -> tuple[str, ...]:
    """The two shares' lines when time decides and the guess lies below what it asks for without spare."""
    below = said and said < 0.97 * result.gpus / result.replicas_with_spare * result.replicas
    if not below or result.binding != "time":
        return ()
    return tuple(line.label for line in result.lines if " share at " in line.label)


def counted(unit: float) -> str:
    return "one replica" if unit == 1 else f"{unit:,g} replicas"


def asked(result: GpuCount, frame: Frame, unit: float, said: float | None, each: int) -> Drawing:
    """A bar for each constraint, its wall on the left: too few is forbidden; the spare is stippled."""
    scale = Scale(0, reach(result), frame.x1, frame.x2)
    foot = frame.y(len(result.constraints)) + (0 if frame.narrow else -2)
    shapes: list[Shape] = [*columns(scale, unit, frame.top - 6, foot, every=2 if frame.narrow else 5)]
    shapes += spare(result, scale, frame, foot)
    for number, constraint in enumerate(result.constraints):
        shapes += constraint_row(constraint, scale, frame, frame.y(number))
    shapes += needed(result, scale, frame, foot)
    shapes += [*guess(result, scale, frame, said, each, shapes)]
    return Drawing(frame.width, foot + 26, result.finding, tuple(shapes))


def constraint_row(constraint: Constraint, scale: Scale, frame: Frame, y: float) -> Iterator[Shape]:
    """One constraint: its name, its bar with figure and words, its wall."""
    name = "prefill + decode time" if constraint.name == "time" else constraint.name
    figure = f"{constraint.asks:,.0f}" if constraint.asks == int(constraint.asks) else f"{constraint.asks:,.3g}"
    x = scale(constraint.asks)
    if frame.narrow:
        yield Text(frame.x1, y - 6, f"{name}: {figure}, {constraint.words}", "now" if constraint.binds else "label")
        yield Bar(frame.x1, y, max(round(x - frame.x1, 2), 1), frame.high, "present" if constraint.binds else "other")
    else:
        yield Text(frame.x1 - 14, y + 18, name, "strong" if constraint.binds else "value", "end")
        yield from bar_with_words(frame.x1, y, x - frame.x1, frame.high, "present" if constraint.binds else "solid",
                                  figure, constraint.words, frame.x2)
    yield from wall_beside(x, y - 3, y + frame.high + 3, left=True)


def spare(result: GpuCount, scale: Scale, frame: Frame, foot: float) -> Iterator[Shape]:
    """What is kept for a lost replica or a deploy."""
    x1, x2 = scale(result.replicas), scale(result.replicas_with_spare)
    if x2 - x1 >= 3:
        yield Bar(x1, frame.top - 6, round(x2 - x1, 2), foot - frame.top + 6, "s-idle", pattern="idle")


def needed(result: GpuCount, scale: Scale, frame: Frame, foot: float) -> Iterator[Shape]:
    """The ink line at the count that is needed, and the count with spare."""
    x, spared = scale(result.replicas), scale(result.replicas_with_spare)
    yield line(x, frame.top - 16, x, foot, "ink")
    y = frame.top - (36 if frame.narrow else 22)
    yield Text(x + (0 if frame.narrow else -8), y, f"{result.replicas:,} needed", "strong", "end")
    if result.replicas_with_spare > result.replicas:
        yield Text(max(spared, x + 30), y, f"{result.replicas_with_spare:,}", "strong", "middle")


def guess(result: GpuCount, scale: Scale, frame: Frame, said: float | None, each: int,
          drawn: list[Shape]) -> Iterator[Shape]:
    """The reader's count as a pen line: in the row it is about, else across all rows."""
    if not said or not 0 < (x := scale(said / each)) <= frame.x2:
        return
    row = next((number for number, constraint in enumerate(result.constraints)
                if not constraint.binds and abs(each * ceil(constraint.asks) / said - 1) <= NEAR), None)
    words = f"your {said / each:,.3g} replicas, {said:,.4g} GPUs" if each > 1 else f"your {said:,.4g}"
    if row is None:
        y1, y2 = frame.top - 6, frame.y(len(result.constraints)) - 8
    else:
        y1, y2 = frame.y(row) - 2, frame.y(row) + frame.high + 2
    yield past_words(x, y1, y2, drawn)
    if row is None or frame.narrow:
        y, after = frame.top - (20 if frame.narrow else 10), x + 8
    else:
        constraint, y = result.constraints[row], (y1 + y2) / 2 + 5
        taken = room_for(f"{constraint.asks:,.3g}", constraint.words)
        after = x + 8 + (0 if taken < scale(constraint.asks) - frame.x1 else taken)
    if after + width_of(words) > frame.x2:
        yield Text(max(x - 8, width_of(words)), y, words, "pen-text halo", "end")
    else:
        yield Text(after, y, words, "pen-text halo")


def room(result: GpuCount, frame: Frame) -> float:
    """How far the scale of shares goes; the wide one leaves room for words after the longest bar."""
    longest = max(1.0, *(row.busy for row in result.shares))
    return longest * (1.08 if frame.narrow else 1.36)


def shared(result: GpuCount, frame: Frame, unit: float, busy_share: float) -> Drawing:
    """Prefill and decode shares of a replica's time at several counts, against what is allowed."""
    scale = Scale(0, room(result, frame), frame.x1, frame.x2)
    foot = frame.y(len(result.shares)) + (0 if frame.narrow else 2)
    shapes: list[Shape] = [*columns(scale, unit, frame.top - 8, foot)]
    for number, row in enumerate(result.shares):
        shapes += share_row(row, scale, frame, frame.y(number), busy_share)
    x = scale(busy_share)
    ends = [(frame.y(n) - 3, frame.y(n) + frame.high + 3) for n in range(len(result.shares))]
    for y1, y2 in ends if frame.narrow else [(frame.top - 16, foot)]:
        shapes += wall_beside(x, y1, y2)
    label = frame.top - (32 if frame.narrow else 20)
    shapes.append(Text(x + (0 if frame.narrow else 6), label, f"at most {busy_share:g}", "limit-text", "end"))
    title = f"Busy share of a replica: {', '.join(f'{row.busy:.2f} at {row.count:,}' for row in result.shares)}"
    return Drawing(frame.width, foot + 26, title, tuple(shapes))


def share_row(row: Shared, scale: Scale, frame: Frame, y: float, busy_share: float) -> Iterator[Shape]:
    """One count: prefill solid, decode hollow, the sum and its step after them."""
    x, middle, end = frame.x1, scale(row.prefill_share), scale(row.busy)
    name = f"{row.count:,} replica{'s' * (row.count != 1)}"
    weight = "strong" if row.needed else "value"
    batch = f"{row.batch:,.0f}" if row.batch >= 10 else f"{row.batch:.1f}"
    words = f"{batch} in the batch, step {row.step_ms:.1f} ms"
    if frame.narrow:
        yield Text(x, y - 5, f"{name}: busy {row.busy:.2f}, {words}", "now" if row.needed else "label")
    else:
        yield Text(x - 12, y + 15, name, weight, "end")
    wall = scale(busy_share)
    past = max(wall + 8 - middle, 0) if middle - 8 < wall < middle + 40 else 0
    prefill, decode = f"{row.prefill_share:.2f}", f"{row.decode_share:.2f}"
    yield Bar(x, y, round(middle - x, 2), frame.high, "present" if row.needed else "solid",
              prefill if middle - x > 44 else "", "on-ink", left=8)
    yield Bar(middle, y, round(end - middle, 2), frame.high, "result" if row.needed else "hollow",
              decode if end - middle > 44 + past else "", left=8 + past)
    if not frame.narrow:
        after = (wall if end - 2 < wall < end + 60 else end) + 14
        yield Text(after, y + 15, f"{row.busy:.2f}", weight)
        yield Text(after + 42, y + 15, words, "label")


def thumbnail(result: GpuCount) -> Drawing:
    """The constraints as bars with their walls, without axis or words."""
    scale = Scale(0, reach(result), 1, 214)
    shapes: list[Shape] = []
    for number, constraint in enumerate(result.constraints):
        y, x = 2 + 12.5 * number, scale(constraint.asks)
        shapes.append(Bar(1, y, round(x - 1, 2), 8, "present" if constraint.binds else "other"))
        shapes.append(line(x, y - 1, x, y + 9, "s-limit"))
    x = scale(result.replicas)
    shapes.append(Bar(x, 1, round(scale(result.replicas_with_spare) - x, 2), 60, "s-idle", pattern="idle"))
    return Drawing(216, 64, result.finding, tuple(shapes))
