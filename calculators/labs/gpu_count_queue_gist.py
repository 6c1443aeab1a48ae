"""How a P99 comes about below capacity: the mean and its tail over the load, which both go to the sky at 1."""
from calculators.beside import Words, beside
from calculators.labs.base import Gist, Shown
from calculators.log_paper import dot
from calculators.models.quantity import say, span
from calculators.models.queueing import EXPONENTIAL, Queueing
from calculators.pictures import MEASURE, NARROW, Drawing, Scale, Shape, Text, line, polyline, wall_beside
from calculators.ruled import round_unit, rows

HEADROOM = 1.7  # times the P99 at hand: what the paper holds at least
FURTHEST = 3  # times it: a number beyond is named and not drawn
FINENESS = 200  # points of a line


def gist(shown: Shown) -> Gist | None:
    """Both drawings; what the reader said is a P99 in seconds. Only of the queue whose tail has a formula."""
    if shown.result.regime != "steady" or shown.inputs["service"] != EXPONENTIAL:
        return None
    load, service_s = shown.inputs["load"], shown.inputs["service_s"]
    return Gist(*(over_the_load(shown.result, load, service_s, shown.said, width) for width in (MEASURE, NARROW)))


def over_the_load(result: Queueing, load: float, service_s: float, said: float | None, width: float) -> Drawing:
    """Two lines up to the wall at 1, a dot on each at the load in hand, and the reader's number across."""
    narrow = width == NARROW
    left, right, top, foot = (40, NARROW - 96, 30, 180) if narrow else (46, MEASURE - 116, 30, 220)
    p99, mean = result.p99_ttft_s, result.formula.mean_s
    drawn = said if said and 0 < said <= FURTHEST * p99 else None
    high = max(HEADROOM * p99, 1.1 * (drawn or 0))
    up, across = Scale(0, high, foot, top), Scale(0, 1, left, right)
    shapes: list[Shape] = [Text(0, 12, "TTFT, s", "axis"), *rows(up, round_unit(high, 5), left, right)]
    shapes += [Text(across(at / 10), foot + 17, f"{at / 10:.0%}", "axis", "middle") for at in range(0, 11, 2)]
    shapes.append(Text((left + right) / 2, foot + 35, "load", "axis", "middle"))
    for factor, css in ((mean, "formula"), (p99, "stepped")):
        most = 1 - factor * (1 - load) / high  # where this line leaves the paper
        points = [(step * most / FINENESS) for step in range(FINENESS + 1)]
        shapes.append(polyline([(across(at), up(factor * (1 - load) / (1 - at))) for at in points], css))
    shapes += wall_beside(across(1), top, foot)
    if drawn:
        shapes.append(line(left, up(drawn), right + 12, up(drawn), "pen"))
    named = [Words(up(p99), (f"P99 {span(p99)}",), "strong"), Words(up(mean), (f"mean {span(mean)}",), "label")]
    for value in (mean, p99):
        shapes.append(line(across(load), up(value), right + 12, up(value), "never"))
        shapes.append(dot(across(load), up(value), "present"))
    if said and said > 0:
        words = ("you:", say(said, "s", 4)) if narrow else (f"you: {say(said, 's', 4)}",)
        named.append(Words(up(drawn) if drawn else 0, words + (() if drawn else ("far above",)), "pen-text"))
    shapes += beside(right + 18, named, 8, foot)
    title = f"{result.finding} The mean is {span(mean)}; both go with 1 / (1 − load)."
    return Drawing(width, foot + 42, title, tuple(shapes))
