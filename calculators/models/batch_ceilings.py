"""Batch ceilings: how many sequences decode together, and which of KV pool, compute ridge and flag stops them first."""
from dataclasses import dataclass, replace

from calculators.models import catalogue
from calculators.models.base import Line, Refusal
from calculators.models.catalogue import BF16, FULL, GPUS, Gpu
from calculators.models.quantity import say
from calculators.models.step_time import Machine, kv_read_ms, linear_ms, step_ms

# Each layer keeps every token and every token meets every weight: what the rules below count on.
MODELS = catalogue.MODELS.only(lambda model: model.pattern == (FULL,) and not model.experts)
CONTEXTS = (256, 1_024, 2_048, 4_096, 8_192)
LARGEST_BATCH = 2_048  # of the sweep
LARGE_GIB = 70  # a GPU with as much memory gets the large default of max_num_seqs, the A100 apart
SLIP_APART = 0.05  # a wrong value nearer to the right one than this is no slip
KV, RIDGE, FLAG = "KV", "ridge", "flag"


@dataclass(frozen=True, slots=True)
class Point:
    """One decode step at a batch: its two parts in ms, the tokens/s of all sequences and of each."""

    batch: int
    products_ms: float
    kv_ms: float
    step_ms: float
    tokens_per_s: float
    user_tokens_per_s: float


@dataclass(frozen=True, slots=True)
class AtContext:
    """The ceilings for sequences of one length; `reached` is what the scheduler admits, past the ridge if need be."""

    context: int
    kv_ceiling: int
    lowest: int
    binds: str
    reached: int
    present: bool


@dataclass(frozen=True, slots=True)
class BatchCeilings:
    """The three ceilings in sequences, the lowest and its name, and the step there and at what is admitted.

    `reached` is the lower of KV ceiling and flag. `ridge` is at the given rates, `rule_ridge` at 62% and 80% of them;
    `one_roofline` is where the ridge would lie if KV reads and products overlapped, None when they never met.
    `machine` is all the GPUs together, as the step-time rule sees them.
    """

    machine: Machine
    pool_bytes: int
    pool_blocks: int
    pool_tokens: int
    sequence_blocks: int
    kv_ceiling: int
    ridge: int
    rule_ridge: int
    one_roofline: float | None
    flag: int
    lowest: int
    binds: str
    reached: int
    reached_by: str
    best: Point
    full: Point
    sweep: tuple[Point, ...]
    contexts: tuple[AtContext, ...]
    lines: tuple[Line, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()

    @property
    def token_bytes(self) -> int:
        """The KV that one token keeps."""
        return self.machine.kv_bytes_per_token

    @property
    def compute_tflop_per_s(self) -> float:
        return self.machine.flop_per_s / 1e12

    @property
    def memory_tb_per_s(self) -> float:
        return self.machine.bytes_per_s / 1e12

    @property
    def flag_over_ridge(self) -> float:
        return self.flag / self.ridge

    @property
    def slower(self) -> float:
        """How many times slower each user is at what is admitted than at the lowest ceiling."""
        return self.full.step_ms / self.best.step_ms

    @property
    def gain(self) -> float:
        """What all users together gain there, as a fraction."""
        return self.full.tokens_per_s / self.best.tokens_per_s - 1

    @property
    def finding(self) -> str:
        """The whole result in one sentence."""
        context = next(row.context for row in self.contexts if row.present)
        which = {KV: "the KV pool", RIDGE: "the compute ridge", FLAG: "the flag"}[self.binds]
        return (f"For sequences of {context:,} tokens {which} is the lowest ceiling: {self.lowest:,} of KV "
                f"{self.kv_ceiling:,}, ridge {self.ridge:,} and flag {self.flag:,}.")

    @property
    def binds_verdict(self) -> str:
        """What a step at the lowest ceiling is made of, in a sentence."""
        best = self.best
        return (f"At {best.batch:,} a step takes {say(best.step_ms, 'ms')}, {best.kv_ms / best.step_ms:.0%} of it "
                f"reading KV: {best.tokens_per_s:,.0f} tokens/s, {best.user_tokens_per_s:,.0f} for each user.")

    @property
    def flag_verdict(self) -> str:
        """What the flag does here and whether to change it, in a sentence or two."""
        if self.binds == FLAG:
            others = f"the pool holds {self.kv_ceiling:,} and the ridge lies at {self.ridge:,}"
            return f"The flag binds: {others}, so a higher one adds throughput up to the lower of the two."
        if self.binds == KV:
            return (f"The flag of {self.flag:,} is not reached: the pool is full at {self.kv_ceiling:,}. It sizes "
                    "buffers and graph captures; below the pool's ceiling it would cap the batch.")
        if self.reached == self.ridge:
            return f"The batch stops at the ridge, {self.ridge:,}."
        lets = "The flag" if self.reached_by == FLAG else "The pool"
        more = "nothing more" if self.gain < 1e-4 else f"{self.gain:.2%} more" if self.gain < 0.01 else "little more"
        return (f"{lets} lets in {self.reached:,}, {self.reached / self.ridge:.1f}× the ridge: each user falls from "
                f"{self.best.user_tokens_per_s:,.0f} to {self.full.user_tokens_per_s:,.0f} tokens/s, for {more} in "
                f"all. A flag near {self.ridge:,} stops there.")


def solve(*, context_tokens: int = 2_048, max_num_seqs: int | None = None, pool_gib: float | None = 55,
          model: str = "llama-3.1-8b", gpu: str = "h100", tensor_parallel_size: int = 1, weight_bits: int = 16,
          products: str = BF16, kv_bits: int = 16, block_size: int = 16, gpu_memory_utilization: float = 0.92,
          other_gib: float = 3.5, tflop_per_s: float | None = None, tb_per_s: float | None = None) -> BatchCeilings:
    """Compare the three ceilings on the batch of a decode step, every sequence `context_tokens` long in the end.

    KV ceiling = blocks of the pool / blocks of a sequence; ridge = the batch whose products take as long as reading the
    weights, F * W / (2N * BW); flag = max_num_seqs, by default the GPU's. A step is max(W/BW, 2NB/F) + B * context *
    KV bytes / BW at datasheet rates. An empty pool is utilization * memory - weights - other; empty rates are the
    datasheet's. The KV ceiling is exact for the pool, the ridge good to some 30%.
    Raises Refusal when the weights and the pool don't fit, or not one sequence does.
    Source: vllm 0.33.0, engine/arg_utils.py, EngineArgs.get_batch_defaults; v1/core/kv_cache_utils.py.
    """
    card = GPUS[gpu]
    machine = machine_of(model, card, tensor_parallel_size, weight_bits, products, kv_bits, tflop_per_s, tb_per_s)
    pool_bytes = pool_of(machine, card, tensor_parallel_size, gpu_memory_utilization, other_gib, pool_gib)
    blocks = pool_bytes // (machine.kv_bytes_per_token * block_size)
    needed = -(-context_tokens // block_size)
    if needed > blocks:
        raise Refusal(f"One sequence needs {needed:,} blocks; the pool holds {blocks:,}.", "context_tokens")

    ridge = max(round(ridge_of(machine)), 1)
    flag = max_num_seqs or default_max_num_seqs(gpu)
    contexts = tuple(
        at_context(context, blocks // -(-context // block_size), ridge, flag, context_tokens)
        for context in sorted({*CONTEXTS, context_tokens})
    )
    here = next(row for row in contexts if row.present)
    rule = (card.effective_tflop_per_s / card.bf16_tflop_per_s) / (card.effective_tb_per_s / card.tb_per_s)
    result = BatchCeilings(
        machine=machine, pool_bytes=pool_bytes, pool_blocks=blocks, pool_tokens=blocks * block_size,
        sequence_blocks=needed, kv_ceiling=here.kv_ceiling, ridge=ridge, rule_ridge=round(ridge_of(machine) * rule),
        one_roofline=one_roofline(machine, context_tokens), flag=flag, lowest=here.lowest, binds=here.binds,
        reached=here.reached, reached_by=KV if here.kv_ceiling <= flag else FLAG,
        best=point(machine, here.lowest, context_tokens), full=point(machine, here.reached, context_tokens),
        sweep=tuple(point(machine, 1 << power, context_tokens) for power in range(LARGEST_BATCH.bit_length())),
        contexts=contexts,
    )
    memory = card.visible_gib * tensor_parallel_size
    pool = f"{pool_gib:g}" if pool_gib is not None else (
        f"({gpu_memory_utilization:g} × {memory:g} − {machine.weight_bytes / 2**30:.2f} − "
        f"{other_gib * tensor_parallel_size:g})")
    return replace(
        result,
        lines=lines_of(result, context_tokens, block_size, pool, "" if max_num_seqs else f", default of {card.name}"),
        slips=slips_of(result, whole_card=memory * 2**30 // (machine.kv_bytes_per_token * context_tokens),
                       by_query_heads=here.kv_ceiling * MODELS[model].kv_heads / MODELS[model].query_heads,
                       default=max_num_seqs is None),
    )


def machine_of(model: str, card: Gpu, gpus: int, weight_bits: int, products: str, kv_bits: int,
               tflop_per_s: float | None, tb_per_s: float | None) -> Machine:
    """The GPUs together at their peaks, with weights and KV of so many bits; parameters to three figures."""
    shape = MODELS[model]
    parameters = float(f"{shape.parameters:.3g}")
    return Machine(
        parameters=parameters, weight_bytes=parameters * weight_bits / 8,
        kv_bytes_per_token=shape.kv_bytes_per_token * kv_bits // 16,
        attention_flop_per_pair=shape.attention_flop_per_pair,
        flop_per_s=(tflop_per_s or card.tflop_per_s(products)) * gpus * 1e12,
        bytes_per_s=(tb_per_s or card.tb_per_s) * gpus * 1e12, cpu_ms=0,
    )


def pool_of(machine: Machine, card: Gpu, gpus: int, utilization: float, other_gib: float,
            pool_gib: float | None) -> int:
    """Bytes of the KV pool over all GPUs: as given, else what weights and the rest leave.

    Raises Refusal when the weights don't fit, or a given pool doesn't beside them.
    """
    memory, weights_gib = card.visible_gib * gpus, machine.weight_bytes / 2**30
    left = utilization * memory - weights_gib - other_gib * gpus
    cards = f"{gpus:,} × {card.name}" if gpus > 1 else f"one {card.name}"
    if pool_gib is None and left <= 0:
        raise Refusal(f"The weights take {weights_gib:,.1f} GiB; {cards} at {utilization:g} leaves no KV pool "
                      "beside them.", "tensor_parallel_size")
    if pool_gib is not None and pool_gib + weights_gib > memory:
        raise Refusal(f"Weights of {weights_gib:,.1f} GiB and this pool are more than the {memory:,.1f} GiB of "
                      f"{cards}. Empty, the pool is what is left.", "pool_gib")
    return int((left if pool_gib is None else pool_gib) * 2**30)


def ridge_of(machine: Machine) -> float:
    """The batch whose matrix products take as long as reading the weights."""
    return machine.flop_per_s * machine.weight_bytes / (2 * machine.parameters * machine.bytes_per_s)


def one_roofline(machine: Machine, context: int) -> float | None:
    """The batch where products take as long as weights and KV together, as if all of a step overlapped; None if none.

    Every sequence adds products and KV reads; when its KV takes longer to read than its products, they never meet.
    """
    gained = 2 * machine.parameters / machine.flop_per_s
    gained -= context * machine.kv_bytes_per_token / machine.bytes_per_s
    return machine.weight_bytes / machine.bytes_per_s / gained if gained > 0 else None


def default_max_num_seqs(gpu: str) -> int:
    """What vLLM 0.33.0 sets when the flag is not given (engine/arg_utils.py, EngineArgs.get_batch_defaults)."""
    return 1_024 if GPUS[gpu].visible_gib >= LARGE_GIB and "A100" not in GPUS[gpu].name else 256


def point(machine: Machine, batch: int, context: int) -> Point:
    """A decode step of `batch` sequences with `context` tokens each."""
    step = step_ms(machine, (), batch, batch * context)
    return Point(batch, linear_ms(machine, batch), kv_read_ms(machine, batch * context), step,
                 batch / step * 1e3, 1e3 / step)


def at_context(context: int, kv_ceiling: int, ridge: int, flag: int, present: int) -> AtContext:
    """The lowest ceiling for sequences of `context` tokens; of equals the first named: KV, ridge, flag."""
    lowest, binds = min(((kv_ceiling, KV), (ridge, RIDGE), (flag, FLAG)), key=lambda pair: pair[0])
    return AtContext(context, kv_ceiling, lowest, binds, min(kv_ceiling, flag), context == present)


def lines_of(result: BatchCeilings, context: int, block_size: int, pool: str, default: str) -> tuple[Line, ...]:
    """The three ceilings with their numbers filled in, the lowest, and the step there and at what is admitted.

    `pool` is the pool's GiB as given or as a sum, `default` says whose default the flag is.
    """
    machine = result.machine
    flop, read = f"{machine.flop_per_s / 1e12:g}e12", f"{machine.bytes_per_s / 1e12:g}e12"
    best, full, lowest = result.best, result.full, f"{result.best.batch:,}"
    best_ms, full_ms = Line("", "", best.step_ms).figure, Line("", "", full.step_ms).figure
    per_parameter = machine.weight_bytes / machine.parameters
    block_mib = machine.kv_bytes_per_token * block_size / 2**20
    lines = [
        Line("KV pool", f"{pool} GiB / {block_mib:.4g} MiB", result.pool_blocks, "blocks"),
        Line("KV ceiling", f"{result.pool_blocks:,} / ⌈{context:,} / {block_size}⌉", result.kv_ceiling, "sequences"),
        Line("ridge", f"{flop} / {read}" + (f" × {per_parameter:g} / 2" if per_parameter != 2 else ""),
             result.ridge, "sequences"),
        Line("flag", f"max_num_seqs{default}", result.flag, "sequences"),
        Line(f"lowest: {result.binds}", f"min({result.kv_ceiling:,}, {result.ridge:,}, {result.flag:,})",
             result.lowest, "sequences", total=True),
        Line(f"products at {lowest}", product_words(machine, best.batch, flop, read), best.products_ms, "ms"),
        Line(f"KV at {lowest}", f"{lowest} × {context:,} × {machine.kv_bytes_per_token:,} / {read}", best.kv_ms, "ms"),
        Line(f"step at {lowest}", "", best.step_ms, "ms", total=True),
        Line("throughput", f"{lowest} / {best_ms} ms", best.tokens_per_s, "tokens/s"),
        Line("each user", f"1,000 / {best_ms} ms", best.user_tokens_per_s, "tokens/s"),
    ]
    if full.batch > best.batch:
        lines += [
            Line(f"step at {full.batch:,}",
                 f"{Line('', '', full.products_ms).figure} + {Line('', '', full.kv_ms).figure}", full.step_ms, "ms"),
            Line(f"throughput at {full.batch:,}", f"{full.batch:,} / {full_ms} ms",
                 full.tokens_per_s, "tokens/s"),
            Line(f"each of {full.batch:,}", f"1,000 / {full_ms} ms", full.user_tokens_per_s, "tokens/s"),
        ]
    return tuple(lines)


def product_words(machine: Machine, batch: int, flop: str, read: str) -> str:
    """The longer of multiplying and reading the weights, with its numbers."""
    if 2 * machine.parameters * batch / machine.flop_per_s > machine.weight_bytes / machine.bytes_per_s:
        return f"2 × {machine.parameters / 1e9:g}e9 × {batch:,} / {flop}"
    return f"{machine.weight_bytes / 1e9:g}e9 / {read}"


def slips_of(result: BatchCeilings, *, whole_card: float, by_query_heads: float,
             default: bool) -> tuple[tuple[float, str], ...]:
    """The wrong batches that people reach, and what each leaves out; none that lies near the right one."""
    stops = {KV: f"the pool is full at {result.lowest:,}", RIDGE: f"the ridge lies at {result.lowest:,}",
             FLAG: f"the flag stops at {result.lowest:,}"}[result.binds]
    slips = [
        (result.flag, f"That is the flag. It caps what is admitted and reserves nothing; {stops}."),
        (result.kv_ceiling, f"That is what the KV pool holds; {stops}."),
        (result.ridge, f"That is the ridge; {stops}."),
        (2 * result.ridge, "That is the ridge at the datasheet's rate with sparsity, twice the dense one."),
        (2 * result.kv_ceiling, "That is the KV ceiling with K or V alone: a token keeps both."),
        (by_query_heads, "That is the KV ceiling by query heads: only the KV heads are kept."),
        (whole_card, "That gives the whole card to KV: the weights and the rest come first."),
    ]
    if default and result.flag != 256:
        slips.insert(0, (256, "That is the default of an A100 and of small cards; on this one it is "
                              f"{result.flag:,}, and {stops}."))
    return tuple((value, words) for value, words in slips if value and abs(value / result.lowest - 1) > SLIP_APART)
