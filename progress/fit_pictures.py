"""The picture of a fit's worth: what was gained on each later part of a log, with its error, beside nothing at all."""
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from calculators.pictures import Drawing, Scale, Shape, Text, line
from progress.pictures import dot

ERRORS = 2  # standard errors to either side of a dot


@dataclass(frozen=True, slots=True)
class Lane:
    """The gain in log loss of fitted over default parameters on a part of the log, in nats."""

    name: str
    mean: float
    error: float
    predictions: int
    of_all: bool = False

    @property
    def low(self) -> float:
        return self.mean - ERRORS * self.error

    @property
    def high(self) -> float:
        return self.mean + ERRORS * self.error


def gains(lanes: Sequence[Lane], *, width: int) -> Drawing:
    """A lane a part, its gain as a dot with two standard errors to either side; right of the line is better.

    The whole log's lane comes last, in ink, under a rule.
    """
    left, right, pitch, top = 92, width - 58, 26, 26
    low, high = min(0, *(lane.low for lane in lanes)), max(0, *(lane.high for lane in lanes))
    step = tick(high - low, most=width // 120)
    place = Scale(floor(low / step) * step, ceil(high / step) * step, left, right)
    foot = top + pitch * len(lanes) + 8
    ticks = [at * step for at in range(floor(low / step), ceil(high / step) + 1)]
    shapes: list[Shape] = [line(place(at), top, place(at), foot, "grid") for at in ticks]
    shapes += [Text(place(at), foot + 18, signed(at, decimals(step)) if at else "0", "axis", "middle") for at in ticks]
    shapes += [line(place(0), top - 6, place(0), foot, "ink thin"),
               Text(place(0), 12, "as good as the defaults", "axis", anchor(place(0), width))]
    for at, lane in enumerate(lanes):
        y = top + pitch * (at + 0.5) + (8 if lane.of_all else 0)
        if lane.of_all:
            shapes.append(line(0, y - pitch / 2 - 4, width, y - pitch / 2 - 4, "rule"))
        shapes += [Text(0, y + 5, lane.name, "now" if lane.of_all else "label"),
                   line(place(lane.low), y, place(lane.high), y, "ink" if lane.of_all else "edge"),
                   dot(place(lane.mean), y, 5 if lane.of_all else 3.5, "present" if lane.of_all else "other"),
                   Text(width, y + 5, signed(lane.mean, 4), "now" if lane.of_all else "axis", "end")]
    of_all = lanes[-1]
    finding = f"On {of_all.predictions:,} later reviews the fit gained {of_all.mean:.4f} nats of log loss on each, " \
              f"with a standard error of {of_all.error:.4f}."
    return Drawing(width, foot + 26, finding, tuple(shapes))


def tick(span: float, most: int = 5) -> float:
    """A round step (1, 2 or 5 at some power of ten) that cuts the span into `most` or fewer."""
    rough = max(span, 1e-6) / most
    power = 10 ** floor(log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def decimals(step: float) -> int:
    return max(-floor(log10(step) + 1e-9), 0)


def signed(value: float, places: int) -> str:
    return f"{value:+.{places}f}".replace("-", "−")


def anchor(x: float, width: float) -> str:
    return "start" if x < 0.3 * width else "end" if x > 0.7 * width else "middle"
