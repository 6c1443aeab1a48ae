"""Beam search in blocks: separate caches, the least and the most that sharing holds, and what vLLM's client loop costs.
"""
from dataclasses import dataclass

from calculators.models.base import Line
from calculators.models.kv_blocks import ceil_div
from calculators.models.step_time import US_PER_TOKEN

LATER = (0, 50, 100, 150)
MAX_LOGPROBS = 20  # vLLM's default limit on the log-probabilities of a token


@dataclass(frozen=True, slots=True)
class Shared:
    """All beams share so many tokens: blocks and MiB held in the end."""

    name: str
    tokens: int
    blocks: int
    mib: float
    present: bool


@dataclass(frozen=True, slots=True)
class BeamBounds:
    """Blocks and MiB held in the end; `shared` at some lengths of what all beams have in common."""

    blocks_each: int
    separate_blocks: int
    separate_mib: float
    least_blocks: int
    least_mib: float
    most_blocks: int
    most_mib: float
    unpaged_mib: float
    shared: tuple[Shared, ...]
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, beams: int = 4, prompt_tokens: int = 1_000, output_tokens: int = 200, block_size: int = 16,
          kv_kib_per_token: float = 128.0) -> BeamBounds:
    """Count the blocks of `beams` beams over one prompt at the end of decoding.

    Sharing L tokens takes floor(L / block) + beams * (ceil(n / block) - floor(L / block)) blocks; each beam's last
    block is its own. Exact.
    """
    tokens = prompt_tokens + output_tokens
    each = ceil_div(tokens, block_size)
    block_mib = block_size * kv_kib_per_token / 1_024

    def held(common: int) -> int:
        whole = min(common // block_size, each - 1)
        return whole + beams * (each - whole)

    least, most, separate = held(tokens), held(prompt_tokens), beams * each
    unpaged = (prompt_tokens + beams * output_tokens) * kv_kib_per_token / 1_024
    at = [(later, prompt_tokens + later) for later in LATER if prompt_tokens + later < (each - 1) * block_size]
    shared = tuple(
        Shared(f"share {later:,} more" if later else "part right after the prompt", common, held(common),
               held(common) * block_mib, False) for later, common in at
    )
    last = Shared("share all but the last block", (each - 1) * block_size, least, least * block_mib, True)
    common = (each - 1)
    whole_prompt = min(prompt_tokens // block_size, each - 1)
    return BeamBounds(
        each, separate, separate * block_mib, least, least * block_mib, most, most * block_mib, unpaged,
        (*shared, last),
        finding=f"{beams} separate caches hold {separate * block_mib:,.4g} MiB; shared blocks hold "
                f"{least * block_mib:,.4g} MiB at least and {most * block_mib:,.4g} at most.",
        lines=(
            Line("blocks each", f"⌈{tokens:,} / {block_size}⌉", each, "blocks"),
            Line("separate", f"{beams} × {each:,} × {block_mib:g} MiB", separate * block_mib, "MiB"),
            Line("least: shared", f"{each:,} − 1", common, "blocks"),
            Line("least: private", f"{beams} × 1", beams, "blocks"),
            Line("least", f"{least:,} × {block_mib:g} MiB", least * block_mib, "MiB", total=True),
            Line("most", f"({whole_prompt:,} + {beams} × {each - whole_prompt:,}) × {block_mib:g} MiB",
                 most * block_mib, "MiB"),
        ),
        slips=tuple((value, sentence) for value, sentence in (
            (separate * block_mib, "That is separate caches; beams with a common past hold the same blocks."),
            (unpaged, f"That is the prompt and {beams} whole outputs, near the most: beams share history beyond the "
                      "prompt."),
            (most * block_mib, "That is the most, when they part right after the prompt."),
            (each * block_mib, "That is one beam; each of the others has a last block of its own."),
        ) if abs(value - least * block_mib) > 1e-9),
    )


@dataclass(frozen=True, slots=True)
class Sent:
    """One round of the client loop: how long the beams are, and what each has to compute; tokens."""

    round: int
    tokens: int
    hit_tokens: int
    computed_tokens: int


@dataclass(frozen=True, slots=True)
class ClientLoop:
    """What the loop computes after the first round; tokens and ms of prefill, all beams together.

    `computed_each` is the mean of a beam and round, `computed_tokens` the sum of all. The `uncached_…` are those
    without a prefix cache.
    """

    rounds: tuple[Sent, ...]
    requests: int
    computed_each: float
    computed_tokens: int
    uncached_each: float
    uncached_tokens: int
    round_ms: float
    uncached_ms: float
    logprobs: int
    logprobs_allowed: bool
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def client_loop(*, beams: int = 4, prompt_tokens: int = 1_000, output_tokens: int = 200, block_size: int = 16,
                us_per_token: float = US_PER_TOKEN) -> ClientLoop:
    """Send every beam again for each token, as vLLM does, and count what is computed behind the prefix hit.

    Hit = block * floor((n - 1) / block), as long as nothing was evicted between two rounds. The first round sends the
    prompt once and is left out.
    Source: vllm 0.33.0, entrypoints/generate/beam_search/online.py.
    """
    rounds = tuple(
        Sent(number + 1, length, hit, length - hit)
        for number in range(1, output_tokens) for length in [prompt_tokens + number]
        for hit in [(length - 1) // block_size * block_size]
    )
    count = len(rounds) or 1
    each = sum(sent.computed_tokens for sent in rounds) / count
    uncached = sum(sent.tokens for sent in rounds) / count
    with_ms, without_ms = (beams * tokens * us_per_token / 1e3 for tokens in (each, uncached))
    rule = (block_size + 1) / 2
    return ClientLoop(
        rounds, 1 + beams * len(rounds), each, round(each * count) * beams, uncached, round(uncached * count) * beams,
        with_ms, without_ms, 2 * beams, 2 * beams <= MAX_LOGPROBS,
        finding=f"Each beam and token computes {each:.3g} tokens on average, 1 to {block_size}; without a prefix cache "
                f"{uncached:,.0f}.",
        lines=(
            Line("rounds after the first", f"{output_tokens:,} − 1", len(rounds), "rounds"),
            Line("a beam computes", f"about ({block_size} + 1) / 2 = {rule:g}", each, "tokens"),
            Line("a round", f"{beams} × {each:.3g} × {us_per_token:g} µs", with_ms, "ms", total=True),
            Line("without prefix cache", f"{beams} × {uncached:,.0f} × {us_per_token:g} µs", without_ms, "ms"),
            Line("requests sent", f"1 + {beams} × {len(rounds):,}", 1 + beams * len(rounds), "requests"),
        ),
        slips=tuple((value, sentence) for value, sentence in (
            (1.0, "Only when the beam is one token longer than whole blocks; the unaligned tail is computed again."),
            (float(block_size), "That is the most, for a beam of whole blocks."),
            (uncached, "That is without a prefix cache."),
        ) if abs(value - each) > 1e-9),
    )
