"""Prefix checkpoints: what siblings of a prompt find again when windowed layers keep only some of their blocks."""
from dataclasses import dataclass

from calculators.models.base import Line, Refusal
from calculators.models.kv_blocks import ceil_div

DENSE, SPARSE = "none", "0"
SIBLINGS = 3


@dataclass(frozen=True, slots=True)
class Lookup:
    """One prompt as it comes: what the full layers hold of it, and the hit on which all layers agree; tokens.

    `junction` is where it was seen to part from another prompt, kept from now on (0: none). `kept` are the windowed
    layer's blocks that stay findable when it is through, as runs of (first, last).
    """

    name: str
    full_tokens: int
    hit_tokens: int
    computed_tokens: int
    junction: int
    kept: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The first prompt, its siblings in turn, and an identical resend of the first."""

    blocks: int
    hit_blocks: int
    boundary_tokens: int
    shared_blocks_tokens: int
    interval_tokens: int
    dense: bool
    lookups: tuple[Lookup, ...]
    first_hit: int
    second_hit: int
    third_hit: int
    resend_hit: int
    kept_blocks: int
    finding: str
    why_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """A prompt's length, what its siblings share with it, and how a windowed layer's blocks are kept."""

    prompt: int
    shared: int
    window: int
    size: int
    interval: int | None

    @property
    def need(self) -> int:
        """Blocks in a row that a hit of a windowed layer takes."""
        return ceil_div(self.window - 1, self.size)


def solve(*, prompt_tokens: int = 2_048, shared_tokens: int = 1_024, window: int = 64, block_size: int = 16,
          prefix_cache_retention_interval: str = SPARSE) -> Checkpoints:
    """Follow prompts that share a beginning through a cache with one full and one windowed layer group.

    A hit must suit both groups: the full one holds all its blocks, a windowed one only runs of
    ceil((window - 1) / block) before kept boundaries: every one with no interval, one an interval, or with 0 only where
    a resend of the prompt resumes and where prompts were seen to part. Exact; nothing is evicted.
    Raises Refusal for an interval that is no multiple of the block.
    Source: vllm 0.33.0, v1/core/kv_cache_coordinator.py, HybridKVCacheCoordinator; v1/core/
    single_type_kv_cache_manager.py, SlidingWindowManager.reachable_block_mask.
    """
    scene = Scene(prompt_tokens, min(shared_tokens, prompt_tokens), window, block_size,
                  interval_of(prefix_cache_retention_interval, block_size))
    kept: set[int] = set(kept_of(scene, ()))  # of the shared beginning, whichever prompt computed it
    own = set(kept)
    names = [f"sibling {number}" for number in range(1, SIBLINGS + 1)]
    boundary = (prompt_tokens - 1) // block_size * block_size
    lookups = [Lookup("the prompt", 0, 0, prompt_tokens, 0, runs(own))]
    for name in names:
        full = min(scene.shared // block_size * block_size, boundary)
        hit = longest_hit(scene, full, kept)
        junction = full if hit < full else 0
        made = {block for block in kept_of(scene, (junction,) if junction else ()) if block >= hit // block_size}
        kept |= {block for block in made if block < full // block_size}
        lookups.append(Lookup(name, full, hit, prompt_tokens - hit, junction, runs(made)))
    resend = longest_hit(scene, boundary, kept | own)
    lookups.append(Lookup("the prompt again", boundary, resend, prompt_tokens - resend, 0, runs(own)))
    first, second, third = (lookup.hit_tokens for lookup in lookups[1:4])
    return Checkpoints(
        blocks=prompt_tokens // block_size, hit_blocks=scene.need, boundary_tokens=boundary,
        shared_blocks_tokens=lookups[1].full_tokens, interval_tokens=scene.interval or 0,
        dense=scene.interval is None, lookups=tuple(lookups), first_hit=first, second_hit=second, third_hit=third,
        resend_hit=resend, kept_blocks=len(own),
        finding=f"Siblings that share {scene.shared:,} tokens hit {first:,}, {second:,} and {third:,}; the same prompt "
                f"again hits {resend:,}.",
        why_verdict=why_verdict(lookups[1]),
        lines=(
            Line("resume at", f"({prompt_tokens:,} − 1) in whole blocks", boundary, "tokens"),
            Line("shared", f"{scene.shared:,} in whole blocks", lookups[1].full_tokens, "tokens"),
            Line("a window takes", f"({window:,} − 1) / {block_size:,}", scene.need, "blocks in a row"),
            Line("kept of the first", "windowed layer", len(own), "blocks"),
        ),
        slips=slips_of(scene, first),
    )


def interval_of(text: str, size: int) -> int | None:
    """The retention interval in tokens; None keeps every block.

    Raises Refusal when it is no multiple of the block size.
    """
    if text == DENSE:
        return None
    interval = int(text)
    if interval % size:
        raise Refusal(f"The interval must be a multiple of the block size, {size:,}.",
                      "prefix_cache_retention_interval")
    return interval


def kept_of(scene: Scene, junctions: tuple[int, ...]) -> list[int]:
    """The windowed layer's blocks of one prompt that stay findable, besides those before junctions."""
    blocks = scene.prompt // scene.size
    each = 1 if scene.interval is None else scene.interval // scene.size
    if each and scene.need >= each:
        return list(range(blocks))
    ends = {(scene.prompt - 1) // scene.size, *(junction // scene.size for junction in junctions)}
    tails = {block for end in ends for block in range(max(end - scene.need, 0), end)}
    if each:
        tails |= {block for block in range(blocks) if block % each >= each - scene.need}
    return sorted(tails)


def longest_hit(scene: Scene, full: int, kept: set[int]) -> int:
    """The longest beginning, up to what the full layers hold, before which a window's blocks are all there; tokens."""
    for end in range(full // scene.size, 0, -1):
        if all(block in kept for block in range(max(end - scene.need, 0), end)):
            return end * scene.size
    return 0


def runs(blocks: set[int]) -> tuple[tuple[int, int], ...]:
    """Block numbers as runs of (first, last)."""
    found: list[tuple[int, int]] = []
    for block in sorted(blocks):
        if found and found[-1][1] == block - 1:
            found[-1] = (found[-1][0], block)
        else:
            found.append((block, block))
    return tuple(found)


def why_verdict(first: Lookup) -> str:
    """Why the first sibling hits what it does, in a sentence or two."""
    if first.hit_tokens == first.full_tokens:
        return "Every block before the junction was kept, so the first sibling already hits all it shares."
    if first.hit_tokens:
        return (f"The full layers hold {first.full_tokens:,} tokens of it; the windowed ones were last kept at "
                f"{first.hit_tokens:,}, so that is the hit. The junction is kept from now on.")
    return (f"The full layers hold {first.full_tokens:,} tokens of it, the windowed ones kept nothing there: no hit. "
            "The first sibling computes it all and leaves a checkpoint at the junction, which the next one finds.")


def slips_of(scene: Scene, first: int) -> tuple[tuple[float, str], ...]:
    """The wrong hits of the first sibling (tokens) and what each leaves out."""
    slips = (
        (scene.shared // scene.size * scene.size,
         "That is what the full layers hold. A hit must suit the windowed layers too, and they kept nothing there."),
        ((scene.prompt - 1) // scene.size * scene.size, "That is where a resend of the very same prompt resumes."),
    )
    return tuple((value, sentence) for value, sentence in slips if value != first)
