"""The prefill-interference model: figures worked by hand from the step-time rule on Llama-3.1-8B and one H100."""
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs.prefill_interference import DENSE, SXM
from calculators.models.base import Refusal
from calculators.models.prefill_interference import MOST_STEPS, Interference, solve

DEFAULT = solve()


def rival(budget: int, threshold: int = 0, among: Interference = DEFAULT) -> tuple[int, float, float, float]:
    """Steps, first gap, longest gap and prefill (s) of one row of the comparison, rounded as the hand table is."""
    row = next(row for row in among.rivals if (row.budget, row.threshold) == (budget, threshold))
    return row.chunks, round(row.first_gap_ms / 1e3, 3), round(row.peak_gap_ms / 1e3, 3), round(row.takes_s, 2)


def test_the_fourteen_gaps_are_those_worked_by_hand():
    # T_k = 2N·8192/F + A·8160·(8160·k + 4080.5)/F + 3.1 + 0.9 ms, for k = 0 … 13
    by_hand = (0.246, 0.303, 0.360, 0.417, 0.473, 0.530, 0.587, 0.644, 0.700, 0.757, 0.814, 0.871, 0.928, 0.984)
    assert tuple(round(gap / 1e3, 3) for gap in DEFAULT.prefill.gaps_ms) == by_hand
    assert DEFAULT.prefill.chunks == 14


def test_the_gap_goes_from_ten_milliseconds_to_a_second():
    assert round(DEFAULT.base_gap_ms, 1) == 10.0
    assert round(DEFAULT.peak_gap_ms) == 984
    assert round(DEFAULT.peak_over_base) == 98
    assert round(DEFAULT.prefill.slope_ms, 1) == 56.8
    assert round(DEFAULT.linear_us_per_token, 1) == 26.1
    assert round(DEFAULT.prefill.peak_linear_ms, 1) == 213.9
    assert round(DEFAULT.prefill.peak_attention_share, 2) == 0.78
    assert round(DEFAULT.prefill.first_attention_share, 2) == 0.12


def test_arrivals_are_locked_out_for_the_whole_prefill():
    assert round(DEFAULT.lockout_s, 2) == 8.61
    assert DEFAULT.lockout_s == pytest.approx(DEFAULT.prefill.takes_s)
    assert round(DEFAULT.two_lockouts_s) == 17


def test_the_slowdown_outlives_the_prefill():
    after = DEFAULT.after
    assert round(after.kv_held_bytes / 1e9, 2) == 14.97
    assert round(after.kv_held_bytes / 2**30, 2) == 13.95
    assert round(after.pool_share, 2) == 0.25
    assert (round(after.extra_ms, 1), round(after.gap_ms, 1)) == (5.6, 15.6)
    assert (round(after.takes_s, 1), round(after.excess_s, 1)) == (7.8, 2.8)


def test_the_backlog_is_served_in_full_steps():
    backlog = DEFAULT.backlog
    assert (backlog.prompts, backlog.tokens) == (43, 43_000)
    assert round(backlog.steps, 1) == 5.3
    assert round(backlog.gap_ms / 1e3, 2) == 0.23
    assert round(backlog.takes_s, 1) == 1.2


def test_a_smaller_budget_shrinks_the_gap_and_not_the_lockout():
    assert rival(4_096) == (29, 0.118, 0.498, 8.69)
    assert rival(2_048) == (57, 0.059, 0.250, 8.83)
    assert rival(1_024) == (116, 0.031, 0.127, 9.12)
    assert rival(512)[0::2] == (238, 0.064)
    assert rival(512)[3] == 9.75
    assert round(DEFAULT.rivals[4].first_gap_ms, 1) == 17.5


def test_a_threshold_leaves_tokens_for_arrivals():
    assert rival(8_192, 2_048) == (56, 0.060, 0.253, 8.82)
    assert DEFAULT.capped.left == 6_112
    capped = solve(long_prefill_token_threshold=2_048)
    assert capped.lockout_s == 0
    assert capped.backlog.longest_ttft_s < 1


def test_a_cached_prefix_shortens_the_lockout_and_not_the_gap():
    cached = solve(cached_prefix_tokens=102_816)  # 90%
    assert [round(gap / 1e3, 2) for gap in cached.prefill.gaps_ms] == [0.96, 0.40]
    assert round(cached.lockout_s, 1) == 1.4


def test_terms_of_the_longest_gap_add_up():
    for result in (DEFAULT, solve(long_prefill_token_threshold=2_048), solve(prompt_tokens=100_000, decoders=100)):
        terms = [line for line in result.lines if line.unit == "ms"]
        total = next(place for place, line in enumerate(terms) if line.total)
        assert sum(line.value for line in terms[:total]) == pytest.approx(terms[total].value)
        assert terms[total].value == pytest.approx(result.peak_gap_ms)


def test_an_arrival_served_beside_the_prefill_lengthens_that_step():
    capped = solve(long_prefill_token_threshold=2_048)
    assert capped.peak_gap_ms > capped.capped.peak_gap_ms
    assert solve(long_prefill_token_threshold=2_048, arrivals_per_s=0).peak_gap_ms == capped.capped.peak_gap_ms


def test_the_threshold_is_lifted_for_the_only_eligible_request():
    alone = solve(decoders=0, arrivals_per_s=0, long_prefill_token_threshold=1_024)
    assert alone.prefill.full_chunk == 8_192
    assert solve(decoders=1, arrivals_per_s=0, long_prefill_token_threshold=1_024).prefill.full_chunk == 1_024


def test_a_threshold_above_what_is_left_locks_out_all_the_same():
    assert solve(long_prefill_token_threshold=8_160).lockout_s == pytest.approx(DEFAULT.lockout_s)


def test_a_prompt_within_one_step_makes_one_gap():
    short = solve(prompt_tokens=500)
    assert short.prefill.chunks == 1
    assert short.peak_gap_ms == short.prefill.first_gap_ms
    assert short.gap_verdict == "The prompt fits one step, so there is one long gap."


def test_without_arrivals_nobody_waits():
    quiet = solve(arrivals_per_s=0)
    assert (quiet.backlog.prompts, quiet.backlog.waits, quiet.backlog.takes_s) == (0, (), 0)
    assert quiet.backlog_verdict == "Nobody waits when the prefill is over."


def test_a_queue_that_never_empties_is_said_in_words():
    flood = solve(arrivals_per_s=50)  # 50,000 tokens/s against some 36,000
    assert flood.backlog.drained_s is None
    assert flood.backlog_verdict.endswith("so the queue never empties.")


@pytest.mark.parametrize(("values", "field", "words"), [
    ({"decoders": 8_191}, "max_num_batched_tokens", "leaves nothing to prefill"),
    ({"cached_prefix_tokens": 114_240}, "cached_prefix_tokens", "at most 114,239 of 114,240"),
    ({"pool_gib": 10}, "pool_gib", "the pool holds 10.0 GiB"),
    ({"long_prefill_token_threshold": 16}, "long_prefill_token_threshold", "7,140 steps"),
    ({"max_num_batched_tokens": 64}, "max_num_batched_tokens", "3,570 steps"),
    ({"arrivals_per_s": 100, "arrival_prompt_tokens": 100_000, "max_num_batched_tokens": 1_024},
     "arrivals_per_s", "would wait"),
    ({"tflop_per_s": 0.5}, "prompt_tokens", "an hour already"),
])
def test_inputs_that_cannot_go_together_are_refused_beside_their_field(values: dict, field: str, words: str):
    with pytest.raises(Refusal, match=words) as refused:
        solve(**values)
    assert refused.value.field == field


def test_no_slip_lies_near_the_right_answer():
    for budget in (1_024, 2_048, 8_192, 16_384):
        result = solve(max_num_batched_tokens=budget)
        assert all(abs(value / result.peak_gap_ms - 1) > 0.05 for value, _ in result.slips)


def test_a_quarter_second_is_known_as_the_first_chunk_alone():
    near = [sentence for value, sentence in DEFAULT.slips if abs(250 / value - 1) < 0.03]
    assert len(near) == 1
    assert "no prefix behind it" in near[0]


@settings(max_examples=60, deadline=None)
@given(
    prompt_tokens=st.integers(1, 200_000), max_num_batched_tokens=st.integers(16, 20_000),
    long_prefill_token_threshold=st.integers(0, 20_000), decoders=st.integers(0, 300),
    context_tokens=st.integers(0, 4_000),
    arrivals_per_s=st.floats(0, 60), arrival_prompt_tokens=st.integers(16, 4_000), output_tokens=st.integers(1, 3_000),
    model=st.sampled_from(DENSE), gpu=st.sampled_from(SXM),
)
def test_every_input_in_range_gives_a_whole_course_or_a_refusal(**values: object):
    try:
        result = solve(**values, pool_gib=500)
    except Refusal:
        return
    prefill, backlog, after = result.prefill, result.backlog, result.after
    assert prefill.chunks == len(prefill.gaps_ms) <= MOST_STEPS + 1
    assert sum(prefill.gaps_ms) / 1e3 == pytest.approx(prefill.takes_s)
    assert result.peak_gap_ms >= prefill.first_gap_ms > 0
    assert 0 <= result.lockout_s <= prefill.takes_s * (1 + 1e-9)
    came = int(values["arrivals_per_s"] * prefill.takes_s + 1e-9)
    assert 0 <= backlog.prompts <= came  # nobody waits who has not come
    assert len(backlog.waits) <= 10
    assert all(wait.ttft_s > 0 for wait in backlog.waits)
    assert after.ends_s >= after.from_s >= prefill.takes_s
    assert result.minute.gaps >= 1
    assert sum(row.present for row in result.rivals) == 1
    assert asdict(result)
