"""Smaller KV: what a narrower cache format does to a token, to the pool, and to the decode step."""
from dataclasses import dataclass, replace

from calculators.models import catalogue
from calculators.models.base import Line, Refusal
from calculators.models.catalogue import BF16, FP8, GPUS
from calculators.models.kv_token import binary, layer_bytes
from calculators.models.long_replies import as_long_as, itl_ms
from calculators.models.step_time import Machine, kv_read_ms, linear_ms

# Models that fit one GPU, with layers that all keep every token.
MODELS = ("llama-3.1-8b", "llama-2-7b", "qwen3-8b", "qwen3-14b", "qwen3-32b")
SLIP_APART = 0.02  # of the step; the terms lie near each other


@dataclass(frozen=True, slots=True)
class Format:
    """One cache format: bytes of a token, tokens of the pool, sequences of the context, and a step at the batch."""

    name: str
    token_bytes: int
    pool_tokens: int
    ceiling: int
    products_ms: float
    kv_ms: float
    cpu_ms: float
    itl_ms: float
    present: bool


@dataclass(frozen=True, slots=True)
class SmallerKv:
    """A decode step before (bf16) and after, at one batch and context; ms, and what the room gained may buy.

    `shrinks` is how many times less a token takes. `equal_itl_sequences` is the batch whose step takes as long as
    before. `doubled_*` are at twice the batch, `doubled_gain` the tokens/s there over those before.
    """

    before: Format
    after: Format
    formats: tuple[Format, ...]
    shrinks: float
    kv_share: float
    before_ms: float
    after_ms: float
    saved_ms: float
    saved_share: float
    itl_gain: float
    equal_itl_sequences: int
    equal_itl_gain: float
    doubled_sequences: int
    doubled_itl_ms: float
    doubled_gain: float
    ridge: int
    finding: str
    worth_verdict: str
    doubled_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, kv_cache_dtype: str = FP8, sequences: int = 32, context_tokens: int = 512, pool_gib: float = 55,
          model: str = "llama-3.1-8b", gpu: str = "h100", block_size: int = 16, tflop_per_s: float | None = None,
          tb_per_s: float | None = None, cpu_ms: float = 0.9) -> SmallerKv:
    """Compare a decode step with a bf16 cache and with a narrower one.

    Step = max(W/BW, 2NB/F) + B * context * KV bytes / BW + t0; only its middle term shrinks. Bytes and tokens are
    exact, times good to some 30%. An empty `tflop_per_s` or `tb_per_s` is the GPU's effective one.
    Raises Refusal when the batch does not fit the pool before or after.
    Source: vllm 0.33.0, config/cache.py, CacheDType; utils/torch_utils.py, nvfp4_kv_cache_full_dim.
    """
    machine = catalogue.machine(model, gpu, tflop_per_s=tflop_per_s, tb_per_s=tb_per_s, cpu_ms=cpu_ms)
    scene = (model, sequences, context_tokens, int(pool_gib * 2**30), block_size)
    formats = tuple(
        format_of(machine, form, *scene, present=form == kv_cache_dtype) for form in (BF16, FP8, catalogue.NVFP4)
    )
    before, after = formats[0], next(form for form in formats if form.present)
    if after.ceiling < sequences:
        raise Refusal(f"At {context_tokens:,} tokens the pool holds {after.ceiling:,} sequences in {after.name}, not "
                      f"{sequences:,}.", "sequences")
    narrower = replace(machine, kv_bytes_per_token=after.token_bytes)
    equal = as_long_as(narrower, context_tokens, before.itl_ms)
    doubled = itl_ms(narrower, 2 * sequences, context_tokens)
    result = SmallerKv(
        before=before, after=after, formats=formats, shrinks=before.token_bytes / after.token_bytes,
        kv_share=before.kv_ms / before.itl_ms, before_ms=before.itl_ms, after_ms=after.itl_ms,
        saved_ms=before.itl_ms - after.itl_ms,
        saved_share=1 - after.itl_ms / before.itl_ms, itl_gain=before.itl_ms / after.itl_ms,
        equal_itl_sequences=equal, equal_itl_gain=equal / sequences, doubled_sequences=2 * sequences,
        doubled_itl_ms=doubled, doubled_gain=2 * before.itl_ms / doubled, ridge=round(GPUS[gpu].ridge),
        finding="", worth_verdict="", doubled_verdict="", lines=(), slips=(),
    )
    return replace(
        result, finding=finding(result, sequences), worth_verdict=worth_verdict(result),
        doubled_verdict=doubled_verdict(result), lines=lines_of(result, narrower, sequences, context_tokens),
        slips=slips_of(result),
    )


def format_of(machine: Machine, form: str, model: str, sequences: int, context: int, pool_bytes: int, block_size: int,
              *, present: bool) -> Format:
    """A format's token and pool, and the step of the batch with it."""
    shape = catalogue.MODELS[model]
    per_token = layer_bytes(shape, form) * shape.layers
    blocks = pool_bytes // (per_token * block_size)
    machine = replace(machine, kv_bytes_per_token=per_token)
    return Format(form, per_token, blocks * block_size, blocks // -(-context // block_size),
                  linear_ms(machine, sequences), kv_read_ms(machine, sequences * context), machine.cpu_ms,
                  itl_ms(machine, sequences, context), present)


def finding(result: SmallerKv, sequences: int) -> str:
    """The whole result in one sentence."""
    return (f"At {sequences:,} sequences {result.after.name} takes the step from {result.before.itl_ms:.1f} to "
            f"{result.after.itl_ms:.1f} ms: KV reads are {result.kv_share:.0%} of it.")


def worth_verdict(result: SmallerKv) -> str:
    """Whether it is worth something, in a sentence or two."""
    if result.after.name == BF16:
        return "This is the cache as it is: choose a narrower format to compare."
    if result.saved_share < 0.1:
        return (f"Worth nothing here for speed: KV is {result.before.kv_ms:.1f} of {result.before.itl_ms:.1f} ms. The "
                f"pool still holds {result.shrinks:.3g}× the tokens.")
    return (f"Worth {result.saved_share:.0%} of the gap at the same batch, or {result.equal_itl_sequences:,} sequences "
            f"at the same gap, {result.equal_itl_gain:.2f}× as many.")


def doubled_verdict(result: SmallerKv) -> str:
    """What twice the batch brings, in a sentence."""
    if result.doubled_sequences > result.after.ceiling:
        return (f"Twice the batch, {result.doubled_sequences:,}, does not fit: the pool holds {result.after.ceiling:,} "
                f"at this length.")
    past = " Past the ridge the products grow too." if result.doubled_sequences > result.ridge else ""
    return (f"Twice the batch takes {result.doubled_itl_ms:.1f} ms, {result.doubled_gain:.2f}× the tokens/s of before."
            f"{past}")


def lines_of(result: SmallerKv, narrower: Machine, sequences: int, context: int) -> tuple[Line, ...]:
    """The step after, term by term, and what it was."""
    read, after = f"{narrower.bytes_per_s / 1e12:g}e12", result.after
    weights = narrower.weight_bytes / narrower.bytes_per_s * 1e3 >= after.products_ms
    return (
        Line("weights", f"{narrower.weight_bytes / 1e9:g}e9 / {read}", after.products_ms, "ms") if weights else
        Line("products", f"2 × {narrower.parameters / 1e9:g}e9 × {sequences:,} / {narrower.flop_per_s / 1e12:g}e12",
             after.products_ms, "ms"),
        Line("KV", f"{sequences:,} × {context:,} × {after.token_bytes:,} / {read}", after.kv_ms, "ms"),
        Line("CPU", "", after.cpu_ms, "ms"),
        Line(f"the gap in {after.name}", "", after.itl_ms, "ms", total=True),
        Line("the gap in bf16", f"KV {result.before.kv_ms:.3g} in its place", result.before.itl_ms, "ms"),
        Line("a token", f"{binary(result.before.token_bytes)} / {result.shrinks:.3g}", after.token_bytes / 1024, "KiB"),
    )


def slips_of(result: SmallerKv) -> tuple[tuple[float, str], ...]:
    """The wrong gaps (ms) that people reach and what each leaves out; none near the right one."""
    before, after = result.before, result.after
    slips = (
        (before.itl_ms / result.shrinks,
         "That shrinks the whole step. Only the KV reads shrink; weights and CPU stay."),
        (before.itl_ms, "That is the step with the bf16 cache."),
        (before.itl_ms - before.products_ms * (1 - 1 / result.shrinks),
         "That shrinks the weights. They keep their own format."),
        (after.kv_ms, "That is the KV alone; the step reads the weights as well."),
        (after.itl_ms - after.cpu_ms, "That leaves out what the CPU adds to every step."),
    )
    return tuple((value, sentence) for value, sentence in slips if abs(value / after.itl_ms - 1) > SLIP_APART)
