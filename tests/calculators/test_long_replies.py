"""Long replies: figures worked by hand for 256-token prompts and 8,192-token replies in 450,560 tokens of KV."""
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.long_replies import solve

DEFAULT = solve()


def test_staggered_replies_hold_half_their_length():
    assert (DEFAULT.mean_context, DEFAULT.pool_tokens, DEFAULT.pool_blocks) == (4_352, 450_560, 28_160)
    assert (round(DEFAULT.staggered_sequences, 1), DEFAULT.held) == (103.5, 103)
    assert (round(DEFAULT.burst_sequences, 1), solve(staggered=False).held) == (53.3, 53)


def test_admission_sees_the_prompts_alone():
    assert DEFAULT.seen_at_admission == 1_760
    assert (DEFAULT.burst.admitted, DEFAULT.burst.waiting) == (1_024, 976)


def test_the_burst_is_prefilled_in_some_34_steps():
    # 1,024 × 256 tokens at a budget that shrinks from 8,192 to 7,168 as the done ones decode
    assert round(DEFAULT.burst.prefill_steps) == 34
    assert round(DEFAULT.burst.prefill_s) == 8
    assert DEFAULT.burst.prefill_s / DEFAULT.burst.prefill_steps == pytest.approx(0.23, abs=0.01)


def test_the_first_preemption_comes_at_decode_step_177():
    # 256 + 177 tokens are 28 blocks, and 28 × 1,024 exceed 28,160
    burst = DEFAULT.burst
    assert burst.first_preemption_step == 177
    assert (burst.falls[1].running, burst.falls[1].blocks_each) == (1_005, 28)
    assert (burst.mean_full_tokens, burst.blocks_per_step) == (184, 64)
    assert 40 <= burst.step_ms <= 50
    assert round(burst.full_s) == 8


def test_who_is_left_is_what_the_pool_holds_in_phase():
    assert DEFAULT.burst.survivors == 53
    assert DEFAULT.burst.preemptions == 1_024 - 53


@pytest.mark.parametrize(("sequences", "itl", "user", "total", "reply"), [
    (16, 10.3, 97, 1_554, 84), (32, 13.7, 73, 2_335, 112), (40, 15.4, 65, 2_596, 126), (53, 18.2, 55, 2_916, 149),
    (64, 20.5, 49, 3_120, 168), (103, 28.8, 35, 3_574, 236),
])
def test_speed_at_the_mean_context(sequences: int, itl: float, user: int, total: int, reply: int):
    row = next(row for row in DEFAULT.batches if row.sequences == sequences)
    assert (round(row.itl_ms, 1), round(row.user_tokens_per_s), round(row.tokens_per_s), round(row.reply_s)) == (
        itl, user, total, reply)


def test_forty_instead_of_103():
    fewer = solve(sequences=40)
    assert (round(fewer.throughput_loss, 2), round(fewer.speed_gain, 2)) == (0.27, 0.87)


def test_what_can_be_sustained_and_what_never_reached():
    assert round(DEFAULT.replies_per_s, 2) == 0.44
    assert DEFAULT.at_held.replies_per_s == pytest.approx(DEFAULT.replies_per_s)
    assert round(solve(sequences=40).at_batch.replies_per_s, 2) == 0.32  # 2,596 / 8,192
    assert round(DEFAULT.limit_tokens_per_s, -2) == 4_700


def test_what_a_victim_costs_the_gpu():
    assert [round(row.takes_ms) for row in DEFAULT.recomputes] == [54, 236]


def test_the_burst_falls_as_in_the_real_scheduler():
    """vLLM 0.33.0's own scheduler, fed with 2,000 such requests at the defaults: when the first replies end 53 run, 971
    were preempted and none was back. The first went 159 steps after the last prefill: prefilled in 34 steps, the
    requests stand apart, and the pool fills half as many steps before it would in phase."""
    burst = DEFAULT.burst
    assert (burst.survivors, burst.preemptions) == (53, 971)
    assert burst.first_preemption_step - burst.prefill_steps / 2 == pytest.approx(159, abs=2)


def test_the_first_victim_waits_until_replies_end_at_least():
    """By hand, step after step: the weights or products, the KV of all that run, and 0.9 ms."""
    waited = 0.0
    for step in range(177, 8_192):
        running = 28_159 // -(-(256 + step) // 16)
        waited += max(16.06e9 / 2.68e12, 2 * 8.03e9 * running / 615e12)
        waited += running * (256 + step) * 131_072 / 2.68e12 + 0.9e-3
    assert DEFAULT.burst.stall_s == pytest.approx(waited, rel=0.001)
    assert solve(requests=10).burst.stall_s == 0


def test_the_first_victim_is_back_last():
    """vLLM's scheduler, fed as above and timed by the same rule: the request that went first is back after 2,226 s,
    when all that were admitted before it have ended or run."""
    assert DEFAULT.last_back_s == pytest.approx(2_226, rel=0.1)
    assert solve(requests=10).last_back_s == 0


def test_half_the_kv():
    assert round(DEFAULT.fp8_itl_ms, 1) == 17.9
    assert DEFAULT.fp8_sequences == 206
    assert solve(kv_cache_dtype="fp8").held == 207


def test_terms_of_the_gap_add_up():
    lines = {line.label: line.value for line in DEFAULT.lines}
    assert lines["weights"] + lines["KV"] + lines["CPU"] == pytest.approx(lines["gap at 103"])
    assert round(DEFAULT.at_batch.itl_ms, 1) == 28.8


def test_short_replies_never_preempt():
    calm = solve(requests=10)
    assert (calm.burst.first_preemption_step, calm.burst.preemptions, calm.burst.recomputed_tokens) == (0, 0, 0)
    assert calm.burst_verdict == "All 10 replies end without a preemption."


@pytest.mark.parametrize(("values", "field"), [
    ({"pool_gib": 1}, "output_tokens"),
    ({"max_num_batched_tokens": 1_050}, "max_num_batched_tokens"),
    ({"max_num_batched_tokens": 512}, "max_num_batched_tokens"),
])
def test_what_cannot_be_followed_is_refused_beside_its_field(values: dict, field: str):
    with pytest.raises(Refusal) as refused:
        solve(**{"prompt_tokens": 256, **values})
    assert refused.value.field == field


def test_sizing_with_the_prompt_is_a_known_slip():
    assert any("prompts alone" in sentence for value, sentence in DEFAULT.slips if value == 1_760)
    assert all(abs(value / DEFAULT.held - 1) > 0.05 for value, _ in DEFAULT.slips)


@settings(max_examples=60, deadline=None)
@given(
    prompt_tokens=st.integers(1, 20_000), output_tokens=st.integers(1, 40_000), pool_gib=st.floats(1, 200),
    staggered=st.booleans(), sequences=st.integers(1, 2_000), requests=st.integers(1, 5_000),
    max_num_seqs=st.integers(1, 2_000), max_num_batched_tokens=st.integers(256, 16_384),
    block_size=st.sampled_from((1, 16, 128)), kv_cache_dtype=st.sampled_from(("bf16", "fp8", "nvfp4")),
)
def test_nobody_is_lost_and_the_pool_is_never_exceeded(**values: object):
    try:
        result = solve(**values)
    except Refusal:
        return
    burst = result.burst
    assert burst.survivors + burst.preemptions == burst.admitted
    assert burst.admitted + burst.waiting == values["requests"]
    assert all(fall.running * fall.blocks_each < result.pool_blocks for fall in burst.falls)
    assert [fall.running for fall in burst.falls] == sorted({fall.running for fall in burst.falls}, reverse=True)
    assert result.burst_sequences <= result.staggered_sequences
    assert burst.survivors >= 1
    assert sum(row.present for row in result.batches) == 1
    assert asdict(result)
