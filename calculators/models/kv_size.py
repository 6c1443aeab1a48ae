"""KV cache size: the bytes a token keeps resident, and how many sequences fit, for every kind of layer."""
from dataclasses import dataclass, replace

from calculators.models import kv_blocks
from calculators.models.base import Line, Refusal
from calculators.models.catalogue import BF16, FULL, GPUS, MLA, MODELS, Model
from calculators.models.kv_blocks import Cache, Group, ceil_div
from calculators.models.kv_token import (
    DS_MLA_BYTES,
    FP8_DS_MLA,
    VALUE_BYTES,
    binary,
    cache_of,
    heads_on,
    layer_bytes,
    replicas,
    reshaped,
    size_line,
)

CONTEXTS = (256, 1_024, 2_048, 4_096, 8_192, 32_768, 131_072)
COMPARED = ("llama-2-7b", "llama-3.1-8b", "qwen3-32b", "llama-3.1-70b", "llama-3.1-405b", "gemma-3-27b", "gpt-oss-120b",
            "deepseek-v3")
SLIP_APART = 0.05  # a wrong value nearer to the right one than this is no slip
KV, RIDGE, FLAG = "KV", "ridge", "flag"


@dataclass(frozen=True, slots=True)
class AtContext:
    """What one context length takes, and the sequences of it: by the pool, and reached under the flag."""

    context: int
    blocks: int
    request_bytes: int
    sequences: int
    reached: int
    binds: str
    past_ridge: bool
    log_concurrency: float
    present: bool


@dataclass(frozen=True, slots=True)
class Compared:
    """One model's KV under the same format and parallelism; bytes of one token over all layers."""

    name: str
    token_bytes: int
    gpu_token_bytes: int
    request_bytes: int
    present: bool


@dataclass(frozen=True, slots=True)
class KvSize:
    """What a token, a block and a sequence take, and how many sequences the pool holds.

    `token_bytes` is one copy of one token over all layers, `gpu_token_bytes` what each GPU keeps of it and
    `node_token_bytes` all GPUs of one engine together; `replicas` of them keep the same bytes. `sequence_blocks` are
    those of a sequence that decodes, `admission_blocks` what the engine reckons with while it prefills. `sequences` are
    one engine's, `node_sequences` those of all data-parallel ranks. `lowest` is the lowest of KV, ridge and flag;
    `log_concurrency` is what the engine's log says, for requests of the model's whole context.
    """

    layer_token_bytes: int
    token_bytes: int
    gpu_token_bytes: int
    node_token_bytes: int
    replicas: int
    gpus: int
    mha_token_bytes: int
    mha_ratio: float
    block_bytes: int
    pool_bytes: int
    pool_blocks: int
    pool_tokens: int
    node_pool_tokens: int
    groups: tuple[Group, ...]
    sequence_blocks: int
    sequence_bytes: int
    node_request_bytes: int
    admission_blocks: int
    admission_bytes: int
    unwindowed_bytes: int
    waste_share: float
    sequences: int
    node_sequences: int
    left_blocks: int
    flag: int
    ridge: int
    lowest: int
    binds: str
    reached: int
    log_concurrency: float
    contexts: tuple[AtContext, ...]
    compared: tuple[Compared, ...]
    finding: str
    binds_verdict: str
    split_verdict: str
    window_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def node_request_gib(self) -> float:
        return self.node_request_bytes / 2**30


@dataclass(frozen=True, slots=True)
class Scene:
    """The inputs together: the model as reshaped, the format, the parallelism and the cache of one GPU."""

    model: Model
    form: str
    tensor: int
    data: int
    shards: int
    context: int
    cache: Cache
    pool_bytes: int
    flag: int
    ridge: int

    @property
    def windowed(self) -> bool:
        """Whether some layers keep only the tokens of a window."""
        return not {FULL, MLA}.issuperset(self.cache.managed_kinds)


def solve(*, model: str = "llama-3.1-8b", kv_cache_dtype: str = BF16, context_tokens: int = 2_048,
          pool_gib: float = 54.4, tensor_parallel_size: int = 1, data_parallel_size: int = 1,
          decode_context_parallel_size: int = 1, block_size: int = 16, max_num_seqs: int = 1_024, gpu: str = "h100",
          max_num_batched_tokens: int = 8_192, async_scheduling: bool = True, hybrid_kv_cache_manager: bool = True,
          layers: int | None = None, window_layers: int | None = None, window: int | None = None,
          kv_heads: int | None = None, head_dim: int | None = None) -> KvSize:
    """Size the KV cache of a model on one GPU, and count the sequences of `context_tokens` that its pool holds.

    A layer keeps 2 (K and V) * KV heads * head size * bytes a token, a latent layer (latent + rope) * bytes. The GPUs
    of a tensor-parallel group split the KV heads, at least one each, and never a latent; those of a
    decode-context-parallel group split the tokens; data-parallel ranks hold requests of their own. Sequences = blocks
    of the pool / blocks of a sequence, both whole. Empty shapes are the model's. Exact for the pool; the ridge is the
    datasheet's.
    Raises Refusal when not one sequence fits, and for shapes and splits that can't be.
    Source: vllm 0.33.0, v1/kv_cache_interface.py; v1/core/kv_cache_planning.py; config/model.py, get_num_kv_heads.
    """
    shape = reshaped(MODELS[model], layers=layers, window_layers=window_layers, window=window, kv_heads=kv_heads,
                     head_dim=head_dim)
    refuse_split(shape, tensor_parallel_size, decode_context_parallel_size)
    cache = cache_of(
        shape, kv_cache_dtype, tensor_parallel_size, block_size=block_size, ranks=decode_context_parallel_size,
        in_flight_tokens=max_num_batched_tokens * (2 if async_scheduling else 1), hybrid=hybrid_kv_cache_manager,
    )
    scene = Scene(shape, kv_cache_dtype, tensor_parallel_size, data_parallel_size, decode_context_parallel_size,
                  context_tokens, cache, int(pool_gib * 2**30), max_num_seqs, round(GPUS[gpu].ridge))
    pool = kv_blocks.pool(cache, scene.pool_bytes, context_tokens)
    needed = cache.settled.request_blocks(context_tokens)
    if needed > pool.num_blocks:
        raise Refusal(f"One sequence needs {needed:,} blocks of {binary(pool.bytes_per_block)}; the pool holds "
                      f"{pool.num_blocks:,}.", "context_tokens")
    contexts = tuple(at_context(scene, context, pool.num_blocks) for context in sorted({*CONTEXTS, context_tokens}))
    here = next(row for row in contexts if row.present)
    per_layer, whole = cache.token_bytes, layer_bytes(shape, kv_cache_dtype) * shape.layers
    mha = mha_bytes(shape, kv_cache_dtype)
    blocks_bytes = needed * pool.bytes_per_block
    result = KvSize(
        layer_token_bytes=per_layer, token_bytes=whole, gpu_token_bytes=per_layer * shape.layers,
        node_token_bytes=per_layer * shape.layers * tensor_parallel_size // decode_context_parallel_size,
        replicas=replicas(shape, tensor_parallel_size), gpus=tensor_parallel_size * data_parallel_size,
        mha_token_bytes=mha, mha_ratio=mha / whole, block_bytes=pool.bytes_per_block, pool_bytes=scene.pool_bytes,
        pool_blocks=pool.num_blocks, pool_tokens=pool_tokens(scene, pool.num_blocks),
        node_pool_tokens=pool_tokens(scene, pool.num_blocks) * data_parallel_size,
        groups=pool.groups, sequence_blocks=needed, sequence_bytes=blocks_bytes,
        node_request_bytes=blocks_bytes * tensor_parallel_size,
        admission_blocks=cache.request_blocks(context_tokens), admission_bytes=pool.request_bytes,
        unwindowed_bytes=ceil_div(ceil_div(context_tokens, cache.ranks), block_size) * cache.page_bytes * shape.layers,
        waste_share=1 - kept_bytes(scene) / blocks_bytes,
        sequences=here.sequences, node_sequences=here.sequences * data_parallel_size,
        left_blocks=pool.num_blocks - here.sequences * needed, flag=max_num_seqs, ridge=scene.ridge,
        lowest=min(here.sequences, scene.ridge, max_num_seqs), binds=here.binds, reached=here.reached,
        log_concurrency=pool.num_blocks / cache.request_blocks(shape.longest_context), contexts=contexts,
        compared=compared(scene, model),
        finding="", binds_verdict="", split_verdict="", window_verdict="", lines=(), slips=(),
    )
    return replace(
        result, finding=finding(scene, result), binds_verdict=binds_verdict(scene, result),
        split_verdict=split_verdict(scene, result), window_verdict=window_verdict(scene, result),
        lines=lines_of(scene, result), slips=slips_of(scene, result),
    )


def refuse_split(model: Model, tensor: int, shards: int) -> None:
    """Raise Refusal for a decode-context-parallel size that vLLM would not start with."""
    if shards == 1:
        return
    if tensor % shards:
        raise Refusal(f"Decode context parallelism splits the {tensor:,} tensor-parallel GPUs, so it must divide "
                      f"{tensor:,}.", "decode_context_parallel_size")
    if not {FULL, MLA}.issuperset(model.pattern):
        raise Refusal("Decode context parallelism does not go with windowed layers.", "decode_context_parallel_size")
    if not model.latent and shards > tensor // model.kv_heads:
        raise Refusal(f"On {tensor:,} GPUs there are {max(1, tensor // model.kv_heads):,} of each of the "
                      f"{model.kv_heads:,} KV heads; only copies can be split by tokens.",
                      "decode_context_parallel_size")


def at_context(scene: Scene, context: int, num_blocks: int) -> AtContext:
    """The sequences of one length, decoding; the lowest of the three ceilings binds, of equals the first named."""
    blocks = scene.cache.settled.request_blocks(context)
    sequences = num_blocks // blocks
    _, binds = min(((sequences, KV), (scene.ridge, RIDGE), (scene.flag, FLAG)), key=lambda pair: pair[0])
    reached = min(sequences, scene.flag)
    return AtContext(context, blocks, blocks * scene.cache.bytes_per_block, sequences, reached, binds,
                     reached > scene.ridge, num_blocks / scene.cache.request_blocks(context), context == scene.context)


def pool_tokens(scene: Scene, num_blocks: int) -> int:
    """Tokens that the pool holds: of whole blocks where every layer keeps every token, else of the present length."""
    if not scene.windowed:
        return num_blocks * scene.cache.block_size * scene.shards
    return int(num_blocks / scene.cache.settled.request_blocks(scene.context) * scene.context)


def kept_bytes(scene: Scene) -> int:
    """Bytes of what a decoding sequence must keep, without the rest of blocks and the padding of groups."""
    reach = min(scene.context, scene.model.window)
    full = sum(kind in (FULL, MLA) for kind in scene.cache.managed_kinds)
    tokens = full * ceil_div(scene.context, scene.shards) + (scene.model.layers - full) * reach
    return tokens * scene.cache.token_bytes


def mha_bytes(model: Model, form: str) -> int:
    """Bytes of one token if every query head had a K and a V of its own."""
    values = model.query_heads * (model.head_dim + (model.v_head_dim or model.head_dim))
    return int(model.layers * values * VALUE_BYTES[BF16 if form == FP8_DS_MLA else form])


def compared(scene: Scene, slug: str) -> tuple[Compared, ...]:
    """Some models under the same format and split, the present one as reshaped."""
    rows = []
    for other in (*COMPARED, *(() if slug in COMPARED else (slug,))):
        model = scene.model if other == slug else MODELS[other]
        form = BF16 if scene.form == FP8_DS_MLA and not model.latent else scene.form
        cache = cache_of(model, form, scene.tensor, block_size=scene.cache.block_size,
                         hybrid=scene.cache.hybrid).settled
        rows.append(Compared(
            model.name, layer_bytes(model, form) * model.layers, cache.token_bytes * model.layers,
            cache.request_blocks(scene.context) * cache.bytes_per_block, other == slug,
        ))
    return tuple(rows)


def finding(scene: Scene, result: KvSize) -> str:
    """The whole result in one sentence."""
    fit = "1 sequence fits" if result.sequences == 1 else f"{result.sequences:,} sequences fit"
    where = " on each GPU" if result.gpus > 1 else ""
    return (f"{scene.model.name} keeps {binary(result.gpu_token_bytes)} a token{where}, so {fit} at "
            f"{scene.context:,} tokens.")


def binds_verdict(scene: Scene, result: KvSize) -> str:
    """Which of pool, ridge and flag comes first, in a sentence or two."""
    if result.binds == FLAG:
        return f"The flag binds: max_num_seqs stops at {result.flag:,} with room for {result.sequences:,}."
    if result.binds == RIDGE:
        where = "the flag lets in" if result.reached == result.flag else "the pool holds"
        return (f"The ridge comes first: past {result.ridge:,} sequences a step grows with each one, and {where} "
                f"{result.reached:,}.")
    return f"The KV pool binds; the flag, {result.flag:,}, is never reached."


def split_verdict(scene: Scene, result: KvSize) -> str:
    """What the GPUs of an engine share and what they repeat, in a sentence; "" on one GPU."""
    if scene.tensor == 1:
        if scene.data > 1:
            return (f"Each of the {scene.data:,} data-parallel ranks holds requests of its own, so together they hold "
                    f"{result.node_sequences:,}.")
        return ""
    if scene.shards > 1:
        return f"The tokens of a request are split over {scene.shards:,} of the {scene.tensor:,} GPUs."
    if scene.model.latent:
        return (f"A latent has no heads to split: each of the {scene.tensor:,} GPUs keeps all of it, so a request "
                f"takes {binary(result.node_request_bytes)} of the node.")
    if result.replicas > 1:
        return (f"{scene.model.kv_heads:,} KV heads on {scene.tensor:,} GPUs: each keeps one, and {result.replicas:,} "
                "GPUs keep the same.")
    kept = heads_on(scene.model, scene.tensor)
    return f"Each of the {scene.tensor:,} GPUs keeps {kept:,} of {scene.model.kv_heads:,} KV heads."


def window_verdict(scene: Scene, result: KvSize) -> str:
    """What windows save of a sequence, and what is reserved while it prefills, in two sentences; "" without windows."""
    if not scene.windowed:
        return ""
    saved = result.unwindowed_bytes / result.sequence_bytes
    return (f"Decoding, a sequence takes {binary(result.sequence_bytes)}; without windows {saved:.1f}× as much. While "
            f"it prefills it may take {binary(result.admission_bytes)}, since a window holds the tokens in flight too.")


def lines_of(scene: Scene, result: KvSize) -> tuple[Line, ...]:
    """From a token to the sequences, each with its numbers filled in."""
    cache = scene.cache
    lines = [Line("a token, one GPU", token_expression(scene), result.gpu_token_bytes, "B")]
    if scene.windowed and len(result.groups) > 1:
        lines += [
            size_line("a block, one group", f"{cache.widest:,} layers × {cache.block_size:,} × {cache.token_bytes:,}",
                      result.block_bytes),
            Line("blocks in the pool", f"{scene.pool_bytes / 2**30:g} GiB / {binary(result.block_bytes)}",
                 result.pool_blocks, "blocks"),
        ]
        settled = cache.settled
        for kind in dict.fromkeys(kind for kind, _ in cache.group_kinds):
            groups = sum(other == kind for other, _ in cache.group_kinds)
            each = settled.blocks(kind, scene.context)
            name = {FULL: "full", MLA: "latent"}.get(kind, "windowed")
            lines.append(Line(f"a sequence, {name}", f"{groups:,} × {each:,}", groups * each, "blocks"))
    else:
        kind = cache.managed_kinds[0]
        lines += [
            size_line("a block", f"{cache.block_size:,} × {result.gpu_token_bytes:,}", result.block_bytes),
            Line("blocks in the pool", f"{scene.pool_bytes / 2**30:g} GiB / {binary(result.block_bytes)}",
                 result.pool_blocks, "blocks"),
            Line("a sequence", sequence_expression(scene, kind), result.sequence_blocks, "blocks"),
        ]
    lines.append(Line("sequences", f"{result.pool_blocks:,} / {result.sequence_blocks:,}", result.sequences, "",
                      total=True))
    if scene.data > 1:
        lines.append(Line("on all ranks", f"{scene.data:,} × {result.sequences:,}", result.node_sequences, ""))
    lines.append(size_line("one such request", f"{result.sequence_blocks:,} × {binary(result.block_bytes)}",
                           result.sequence_bytes))
    if scene.tensor > 1:
        lines.append(size_line("on all its GPUs", f"{scene.tensor:,} × {binary(result.sequence_bytes)}",
                               result.node_request_bytes))
    return tuple(lines)


def token_expression(scene: Scene) -> str:
    """"2 × 32 × 8 × 128 × 2", or "61 × (512 + 64) × 2" of a latent."""
    model = scene.model
    if scene.form == FP8_DS_MLA:
        return f"{model.layers:,} × {DS_MLA_BYTES:,}"
    each = f"{float(VALUE_BYTES[scene.form]):g}"
    if model.latent:
        return f"{model.layers:,} × ({model.latent:,} + {model.rope:,}) × {each}"
    return f"2 × {model.layers:,} × {heads_on(model, scene.tensor):,} × {model.head_dim:,} × {each}"


def sequence_expression(scene: Scene, kind: str) -> str:
    """How the blocks of a sequence come about where all layers are of one kind."""
    size = f"{scene.cache.block_size:,}"
    if kind in (FULL, MLA):
        shards = f" / {scene.shards:,}" if scene.shards > 1 else ""
        return f"{scene.context:,}{shards} / {size}"
    return f"min({scene.context:,}, {scene.model.window:,}) / {size}, ends ragged"


def slips_of(scene: Scene, result: KvSize) -> tuple[tuple[float, str], ...]:
    """The wrong numbers of sequences that people reach and what each leaves out; none near the right one."""
    model, right = scene.model, result.sequences
    slips = [
        (result.log_concurrency, "That is the log's figure, for requests as long as the model takes."),
        (result.ridge, "That is the compute ridge. It says where more sequences stop paying, not how many fit."),
        (result.flag, "That is max_num_seqs, a cap on sequences; the pool decides how many fit."),
    ]
    if model.latent:
        slips += [
            (right / result.mha_ratio, "That keeps K and V of every head; the latent stands in for all of them."),
            (right / 2, "That doubles for K and V. Both are rebuilt from one latent, so there is no factor 2."),
            (right * scene.tensor, "That splits the latent over the GPUs. It has no heads, so each keeps all of it."),
        ]
    else:
        slips += [
            (right * model.kv_heads / model.query_heads,
             "That counts query heads. Only K and V are kept, and several query heads share one KV head."),
            (right * 2, "That counts K or V alone; both are kept."),
            (right / scene.tensor, "That puts all KV heads on every GPU; tensor parallelism splits them."),
            (right * max(scene.tensor // model.kv_heads, 1),
             f"That splits {model.kv_heads:,} KV heads over more GPUs than there are heads; the rest are copies."),
        ]
    if scene.windowed:
        slips += [
            (scene.pool_bytes // result.unwindowed_bytes,
             "That lets every layer keep every token; windowed layers keep only their window."),
            (scene.pool_bytes // result.admission_bytes,
             "That is while each one prefills, with the tokens in flight in every window."),
        ]
    return tuple((value, sentence) for value, sentence in slips if abs(value / right - 1) > SLIP_APART)
