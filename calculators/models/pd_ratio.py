"""How many nodes prefill and how many decode: the two kinds of work that a traffic brings, in nodes."""
from collections.abc import Iterator
from dataclasses import dataclass, replace

from calculators.models.base import Line, rounded_up
from calculators.models.quantity import say

SHAPES = ((1_000, 200), (2_000, 500), (4_000, 500), (1_000, 1_000), (8_000, 200), (500, 2_000))


@dataclass(frozen=True, slots=True)
class Shape:
    """A prompt and an answer of some length, and the prefill nodes for one decode node that such traffic takes."""

    input_tokens: int
    output_tokens: int
    ratio: float
    present: bool


@dataclass(frozen=True, slots=True)
class PdRatio:
    """Nodes of either kind that the traffic keeps busy, and the whole ones that are bought."""

    prefill_work: float
    decode_work: float
    prefill_tokens_per_s: float
    decode_tokens_per_s: float
    shapes: tuple[Shape, ...]
    lines: tuple[Line, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()

    @property
    def ratio(self) -> float:
        return self.prefill_work / self.decode_work

    @property
    def prefill_nodes(self) -> int:
        return rounded_up(self.prefill_work)

    @property
    def decode_nodes(self) -> int:
        return rounded_up(self.decode_work)

    @property
    def finding(self) -> str:
        """The ratio, and the nodes."""
        return (f"P:D is {say(self.ratio, '')}. The traffic keeps {say(self.prefill_work, '')} nodes prefilling and "
                f"{say(self.decode_work, '')} decoding: {self.prefill_nodes} and {self.decode_nodes} whole ones.")


def solve(*, input_tokens: int = 4_000, output_tokens: int = 500, hit_share: float = 0, rate_per_s: float = 20,
          prefill_node_tokens_per_s: float = 73_700, decode_node_tokens_per_s: float = 14_800) -> PdRatio:
    """ratio = (input (1 - hit) / P's rate) / (output / D's rate); nodes = ceil(requests/s * tokens / a node's rate).

    Exact. The starting rates are DeepSeek's averages of an 8 x H800 node, prefill counted with its cache hits.
    """
    computed = input_tokens * (1 - hit_share)
    prefill, decode = rate_per_s * computed, rate_per_s * output_tokens
    shapes = tuple(
        Shape(one, two, one * (1 - hit_share) / prefill_node_tokens_per_s / (two / decode_node_tokens_per_s), present)
        for one, two, present in shown_shapes(input_tokens, output_tokens)
    )
    result = PdRatio(prefill / prefill_node_tokens_per_s, decode / decode_node_tokens_per_s, prefill, decode, shapes)
    p, d = f"{prefill_node_tokens_per_s:,.0f}", f"{decode_node_tokens_per_s:,.0f}"
    lines = (
        Line("to prefill", f"{rate_per_s:g}/s × {input_tokens:,} × (1 − {hit_share:g})", prefill, "tokens/s"),
        Line("prefill nodes", f"{prefill:,.0f} / {p}", result.prefill_work, "nodes"),
        Line("to decode", f"{rate_per_s:g}/s × {output_tokens:,}", decode, "tokens/s"),
        Line("decode nodes", f"{decode:,.0f} / {d}", result.decode_work, "nodes"),
        Line("P:D", f"{say(result.prefill_work, '')} / {say(result.decode_work, '')}", result.ratio),
    )
    return replace(result, lines=lines, slips=tuple(slips_of(result, input_tokens, output_tokens, hit_share)))


def shown_shapes(input_tokens: int, output_tokens: int) -> Iterator[tuple[int, int, bool]]:
    """The usual shapes, and the one at hand if it is not among them."""
    at_hand = (input_tokens, output_tokens)
    for shape in SHAPES if at_hand in SHAPES else (*SHAPES, at_hand):
        yield *shape, shape == at_hand


def slips_of(result: PdRatio, input_tokens: int, output_tokens: int, hit_share: float) -> Iterator[tuple[float, str]]:
    """Wrong ratios, and what each is."""
    yield input_tokens / output_tokens, "That is the tokens alone; a node prefills more of them a second."
    yield 1 / result.ratio, "That is D:P."
    if hit_share:
        yield result.ratio / (1 - hit_share), "That prefills what the cache already has."
    yield result.prefill_nodes / result.decode_nodes, "That is of whole nodes; the ratio is of the work."
