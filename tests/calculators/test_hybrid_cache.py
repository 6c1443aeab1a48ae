"""Hybrid cache: a Gemma-3-27B worked by hand, and vLLM's own hits of siblings, recorded."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models import prefix_checkpoints
from calculators.models.base import Refusal
from calculators.models.hybrid_cache import MODELS, solve

GIB = 2**30
DEFAULT = solve()


@pytest.mark.parametrize(("context", "needed", "all_full", "saved"), [
    (8_192, 1.03, 3.88, 3.8), (32_768, 2.91, 15.50, 5.3), (131_072, 10.41, 62.00, 6.0),
])
def test_with_and_without_windows(context: int, needed: float, all_full: float, saved: float):
    row = next(row for row in DEFAULT.contexts if row.context == context)
    assert (row.needed_bytes / GIB, row.all_full_bytes / GIB) == (pytest.approx(needed, abs=0.006),
                                                                 pytest.approx(all_full, abs=0.006))
    assert round(row.saved, 1) == saved


def test_the_layers_sum_to_what_they_keep():
    assert (DEFAULT.full_bytes / GIB, round(DEFAULT.window_bytes / GIB, 2)) == (2.5, 0.41)
    assert DEFAULT.full_bytes + DEFAULT.window_bytes == DEFAULT.needed_bytes


def test_seven_groups_of_ten_with_eight_empty_slots():
    assert [group.layers for group in DEFAULT.groups] == [9, 9, 9, 9, 8, 8, 10]
    assert (DEFAULT.group_size, DEFAULT.padding_layers, round(DEFAULT.padding_share, 3)) == (10, 8, 0.154)
    assert DEFAULT.block_bytes / 2**20 == 1.25


def test_blocks_by_phase():
    assert (DEFAULT.decode_blocks, round(DEFAULT.decode_gib, 2)) == (2_438, 2.98)
    assert (DEFAULT.window_decode_blocks, DEFAULT.window_prefill_blocks, DEFAULT.hit_blocks) == (65, 1_089, 64)


def test_a_state_grows_the_attention_block():
    # 2 MiB of state over 2,048 B a token: 1,024 tokens
    state = solve(model="qwen3-30b-a3b", full_layers=12, state_layers=36, state_kib=2_048)
    assert (state.layer_token_bytes, state.block_size) == (2_048, 1_024)
    assert [group.kind for group in state.groups] == ["full", "linear", "linear", "linear"]


@pytest.mark.parametrize(("values", "field"), [
    ({"state_layers": 10}, "state_kib"), ({"full_layers": 10}, "window_layers"),
    ({"full_layers": 0, "window_layers": 0}, "full_layers"),
    ({"model": "llama-3.1-8b", "full_layers": 16, "window_layers": 16}, "window"),
])
def test_what_cannot_be_is_refused_beside_its_field(values: dict, field: str):
    with pytest.raises(Refusal) as refused:
        solve(**values)
    assert refused.value.field == field


@settings(max_examples=60, deadline=None)
@given(
    model=st.sampled_from(MODELS), context_tokens=st.integers(1, 200_000), block_size=st.sampled_from((1, 16, 64)),
    state_layers=st.integers(0, 40), state_kib=st.integers(1, 4_096), max_num_batched_tokens=st.integers(1, 20_000),
)
def test_every_layer_has_a_slot_and_prefill_takes_no_less_than_decode(**values: object):
    result = solve(**values)
    layers = sum(group.layers for group in result.groups)
    assert layers == result.full_layers + result.window_layers + result.state_layers
    assert layers + result.padding_layers == result.group_size * len(result.groups)
    assert result.decode_blocks <= result.prefill_blocks
    assert result.decode_bytes >= result.needed_bytes or result.state_layers


@pytest.mark.parametrize(("interval", "siblings"), [
    ("0", (0, 1_024, 1_024)), ("256", (1_024, 1_024, 1_024)), ("none", (1_024, 1_024, 1_024)),
])
def test_siblings_hit_what_the_engine_let_them_hit(interval: str, siblings: tuple[int, ...]):
    # vLLM 0.33.0's manager: one full and one window group, blocks of 16, window 64, 1,024 of 2,048 tokens shared
    found = prefix_checkpoints.solve(prefix_cache_retention_interval=interval)
    assert (found.first_hit, found.second_hit, found.third_hit) == siblings
    assert found.resend_hit == 2_032


@pytest.mark.parametrize(("prompt", "shared", "window", "size", "interval", "hits"), [
    (2_429, 2_229, 64, 16, "512", (2_048, 2_224, 2_224, 2_416)), (1_064, 479, 394, 32, "256", (448, 448, 448, 1_056)),
    (1_628, 1_308, 17, 32, "1024", (1_024, 1_280, 1_280, 1_600)), (2_423, 175, 2, 16, "0", (0, 160, 160, 2_416)),
    (2_438, 1_587, 128, 32, "256", (1_536, 1_568, 1_568, 2_432)), (890, 264, 128, 32, "1024", (0, 256, 256, 864)),
    (2_564, 2_379, 512, 32, "none", (2_368, 2_368, 2_368, 2_560)), (551, 374, 2, 32, "0", (0, 352, 352, 544)),
    (1_727, 1_038, 512, 16, "0", (0, 1_024, 1_024, 1_712)), (2_925, 2_684, 434, 1, "512", (2_684,) * 3 + (2_924,)),
    (1_549, 1_471, 64, 1, "512", (1_024, 1_471, 1_471, 1_548)), (1_205, 874, 2, 1, "none", (874, 874, 874, 1_204)),
])
def test_hits_are_those_recorded_from_the_engine(prompt, shared, window, size, interval, hits):
    # vLLM 0.33.0's KVCacheManager, each prompt prefilled whole and then freed
    found = prefix_checkpoints.solve(prompt_tokens=prompt, shared_tokens=shared, window=window, block_size=size,
                                     prefix_cache_retention_interval=interval)
    assert (found.first_hit, found.second_hit, found.third_hit, found.resend_hit) == hits


@pytest.mark.parametrize(("prompt", "window", "interval", "kept"), [
    (2_048, 64, "1008", 9), (2_048, 64, "512", 17), (2_050, 256, "1008", 34), (3_000, 256, "512", 96),
    (500, 128, "1008", 8), (8_192, 1_024, "0", 64), (8_192, 1_024, "none", 512),
])
def test_the_window_keeps_as_many_blocks_as_the_engine_put_into_its_map(prompt, window, interval, kept):
    # vLLM 0.33.0's KVCacheManager: the window group's keys after the first prompt
    found = prefix_checkpoints.solve(prompt_tokens=prompt, window=window, prefix_cache_retention_interval=interval)
    assert found.kept_blocks == kept


def test_an_interval_hits_at_its_last_boundary_before_the_junction():
    found = prefix_checkpoints.solve(prefix_cache_retention_interval="256", shared_tokens=1_000)
    assert (found.first_hit, found.second_hit) == (768, 992)


def test_an_interval_of_part_blocks_is_refused():
    with pytest.raises(Refusal, match="multiple of the block size, 96"):
        prefix_checkpoints.solve(prefix_cache_retention_interval="256", block_size=96)


@given(st.integers(1, 5_000), st.integers(0, 5_000), st.integers(2, 2_048), st.sampled_from((1, 16, 64)),
       st.sampled_from(("0", "256", "none")))
def test_a_later_sibling_hits_no_less_and_never_more_than_it_shares(prompt, shared, window, size, interval):
    found = prefix_checkpoints.solve(prompt_tokens=prompt, shared_tokens=shared, window=window, block_size=size,
                                     prefix_cache_retention_interval=interval)
    assert 0 <= found.first_hit <= found.second_hit <= found.third_hit <= min(shared, prompt - 1)
    assert found.resend_hit <= prompt - 1
    assert all(lookup.hit_tokens + lookup.computed_tokens == prompt for lookup in found.lookups)
