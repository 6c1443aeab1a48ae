"""Hybrid cache: layers that keep all, a window or a state, in groups of equal size that share one pool of blocks."""
from dataclasses import dataclass, replace

from calculators.models import catalogue
from calculators.models.base import Line, Refusal
from calculators.models.catalogue import BF16, CHUNKED_LOCAL, FULL, LINEAR, MLA, SLIDING
from calculators.models.kv_blocks import Cache, ceil_div
from calculators.models.kv_token import binary, cache_of, reshaped, size_line

MODELS = ("gemma-3-27b", "gpt-oss-20b", "gpt-oss-120b", "llama-4-scout", "mistral-7b-v0.1", "llama-3.1-8b",
          "qwen3-30b-a3b")
CONTEXTS = (8_192, 32_768, 131_072)
GIB = 2**30
SLIP_APART = 0.05  # a wrong value nearer to the right one than this is no slip
NAMES = {FULL: "full", MLA: "latent", SLIDING: "window", CHUNKED_LOCAL: "chunk", LINEAR: "state"}


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Layers with one block table: how many, the empty slots beside them, and one request's blocks by phase."""

    kind: str
    layers: int
    padding: int
    decode_blocks: int
    prefill_blocks: int


@dataclass(frozen=True, slots=True)
class AtContext:
    """One request of so many tokens: what its layers need, what all-full layers would, and its blocks by phase."""

    context: int
    needed_bytes: int
    all_full_bytes: int
    saved: float
    decode_blocks: int
    decode_bytes: int
    prefill_blocks: int
    prefill_bytes: int
    present: bool


@dataclass(frozen=True, slots=True)
class HybridCache:
    """How layers of several kinds share one pool, and what one request takes with and without that; bytes on one GPU.

    `needed_bytes` is what the layers themselves keep; `decode_bytes` the same in blocks, with padding; `prefill_bytes`
    the most it may hold with tokens in flight; `all_full_bytes` what it takes when every layer keeps every token.
    `padding_share` is of the kind that is padded. `hit_blocks` must be found in a row before a windowed layer hits.
    """

    layer_token_bytes: int
    full_layers: int
    window_layers: int
    state_layers: int
    window: int
    group_size: int
    groups: tuple[LayerGroup, ...]
    padding_layers: int
    padding_share: float
    asked_block_size: int
    block_size: int
    page_bytes: int
    block_bytes: int
    full_bytes: int
    window_bytes: int
    state_bytes: int
    needed_bytes: int
    all_full_bytes: int
    saved: float
    decode_blocks: int
    decode_bytes: int
    decode_gib: float
    prefill_blocks: int
    prefill_bytes: int
    window_decode_blocks: int
    window_prefill_blocks: int
    hit_blocks: int
    in_flight_tokens: int
    contexts: tuple[AtContext, ...]
    finding: str
    group_verdict: str
    phase_verdict: str
    block_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, model: str = "gemma-3-27b", context_tokens: int = 32_768, full_layers: int | None = None,
          window_layers: int | None = None, window: int | None = None, state_layers: int = 0, state_kib: float = 0,
          kv_heads: int | None = None, head_dim: int | None = None, block_size: int = 16,
          tensor_parallel_size: int = 1, kv_cache_dtype: str = BF16, max_num_batched_tokens: int = 8_192,
          async_scheduling: bool = True) -> HybridCache:
    """Group a model's layers as vLLM does and count the blocks of one request in each phase.

    Groups have as many layers as the rarest kind (or as the commonest, when that is less than half as many again) and
    share one pool of blocks of one size. A windowed layer holds min(window - 1 + tokens in flight, context) tokens and
    one block more; decoding, the window alone. A state takes one block, and an attention block grows until it is as
    large. Exact. Empty shapes are the model's.
    Raises Refusal for shapes that can't be.
    Source: vllm 0.33.0, v1/core/kv_cache_planning.py, _get_kv_cache_groups_uniform_page_size;
    v1/kv_cache_interface.py, SlidingWindowSpec; platforms/interface.py, _align_hybrid_block_size.
    """
    own = catalogue.MODELS[model]
    shape = reshaped(own, layers=layers_of(own, full_layers, window_layers), window_layers=window_layers, window=window,
                     kv_heads=kv_heads, head_dim=head_dim)
    if state_layers and not state_kib:
        raise Refusal("A layer with a state needs its size.", "state_kib")
    state_bytes = int(state_kib * 1024) if state_layers else 0
    attention = cache_of(shape, kv_cache_dtype, tensor_parallel_size, block_size=block_size,
                         in_flight_tokens=max_num_batched_tokens * (2 if async_scheduling else 1))
    cache = replace(attention, kinds=attention.kinds + (LINEAR,) * state_layers, state_bytes=state_bytes)
    rows = tuple(at_context(cache, context, context_tokens) for context in sorted({*CONTEXTS, context_tokens}))
    here = next(row for row in rows if row.present)
    groups = tuple(
        LayerGroup(kind, layers, cache.widest - layers, cache.settled.blocks(kind, context_tokens),
                   cache.blocks(kind, context_tokens))
        for kind, layers in cache.group_kinds
    )
    windowed = sum(kind in (SLIDING, CHUNKED_LOCAL) for kind in cache.kinds)
    full = len(cache.kinds) - windowed - state_layers
    padding = sum(group.padding for group in groups)
    padded = sum(group.layers for group in groups if any(g.kind == group.kind and g.padding for g in groups))
    in_window = min(context_tokens, shape.window)
    first = next((group for group in groups if group.kind in (SLIDING, CHUNKED_LOCAL)), None)
    result = HybridCache(
        layer_token_bytes=cache.token_bytes, full_layers=full, window_layers=windowed, state_layers=state_layers,
        window=shape.window if windowed else 0, group_size=cache.widest, groups=groups, padding_layers=padding,
        padding_share=padding / padded if padded else 0.0, asked_block_size=block_size,
        block_size=cache.attention_block_size, page_bytes=cache.page_bytes, block_bytes=cache.bytes_per_block,
        full_bytes=full * cache.token_bytes * context_tokens, window_bytes=windowed * cache.token_bytes * in_window,
        state_bytes=state_layers * state_bytes, needed_bytes=here.needed_bytes, all_full_bytes=here.all_full_bytes,
        saved=here.saved, decode_blocks=here.decode_blocks, decode_bytes=here.decode_bytes,
        decode_gib=here.decode_bytes / GIB, prefill_blocks=here.prefill_blocks, prefill_bytes=here.prefill_bytes,
        window_decode_blocks=first.decode_blocks if first else 0,
        window_prefill_blocks=first.prefill_blocks if first else 0,
        hit_blocks=ceil_div(shape.window - 1, cache.attention_block_size) if windowed else 0,
        in_flight_tokens=cache.in_flight_tokens, contexts=rows,
        finding="", group_verdict="", phase_verdict="", block_verdict="", lines=(), slips=(),
    )
    return replace(
        result, finding=finding(result, context_tokens), group_verdict=group_verdict(result),
        phase_verdict=phase_verdict(result), block_verdict=block_verdict(result),
        lines=lines_of(result, context_tokens), slips=slips_of(result),
    )


def layers_of(own: catalogue.Model, full: int | None, windowed: int | None) -> int | None:
    """Attention layers in all when some of their numbers are given; None for the model's own.

    Raises Refusal when only the full ones of a mixed model are given, or none is left.
    """
    if full is None:
        return own.layers if windowed is not None else None
    if windowed is None and own.pattern != (FULL,):
        raise Refusal(f"{own.name} has layers of more than one kind; give the windowed ones as well.", "window_layers")
    if full + (windowed or 0) == 0:
        raise Refusal("A model has at least one attention layer.", "full_layers")
    return full + (windowed or 0)


def at_context(cache: Cache, context: int, present: int) -> AtContext:
    """One request of so many tokens."""
    states = cache.kinds.count(LINEAR)
    windowed = sum(kind in (SLIDING, CHUNKED_LOCAL) for kind in cache.kinds)
    full = len(cache.kinds) - states - windowed
    needed = cache.token_bytes * (full * context + windowed * min(context, cache.window)) + states * cache.state_bytes
    all_full = cache.token_bytes * (full + windowed) * context + states * cache.state_bytes
    decode, prefill = cache.settled.request_blocks(context), cache.request_blocks(context)
    return AtContext(context, needed, all_full, all_full / needed, decode, decode * cache.bytes_per_block, prefill,
                     prefill * cache.bytes_per_block, context == present)


def finding(result: HybridCache, context: int) -> str:
    """The whole result in one sentence."""
    takes = (f"One request of {context:,} tokens takes {binary(result.decode_bytes)} in {len(result.groups):,} "
             f"group{'s' * (len(result.groups) > 1)}")
    if result.window_layers:
        return f"{takes}; with every layer full {binary(result.all_full_bytes)}."
    return f"{takes}, {binary(result.state_bytes)} of it states." if result.state_layers else f"{takes}."


def group_verdict(result: HybridCache) -> str:
    """How the layers are dealt out, in a sentence or two."""
    if len(result.groups) == 1:
        return "All layers are of one kind, so there is one group."
    words = f"{len(result.groups):,} groups of {result.group_size:,} layer slots draw from one pool of blocks."
    if not result.padding_layers:
        return words
    slots = "1 slot is empty" if result.padding_layers == 1 else f"{result.padding_layers:,} slots are empty"
    return f"{words} {slots}, {result.padding_share:.1%} on top of that kind’s layers."


def phase_verdict(result: HybridCache) -> str:
    """What a window holds in each phase, in a sentence; "" without one."""
    if not result.window:
        return ""
    return (f"A windowed group holds {result.window_decode_blocks:,} blocks while decoding and up to "
            f"{result.window_prefill_blocks:,} while prefilling, with {result.in_flight_tokens:,} tokens in flight.")


def block_verdict(result: HybridCache) -> str:
    """What a state does to the block, in a sentence; "" when the block is as asked."""
    if result.block_size == result.asked_block_size:
        return ""
    return (f"A block grows to {result.block_size:,} tokens so that its page, {binary(result.page_bytes)}, holds a "
            "state; a shared prompt shorter than that finds nothing.")


def lines_of(result: HybridCache, context: int) -> tuple[Line, ...]:
    """What the layers keep, summed, then the same in blocks, and without windows."""
    token = f"{result.layer_token_bytes:,}"
    lines = []
    if result.full_layers:
        lines.append(Line("full layers", f"{result.full_layers:,} × {token} × {context:,}", result.full_bytes / GIB,
                          "GiB"))
    if result.window_layers:
        lines.append(Line("windowed layers", f"{result.window_layers:,} × {token} × {min(context, result.window):,}",
                          result.window_bytes / GIB, "GiB"))
    if result.state_layers:
        lines.append(Line("states", f"{result.state_layers:,} × {binary(result.state_bytes / result.state_layers)}",
                          result.state_bytes / GIB, "GiB"))
    counts: dict[str, list[int]] = {}
    for group in result.groups:
        counts.setdefault(NAMES[group.kind], []).append(group.decode_blocks)
    blocks = " + ".join(f"{len(held)} × {held[0]:,}" for held in counts.values())
    return (
        *lines,
        Line("what they keep", "", result.needed_bytes / GIB, "GiB", total=True),
        Line("blocks, decoding", blocks, result.decode_blocks, "blocks"),
        size_line("a block", f"{result.group_size:,} × {result.block_size:,} × {token}", result.block_bytes),
        Line("in blocks", f"{result.decode_blocks:,} × {binary(result.block_bytes)}", result.decode_gib, "GiB"),
        Line("every layer full", f"{result.full_layers + result.window_layers:,} × {token} × {context:,}",
             result.all_full_bytes / GIB, "GiB"),
    )


def slips_of(result: HybridCache) -> tuple[tuple[float, str], ...]:
    """The wrong sizes (GiB) that people reach and what each leaves out; none near the right one."""
    slips = (
        (result.all_full_bytes / GIB, "That lets every layer keep every token, as without the hybrid manager."),
        (result.full_bytes / GIB, "That leaves out the windowed layers; each still keeps its window."),
        (result.window_bytes / GIB, "That is the windowed layers alone."),
        (result.needed_bytes / 2 / GIB, "That counts K or V alone; both are kept."),
        (result.prefill_bytes / GIB, "That is the most it holds while prefilling; decoding, a window is a window."),
    )
    right = result.decode_gib
    return tuple((value, sentence) for value, sentence in slips if abs(value / right - 1) > SLIP_APART)
