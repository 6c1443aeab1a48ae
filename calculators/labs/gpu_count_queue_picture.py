"""The pictures of the queueing view: the queue over time with its formula, what clients waited, the ladder of loads."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.labs.base import Shown
from calculators.models.quantity import span
from calculators.models.queueing import SLICES, Queueing
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line, polyline, wall_above
from calculators.ruled import columns, round_unit, rows

LONGEST_ROW = 24  # of the table of slices


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over; `slices` is (from s, most in system, turned away) for the table."""

    wide: Drawing
    narrow: Drawing
    wide_unit: str
    narrow_unit: str
    waits_wide: Drawing
    waits_narrow: Drawing
    ladder_wide: Drawing
    ladder_narrow: Drawing
    slices: tuple[tuple[float, int, int], ...]


def picture(shown: Shown) -> Picture:
    """All drawings; what the reader said is a P99 in seconds."""
    result, horizon, cap = shown.result, shown.inputs["horizon_s"], shown.inputs["max_num_queued_reqs"]
    units = [round_unit(horizon, most) for most in (24, 6)]
    every = SLICES // LONGEST_ROW
    slices = tuple(
        (start * horizon / SLICES, max(result.run.in_system[start:start + every]),
         sum(result.run.rejections[start:start + every]))
        for start in range(0, SLICES, every)
    )
    return Picture(
        wide=course(result, horizon, cap, units[0], narrow=False), wide_unit=span(units[0]),
        narrow=course(result, horizon, cap, units[1], narrow=True), narrow_unit=span(units[1]),
        waits_wide=waits(result, shown.said, 480), waits_narrow=waits(result, shown.said, NARROW),
        ladder_wide=ladder(result, 480), ladder_narrow=ladder(result, NARROW), slices=slices,
    )


def course(result: Queueing, horizon: float, cap: int | None, unit: float, narrow: bool) -> Drawing:
    """The most in the system in each slice of the horizon, under the cap's wall, with the formula's line dashed."""
    x1, x2, top, foot = (34, NARROW - 6, 40, 196) if narrow else (64, WIDE - 24, 40, 250)
    most = max(result.run.most_in_system, result.overload.backlog, cap or 0, result.formula.mean_in_system or 0, 4)
    step = max(round_unit(most, 5), 1)
    clock, up = Scale(0, horizon, x1, x2), Scale(0, most * 1.06, foot, top)
    shapes: list[Shape] = [
        *columns(clock, unit, top, foot, every=1 if narrow else 4, said=lambda at: f"{at:,.10g} s"),
        *rows(up, step, x1, x2), Text(0, 12, "waiting or in service", "axis"),
    ]
    if cap:
        shapes += wall_above(x1, x2, up(cap))
        shapes.append(Text(x2, up(cap) - 14, f"cap {cap:,}: who comes now gets 503", "limit-text", "end"))
    points: list[tuple[float, float]] = []
    for number, count in enumerate(result.run.in_system):
        points += [(clock(number * horizon / SLICES), up(count)), (clock((number + 1) * horizon / SLICES), up(count))]
    shapes += [polyline(points, "stepped thin"), *formula_line(result, clock, up, horizon)]
    shapes += turned_away(result, clock, foot)
    height = foot + (50 if result.run.rejected else 26)
    return Drawing(NARROW if narrow else WIDE, height, result.finding, tuple(shapes))


def formula_line(result: Queueing, clock: Scale, up: Scale, horizon: float) -> Iterator[Shape]:
    """What the formula says of the same: the mean in the system (its figure stands in the legend), or the growth."""
    mean, over = result.formula.mean_in_system, result.overload
    if mean is not None:
        yield line(clock(0), up(mean), clock(horizon), up(mean), "formula")
    elif over.grows_per_s:
        yield line(clock(0), up(0), clock(horizon), up(over.backlog), "formula")
        x = clock(horizon * 0.42)
        words = f"{over.grows_per_s:,.3g} more a second"
        yield Text(x, up(over.backlog * 0.6), words if clock.end < NARROW else f"formula: {words}", "now halo", "end")


def turned_away(result: Queueing, clock: Scale, foot: float) -> Iterator[Shape]:
    """A tick under the clock for every slice in which somebody was turned away."""
    if not result.run.rejected:
        return
    yield Text(clock(0), foot + 42, f"turned away: {result.run.rejected:,} of {result.run.arrived:,}", "limit-text")
    for number, count in enumerate(result.run.rejections):
        if count:
            yield Bar(round(clock(clock.high * number / SLICES), 2), foot + 2, 2, 6, "limit-tick")


def waits(result: Queueing, said: float | None, width: float) -> Drawing:
    """Median, mean and P99: as the run gave them solid, as the formula has them hollow."""
    run, formula = result.run, result.formula
    pairs = (("median", run.p50_s, None), ("mean", run.mean_s, formula.mean_s), ("P99", run.p99_s, formula.p99_s))
    names = 62
    longest = max(value for _, *values in pairs for value in values if value is not None)
    scale = Scale(0, longest, names, width - 76)
    shapes: list[Shape] = []
    for number, (name, got, by_formula) in enumerate(pairs):
        y = 6 + 50 * number
        shapes.append(Text(names - 10, y + 12, name, "strong" if name == "P99" else "value", "end"))
        shapes.append(Bar(names, y, max(round(scale(got) - names, 2), 1), 15, "present" if name == "P99" else "solid"))
        shapes.append(Text(scale(got) + 10, y + 12, span(got), "value"))
        if by_formula is not None:
            shapes.append(Bar(names, y + 19, max(round(scale(by_formula) - names, 2), 1), 15, "result"))
            shapes.append(Text(scale(by_formula) + 10, y + 31, span(by_formula), "value"))
    foot = 6 + 50 * len(pairs)
    if said and 0 < said <= longest * 1.15:
        x = scale(said)
        shapes += [line(x, 100, x, foot - 8, "pen"),
                   Text(min(x, width - 70), foot + 10, f"your {span(said)}", "pen-text", "middle")]
    shapes.append(line(names, 0, names, foot - 8, "edge"))
    title = f"Median {span(run.p50_s)}, mean {span(run.mean_s)}, P99 {span(run.p99_s)} in the run"
    return Drawing(width, foot + 18, title, tuple(shapes))


def ladder(result: Queueing, width: float) -> Drawing:
    """P99 by load, exponential service and no cap; the present load in ink."""
    names = 62
    steady = [rung for rung in result.ladder if rung.p99_s is not None]
    longest = max(rung.p99_s or 0 for rung in steady)
    scale = Scale(0, longest, names, width - 76)
    shapes: list[Shape] = []
    for number, rung in enumerate(result.ladder):
        y, weight = 6 + 30 * number, "strong" if rung.present else "value"
        shapes.append(Text(names - 10, y + 14, f"{rung.at:.4g}", weight, "end"))
        if rung.p99_s is None:
            shapes += [Bar(names, y, width - 76 - names, 18, "never"),
                       Text(names + 12, y + 14, "no steady state", "limit-text")]
            continue
        shapes.append(Bar(names, y, round(scale(rung.p99_s) - names, 2), 18, "present" if rung.present else "other"))
        shapes.append(Text(scale(rung.p99_s) + 10, y + 14, span(rung.p99_s), weight))
    foot = 6 + 30 * len(result.ladder)
    shapes.append(line(names, 0, names, foot - 4, "edge"))
    title = "P99 by load: " + ", ".join(f"{span(rung.p99_s or 0)} at {rung.at:g}" for rung in steady)
    return Drawing(width, foot + 2, title, tuple(shapes))
