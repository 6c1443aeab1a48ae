"""Sums that depend on their order: figures worked by hand, and what splitting can and can't change."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.sum_order import SumOrder, added, rounded, solve

USUAL = {
    "values": (256.0, 1.0, 1.0, 1.0, 1.0), "number_format": "bf16", "rival": 257.0, "batch": 1,
    "small_batch_splits": 2, "batch_invariant": False, "flip_fraction": 0.001, "text_tokens": 500,
}


def run(**changed: object) -> SumOrder:
    return solve(**USUAL | changed)


# By hand: bf16 has a spacing of 2 at 256, fp32 one of 8 at 1e8; ties to even.
@pytest.mark.parametrize(("values", "number_format", "total"), [
    ((256, 1, 1, 1, 1), "bf16", 256), ((1, 1, 1, 1, 256), "bf16", 260), ((256, 1, 1, 1, 1), "fp32", 260),
    ((1e8, 1, -1e8, 1), "fp32", 1), ((1e8, -1e8, 1, 1), "fp32", 2),
])
def test_the_same_numbers_come_to_different_sums(values: tuple[float, ...], number_format: str, total: float) -> None:
    assert added(values, number_format) == total


@pytest.mark.parametrize(("changed", "total", "winner"), [
    ({}, 258, "A"),  # 256 + 1 + 1 stays 256, and 1 + 1 is 2
    ({"batch": 64}, 256, "B"), ({"batch": 63}, 258, "A"), ({"batch_invariant": True}, 256, "B"),
    ({"number_format": "fp32", "batch": 64}, 260, "A"),
])
def test_the_batch_decides_the_split_and_the_split_the_token(changed: dict, total: float, winner: str) -> None:
    result = run(**changed)
    assert (result.sum, result.winner) == (total, winner)


@pytest.mark.parametrize(("flip", "tokens", "agree"), [(0.001, 500, 0.606), (0.001, 1000, 0.368)])
def test_texts_part_at_the_rate_of_flips(flip: float, tokens: int, agree: float) -> None:
    assert round(run(flip_fraction=flip, text_tokens=tokens).agree_share, 3) == agree


@pytest.mark.parametrize(("value", "nearest"), [(257, 256), (259, 260), (20.06, 20), (20.07, 20.125), (-257, -256),
                                                (0, 0)])
def test_bf16_rounds_to_nearest_and_ties_to_even(value: float, nearest: float) -> None:
    assert rounded(value, "bf16") == nearest  # spacing 2 at 256, 0.125 at 20


def test_no_flip_and_no_token_part_nothing() -> None:
    result = run(flip_fraction=0.0)
    assert result.agree_share == 1 and result.half_tokens == 0


def test_more_chunks_than_values_are_refused() -> None:
    with pytest.raises(Refusal, match="5 values make at most 5 chunks"):
        run(small_batch_splits=6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-100, 100).map(float), min_size=2, max_size=24), st.integers(1, 2))
def test_splitting_changes_nothing_where_no_sum_needs_rounding(values: list[float], splits: int) -> None:
    result = run(values=tuple(values), number_format="fp32", small_batch_splits=splits)
    assert {way.sum for way in result.ways} == {sum(values)} == {result.exact}
    assert all(sum(len(chunk.values) for chunk in way.chunks) == len(values) for way in result.ways)
