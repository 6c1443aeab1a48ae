"""KV size and concurrency: figures worked by hand from the models' shapes, at a pool of 27,852 blocks or 55 GiB."""
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.catalogue import MODELS
from calculators.models.kv_size import solve
from calculators.models.kv_token import FORMATS, binary


def at(context: int, **values: object) -> int:
    return solve(context_tokens=context, **values).sequences


def test_llama_3_8b_at_2k():
    size = solve()
    assert size.token_bytes == 131_072  # 2 × 32 × 8 × 128 × 2
    assert (size.block_bytes, size.pool_blocks, size.pool_tokens) == (2**21, 27_852, 445_632)
    assert (size.sequence_blocks, size.sequences, size.binds) == (128, 217, "KV")
    assert round(size.log_concurrency, 2) == 3.40


@pytest.mark.parametrize(("context", "blocks", "sequences", "reached", "past_ridge"), [
    (256, 16, 1_740, 1_024, True), (1_024, 64, 435, 435, True), (2_048, 128, 217, 217, False),
    (4_096, 256, 108, 108, False), (8_192, 512, 54, 54, False), (32_768, 2_048, 13, 13, False),
    (131_072, 8_192, 3, 3, False),
])
def test_sequences_by_context(context: int, blocks: int, sequences: int, reached: int, past_ridge: bool):
    row = next(row for row in solve().contexts if row.context == context)
    assert (row.blocks, row.sequences, row.reached, row.past_ridge) == (blocks, sequences, reached, past_ridge)


def test_a_pool_of_55_gib():
    assert [at(context, pool_gib=55) for context in (256, 2_048, 4_096, 8_192)] == [1_760, 220, 110, 55]
    assert solve(pool_gib=55).pool_tokens == 450_560
    assert at(2_048, pool_gib=55, kv_cache_dtype="fp8") == 440
    assert at(2_048, kv_cache_dtype="fp8") == 435


@pytest.mark.parametrize(("values", "token_bytes", "gpu_token_bytes"), [
    ({"model": "llama-2-7b"}, 524_288, 524_288),
    ({"model": "llama-3.1-70b", "tensor_parallel_size": 8}, 327_680, 40_960),
    ({"model": "llama-3.1-70b", "tensor_parallel_size": 16}, 327_680, 40_960),
    ({"model": "llama-3.1-405b"}, 516_096, 516_096),
    ({"model": "deepseek-v3", "tensor_parallel_size": 8}, 70_272, 70_272),
    ({"model": "deepseek-v3", "kv_cache_dtype": "fp8_ds_mla"}, 40_016, 40_016),
    ({"kv_cache_dtype": "nvfp4"}, 36_864, 36_864),
    ({"kv_cache_dtype": "fp8"}, 65_536, 65_536),
])
def test_bytes_of_a_token(values: dict, token_bytes: int, gpu_token_bytes: int):
    size = solve(**values, context_tokens=1_024)
    assert (size.token_bytes, size.gpu_token_bytes) == (token_bytes, gpu_token_bytes)


def test_heads_are_copied_past_their_number_and_a_latent_always():
    assert solve(model="llama-3.1-70b", tensor_parallel_size=16).replicas == 2
    assert solve(model="llama-3.1-70b", tensor_parallel_size=8).replicas == 1
    assert solve(model="deepseek-v3", tensor_parallel_size=8).replicas == 8


def test_a_latent_against_every_head_with_its_own_k_and_v():
    size = solve(model="deepseek-v3")
    assert size.mha_token_bytes == 4_997_120  # 61 × 128 heads × (192 + 128) × 2
    assert round(size.mha_ratio) == 71


def test_a_32k_request_on_a_node():
    llama = solve(model="llama-3.1-70b", tensor_parallel_size=8, context_tokens=32_768)
    latent = solve(model="deepseek-v3", tensor_parallel_size=8, context_tokens=32_768, pool_gib=42)
    apart = solve(model="deepseek-v3", data_parallel_size=8, context_tokens=32_768, pool_gib=42)
    assert round(llama.sequence_bytes / 2**30, 2) == 1.25
    assert (round(latent.sequence_bytes / 2**30, 2), round(latent.node_request_bytes / 2**30, 1)) == (2.14, 17.2)
    assert round(apart.node_request_bytes / 2**30, 2) == 2.14
    assert apart.node_sequences == 8 * latent.sequences
    assert round(latent.node_pool_tokens, -4) == 640_000
    assert apart.node_pool_tokens == 8 * latent.node_pool_tokens


def test_context_parallelism_splits_the_tokens_of_a_latent():
    split = solve(model="deepseek-v3", tensor_parallel_size=8, decode_context_parallel_size=8, context_tokens=32_768)
    assert split.sequence_blocks == 256
    assert split.node_token_bytes == 70_272


def test_gemmas_windows_at_8k():
    size = solve(model="gemma-3-27b", context_tokens=8_192)
    assert (size.sequence_blocks, size.admission_blocks) == (902, 3_590)
    assert (round(size.sequence_bytes / 1e9, 2), round(size.admission_bytes / 1e9, 2)) == (1.18, 4.71)
    assert round(size.unwindowed_bytes / 1e9, 2) == 4.16


def test_a_shape_may_be_set_apart_from_the_model():
    assert solve(kv_heads=32).token_bytes == 524_288
    assert solve(layers=80).token_bytes == 327_680
    mixed = solve(model="gemma-3-27b", layers=62, window_layers=52)
    assert mixed.sequence_blocks == solve(model="gemma-3-27b").sequence_blocks
    assert solve(model="gemma-3-27b", hybrid_kv_cache_manager=False).window_verdict == ""


def test_the_ridge_and_the_flag_come_first_for_short_requests():
    assert solve(context_tokens=256).binds == "ridge"
    assert solve(context_tokens=256, max_num_seqs=128).binds == "flag"


@pytest.mark.parametrize(("values", "field"), [
    ({"pool_gib": 0.2}, "context_tokens"),
    ({"kv_cache_dtype": "fp8_ds_mla"}, "kv_cache_dtype"),
    ({"model": "deepseek-v3", "kv_heads": 8}, "kv_heads"),
    ({"window_layers": 33, "window": 1_024}, "window_layers"),
    ({"window_layers": 16}, "window"),
    ({"tensor_parallel_size": 8, "decode_context_parallel_size": 3}, "decode_context_parallel_size"),
    ({"tensor_parallel_size": 8, "decode_context_parallel_size": 2}, "decode_context_parallel_size"),
    ({"model": "gemma-3-27b", "tensor_parallel_size": 32, "decode_context_parallel_size": 2},
     "decode_context_parallel_size"),
])
def test_what_cannot_be_is_refused_beside_its_field(values: dict, field: str):
    with pytest.raises(Refusal) as refused:
        solve(**values)
    assert refused.value.field == field


def test_known_slips_are_told_apart():
    by_value = {round(value): sentence for value, sentence in solve().slips}
    assert "K or V alone" in by_value[434]
    assert "query heads" in by_value[54]
    latent = solve(model="deepseek-v3", tensor_parallel_size=8, context_tokens=32_768, pool_gib=42)
    by_value = {round(value): sentence for value, sentence in latent.slips}
    assert "no heads" in by_value[8 * latent.sequences]


@pytest.mark.parametrize(("size", "words"), [
    (70_272, "68.6 KiB"), (2**17, "128 KiB"), (5 * 2**28, "1.25 GiB"), (0, "0 B"), (1, "1 B"), (1_023, "1,023 B"),
])
def test_sizes_are_said_in_binary_units(size: int, words: str):
    assert binary(size) == words


@settings(max_examples=80, deadline=None)
@given(
    model=st.sampled_from(sorted(MODELS)), kv_cache_dtype=st.sampled_from(sorted(FORMATS)),
    context_tokens=st.integers(1, 200_000), pool_gib=st.floats(0.1, 400), data_parallel_size=st.integers(1, 16),
    tensor_parallel_size=st.sampled_from((1, 2, 4, 8, 16)), block_size=st.sampled_from((1, 16, 64, 256)),
    max_num_seqs=st.integers(1, 4_096), max_num_batched_tokens=st.integers(1, 32_768),
    hybrid_kv_cache_manager=st.booleans(),
)
def test_what_is_held_and_left_is_the_pool(**values: object):
    try:
        size = solve(**values)
    except Refusal:
        return
    assert size.sequences * size.sequence_blocks + size.left_blocks == size.pool_blocks
    assert 0 <= size.left_blocks < size.sequence_blocks
    assert size.pool_blocks * size.block_bytes <= size.pool_bytes
    assert 0 <= size.waste_share < 1
    assert size.reached <= min(size.sequences, size.flag)
    assert sum(row.present for row in size.contexts) == 1
    assert sum(row.present for row in size.compared) == 1
    assert asdict(size)
