"""The in-flight model: Little's law by hand, a normal table, and Llama-3.1-8B's 131,072 bytes a token."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.in_flight import solve

DEFAULT = solve()


def test_fifty_a_second_for_twenty_seconds_are_a_thousand():
    assert DEFAULT.sequences == pytest.approx(1_000)
    assert DEFAULT.seconds_in_system == pytest.approx(20)
    assert DEFAULT.tokens_per_s == 25_000


def test_gaps_and_prefill_move_the_count_by_a_few():
    assert round(solve(ttft_s=0).sequences) == 998  # 499 gaps
    assert round(solve(ttft_s=0.5).sequences) == 1_023


def test_the_count_swings_like_poisson():
    assert round(DEFAULT.sigma, 1) == 31.6
    assert round(DEFAULT.p99_sequences) == 1_074
    assert round(DEFAULT.p999_sequences) == 1_098
    assert round(DEFAULT.over_seats_share, 2) == 0.22  # a normal beyond (1024 − 1000) / 31.6
    assert DEFAULT.seats_left == pytest.approx(24)


def test_provision_for_half_of_the_reply():
    assert DEFAULT.resident_tokens == 1_250
    assert (round(DEFAULT.kv_gib, 1), round(DEFAULT.worst_kv_gib, 1)) == (152.6, 183.1)
    large = solve(model="llama-3.1-70b")
    assert (round(large.kv_gib, 1), round(large.worst_kv_gib, 1)) == (381.5, 457.8)


def test_memory_and_not_the_step_sets_three_replicas():
    by_hand = {1: (1_000, 152.6, False, 66.7), 2: (500, 76.3, False, 36.2), 3: (333, 50.9, True, 26.0),
               4: (250, 38.1, True, 20.9)}
    rows = {row.replicas: (round(row.batch), round(row.kv_gib, 1), row.fits, round(row.step_ms, 1))
            for row in DEFAULT.shares}
    assert rows == by_hand
    assert round(DEFAULT.read_gb, 2) == 15.01
    assert DEFAULT.replicas_for_kv == 3
    assert [round(row.pool_share, 2) for row in DEFAULT.shares[2:]] == [0.93, 0.70]


def test_a_faster_engine_needs_less_memory():
    fast = solve(ms_per_token=20)
    assert fast.sequences == pytest.approx(500)
    assert fast.kv_gib == pytest.approx(DEFAULT.kv_gib / 2)


def test_half_who_leave_after_five_seconds_leave_625():
    assert DEFAULT.abandoned_sequences == pytest.approx(625)  # 25 × 20 + 25 × 5


def test_tokens_per_second_are_known_as_a_slip():
    said = {round(value): sentence for value, sentence in DEFAULT.slips}
    assert said[25_000].startswith("That is tokens per second.")
    assert said[2].startswith("That multiplies the rate by one token’s time.")


def test_what_is_no_single_service_is_refused():
    with pytest.raises(Refusal, match="1,000,000") as refused:
        solve(rate_per_s=10_000, output_tokens=100_000)
    assert refused.value.field == "rate_per_s"


def test_a_reply_that_takes_no_time_is_refused():
    with pytest.raises(Refusal, match="more than 0") as refused:
        solve(output_tokens=1, ttft_s=0)
    assert refused.value.field == "ttft_s"
    assert solve(output_tokens=1, ttft_s=0.5).sequences == 25


@settings(max_examples=80, deadline=None)
@given(rate_per_s=st.floats(0.1, 1_000), output_tokens=st.integers(1, 4_000), ms_per_token=st.floats(1, 200),
       ttft_s=st.none() | st.floats(0, 30), prompt_tokens=st.integers(1, 100_000), max_num_seqs=st.integers(1, 4_096))
def test_replicas_share_the_sequences_and_their_kv(**values: object):
    try:
        result = solve(**values)
    except Refusal:
        return
    for row in result.shares:
        assert row.batch * row.replicas == pytest.approx(result.sequences)
        assert row.kv_gib * row.replicas == pytest.approx(result.kv_gib)
        assert row.fits == (row.replicas >= result.replicas_for_kv)
    assert all(abs(value / result.sequences - 1) > 0.05 for value, _ in result.slips)
