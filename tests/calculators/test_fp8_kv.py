"""Smaller KV: steps worked by hand from the step-time rule for the 8B on one H100, and bytes from the formats."""
import pytest

from calculators.models.base import Refusal
from calculators.models.fp8_kv import solve


def test_fp8_halves_a_token_and_nvfp4_takes_nine_sixteenths_of_that():
    bf16, fp8, nvfp4 = solve().formats
    assert (bf16.token_bytes, fp8.token_bytes, nvfp4.token_bytes) == (131_072, 65_536, 36_864)
    assert (bf16.pool_tokens, fp8.pool_tokens) == (450_560, 901_120)
    assert round(solve(kv_cache_dtype="nvfp4").shrinks, 2) == 3.56


def test_the_2k_ceiling_doubles():
    result = solve(context_tokens=2_048)
    assert (result.before.ceiling, result.after.ceiling) == (220, 440)


@pytest.mark.parametrize(("sequences", "context", "before", "after", "saved"), [
    (32, 512, 7.7, 7.3, 0.05), (103, 4_352, 28.8, 17.9, 0.38), (220, 2_048, 28.9, 17.9, 0.38),
])
def test_the_gap_before_and_after(sequences: int, context: int, before: float, after: float, saved: float):
    result = solve(sequences=sequences, context_tokens=context)
    assert (round(result.before.itl_ms, 1), round(result.after.itl_ms, 1)) == (before, after)
    assert round(result.saved_share, 2) == saved


def test_twice_the_batch_at_the_same_gap_until_the_ridge():
    calm = solve(sequences=103, context_tokens=4_352)
    assert (calm.equal_itl_sequences, round(calm.doubled_itl_ms, 1), round(calm.doubled_gain, 1)) == (206, 28.8, 2.0)
    past = solve(sequences=220, context_tokens=2_048)
    assert (round(past.doubled_itl_ms, 1), round(past.doubled_gain, 2)) == (34.4, 1.68)
    assert past.doubled_verdict.endswith("Past the ridge the products grow too.")


def test_only_the_kv_term_shrinks():
    result = solve(sequences=103, context_tokens=4_352)
    assert result.after.products_ms == result.before.products_ms
    assert result.after.kv_ms == pytest.approx(result.before.kv_ms / 2)
    assert sum(line.value for line in result.lines[:3]) == pytest.approx(result.after.itl_ms)


def test_a_batch_that_does_not_fit_is_refused():
    with pytest.raises(Refusal, match="the pool holds 440 sequences in fp8") as refused:
        solve(sequences=441, context_tokens=2_048)
    assert refused.value.field == "sequences"


def test_shrinking_the_whole_step_is_a_known_slip():
    result = solve(sequences=103, context_tokens=4_352)
    near = [sentence for value, sentence in result.slips if value == pytest.approx(14.4, abs=0.05)]
    assert near == ["That shrinks the whole step. Only the KV reads shrink; weights and CPU stay."]


def test_bf16_beside_itself_changes_nothing():
    same = solve(kv_cache_dtype="bf16")
    assert (same.saved_ms, same.shrinks, same.equal_itl_sequences) == (0, 1, 32)
