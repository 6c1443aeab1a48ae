"""TTFT after a rollout: the waits by hit ratio by hand, 4,000 tokens at 25,000 a second, six requests a second."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.deploy_ttft import solve

# hit ratio: prefill ms, busy, mean wait ms, P99 wait s
TABLE = {75: (40, 0.24, 13, 0.17), 50: (80, 0.48, 74, 0.60), 20: (128, 0.77, 424, 2.40), 0: (160, 0.96, 3_840, 18.26)}


@pytest.mark.parametrize("percent", TABLE)
def test_the_wait_by_hit_ratio(percent: float) -> None:
    after = solve(hit_after_percent=percent).after
    service, busy, mean, p99 = TABLE[percent]
    assert after.service_ms == pytest.approx(service) and after.busy_share == pytest.approx(busy, abs=0.005)
    assert after.mean_wait_ms == pytest.approx(mean, abs=0.5)
    assert after.p99_wait_ms / 1e3 == pytest.approx(p99, abs=0.005)


def test_a_fifth_of_the_steps_hold_a_prefill() -> None:
    """Six prefills and 23.2 decode steps of 10 ms in a second, 7% before."""
    result = solve()
    assert result.after.prefill_step_share == pytest.approx(6 / 29.2, abs=0.001)
    assert result.before.prefill_step_share == pytest.approx(0.073, abs=0.001)
    assert "the median gap between tokens does not move" in result.itl_verdict


def test_the_wait_grows_faster_than_the_prefill() -> None:
    """By hand: 128 / 40, and 2.395 / 0.1673 with the tail of both."""
    result = solve()
    assert result.slowdown == pytest.approx(3.2)
    assert result.wait_growth == pytest.approx(2_395.1 / 167.27, rel=1e-3)
    assert solve(hit_percent=100).slowdown == solve(hit_percent=100).wait_growth == 0


def test_a_queue_without_end_is_refused_beside_the_ratio() -> None:
    with pytest.raises(Refusal, match="has no end") as refused:
        solve(rate_per_s=7, hit_after_percent=0)
    assert refused.value.field == "hit_after_percent"
    assert solve(rate_per_s=7).limit_percent == pytest.approx(100 * (1 - 25_000 / 28_000))


@given(st.floats(0, 100), st.floats(0, 100), st.integers(1, 50))
def test_fewer_hits_never_shorten_the_wait(one: float, other: float, replicas: int) -> None:
    high, low = max(one, other), min(one, other)
    result = solve(hit_percent=high, hit_after_percent=low, replicas=replicas)
    assert result.after.p99_ttft_ms >= result.before.p99_ttft_ms - 1e-9
    assert result.after.mean_wait_ms >= result.before.mean_wait_ms - 1e-9
