"""Sums that depend on their order: one dot product split for the batch at hand, and what that does to a greedy text."""
from dataclasses import dataclass

import numpy as np

from calculators.models.base import Line, Refusal

FEW_SPLITS_FROM_BATCH = 64  # rows that fill a GPU without splitting the sum; kernels differ, this is a stand-in
MOST_VALUES = 24


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some values in a row, as given, and what they come to in the format."""

    values: tuple[float, ...]
    partial: float


@dataclass(frozen=True, slots=True)
class Split:
    """One way to cut the sum: its chunks, what the partial sums come to, and which of the two tokens is then larger."""

    splits: int
    chunks: tuple[Chunk, ...]
    sum: float
    winner: str
    present: bool


@dataclass(frozen=True, slots=True)
class SumOrder:
    """The logit of token A by number of splits, against that of B; then how long a text stays the same."""

    splits: int
    sum: float
    exact: float
    reversed_sum: float
    rival: float
    winner: str
    ways: tuple[Split, ...]
    distinct: int
    agree_share: float
    half_tokens: float
    flip_fraction: float
    text_tokens: int
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def finding(self) -> str:
        """What the sum and the choice come to, and whether another batch would say otherwise."""
        others = [count(way.splits) for way in self.ways if way.winner != self.winner]
        turns = f"; in {' or '.join(others)} the other token wins" if others else "; no other split here turns it"
        return f"In {count(self.splits)} the logit comes to {self.sum:,.10g} and {self.winner} wins{turns}."


def solve(*, values: tuple[float, ...], number_format: str, rival: float, batch: int, small_batch_splits: int,
          batch_invariant: bool, flip_fraction: float, text_tokens: int) -> SumOrder:
    """Add the values in order, in chunks of ceil(n / splits) whose partial sums are then added in order.

    After each addition the sum is rounded to `number_format` (bf16 or fp32), to nearest, ties to even. A batch below 64
    splits the sum, a larger one does not; `batch_invariant` never does. (1 - flip)^n: the chance that n tokens agree.
    Raises Refusal for more splits than values.
    Source: vllm/model_executor/determinism/batch_invariant.py; thinkingmachines.ai, Defeating Nondeterminism.
    """
    if small_batch_splits > len(values):
        raise Refusal(f"{len(values)} values make at most {len(values)} chunks.", "small_batch_splits")
    splits = 1 if batch_invariant or batch >= FEW_SPLITS_FROM_BATCH else small_batch_splits
    numbers = sorted({1, 2, min(4, len(values)), min(8, len(values)), small_batch_splits} & set(range(len(values) + 1)))
    ways = tuple(split(values, number, number_format, rival, number == splits) for number in numbers)
    here = next(way for way in ways if way.present)
    exact, agree = float(sum(map(np.longdouble, values))), (1 - flip_fraction) ** text_tokens
    return SumOrder(
        splits=splits, sum=here.sum, exact=exact, reversed_sum=added(values[::-1], number_format), rival=rival,
        winner=here.winner, ways=ways, distinct=len({way.sum for way in ways}), agree_share=agree,
        half_tokens=half_life(flip_fraction), flip_fraction=flip_fraction, text_tokens=text_tokens,
        lines=lines(here, number_format, flip_fraction, text_tokens, agree),
        slips=tuple((value, sentence) for value, sentence in (
            (exact, "That is the exact sum: it leaves out that every partial sum is rounded to the format."),
            (added(values[::-1], number_format), "That is the sum from the other end, smallest first."),
            (ways[0].sum, "That is the sum in one go: this batch cuts it into chunks first."),
        ) if value != here.sum),
    )


def split(values: tuple[float, ...], splits: int, number_format: str, rival: float, present: bool) -> Split:
    """The sum in chunks, and who wins against the rival; a tie goes to A, which stands first."""
    size = -(-len(values) // splits)
    chunks = tuple(Chunk(part, added(part, number_format))
                   for part in (values[at: at + size] for at in range(0, len(values), size)))
    total = added(tuple(chunk.partial for chunk in chunks), number_format)
    return Split(splits, chunks, total, "A" if total >= rival else "B", present)


def added(values: tuple[float, ...], number_format: str) -> float:
    """From left to right, rounded after each addition."""
    total = rounded(values[0], number_format)
    for value in values[1:]:
        total = rounded(total + rounded(value, number_format), number_format)
    return total


def rounded(value: float, number_format: str) -> float:
    """The nearest fp32 number, or the nearest bf16 one: the upper 16 bits of an fp32, ties to even."""
    single = np.float32(value)
    if number_format == "fp32":
        return float(single)
    bits = int(single.view(np.uint32))
    return float(np.uint32((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32))


def half_life(flip_fraction: float) -> float:
    """Tokens after which half the texts have parted; 0 when none ever does."""
    return float(np.log(0.5) / np.log1p(-flip_fraction)) if flip_fraction else 0.0


def lines(here: Split, number_format: str, flip_fraction: float, text_tokens: int, agree: float) -> tuple[Line, ...]:
    """The sum chunk by chunk, then the chance that a text stays the same."""
    parts = [Line(f"chunk {place}", joined(chunk.values), chunk.partial, number_format)
             for place, chunk in enumerate(here.chunks, 1)]
    partials = tuple(chunk.partial for chunk in here.chunks)
    total = Line("logit of A", joined(partials), here.sum, number_format, total=True)
    whole = Line("texts that agree", f"(1 − {flip_fraction:g})^{text_tokens:,}", agree)
    return (*parts, total, whole)


def joined(values: tuple[float, ...]) -> str:
    """"256 + 1 + 1"."""
    shown = " + ".join(f"{value:,.10g}" for value in values[:6])
    return shown.replace("+ -", "− ") + (" + …" if len(values) > 6 else "")


def count(splits: int) -> str:
    return "one go" if splits == 1 else f"{splits} splits"
