"""Padding to a captured size: lists by GPU, what rounding costs on the roofline, and what can't be."""
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.graph_padding import FULL, NONE, PIECEWISE, solve


@pytest.mark.parametrize(("values", "seqs", "cap", "sizes", "full"), [  # limits of vllm serve, then the rule by hand
    ({"gpu": "h100"}, 1_024, 512, 51, 51), ({"gpu": "h200"}, 1_024, 512, 51, 51),
    ({"gpu": "b200"}, 1_024, 1_024, 83, 83),
    ({"gpu": "a100"}, 256, 512, 51, 35), ({"gpu": "l40s"}, 256, 512, 51, 35), ({"gpu": "rtx-4090"}, 256, 512, 51, 35),
    ({"max_num_seqs": 64}, 64, 128, 19, 11), ({"max_num_seqs": 100}, 100, 200, 29, 16),
])
def test_sizes_and_full_graphs_by_gpu_class(values: dict, seqs: int, cap: int, sizes: int, full: int):
    result = solve(**values)
    assert (result.max_num_seqs, result.cap, len(result.sizes), result.full_graphs) == (seqs, cap, sizes, full)


@pytest.mark.parametrize(("sequences", "size", "percent"), [  # (size - n) / size
    (3, 4, 25), (5, 8, 37.5), (9, 16, 43.8), (17, 24, 29.2), (129, 136, 5.1), (257, 272, 5.5), (500, 512, 2.3),
    (513, None, 0),
])
def test_rounding(sequences: int, size: int | None, percent: float):
    batch = solve(sequences=sequences).batch
    assert (batch.size, round(batch.percent, 1)) == (size, percent)


def test_nine_is_the_worst_rounding():
    result = solve()
    assert result.worst == (9, 16) and round(result.worst_percent, 1) == 43.8


@pytest.mark.parametrize(("sequences", "memory", "compute", "padded"), [
    # (16.06e9 + n * 1,024 * 131,072) / 3.35e12, and 2 * 8.03e9 * rows / 989e12
    (129, 9.96, 2.09, 2.21), (9, 5.15, 0.15, 0.26),
])
def test_padding_is_free_while_the_step_waits_for_memory(sequences: int, memory: float, compute: float, padded: float):
    batch = solve(sequences=sequences).batch
    assert (round(batch.memory_ms, 2), round(batch.compute_ms, 2), round(batch.padded_compute_ms, 2)) == (
        memory, compute, padded)
    assert batch.cost_ms == 0 and batch.padded_step_ms == batch.memory_ms


def test_padding_costs_past_the_ridge():
    result = solve(sequences=250, gpu="a100", context_tokens=0)  # ridge 153
    assert round(result.batch.cost_ms, 2) == 0.31  # 2 * 8.03e9 * 6 rows / 312e12
    assert round(result.cost_percent, 1) == 2.4  # 6 / 250


def test_graphs_of_an_8b_and_of_a_70b():
    assert (solve().piecewise_graphs, solve().graphs) == (1_683, 1_734)  # 33 * 51, and 51 more
    assert solve(model="llama-3.1-70b").graphs == 4_182  # 81 * 51 + 51


def test_drafts_lower_the_sequences_that_the_cap_holds():
    assert solve(sequences=128, num_speculative_tokens=3).batch.size == 512
    assert solve(sequences=129, num_speculative_tokens=3).batch.graph == NONE


def test_a_decode_batch_without_a_full_graph_that_large_runs_in_pieces():
    result = solve(sequences=50, max_num_seqs=64, cudagraph_capture_sizes="40 80")
    assert result.decode_sizes == (40,) and (result.batch.graph, result.batch.size) == (PIECEWISE, 80)
    assert solve(sequences=40, max_num_seqs=64, cudagraph_capture_sizes="40 80").batch.graph == FULL


def test_interactivity_captures_every_small_size():
    assert solve(performance_mode="interactivity").batch.size == 9


@pytest.mark.parametrize(("values", "field", "words"), [
    ({"sequences": 300, "gpu": "a100"}, "sequences", "At most 256 sequences"),
    ({"sequences": 64, "max_num_batched_tokens": 128, "max_num_seqs": 64, "num_speculative_tokens": 3}, "sequences",
     "256 rows are more than the 128 tokens"),
    ({"cudagraph_capture_sizes": "8 x"}, "cudagraph_capture_sizes", "“x” is no size"),
    ({"cudagraph_capture_sizes": "9000"}, "cudagraph_capture_sizes", "none of these sizes fits"),
    ({"cudagraph_capture_sizes": "8 16", "max_cudagraph_capture_size": 32}, None, "should be consistent"),
])
def test_what_cannot_be_is_refused(values: dict, field: str | None, words: str):
    with pytest.raises(Refusal, match=words) as refused:
        solve(**values)
    assert refused.value.field == field


@settings(max_examples=60, deadline=None)
@given(
    gpu=st.sampled_from(("h100", "b200", "l4")), sequences=st.integers(1, 3_000),
    context_tokens=st.integers(0, 131_072), num_speculative_tokens=st.integers(0, 16),
    max_num_seqs=st.none() | st.integers(1, 16_384),
    max_num_batched_tokens=st.none() | st.integers(1, 131_072),
    max_cudagraph_capture_size=st.none() | st.integers(1, 16_384),
    cudagraph_capture_sizes=st.sampled_from(("", "1 8 64", "7,9, 1000")),
)
def test_a_batch_runs_at_a_captured_size_that_holds_it_or_at_none(**values: object):
    try:
        result = solve(**values)
    except Refusal:
        return
    batch = result.batch
    assert batch.size is None or batch.size >= batch.tokens and batch.size in {*result.sizes, *result.decode_sizes}
    assert (batch.size is None) == (batch.graph == NONE) == (batch.tokens > result.cap)
    assert 0 <= batch.percent < 100 and batch.cost_ms >= 0
    assert asdict(result)
