"""Formats of weights and KV on one GPU: what each does to decode, to prefill and to capacity."""
from dataclasses import dataclass

from calculators.models.base import Line
from calculators.models.catalogue import BF16, BITS, FP8, GPUS, INT4, MODELS, NVFP4, Gpu, Model

FORMATS = {BF16: "bf16", FP8: "fp8 W8A8", INT4: "int4 W4A16", NVFP4: "nvfp4"}
BATCHES = (1, 64, 256)


@dataclass(frozen=True, slots=True)
class InFormat:
    """One format: bytes read a step, a decode step with 16-bit and with 8-bit KV, and a prefill, in ms.

    `binds` says what sets the 16-bit step; `more_tokens` are tokens of 16-bit KV that fit in the weights saved.
    """

    name: str
    read_gb: float
    kv16_ms: float
    kv8_ms: float
    prefill_ms: float
    kv16_gain: float
    kv8_gain: float
    prefill_gain: float
    binds: str
    more_tokens: int


@dataclass(frozen=True, slots=True)
class WeightFormats:
    """Each format at one batch, and the gains by batch; `fp8_gain` and `kv8_gain` are of the two halvings alone."""

    formats: tuple[InFormat, ...]
    by_batch: tuple[tuple[int, tuple[InFormat, ...]], ...]
    fp8_gain: float
    kv8_gain: float
    best: str
    verdict: str
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, model: str = "llama-3.1-8b", gpu: str = "h100", batch: int = 1, context_tokens: int = 2_048,
          prefill_tokens: int = 8_192) -> WeightFormats:
    """Compare formats on one GPU at its peak rates.

    decode = max((weights + batch × context × KV) / bandwidth, 2 × P × batch / peak), prefill = max(weights / bandwidth,
    2 × P_linear × tokens / peak). Weights are the linear ones and the head, which stays in bf16; a prefill needs the
    head for one row. Only formats whose activations are as narrow use the faster units: int4 runs at the bf16 peak, and
    so does nvfp4 where the GPU has no such units.
    Exact given the rates; overhead and dequantisation are left out.
    """
    chosen, card = MODELS[model], GPUS[gpu]

    def all_formats(sequences: int) -> tuple[InFormat, ...]:
        return tuple(in_format(form, chosen, card, sequences, context_tokens, prefill_tokens) for form in FORMATS)

    formats = all_formats(batch)
    bf16, fp8 = formats[0], formats[1]
    best = min(formats, key=lambda each: each.kv16_ms)
    kv = context_tokens * chosen.kv_bytes_per_token * batch / 1e9
    return WeightFormats(
        formats=formats, by_batch=tuple((count, all_formats(count)) for count in sorted({*BATCHES, batch})),
        fp8_gain=fp8.kv16_gain, kv8_gain=bf16.kv8_gain, best=best.name,
        verdict=verdict(fp8, bf16, formats, batch),
        finding=f"At batch {batch:,} fp8 weights give {fp8.kv16_gain:.2f}×, an fp8 KV cache alone "
                f"{bf16.kv8_gain:.2f}×; int4 gives prefill {formats[2].prefill_gain:.2f}×.",
        lines=(
            Line("bf16, read", f"{bf16.read_gb:.4g} + {kv:.4g}", bf16.read_gb + kv, "GB"),
            Line("bf16, a step", f"{bf16.read_gb + kv:.4g} GB / {card.tb_per_s:g} TB/s" if bf16.binds == "memory" else
                 "its products", bf16.kv16_ms, "ms"),
            Line("fp8, read", f"{fp8.read_gb:.4g} + {kv:.4g}", fp8.read_gb + kv, "GB"),
            Line("fp8, a step", f"{fp8.read_gb + kv:.4g} GB / {card.tb_per_s:g} TB/s" if fp8.binds == "memory" else
                 "its products", fp8.kv16_ms, "ms"),
            Line("gain", f"{bf16.kv16_ms:.4g} / {fp8.kv16_ms:.4g}", fp8.kv16_gain, "×", total=True),
            Line("fp8 KV alone", f"{bf16.kv16_ms:.4g} / {bf16.kv8_ms:.4g}", bf16.kv8_gain, "×"),
            Line("prefill, fp8", f"{bf16.prefill_ms:.4g} / {fp8.prefill_ms:.4g}", fp8.prefill_gain, "×"),
        ),
        slips=tuple((value, sentence) for value, sentence in (
            (2.0, "That is the ratio of the linear weights. The head stays in bf16, and KV is read as before."),
            (bf16.kv8_gain, "That is what an fp8 KV cache gives; these are weights."),
            (fp8.prefill_gain, "That is the gain of a prefill, which is products."),
        ) if abs(value / fp8.kv16_gain - 1) > 0.03),
    )


def in_format(form: str, model: Model, gpu: Gpu, batch: int, context: int, prefill: int) -> InFormat:
    """One format's times beside bf16's."""
    linear = model.parameters - model.vocabulary * model.hidden * (1 if model.tied else 2)
    head = model.vocabulary * model.hidden
    read = linear * BITS[form] / 8 + 2 * head
    peak, bandwidth = gpu.tflop_per_s(form) * 1e12, gpu.tb_per_s * 1e12
    base_peak, base_read = gpu.tflop_per_s(BF16) * 1e12, 2 * (linear + head)
    kv = batch * context * model.kv_bytes_per_token

    def step(weights: float, cache: float, rate: float) -> float:
        return max((weights + cache) / bandwidth, 2 * (linear + head) * batch / rate) * 1e3

    kv16, kv8 = step(read, kv, peak), step(read, kv / 2, peak)
    base = step(base_read, kv, base_peak)
    first = max(read / bandwidth, 2 * linear * prefill / peak) * 1e3
    base_first = max(base_read / bandwidth, 2 * linear * prefill / base_peak) * 1e3
    return InFormat(
        name=FORMATS[form], read_gb=read / 1e9, kv16_ms=kv16, kv8_ms=kv8, prefill_ms=first, kv16_gain=base / kv16,
        kv8_gain=base / kv8, prefill_gain=base_first / first,
        binds="memory" if (read + kv) / bandwidth >= 2 * (linear + head) * batch / peak else "compute",
        more_tokens=int((base_read - read) // model.kv_bytes_per_token),
    )


def verdict(fp8: InFormat, bf16: InFormat, formats: tuple[InFormat, ...], batch: int) -> str:
    """Which half of the bytes matters here, in sentences."""
    ahead = "weights" if fp8.kv16_gain >= bf16.kv8_gain else "KV"
    return (f"At batch {batch:,} most is to be gained on {ahead}. Weight-only int4 leaves a prefill where it was; fp8 "
            f"speeds it {fp8.prefill_gain:.2f}×. What fp8 weights free holds {fp8.more_tokens:,} more tokens of KV.")
