"""The batch-ceilings model: figures worked by hand for Llama-3.1-8B on one H100 with a pool of 55 GiB."""
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal, left_out
from calculators.models.batch_ceilings import (
    CONTEXTS,
    FLAG,
    GPUS,
    KV,
    MODELS,
    RIDGE,
    BatchCeilings,
    default_max_num_seqs,
    solve,
)

LONG, SHORT = solve(), solve(context_tokens=256)


def rounded(result: BatchCeilings, batch: int) -> tuple[float, int, int]:
    """Step in ms to three figures, tokens/s, and tokens/s of each, at a batch of the sweep."""
    point = next(point for point in result.sweep if point.batch == batch)
    return float(f"{point.step_ms:.3g}"), round(point.tokens_per_s), round(point.user_tokens_per_s)


def test_the_kv_ceiling_is_whole_blocks_over_the_blocks_of_a_sequence():
    # 55 GiB = 28,160 blocks of 2 MiB = 450,560 tokens; 450,560 / 2,048 = 220, and so on
    assert (LONG.pool_blocks, LONG.pool_tokens) == (28_160, 450_560)
    assert {row.context: row.kv_ceiling for row in LONG.contexts} == {256: 1_760, 1_024: 440, 2_048: 220, 4_096: 110,
                                                                      8_192: 55}


def test_the_pool_of_the_ledger_holds_a_little_less():
    # 54.40 GiB = 27,852 blocks: 217, 1,740, 108, 54
    typed = solve(pool_gib=54.40)
    assert (typed.pool_blocks, typed.pool_tokens) == (27_852, 445_632)
    for result in (typed, solve(pool_gib=None)):
        assert round(result.pool_bytes / 2**30, 2) == 54.40
        assert [row.kv_ceiling for row in result.contexts if row.context != 1_024] == [1_740, 217, 108, 54]


def test_the_ridge_is_peak_compute_over_bandwidth():
    assert (LONG.ridge, LONG.rule_ridge) == (295, 229)  # 989 / 3.35, and 615 / 2.68
    assert {solve(model=model, pool_gib=None, tensor_parallel_size=8, context_tokens=64).ridge
            for model in MODELS if model != "llama-3.1-405b"} == {295}


def test_the_ridge_halves_with_the_weights_and_comes_back_with_the_products():
    assert solve(weight_bits=8).ridge == 148
    assert solve(weight_bits=8, products="fp8").ridge == 295


def test_long_sequences_stop_at_the_pool_and_short_ones_at_the_ridge():
    assert (LONG.lowest, LONG.binds, LONG.reached, LONG.flag) == (220, KV, 220, 1_024)
    assert (SHORT.lowest, SHORT.binds, SHORT.reached, SHORT.reached_by) == (295, RIDGE, 1_024, FLAG)
    assert round(SHORT.flag_over_ridge, 1) == 3.5


def test_past_the_ridge_a_user_is_slower_and_nothing_is_gained():
    best, full = SHORT.best, SHORT.full
    assert (round(best.products_ms, 2), round(best.kv_ms, 2), round(best.step_ms, 2)) == (4.79, 2.95, 7.75)
    assert (round(best.tokens_per_s), round(best.user_tokens_per_s)) == (38_070, 129)
    assert (round(full.products_ms, 2), round(full.kv_ms, 2), round(full.step_ms, 1)) == (16.63, 10.26, 26.9)
    assert (round(full.tokens_per_s), round(full.user_tokens_per_s)) == (38_088, 37)
    assert (round(SHORT.slower, 1), round(SHORT.gain, 4)) == (3.5, 0.0005)


def test_the_long_sequences_step_is_mostly_kv():
    best = LONG.best
    assert (round(best.step_ms, 1), round(best.tokens_per_s), round(best.user_tokens_per_s)) == (22.4, 9_812, 45)
    assert rounded(LONG, 64) == (9.92, 6_450, 101)
    assert LONG.best == LONG.full


def test_one_roofline_would_put_the_short_sequences_at_770():
    assert round(SHORT.one_roofline) == 770
    assert LONG.one_roofline is None  # KV of 2,048 tokens takes longer to read than a token to multiply


def test_kv_in_eight_bits_doubles_the_pool_and_hands_over_to_the_ridge():
    eight = solve(kv_bits=8)
    assert (eight.kv_ceiling, eight.lowest, eight.binds) == (440, 295, RIDGE)


def test_two_gpus_hold_more_than_twice_the_sequences():
    one, two = solve(pool_gib=None), solve(pool_gib=None, tensor_parallel_size=2)
    assert two.kv_ceiling > 2 * one.kv_ceiling
    assert two.ridge == one.ridge
    assert two.best.user_tokens_per_s > one.best.user_tokens_per_s


def test_the_default_flag_is_that_of_the_card():
    # vllm 0.33.0, EngineArgs.get_batch_defaults
    assert {gpu: default_max_num_seqs(gpu) for gpu in ("h100", "h200", "b200", "a100", "l40s", "l4")} == {
        "h100": 1_024, "h200": 1_024, "b200": 1_024, "a100": 256, "l40s": 256, "l4": 256,
    }


def test_a_flag_below_the_others_binds():
    low = solve(max_num_seqs=128)
    assert (low.lowest, low.binds, low.flag) == (128, FLAG, 128)
    assert low.flag_verdict.startswith("The flag binds: the pool holds 220 and the ridge lies at 295")


@pytest.mark.parametrize(("values", "field", "words"), [
    ({"model": "llama-3.1-70b"}, "pool_gib", "Weights of 131.5 GiB and this pool are more than the 79.2 GiB"),
    ({"model": "llama-3.1-70b", "pool_gib": None}, "tensor_parallel_size", "leaves no KV pool"),
    ({"context_tokens": 1_000_000}, "context_tokens", "needs 62,500 blocks; the pool holds 28,160"),
])
def test_what_does_not_fit_is_refused_beside_its_field(values: dict, field: str, words: str):
    with pytest.raises(Refusal, match=words) as refused:
        solve(**values)
    assert refused.value.field == field


def test_known_slips_are_named_and_none_lies_near_the_right_batch():
    assert {round(value) for value, _ in SHORT.slips} >= {256, 590, 1_024, 1_760, 3_520}
    for result in (LONG, SHORT, solve(max_num_seqs=256), solve(kv_bits=8)):
        assert all(abs(value / result.lowest - 1) > 0.05 for value, _ in result.slips)


def test_no_line_is_blamed_for_a_wrong_minimum():
    for result in (LONG, SHORT):
        assert {left_out(result.lines, said) for said in (5.0, 100.0, 165.0, 590.0, 1_024.0)} == {""}


@settings(max_examples=80, deadline=None)
@given(
    context_tokens=st.integers(1, 200_000), max_num_seqs=st.none() | st.integers(1, 16_384),
    model=st.sampled_from(sorted(MODELS)), gpu=st.sampled_from(sorted(GPUS)),
    tensor_parallel_size=st.sampled_from((1, 2, 4, 8)), weight_bits=st.sampled_from((16, 8, 4)),
    kv_bits=st.sampled_from((16, 8)), products=st.sampled_from(("bf16", "fp8")),
    pool_gib=st.none() | st.floats(0.5, 100),
)
def test_every_input_in_range_gives_the_lowest_of_three_or_a_refusal(**values: object):
    try:
        result = solve(**values)
    except Refusal:
        return
    assert result.lowest == min(result.kv_ceiling, result.ridge, result.flag) >= 1
    assert result.kv_ceiling * result.sequence_blocks <= result.pool_blocks  # no block is given twice
    assert result.lowest <= result.reached == min(result.kv_ceiling, result.flag)
    for point in (*result.sweep, result.best, result.full):
        assert point.products_ms + point.kv_ms == pytest.approx(point.step_ms)
        assert point.tokens_per_s == pytest.approx(point.batch * point.user_tokens_per_s)
    steps = [point.step_ms for point in result.sweep]
    rates = [point.tokens_per_s for point in result.sweep]
    assert steps == sorted(steps)
    assert all(later > earlier * (1 - 1e-9) for earlier, later in zip(rates, rates[1:], strict=False))
    assert {row.context for row in result.contexts} == {*CONTEXTS, values["context_tokens"]}
    assert asdict(result)
