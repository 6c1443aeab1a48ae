"""Lockstep: one rank of an expert-parallel group gets a prefill chunk, and all ranks take its time."""
from collections.abc import Iterator
from dataclasses import dataclass, replace

from calculators.models.base import Line, Refusal
from calculators.models.quantity import say
from calculators.models.wide_ep import EAGER, FULL, LARGEST_GRAPH, GroupStep, Load, Rates, alike, graph_mode, group_step

CHUNKS = (0, 512, 1_024, 2_048, 4_096, 8_192)


@dataclass(frozen=True, slots=True)
class Chunk:
    """The step with a chunk of so many tokens on one rank, over one without, and how busy the other ranks are."""

    tokens: int
    step_ms: float
    times: float
    others_busy: float
    present: bool


@dataclass(frozen=True, slots=True)
class Lockstep:
    """One step with the chunk beside one without it; times in ms, shares of 1."""

    rank: int
    base: GroupStep
    loaded: GroupStep
    mode: str
    mode_words: str
    users: int
    base_tokens_per_s: float
    mean_step_ms: float
    rank_tokens: int
    chunks: tuple[Chunk, ...]
    lines: tuple[Line, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()

    @property
    def base_ms(self) -> float:
        return self.base.step_ms

    @property
    def step_ms(self) -> float:
        return self.loaded.step_ms

    @property
    def times(self) -> float:
        return self.step_ms / self.base_ms

    @property
    def base_busy(self) -> float:
        return self.base.busy[0]

    @property
    def busy(self) -> float:
        """Of the rank with the chunk."""
        return self.loaded.busy[self.rank]

    @property
    def rank_ms(self) -> float:
        """What the rank with the chunk computes."""
        return self.loaded.compute_ms[self.rank]

    @property
    def others_ms(self) -> float:
        return self.loaded.compute_ms[self.rank - 1]

    @property
    def others_busy(self) -> float:
        return self.loaded.busy[self.rank - 1]

    @property
    def mean_busy(self) -> float:
        return sum(self.loaded.busy) / len(self.loaded.busy)

    @property
    def lost_gpu_s(self) -> float:
        """GPU-seconds that the others wait."""
        return sum(self.loaded.waits_ms) / 1e3

    @property
    def throughput_share(self) -> float:
        """Of the decode rate that is left when such a chunk comes once in so many steps."""
        return self.base_ms / self.mean_step_ms

    @property
    def finding(self) -> str:
        """How long the step is for everybody."""
        return (f"The step takes {say(self.step_ms, 'ms', 4)} instead of {say(self.base_ms, 'ms')}, for all "
                f"{self.users:,} decoding users; the other ranks compute {self.others_busy:.1%} of it.")


def solve(*, ranks: int = 8, decodes: int = 128, chunk_tokens: int = 4_096, chunk_rank: int = 3,
          max_num_batched_tokens: int = 8_192, every_steps: int = 8, floor_ms: float = 18.0, decode_ms: float = 0.42,
          prefill_ms: float = 0.1, fixed_ms: float = 4.6, wire_ms: float = 8.0, wire_decode_ms: float = 0.133,
          wire_prefill_ms: float = 0.01) -> Lockstep:
    """The group's step with one chunk on one rank.

    step = max over ranks of compute + all-to-all. Raises Refusal when there is no such rank, and when the chunk and the
    decodes before it are more than the budget.
    """
    if chunk_rank >= ranks:
        raise Refusal(f"The ranks are 0 to {ranks - 1}.", "chunk_rank")
    if decodes + chunk_tokens > max_num_batched_tokens:
        raise Refusal(f"{decodes:,} decodes come first: a chunk of {chunk_tokens:,} needs a budget of at least "
                      f"{decodes + chunk_tokens:,}.", "max_num_batched_tokens")
    rates = Rates(floor_ms, decode_ms, prefill_ms, fixed_ms, wire_ms, wire_decode_ms, wire_prefill_ms)

    def with_chunk(tokens: int) -> list[Load]:
        loads = alike(ranks, Load(decodes))
        loads[chunk_rank] = Load(decodes, tokens)
        return loads

    base, loaded = group_step(with_chunk(0), rates), group_step(with_chunk(chunk_tokens), rates)
    chunks = []
    for tokens in sorted({*CHUNKS, chunk_tokens}):
        step = group_step(with_chunk(tokens), rates)
        chunks.append(Chunk(tokens, step.step_ms, step.step_ms / base.step_ms, step.busy[chunk_rank - 1],
                            tokens == chunk_tokens))
    mode = graph_mode(with_chunk(chunk_tokens))
    result = Lockstep(
        chunk_rank, base, loaded, mode, mode_words(mode, chunk_rank, decodes + chunk_tokens), ranks * decodes,
        decodes / base.step_ms * 1e3, base.step_ms + (loaded.step_ms - base.step_ms) / every_steps,
        decodes + chunk_tokens, tuple(chunks),
    )
    lines = tuple(lines_of(result, rates, decodes, chunk_tokens, every_steps))
    return replace(result, lines=lines, slips=tuple(slips_of(result, rates, chunk_tokens)))


def mode_words(mode: str, rank: int, tokens: int) -> str:
    """Why all ranks run in this graph mode."""
    if mode == EAGER:
        return f"graph mode eager for all: rank {rank} has {tokens:,} tokens, above {LARGEST_GRAPH}"
    if mode == FULL:
        return "graph mode full"
    return f"graph mode piecewise for all, padded to rank {rank}’s {tokens:,} tokens"


def compute_words(rates: Rates, decodes: int, chunk_tokens: int) -> str:
    """A rank's compute with its numbers filled in."""
    if rates.decode * decodes + rates.prefill * chunk_tokens < rates.floor:
        return f"{rates.floor:g} + {rates.fixed:g}"
    chunk = f" + {rates.prefill:g} × {chunk_tokens:,}" if chunk_tokens else ""
    return f"{rates.decode:g} × {decodes:,}{chunk} + {rates.fixed:g}"


def lines_of(result: Lockstep, rates: Rates, decodes: int, chunk_tokens: int, every: int) -> Iterator[Line]:
    """The step, then what it costs the others."""
    longest, shortest = result.rank_ms, result.others_ms
    chunk = f" + {rates.wire_prefill:g} × {chunk_tokens:,}" if chunk_tokens else ""
    yield Line(f"rank {result.rank} computes", compute_words(rates, decodes, chunk_tokens), longest, "ms")
    yield Line("all-to-all", f"{rates.wire:g} + {rates.wire_decode:g} × {decodes:,}{chunk}",
               result.loaded.all_to_all_ms, "ms")
    yield Line("step", "max over ranks + all-to-all", result.step_ms, "ms", total=True)
    yield Line("another rank computes", compute_words(rates, decodes, 0), shortest, "ms")
    others = len(result.loaded.compute_ms) - 1
    yield Line("lost", f"{others} × ({longest:.1f} − {shortest:.1f}) ms", result.lost_gpu_s, "GPU-s")
    yield Line(f"mean step, one in {every}", f"{result.base_ms:.1f} + {result.step_ms - result.base_ms:.1f} / {every}",
               result.mean_step_ms, "ms")


def slips_of(result: Lockstep, rates: Rates, chunk_tokens: int) -> Iterator[tuple[float, str]]:
    """The wrong step lengths that people reach, and what each is."""
    more, ranks = result.step_ms - result.base_ms, len(result.loaded.compute_ms)
    if not chunk_tokens:
        return
    yield result.base_ms, "That is a step without the chunk. Nobody leaves a layer before the slowest rank has sent."
    yield (result.base_ms + more / ranks,
           f"That spreads the chunk over {ranks} ranks; the step waits for the one that has it.")
    yield result.rank_ms, "That leaves out the all-to-all, which follows the compute."
    yield rates.prefill * chunk_tokens, "That is the chunk alone: the rank’s decodes and the all-to-all come on top."
    yield (result.base_ms + rates.prefill * chunk_tokens,
           "That leaves out what the chunk adds to the all-to-all.")
