"""The queueing model: textbook formulas for M/M/1, M/D/1 and M/M/1/K worked by hand, and a run that agrees."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.queueing import MOST_ARRIVALS, capped, solve

STEADY = solve()
OVER = solve(load=1.05)
CAPPED = solve(load=1.05, max_num_queued_reqs=20)


@pytest.mark.parametrize(("load", "mean_s", "p99_s"), [
    (0.5, 0.2, 0.92), (0.7, 0.33, 1.54), (0.85, 0.67, 3.07), (0.95, 2.0, 9.21),
])
def test_the_ladder_of_loads_is_that_of_the_formula(load: float, mean_s: float, p99_s: float):
    rung = next(rung for rung in STEADY.ladder if rung.at == load)  # s / (1 − ρ), and ln 100 times it, at s = 0.1 s
    assert (round(rung.mean_s, 2), round(rung.p99_s, 2)) == (mean_s, p99_s)
    assert solve(load=load).p99_ttft_s == rung.p99_s


def test_equal_services_halve_the_mean_wait():
    assert round(solve(load=0.85, service="deterministic").formula.mean_wait_s, 2) == 0.28  # ρ s / (2 (1 − ρ))
    assert round(solve(load=0.95, service="deterministic").formula.mean_wait_s, 2) == 0.95
    equal, exponential = solve(service="deterministic"), STEADY
    assert equal.formula.mean_wait_s == pytest.approx(exponential.formula.mean_wait_s / 2)


def test_above_capacity_the_wait_grows_by_the_minute():
    over = OVER.overload
    assert round(over.grows_per_s, 6) == 0.5
    assert round(over.wait_per_s, 6) == 0.05
    assert (round(over.after_minute_s, 6), round(over.wait_s, 6)) == (3, 30)  # one minute, and ten
    assert round(over.backlog, 6) == 300
    assert round(over.drained_s, 6) == 200  # 300 / (10 − 8.5)
    assert round(OVER.shed_share, 2) == 0.19  # 1 − 0.85 / 1.05
    assert OVER.regime == "growing" and OVER.p99_from == "run"


def test_two_seconds_of_prefill_make_the_cap_on_queued_tokens():
    assert STEADY.token_cap == 66_000  # 2 s at 33,000 tokens/s


def test_a_cap_of_twenty_turns_seven_percent_away():
    assert round(100 * CAPPED.formula.rejected_share, 1) == 7.4  # (1 − ρ) ρ^20 / (1 − ρ^21)
    assert round(CAPPED.p99_ttft_s, 1) == 2.8
    assert CAPPED.run.most_in_system <= 20


def test_at_capacity_every_state_of_a_capped_queue_is_as_likely():
    assert capped(1.0, 0.1, 4).rejected_share == pytest.approx(1 / 5)
    assert capped(1.0, 0.1, 4).mean_s == pytest.approx(0.1 * (1 + 2 + 3 + 4) / 4)


def test_a_cap_of_one_leaves_the_service_alone():
    alone = capped(0.5, 0.1, 1)
    assert alone.mean_s == pytest.approx(0.1)
    assert alone.p99_s == pytest.approx(0.1 * 4.60517, rel=1e-4)  # ln 100
    assert alone.rejected_share == pytest.approx(0.5 / 1.5)


def test_a_high_cap_changes_nothing_below_capacity():
    assert capped(0.85, 0.1, 400).p99_s == pytest.approx(STEADY.p99_ttft_s, rel=1e-6)


def test_a_long_run_agrees_with_the_formulas():
    run = solve(horizon_s=11_000).run
    assert run.p99_s == pytest.approx(3.07, rel=0.05)
    assert run.mean_s == pytest.approx(0.667, rel=0.05)
    capped_run = solve(load=1.05, max_num_queued_reqs=20, horizon_s=9_500).run
    assert capped_run.rejected_share == pytest.approx(0.0743, abs=0.005)
    assert capped_run.p99_s == pytest.approx(2.76, rel=0.03)
    assert solve(service="deterministic", horizon_s=11_000).run.mean_s == pytest.approx(0.383, rel=0.05)


def test_one_seed_gives_one_run():
    assert solve(seed=3).run == solve(seed=3).run != solve(seed=4).run


def test_the_mean_is_known_as_a_slip():
    sentence = next(sentence for value, sentence in STEADY.slips if value == pytest.approx(0.6667, abs=1e-3))
    assert sentence.startswith("That is the mean.")


@pytest.mark.parametrize(("values", "words"), [
    ({"horizon_s": 100_000}, "at most 100,000"),
    ({"horizon_s": 1}, "too few for a percentile"),
])
def test_what_cannot_be_followed_is_refused_beside_its_field(values: dict, words: str):
    with pytest.raises(Refusal, match=words) as refused:
        solve(**values)
    assert refused.value.field == "horizon_s"


@settings(max_examples=60, deadline=None)
@given(load=st.floats(0.05, 2), service_s=st.floats(0.01, 10),
       service=st.sampled_from(("exponential", "deterministic")),
       horizon_s=st.floats(10, 600), cap=st.none() | st.integers(1, 60), seed=st.integers(1, 99))
def test_every_arrival_is_served_or_turned_away(load: float, service_s: float, service: str, horizon_s: float,
                                                cap: int | None, seed: int):
    try:
        result = solve(load=load, service_s=service_s, service=service, horizon_s=horizon_s, max_num_queued_reqs=cap,
                       seed=seed)
    except Refusal:
        return
    run = result.run
    assert 0 < run.arrived <= 2 * MOST_ARRIVALS
    assert sum(run.rejections) == run.rejected
    assert run.most_in_system <= (cap or run.arrived)
    assert 0 < run.p50_s <= run.p99_s
    assert result.p99_ttft_s > 0
    assert all(abs(value / result.p99_ttft_s - 1) > 0.05 for value, _ in result.slips)
