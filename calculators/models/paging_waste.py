"""Paging waste: what the unfilled part of last blocks costs, by block size, against reserving the longest request."""
from dataclasses import dataclass
from math import log
from random import Random

from calculators.models import catalogue
from calculators.models.base import Line, Refusal
from calculators.models.catalogue import BF16
from calculators.models.kv_blocks import ceil_div
from calculators.models.kv_token import binary, layer_bytes

MODELS = ("llama-3.1-8b", "llama-2-7b", "qwen3-8b", "qwen3-32b", "llama-3.1-70b", "deepseek-v3")
SIZES = (1, 8, 16, 32, 64, 128, 256)
FIXED, UNIFORM, EXPONENTIAL, LISTED = "fixed", "uniform", "exponential", "listed"
MOST_LISTED = 2_000  # lengths
SHOWN = 12  # sequences drawn one by one
SLIP_APART = 0.05  # a wrong value nearer to the right one than this is no slip


@dataclass(frozen=True, slots=True)
class AtSize:
    """One block size: bytes and number of blocks, the most a sequence wastes, and the mean share of these lengths.

    `wasted_tokens` is exact for these lengths; `mean_waste_share` expects lengths spread evenly over a block.
    """

    block_size: int
    block_bytes: int
    pool_blocks: int
    most_wasted: int
    mean_waste_share: float
    wasted_tokens: int
    hit_tokens: int
    present: bool


@dataclass(frozen=True, slots=True)
class Drawn:
    """One of the sequences: its tokens, its blocks and the tokens that its last block leaves empty."""

    tokens: int
    blocks: int
    wasted: int


@dataclass(frozen=True, slots=True)
class PagingWaste:
    """Waste of last blocks, in tokens and shares: exact for these lengths, and as expected, (b - 1) / 2 a sequence.

    `reserved_*` is the contrast: each sequence given `reserved_tokens` in one piece, as before paging.
    """

    sequences: int
    tokens: int
    drawn_mean_tokens: float
    blocks: int
    block_bytes: int
    pool_blocks: int
    pool_tokens: int
    fits: bool
    wasted_tokens: int
    wasted_bytes: int
    waste_share: float
    pool_share: float
    expected_each: float
    expected_tokens: float
    expected_bytes: float
    expected_share: float
    expected_pool_share: float
    most_wasted: int
    hit_tokens: int
    hit_lost: int
    reserved_tokens: int
    reserved_share: float
    reserved_sequences: int
    sizes: tuple[AtSize, ...]
    drawn: tuple[Drawn, ...]
    finding: str
    waste_verdict: str
    reserved_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, block_size: int = 16, sequences: int = 220, lengths: str = UNIFORM, mean_tokens: int = 2_048,
          listed: str = "", reserved_tokens: int = 8_192, shared_prefix_tokens: int = 20, pool_gib: float = 55,
          model: str = "llama-3.1-8b", kv_cache_dtype: str = BF16, seed: int = 1) -> PagingWaste:
    """Sum what the last blocks of some sequences leave empty, -length mod block size each.

    `lengths`: all fixed at the mean, uniform over half to one and a half times it, exponential about it, or `listed`.
    Drawn lengths depend on the seed alone. Exact but for the expected figures, which take lengths spread evenly over a
    block. Raises Refusal for a list that can't be read.
    Source: vllm 0.33.0, config/cache.py, DEFAULT_BLOCK_SIZE; v1/core/block_pool.py.
    """
    drawn = read(listed) if lengths == LISTED else draw(lengths, mean_tokens, sequences, seed)
    shape = catalogue.MODELS[model]
    per_token = layer_bytes(shape, kv_cache_dtype) * shape.layers
    pool_bytes = int(pool_gib * 2**30)
    mean = sum(drawn) / len(drawn) if lengths == LISTED else mean_tokens
    sizes = tuple(
        at_size(size, drawn, mean, per_token, pool_bytes, shared_prefix_tokens, size == block_size)
        for size in sorted({*SIZES, block_size})
    )
    here = next(row for row in sizes if row.present)
    if not here.pool_blocks:
        raise Refusal(f"A block takes {binary(here.block_bytes)}; the pool holds none.", "pool_gib")
    tokens, count = sum(drawn), len(drawn)
    blocks = sum(ceil_div(length, block_size) for length in drawn)
    pool_tokens = here.pool_blocks * block_size
    expected_each = (block_size - 1) / 2
    longest = max(reserved_tokens, max(drawn))
    share = here.wasted_tokens / (blocks * block_size)
    return PagingWaste(
        sequences=count, tokens=tokens, drawn_mean_tokens=tokens / count, blocks=blocks, block_bytes=here.block_bytes,
        pool_blocks=here.pool_blocks, pool_tokens=pool_tokens, fits=blocks < here.pool_blocks,
        wasted_tokens=here.wasted_tokens, wasted_bytes=here.wasted_tokens * per_token, waste_share=share,
        pool_share=here.wasted_tokens / pool_tokens, expected_each=expected_each,
        expected_tokens=count * expected_each, expected_bytes=count * expected_each * per_token,
        expected_share=here.mean_waste_share, expected_pool_share=count * expected_each / pool_tokens,
        most_wasted=block_size - 1, hit_tokens=here.hit_tokens, hit_lost=shared_prefix_tokens - here.hit_tokens,
        reserved_tokens=longest, reserved_share=1 - tokens / (count * longest),
        reserved_sequences=pool_bytes // (per_token * longest), sizes=sizes,
        drawn=tuple(Drawn(length, ceil_div(length, block_size), -length % block_size) for length in drawn[:SHOWN]),
        finding=f"At a block size of {block_size:,} the last blocks of {count:,} sequences leave "
                f"{here.wasted_tokens:,} tokens empty, {share:.2%} of what they hold.",
        waste_verdict=waste_verdict(mean, blocks, here),
        reserved_verdict=f"Reserving {longest:,} tokens for each in one piece would leave "
                         f"{1 - tokens / (count * longest):.0%} of it empty.",
        lines=lines_of(count, block_size, per_token, here.mean_waste_share, pool_tokens),
        slips=slips_of(count, block_size, tokens),
    )


def draw(lengths: str, mean: int, count: int, seed: int) -> tuple[int, ...]:
    """Lengths of at least one token from the seed."""
    random = Random(seed)
    if lengths == FIXED:
        return (mean,) * count
    if lengths == UNIFORM:
        low = max(mean - mean // 2, 1)
        return tuple(random.randint(low, max(mean + mean // 2, low)) for _ in range(count))
    return tuple(max(round(-mean * log(1 - random.random())), 1) for _ in range(count))


def read(listed: str) -> tuple[int, ...]:
    """Lengths from a text, apart by commas or spaces.

    Raises Refusal with what can't be read, for no length, and for more than MOST_LISTED.
    """
    words = listed.replace(",", " ").split()
    for word in words:
        if not (word.isascii() and word.isdigit() and 0 < int(word[:8]) <= 2_000_000 and len(word) < 8):
            raise Refusal(f"“{word[:20]}” is no length in tokens; takes whole numbers from 1 to 2,000,000, apart by "
                          "spaces.", "listed")
    if not 0 < len(words) <= MOST_LISTED:
        raise Refusal(f"Takes 1 to {MOST_LISTED:,} lengths, apart by spaces; there are {len(words):,}.", "listed")
    return tuple(map(int, words))


def at_size(size: int, drawn: tuple[int, ...], mean: float, per_token: int, pool_bytes: int, shared: int,
            present: bool) -> AtSize:
    """What a block size does to these lengths and to a shared prefix, of which whole blocks alone are found again."""
    return AtSize(size, size * per_token, pool_bytes // (size * per_token), size - 1, (size - 1) / 2 / mean,
                  sum(-length % size for length in drawn), shared // size * size, present)


def waste_verdict(mean: float, blocks: int, here: AtSize) -> str:
    """Whether the waste matters, and whether these sequences fit at once, in sentences."""
    share, size = here.mean_waste_share, here.block_size
    if share < 0.01:
        words = f"{share:.2%} of the mean length: no reason to go lower."
    elif share < 0.05:
        words = f"{share:.1%} of the mean length, since {mean:,.0f} tokens are few blocks of {size:,}."
    else:
        words = f"{share:.0%} of the mean length: blocks of {size:,} are too large for {mean:,.0f} tokens."
    if blocks < here.pool_blocks:
        return words
    return (f"{words} These sequences need {blocks:,} blocks at their longest, and the pool has "
            f"{here.pool_blocks - 1:,} to give.")


def lines_of(count: int, size: int, per_token: int, share: float, pool_tokens: int) -> tuple[Line, ...]:
    """The expected waste with its numbers filled in."""
    each = (size - 1) / 2
    return (
        Line("a sequence", f"({size:,} − 1) / 2", each, "tokens"),
        Line("all", f"{count:,} × {each:,g}", count * each, "tokens", total=True),
        Line("in bytes", f"{count * each:,.10g} × {per_token:,}", count * each * per_token / 2**30, "GiB"),
        Line("of the length", "", 100 * share, "%"),
        Line("of the pool", f"{count * each:,.10g} / {pool_tokens:,}", 100 * count * each / pool_tokens, "%"),
    )


def slips_of(count: int, size: int, tokens: int) -> tuple[tuple[float, str], ...]:
    """The wrong expected waste (tokens) that people reach and what each gets wrong; none near the right one."""
    right = count * (size - 1) / 2
    slips = (
        (count * (size - 1), "That is the most each can waste; the mean is half of it."),
        (count * size, "That is a whole block each; only the rest of the last one is empty."),
        (tokens * 0.5, "That is half of everything. Only the last block of each is part empty."),
    )
    return tuple((value, sentence) for value, sentence in slips if right and abs(value / right - 1) > SLIP_APART)
