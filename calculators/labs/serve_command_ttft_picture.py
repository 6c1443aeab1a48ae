"""A second of the replica before and after the rollout, with its prefills, and what the slowest in a hundred wait."""
from collections.abc import Iterator
from dataclasses import dataclass
from math import floor

from calculators.labs.base import Shown
from calculators.models.deploy_ttft import DeployTtft, Load
from calculators.models.quantity import say
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line
from calculators.ruled import columns, figures, round_unit, width_of

HIGH = 30
MOST_PREFILLS = 60


@dataclass(frozen=True, slots=True)
class Picture:
    """Both drawings."""

    wide: Drawing
    narrow: Drawing


def picture(shown: Shown) -> Picture:
    each = shown.inputs["rate_per_s"] / shown.inputs["replicas"]
    return Picture(*(drawn(shown.result, each, shown.inputs["front_end_ms"], shown.said, width)
                     for width in (WIDE, NARROW)))


def drawn(result: DeployTtft, each: float, front_end_ms: float, said: float | None, width: int) -> Drawing:
    """Two seconds over two stacks."""
    shapes: list[Shape] = [Text(0, 14, "one second of the replica: prefills, and decode steps between them", "label")
                           if width == WIDE else Text(0, 14, "one second: prefills between decode steps", "label")]
    y = 24
    for name, load in (("before", result.before), ("after", result.after)):
        shapes += second(name, load, each, y, width)
        y += HIGH + 34
    longest = max(result.before.p99_ttft_ms, result.after.p99_ttft_ms, 1000 * min(said or 0, 100)) * 1.02
    longest = longest or 1  # nothing computed and nothing ahead: still a scale
    scale = Scale(0, longest, 0, width - 8)
    top = y + 26
    shapes.append(Text(0, top - 16, "P99 TTFT, ms: front end, wait, prefill", "label"))
    foot = top + 2 * HIGH + 34
    shapes += columns(scale, round_unit(longest, 20 if width == WIDE else 8), top - 6, foot + 6, every=2,
                      said=lambda value: figures(value), most=8 if width == WIDE else 4)
    for at, (name, load) in enumerate((("before", result.before), ("after", result.after))):
        shapes += stack(name, load, front_end_ms, scale, top + at * (HIGH + 28), width)
    if said is not None and said > 0:
        place = scale(min(front_end_ms + said * 1e3, longest))
        words = f"your wait {said:,.3g} s"
        left = place + width_of(words) + 8 > width
        shapes += [line(place, top + HIGH + 20, place, foot + 6, "pen"),
                   Text(place + (-6 if left else 6), foot + 40, words, "pen-text halo", "end" if left else "start")]
    return Drawing(width, foot + 46, result.finding, tuple(shapes))


def second(name: str, load: Load, each: float, y: float, width: int) -> Iterator[Shape]:
    """A second with so many prefills in it, evenly apart, at their length."""
    words = f"{name}, {load.hit_percent:g}% hits: busy {load.busy_share:.0%}"
    yield Bar(0, y, width - 8, HIGH, "hollow")
    count = min(floor(each), MOST_PREFILLS)
    scale = Scale(0, 1_000, 0, width - 8)
    for number in range(count if load.service_ms else 0):
        start = number * 1_000 / count
        yield Bar(scale(start), y, max(round(scale(load.service_ms) - scale(0), 2), 1), HIGH, "s-running")
    yield Text(0, y + HIGH + 16, words, "value")


def stack(name: str, load: Load, front_end_ms: float, scale: Scale, y: float, width: int) -> Iterator[Shape]:
    """What the slowest in a hundred wait for."""
    place = 0.0
    for css, pattern, ms in (("solid", "", front_end_ms), ("guessed", "estimated", load.p99_wait_ms),
                             ("s-running", "", load.service_ms)):
        start, end = scale(place), scale(place + ms)
        place += ms
        if end > start:
            yield Bar(start, y, round(end - start, 2), HIGH, css, pattern=pattern)
    words = f"{name} {say(load.p99_ttft_ms, 'ms', 4)}, of it wait {say(load.p99_wait_ms, 'ms', 4)}"
    if width == NARROW:
        words = f"{name} {say(load.p99_ttft_ms, 'ms', 4)}"
    end = scale(place) + 10
    if end + width_of(words) <= width:
        yield Text(end, y + 20, words, "strong halo")
    else:
        yield Bar(8, y + 4, width_of(words) + 8, HIGH - 8, "plate")
        yield Text(12, y + 20, words, "strong")
