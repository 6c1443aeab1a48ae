"""The KV-cache blocks: who holds each one, which have a prefix-cache entry, and the order in which free ones go out.

Block ids run from 1 (block 0 is vLLM's null block and is never handed out). A block's *identity* is its tokens, all
tokens before them, and the cache salt. Blocks of equal identity are not merged: each keeps its own entry.
Source: vLLM 0.33.0, vllm/v1/core/kv_cache_manager.py, block_pool.py, single_type_kv_cache_manager.py.
"""
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Block(NamedTuple):
    """One block: `index` is its place (from 1) in the sequence of `owner`, whose content it is, or was when freed.

    A sequence fills its blocks token by token, and nobody writes that down until it gives them back: `filled` is of
    that moment, and `filled_by` tells it of a block in use.
    """

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

    def filled_by(self, computed: Mapping[str, int], block_size: int) -> "Block":
        """The block with its fill: it holds what its owner, while it still has the block, has computed there."""
        if self.owner not in self.holders or self.owner not in computed:
            return self
        return self._replace(filled=self.filled_to(computed[self.owner], block_size))

    def filled_to(self, computed: int, block_size: int) -> int:
        """How many of its owner's computed tokens lie in the block."""
        before = (self.index - 1) * block_size
        return block_size if computed >= before + block_size else max(computed - before, 0)


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
        self, sequence: KvSequence, num_tokens: int, hits: Sequence[int] = (), lookahead: int = 0, *,
        whole_sequence_must_fit: bool = False, keep_free: int = 0,
    ) -> tuple[int, ...] | None:
        """Give the sequence room for `num_tokens` more after its hits: the new block ids, or None if they don't fit.

        Blocks that are full after this step get their prefix-cache entry now, before the model has run, so that a
        request admitted later in the same step can hit them. Draft tokens are unverified and don't count.
        """
        held = len(sequence.blocks) + len(hits)
        after = sequence.computed + len(hits) * self.block_size + num_tokens
        new: tuple[int, ...] = ()
        if hits or after + lookahead > held * self.block_size:
            idle_hits = sum(not self.blocks[id].holders for id in hits)  # free now, and about to leave the free queue
            room = self.free_blocks - idle_hits - keep_free
            needed = self._blocks_for(after + lookahead) - held
            whole = self._blocks_for(len(sequence.tokens)) - held if whole_sequence_must_fit else 0
            if max(needed, whole, 0) > room:
                return None
            for id in hits:
                self._hold(id, sequence)
            new = tuple([self._hand_out(sequence) for _ in range(needed)])
            sequence.entered = max(sequence.entered, len(hits))
        if after >= (sequence.entered + 1) * self.block_size:
            self.enter(sequence, after)
        return new

    def enter(self, sequence: KvSequence, known_tokens: int) -> None:
        """Give a prefix-cache entry to each block that is full with the first `known_tokens` tokens."""
        full = min(known_tokens, len(sequence.tokens)) // self.block_size
        if full <= sequence.entered or not self.caching:
            return
        identities = self._identities(sequence)
        for place in range(sequence.entered, full):
            id, identity = sequence.blocks[place], identities[place]
            block = self.blocks[id]
            self.blocks[id] = Block(id, block.holders, block.owner, block.index, block.filled, identity)
            self.entries.setdefault(identity, {})[id] = None
        sequence.entered = full

    def free(self, sequence: KvSequence) -> None:
        """Take all blocks from the sequence, tail first, and write down how far each was filled.

        Those without an entry can never be hit: they go to the front of the free queue. Those with one go to the
        back, so that entries are lost in LRU order and the tail of a sequence before its head.
        """
        first, last = [], []
        for id in reversed(sequence.blocks):
            block = self.blocks[id]
            filled = block.filled_to(sequence.computed, self.block_size)
            holders = () if len(block.holders) == 1 else tuple(h for h in block.holders if h != sequence.id)
            self.blocks[id] = Block(id, holders, block.owner, block.index, filled, block.identity)
            if not holders:
                (last if block.cached else first).append(id)
        for id in reversed(first):
            self.queue[id] = None
            self.queue.move_to_end(id, last=False)
        self.queue.update(dict.fromkeys(last))
        sequence.blocks, sequence.entered = [], 0

    def fork(self, parent: KvSequence, id: str) -> KvSequence:
        """A second sequence over the same blocks: the table is copied and each block counted up, no bytes move."""
        child = KvSequence(id, list(parent.tokens), parent.salt, parent.computed)
        for block in parent.blocks:
            self._hold(block, child)
        return child

    def own_last_block(self, sequence: KvSequence) -> bool:
        """Copy on write: replace the sequence's last block by a copy if others hold it too, and say whether."""
        last = self.blocks[sequence.blocks[-1]]
        if len(last.holders) == 1:
            return False
        holders = tuple(holder for holder in last.holders if holder != sequence.id)
        self.blocks[last.id] = last._replace(holders=holders)
        sequence.blocks.pop()
        self._hand_out(sequence)
        return True

    def unreachable(self) -> list[int]:
        """The blocks with an entry that no lookup finds, because a block before them in their sequence has none."""
        found: set[int] = set()
        for (parent, _), identity in self._identity_of.items():  # a parent is numbered before its children
            if self.entries.get(identity) and (isinstance(parent, str) or parent in found):
                found.add(identity)
        return [block.id for block in self.blocks.values() if block.cached and block.identity not in found]

    def _blocks_for(self, tokens: int) -> int:
        return -(-min(tokens, self.max_model_len) // self.block_size)  # round up: the last block is part empty

    def _hold(self, id: int, sequence: KvSequence) -> None:
        self.queue.pop(id, None)
        sequence.blocks.append(id)
        block = self.blocks[id]
        self.blocks[id] = block._replace(holders=(*block.holders, sequence.id))

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
