"""A radix tree against hashed blocks: differences worked by hand for prompts of 2,048 tokens."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.kv_cache import KvCache, KvSequence
from calculators.models.radix_tree import solve


@pytest.mark.parametrize(("shared", "block", "tree", "points"), [
    (1_990, 1_984, 1_990, 0.29), (2_000, 2_000, 2_000, 0.0), (2_010, 2_000, 2_010, 0.49), (2_047, 2_032, 2_047, 0.73),
    (2_048, 2_032, 2_047, 0.73),
])
def test_one_request_loses_what_is_over_a_whole_block(shared: int, block: int, tree: int, points: float):
    result = solve(requests=1, shared_low=shared, shared_high=shared)
    assert (result.block_hit_tokens, result.radix_hit_tokens) == (block, tree)
    assert round(result.points_apart, 2) == points


@pytest.mark.parametrize(("block", "most"), [(16, 0.73), (32, 1.51), (64, 3.08), (128, 6.20)])
def test_the_most_is_a_block_less_one_token(block: int, most: float):
    result = solve(block_size=block)
    assert round(result.most_points, 2) == most and 0 <= result.points_apart <= result.most_points
    assert result.mean_points == result.most_points / 2


def test_equal_grain_leaves_no_difference():
    assert solve(block_size=64, page_size=64).apart_tokens == 0


def test_policies_take_leaves_only_and_differ():
    result = solve(requests=3, prompt_tokens=100, shared_low=40, shared_high=90, seed=4)
    for order in result.evicted.values():
        assert order.index(next(name for name in order if name.startswith("0–"))) == len(order) - 1
    assert len({tuple(order) for order in result.evicted.values()}) > 1
    assert sorted(result.queue["lpm"]) == sorted(result.queue["fcfs"])
    matches = {each.name: each.radix_hit for each in result.asked}
    assert [matches[name] for name in result.queue["lpm"]] == sorted(matches.values(), reverse=True)


def test_a_long_queue_is_served_in_order_of_arrival():
    result = solve(requests=129)
    assert result.queue["lpm"] == result.queue["fcfs"]


def test_lengths_that_can_not_be_are_refused():
    with pytest.raises(Refusal, match="above the longest"):
        solve(shared_low=2_048)
    with pytest.raises(Refusal, match="can't share"):
        solve(prompt_tokens=2_000)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 4), st.integers(2, 60), st.data(), st.sampled_from([1, 4, 16]), st.integers(0, 99))
def test_the_block_pool_finds_the_same(requests: int, tokens: int, data: st.DataObject, block: int, seed: int):
    high = data.draw(st.integers(0, tokens))
    result = solve(requests=requests, prompt_tokens=tokens, shared_low=data.draw(st.integers(0, high)),
                   shared_high=high, block_size=block, seed=seed)
    cache = KvCache(400, block, 1_000, True)
    prompts = [list(range(tokens))] + [
        [*range(each.shared), *range(1_000 * n, 1_000 * n + tokens - each.shared)]
        for n, each in enumerate(result.asked, start=1)
    ]
    found = []
    for number, prompt in enumerate(prompts):
        sequence = KvSequence(str(number), prompt)
        hits = cache.lookup(sequence)
        cache.allocate(sequence, tokens - len(hits) * block, hits)
        cache.free(sequence)
        found.append(len(hits) * block)
    assert found[1:] == [each.block_hit for each in result.asked]
