"""The modes of CUDA graphs: counts worked by hand, and what vLLM 0.33.0 makes of a mode by what the backend can."""
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.graph_modes import FULL, MODES, NONE, PIECEWISE, SUPPORT, solve

START = solve()
DECODE_ONLY, BOTH = "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"


def test_graphs_of_an_8b():
    assert (START.pieces, len(START.sizes)) == (33, 51)  # 32 cuts at attention
    assert (START.piecewise_graphs, START.full_graphs, START.graphs) == (1_683, 51, 1_734)


def test_graphs_of_a_70b():
    assert solve(layers=80).graphs == 81 * 51 + 51 == 4_182


def test_launches_of_a_step_three_ways():
    assert START.eager_launches == 328  # 32 * 10 + 8
    assert START.piecewise_launches == 33 + 96  # graphs, and three eager operations a layer
    assert [step.launches for step in START.steps_run] == [1, 129, 328]


@pytest.mark.parametrize(("asked", "support", "compiled", "drafts", "mode"), [  # resolve_cudagraph_mode_and_sizes
    (BOTH, "ALWAYS", True, 0, BOTH), (BOTH, "UNIFORM_BATCH", True, 3, BOTH),
    (BOTH, "UNIFORM_SINGLE_TOKEN_DECODE", True, 0, BOTH), (BOTH, "UNIFORM_SINGLE_TOKEN_DECODE", True, 1, "PIECEWISE"),
    (BOTH, "UNIFORM_SINGLE_TOKEN_DECODE", False, 1, "NONE"), (BOTH, "NEVER", True, 0, "PIECEWISE"),
    (BOTH, "NEVER", False, 0, "NONE"), (BOTH, "ALWAYS", False, 0, DECODE_ONLY),
    ("FULL", "ALWAYS", True, 0, "FULL"), ("FULL", "ALWAYS", False, 0, "FULL"), ("FULL", "UNIFORM_BATCH", True, 0, BOTH),
    ("FULL", "UNIFORM_BATCH", False, 0, DECODE_ONLY), ("FULL", "UNIFORM_SINGLE_TOKEN_DECODE", True, 2, "PIECEWISE"),
    ("PIECEWISE", "NEVER", True, 0, "PIECEWISE"), ("PIECEWISE", "ALWAYS", False, 0, "NONE"),
    (DECODE_ONLY, "UNIFORM_BATCH", True, 2, DECODE_ONLY), (DECODE_ONLY, "NEVER", True, 0, "PIECEWISE"),
    ("NONE", "ALWAYS", True, 0, "NONE"),
])
def test_the_mode_in_force(asked: str, support: str, compiled: bool, drafts: int, mode: str):
    result = solve(cudagraph_mode=asked, support=support, compiled=compiled, num_speculative_tokens=drafts)
    assert result.mode == mode
    assert bool(result.reasons) == (mode != asked)


def test_full_on_a_backend_that_is_never_captured_does_not_start():
    with pytest.raises(Refusal, match="FULL is not supported with this backend") as refused:
        solve(cudagraph_mode="FULL", support="NEVER")
    assert refused.value.field == "support"
    assert next(choice for choice in solve(support="NEVER").choices if choice.asked == "FULL").mode == ""


@pytest.mark.parametrize(("mode", "decode", "mixed"), [
    ("NONE", NONE, NONE), ("PIECEWISE", PIECEWISE, PIECEWISE), ("FULL", FULL, FULL), (DECODE_ONLY, FULL, NONE),
    (BOTH, FULL, PIECEWISE),
])
def test_what_decode_and_mixed_steps_run(mode: str, decode: str, mixed: str):
    steps = solve(cudagraph_mode=mode).steps_run
    assert [step.graph for step in steps] == [decode, mixed, NONE]  # a chunk of 8,192 is above every size


def test_a_mixed_step_above_the_largest_size_runs_no_graph():
    assert solve(chunk_tokens=448).steps_run[1].graph == PIECEWISE  # 64 + 448 = 512
    assert solve(chunk_tokens=449).steps_run[1].graph == NONE
    assert solve(chunk_tokens=960, datacenter_blackwell=True).steps_run[1].graph == PIECEWISE


def test_more_rows_than_a_step_holds_are_refused():
    with pytest.raises(Refusal, match="more than a step's 8,192") as refused:
        solve(chunk_tokens=8_192)
    assert refused.value.field == "chunk_tokens"


def test_known_slips_are_named():
    assert {value for value, _ in START.slips} == {1_632, 1_683, 51, 102}  # a graph a layer, no full ones, sizes, twice


@settings(max_examples=80, deadline=None)
@given(
    cudagraph_mode=st.sampled_from(sorted(MODES)), support=st.sampled_from(sorted(SUPPORT)), compiled=st.booleans(),
    num_speculative_tokens=st.integers(0, 16), layers=st.integers(1, 200), kernels_per_layer=st.integers(1, 64),
    eager_ops=st.integers(0, 64), sequences=st.integers(1, 1_024), chunk_tokens=st.integers(1, 8_192),
    datacenter_blackwell=st.booleans(),
)
def test_a_step_never_takes_more_launches_than_kernels_and_graph_launches(**values: object):
    try:
        result = solve(**values)
    except Refusal:
        return
    for step in result.steps_run:
        assert (step.size is None) == (step.graph == NONE)
        assert step.graph == NONE or step.size >= step.tokens
        assert step.launches == {FULL: 1, NONE: result.kernels, PIECEWISE: result.piecewise_launches}[step.graph]
    assert result.graphs == next(choice.graphs for choice in result.choices if choice.present)
    assert asdict(result)
