"""A cold start: the sum by hand, and what each cache takes off it."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.models.cold_start import O0, O1, RANK, solve

WARM = {"read_gb_per_s": 6, "compile_cache": True}


def test_a_70b_all_cold_takes_246_seconds_and_73_with_caches():  # by hand: 15 + 141 + 60 + 5 + 20 + 5
    cold, warm = solve(), solve(**WARM)
    assert [round(phase.seconds, 1) for phase in cold.phases] == [15, 141.1, 60, 5, 20.0, 5]
    assert round(cold.total_s) == 246 and round(warm.total_s, 1) == 73.5
    assert not cold.meets and warm.meets and (cold.largest, warm.largest) == ("weights", "weights")


@pytest.mark.parametrize(("gb", "rate", "seconds"), [  # by hand, 70B then 8B
    (141.1, 0.5, 282), (141.1, 1, 141), (141.1, 2, 70.5), (141.1, 6, 23.5), (141.1, 20, 7.1),
    (16.06, 0.5, 32), (16.06, 1, 16), (16.06, 2, 8), (16.06, 6, 2.7), (16.06, 20, 0.8),
])
def test_how_long_the_weights_are_read(gb: float, rate: float, seconds: float):
    read = next(phase for phase in solve(weight_gb=gb, read_gb_per_s=rate).phases if phase.name == "weights")
    assert read.seconds == pytest.approx(seconds, rel=0.01, abs=0.06)


def test_two_changes_together_meet_90_seconds_and_neither_alone():
    totals = {change.name: change.meets for change in solve().changes}
    assert [name for name, meets in totals.items() if meets] == ["NVMe and compile cache"]


def test_the_engines_line_starts_behind_the_weights():
    start = solve()
    assert start.engine_s == pytest.approx(start.total_s - 15 - 141.1)


def test_ranks_that_read_for_themselves_share_the_bytes():
    assert solve().total_s - solve(rate_of=RANK).total_s == pytest.approx(141.1 * 3 / 4)


def test_graphs_are_captured_anew_unless_there_are_none():
    def capture(**given: object) -> float:
        return next(phase.seconds for phase in solve(**given).phases if phase.name == "graph capture")

    assert capture(**WARM) == capture() == 2 * capture(level=O1) and capture(level=O0) == 0


@given(weight_gb=st.floats(0.1, 10_000), read_gb_per_s=st.floats(0.01, 1_000), tensor_parallel_size=st.integers(1, 64),
       capture_sizes=st.integers(0, 1_024), compile_cache=st.booleans(), target_s=st.floats(1, 36_000))
def test_the_phases_are_the_whole(**values: object):
    start = solve(**values)
    assert start.total_s == pytest.approx(sum(phase.seconds for phase in start.phases))
    assert start.changes[0].present and start.changes[0].seconds == start.total_s
    assert start.each_rank_gb <= values["weight_gb"]


def test_without_compilation_and_capture_a_start_is_shorter_by_both() -> None:
    cold, eager = solve(), solve(level="O0")
    assert cold.spared_s == pytest.approx(60 + 51 * 0.392)
    assert cold.total_s - cold.spared_s == pytest.approx(eager.total_s)
    assert eager.spared_s == 0
