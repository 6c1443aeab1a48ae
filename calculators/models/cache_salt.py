"""Tenants and salts: what keeping prefixes apart costs in hits, and what a timing probe learns when they are shared."""
from dataclasses import dataclass
from math import ceil, exp
from random import Random

from calculators.models.base import Line, Refusal, rounded_up
from calculators.models.step_time import US_PER_TOKEN

NONE, TENANT, GROUP = "none", "tenant", "group"
POLICIES = {NONE: "no salt", TENANT: "a salt per tenant", GROUP: "a salt per group"}
KV_BYTES_PER_TOKEN = 131_072
COUNTED = (1, 10, 50, 100, 200, 300, 500, 1_000, 5_000)
SECRET_BLOCKS = 3


@dataclass(frozen=True, slots=True)
class AtCopies:
    """Hits with so many copies of the shared prefix: how long the pool remembers, and both rates."""

    copies: int
    residence_s: float
    prefix_hit: float
    token_hit_rate: float
    present: bool


@dataclass(frozen=True, slots=True)
class CacheSalt:
    """Hits of the policy looked at, and of others beside it.

    `prefix_hit` is the chance that a request finds its shared prefix, `token_hit_rate` hits over all prompt tokens.
    `residence_s` is how long an untouched block stays; `own_hit` what a tenant asking every `own_every_s` finds.
    """

    copies: int
    copies_gib: float
    pool_share: float
    residence_s: float
    prefix_hit: float
    token_hit_rate: float
    token_hit_percent: float
    unsalted_hit_rate: float
    own_hit: float
    saved_ms: float
    saved_when_hit_ms: float
    cliff_copies: float
    at_copies: tuple[AtCopies, ...]
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, tenants: int = 50, policy: str = TENANT, group_tenants: int = 10, requests_per_s: float = 10.0,
          shared_tokens: int = 1_500, unique_tokens: int = 500, pool_tokens: int = 450_560,
          own_every_s: float = 60.0) -> CacheSalt:
    """Find the hit rate of an LRU pool that holds one copy of a shared prefix for each salt.

    The pool holds what was touched in the last tau seconds: R * unique * tau + T * shared * (1 - exp(-R tau / T)) =
    pool tokens; a request finds its prefix with probability 1 - exp(-R tau / T). Requests come at random, spread
    evenly over the salts. A rule of thumb (Che's approximation), within a point or two of a simulated LRU.
    Raises Refusal when the pool can't hold one request.
    """
    if shared_tokens + unique_tokens > pool_tokens:
        raise Refusal(f"One request is {shared_tokens + unique_tokens:,} tokens; the pool holds {pool_tokens:,}.",
                      "pool_tokens")
    copies = {NONE: 1, TENANT: tenants, GROUP: ceil(tenants / group_tenants)}[policy]

    def at(count: int) -> AtCopies:
        time = residence_s(count, requests_per_s, shared_tokens, unique_tokens, pool_tokens)
        found = 1 - exp(-requests_per_s * time / count)
        return AtCopies(count, time, found, found * shared_tokens / (shared_tokens + unique_tokens), count == copies)

    here, unsalted = at(copies), at(1)
    saved = shared_tokens * US_PER_TOKEN / 1e3
    held = copies * shared_tokens * KV_BYTES_PER_TOKEN / 2**30
    return CacheSalt(
        copies, held, copies * shared_tokens / pool_tokens, here.residence_s, here.prefix_hit, here.token_hit_rate,
        here.token_hit_rate * 100, unsalted.token_hit_rate, 1 - exp(-here.residence_s / own_every_s),
        saved * here.prefix_hit, saved, pool_tokens / shared_tokens,
        tuple(at(count) for count in sorted({*COUNTED, copies})),
        finding=f"{copies:,} {'copies' if copies > 1 else 'copy'} of the prefix, {held:,.3g} GiB: "
                f"{here.token_hit_rate:.0%} of all prompt tokens hit, {unsalted.token_hit_rate:.0%} without a salt.",
        lines=(
            Line("copies", POLICIES[policy], copies),
            Line("if all are kept", f"{copies:,} × {shared_tokens:,} × 128 KiB", held, "GiB"),
            Line("untouched blocks stay", "solved for τ", here.residence_s, "s"),
            Line("prefix found", f"1 − exp(−{requests_per_s:g} × {here.residence_s:,.3g} / {copies:,})",
                 here.prefix_hit * 100, "%"),
            Line("tokens hit", f"{here.prefix_hit:.3f} × {shared_tokens:,} / {shared_tokens + unique_tokens:,}",
                 here.token_hit_rate * 100, "%", total=True),
            Line("TTFT saved", f"{here.prefix_hit:.3f} × {shared_tokens:,} × {US_PER_TOKEN} µs",
                 saved * here.prefix_hit, "ms"),
            Line("cliff near", f"{pool_tokens:,} / {shared_tokens:,}", pool_tokens / shared_tokens, "copies"),
        ),
        slips=tuple((value * 100, sentence) for value, sentence in (
            (unsalted.token_hit_rate, "That is the rate with one copy; the copies compete for the pool."),
            (here.prefix_hit, "That is how often the prefix is found; the unique tokens never hit."),
            (unsalted.token_hit_rate / copies, "A salt does not divide the hits: copies that fit are all hit."),
        ) if abs(value - here.token_hit_rate) > 0.005),
    )


def residence_s(copies: int, rate: float, shared: int, unique: int, pool: int) -> float:
    """How long the pool remembers an untouched block; s. Grows until all that is touched fills it."""
    def held(time: float) -> float:
        return rate * unique * time + copies * shared * (1 - exp(-rate * time / copies))

    low, high = 0.0, pool / (rate * unique)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if held(middle) < pool else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True, slots=True)
class Guess:
    """One guess at a block: whether it is the victim's, and the mean time to the first token that was seen; ms."""

    right: bool
    seen_ms: float
    fastest: bool


@dataclass(frozen=True, slots=True)
class TimingProbe:
    """What a timing probe sees block by block, and how many looks tell a hit from a miss.

    `block_ms` is what one more block of hit saves, `noise_ms` what is left of the noise after averaging, `apart` their
    ratio. `probes_needed` make them three to one.
    """

    secret_tokens: int
    block_ms: float
    noise_ms: float
    apart: float
    probes_needed: int
    blocks: tuple[tuple[Guess, ...], ...]
    recovered_blocks: int
    salted: bool
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def probe(*, prompt_tokens: int = 2_048, block_size: int = 16, guesses: int = 8, noise_ms: float = 1.0,
          probes: int = 64, salted: bool = False, seed: int = 1) -> TimingProbe:
    """Guess a secret of three blocks, one block after another, by the time to the first token.

    Time = (prompt - hit) * 26.1 µs + noise (normal, seeded), the mean of so many looks. The fastest guess is taken; the
    next block is guessed behind the right one. With a salt of the attacker's own nothing of the victim's is hit.
    Raises Refusal when the prompt does not reach past the secret.
    """
    secret = SECRET_BLOCKS * block_size
    if prompt_tokens <= secret:
        raise Refusal(f"The prompt must be longer than the secret's {secret:,} tokens.", "prompt_tokens")
    draw = Random(seed)
    apart_ms, left = block_size * US_PER_TOKEN / 1e3, noise_ms / probes**0.5
    shared = not salted
    blocks = []
    for place in range(SECRET_BLOCKS):
        answer = draw.randrange(guesses)
        seen = [(prompt_tokens * US_PER_TOKEN / 1e3 - (place + (number == answer)) * apart_ms * shared
                 + draw.gauss(0, left)) for number in range(guesses)]
        blocks.append(tuple(Guess(number == answer, time, time == min(seen)) for number, time in enumerate(seen)))
    recovered = next((place for place, row in enumerate(blocks) if not any(g.right and g.fastest for g in row)),
                     SECRET_BLOCKS)
    needed = max(rounded_up((3 * noise_ms / apart_ms) ** 2), 1)
    return TimingProbe(
        secret, apart_ms, left, apart_ms / left if left else 0.0, needed, tuple(blocks), recovered, salted,
        finding=f"A block of {block_size} is worth {apart_ms:.2f} ms; after {looks(probes)} {left:.2g} ms of noise is "
                f"left. The first {recovered} of {SECRET_BLOCKS} blocks are the fastest guesses.",
        lines=(
            Line("a block saves", f"{block_size} × {US_PER_TOKEN} µs", apart_ms, "ms"),
            Line("noise left", f"{noise_ms:g} / √{probes:,}", left, "ms"),
            Line("three to one takes", f"(3 × {noise_ms:g} / {apart_ms:.2f})²", needed, "looks"),
        ),
        slips=((3 * noise_ms / apart_ms, "Noise shrinks with the square root of the looks, so the ratio is squared."),),
    )


def looks(number: int) -> str:
    """So many looks, in words."""
    return f"{number:,} look{'s' * (number != 1)}"
