"""Salts: hit rates by Che's approximation against a simulated LRU, and the timing probe's arithmetic by hand."""
from collections import OrderedDict
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.cache_salt import GROUP, NONE, TENANT, probe, solve


# tenants: prefix found, tokens hit (both to two places)
@pytest.mark.parametrize(("tenants", "found", "hit"), [
    (1, 1.00, 0.75), (50, 1.00, 0.75), (100, 0.998, 0.75), (200, 0.86, 0.64), (300, 0.65, 0.49), (500, 0.42, 0.31),
    (1_000, 0.22, 0.16), (5_000, 0.05, 0.03),
])
def test_hits_fall_when_copies_fill_the_pool(tenants: int, found: float, hit: float):
    result = solve(tenants=tenants)
    assert result.prefix_hit == pytest.approx(found, abs=0.0055)
    assert round(result.token_hit_rate, 2) == pytest.approx(hit, abs=0.001)


def test_fifty_tenants_take_nine_gib_and_lose_nothing():
    result = solve()
    assert round(result.copies_gib, 1) == 9.2 and round(result.pool_share, 2) == 0.17
    assert round(solve(policy=NONE).copies_gib, 2) == 0.18
    assert round(result.residence_s) == 75 and round(result.saved_when_hit_ms) == 39
    assert round(solve(own_every_s=60).own_hit, 2) == 0.71 and round(solve(own_every_s=600).own_hit, 2) == 0.12
    assert round(result.cliff_copies) == 300 and round(solve(shared_tokens=10_000).cliff_copies) == 45


def test_groups_count_as_copies():
    assert solve(tenants=1_000, policy=GROUP, group_tenants=20).token_hit_rate == solve(tenants=50).token_hit_rate
    assert solve(tenants=21, policy=GROUP, group_tenants=20).copies == 2


def test_an_lru_over_random_requests_agrees():
    draw, cache, pool, used, hits = Random(1), OrderedDict(), 4_505, 0, 0
    requests = 6_000  # everything in units of 100 tokens
    for number in range(requests):
        key = ("salt", draw.randrange(200))
        hits += key in cache and number >= requests // 2
        for name, size in ((key, 15), (("own", number), 5)):
            if name in cache:
                cache.move_to_end(name)
            else:
                cache[name] = size
                used += size
        while used > pool:
            used -= cache.popitem(last=False)[1]
    assert hits / (requests / 2) == pytest.approx(solve(tenants=200).prefix_hit, abs=0.03)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 100_000), st.floats(0.01, 10_000), st.integers(1, 200_000), st.integers(1, 200_000),
       st.integers(400_000, 100_000_000), st.sampled_from([NONE, TENANT, GROUP]))
def test_what_is_touched_fills_the_pool(tenants: int, rate: float, shared: int, unique: int, pool: int, policy: str):
    result = solve(tenants=tenants, requests_per_s=rate, shared_tokens=shared, unique_tokens=unique, pool_tokens=pool,
                   policy=policy)
    held = rate * unique * result.residence_s + result.copies * shared * result.prefix_hit
    assert held == pytest.approx(pool, rel=1e-6)
    assert 0 <= result.token_hit_rate <= result.unsalted_hit_rate + 1e-9 <= 1 + 1e-9


def test_a_request_larger_than_the_pool_is_refused():
    with pytest.raises(Refusal, match="One request is 2,000 tokens"):
        solve(pool_tokens=1_000)


def test_a_block_is_worth_less_than_half_a_millisecond():
    result = probe()
    assert round(result.block_ms, 2) == 0.42 and result.noise_ms == 0.125
    assert result.probes_needed == 52  # (3 / 0.4176) squared is 51.6
    assert result.recovered_blocks == 3
    assert probe(noise_ms=0).recovered_blocks == 3


def test_a_salt_leaves_the_probe_to_chance():
    found = [probe(salted=True, seed=seed, guesses=8).blocks[0] for seed in range(200)]
    right = sum(any(guess.right and guess.fastest for guess in row) for row in found)
    assert right / 200 == pytest.approx(1 / 8, abs=0.06)


def test_a_prompt_reaches_past_the_secret():
    with pytest.raises(Refusal, match="longer than the secret's 48 tokens"):
        probe(prompt_tokens=48)
