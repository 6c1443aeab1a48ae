"""One GPU of each width of tensor parallelism: weights, what lies between, the KV that is left, and what it holds."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.labs.base import Shown
from calculators.models.parallel_plans import Plan, Plans
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line, wall_beside
from calculators.ruled import columns, round_unit, width_of

TOP, ROW, HIGH = 44, 78, 34
NAMES, HELD = 112, 250  # room at the left for a plan's name, and at the right for what it holds


@dataclass(frozen=True, slots=True)
class Picture:
    """Both drawings."""

    wide: Drawing
    narrow: Drawing


def picture(shown: Shown) -> Picture:
    result: Plans = shown.result
    return Picture(wide(result), narrow(result))


def furthest(result: Plans) -> float:
    """The end of the scale in GiB: the GPU, or twice that where weights go far beyond it."""
    most = max(plan.weights_gib + plan.overhead_gib for plan in result.plans)
    return min(max(result.total_gib, most), 2 * result.total_gib) * 1.01


def wide(result: Plans) -> Drawing:
    """A row a plan, its name before the bar and what it holds behind it."""
    scale = Scale(0, furthest(result), NAMES, WIDE - HELD)
    foot = TOP + ROW * (len(result.plans) - 1) + HIGH
    shapes: list[Shape] = [*columns(scale, round_unit(scale.high, 40), TOP - 8, foot + 8)]
    for at, plan in enumerate(result.plans):
        y = TOP + ROW * at
        shapes.append(Text(0, y + 15, plan.name, "strong" if str(plan.width) == result.chosen else "value"))
        shapes += bar(plan, scale, y)
        shapes.append(Text(WIDE - HELD + 18, y + 15, f"{plan.sequences:,} sequences a node", "strong"))
        shapes.append(Text(WIDE - HELD + 18, y + 33, plan.why_not or f"{plan.step_ms:.1f} ms a step", "label"))
    shapes += wall_beside(scale(result.budget_gib), TOP - 14, foot + 8)
    shapes.append(Text(scale(result.budget_gib) - 6, TOP - 18, f"budget {result.budget_gib:,.2f}", "limit-text", "end"))
    shapes.append(Text(0, foot + 25, "GiB of one GPU", "axis"))
    return Drawing(WIDE, foot + 34, result.finding, tuple(shapes))


def narrow(result: Plans) -> Drawing:
    """The same with the words over each bar."""
    scale = Scale(0, furthest(result), 0, NARROW - 10)
    row = ROW + 6
    foot = TOP + row * (len(result.plans) - 1) + HIGH + 36
    shapes: list[Shape] = [*columns(scale, round_unit(scale.high, 8), TOP - 8, foot + 8, every=1)]
    for at, plan in enumerate(result.plans):
        shapes += bar(plan, scale, TOP + row * at + 36)
    shapes += wall_beside(scale(result.budget_gib), TOP - 14, foot + 8)
    for at, plan in enumerate(result.plans):
        y = TOP + row * at + 36
        words = f"{plan.name}: {plan.sequences:,} sequences"
        shapes += [Bar(0, y - 40, max(width_of(words), width_of(plan.why_not)) + 8, 38, "plate"),
                   Text(0, y - 24, words, "strong" if str(plan.width) == result.chosen else "value"),
                   Text(0, y - 7, plan.why_not or f"{plan.step_ms:.1f} ms a step", "label")]
    words = f"budget {result.budget_gib:,.2f} GiB"
    wall = scale(result.budget_gib)
    shapes.append(Text(max(wall - 6, width_of(words)), TOP - 18, words, "limit-text", "end"))
    shapes.append(Text(NARROW, foot + 41, "GiB of one GPU", "axis", "end"))
    return Drawing(NARROW, foot + 46, result.finding, tuple(shapes))


def bar(plan: Plan, scale: Scale, y: float) -> Iterator[Shape]:
    """Weights, what lies between, and the pool of one GPU; what goes beyond the scale is cut off."""
    parts = (("solid", "", plan.weights_gib, "weights"), ("guessed", "estimated", plan.overhead_gib, ""),
             ("result", "", max(plan.kv_gib, 0), "KV"))
    place = 0.0
    for css, pattern, gib, name in parts:
        start, end = scale(min(place, scale.high)), scale(min(place + gib, scale.high))
        place += gib
        width = round(end - start, 2)
        if width <= 0:
            continue
        yield Bar(start, y, width, HIGH, css, pattern=pattern)
        words = f"{name} {gib:,.2f}"
        if name and width_of(words) + 16 <= width:
            yield Text(start + 8, y + 22, words, "on-ink" if css == "solid" else "strong")
    if place > scale.high:
        yield line(scale.end, y - 4, scale.end, y + HIGH + 4, "edge")
