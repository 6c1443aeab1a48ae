"""A radix tree over prompts against hashed blocks: what either finds, what it would evict, whom it would serve next."""
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from calculators.models.base import Line, Refusal
from calculators.models.step_time import US_PER_TOKEN

POLICIES = ("lru", "lfu", "fifo")
MOST_FCFS = 128  # longer queues are served in order of arrival whatever the policy


@dataclass(slots=True, eq=False)
class Node:
    """Tokens `start` to `end` of a path; its times are counted in requests, 0 the prompt that was there before."""

    name: str
    start: int
    end: int
    created: int
    used: int
    parent: "Node | None" = None
    hits: int = 0
    children: list["Node"] = field(default_factory=list)


ORDER: dict[str, Callable[[Node], tuple[int, ...]]] = {
    "lru": lambda node: (node.used, -node.start),
    "lfu": lambda node: (node.hits, node.used, -node.start),
    "fifo": lambda node: (node.created, -node.start),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: what it shares with the prompt that is there, and what either cache finds of it; tokens."""

    name: str
    shared: int
    block_hit: int
    radix_hit: int

    @property
    def apart(self) -> int:
        return self.radix_hit - self.block_hit


@dataclass(frozen=True, slots=True)
class RadixOrHash:
    """Both caches over the same requests. Rates are of all prompt tokens, `points_apart` in percentage points.

    `most_points` is the most that one request can lose to whole blocks, `mean_points` half of it. `evicted` is the
    order in which each policy would take the tree's leaves, `queue` in which each would serve the requests if they all
    waited at once.
    """

    asked: tuple[Asked, ...]
    block_hit_tokens: int
    radix_hit_tokens: int
    apart_tokens: int
    block_rate: float
    radix_rate: float
    points_apart: float
    most_points: float
    mean_points: float
    apart_ms: float
    evicted: dict[str, tuple[str, ...]]
    queue: dict[str, tuple[str, ...]]
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, requests: int = 20, prompt_tokens: int = 2_048, shared_low: int = 1_900, shared_high: int = 2_047,
          block_size: int = 16, page_size: int = 1, seed: int = 1) -> RadixOrHash:
    """Send requests that share a beginning of seeded uniform length with one prompt that is cached already.

    Hashed blocks find block * min(floor(shared / block), floor((n - 1) / block)); a tree finds min(shared, n - 1) in
    whole pages. Exact; nothing is evicted meanwhile.
    Raises Refusal when the shortest shared length is above the longest, or that above the prompt.
    Source: vllm 0.33.0, v1/core/kv_cache_manager.py, get_computed_blocks; SGLang, python/sglang/srt/mem_cache/
    radix_cache.py, evict_policy.py and managers/schedule_policy.py.
    """
    if shared_low > shared_high:
        raise Refusal(f"The shortest shared length, {shared_low:,}, is above the longest, {shared_high:,}.",
                      "shared_low")
    if shared_high > prompt_tokens:
        raise Refusal(f"A prompt of {prompt_tokens:,} tokens can't share {shared_high:,}.", "shared_high")
    draw = Random(seed)
    asked = tuple(
        Asked(f"r{number}", shared, whole(min(shared, prompt_tokens - 1), block_size),
              whole(min(shared, prompt_tokens - 1), page_size))
        for number in range(1, requests + 1) for shared in [draw.randint(shared_low, shared_high)]
    )
    block, radix = sum(each.block_hit for each in asked), sum(each.radix_hit for each in asked)
    tokens = requests * prompt_tokens
    most = (block_size - 1) / prompt_tokens * 100
    apart = (radix - block) / tokens * 100
    first = asked[0]
    return RadixOrHash(
        asked, block, radix, radix - block, block / tokens, radix / tokens, apart, most, most / 2,
        (radix - block) / requests * US_PER_TOKEN / 1e3,
        evicted={policy: evicted(asked, prompt_tokens, page_size, policy) for policy in POLICIES},
        queue={"fcfs": tuple(each.name for each in asked), "lpm": longest_first(asked)},
        finding=f"Hashed blocks of {block_size} hit {block / tokens:.2%}, the tree in pages of {page_size} "
                f"{radix / tokens:.2%}: {abs(apart):.2f} points apart.",
        lines=(
            Line("r1 in blocks", f"{block_size} × ⌊{min(first.shared, prompt_tokens - 1):,} / {block_size}⌋",
                 first.block_hit, "tokens"),
            Line("r1 in the tree", f"{page_size} × ⌊{min(first.shared, prompt_tokens - 1):,} / {page_size}⌋",
                 first.radix_hit, "tokens"),
            Line("blocks, all", f"{block:,} / {tokens:,}", block / tokens * 100, "%"),
            Line("tree, all", f"{radix:,} / {tokens:,}", radix / tokens * 100, "%"),
            Line("apart", "tree − blocks", apart, "points", total=True),
            Line("at most", f"({block_size} − 1) / {prompt_tokens:,}", most, "points"),
        ),
        slips=tuple((value, sentence) for value, sentence in (
            (most, "That is the most one request can lose; lengths fall anywhere in a block, so the mean is half."),
            (100 * block_size / prompt_tokens, "A whole block is never lost to rounding: at most block size − 1."),
        ) if abs(value - apart) > 1e-9),
    )


def whole(tokens: int, size: int) -> int:
    """The tokens in whole blocks or pages."""
    return tokens // size * size


def evicted(asked: tuple[Asked, ...], prompt_tokens: int, page: int, policy: str) -> tuple[str, ...]:
    """The tree's pieces in the order in which the policy takes them: always a leaf, and a parent once it is one."""
    leaves = [node for node in tree(asked, prompt_tokens, page) if not node.children]
    taken = []
    while leaves:
        node = min(leaves, key=ORDER[policy])
        leaves.remove(node)
        taken.append(node.name)
        if (parent := node.parent) is not None:
            parent.children.remove(node)
            if not parent.children:
                leaves.append(parent)
    return tuple(taken)


def tree(asked: tuple[Asked, ...], prompt_tokens: int, page: int) -> list[Node]:
    """All nodes after the requests in turn: each splits the shared path where it parts and adds its own tail.

    The upper part of a split is new, the lower one keeps its age.
    """
    path = [Node(f"0–{prompt_tokens:,}", 0, whole(prompt_tokens, page), 0, 0)]
    tails = []
    for time, each in enumerate(asked, start=1):
        parts = whole(each.shared, page)
        for node in path:
            if node.start < parts:
                node.used = time
        place = next((place for place, node in enumerate(path) if node.start < parts < node.end), None)
        if place is not None:
            lower = path[place]
            upper = Node("", lower.start, parts, time, time, lower.parent, lower.hits, [lower])
            if lower.parent is not None:
                lower.parent.children[lower.parent.children.index(lower)] = upper
            lower.start, lower.parent = parts, upper
            path.insert(place, upper)
        for node in path:
            node.hits += node.end <= parts
        above = next((node for node in reversed(path) if node.end <= parts), None)
        if whole(prompt_tokens, page) > parts:
            tail = Node(f"{each.name}’s tail", parts, whole(prompt_tokens, page), time, time, above)
            tails.append(tail)
            if above is not None:
                above.children.append(tail)
    for node in path:
        node.name = f"{node.start:,}–{node.end:,}"
    return path + tails


def longest_first(asked: tuple[Asked, ...]) -> tuple[str, ...]:
    """Names by the length of the tree's match, longest first; in order of arrival when too many wait."""
    if len(asked) > MOST_FCFS:
        return tuple(each.name for each in asked)
    return tuple(each.name for each in sorted(asked, key=lambda each: -each.radix_hit))
