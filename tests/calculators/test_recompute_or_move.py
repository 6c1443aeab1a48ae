"""The recompute-or-move model: figures worked by hand for Llama-3.1-8B on an H100 at 615 TFLOP/s."""
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.catalogue import GPUS
from calculators.models.recompute_or_move import MODELS, RecomputeOrMove, solve

START = solve()
A_BLOCK = {"layers_per_copy": 32, "k_and_v": "together"}  # 2 MiB for the 8B
KIB = 1024


def reached(result: RecomputeOrMove) -> dict[int, float]:
    """GB/s to one decimal by copy size in KiB."""
    return {copies.bytes // KIB: round(copies.gb_per_s, 1) for copies in result.sizes}


def test_a_token_is_recomputed_in_26_microseconds_and_moved_in_five_or_two():
    assert round(START.linear_us_per_token, 2) == 26.11
    assert round(START.move_us_per_token, 1) == 5.2
    assert round(solve(link_gb_per_s=55).move_us_per_token, 1) == 2.4
    assert (round(START.paper_ratio), round(solve(link_gb_per_s=55).paper_ratio)) == (5, 11)


@pytest.mark.parametrize(("tokens", "us", "gb_per_s"), [(2_000, 27.0, 4.86), (8_000, 29.5, 4.44), (32_000, 39.8, 3.30)])
def test_attention_makes_long_contexts_dearer_to_recompute(tokens: int, us: float, gb_per_s: float):
    # 26.11 µs + 524,288 * (c + 1) / 2 / 615e12
    result = solve(tokens=tokens)
    assert (round(result.us_per_token, 1), round(result.context_gb_per_s, 2)) == (us, gb_per_s)


def test_break_even_is_five_gigabytes_a_second_one_way_and_ten_both_ways():
    assert (round(START.break_even_gb_per_s, 2), round(START.both_ways_gb_per_s, 1)) == (5.02, 10.0)


@pytest.mark.parametrize(("link", "overhead", "gb_per_s"), [
    (25, 10, {16: 1.5, 32: 2.9, 64: 5.2, 512: 16.9, 2_048: 22.3}),
    (25, 5, {16: 2.9, 32: 5.2, 64: 8.6, 512: 20.2, 2_048: 23.6}),
    (55, 10, {16: 1.6, 32: 3.1, 64: 5.9, 512: 26.8, 2_048: 43.6}),
])
def test_small_copies_reach_a_fraction_of_the_link(link: float, overhead: float, gb_per_s: dict[int, float]):
    assert reached(solve(link_gb_per_s=link, overhead_us=overhead)) == gb_per_s


def test_the_break_even_copy_is_about_61_kib_and_half_of_it_at_half_the_overhead():
    assert round(START.break_even_copy_bytes / KIB) == 61
    assert round(solve(overhead_us=5).break_even_copy_bytes / KIB) == 31


def test_swapping_a_victim_in_small_copies_loses():
    assert (START.copy_bytes, START.copies) == (32 * KIB, 8_000)  # 125 blocks * 32 layers * K and V
    assert round(START.recompute_ms, 1) == 53.9
    assert (round(START.overhead_ms), round(START.wire_ms, 1), round(START.move_ms, 1)) == (80, 10.5, 90.5)
    assert round(solve(link_gb_per_s=55).wire_ms, 1) == 4.8
    assert START.winner == "recompute"


def test_moving_a_block_at_a_time_wins():
    result = solve(**A_BLOCK)
    assert (result.copy_bytes, result.copies) == (2_048 * KIB, 125)
    assert (round(result.move_ms, 1), result.winner, round(result.times, 1)) == (11.7, "move", 4.6)


def test_with_97_percent_cached_the_choice_stops_mattering():
    result = solve(**A_BLOCK, hit_fraction=0.97)
    assert result.missing_tokens == 60
    assert round(result.linear_ms, 1) == 1.6
    assert round(result.recompute_ms, 2) == 1.67  # the 60 attend to the 1,940 before them: 0.1 ms
    assert result.choice_verdict.endswith("the choice stops mattering.")


@pytest.mark.parametrize(("values", "us", "gb_per_s"), [
    ({"model": "llama-2-7b"}, 21.9, 23.9),
    ({"model": "llama-2-7b", "gpu": "a100", "tflop_per_s": 312 * 0.62}, 69.7, 7.5),
    ({"model": "llama-3.1-70b"}, 229.6, 1.43),
])
def test_the_balance_moves_with_the_model_and_the_gpu(values: dict, us: float, gb_per_s: float):
    result = solve(**values)
    assert round(result.linear_us_per_token, 1) == us
    assert result.break_even_gb_per_s == pytest.approx(gb_per_s, abs=0.05 if gb_per_s > 5 else 0.005)


def test_a_latent_is_whole_on_every_rank():
    one, eight = solve(model="deepseek-v3"), solve(model="deepseek-v3", tensor_parallel_size=8)
    assert one.kv_bytes_per_token == eight.kv_bytes_per_token == 70_272
    assert round(one.break_even_gb_per_s, 2) == 0.57  # 37.6e9 active; 0.58 with 37e9
    assert eight.break_even_gb_per_s == pytest.approx(8 * one.break_even_gb_per_s)


def test_heads_are_split_over_ranks_until_each_has_one():
    assert solve(tensor_parallel_size=8).break_even_gb_per_s == pytest.approx(START.break_even_gb_per_s)
    assert solve(tensor_parallel_size=8).kv_bytes_per_token * 8 == START.kv_bytes_per_token


def test_a_round_trip_costs_twice_and_needs_a_larger_copy():
    both = solve(trips=2)
    assert both.move_ms == pytest.approx(2 * START.move_ms)
    assert both.break_even_copy_bytes > 2 * START.break_even_copy_bytes


def test_a_link_below_break_even_is_never_worth_it():
    slow = solve(link_gb_per_s=4)
    assert slow.crossing_bytes is None and slow.break_even_copy_bytes is None
    assert slow.link_verdict.endswith("no size of copy helps.")
    assert slow.winner == "recompute"


def test_without_overhead_every_copy_reaches_the_link():
    free = solve(overhead_us=0)
    assert {copies.gb_per_s for copies in free.sizes} == {25.0}
    assert free.crossing_bytes == 0


def test_the_last_token_is_always_computed():
    assert solve(tokens=1, hit_fraction=0.99).missing_tokens == 1


@pytest.mark.parametrize(("values", "field", "words"), [
    ({"layers_per_copy": 64}, "layers_per_copy", "Llama-3.1-8B has 32 layers"),
    ({"tokens": 1_000_000, "block_size": 1, "model": "llama-3.1-70b"}, "tokens", "160,000,000 copies of 2 KiB"),
])
def test_what_cannot_be_followed_is_refused_beside_its_field(values: dict, field: str, words: str):
    with pytest.raises(Refusal, match=words) as refused:
        solve(**values)
    assert refused.value.field == field


def test_known_slips_are_named():
    said = {float(f"{value:.3g}") for value, _ in START.slips}
    assert said == {10.0, 2.51, 8.07, 25.0, 2.9, 20.1}  # both ways, K alone, peak, link, a copy, query heads


@settings(max_examples=80, deadline=None)
@given(
    tokens=st.integers(1, 1_000_000), hit_fraction=st.floats(0, 0.99), model=st.sampled_from(sorted(MODELS)),
    gpu=st.sampled_from(sorted(GPUS)), tensor_parallel_size=st.sampled_from((1, 2, 4, 8)),
    link_gb_per_s=st.floats(0.1, 1_000), overhead_us=st.floats(0, 1_000), block_size=st.integers(1, 256),
    layers_per_copy=st.integers(1, 128), k_and_v=st.sampled_from(("apart", "together")),
    trips=st.sampled_from((1, 2)),
)
def test_every_input_in_range_gives_two_costs_or_a_refusal(**values: object):
    try:
        result = solve(**values)
    except Refusal:
        return
    assert result.linear_ms + result.attention_ms == pytest.approx(result.recompute_ms)
    assert result.overhead_ms + result.wire_ms == pytest.approx(result.move_ms)
    assert result.copies * result.copy_bytes >= result.kv_bytes > (result.copies - 1) * result.copy_bytes
    assert 1 <= result.missing_tokens <= values["tokens"]
    assert result.times >= 1
    assert all(copies.gb_per_s <= values["link_gb_per_s"] * (1 + 1e-9) for copies in result.sizes)
    assert sum(copies.present for copies in result.sizes) == 1
    assert asdict(result)
