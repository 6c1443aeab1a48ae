"""The picture of hot experts: each rank's slots as one bar, before and after EPLB, on one scale."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.labs.base import Shown
from calculators.labs.wide_ep_parts import ValueBar, value_bars
from calculators.models.hot_experts import HotExperts, Placement, in_tokens
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line
from calculators.ruled import width_of

MOST_RANKS = 16
PAIR = 480
ROW = 26


@dataclass(frozen=True, slots=True)
class Picture:
    """The ranks before and after, and balancedness by the number of copies, each wide and narrow."""

    wide: Drawing
    narrow: Drawing
    beside_wide: Drawing
    beside_narrow: Drawing


def picture(shown: Shown) -> Picture:
    """What the fragment loops over."""
    result = shown.result
    return Picture(side_by_side(result), one_above_other(result), balances(result, PAIR), balances(result, NARROW))


def side_by_side(result: HotExperts) -> Drawing:
    """Both placements beside each other."""
    most, hot = result.in_order.max_load, hottest(result)
    shapes = [*panel(result.in_order, most, hot, 0, 0, 510), *panel(result.placed, most, hot, 560, 0, 520)]
    return Drawing(WIDE, height(result), result.finding, tuple(shapes))


def one_above_other(result: HotExperts) -> Drawing:
    """Both placements, for a phone."""
    most, hot, tall = result.in_order.max_load, hottest(result), height(result)
    shapes = [*panel(result.in_order, most, hot, 0, 0, NARROW), *panel(result.placed, most, hot, 0, tall, NARROW)]
    return Drawing(NARROW, 2 * tall, result.finding, tuple(shapes))


def height(result: HotExperts) -> float:
    ranks = len(result.placed.ranks)
    return 40 + ROW * min(ranks, MOST_RANKS) + 12 + (20 if ranks > MOST_RANKS else 0)


def hottest(result: HotExperts) -> int:
    """The expert with the most load."""
    slots = [slot for slots in result.in_order.ranks for slot in slots]
    return max(slots, key=lambda slot: slot.load).expert


def panel(placement: Placement, most: float, hot: int, x: float, y: float, width: float) -> Iterator[Shape]:
    """One placement: a bar a rank, a stretch a slot, the mean as a dashed line and the busiest rank's load named."""
    loads = placement.loads
    ranks = sorted(sorted(range(len(loads)), key=lambda rank: -loads[rank])[:MOST_RANKS])
    scale = Scale(0, max(most, placement.max_load), x + 64, x + width - 56)
    yield Text(x, y + 14, placement.name, "strong")
    yield Text(x + width, y + 14, f"balancedness {placement.balance:.3f}", "value", "end")
    foot, mean = y + 36 + ROW * len(ranks), scale(placement.mean_load)
    yield line(mean, y + 30, mean, foot, "formula")
    for place, rank in enumerate(ranks):
        top = y + 36 + place * ROW
        busiest = loads[rank] == placement.max_load
        yield Text(x, top + 15, f"rank {rank}", "strong" if busiest else "label")
        start = 0.0
        for slot in placement.ranks[rank]:
            yield stretch(scale(start), scale(start + slot.load), top, slot.expert, slot.load, slot.expert == hot)
            start += slot.load
        words, after = in_tokens(loads[rank]), scale(start) + 8
        crossed = after - 4 < mean < after + width_of(words)
        yield Text(mean + 8 if crossed else after, top + 15, words, "strong halo" if busiest else "value halo")
    yield Text(mean, y + 27, f"mean {in_tokens(placement.mean_load)}", "axis halo", "middle")
    if len(loads) > len(ranks):
        yield Text(x, foot + 16, f"the {len(ranks)} busiest of {len(loads)} ranks", "note")


def stretch(start: float, end: float, y: float, expert: int, load: float, hot: bool) -> Bar:
    """One slot, named where there is room."""
    wide = max(round(end - start - 1.5, 2), 0.5)
    fitting = [words for words in (f"E{expert}: {in_tokens(load)}", f"E{expert}") if width_of(words) + 2 < wide]
    return Bar(start, y, wide, 20, "present" if hot else "other", fitting[0] if fitting else "", "on-ink")


def balances(result: HotExperts, width: float) -> Drawing:
    """Balancedness of each placement, and how much faster the MoE part is."""
    bars = [ValueBar(row.name.removeprefix("EPLB, "), row.balance, f"{row.balance:.4f}", f"{row.times_faster:.2f}×",
                     row.present) for row in result.placements]
    return value_bars(bars, "Balancedness by the number of redundant experts", "MoE part", width, names=128)
