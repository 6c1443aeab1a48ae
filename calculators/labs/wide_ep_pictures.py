"""The pictures of the wide-ep lab's one-step views: lockstep, sick rank, overlap, and how wide to go."""
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil

from calculators.beside import Words, beside
from calculators.labs.base import Gist, Shown
from calculators.labs.wide_ep_parts import ValueBar, column_ms, lanes_of, two_steps, value_bars
from calculators.log_paper import dot
from calculators.models.base import left_out
from calculators.models.ep_width import EpWidth
from calculators.models.lockstep import Lockstep
from calculators.models.quantity import say
from calculators.models.sick_rank import SickRank
from calculators.models.two_batches import TwoBatches
from calculators.models.wide_ep import GroupStep
from calculators.pictures import MEASURE, NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line, polyline, wall_beside
from calculators.ruled import columns, round_unit, rows, width_of

PAIR = 480


@dataclass(frozen=True, slots=True)
class Picture:
    """A main drawing and one beside the derivation, each wide and narrow; `missed` is the line a reader leaves out."""

    wide: Drawing | None
    narrow: Drawing | None
    beside_wide: Drawing
    beside_narrow: Drawing
    missed: str = ""
    unit: str = ""
    unit_narrow: str = ""


def both(draw: Callable[[float], Drawing], width: float) -> tuple[Drawing, Drawing]:
    """The same drawing, wide and narrow."""
    return draw(width), draw(NARROW)


def lockstep(shown: Shown) -> Picture:
    """All ranks through a usual step and one with the chunk; the step by the chunk's size."""
    result: Lockstep = shown.result

    def chunks(width: float) -> Drawing:
        bars = [ValueBar(f"{each.tokens:,}" if each.tokens else "none", each.step_ms, f"{each.step_ms:,.1f} ms",
                         f"{each.others_busy:.1%}", each.present) for each in result.chunks]
        return value_bars(bars, "Step length by the chunk on one rank", "others busy", width)

    missed = left_out(result.lines, shown.said) if shown.said else ""
    return Picture(*both(lambda width: with_chunk(shown, width), WIDE), *both(chunks, PAIR), missed,
                   *units(result.base, result.loaded))


def units(base: GroupStep, loaded: GroupStep) -> tuple[str, str]:
    """What a column is worth in the wide and in the narrow drawing."""
    return say(column_ms(base, loaded, False), "ms"), say(column_ms(base, loaded, True), "ms")


def gist(shown: Shown) -> Gist:
    """The two steps, in the measure and for a phone."""
    return Gist(*(with_chunk(shown, width) for width in (MEASURE, NARROW)))


def with_chunk(shown: Shown, width: float) -> Drawing:
    """A usual step and the one with the chunk."""
    result: Lockstep = shown.result
    chunk, decodes, others = shown.inputs["chunk_tokens"], shown.inputs["decodes"], shown.inputs["ranks"] - 1
    longest = say(result.loaded.compute_ms[result.rank], "ms")
    on_bar = f"{chunk:,} prefill tokens on top of {decodes:,} decodes: {longest}"
    waits = f"{others} rank{'s wait' if others > 1 else ' waits'}"
    on_wait = f"{waits} {say(max(result.loaded.waits_ms), 'ms')}: {say(result.lost_gpu_s, '')} GPU-seconds"
    narrow = width == NARROW
    return two_steps(result.base, result.loaded, result.rank, longest if narrow else on_bar,
                     waits if narrow else on_wait, result.finding, width, shown.said)


def sick(shown: Shown) -> Picture:
    """All ranks with the sick one, and how long each waits; or, when it hangs, who notices after how long."""
    result: SickRank = shown.result

    def steps(width: float) -> Drawing:
        factor = f"takes {shown.inputs['slow_factor']:g}× as long"
        waits = f"the others wait {say(result.others_wait_ms, 'ms')}"
        return two_steps(result.base, result.sick, result.culprit, factor, waits, result.finding, width)

    def waits(width: float) -> Drawing:
        bars = [ValueBar(f"rank {rank}", result.sick.waits_ms[rank], f"{result.sick.waits_ms[rank]:.1f} ms", "",
                         rank == result.culprit) for rank in lanes_of(result.group, result.culprit)]
        return value_bars(bars, "How long each rank waits for the slowest", "", width)

    def detectors(width: float) -> Drawing:
        bars = [ValueBar(each.name, each.after_s or 0, say(each.after_s, "s") if each.after_s else "never")
                for each in result.detectors]
        return value_bars(bars, "After how long each layer notices", "", width, names=150)

    if not result.sick:
        return Picture(None, None, *both(detectors, PAIR))
    return Picture(*both(steps, WIDE), *both(waits, PAIR), "", *units(result.base, result.sick))


def width_of_group(shown: Shown) -> Picture:
    """Tokens of the whole group by its width; and what is left on one GPU."""
    result: EpWidth = shown.result

    def tokens(width: float) -> Drawing:
        bars = [ValueBar(each.name, each.kv_tokens / 1e6, f"{each.kv_tokens / 1e6:.3g} M", f"{each.free_gb:.1f}",
                         each.present) for each in result.layouts]
        return value_bars(bars, f"KV tokens of the group, in millions. {result.finding}", "free GB a GPU", width, 104)

    return Picture(None, None, *both(tokens, PAIR))


def overlap(shown: Shown) -> Picture:
    """Both steps over the decodes a rank, with the wall left of which splitting loses; and the step at hand."""
    result: TwoBatches = shown.result
    return Picture(*both(lambda width: curves(result, shown.inputs, shown.said, width), WIDE),
                   *both(lambda width: halves(result, width), PAIR))


def curves(result: TwoBatches, inputs: dict, said: float | None, width: float) -> Drawing:
    """The step in ms over decodes a rank, in one batch and in two."""
    narrow = width == NARROW
    left, right, top, foot = (40, NARROW - 8, 34, 230) if narrow else (56, WIDE - 130, 34, 300)
    furthest = result.curve[-1][0]
    most = max(max(whole, split) for _, whole, split in result.curve)
    unit = round_unit(most, 8)
    up = Scale(0, unit * ceil(most / unit - 1e-9), foot, top)
    across = Scale(0, furthest, left, right)
    step = round_unit(furthest, 4 if narrow else 10)
    whole = [(across(decodes), up(ms)) for decodes, ms, _ in result.curve]
    split = [(across(decodes), up(ms)) for decodes, _, ms in result.curve]
    shapes: list[Shape] = [Text(0, 16, "step, ms", "axis"), *rows(up, unit, left, right),
                           *columns(across, step, top, foot, every=1)]
    even = result.break_even
    if even is not None and even <= furthest:
        x = across(even)
        shapes += wall_beside(x, top - 8, foot, left=True)
        shapes.append(Text(max(x + 8, 64), 16, f"break-even {even:.3g}", "limit-text"))
    threshold = result.threshold
    if threshold <= furthest:
        x, words = across(threshold), f"threshold {threshold:,}"
        fits = x - left > width_of(words) + 8
        shapes += [line(x, foot - 14, x, foot, "ink"),
                   Text(x - 6, foot - 5, words if fits else f"{threshold:,}", "label halo", "end")]
    shapes += [polyline(whole, "stepped"), polyline(split, "formula")]
    x = across(inputs["decodes"])
    shapes += [dot(x, up(result.whole_ms), "present"), dot(x, up(result.split_ms), "result")]
    if said and 0 < said <= up.high:
        shapes += [line(left, up(said), right, up(said), "pen"),
                   Text(right - 4, up(said) - 6, f"you {said:.4g}", "pen-text halo", "end")]
    if not narrow:
        shapes += beside(right + 12, [Words(whole[-1][1], ("one batch",), "strong"),
                                      Words(split[-1][1], ("two halves",), "label")], top - 8, foot)
    shapes.append(Text((left + right) / 2, foot + 36, "decodes a rank", "axis", "middle"))
    return Drawing(width, foot + 44, f"{result.finding} {result.break_even_words}", tuple(shapes))


def halves(result: TwoBatches, width: float) -> Drawing:
    """The step at hand in one batch, then in two with the wire beside the compute."""
    left, right = 84, width - 76
    whole, split = result.whole, result.split
    scale = Scale(0, max(whole.step_ms, split.step_ms), left, right)
    unit = round_unit(scale.high, 8)
    compute, half = whole.compute_ms[0], split.compute_ms[0] / 2
    shapes: list[Shape] = [*columns(scale, unit, 8, 108, every=2)]
    shapes += [Text(0, 29, "one batch", "strong"), ms_bar(scale, 0, compute, 12, "s-running"),
               ms_bar(scale, compute, whole.step_ms, 12, "s-wire", "wire"),
               Text(0, 69, "two halves", "strong"), ms_bar(scale, 0, half, 52, "s-running"),
               ms_bar(scale, half, 2 * half, 52, "s-running"),
               line(scale(half), 50, scale(half), 78, "edge"),
               Text(0, 95, "their wire", "label"), ms_bar(scale, 0, split.all_to_all_ms, 80, "s-wire", "wire")]
    for start, end, words in ((0, half, "first"), (half, 2 * half, "second")):
        if scale(end) - scale(start) > width_of(words) + 8:
            shapes.append(Text(scale((start + end) / 2), 69, words, "on-running", "middle"))
    for ms, y in ((whole.step_ms, 8), (split.step_ms, 48)):
        shapes += [line(scale(ms), y, scale(ms), 40 if y == 8 else 108, "ink"),
                   Text(scale(ms) + 7, y + 21, say(ms, "ms"), "strong")]
    return Drawing(width, 132, f"One batch {say(whole.step_ms, 'ms')}, two halves {say(split.step_ms, 'ms')}.",
                   tuple(shapes))


def ms_bar(scale: Scale, start: float, end: float, y: float, css: str, pattern: str = "") -> Bar:
    """A bar from one time to another."""
    return Bar(scale(start), y, round(scale(end) - scale(start), 2), 24, css, pattern=pattern)


def thumbnail(result: Lockstep) -> Drawing:
    """Eight lanes without words: one rank computes, seven wait."""
    return Drawing(216, 64, result.finding, tuple(small_lanes(result)))


def small_lanes(result: Lockstep) -> Iterator[Shape]:
    scale = Scale(0, result.step_ms, 1, 215)
    longest = scale(max(result.loaded.compute_ms))
    for rank, ms in enumerate(result.loaded.compute_ms):
        y = 1 + rank * 7.8
        yield Bar(1, y, round(scale(ms) - 1, 2), 6, "s-running")
        yield Bar(longest, y, round(scale.end - longest, 2), 6, "s-wire", pattern="wire")
