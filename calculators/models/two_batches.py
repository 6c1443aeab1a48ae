"""Dual-batch overlap: half a batch computes while the other half is on the wire, and both halves read all weights."""
from collections.abc import Iterator
from dataclasses import dataclass, replace

from calculators.models.base import Line
from calculators.models.quantity import say
from calculators.models.wide_ep import DECODE_THRESHOLD, MODEL, MOE_LAYERS, GroupStep, Load, Rates, group_step

SWEPT = (8, 32, 53, 64, 96, 128, 256)
MOST_DECODES = 1_024
DISPATCH_BYTES = MODEL.experts_per_token * MODEL.hidden  # of a token and layer, fp8
COMBINE_BYTES = 2 * DISPATCH_BYTES  # bf16
DEEPEP_US = {8: (77, 114), 16: (118, 195), 32: (155, 273), 64: (173, 314), 128: (192, 369), 256: (194, 360)}
DEEPEP_TOKENS = 128  # a rank, at which those were measured


@dataclass(frozen=True, slots=True)
class Swept:
    """Both steps at so many decodes a rank."""

    decodes: int
    whole_ms: float
    split_ms: float
    present: bool

    @property
    def change(self) -> float:
        """Of the step, by splitting it: 0.31 is 31% longer."""
        return self.split_ms / self.whole_ms - 1


@dataclass(frozen=True, slots=True)
class Measured:
    """DeepEP's low-latency kernels at 128 tokens a rank, in µs, and what 58 layers of them come to."""

    ranks: int
    dispatch_us: int
    combine_us: int

    @property
    def both_us(self) -> int:
        return self.dispatch_us + self.combine_us

    @property
    def step_ms(self) -> float:
        return MOE_LAYERS * self.both_us / 1e3

    @property
    def dispatch_gb_per_s(self) -> float:
        return DEEPEP_TOKENS * DISPATCH_BYTES / self.dispatch_us / 1e3

    @property
    def combine_gb_per_s(self) -> float:
        return DEEPEP_TOKENS * COMBINE_BYTES / self.combine_us / 1e3


@dataclass(frozen=True, slots=True)
class TwoBatches:
    """The whole step beside the split one at the decodes at hand, and over many; times in ms.

    `break_even` is the least decodes a rank from which splitting is no slower, None when there is none in range.
    `runs_split` says whether the threshold lets the engine split.
    """

    whole: GroupStep
    split: GroupStep
    runs_split: bool
    break_even: float | None
    threshold: int
    tokens_per_s: float
    split_tokens_per_s: float
    swept: tuple[Swept, ...]
    measured: tuple[Measured, ...]
    curve: tuple[tuple[int, float, float], ...]
    lines: tuple[Line, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()

    @property
    def wire_kb_per_token(self) -> float:
        """Of a DeepSeek-V3, out and back, in each MoE layer."""
        return (DISPATCH_BYTES + COMBINE_BYTES) / 1e3

    @property
    def whole_ms(self) -> float:
        return self.whole.step_ms

    @property
    def split_ms(self) -> float:
        return self.split.step_ms

    @property
    def change(self) -> float:
        """Of the step, by splitting it."""
        return self.split_ms / self.whole_ms - 1

    @property
    def saved(self) -> float:
        """Of the step, by splitting it; below 0 where that makes it longer."""
        return -self.change

    @property
    def wire_share(self) -> float:
        """Of the whole step that is all-to-all."""
        return self.whole.all_to_all_ms / self.whole_ms

    @property
    def bound(self) -> float:
        """The most that overlap could gain: (compute + wire) / the longer of them."""
        return self.whole_ms / max(*self.whole.compute_ms, self.whole.all_to_all_ms)

    @property
    def finding(self) -> str:
        """What splitting does to the step, and whether the engine would."""
        verdict = "longer" if self.change > 0 else "shorter"
        changed = "as long" if abs(self.change) < 0.005 else f"{abs(self.change):.0%} {verdict}"
        split, whole = say(self.split_ms, "ms"), say(self.whole_ms, "ms")
        words = f"Split in two the step takes {split} instead of {whole}: {changed}."
        if not self.runs_split:
            return f"{words} The threshold of {self.threshold} keeps it off."
        return f"{words} The threshold lets it on although it loses." if self.change > 0.005 else words

    @property
    def break_even_words(self) -> str:
        """From how many decodes a rank splitting pays."""
        if self.break_even is None:
            return f"Up to {MOST_DECODES:,} decodes a rank splitting never pays."
        return f"Splitting pays from {say(self.break_even, '')} decodes a rank; below, check the gap at small batches."


def solve(*, decodes: int = 128, dbo_decode_token_threshold: int = DECODE_THRESHOLD, floor_ms: float = 18.0,
          decode_ms: float = 0.42, fixed_ms: float = 4.6, wire_ms: float = 8.0, wire_decode_ms: float = 0.133,
          handover_ms: float = 1.0) -> TwoBatches:
    """One decode step of the group, whole and split.

    whole = max(floor, decode * d) + fixed + wire; split = max(2 * max(floor, decode * d / 2) + fixed, wire + its fixed
    part once more) + handover.
    """
    rates = Rates(floor=floor_ms, decode=decode_ms, fixed=fixed_ms, wire=wire_ms, wire_decode=wire_decode_ms,
                  handover=handover_ms)

    def both(tokens: int) -> tuple[GroupStep, GroupStep]:
        loads = [Load(tokens)]
        return group_step(loads, rates), group_step(loads, rates, overlap=True, decode_threshold=0)

    whole, split = both(decodes)
    swept = []
    for tokens in sorted({*SWEPT, decodes}):
        one, two = both(tokens)
        swept.append(Swept(tokens, one.step_ms, two.step_ms, tokens == decodes))
    furthest = max(256, min(2 * decodes, MOST_DECODES))
    curve = []
    for tokens in range(4, furthest + 1, 4):
        one, two = both(tokens)
        curve.append((tokens, one.step_ms, two.step_ms))
    result = TwoBatches(
        whole, split, decodes >= dbo_decode_token_threshold, break_even(rates), dbo_decode_token_threshold,
        decodes / whole.step_ms * 1e3, decodes / split.step_ms * 1e3, tuple(swept),
        tuple(Measured(ranks, *times) for ranks, times in DEEPEP_US.items()), tuple(curve),
    )
    return replace(result, lines=tuple(lines_of(result, rates, decodes)), slips=tuple(slips_of(result, rates)))


def gain_ms(rates: Rates, decodes: float) -> float:
    """What splitting saves at so many decodes, a fraction of one allowed."""
    loads = [Load(decodes)]
    return group_step(loads, rates).step_ms - group_step(loads, rates, overlap=True, decode_threshold=0).step_ms


def break_even(rates: Rates) -> float | None:
    """The least decodes a rank from which splitting is no slower, found between two whole numbers by halving."""
    first = next((tokens for tokens in range(1, MOST_DECODES + 1) if gain_ms(rates, tokens) >= 0), None)
    if first in (None, 1):
        return first
    low, high = first - 1.0, float(first)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if gain_ms(rates, middle) >= 0 else (middle, high)
    return high


def lines_of(result: TwoBatches, rates: Rates, decodes: int) -> Iterator[Line]:
    """The whole step, then the split one."""
    wire = f"{rates.wire:g} + {rates.wire_decode:g} × {decodes:,}"
    yield Line("compute", f"max({rates.floor:g}, {rates.decode:g} × {decodes:,}) + {rates.fixed:g}",
               result.whole.compute_ms[0], "ms")
    yield Line("all-to-all", wire, result.whole.all_to_all_ms, "ms")
    yield Line("whole step", "", result.whole_ms, "ms", total=True)
    yield Line("two halves compute", f"2 × max({rates.floor:g}, {rates.decode:g} × {decodes / 2:g}) + {rates.fixed:g}",
               result.split.compute_ms[0], "ms")
    yield Line("all-to-all of both", f"{wire} + {rates.wire:g}", result.split.all_to_all_ms, "ms")
    yield Line("split step", f"the longer + {rates.handover:g}", result.split_ms, "ms", total=True)


def slips_of(result: TwoBatches, rates: Rates) -> Iterator[tuple[float, str]]:
    """The wrong split steps that people reach, and what each is."""
    once = result.whole.compute_ms[0]
    yield result.whole_ms, "That is the step in one batch."
    yield result.whole_ms / 2, "That halves it. Overlap hides the shorter part; it does not halve the longer."
    if result.split.compute_ms[0] > once:
        yield (max(once, result.split.all_to_all_ms) + rates.handover,
               "That reads the weights once. Each half reads them all.")
    yield (result.split.compute_ms[0] + result.split.all_to_all_ms,
           "That adds compute and wire. Split, they run beside each other.")
