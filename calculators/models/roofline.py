"""The roofline of a decode step: what reading takes, what multiplying takes, and the batch where they meet."""
from dataclasses import dataclass

from calculators.models.base import Line
from calculators.models.catalogue import GPUS

BATCHES = (1, 64, 256, 512)
NEVER = 0  # a ridge batch that no batch reaches
SLIP_APART = 0.03


@dataclass(frozen=True, slots=True)
class AtBatch:
    """One batch: what memory and compute take in ms, the step, the intensity in FLOP/B, and tokens/s."""

    sequences: int
    memory_ms: float
    compute_ms: float
    step_ms: float
    intensity: float
    tokens_per_s: float
    per_user: float
    present: bool


@dataclass(frozen=True, slots=True)
class Roofline:
    """The ridge as intensity and as a batch (0: never), the step at the batch given, and the limits of both kinds.

    `limit_intensity` is what intensity tends to with the batch, 0 without context. `per_kernel_ms` adds the linear
    layers and attention, which run one after the other. `saturation_tokens_per_s` is what KV reads alone allow.
    """

    ridge_intensity: float
    ridge_batch: int
    here: AtBatch
    at_batches: tuple[AtBatch, ...]
    without_context: tuple[AtBatch, ...]
    limit_intensity: float
    saturation_tokens_per_s: float
    per_kernel_ms: float
    prefill_ms: float
    prefill_intensity: float
    weights_ms: float
    peak_tflop_per_s: float
    peak_tb_per_s: float
    binds: str
    verdict: str
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates in FLOP/s and B/s, and what a step costs: weights in bytes, FLOP and KV bytes of one sequence."""

    flop_per_s: float
    bytes_per_s: float
    weight_bytes: float
    linear_flop: float
    attention_flop: float
    kv_bytes: float

    def at(self, sequences: int, present: bool = False) -> AtBatch:
        read = self.weight_bytes + sequences * self.kv_bytes
        flop = sequences * (self.linear_flop + self.attention_flop)
        memory, compute = read / self.bytes_per_s * 1e3, flop / self.flop_per_s * 1e3
        step = max(memory, compute)
        return AtBatch(sequences, memory, compute, step, flop / read, sequences / step * 1e3, 1e3 / step, present)

    @property
    def meeting(self) -> float:
        """The batch at which both take as long; 0 when reading KV stays ahead of all products."""
        slope = (self.linear_flop + self.attention_flop) / self.flop_per_s - self.kv_bytes / self.bytes_per_s
        return self.weight_bytes / self.bytes_per_s / slope if slope > 0 else NEVER


def solve(*, gpu: str = "h100", tflop_per_s: float | None = None, tb_per_s: float | None = None,
          compute_share: float = 1.0, bandwidth_share: float = 1.0, params_b: float = 8.03,
          active_params_b: float | None = None, bytes_per_weight: float = 2.0, kv_bytes_per_token: int = 131_072,
          layers: int = 32, hidden: int = 4_096, context_tokens: int = 0, batch: int = 64, prefill_tokens: int = 8_192,
          tensor_parallel: int = 1) -> Roofline:
    """Place a decode step and a prefill under the roof of a GPU.

    memory = (weights + batch × context × KV) / bandwidth, compute = batch × (2 P + 4 L d context) / peak, the step
    is the longer. Products run at the dense bf16 peak unless another is given. Several GPUs share both; their
    links cost nothing here. Exact given the rates; shares of them are rules.
    Source: Williams, Waterman, Patterson, "Roofline", CACM 2009, doi 10.1145/1498765.1498785.
    """
    card, active = GPUS[gpu], (active_params_b or params_b) * 1e9
    peak = (tflop_per_s or card.bf16_tflop_per_s) * compute_share * tensor_parallel
    bandwidth = (tb_per_s or card.tb_per_s) * bandwidth_share * tensor_parallel
    pair = 4 * layers * hidden
    rates = Rates(peak * 1e12, bandwidth * 1e12, active * bytes_per_weight, 2 * active, pair * context_tokens,
                  float(context_tokens * kv_bytes_per_token))
    bare = Rates(peak * 1e12, bandwidth * 1e12, active * bytes_per_weight, 2 * active, 0, 0)
    meeting = max(round(rates.meeting), 1) if rates.meeting else 0  # 0: they never take as long
    here = rates.at(batch, present=True)
    counts = sorted({*BATCHES, batch})
    limit = (rates.linear_flop + rates.attention_flop) / rates.kv_bytes if context_tokens else 0.0
    prefill_flop = 2 * active * prefill_tokens + pair * prefill_tokens**2 / 2
    linear = max(bare.at(batch).memory_ms, bare.at(batch).compute_ms)
    attention = batch * max(rates.kv_bytes / rates.bytes_per_s, rates.attention_flop / rates.flop_per_s) * 1e3
    ridge = peak / bandwidth
    return Roofline(
        ridge_intensity=ridge, ridge_batch=meeting, here=here,
        at_batches=tuple(rates.at(count, count == batch) for count in counts),
        without_context=tuple(bare.at(count, count == batch) for count in counts), limit_intensity=limit,
        saturation_tokens_per_s=rates.bytes_per_s / rates.kv_bytes if context_tokens else 0.0,
        per_kernel_ms=linear + attention,
        prefill_ms=max(prefill_flop / rates.flop_per_s, rates.weight_bytes / rates.bytes_per_s) * 1e3,
        prefill_intensity=prefill_flop / rates.weight_bytes, weights_ms=bare.at(1).memory_ms, peak_tflop_per_s=peak,
        peak_tb_per_s=bandwidth, binds="memory" if here.memory_ms >= here.compute_ms else "compute",
        verdict=verdict(meeting, limit, ridge, rates, context_tokens, here),
        finding=f"{batch:,} sequence{'s' * (batch != 1)}: {here.memory_ms:,.3g} ms to read, {here.compute_ms:,.3g} ms "
                f"to multiply; decode turns compute-bound {f'at {meeting:,}' if meeting else 'never'}.",
        lines=lines_of(peak, bandwidth, rates, meeting, limit, here, context_tokens, prefill_tokens, prefill_flop),
        slips=slips_of(meeting, ridge, bytes_per_weight),
    )


def verdict(meeting: int, limit: float, ridge: float, rates: Rates, context: int, here: AtBatch) -> str:
    """Which side the step is on, and what a larger batch brings, in sentences."""
    side = "reading" if here.memory_ms >= here.compute_ms else "products"
    if not meeting:
        return (f"At {context:,} tokens of context intensity never passes {limit:,.3g} FLOP/B, below the ridge at "
                f"{ridge:,.3g}: KV is read for each sequence, and throughput tends to "
                f"{rates.bytes_per_s / rates.kv_bytes:,.0f} tokens/s.")
    more = "costs little time until then" if here.sequences < meeting else "takes longer"
    return f"The step is bound by {side}; both take as long at {meeting:,} sequences. A larger batch {more}."


def lines_of(peak: float, bandwidth: float, rates: Rates, meeting: int, limit: float, here: AtBatch, context: int,
             prefill_tokens: int, prefill_flop: float) -> tuple[Line, ...]:
    """The ridge, the step and the prefill with their numbers filled in."""
    weights, kv = rates.weight_bytes / 1e9, rates.kv_bytes / 1e9
    each = (rates.linear_flop + rates.attention_flop) / 1e9
    most = (Line("intensity at most", f"{each:.4g} / {kv:.4g}", limit, "FLOP/B"),) if context else ()
    return (
        Line("ridge", f"{peak:,.4g} TFLOP/s / {bandwidth:.4g} TB/s", peak / bandwidth, "FLOP/B"),
        Line("memory", f"({weights:.4g} + {here.sequences:,} × {kv:.4g}) GB / {bandwidth:.4g} TB/s", here.memory_ms,
             "ms"),
        Line("compute", f"{here.sequences:,} × {each:.4g} GFLOP / {peak:,.4g} TFLOP/s", here.compute_ms, "ms"),
        Line("step", f"max({here.memory_ms:.4g}, {here.compute_ms:.4g})", here.step_ms, "ms", total=True),
        Line("intensity", f"{here.sequences:,} × {each:.4g} / ({weights:.4g} + {here.sequences:,} × {kv:.4g})",
             here.intensity, "FLOP/B"),
        *most,
        Line("ridge batch, 0 for never", "", meeting, "sequences"),
        Line("tokens", f"{here.sequences:,} / {here.step_ms:.4g} ms", here.tokens_per_s, "tokens/s"),
        Line(f"prefill of {prefill_tokens:,}", f"{prefill_flop / 1e12:,.4g} TFLOP / {peak:,.4g} TFLOP/s",
             prefill_flop / rates.flop_per_s * 1e3, "ms"),
    )


def slips_of(meeting: int, ridge: float, bytes_per_weight: float) -> tuple[tuple[float, str], ...]:
    """Wrong ridge batches that people reach, and what each gets wrong."""
    slips = (
        (2 * ridge, "That takes the peak with sparsity, which is twice the dense one."),
        (ridge, "That is the ridge for 16-bit weights without a context."),
        (ridge * bytes_per_weight / 2, "That leaves out the context: KV is read for every sequence."),
        (ridge / 2, "That counts one FLOP for each weight; a multiply and an add are two."),
    )
    if not meeting:
        never = "No batch gets there: KV is read for each sequence, and reading it stays ahead of the products."
        return tuple((value, never) for value, _ in slips)
    return tuple((value, sentence) for value, sentence in slips if abs(value / meeting - 1) > SLIP_APART)
