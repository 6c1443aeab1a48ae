"""The dashboard: Little's law by hand, bucket bounds of vllm 0.33.0, and tails worked out for one exponential."""
from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.latency_dashboard import (
    CAUSES,
    REQUEST_BUCKETS,
    erlang_c,
    histogram_quantile,
    later,
    quantile,
    solve,
)

DEFAULT = solve()
KV = solve(pool_tokens=110_500)
FRONT_END = solve(front_end_ms=92)
SEATS = solve(max_num_seqs=96)


def test_ten_a_second_at_thirty_milliseconds_keep_ninety_running():
    assert round(DEFAULT.tpot_s * 1e3, 1) == 30.0
    assert round(DEFAULT.decode_s, 1) == 9.0  # 299 × 0.03 = 8.97
    assert round(DEFAULT.running) == 90
    assert DEFAULT.running == pytest.approx(10 * (DEFAULT.prefill_s + DEFAULT.decode_s))
    assert DEFAULT.cause == "healthy"


def test_every_queue_wait_in_the_first_bucket_reads_0_297():
    queue = DEFAULT.timings[1]
    assert queue.metric == "request_queue_time_seconds"
    assert queue.p99_s < 0.25
    assert round(queue.read_p99_s, 3) == 0.297
    assert round(histogram_quantile(0.99, REQUEST_BUCKETS, lambda t: float(t < 0.05)), 3) == 0.297
    assert round(histogram_quantile(0.99, REQUEST_BUCKETS, lambda t: float(t < 0.25)), 3) == 0.297


def test_goodput_counts_only_who_meets_both_promises():
    assert KV.goodput_per_s == pytest.approx(10 * KV.good_share)
    ttft_s = quantile(0.78, lambda t: later(t, 1 / 1.15))  # 780 of 1,000 in time
    alone = solve(front_end_ms=92, slo_ttft_ms=ttft_s * 1e3)
    assert alone.goodput_per_s == pytest.approx(7.8, abs=0.15)
    assert solve(slo_tpot_ms=29).goodput_per_s == 0


def test_three_dashboards_have_three_causes():
    assert (KV.cause, FRONT_END.cause, SEATS.cause) == ("kv", "front-end", "seats")
    assert KV.waiting > 1 and KV.kv_usage > 0.9
    assert FRONT_END.waiting < 1 and FRONT_END.kv_usage < 0.3
    assert SEATS.waiting > 1 and SEATS.kv_usage < 0.3
    assert solve(rate_per_s=0.4, prompt_tokens=24_000, hit_percent=20).cause == "prefill"
    assert solve(rate_per_s=15).cause == "steps"


def test_the_parts_of_ttft_add_up():
    for result in (DEFAULT, KV, FRONT_END, SEATS):
        assert result.front_end_s + result.queue_s + result.prefill_s == pytest.approx(result.ttft_mean_s)
        assert result.e2e_mean_s == pytest.approx(result.ttft_mean_s + result.decode_s)


def test_every_other_cause_has_a_sentence_against_it():
    for result in (DEFAULT, KV, FRONT_END, SEATS):
        assert {cause for cause, _ in result.slips} == set(CAUSES) - {result.cause}


def test_one_seat_waits_with_the_chance_that_it_is_taken():
    assert erlang_c(1, 0.7) == pytest.approx(0.7)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)  # by the textbook formula


def test_a_sum_of_two_equal_exponentials_is_erlang():
    assert later(2.0, 1.0) == pytest.approx(exp(-2))
    assert later(2.0, 1.0, 1.0) == pytest.approx(3 * exp(-2), rel=1e-3)  # (1 + t) e^−t
    assert later(0.0, 1.0, 2.0, 3.0) == pytest.approx(1)


@pytest.mark.parametrize(("values", "field", "words"), [
    ({"front_end_ms": 120}, "front_end_ms", "falls behind for ever"),
    ({"hit_percent": 0, "prompt_tokens": 4_000}, "rate_per_s", "such prompts/s"),
    ({"rate_per_s": 24}, "rate_per_s", "has no end"),
    ({"max_num_seqs": 64}, "max_num_seqs", "the flag takes 64"),
    ({"pool_tokens": 60_000}, "pool_tokens", "the pool takes 52"),
])
def test_what_never_settles_is_refused_and_says_what_grows(values: dict, field: str, words: str):
    with pytest.raises(Refusal, match=words) as refused:
        solve(**values)
    assert refused.value.field == field


@settings(max_examples=80, deadline=None)
@given(
    rate_per_s=st.floats(0.1, 30), prompt_tokens=st.integers(1, 20_000), hit_percent=st.floats(0, 100),
    output_tokens=st.integers(2, 2_000), front_end_ms=st.floats(0.1, 100),
    prefill_tokens_per_s=st.floats(2_000, 100_000), weights_ms=st.floats(1, 40), sequence_ms=st.floats(0, 0.3),
    max_num_seqs=st.integers(1, 1_024),
)
def test_whatever_settles_reads_right(**values: object):
    try:
        result = solve(**values)
    except Refusal:
        return
    assert 0 < result.running < result.seats
    assert 0 <= result.kv_usage <= 1
    assert 0 <= result.good_share <= 1
    assert result.waiting == pytest.approx(values["rate_per_s"] * result.queue_s)
    for timing in result.timings:
        assert timing.p99_s >= 0 and timing.read_p99_s > 0
        assert timing.p99_s >= timing.mean_s * 0.99 or timing.p99_s == 0  # 0: fewer than one in a hundred wait at all
