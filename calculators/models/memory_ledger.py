"""The memory ledger: where the GiB of one GPU go when vLLM starts, what is left for KV, and what stops the start."""
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, floor

from calculators.models import kv_blocks
from calculators.models.base import Line, Refusal
from calculators.models.catalogue import BF16, FP8, GPUS, MODELS, Model
from calculators.models.kv_blocks import Cache, Pool
from calculators.models.kv_pool import (
    ENGINES,
    GIB,
    NEWEST,
    SMALL_BUFFERS_GIB,
    KvPool,
    Setup,
    charge,
    logit_bytes,
    seated,
)
from calculators.models.kv_sizing_trace import error
from calculators.models.kv_token import cache_of
from calculators.models.quantity import say

# How a term is known.
GIVEN, EXACT, MEASURED, ESTIMATED, RESULT, NEVER = "given", "exact", "measured", "estimated", "result", "never"
# How a start ends.
CONFIG, FREE, LOAD, NONE, LENGTH, CAPTURE, STARTS = "config", "free", "load", "none", "length", "capture", "starts"
OUTCOMES = {
    CONFIG: "refused: the heads can’t be split so", FREE: "refused: too little is free at the start",
    LOAD: "out of memory while it loads", NONE: "refused: nothing is left for KV",
    LENGTH: "refused: not one request of full length fits", CAPTURE: "out of memory while it captures graphs",
    STARTS: "starts",
}
SOLVABLE = ("non_torch_gib", "transient_gib", "graphs_gib")
MADE_UP = "what the log leaves over"
WORKSPACE_GIB = 0.385  # FlashInfer's, where that backend is used
LOGPROB_BYTES = {1: 4 + 4, 2: 8 + 4}  # of an id and its score, by runner: only the older one narrows ids
SPREAD_GIB = {1: 0.25, 2: 0.5}  # of the rules, by runner; twice that among several GPUs or with experts
MEASURED_SPREAD_GIB = 0.02  # the rounding of a log
ADDS_UP_GIB = 0.06  # five rounded figures of a log may differ from their sum by as much
SLIP_APART = 0.02


@dataclass(frozen=True, slots=True)
class Term:
    """One line of the ledger in GiB, its formula filled in, and how vLLM comes to know it."""

    label: str
    expression: str
    gib: float
    known: str
    says: str


@dataclass(frozen=True, slots=True)
class Lever:
    """One flag moved, all else as it is: the KV it gains in GiB, what is left then, and how the start ends."""

    flag: str
    gain_gib: float
    pool_gib: float
    outcome: str

    @property
    def starts(self) -> bool:
        return self.outcome == STARTS

    @property
    def ends(self) -> str:
        return OUTCOMES[self.outcome]


@dataclass(frozen=True, slots=True)
class Ledger:
    """Where the memory of one GPU goes, in GiB, and what comes of it.

    `kv_gib` is negative where the rest doesn't fit. `others` are the outcomes that the rules' uncertainty leaves open
    beside the likeliest. `head_room_gib` is what is neither charged nor in use before the
    engine: late allocations come out of it. `missing_gib` is what neither weights nor KV account for. `short_gib` is
    what one request of full length lacks, with the block that is never handed out; 0 where it fits. `all_logprobs_gib`
    are ids and scores of one step's tokens, kept when the logprobs of the whole vocabulary are asked of a prompt.
    `message` is the engine's own.
    """

    vocabulary: int
    total_gib: float
    budget_gib: float
    slack_gib: float
    free_at_start_gib: float
    loaded_gib: float
    buffers_gib: float
    penalty_gib: float
    growth_gib: float
    forward_gib: float
    sampler_gib: float
    experts_gib: float
    peak_gib: float
    graph_gib: float
    kv_gib: float
    kv_low_gib: float
    kv_high_gib: float
    missing_gib: float
    token_bytes: int | None
    kv_blocks: int
    kv_tokens: int
    concurrency: float
    request_gib: float
    short_gib: float
    longest_tokens: int
    in_use_gib: float
    block_table_gib: float
    head_room_gib: float
    all_logprobs_gib: float
    outcome: str
    others: tuple[str, ...]
    message: str
    terms: tuple[Term, ...]
    levers: tuple[Lever, ...]
    finding: str
    outcome_verdict: str
    fix_verdict: str
    sampler_verdict: str
    late_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def starts(self) -> bool:
        return self.outcome == STARTS

    @property
    def words(self) -> tuple[str, ...]:
        """What there is to say below the ledger."""
        return tuple(filter(None, (self.fix_verdict, self.sampler_verdict, self.late_verdict)))

    @property
    def sure(self) -> bool:
        return not self.others

    @property
    def start_unsure(self) -> bool:
        """Whether it may start as well as not."""
        return STARTS in (self.outcome, *self.others) and not self.sure

    @property
    def spread_words(self) -> str:
        """How sure the KV is: "53.9 to 54.9 GiB"; "" where a log gave it."""
        if self.kv_high_gib - self.kv_low_gib < 0.05:
            return ""
        return f"{self.kv_low_gib:.1f} to {self.kv_high_gib:.1f} GiB".replace("-", "−")


@dataclass(frozen=True, slots=True)
class Scene:
    """A setup with its cache, and what was charged."""

    setup: Setup
    cache: Cache
    charged: KvPool
    max_model_len: int
    late_gib: float  # what graphs take beyond what was charged for them
    made_up: str = ""  # the term that makes up for what the log leaves

    @property
    def pool(self) -> Pool:
        """The blocks that the KV makes; none where it is used up."""
        return kv_blocks.pool(self.cache, max(int(self.charged.left_gib * GIB), 0), self.max_model_len)

    @property
    def block_table_gib(self) -> float:
        """Two tables of a row a sequence, made with the cache and so after the measurement."""
        return 2 * self.setup.seats * ceil(self.max_model_len / self.cache.attention_block_size) * 4 / GIB

    @property
    def head_room_gib(self) -> float:
        """What is left beside the budget for what the profile doesn't see."""
        setup = self.setup
        return setup.visible_gib - setup.budget_gib - setup.baseline - setup.other_gib - self.block_table_gib

    @property
    def outcome(self) -> str:
        """How the start ends, by the first check that fails."""
        setup, left = self.setup, self.charged.left_gib
        if not splits(setup.model, setup.tensor):
            return CONFIG
        if setup.free_gib < setup.budget_gib:
            return FREE
        if self.charged.weights_gib > setup.free_gib:
            return LOAD
        if left * GIB <= self.cache.bytes_per_block:
            return NONE
        if not self.pool.fits:
            return LENGTH
        return CAPTURE if self.late_gib > self.head_room_gib else STARTS


def splits(model: Model, tensor: int) -> bool:
    """Whether so many GPUs can share the heads: query heads evenly, KV heads evenly or each on as many GPUs."""
    keys = model.kv_heads
    return not (model.query_heads % tensor or (keys % tensor and tensor % keys))


def solve(*, model: str = "llama-3.1-8b", weights: str = BF16, gpu: str = "h100", tensor_parallel_size: int = 1,
          gpu_memory_utilization: float | None = 0.92, max_num_batched_tokens: int | None = 8_192,
          max_num_seqs: int | None = 1_024, max_model_len: int | None = 131_072, kv_cache_dtype: str = BF16,
          version: str = NEWEST, penalty_buffer: bool = True, ngram_table: bool = False, estimate_graphs: bool = True,
          flashinfer_sampler: bool = True, flashinfer_workspace: bool = False, visible_gib: float | None = None,
          baseline_gib: float | None = None, other_gib: float = 0, non_torch_gib: float | None = None,
          logit_bytes: float | None = None, graphs_gib: float | None = None, weights_gib: float | None = None,
          consumed_gib: float | None = None, activation_gib: float | None = None, available_gib: float | None = None,
          graphs_actual_gib: float | None = None, spike_gib: float = 0) -> Ledger:
    """Take the ledger of one GPU: budget less weights, buffers, non-torch growth, the peak of a dummy step and graphs.

    Empty settings are those of `vllm serve`; empty sizes follow from rules, a size that is given was measured and
    stands. With `available_gib`, what the engine logged as available, the least certain rule is solved for.
    Raises Refusal for measured figures that don't add up.
    """
    scene = scene_of(
        model=model, weights=weights, gpu=gpu, tensor_parallel_size=tensor_parallel_size,
        gpu_memory_utilization=gpu_memory_utilization, max_num_batched_tokens=max_num_batched_tokens,
        max_num_seqs=max_num_seqs, max_model_len=max_model_len, kv_cache_dtype=kv_cache_dtype, version=version,
        penalty_buffer=penalty_buffer, ngram_table=ngram_table, estimate_graphs=estimate_graphs,
        flashinfer_sampler=flashinfer_sampler, flashinfer_workspace=flashinfer_workspace, visible_gib=visible_gib,
        baseline_gib=baseline_gib, other_gib=other_gib, non_torch_gib=non_torch_gib, logit_bytes=logit_bytes,
        graphs_gib=graphs_gib, weights_gib=weights_gib, consumed_gib=consumed_gib, activation_gib=activation_gib,
        available_gib=available_gib, graphs_actual_gib=graphs_actual_gib,
    )
    return ledger_of(scene, available_gib, spike_gib)


def scene_of(*, model: str, weights: str, gpu: str, tensor_parallel_size: int, gpu_memory_utilization: float | None,
             max_num_batched_tokens: int | None, max_num_seqs: int | None, max_model_len: int | None,
             kv_cache_dtype: str, version: str, penalty_buffer: bool, ngram_table: bool, estimate_graphs: bool,
             flashinfer_sampler: bool, flashinfer_workspace: bool, visible_gib: float | None,
             baseline_gib: float | None, other_gib: float, non_torch_gib: float | None, logit_bytes: float | None,
             graphs_gib: float | None, weights_gib: float | None, consumed_gib: float | None,
             activation_gib: float | None, available_gib: float | None, graphs_actual_gib: float | None) -> Scene:
    """The setup that the inputs name, charged."""
    shape, card = MODELS[model], GPUS[gpu]
    length = max_model_len or shape.longest_context
    tokens, seats = seated(card, length, max_num_batched_tokens, max_num_seqs)
    if tokens < seats:
        raise Refusal(f"A step of {tokens:,} tokens can’t serve {seats:,} sequences; a sequence takes at least one.",
                      "max_num_batched_tokens")
    setup = Setup(
        model=shape, visible_gib=visible_gib or card.visible_gib, multiprocessors=card.multiprocessors, tokens=tokens,
        seats=seats, engine=ENGINES[version], utilization=gpu_memory_utilization, form=weights,
        tensor=tensor_parallel_size, max_model_len=length, penalty_buffer=penalty_buffer, ngram_table=ngram_table,
        charge_graphs=None if estimate_graphs else False, flashinfer_sampler=flashinfer_sampler,
        workspace_gib=WORKSPACE_GIB if flashinfer_workspace else 0.0, logit_bytes=logit_bytes,
        baseline_gib=baseline_gib, other_gib=other_gib, weights_gib=weights_gib, consumed_gib=consumed_gib,
        transient_gib=activation_gib, non_torch_gib=non_torch_gib, graphs_gib=graphs_gib,
    )
    told = setup if available_gib is None else solved(setup, available_gib)
    cache = cache_of(shape, kv_cache_dtype, tensor_parallel_size, in_flight_tokens=2 * tokens)
    scene = charged(told, cache, length, graphs_actual_gib)
    return replace(scene, made_up=next((name for name in SOLVABLE if getattr(told, name) != getattr(setup, name)), ""))


def charged(setup: Setup, cache: Cache, max_model_len: int, graphs_actual_gib: float | None = None) -> Scene:
    """The scene of a setup; graphs that take more than was charged for them come out of the head-room."""
    pool = charge(setup)
    actual = pool.graphs_gib if graphs_actual_gib is None else graphs_actual_gib
    return Scene(setup, cache, pool, max_model_len, actual - pool.charged_graphs_gib)


def solved(setup: Setup, available_gib: float) -> Setup:
    """The setup whose least certain unmeasured term makes up for what the log leaves; raises Refusal where none can."""
    pool = charge(setup)
    rest = pool.left_gib - available_gib
    if setup.non_torch_gib is None and setup.consumed_gib is None and pool.non_torch_gib + rest >= 0:
        return replace(setup, non_torch_gib=pool.non_torch_gib + rest)
    if setup.transient_gib is None and pool.transient_gib + rest >= 0:
        held = SMALL_BUFFERS_GIB if setup.engine.runner == 1 and setup.consumed_gib is None else 0.0
        return replace(setup, transient_gib=pool.transient_gib + held + rest)
    if setup.graphs_gib is None and setup.graphs_charged and pool.graphs_gib + rest >= 0:
        return replace(setup, graphs_gib=pool.graphs_gib + rest)
    if abs(rest) <= ADDS_UP_GIB and pool.weights_gib + rest >= 0:
        name = "weights_gib" if setup.consumed_gib is None else "consumed_gib"
        held = pool.weights_gib + (pool.rope_gib + pool.rounding_gib if name == "weights_gib" else 0)
        return replace(setup, **{name: held + rest})
    raise Refusal(f"These figures leave {pool.left_gib:,.2f} GiB for KV, not {available_gib:,.2f}; one of them is of "
                  "another start, GPU or setting.", "available_gib")


def ledger_of(scene: Scene, available_gib: float | None = None, spike_gib: float = 0) -> Ledger:
    """The ledger of a scene with its words."""
    setup, terms = scene.setup, scene.charged
    pool, kv = scene.pool, terms.left_gib
    low, high = kv - spread(scene, available_gib), kv + spread(scene, available_gib)
    outcome = scene.outcome
    loaded = terms.weights_gib + terms.rounding_gib
    result = Ledger(
        vocabulary=setup.model.vocabulary, total_gib=setup.visible_gib, budget_gib=terms.budget_gib,
        slack_gib=setup.visible_gib - terms.budget_gib, free_at_start_gib=setup.free_gib, loaded_gib=loaded,
        buffers_gib=terms.buffers_gib,
        penalty_gib=terms.penalty_gib, growth_gib=terms.non_torch_gib, forward_gib=terms.forward_gib,
        sampler_gib=terms.sampler_gib, experts_gib=terms.experts_gib, peak_gib=terms.transient_gib,
        graph_gib=terms.graphs_gib, kv_gib=kv, kv_low_gib=low, kv_high_gib=high,
        missing_gib=setup.visible_gib - loaded - max(kv, 0), token_bytes=pool.bytes_per_token,
        kv_blocks=pool.num_blocks, kv_tokens=tokens_of(pool), concurrency=pool.max_concurrency,
        request_gib=pool.request_bytes / GIB, short_gib=max(short(scene), 0.0), longest_tokens=max(pool.longest, 0),
        in_use_gib=setup.baseline + setup.other_gib, block_table_gib=scene.block_table_gib,
        head_room_gib=scene.head_room_gib,
        all_logprobs_gib=setup.tokens * setup.model.vocabulary * LOGPROB_BYTES[setup.engine.runner] / GIB,
        outcome=outcome,
        others=tuple({shifted(scene, by).outcome for by in (low - kv, high - kv)} - {outcome}),
        message=message(scene), terms=tuple(terms_of(scene)), levers=tuple(levers(scene)),
        finding="", outcome_verdict="", fix_verdict="", sampler_verdict=sampler_verdict(scene),
        late_verdict="", lines=(), slips=(),
    )
    return replace(
        result, finding=finding(scene, result), outcome_verdict=outcome_verdict(scene, result),
        fix_verdict=fix_verdict(scene, result), late_verdict=late_verdict(scene, result, spike_gib),
        lines=lines_of(scene, result), slips=slips_of(scene, result),
    )


def short(scene: Scene) -> float:
    """GiB that one request of full length lacks, with the null block; negative where it fits."""
    pool = scene.pool
    return (pool.request_bytes + pool.bytes_per_block) / GIB - scene.charged.left_gib


def spread(scene: Scene, available_gib: float | None = None) -> float:
    """GiB that the KV may lie off: the rounding of a log where one gave the terms, else that of the rules."""
    setup = scene.setup
    if available_gib is not None:
        return 0.0
    held = setup.consumed_gib is not None or None not in (setup.weights_gib, setup.non_torch_gib)
    if held and setup.transient_gib is not None and (setup.graphs_gib is not None or not setup.graphs_charged):
        return MEASURED_SPREAD_GIB
    several = setup.tensor * setup.stages > 1 or setup.model.experts > 0
    return SPREAD_GIB[setup.engine.runner] * (2 if several else 1)


def shifted(scene: Scene, by_gib: float) -> Scene:
    """The scene with so much more left for KV."""
    return replace(scene, charged=replace(scene.charged, budget_gib=scene.charged.budget_gib + by_gib))


def tokens_of(pool: Pool) -> int:
    """Tokens that the pool holds: of whole blocks where every layer keeps every token, else as the engine logs them."""
    return pool.size_tokens if pool.bytes_per_token is None else pool.num_blocks * pool.groups[0].block_size


def message(scene: Scene) -> str:
    """What the engine says when it gives up; "" when it starts."""
    setup, outcome = scene.setup, scene.outcome
    if outcome == CONFIG:
        return (f"Total number of attention heads ({setup.model.query_heads}) must be divisible by tensor parallel "
                f"size ({setup.tensor}).")
    if outcome == FREE:
        share = setup.engine.utilization if setup.utilization is None else setup.utilization
        return (f"Free memory on device cuda:0 ({setup.free_gib:.2f}/{setup.visible_gib:.2f} GiB) on startup is less "
                f"than desired GPU memory utilization ({share:g}, {setup.budget_gib:.2f} GiB). Decrease GPU memory "
                "utilization or reduce GPU memory used by other processes.")
    if outcome in (LOAD, CAPTURE):
        return "torch.OutOfMemoryError: CUDA out of memory."
    return error(scene.pool, scene.max_model_len) if outcome in (NONE, LENGTH) else ""


def terms_of(scene: Scene) -> Iterator[Term]:
    """Every line of the ledger, from the total to what is never charged."""
    setup, terms = scene.setup, scene.charged
    share = setup.engine.utilization if setup.utilization is None else setup.utilization
    yield Term("total visible", "", setup.visible_gib, GIVEN, "given")
    yield Term("budget", f"{share:g} × {setup.visible_gib:,.2f}", terms.budget_gib, EXACT, "exact")
    if setup.consumed_gib is not None:
        yield Term("consumed", "weights, buffers and non-torch growth, logged", terms.weights_gib, MEASURED,
                   "measured at start")
    else:
        yield Term("weights", weights_expression(scene), terms.weights_gib + terms.rounding_gib, MEASURED,
                   "measured at start")
        yield Term("persistent buffers", buffers_expression(scene), terms.buffers_gib, MEASURED, "measured at start")
        rule = "rule" if setup.non_torch_gib is None else "given"
        growth = MADE_UP if scene.made_up == "non_torch_gib" else f"{rule}, {terms.non_torch_gib:.2f}"
        yield Term("non-torch growth", growth, terms.non_torch_gib, MEASURED, "measured at start")
    yield Term("activation peak", peak_expression(scene), terms.transient_gib, MEASURED, "measured in the profile")
    graphs = graphs_expression(scene)
    if setup.graphs_charged:
        yield Term("CUDA graphs", graphs, terms.graphs_gib, ESTIMATED, "estimated")
    used = [terms.weights_gib + terms.rounding_gib, terms.buffers_gib, terms.non_torch_gib, terms.transient_gib,
            terms.charged_graphs_gib]
    taken = " − ".join(f"{gib:.2f}" for gib in used if gib > 0.004)
    yield Term("KV pool", f"{terms.budget_gib:.2f} − {taken}", terms.left_gib, RESULT, "result")
    slack = f"{setup.baseline + setup.other_gib:.2f} in use before + {scene.head_room_gib:.2f} head-room"
    if scene.block_table_gib > 0.004:
        slack += f" + {scene.block_table_gib:.2f} block tables"
    yield Term("not charged", slack, setup.visible_gib - terms.budget_gib, NEVER, "never charged")
    if not setup.graphs_charged:
        yield Term("of it, CUDA graphs", graphs, terms.graphs_gib, NEVER, f"not charged in {setup.engine.name}")


def weights_expression(scene: Scene) -> str:
    """"2 × 8,030,261,248 B", with what the format and the split make of it."""
    setup = scene.setup
    if setup.weights_gib is not None:
        return "as loaded, logged"
    split = f" / {setup.tensor}" if setup.tensor > 1 else ""
    padded = f" + {scene.charged.rounding_gib:.2f} padding" if scene.charged.rounding_gib > 0.004 else ""
    if setup.form == BF16:
        return f"2 × {setup.model.parameters:,} B{split}{padded}"
    return f"{setup.model.weight_bytes(setup.form) / 1e9:,.2f} GB in {setup.form}{split}{padded}"


def buffers_expression(scene: Scene) -> str:
    """The buffers that are kept, those that there are."""
    terms = scene.charged
    named = (("penalties", terms.penalty_gib), ("bitmasks", terms.masks_gib), ("RoPE", terms.rope_gib),
             ("n-gram table", terms.ngram_gib), ("small", terms.small_gib))
    return " + ".join(f"{gib:.2f} {name}" for name, gib in named if gib > 0.004) or "none"


def peak_expression(scene: Scene) -> str:
    """"max(0.91 forward, 1.78 sampler)", with the experts' workspace."""
    if scene.setup.transient_gib is not None:
        return MADE_UP if scene.made_up == "transient_gib" else "measured by the profile"
    terms = scene.charged
    experts = f" + {terms.experts_gib:.2f} experts" if terms.experts_gib else ""
    return f"max({terms.forward_gib:.2f} forward, {terms.sampler_gib:.2f} sampler){experts}"


def graphs_expression(scene: Scene) -> str:
    """How the graphs' estimate comes about."""
    if scene.setup.graphs_gib is not None:
        return MADE_UP if scene.made_up == "graphs_gib" else "estimated by the engine"
    layers = scene.setup.model.layers
    return f"{layers:,} layers × {scene.charged.graphs_gib / layers:.3f}, a rule"


def levers(scene: Scene) -> Iterator[Lever]:
    """What each flag would change, alone; those that stand at that value already are left out."""
    setup, cache = scene.setup, scene.cache
    share = floor(setup.free_gib / setup.visible_gib * 100) / 100
    now = setup.engine.utilization if setup.utilization is None else setup.utilization
    measured = {"consumed_gib": None, "weights_gib": None, "transient_gib": None, "graphs_gib": None}
    if 0 < share != now:
        yield lever(scene, f"--gpu-memory-utilization {share:g}", replace(setup, utilization=share), cache)
    few, short = min(setup.seats, 256), max(min(setup.tokens, 2_048), 256)
    fewer = replace(setup, seats=few, transient_gib=None, consumed_gib=None)
    shorter = replace(setup, tokens=short, transient_gib=None)
    if short < setup.tokens and short >= setup.seats:
        yield lever(scene, f"--max-num-batched-tokens {short}", shorter, replace(cache, in_flight_tokens=2 * short))
    if few < setup.seats:
        yield lever(scene, f"--max-num-seqs {few}", fewer, cache)
    if few < setup.seats and short < setup.tokens:
        yield lever(scene, f"--max-num-seqs {few} --max-num-batched-tokens {short}", replace(fewer, tokens=short),
                    replace(cache, in_flight_tokens=2 * short))
    if cache.token_bytes == cache_of(setup.model, BF16, setup.tensor).token_bytes:
        smaller = cache_of(setup.model, FP8, setup.tensor, in_flight_tokens=cache.in_flight_tokens)
        yield lever(scene, "--kv-cache-dtype fp8", setup, smaller)
    if setup.form == BF16:
        yield lever(scene, "--quantization fp8_per_tensor", replace(setup, form=FP8, **measured), cache)
    if splits(setup.model, 2 * setup.tensor):
        wider = replace(setup, tensor=2 * setup.tensor, non_torch_gib=None, **measured)
        split = replace(cache, token_bytes=split_bytes(scene, 2 * setup.tensor))
        yield lever(scene, f"--tensor-parallel-size {2 * setup.tensor}", wider, split)
    pool = scene.pool
    if pool.longest and not pool.fits:
        yield Lever(f"--max-model-len {pool.longest}", 0.0, scene.charged.left_gib,
                    replace(scene, max_model_len=pool.longest).outcome)


def split_bytes(scene: Scene, tensor: int) -> int:
    """Bytes of a token in one layer on each of so many GPUs; a latent and a last KV head are not split."""
    whole = cache_of(scene.setup.model, BF16, scene.setup.tensor).token_bytes
    return scene.cache.token_bytes * cache_of(scene.setup.model, BF16, tensor).token_bytes // whole


def lever(scene: Scene, flag: str, setup: Setup, cache: Cache) -> Lever:
    """The start with that setup."""
    moved = charged(setup, cache, scene.max_model_len)
    return Lever(flag, moved.charged.left_gib - scene.charged.left_gib, moved.charged.left_gib, moved.outcome)


def finding(scene: Scene, result: Ledger) -> str:
    """The whole result in one sentence."""
    name = scene.setup.model.name
    if result.outcome in (CONFIG, FREE, LOAD):
        return f"{name} is {OUTCOMES[result.outcome]}."
    if result.outcome == NONE:
        return f"{name} leaves {result.kv_gib:,.2f} GiB for KV: {OUTCOMES[NONE]}."
    held = f"{name} leaves {result.kv_gib:,.2f} GiB for KV, {result.kv_tokens:,} tokens"
    return f"{held}: {OUTCOMES[result.outcome]}."


def outcome_verdict(scene: Scene, result: Ledger) -> str:
    """Whether it starts and how sure that is, in a sentence."""
    need = f"one request of {scene.max_model_len:,} tokens needs {result.request_gib:,.2f} GiB"
    words = {
        STARTS: f"starts; {need}, {result.concurrency:,.2f} fit",
        LENGTH: f"refused: {need}, {result.kv_gib:,.2f} are left",
        NONE: f"refused: {result.kv_gib:,.2f} GiB are left for KV",
        FREE: f"refused: {result.free_at_start_gib:,.2f} GiB are free, the budget is {result.budget_gib:,.2f}",
        LOAD: f"out of memory: {result.loaded_gib:,.2f} GiB of weights, {result.free_at_start_gib:,.2f} are free",
        CAPTURE: f"out of memory: graphs take {scene.late_gib:,.2f} GiB more than charged, "
                 f"{result.head_room_gib:,.2f} are left beside the budget",
        CONFIG: f"refused: {scene.setup.model.query_heads} heads can’t be split by {scene.setup.tensor}",
    }[result.outcome]
    if result.sure:
        return words
    return f"{words}; too close to be sure" if result.start_unsure else f"{words}; either message may come"


def fix_verdict(scene: Scene, result: Ledger) -> str:
    """Which flag to move and by how much, "" when it starts."""
    setup, pool = scene.setup, scene.pool
    if result.outcome == STARTS or result.outcome == CONFIG:
        return ""
    working = [lever.flag for lever in result.levers if lever.starts]
    alone = f" What starts, moved alone: {', or '.join(working)}." if working else ""
    if result.outcome == FREE:
        share = floor(result.free_at_start_gib / setup.visible_gib * 100) / 100
        most = f" A utilization of {share:g} is the most that is free." if share > 0 else ""
        return f"Short by {result.budget_gib - result.free_at_start_gib:,.2f} GiB at the start.{most}{alone}"
    if result.outcome == LOAD:
        return ("The weights alone are more than the GPU has free; no flag of the budget helps, only a smaller format "
                f"or more GPUs.{alone}")
    if result.outcome == CAPTURE:
        return f"A lower utilization by {(scene.late_gib - result.head_room_gib) / setup.visible_gib:.3f} makes room."
    bare = setup.visible_gib - result.loaded_gib
    if bare < (pool.request_bytes + pool.bytes_per_block) / GIB:
        return (f"Short by {result.short_gib:,.2f} GiB. No utilization can help: the whole GPU less its weights is "
                f"{bare:,.2f} GiB.{alone}")
    return f"Short by {result.short_gib:,.2f} GiB.{alone}"


def sampler_verdict(scene: Scene) -> str:
    """Which of forward pass and sampler makes the peak, and from how many tokens on the other would."""
    setup, terms = scene.setup, scene.charged
    if setup.transient_gib is not None:
        return ""
    rows = min(setup.seats, setup.tokens)
    logits = rows * setup.model.vocabulary * logit_bytes(setup) / GIB
    made = f"{rows:,} × {setup.model.vocabulary:,} logits of {logit_bytes(setup):.4g} B are {logits:.2f} GiB of them"
    if terms.sampler_gib >= terms.forward_gib:
        crossing = tokens_where_forward_wins(setup)
        until = f" up to {crossing:,} tokens" if crossing else ""
        return (f"Lowering the token budget frees next to nothing: the sampler’s {terms.sampler_gib:.2f} GiB stand "
                f"above the forward pass{until}. They grow with the sequences: {made}.")
    return (f"The forward pass makes the peak, {terms.forward_gib:.2f} GiB against the sampler’s "
            f"{terms.sampler_gib:.2f}, where {made}; it grows with the token budget.")


def tokens_where_forward_wins(setup: Setup) -> int:
    """The token budget from which the forward pass takes more than the sampler; 0 where it never does."""
    model = setup.model
    each = 8 * model.hidden + (0 if model.experts else 6 * model.ffn / setup.tensor) - 2 * model.hidden
    pool = charge(setup)
    held = pool.sampler_gib * GIB - setup.tokens * model.hidden * 2
    return ceil(held / each) if each > 0 else 0


def late_verdict(scene: Scene, result: Ledger, spike_gib: float) -> str:
    """What is left for allocations after the start, and what becomes of the spike."""
    if result.outcome != STARTS:
        return ""
    room = result.head_room_gib - scene.late_gib
    base = (f"After the start {room:,.2f} GiB are left for what the profile doesn’t run: attention scratch, prompt "
            "logprobs, late collectives, other processes. More than that is an out-of-memory error though the ledger "
            "balances.")
    if not spike_gib:
        return base
    return f"{base} A spike of {spike_gib:g} GiB {'fits' if spike_gib <= room else 'does not fit'}."


def lines_of(scene: Scene, result: Ledger) -> tuple[Line, ...]:
    """The ledger as lines to be said aloud, then blocks and tokens."""
    pool = scene.pool
    lines = [
        Line(term.label, term.expression, term.gib, "GiB", total=term.known == RESULT)
        for term in result.terms if term.known != NEVER
    ]
    if result.kv_blocks:
        size = f"{pool.bytes_per_block / 2**20:,.4g} MiB"
        lines.append(Line("blocks", f"{result.kv_gib:,.2f} GiB / {size}", result.kv_blocks))
        lines.append(Line("tokens", tokens_expression(pool, scene.max_model_len), result.kv_tokens))
        needed = pool.request_bytes // pool.bytes_per_block
        lines.append(Line("requests of full length", f"{result.kv_blocks:,} / {needed:,}", result.concurrency))
    return tuple(lines)


def tokens_expression(pool: Pool, max_model_len: int) -> str:
    """How blocks become tokens."""
    if pool.bytes_per_token is None:
        return f"{pool.max_concurrency:,.2f} × {max_model_len:,}"
    return f"{pool.num_blocks:,} × {pool.groups[0].block_size:,}"


def slips_of(scene: Scene, result: Ledger) -> tuple[tuple[float, str], ...]:
    """The KV that people reach, in GiB, and what each leaves out; none near the right one."""
    setup, kv = scene.setup, result.kv_gib
    share = result.budget_gib / setup.visible_gib
    slips = (
        (result.total_gib - result.loaded_gib,
         "That is all that the weights leave. The budget is only a share of the GPU, and the profile takes its part."),
        (result.budget_gib - result.loaded_gib,
         "That is the budget less the weights. Buffers, the dummy step’s peak, non-torch growth and graphs are charged "
         "as well."),
        (kv + result.peak_gib, f"That leaves out the peak of the dummy step, {say(result.peak_gib, 'GiB')}."),
        (kv + result.graph_gib if setup.graphs_charged else 0,
         "That takes the CUDA graphs from outside the budget, as before 0.21; now their estimate comes off it."),
        (kv + result.buffers_gib, f"That leaves out the buffers that are kept, {say(result.buffers_gib, 'GiB')}."),
        (kv - min(result.forward_gib, result.sampler_gib) if setup.transient_gib is None else 0,
         "That adds forward pass and sampler. They don’t happen at once: the larger one counts."),
        (kv - share * result.in_use_gib, "That takes the share of what is free. It is a share of the whole memory."),
    )
    return tuple((value, sentence) for value, sentence in slips
                 if value > 0 and abs(value - kv) > SLIP_APART * abs(kv))
