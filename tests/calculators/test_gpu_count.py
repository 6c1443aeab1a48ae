"""The GPU count: Llama-3.1-70B in fp8 on pairs of H100s, worked by hand from the datasheet and the ledger."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.catalogue import GPUS, MODELS
from calculators.models.gpu_count import solve
from calculators.models.kv_pool import pool_of, step_budget

DEFAULT = solve()


def test_users_become_tokens():
    assert DEFAULT.rate_per_s == 200
    assert (DEFAULT.offered_tokens_per_s, DEFAULT.output_tokens_per_s) == (300_000, 60_000)
    assert DEFAULT.computed_tokens_per_s == pytest.approx(120_000)
    assert round(DEFAULT.sequences) == 2_492  # 200 × (0.5 + 299 × 0.04)


def test_a_replica_of_two_holds_429_728_tokens():
    assert round(DEFAULT.weights_gb, 2) == 72.66
    assert round(DEFAULT.kv_tokens / 1e6, 2) == 4.11
    assert DEFAULT.kv_bytes_per_token == 163_840  # 2 × 80 × 8 × 128, one byte each
    assert round(DEFAULT.kv_gib) == 627
    assert DEFAULT.pool_tokens == 429_728
    assert round(DEFAULT.pool_gib, 2) == 65.57


def test_each_constraint_alone():
    assert round(DEFAULT.for_kv, 2) == 10.63
    assert round(DEFAULT.prefill_tokens_per_s) == 12_622
    assert round(DEFAULT.for_prefill, 2) == 9.51
    assert DEFAULT.for_tpot == 6
    assert round(DEFAULT.for_seats, 1) == 2.4


def test_prefill_and_decode_share_the_seconds_and_that_decides():
    by_hand = {10: (0.951, 249, 29.9, 0.746, 1.70), 14: (0.679, 178, 25.8, 0.644, 1.32),
               20: (0.475, 125, 22.7, 0.567, 1.04), 29: (0.328, 86, 20.4, 0.511, 0.84)}
    rows = {row.count: (round(row.prefill_share, 3), round(row.batch), round(row.step_ms, 1),
                        round(row.decode_share, 3), round(row.busy, 2)) for row in DEFAULT.shares}
    assert {count: rows[count] for count in by_hand} == by_hand
    assert round(DEFAULT.shares[3].busy, 3) == 0.839
    assert (DEFAULT.for_time, DEFAULT.binding) == (29, "time")
    assert (DEFAULT.replicas, DEFAULT.replicas_with_spare, DEFAULT.gpus) == (29, 32, 64)
    assert DEFAULT.for_larger_share == 12


def test_what_moves_the_count():
    counts = {sway.change: sway.count for sway in DEFAULT.sways}
    assert counts["no prefix hits"] == 60 and counts["prefix hits 80%"] == 19
    assert counts["input embedding not read"] == 28
    assert counts["replies twice as long"] == 38
    longer = solve(output_tokens=600)
    assert (round(longer.sequences), longer.resident_tokens) == (4_892, 1_800)
    assert round(longer.kv_tokens / 1e6, 2) == 8.81 and round(longer.for_kv, 1) == 22.8


def test_a_sway_is_what_the_lab_says_with_that_input():
    counts = {sway.change: (sway.count, sway.gpus) for sway in DEFAULT.sways}
    for change, values in (("no prefix hits", {"hit_percent": 0}), ("replies twice as long", {"output_tokens": 600}),
                           ("promise 10 ms longer", {"ms_per_token": 50}), ("a fifth more users", {"users": 14_400})):
        moved = solve(**values)
        assert counts[change] == (moved.replicas, moved.gpus)


def test_the_pool_of_an_8b_on_one_h100_is_that_of_the_ledger():
    pool = pool_of(MODELS["llama-3.1-8b"], GPUS["h100"], gpus=1, weight_bytes=16_060_522_496, max_num_seqs=1_024)
    assert round(pool.left_gib, 1) == 54.4  # 72.85 − 14.96 − 0.60 − 0.25 − 1.78 − 0.86
    assert (round(pool.transient_gib, 2), round(pool.buffers_gib, 2)) == (1.78, 0.60)


@pytest.mark.parametrize(("gpu", "tokens"), [("h100", 8_192), ("a100", 2_048), ("b200", 16_384), ("l4", 2_048)])
def test_the_token_budget_follows_the_gpu(gpu: str, tokens: int):
    assert step_budget(GPUS[gpu]) == tokens  # vllm 0.33.0, EngineArgs.get_batch_defaults


def test_a_latent_cache_is_whole_on_every_gpu():
    wide = solve(model="deepseek-v3", gpu="h200", gpus_per_replica=8, kv_dtype="bf16")
    assert wide.kv_bytes_per_token == 8 * 70_272  # 61 × 576 × 2 on each of eight
    assert 600_000 < wide.pool_tokens < 680_000


def test_experts_are_read_as_far_as_they_are_touched():
    for gpus in (4, 8):
        steps = [row.step_ms for row in solve(model="qwen3-235b-a22b", gpus_per_replica=gpus).shares]
        assert steps == sorted(steps, reverse=True)  # more replicas, smaller batches, fewer experts


def test_kv_alone_is_known_as_a_slip():
    said = dict(DEFAULT.slips)
    assert said[22].startswith("That is KV alone.")
    assert "leaves out the KV of the replies" in said[20]
    assert said[104].startswith("That takes every user for a sequence")
    assert said[58].startswith("That has no spare")


@pytest.mark.parametrize(("values", "field", "words"), [
    ({"weights": "bf16", "gpus_per_replica": 1}, "gpus_per_replica", "not enough for one sequence"),
    ({"ms_per_token": 10}, "ms_per_token", "no number of replicas is enough"),
    ({"users": 1_000_000_000, "think_s": 1}, "users", "counts up to 100,000"),
])
def test_what_cannot_be_served_is_refused_beside_its_field(values: dict, field: str, words: str):
    with pytest.raises(Refusal, match=words) as refused:
        solve(**values)
    assert refused.value.field == field


@settings(max_examples=80, deadline=None)
@given(
    users=st.integers(1, 1_000_000), think_s=st.floats(1, 3_600), prompt_tokens=st.integers(1, 30_000),
    hit_percent=st.floats(0, 100), output_tokens=st.integers(1, 8_000), ttft_s=st.floats(0, 30),
    ms_per_token=st.floats(5, 200),
    model=st.sampled_from(["llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "deepseek-v3"]),
    gpu=st.sampled_from(sorted(GPUS)), gpus_per_replica=st.sampled_from((1, 2, 4, 8)),
    weights=st.sampled_from(("bf16", "fp8", "int4")), kv_dtype=st.sampled_from(("bf16", "fp8")),
    spare_percent=st.floats(0, 100),
)
def test_the_count_meets_every_constraint_and_one_less_does_not(**values: object):
    try:
        result = solve(**values)
    except Refusal:
        return
    asked = [constraint.asks for constraint in result.constraints]
    assert max(asked) <= result.replicas < max(asked) + 1
    assert sum(constraint.binds for constraint in result.constraints) == 1
    assert result.gpus == values["gpus_per_replica"] * result.replicas_with_spare
    assert result.replicas_with_spare >= result.replicas >= result.for_time >= result.for_larger_share
    row = next(row for row in result.shares if row.needed)
    assert row.busy <= 0.85 + 1e-9
    assert all(abs(value / result.gpus - 1) > 0.05 for value, _ in result.slips)
