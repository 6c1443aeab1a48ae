"""Paging waste: block arithmetic by hand, for the 8B in a pool of 55 GiB."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.paging_waste import solve

MIB = 2**20


@pytest.mark.parametrize(("size", "most", "of_2048", "of_256", "mib", "blocks"), [
    (1, 0, 0, 0, 0.125, 450_560), (8, 7, 0.17, 1.4, 1, 56_320), (16, 15, 0.37, 2.9, 2, 28_160),
    (32, 31, 0.76, 6.1, 4, 14_080), (64, 63, 1.5, 12.3, 8, 7_040), (128, 127, 3.1, 24.8, 16, 3_520),
    (256, 255, 6.2, 49.8, 32, 1_760),
])
def test_each_block_size(size: int, most: int, of_2048: float, of_256: float, mib: float, blocks: int):
    long = next(row for row in solve().sizes if row.block_size == size)
    short = next(row for row in solve(mean_tokens=256, sequences=1_760).sizes if row.block_size == size)
    assert (long.most_wasted, long.block_bytes / MIB, long.pool_blocks) == (most, mib, blocks)
    assert 100 * long.mean_waste_share == pytest.approx(of_2048, abs=0.051 if of_2048 >= 1 else 0.0051)
    assert 100 * short.mean_waste_share == pytest.approx(of_256, abs=0.051)


def test_220_of_2k_and_1760_of_256():
    long, short = solve(), solve(sequences=1_760, mean_tokens=256)
    assert (long.expected_tokens, round(long.expected_bytes / 2**30, 2)) == (1_650, 0.20)
    assert round(100 * long.expected_pool_share, 2) == 0.37
    assert (short.expected_tokens, round(100 * short.expected_pool_share, 1)) == (13_200, 2.9)


def test_the_exact_waste_lies_near_what_is_expected():
    drawn = solve(sequences=1_760, mean_tokens=256)
    assert drawn.wasted_tokens == pytest.approx(drawn.expected_tokens, rel=0.05)


def test_reserving_the_longest_wastes_three_quarters():
    assert solve(lengths="fixed", reserved_tokens=8_192).reserved_share == 0.75


def test_a_prefix_hit_is_whole_blocks():
    assert (solve().hit_tokens, solve().hit_lost) == (16, 4)
    assert solve(block_size=128).hit_tokens == 0


def test_lengths_may_be_listed():
    listed = solve(lengths="listed", listed="1, 16 17")
    assert [(row.tokens, row.blocks, row.wasted) for row in listed.drawn] == [(1, 1, 15), (16, 1, 0), (17, 2, 15)]
    assert (listed.sequences, listed.wasted_tokens) == (3, 30)


@pytest.mark.parametrize("listed", ["", "a", "0", "-3", "1.5", "9" * 50, "1 " * 2_001, "٣"])
def test_a_list_that_cannot_be_read_is_refused(listed: str):
    with pytest.raises(Refusal) as refused:
        solve(lengths="listed", listed=listed)
    assert refused.value.field == "listed"


def test_one_seed_draws_the_same_lengths():
    assert solve(seed=3) == solve(seed=3)
    assert solve(seed=3).drawn != solve(seed=4).drawn


def test_tokens_that_do_not_fit_are_said():
    assert "28,159 to give" in solve(sequences=221).waste_verdict
    assert solve(sequences=200).fits


@settings(max_examples=50, deadline=None)
@given(
    block_size=st.integers(1, 256), sequences=st.integers(1, 500), mean_tokens=st.integers(1, 5_000),
    lengths=st.sampled_from(("fixed", "uniform", "exponential")), seed=st.integers(0, 99),
)
def test_tokens_and_waste_fill_the_blocks(**values: object):
    result = solve(**values)
    assert result.tokens + result.wasted_tokens == result.blocks * values["block_size"]
    assert result.wasted_tokens <= result.sequences * result.most_wasted
    assert sum(row.present for row in result.sizes) == 1
