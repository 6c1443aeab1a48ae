"""Eviction order: which blocks of idle prompts are taken first, and how many of those left can still be hit."""
from dataclasses import dataclass

from calculators.models.base import Line, Refusal
from calculators.models.kv_token import in_unit
from calculators.models.quantity import say

LRU_TAIL, LRU_HEAD, EACH_HEAD, EACH_TAIL = "lru_tail", "lru_head", "each_head", "each_tail"
ORDERS = {
    LRU_TAIL: "oldest prompt, tail first", LRU_HEAD: "oldest prompt, head first",
    EACH_HEAD: "a head of each prompt", EACH_TAIL: "a tail of each prompt",
}


@dataclass(frozen=True, slots=True)
class Chains:
    """So many neighbouring prompts that have lost the same: blocks from their head and from their tail."""

    chains: int
    heads: int
    tails: int


@dataclass(frozen=True, slots=True)
class Order:
    """One order of eviction, and what is left after it: blocks of the old prompts, and what resends of them hit.

    `reachable` are resident blocks that a lookup finds, `stranded` resident ones behind a hole. `hit_rate` is of all
    prompt tokens, each prompt sent again once.
    """

    name: str
    says: str
    runs: tuple[Chains, ...]
    resident: int
    reachable: int
    stranded: int
    stranded_bytes: int
    hit_tokens: int
    hit_rate: float
    present: bool


@dataclass(frozen=True, slots=True)
class EvictionOrder:
    """All four orders on the same pool; the figures at the top are those of the order looked at."""

    pool_blocks: int
    pool_bytes: int
    prompt_tokens: int
    freed_bytes: int
    resident_bytes: int
    resident: int
    reachable: int
    stranded: int
    stranded_bytes: int
    stranded_mib: float
    hit_tokens: int
    hit_rate: float
    orders: tuple[Order, ...]
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, chains: int = 1, chain_blocks: int = 8, taken_blocks: int = 3, block_size: int = 16,
          block_mib: float = 2.0, order: str = LRU_HEAD) -> EvictionOrder:
    """Fill a pool with prompts of whole blocks, let all of them end, and hand `taken_blocks` to a newcomer.

    A resend hits its blocks from the left up to the first hole, and at most floor((tokens - 1) / block_size) of them.
    Stranded = resident blocks behind a hole. Exact.
    Raises Refusal for more blocks than there are.
    Source: vllm 0.33.0, v1/core/single_type_kv_cache_manager.py, free (the first order); v1/core/kv_cache_utils.py,
    FreeKVCacheBlockQueue.
    """
    pool = chains * chain_blocks
    if taken_blocks > pool:
        raise Refusal(f"The newcomer takes {taken_blocks:,} blocks; the pool has {pool:,}.", "taken_blocks")
    block_bytes = round(block_mib * 2**20)
    orders = tuple(
        after(name, runs_of(name, chains, chain_blocks, taken_blocks), chain_blocks, block_size, block_bytes,
              name == order)
        for name in ORDERS
    )
    here = next(each for each in orders if each.present)
    tokens = chain_blocks * block_size
    prompts = f"{chains:,} × " if chains > 1 else ""
    return EvictionOrder(
        pool, pool * block_bytes, tokens, taken_blocks * block_bytes, here.resident * block_bytes, here.resident,
        here.reachable, here.stranded, here.stranded_bytes, here.stranded_bytes / 2**20, here.hit_tokens, here.hit_rate,
        orders,
        finding=f"{here.says.capitalize()}: of {here.resident:,} resident blocks {here.reachable:,} can be hit and "
                f"{here.stranded:,} ({say(*in_unit(here.stranded_bytes), 4)}) are stranded.",
        lines=(
            Line("pool", f"{chains:,} × {chain_blocks:,}", pool, "blocks"),
            Line("taken", f"{taken_blocks:,} × {block_mib:g} MiB", in_unit(taken_blocks * block_bytes)[0],
                 in_unit(taken_blocks * block_bytes)[1]),
            Line("still resident", f"{pool:,} − {taken_blocks:,}", here.resident, "blocks"),
            Line("before a hole", "a lookup walks from the head", here.reachable, "blocks"),
            Line("stranded", f"{here.resident:,} − {here.reachable:,}", here.stranded, "blocks", total=True),
            Line("stranded bytes", f"{here.stranded:,} × {block_mib:g} MiB", here.stranded_bytes / 2**20, "MiB"),
            Line("hit by resends", f"of {prompts}{tokens:,} tokens", here.hit_tokens, "tokens"),
            Line("hit rate", f"{here.hit_tokens:,} / {chains * tokens:,}", here.hit_rate * 100, "%"),
        ),
        slips=slips_of(here, taken_blocks, block_mib),
    )


def runs_of(name: str, chains: int, length: int, taken: int) -> tuple[Chains, ...]:
    """What each prompt loses, oldest prompt first."""
    by_age = name in (LRU_TAIL, LRU_HEAD)
    whole, more = divmod(taken, length if by_age else chains)
    cut = int(more > 0)
    by_age_counts = (whole, length), (cut, more), (chains - whole - cut, 0)
    counts = by_age_counts if by_age else ((more, whole + 1), (chains - more, whole))
    head = name in (LRU_HEAD, EACH_HEAD)
    return tuple(Chains(number, lost if head else 0, 0 if head else lost) for number, lost in counts if number > 0)


def after(name: str, runs: tuple[Chains, ...], length: int, block_size: int, block_bytes: int, present: bool) -> Order:
    """What is resident, what of it can be hit, and what resends hit."""
    resident = sum(run.chains * (length - run.heads - run.tails) for run in runs)
    reachable = sum(run.chains * (length - run.tails) for run in runs if not run.heads)
    may = (length * block_size - 1) // block_size
    hits = sum(run.chains * min(length - run.tails, may) for run in runs if not run.heads) * block_size
    tokens = sum(run.chains for run in runs) * length * block_size
    return Order(name, ORDERS[name], runs, resident, reachable, resident - reachable,
                 (resident - reachable) * block_bytes, hits, hits / tokens, present)


def slips_of(here: Order, taken: int, block_mib: float) -> tuple[tuple[float, str], ...]:
    """The wrong amounts of stranded bytes (MiB) and what each overlooks."""
    slips = (
        (taken * block_mib, "That is what was taken. Stranded is what stays resident and can't be hit any more."),
        (here.resident * block_mib, "That is all that stays resident; what lies before the first hole still hits."),
        (here.reachable * block_mib, "That is what can still be hit."),
        (0.0, "A lookup goes from the left and stops at the first block that is gone; what lies behind is lost to it."),
    )
    return tuple((value, sentence) for value, sentence in slips if value != here.stranded * block_mib)
