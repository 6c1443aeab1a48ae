"""The backend selector: the walk through vLLM 0.33.0's lists by GPU, model and cache, and what graphs each allows."""
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.attention_backends import (
    ALWAYS,
    BACKENDS,
    BF16,
    CAPABILITIES,
    FP8,
    FP8_E5M2,
    INT8,
    NVFP4,
    SINGLE,
    UNIFORM,
    AttentionBackends,
    solve,
)
from calculators.models.base import Refusal

LLAMA = {"use_mla": False, "head_size": 128}
DEEPSEEK = {"use_mla": True, "head_size": 576}
BOTH = "FULL_AND_PIECEWISE"


def ruled_out(result: AttentionBackends) -> dict[str, tuple[str, ...]]:
    return {each.name: each.reasons for each in result.candidates if each.reasons}


@pytest.mark.parametrize(("model", "capability", "kv", "first", "backend", "graphs"), [
    # _get_backend_priorities, then validate_configuration of each class, read by hand
    (LLAMA, "9.0", BF16, "FLASH_ATTN", "FLASH_ATTN", ALWAYS), (LLAMA, "9.0", FP8, "FLASH_ATTN", "FLASH_ATTN", ALWAYS),
    (DEEPSEEK, "9.0", BF16, "FLASH_ATTN_MLA", "FLASH_ATTN_MLA", UNIFORM),
    (DEEPSEEK, "9.0", FP8, "FLASH_ATTN_MLA", "FLASHMLA", UNIFORM),
    (LLAMA, "10.0", BF16, "FLASHINFER", "FLASHINFER", UNIFORM),
    (DEEPSEEK, "10.0", BF16, "FLASHINFER_MLA", "FLASHINFER_MLA", ALWAYS),
    (LLAMA, "8.9", BF16, "FLASH_ATTN", "FLASH_ATTN", UNIFORM), (LLAMA, "8.9", FP8, "FLASH_ATTN", "FLASHINFER", UNIFORM),
    (LLAMA, "8.0", FP8, "FLASH_ATTN", "FLASHINFER", UNIFORM),
    (DEEPSEEK, "12.0", BF16, "TRITON_MLA", "TRITON_MLA", UNIFORM),
    (LLAMA, "7.5", BF16, "FLASH_ATTN", "TRITON_ATTN", ALWAYS),
    (LLAMA | {"head_size": 80}, "9.0", BF16, "FLASH_ATTN", "FLASH_ATTN", ALWAYS),
])
def test_the_walk_down_the_list(model: dict, capability: str, kv: str, first: str, backend: str, graphs: str):
    result = solve(**model, capability=capability, kv_cache_dtype=kv)
    assert result.candidates[0].name == first
    assert (result.backend, result.graphs) == (backend, graphs)


@pytest.mark.parametrize(("capability", "version"), [("8.9", 2), ("9.0", 3), ("12.0", 2)])
def test_flash_attention_by_architecture(capability: str, version: int):
    assert solve(**LLAMA, capability=capability, kv_cache_dtype=BF16).fa_version == version


def test_flash_attention_4_on_blackwell_falls_back_to_2():
    asked = LLAMA | {"capability": "10.0", "kv_cache_dtype": BF16, "backend": "FLASH_ATTN"}
    assert solve(**asked).fa_version == 4
    assert solve(**asked, batch_invariant=True).fa_version == 2
    assert solve(**asked | {"head_size": 160}).fa_version == 2
    assert solve(**asked | {"head_size": 256}).fa_version == 4
    assert solve(**LLAMA | {"head_size": 320, "kv_cache_dtype": BF16}).fa_version == 4  # on Hopper past 256


def test_the_reasons_are_the_engines():
    assert ruled_out(solve())["FLASH_ATTN_MLA"] == ("kv_cache_dtype not supported",)
    t4 = ruled_out(solve(**LLAMA, capability="7.5", kv_cache_dtype=BF16))
    assert t4 == dict.fromkeys(("FLASH_ATTN", "FLASHINFER"), ("compute capability not supported",))
    assert ruled_out(solve(**LLAMA | {"head_size": 80}, kv_cache_dtype=BF16)) == {
        "FLASHINFER": ("head_size not supported",)}


def test_a_block_size_that_costs_a_backend_is_warned_of():
    result = solve(kv_cache_dtype=BF16, capability="10.0", block_size=16)
    assert result.backend == "TRITON_MLA"
    assert "precluded higher-priority backend(s) FLASHINFER_MLA, CUTLASS_MLA." in result.warning
    assert solve(block_size=64).backend == "FLASHMLA" and solve(block_size=64).warning == ""


@pytest.mark.parametrize(("capability", "head_size", "kv", "page"), [("9.0", 512, FP8, 64), ("10.0", 256, BF16, 128)])
def test_kernels_with_pages_of_their_own_size_rule_smaller_blocks_out(capability: str, head_size: int, kv: str,
                                                                      page: int):
    # FlashAttentionBackend.get_supported_kernel_block_sizes, run with these heads and formats
    asked = {"use_mla": False, "head_size": head_size, "capability": capability, "kv_cache_dtype": kv}
    assert ruled_out(solve(**asked, block_size=page // 2))["FLASH_ATTN"] == ("block_size not supported",)
    assert "FLASH_ATTN" not in ruled_out(solve(**asked, block_size=page))
    assert "FLASH_ATTN" not in ruled_out(solve(**asked))


def test_non_causal_attention_on_blackwell_prefers_flash_attention():
    assert solve(**LLAMA, capability="10.0", kv_cache_dtype=BF16, non_causal=True).candidates[0].name == "FLASH_ATTN"


@pytest.mark.parametrize(("values", "drafts", "mode", "full"), [
    (LLAMA | {"capability": "9.0"}, 0, BOTH, "FULL"), (LLAMA | {"capability": "8.9"}, 3, BOTH, BOTH),
    (LLAMA | {"capability": "10.0", "trtllm_kernels": False}, 0, BOTH, BOTH),
    (LLAMA | {"capability": "10.0", "trtllm_kernels": False}, 3, "PIECEWISE", "PIECEWISE"),
    (DEEPSEEK | {"capability": "10.0", "backend": "CUTLASS_MLA"}, 1, "PIECEWISE", "PIECEWISE"),
])
def test_the_mode_that_a_backend_allows(values: dict, drafts: int, mode: str, full: str):
    result = solve(**values, kv_cache_dtype=BF16, num_speculative_tokens=drafts)
    assert (result.mode, result.full_becomes) == (mode, full)


def test_without_its_kernels_flashinfer_stays_and_loses_graphs():
    result = solve(**LLAMA, capability="10.0", kv_cache_dtype=BF16, trtllm_kernels=False)
    assert (result.backend, result.graphs) == ("FLASHINFER", SINGLE)


def test_a_forced_backend_that_does_not_hold_is_refused_and_not_replaced():
    with pytest.raises(Refusal, match="FLASH_ATTN_MLA is not valid for this configuration.*kv_cache_dtype") as refused:
        solve(backend="FLASH_ATTN_MLA")
    assert refused.value.field == "backend"
    assert solve(backend="TRITON_MLA").chosen == "TRITON_MLA"
    assert solve().chosen == "FLASHMLA"


def test_where_none_holds_each_says_why():
    with pytest.raises(Refusal, match="No valid attention backend found. FLASH_ATTN_MLA: .*TRITON_MLA: kv_cache_dtype"):
        solve(kv_cache_dtype=INT8)


@settings(max_examples=150, deadline=None)
@given(
    capability=st.sampled_from(sorted(CAPABILITIES)), use_mla=st.booleans(), head_size=st.integers(8, 1_024),
    kv_cache_dtype=st.sampled_from((BF16, FP8, FP8_E5M2, NVFP4, INT8)), block_size=st.none() | st.integers(1, 1_024),
    non_causal=st.booleans(), batch_invariant=st.booleans(), trtllm_kernels=st.booleans(),
    num_speculative_tokens=st.integers(0, 16), backend=st.sampled_from(("", *BACKENDS)),
)
def test_the_first_without_a_reason_is_chosen(**values: object):
    try:
        result = solve(**values)
    except Refusal:
        return
    chosen = [each for each in result.candidates if each.chosen]
    assert [each.name for each in chosen] == [result.backend] and not chosen[0].reasons
    if not values["backend"]:
        assert all(each.reasons for each in result.candidates[:result.rejected])
    assert asdict(result)
