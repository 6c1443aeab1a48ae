"""The KV-cache blocks: who holds each one, which have a prefix-cache entry, and the order in which free ones go out.

Block ids run from 1 (block 0 is vLLM's null block and is never handed out). A block's *identity* is its tokens, all
tokens before them, and the cache salt. Blocks of equal identity are not merged: each keeps its own entry.
Source: vLLM 0.33.0, vllm/v1/core/kv_cache_manager.py, block_pool.py, single_type_kv_cache_manager.py.
"""
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Block:
    """One block: `index` is its place (from 1) in the sequence of `owner`, whose content it is, or was when freed."""

    id: int
    holders: tuple[str, ...] = ()
    owner: str = ""
    index: int = 0
    filled: int = 0
    identity: int | None = None

    @property
    def cached(self) -> bool:
        """Whether the block has a prefix-cache entry, in use or free."""
        return self.identity is not None

    @property
    def label(self) -> str:
        """Owner and place, "C9"; empty for a block that was never handed out."""
        return f"{self.owner}{self.index}" if self.owner else ""


@dataclass(slots=True, eq=False)
class KvSequence:
    """What the cache knows of a request: its tokens so far, how many are computed, and the blocks that hold them."""

    id: str
    tokens: list[int]
    salt: str = ""
    computed: int = 0
    blocks: list[int] = field(default_factory=list)
    entered: int = 0  # leading blocks that have had their prefix-cache entry
    identities: list[int] = field(default_factory=list)


class KvCache:
    """A pool of `usable_blocks` blocks of `block_size` tokens, all free at the start, in the order 1, 2, 3, …"""

    def __init__(self, usable_blocks: int, block_size: int, max_model_len: int, enable_prefix_caching: bool) -> None:
        self.block_size = block_size
        self.max_model_len = max_model_len
        self.caching = enable_prefix_caching
        self.blocks = {id: Block(id) for id in range(1, usable_blocks + 1)}
        self.queue: OrderedDict[int, None] = OrderedDict.fromkeys(self.blocks)
        self.entries: dict[int, dict[int, None]] = {}  # identity to the ids of its blocks, first entered first
        self.evicted: list[int] = []
        self._identity_of: dict[tuple[int | str, tuple[int, ...]], int] = {}

    @property
    def free_blocks(self) -> int:
        return len(self.queue)

    def lookup(self, sequence: KvSequence) -> list[int]:
        """The cached blocks that hold the longest known prefix.

        The last token is never looked up: it must be computed to yield the next one.
        """
        if not self.caching:
            return []
        hits: list[int] = []
        for identity in self._identities(sequence)[: (len(sequence.tokens) - 1) // self.block_size]:
            if not (copies := self.entries.get(identity)):
                break
            hits.append(next(iter(copies)))
        return hits

    def allocate(
        self, sequence: KvSequence, num_tokens: int, hits: Sequence[int] = (), *, lookahead: int = 0,
        whole_sequence_must_fit: bool = False, keep_free: int = 0,
    ) -> list[int] | None:
        """Give the sequence room for `num_tokens` more after its hits: the new block ids, or None if they don't fit.

        Blocks that are full after this step get their prefix-cache entry now, before the model has run, so that a
        request admitted later in the same step can hit them. Draft tokens are unverified and don't count.
        """
        held = len(sequence.blocks) + len(hits)
        idle_hits = sum(not self.blocks[id].holders for id in hits)  # free now, and about to leave the free queue

        def missing(tokens: int) -> int:
            return max(self._blocks_for(min(tokens, self.max_model_len)) - held, 0)

        room = self.free_blocks - idle_hits - keep_free
        if whole_sequence_must_fit and missing(len(sequence.tokens)) > room:
            return None
        after = sequence.computed + len(hits) * self.block_size + num_tokens
        if (needed := missing(after + lookahead)) > room:
            return None
        for id in hits:
            self._hold(id, sequence)
        new = [self._hand_out(sequence) for _ in range(needed)]
        sequence.entered = max(sequence.entered, len(hits))
        self.enter(sequence, min(after, len(sequence.tokens)))
        return new

    def enter(self, sequence: KvSequence, known_tokens: int) -> None:
        """Give a prefix-cache entry to each block that is full with the first `known_tokens` tokens."""
        if not self.caching:
            return
        identities = self._identities(sequence)[: known_tokens // self.block_size]
        for place in range(sequence.entered, len(identities)):
            id, identity = sequence.blocks[place], identities[place]
            self.blocks[id] = replace(self.blocks[id], identity=identity)
            self.entries.setdefault(identity, {})[id] = None
        sequence.entered = max(sequence.entered, len(identities))

    def fill(self, sequence: KvSequence, since: int) -> None:
        """Write down how many computed tokens each block holds, from token `since` on."""
        for place in range(since // self.block_size, len(sequence.blocks)):
            filled = min(max(sequence.computed - place * self.block_size, 0), self.block_size)
            block = self.blocks[sequence.blocks[place]]
            if block.filled != filled:
                self.blocks[block.id] = replace(block, filled=filled)

    def free(self, sequence: KvSequence) -> None:
        """Take all blocks from the sequence, tail first.

        Those without an entry can never be hit: they go to the front of the free queue. Those with one go to the
        back, so that entries are lost in LRU order and the tail of a sequence before its head.
        """
        first, last = [], []
        for id in reversed(sequence.blocks):
            block = self.blocks[id]
            holders = tuple(holder for holder in block.holders if holder != sequence.id)
            self.blocks[id] = replace(block, holders=holders)
            if not holders:
                (last if block.cached else first).append(id)
        for id in reversed(first):
            self.queue[id] = None
            self.queue.move_to_end(id, last=False)
        self.queue.update(dict.fromkeys(last))
        sequence.blocks, sequence.entered = [], 0

    def unreachable(self) -> list[int]:
        """The blocks with an entry that no lookup finds, because a block before them in their sequence has none."""
        found: set[int] = set()
        for (parent, _), identity in self._identity_of.items():  # a parent is numbered before its children
            if self.entries.get(identity) and (isinstance(parent, str) or parent in found):
                found.add(identity)
        return [block.id for block in self.blocks.values() if block.cached and block.identity not in found]

    def _blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.block_size)  # round up: the last block is part empty

    def _hold(self, id: int, sequence: KvSequence) -> None:
        self.queue.pop(id, None)
        sequence.blocks.append(id)
        self.blocks[id] = replace(self.blocks[id], holders=(*self.blocks[id].holders, sequence.id))

    def _hand_out(self, sequence: KvSequence) -> int:
        """Give the next free block to the sequence; only now does it lose the entry it had."""
        id, _ = self.queue.popitem(last=False)
        if (identity := self.blocks[id].identity) is not None:
            del self.entries[identity][id]
            self.evicted.append(id)
        sequence.blocks.append(id)
        self.blocks[id] = Block(id, holders=(sequence.id,), owner=sequence.id, index=len(sequence.blocks))
        return id

    def _identities(self, sequence: KvSequence) -> list[int]:
        """The identity of each full block, numbered in the order in which they are first seen."""
        known, size = sequence.identities, self.block_size
        while (len(known) + 1) * size <= len(sequence.tokens):
            parent = known[-1] if known else sequence.salt
            tokens = tuple(sequence.tokens[len(known) * size : (len(known) + 1) * size])
            known.append(self._identity_of.setdefault((parent, tokens), len(self._identity_of)))
        return known
