"""Blocks, groups and concurrency: vLLM 0.33.0's own sizings, recorded, and figures worked by hand."""
import copy
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.models import kv_sizing_trace
from calculators.models.catalogue import CHUNKED_LOCAL, FULL, MLA, MODELS, SLIDING
from calculators.models.kv_blocks import Cache, pool
from calculators.models.kv_sizing_trace import NotModelled

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "kv_sizing.json").read_text())
CASES = list(kv_sizing_trace.cases(RECORDED, "kv_sizing"))
LLAMA = Cache(kinds=(FULL,) * 32, token_bytes=4_096)
GEMMA = Cache(kinds=MODELS["gemma-3-27b"].kinds, token_bytes=8_192, window=1_024)


@pytest.mark.parametrize(("name", "difference"), CASES, ids=[name for name, _ in CASES])
def test_every_recorded_sizing_is_reproduced_to_the_last_digit(name: str, difference: str | None):
    assert difference is None


def test_a_changed_figure_is_found_and_named():
    for field in ("bytes_per_block", "request_bytes", "num_gpu_blocks", "kv_cache_size_tokens", "max_concurrency",
                  "layer_sum_request_bytes", "bytes_per_token"):
        changed = copy.deepcopy(RECORDED["cases"][0])
        changed["expect"][field] += 1
        said = kv_sizing_trace.first_difference(changed, RECORDED["models"]["Llama-3.1-8B"])
        assert said.startswith(f"{field}: ours ")
    changed = copy.deepcopy(RECORDED["cases"][3])
    changed["expect"]["estimated_max_model_len"] = 45_041
    said = kv_sizing_trace.first_difference(changed, RECORDED["models"]["Llama-3.1-8B"])
    assert said == "estimated_max_model_len: ours 45040, theirs 45041"


@pytest.mark.parametrize(("more", "kind", "why"), [
    ({"decode_context_parallel_size": 2}, FULL, "the setting decode_context_parallel_size"),
    ({"kv_cache_dtype": "nvfp4"}, FULL, "a KV cache in nvfp4"),
    ({}, "cross", "layers of the kind cross"),
    ({}, "linear", "a state of another make than a gated delta net's"),
])
def test_what_is_not_known_is_not_modelled_rather_than_wrong(more: dict, kind: str, why: str):
    recorded, model = copy.deepcopy(RECORDED["cases"][0]), dict(RECORDED["models"]["Llama-3.1-8B"])
    recorded["case"] |= more
    model["layer_kinds"] = [kind] * 32
    said = kv_sizing_trace.first_difference(recorded, model)
    assert isinstance(said, NotModelled)
    assert said == why


@pytest.mark.parametrize("model", [m for m in MODELS.values() if m.name in RECORDED["models"]], ids=lambda m: m.name)
def test_the_catalogue_has_the_recorded_shapes(model):
    recorded = RECORDED["models"][model.name]
    assert list(model.kinds) == recorded["layer_kinds"]
    assert model.kv_heads == recorded["num_key_value_heads"]
    assert model.latent + model.rope or model.head_dim == recorded["head_dim"]
    assert model.window == (recorded["sliding_window"] or 0)
    assert model.longest_context == recorded["max_position_embeddings"]


def test_layers_of_two_kinds_are_dealt_out_in_turn():
    # 10 full and 52 windowed: groups of 10, so six windowed groups of 9, 9, 9, 9, 8 and 8
    assert GEMMA.group_kinds == tuple((SLIDING, n) for n in (9, 9, 9, 9, 8, 8)) + ((FULL, 10),)
    assert GEMMA.bytes_per_block == 10 * 16 * 8_192


def test_kinds_of_nearly_equal_number_are_padded_to_the_larger():
    # 13 full beside 12 windowed, as gpt-oss-20b with a draft layer: one group each, not three
    cache = Cache(kinds=(SLIDING, FULL) * 12 + (FULL,), token_bytes=1, window=128)
    assert cache.group_kinds == ((SLIDING, 12), (FULL, 13))


def test_a_window_costs_its_tokens_in_flight_while_it_prefills():
    # by hand: ceil((1023 + 2 × 8192) / 16) + 1 = 1,089, and 65 once it decodes
    assert GEMMA.blocks(SLIDING, 32_768) == 1_089
    assert GEMMA.settled.blocks(SLIDING, 32_768) == 65
    assert GEMMA.settled.request_blocks(32_768) == 2_048 + 6 * 65
    assert GEMMA.settled.request_blocks(8_192) == 902
    assert GEMMA.request_blocks(8_192) == 3_590


def test_ranks_that_share_tokens_hold_a_part_each():
    latent = Cache(kinds=(MLA,) * 61, token_bytes=1_152, ranks=8)
    assert latent.blocks(MLA, 32_768) == 256


def test_a_null_block_is_set_aside_when_one_request_just_fits():
    assert pool(LLAMA, 257 * LLAMA.bytes_per_block, 4_096).fits
    tight = pool(LLAMA, 256 * LLAMA.bytes_per_block, 4_096)
    assert (tight.fits, tight.longest) == (False, 4_080)
    assert pool(LLAMA, LLAMA.bytes_per_block, 4_096).longest == 0


KINDS = st.lists(st.sampled_from((FULL, SLIDING, CHUNKED_LOCAL)), min_size=1, max_size=70)


@given(KINDS, st.integers(1, 4_096), st.integers(1, 128), st.integers(0, 20_000), st.booleans(), st.integers(1, 50_000))
def test_every_layer_is_in_one_group_and_padding_is_all_that_is_added(kinds, window, size, in_flight, hybrid, tokens):
    cache = Cache(kinds=tuple(kinds), token_bytes=4, window=window, block_size=size, in_flight_tokens=in_flight,
                  hybrid=hybrid)
    assert sum(layers for _, layers in cache.group_kinds) == len(kinds)
    assert cache.request_blocks(tokens) * cache.bytes_per_block >= sum(
        cache.page_bytes * layers * cache.blocks(kind, tokens) for kind, layers in cache.group_kinds
    )
    assert cache.settled.request_blocks(tokens) <= cache.request_blocks(tokens) <= cache.request_blocks(tokens + 1)


@given(st.integers(1, 2**33), st.integers(1, 100_000))
def test_the_longest_request_fits_and_one_token_more_does_not(available, most):
    sized = pool(LLAMA, available, most)
    assert sized.num_blocks * sized.bytes_per_block <= available
    if sized.longest:
        assert pool(LLAMA, available, sized.longest).fits
    assert sized.longest == most or not pool(LLAMA, available, sized.longest + 1).fits
