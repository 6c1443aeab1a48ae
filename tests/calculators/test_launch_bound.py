"""Launches against kernels: five machines worked by hand, with the rules' launch times and the datasheets' rates."""
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs.cuda_graphs_picture import CASES
from calculators.models.base import Refusal
from calculators.models.launch_bound import EAGER, MODELS, PIECEWISE, WHOLE, LaunchBound, solve

START = solve()


def case(name: str, **more: float) -> LaunchBound:
    return solve(**CASES[name] | more)


@pytest.mark.parametrize((
    "name", "kernels", "kernel_ms", "cpu", "eager", "busy", "in_pieces", "step", "step_busy", "full",
), [
    # layers * 10 or 12 + 8; weights / bandwidth / ranks or kernels * 1.5 µs; kernels * 6 µs; (L + 1) * 8 + 3 L * 6 µs;
    # steps by the rule, the slower of CPU and GPU
    ("8B BF16, H100", 328, 4.79, 1.97, 4.79, 100, 0.84, 4.79, 100, 4.79),
    ("8B FP8, B200", 392, 1.00, 2.35, 2.35, 43, 0.84, 1.00, 100, 1.00),
    ("8B BF16 TP 8, H100", 392, 0.60, 2.35, 2.35, 25, 0.84, 0.84, 71, 0.60),
    ("0.6B BF16, H100", 344, 0.52, 2.06, 2.06, 25, 0.74, 0.74, 70, 0.52),
    ("70B BF16 TP 4, H100", 968, 10.54, 5.81, 10.54, 100, 2.09, 10.54, 100, 10.54),
])
def test_five_machines_by_the_slower_of_cpu_and_gpu(
    name: str, kernels: int, kernel_ms: float, cpu: float, eager: float, busy: int, in_pieces: float, step: float,
    step_busy: int, full: float,
):
    result = case(name)
    assert (result.kernels, round(result.kernel_ms, 2)) == (kernels, kernel_ms)
    assert (round(result.eager.cpu_ms, 2), round(result.eager.rule_ms, 2)) == (cpu, eager)
    assert round(result.eager.rule_busy_percent) == busy
    assert (round(result.piecewise.cpu_ms, 2), round(result.piecewise.rule_ms, 2)) == (in_pieces, step)
    assert (round(result.piecewise.rule_busy_percent), round(result.full.rule_ms, 2)) == (step_busy, full)


@pytest.mark.parametrize(("name", "in_pieces", "full"), [  # one launch's or the last piece's latency more than the rule
    ("8B FP8, B200", 1.01, 1.01), ("8B BF16 TP 8, H100", 0.85, 0.61), ("0.6B BF16, H100", 0.75, 0.53),
])
def test_each_launch_followed_adds_a_little(name: str, in_pieces: float, full: float):
    result = case(name)
    assert (round(result.piecewise_ms, 2), round(result.full_ms, 2)) == (in_pieces, full)


def test_a_full_graph_takes_one_launch_and_all_kernels():
    for name in CASES:
        result = case(name)
        assert result.full_ms == pytest.approx(result.full_us / 1e3 + result.gpu_ms)


def test_the_start_is_busy_43_percent_and_99_in_pieces_or_whole():
    assert [round(way.busy_percent) for way in START.ways] == [43, 99, 99]
    assert round(START.eager_ms, 2) == 2.35


def test_break_even_is_a_kernel_as_long_as_its_launch():
    assert round(case("8B BF16, H100").kernel_us, 1) == 14.6  # 4.79 ms / 328
    slow = case("8B BF16, H100", launch_us=15)
    assert round(slow.eager.cpu_ms, 2) == 4.92 and slow.eager.rule_ms > slow.kernel_ms
    assert case("8B BF16, H100", launch_us=14).eager.rule_ms == slow.kernel_ms


def test_a_small_model_lies_on_the_floor_of_its_kernels():
    assert round(case("0.6B BF16, H100", floor_us=0.1).kernel_ms, 2) == 0.36  # 1.19 GB / 3.35 TB/s
    assert case("0.6B BF16, H100").kernel_us == 1.5


@pytest.mark.parametrize(("name", "enough"), [
    ("8B BF16, H100", EAGER), ("8B FP8, B200", PIECEWISE), ("8B BF16 TP 8, H100", WHOLE), ("0.6B BF16, H100", WHOLE),
    ("70B BF16 TP 4, H100", EAGER),
])
def test_the_first_mode_that_is_enough(name: str, enough: str):
    assert case(name).enough == enough


def test_a_larger_batch_is_no_longer_launch_bound():
    result = solve(sequences=64, context_tokens=2_048)
    assert round(result.kernel_ms, 2) == 3.15  # (8.03 GB + 64 * 2,048 * 131,072 B) / 8 TB/s
    assert result.enough == EAGER


def test_pieces_hold_8_then_9_kernels_between_three_eager_ones():
    launches = list(START.timeline(PIECEWISE))
    assert len(launches) == 33 + 96
    assert [launch.kernels for launch in launches[:9]] == [8, 1, 1, 1, 9, 1, 1, 1, 9]  # 296 kernels over 33 pieces


def test_more_eager_operations_than_kernels_are_refused():
    with pytest.raises(Refusal, match="A layer has 2 kernels") as refused:
        solve(kernels_per_layer=2)
    assert refused.value.field == "eager_ops"


def test_known_slips_are_named():
    said = {round(value, 2) for value, _ in START.slips}
    assert said == {2.35, 1.84, 0.26, 0.84, 0.01}  # eager, the sum, graphs alone, the CPU alone, one launch


@settings(max_examples=40, deadline=None)
@given(
    model=st.sampled_from(sorted(MODELS)), gpu=st.sampled_from(("h100", "b200", "l4", "mi300x")),
    weight_bits=st.sampled_from((16, 8, 4)), tensor_parallel_size=st.sampled_from((1, 2, 4, 8)),
    sequences=st.integers(1, 4_096), context_tokens=st.integers(0, 131_072), kernels_per_layer=st.integers(1, 64),
    kernels_outside=st.integers(0, 500), eager_ops=st.integers(0, 64), launch_us=st.floats(0.5, 100),
    piece_us=st.floats(0.5, 200), full_us=st.floats(0.5, 500), floor_us=st.floats(0.1, 20),
    layers=st.none() | st.integers(1, 40), kernel_ms=st.none() | st.floats(0.001, 1_000),
)
def test_every_way_runs_every_kernel_once_and_in_order(**values: object):
    try:
        result = solve(**values)
    except Refusal:
        return
    for way in result.ways:
        launches = list(result.timeline(way.name))
        assert sum(launch.kernels for launch in launches) == result.kernels and len(launches) == way.launches
        assert all(one.end_us <= two.start_us + 1e-6 for one, two in zip(launches, launches[1:], strict=False))
        assert all(launch.start_us >= launch.to_us for launch in launches)
        assert way.rule_ms <= way.step_ms * (1 + 1e-9) and 0 < way.busy_percent <= 100.0001
    assert asdict(result)
