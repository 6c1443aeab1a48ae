"""How vLLM turns the bytes left for KV into blocks: layer groups, pages, and how many requests of full length fit."""
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from calculators.models.catalogue import CHUNKED_LOCAL, FULL, LINEAR, MLA, SLIDING

KERNEL_TOKENS = 16  # an attention kernel takes multiples of so many tokens


def ceil_div(whole: int, part: int) -> int:
    """How many parts it takes to hold the whole."""
    return -(-whole // part)


@dataclass(frozen=True, kw_only=True)
class Cache:
    """What one GPU keeps, and the settings that shape it.

    `kinds`: each layer's, in order. `token_bytes`: of one token in one attention layer. `window`: of sliding layers, or
    the chunk of chunked-local ones. `in_flight_tokens`: scheduled and not yet settled, the token budget times the
    batches under way. `ranks`: GPUs that share a request's tokens between them. `state_bytes`: of one linear-attention
    layer; `state_blocks` of them are held by a request. Without `hybrid` windowed layers keep every token.
    """

    kinds: tuple[str, ...]
    token_bytes: int
    window: int = 0
    block_size: int = 16
    in_flight_tokens: int = 16_384
    ranks: int = 1
    state_bytes: int = 0
    state_blocks: int = 1
    hybrid: bool = True

    @cached_property
    def attention_block_size(self) -> int:
        """Tokens of an attention layer's block: grown until its page holds a linear layer's state."""
        if LINEAR not in self.kinds:
            return self.block_size
        step = KERNEL_TOKENS * self.token_bytes
        return max(self.block_size, KERNEL_TOKENS * ceil_div(self.state_bytes, step))

    @property
    def page_bytes(self) -> int:
        """Bytes of one block in one layer, the same in every layer."""
        return self.attention_block_size * self.token_bytes

    @cached_property
    def managed_kinds(self) -> tuple[str, ...]:
        """The kinds as the cache manager treats them."""
        if self.hybrid or FULL not in self.kinds:
            return self.kinds
        return tuple(FULL if kind in (SLIDING, CHUNKED_LOCAL) else kind for kind in self.kinds)

    @cached_property
    def group_kinds(self) -> tuple[tuple[str, int], ...]:
        """Kind and number of layers of each group.

        A group has as many layers as the rarest kind, or as the commonest when that has less than half as many again; a
        kind with more is dealt out in turn over several groups.
        """
        counts = {kind: self.managed_kinds.count(kind) for kind in dict.fromkeys(self.managed_kinds)}
        fewest, most = min(counts.values()), max(counts.values())
        size = most if most < 1.5 * fewest else fewest
        return tuple(
            (kind, len(range(place, count, groups)))
            for kind, count in counts.items() for groups in [ceil_div(count, size)] for place in range(groups)
        )

    @property
    def widest(self) -> int:
        """Layers of the widest group; narrower ones are padded to it."""
        return max(layers for _, layers in self.group_kinds)

    @property
    def bytes_per_block(self) -> int:
        """Bytes of one block over all layers of a group; every group draws from one pool of them."""
        return self.page_bytes * self.widest

    def blocks(self, kind: str, tokens: int) -> int:
        """Blocks that one request of so many tokens may hold at once in a group of that kind."""
        if kind == LINEAR:
            return self.state_blocks
        if kind == SLIDING:  # one more, since a window need not begin with a block
            return ceil_div(min(self.window - 1 + self.in_flight_tokens, tokens), self.attention_block_size) + 1
        if kind == CHUNKED_LOCAL:
            return ceil_div(min(self.window + self.in_flight_tokens, tokens), self.attention_block_size)
        return ceil_div(ceil_div(tokens, self.ranks), self.attention_block_size)

    def request_blocks(self, tokens: int) -> int:
        """Blocks that one request of so many tokens may hold, summed over the groups."""
        return sum(self.blocks(kind, tokens) for kind, _ in self.group_kinds)

    def layer_sum_bytes(self, tokens: int) -> int:
        """The same in bytes, summed layer by layer: without the padding of groups, and with every window in force."""
        return self.page_bytes * sum(self.blocks(kind, tokens) for kind in self.kinds)

    @cached_property
    def settled(self) -> "Cache":
        """The same while a request decodes and no prefill tokens are in flight."""
        return replace(self, in_flight_tokens=0)


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that share one block table; `blocks` are those of one request of full length."""

    kind: str
    layers: int
    block_size: int
    page_bytes: int
    blocks: int


@dataclass(frozen=True, slots=True)
class Pool:
    """What comes of the bytes: blocks, and how many requests of `max_model_len` tokens they hold.

    When not even one fits, `fits` is False and `longest` is the longest request that would (0: none).
    """

    groups: tuple[Group, ...]
    bytes_per_block: int
    request_bytes: int
    layer_sum_bytes: int
    usable_bytes: int
    fits: bool
    longest: int
    num_blocks: int
    max_concurrency: float
    size_tokens: int

    @property
    def bytes_per_token(self) -> int | None:
        """Bytes of KV a token on one GPU, where every layer keeps every token; None where that is no one number."""
        group, *more = self.groups
        if more or group.kind not in (FULL, MLA):
            return None
        return group.page_bytes * group.layers // group.block_size


def pool(cache: Cache, available_bytes: int, max_model_len: int, num_gpu_blocks_override: int | None = None) -> Pool:
    """Size the pool of one GPU as the engine does when it starts.

    One block, the null block, is set aside when it asks whether a request of `max_model_len` fits, and counted again in
    the concurrency that it logs.
    Source: vllm 0.33.0, v1/core/kv_cache_planning.py, get_kv_cache_configs; v1/core/kv_cache_utils.py,
    get_max_concurrency_for_kv_cache_config; v1/kv_cache_interface.py, max_memory_usage_bytes of each spec.
    """
    per_block = cache.bytes_per_block
    if num_gpu_blocks_override is not None:
        available_bytes = num_gpu_blocks_override * per_block
    usable = available_bytes - per_block
    needed = cache.request_blocks(max_model_len)
    fits = usable > 0 and needed * per_block <= usable
    num_blocks = available_bytes // per_block
    concurrency = num_blocks / needed
    return Pool(
        groups=groups_of(cache, max_model_len), bytes_per_block=per_block, request_bytes=needed * per_block,
        layer_sum_bytes=cache.layer_sum_bytes(max_model_len), usable_bytes=usable, fits=fits,
        longest=max_model_len if fits else longest(cache, usable, max_model_len), num_blocks=num_blocks,
        max_concurrency=concurrency, size_tokens=int(concurrency * max_model_len),
    )


def groups_of(cache: Cache, max_model_len: int) -> tuple[Group, ...]:
    """The groups with the blocks of one request; a state that is kept once has a block as long as the request."""
    once = cache.state_blocks == 1
    return tuple(
        Group(kind, layers, max_model_len if kind == LINEAR and once else cache.attention_block_size, cache.page_bytes,
              cache.blocks(kind, max_model_len))
        for kind, layers in cache.group_kinds
    )


def longest(cache: Cache, usable_bytes: int, most: int) -> int:
    """The longest request in tokens, up to `most`, whose blocks fit; 0 when none does."""
    lengths: Sequence[int] = range(1, most + 1)
    return bisect_right(lengths, usable_bytes // cache.bytes_per_block, key=cache.request_blocks)
