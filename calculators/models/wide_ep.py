"""Expert-parallel ranks in lockstep: no rank leaves a layer before the slowest has sent; a step is as long as its own.

The milliseconds are of a toy: chosen so that 128 decodes a rank come to about what wide expert parallelism reaches on
H200s. Who waits for whom is the engine's: vllm/v1/engine/core.py, DPEngineCoreProc.
"""
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from calculators.models.catalogue import MODELS

MODEL = MODELS["deepseek-v3"]
MOE_LAYERS = 58
SLOT_BYTES = 3 * MODEL.hidden * MODEL.ffn * MOE_LAYERS  # one expert, FP8, in every MoE layer
KV_BYTES_PER_TOKEN = MODEL.layers * (MODEL.latent + MODEL.rope) * 2  # bf16
LARGEST_GRAPH = 512  # tokens; vLLM's largest captured size but on data-centre Blackwell
DECODE_THRESHOLD, PREFILL_THRESHOLD = 32, 512  # tokens a rank from which a step is split in two
FULL, PIECEWISE, EAGER = "full", "piecewise", "eager"


@dataclass(frozen=True, slots=True)
class Rates:
    """What a step costs, in ms: `floor` for the weights, so much a token, and a fixed part; the same for the wire."""

    floor: float = 18.0
    decode: float = 0.42
    prefill: float = 0.10
    fixed: float = 4.6
    wire: float = 8.0
    wire_decode: float = 0.133
    wire_prefill: float = 0.01
    moe_share: float = 0.5  # of a decode's compute
    handover: float = 1.0  # of two half batches


TOY = Rates()


@dataclass(frozen=True, slots=True)
class Load:
    """What one rank has to do: tokens, its experts' load over the mean of all ranks, and how much slower it is."""

    decodes: int
    prefill: int = 0
    experts: float = 1.0
    slow: float = 1.0

    @property
    def tokens(self) -> int:
        return self.decodes + self.prefill


@dataclass(frozen=True, slots=True)
class GroupStep:
    """One step of the group: each rank's compute, the all-to-all after it, and the whole, in ms."""

    compute_ms: tuple[float, ...]
    all_to_all_ms: float
    step_ms: float
    overlapped: bool = False

    @property
    def busy(self) -> tuple[float, ...]:
        """Each rank's share of the step in which it computes."""
        return tuple(ms / self.step_ms for ms in self.compute_ms)

    @property
    def waits_ms(self) -> tuple[float, ...]:
        """How long each rank waits for the slowest."""
        longest = max(self.compute_ms)
        return tuple(longest - ms for ms in self.compute_ms)


def group_step(loads: Sequence[Load], rates: Rates = TOY, overlap: bool = False,
               decode_threshold: int = DECODE_THRESHOLD, prefill_threshold: int = PREFILL_THRESHOLD) -> GroupStep:
    """One step of all ranks.

    compute = max(floor, decode * d * ((1 - moe) + moe * m) + prefill * p) + fixed; the step adds the all-to-all to the
    longest. Split in two (`overlap`, when every rank has enough tokens) each half pays the floor, the wire its fixed
    part twice, and the step is the longer of compute and wire.
    """
    wire = (rates.wire + rates.wire_decode * max(load.decodes for load in loads)
            + rates.wire_prefill * max(load.prefill for load in loads))
    threshold = prefill_threshold if any(load.prefill for load in loads) else decode_threshold
    halves = 2 if overlap and min(load.tokens for load in loads) >= threshold else 1
    compute = tuple(
        (halves * max(rates.floor, tokens_ms(load, rates) / halves) + rates.fixed) * load.slow for load in loads
    )
    if halves == 1:
        return GroupStep(compute, wire, max(compute) + wire)
    wire += rates.wire
    return GroupStep(compute, wire, max(*compute, wire) + rates.handover, overlapped=True)


def tokens_ms(load: Load, rates: Rates) -> float:
    """What a rank's tokens take to compute, without floor and fixed part."""
    experts = (1 - rates.moe_share) + rates.moe_share * load.experts
    return rates.decode * load.decodes * experts + rates.prefill * load.prefill


def alike(ranks: int, load: Load) -> list[Load]:
    return [load] * ranks


def graph_mode(loads: Iterable[Load], largest: int = LARGEST_GRAPH) -> str:
    """The graph mode that all ranks share, the least of any: full, piecewise, eager.

    Source: vllm/v1/worker/gpu/dp_utils.py, sync_cudagraph_and_dp_padding.
    """
    loads = list(loads)
    if max(load.tokens for load in loads) > largest:
        return EAGER
    return PIECEWISE if any(load.prefill for load in loads) else FULL
