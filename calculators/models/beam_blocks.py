"""Beam search over shared KV blocks: fork by copying tables, copy on write, prune by counting down."""
from collections import Counter
from dataclasses import dataclass
from random import Random

from calculators.models.kv_blocks import ceil_div
from calculators.models.kv_cache import KvCache, KvSequence

SCORES, BEST = "scores", "best"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: every beam gets one more token. Step 0 is the prompt, held by one sequence.

    `parents` are the beams of the step before, by place, that each beam of now descends from; `dropped` those that none
    descends from, and `tokens` the length of each. `tables` are the beams' blocks behind the prompt's full ones.
    `copied` are the beams that had to copy a part-filled block; `freed` the blocks that nobody holds any more, by place
    in the sequence, once the dropped beams are gone.
    """

    step: int
    tokens: int
    own_lines: bool
    parents: tuple[int, ...]
    dropped: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]
    copied: tuple[int, ...]
    opened: bool
    freed: tuple[int, ...]
    held_blocks: int
    separate_blocks: int
    copied_slots: int

    @property
    def copies(self) -> int:
        return len(self.copied)

    @property
    def holders(self) -> dict[int, int]:
        """Blocks behind the prompt's full ones by how many beams hold them, most holders first."""
        by_block = Counter(id for table in self.tables for id in table)
        return dict(sorted(Counter(by_block.values()).items(), reverse=True))


@dataclass(frozen=True, slots=True)
class BeamRun:
    """A whole run: its steps, and what they come to."""

    beams: int
    block_size: int
    prompt_blocks: int
    block_bytes: int
    steps: tuple[Step, ...]

    @property
    def copies(self) -> int:
        """Blocks copied in all."""
        return sum(step.copies for step in self.steps)

    @property
    def copied_bytes(self) -> int:
        return self.copies * self.block_bytes

    @property
    def held_blocks(self) -> int:
        """Blocks held at the end."""
        return self.steps[-1].held_blocks

    @property
    def held_bytes(self) -> int:
        return self.held_blocks * self.block_bytes

    @property
    def most_held_blocks(self) -> int:
        return max(step.held_blocks for step in self.steps)

    @property
    def finding(self) -> str:
        """The end in a sentence."""
        last = self.steps[-1]
        return (f"{last.held_blocks:,} blocks held instead of {last.separate_blocks:,}, and {self.copies:,} "
                f"{'copy' if self.copies == 1 else 'copies'} on the way.")


def simulate(*, beams: int = 4, prompt_tokens: int = 1_000, output_tokens: int = 200, block_size: int = 16,
             kv_kib_per_token: float = 128.0, divergence: float = 93.0, follow: str = SCORES,
             seed: int = 24) -> BeamRun:
    """Decode with `beams` beams that share blocks by reference count.

    In `divergence` percent of the steps each beam keeps its own best token. In the others the best candidates win: of
    2 * beams a beam by seeded scores, or, following the best, all of the beam in front. A parent's first child goes on
    with its table, the others fork it, and only then are the dropped beams freed. A beam that writes into a part-filled
    block held by others copies it first; the last one left writes in place.
    Source: the scheme of Kwon et al. 2023, "Efficient Memory Management for Large Language Model Serving with
    PagedAttention", section 4.4. vLLM 0.33.0 has no beams in the engine.
    """
    draw, full, used = Random(seed), prompt_tokens // block_size, prompt_tokens % block_size
    length = used + output_tokens
    cache = KvCache(2 * beams * (ceil_div(length, block_size) + 1), block_size, length, enable_prefix_caching=False)
    first = KvSequence("prompt", [], computed=0)
    cache.allocate(first, used)
    first.computed = used
    held, scores = [first], [0.0]
    steps = [Step(0, prompt_tokens, False, (), (), (tuple(first.blocks),), (), False, (), full + len(first.blocks),
                  full + len(first.blocks), 0)]
    for number in range(1, output_tokens + 1):
        own = number > 1 and draw.random() * 100 < divergence
        scores, parents = survivors(draw, scores, beams, own, follow)
        dropped = tuple(place for place in range(len(held)) if place not in parents)
        forked = [
            cache.fork(held[parent], f"{number}.{place}") if parent in parents[:place] else held[parent]
            for place, parent in enumerate(parents)
        ]
        freed = sorted(full + place for old in dropped for place in let_go(cache, held[old]))
        used = forked[0].computed % block_size
        copied = tuple(place for place, each in enumerate(forked) if used and cache.own_last_block(each))
        for each in forked:
            cache.allocate(each, 1)
            each.computed += 1
        held = forked
        steps.append(Step(
            number, prompt_tokens + number, own, parents, dropped, tuple(tuple(each.blocks) for each in held), copied,
            used == 0, tuple(freed), full + len(cache.blocks) - cache.free_blocks,
            beams * ceil_div(prompt_tokens + number, block_size), len(copied) * used,
        ))
    return BeamRun(beams, block_size, full, round(block_size * kv_kib_per_token * 1_024), tuple(steps))


def let_go(cache: KvCache, sequence: KvSequence) -> list[int]:
    """Free a sequence; the places of those of its blocks that nobody holds now."""
    blocks = list(sequence.blocks)
    cache.free(sequence)
    return [place for place, id in enumerate(blocks) if not cache.blocks[id].holders]


def survivors(draw: Random, scores: list[float], beams: int, own: bool,
              follow: str) -> tuple[list[float], tuple[int, ...]]:
    """The scores of the beams that go on, and the place of each one's parent, in the parents' order."""
    proposed = [sorted((score - draw.expovariate(1) for _ in range(2 * beams)), reverse=True) for score in scores]
    if own:
        return [each[0] for each in proposed], tuple(range(len(scores)))
    candidates = [(score, parent) for parent, each in enumerate(proposed) for score in each]
    if follow == BEST:
        front = max(candidates)[1]
        candidates = [candidate for candidate in candidates if candidate[1] == front]
    kept = sorted(sorted(candidates, reverse=True)[:beams], key=lambda candidate: candidate[1])
    return [score for score, _ in kept], tuple(parent for _, parent in kept)
