"""Speculation: expected tokens, best lengths and break-even batches worked by hand, and the scheduler's books."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs.speculation import DECODERS, FOUR, chances
from calculators.models import draft_length, draft_rows, speculation
from calculators.models.base import Refusal
from calculators.models.scheduler import parse_requests

ANY = settings(max_examples=40, deadline=None)

# 1 + a + … + aᵏ by hand, k = 1 to 8
EXPECTED = {
    0.5: "1.5 1.75 1.875 1.938 1.969 1.984 1.992 1.996", 0.6: "1.6 1.96 2.176 2.306 2.383 2.43 2.458 2.475",
    0.7: "1.7 2.19 2.533 2.773 2.941 3.059 3.141 3.199", 0.8: "1.8 2.44 2.952 3.362 3.689 3.951 4.161 4.329",
    0.9: "1.9 2.71 3.439 4.095 4.686 5.217 5.695 6.126",
}


@pytest.mark.parametrize("acceptance", EXPECTED)
def test_tokens_a_verify_step_yields(acceptance: float):
    worked = [round(draft_length.expected_tokens(acceptance, k), 3) for k in range(1, 9)]
    assert worked == [float(text) for text in EXPECTED[acceptance].split()]


# (a, c in percent): best k and its speed-up, E / (1 + k c) compared by hand
@pytest.mark.parametrize(("acceptance", "cost", "best", "speed_up"), [
    (0.5, 5, 3, 1.63), (0.6, 5, 4, 1.92), (0.7, 5, 6, 2.35), (0.8, 5, 8, 3.09), (0.9, 5, 13, 4.67),
    (0.5, 10, 2, 1.46), (0.6, 10, 3, 1.67), (0.7, 10, 4, 1.98), (0.8, 10, 6, 2.47), (0.9, 10, 10, 3.43),
    (0.5, 20, 1, 1.25), (0.7, 20, 3, 1.58), (0.8, 20, 4, 1.87), (0.9, 20, 7, 2.37), (0.8, 2, 11, 3.82),
])
def test_best_draft_length(acceptance: float, cost: float, best: int, speed_up: float):
    result = draft_length.solve(acceptance=acceptance, draft_cost_percent=cost)
    assert (result.best_k, round(result.best_speed_up, 2)) == (best, speed_up)


def test_the_optimum_is_flat():
    at = draft_length.solve().at_lengths
    assert [round(at[k].speed_up, 2) for k in (3, 5, 8)] == [2.57, 2.95, 3.09]
    assert at[8].speed_up / at[5].speed_up == pytest.approx(1.05, abs=0.005)  # for half as many rows again


def test_accepted_of_drafted_is_not_the_acceptance():
    result = draft_length.solve()
    assert round(result.here.accepted_share, 3) == 0.538  # 2.689 / 5
    assert draft_length.break_even(5, 1 + 5 * result.here.accepted_share) == pytest.approx(0.8)
    assert result.ceiling == pytest.approx(5)


def test_five_dear_drafts_at_a_half_are_slower_than_none():
    assert round(draft_length.solve(acceptance=0.5, draft_cost_percent=20).here.speed_up, 3) == 0.984


def test_one_draft_breaks_even_at_its_cost():
    result = draft_length.solve(num_speculative_tokens=1, draft_cost_percent=7)
    assert result.break_even_acceptance == pytest.approx(0.07)


def test_bound_by_products_no_length_wins():
    result = draft_length.solve(acceptance=0.99, verify_percent=100, draft_cost_percent=0)
    assert result.best_k == 0 and result.here.speed_up < 1


def test_chances_by_position_multiply():
    result = draft_length.solve(per_position=(0.763, 0.656, 0.575), num_speculative_tokens=3)
    assert result.here.expected_tokens == pytest.approx(1 + 0.763 + 0.763 * 0.656 + 0.763 * 0.656 * 0.575)
    with pytest.raises(Refusal, match="5 drafts, and chances for 3 positions"):
        draft_length.solve(per_position=(0.7, 0.7, 0.7), num_speculative_tokens=5)


def test_a_parallel_drafter_pays_once():
    assert draft_length.solve(drafter="parallel").here.paid == pytest.approx(1.05)


@pytest.mark.parametrize("text", ["0.5,x", "1.5", "-0.1", " ".join(["0.5"] * 17), "nan", "inf"])
def test_chances_that_are_none_are_refused(text: str):
    with pytest.raises(Refusal, match="chances from 0 to 1"):
        chances(text)


@ANY
@given(st.floats(0, 1), st.integers(1, 16), st.floats(0, 200), st.floats(0, 100))
def test_no_length_beats_the_best_nor_the_ceiling(acceptance: float, k: int, cost: float, verify: float):
    result = draft_length.solve(acceptance=acceptance, num_speculative_tokens=k, draft_cost_percent=cost,
                                verify_percent=verify)
    assert all(at.speed_up <= result.best_speed_up + 1e-12 for at in result.at_lengths)
    assert result.ceiling is None or result.here.expected_tokens <= result.ceiling + 1e-9
    assert result.here.expected_tokens <= k + 1


# 8B on an H100 (15.01 GB read, 7.505e9 parameters, 131,072 B of KV a token), 0.8 and 0.6 of peak, k 5, a 0.7, c 5%
@pytest.mark.parametrize(("context", "by_batch", "lost"), [
    (512, {1: 2.35, 32: 2.35, 64: 1.84, 128: 1.20, 256: 0.84, 512: 0.66}, 179),
    (1_024, {64: 2.17, 128: 1.58, 256: 1.25, 512: 1.07}, 888), (2_048, {512: 1.82}, 0),
])
def test_speed_up_by_batch(context: int, by_batch: dict[int, float], lost: int):
    result = speculation.solve(context_tokens=context)
    worked = {each.sequences: round(each.speed_up, 2) for each in result.at_batches}
    assert {batch: worked[batch] for batch in by_batch} == by_batch
    assert result.break_even == lost


@pytest.mark.parametrize(("acceptance", "k", "lost"), [(0.7, 3, 322), (0.8, 5, 294), (0.8, 3, 506), (0.6, 3, 225)])
def test_break_even_of_other_drafts(acceptance: float, k: int, lost: int):
    assert speculation.solve(acceptance=acceptance, num_speculative_tokens=k).break_even == lost


def test_the_best_length_falls_with_the_batch():
    result = speculation.solve()
    assert [each.best_k for each in result.at_batches][-4:] == [3, 2, 1, 1]
    assert "falls from 6 at batch 1 to 1 at 512" in result.length_verdict
    assert speculation.solve(context_tokens=2_000_000).length_verdict == ""


def test_at_datasheet_peaks_drafts_lose_later():
    assert speculation.solve(bandwidth_share=1, compute_share=1).break_even == 325


def test_the_closed_form_agrees():
    result = speculation.solve()
    read, compute, kv = 15.01e9 / 2.68e12, 2 * 7.505e9 * 6 / 593.4e12, 512 * 131_072 / 2.68e12
    net = result.expected_tokens - 0.25
    assert net * read / (compute - net * kv) == pytest.approx(result.break_even, abs=1)
    assert round(result.losing_context) == 1_153
    assert (round(result.read_gb, 2), round(result.params_b, 3)) == (15.01, 7.505)


@pytest.mark.parametrize(("k", "sequences"), [(3, 74), (5, 49), (7, 37)])
def test_the_gain_shrinks_from_the_ridge_by_rows(k: int, sequences: int):
    assert speculation.solve(num_speculative_tokens=k).ridge_batch == sequences


@pytest.mark.parametrize(("k", "sequences"), [(1, 4_096), (3, 2_048), (4, 1_638), (5, 1_365), (7, 1_024)])
def test_sequences_that_fill_the_budget(k: int, sequences: int):
    assert speculation.solve(num_speculative_tokens=k).budget_sequences == sequences


@ANY
@given(st.floats(0, 1), st.integers(1, 16), st.floats(0, 200), st.integers(0, 2_000_000), st.integers(1, 65_536))
def test_the_gain_only_falls_and_is_lost_where_it_says(acceptance: float, k: int, cost: float, context: int,
                                                       batch: int):
    result = speculation.solve(acceptance=acceptance, num_speculative_tokens=k, draft_cost_percent=cost,
                               context_tokens=context, batch=batch)
    speeds = [each.speed_up for each in result.at_batches]
    assert all(later <= earlier + 1e-9 for earlier, later in zip(speeds, speeds[1:], strict=False))
    assert (result.small.speed_up < 1) == bool(result.break_even and batch >= result.break_even)


def test_a_decode_asks_for_one_and_its_drafts():
    run = draft_rows.simulate(requests=parse_requests(FOUR))
    row = run.steps[3].rows[0]
    assert (row.given, row.drafts, row.advanced - row.before, row.after) == (4, 3, 4, row.advanced - row.rejected)
    assert run.tokens_sampled == 16 + 12 + 20 + 16


def test_a_small_budget_starves_the_last_of_the_running():
    run = draft_rows.simulate(requests=parse_requests(DECODERS), max_num_batched_tokens=8, acceptance=0)
    assert [[row.given for row in step.rows] for step in run.steps[1:5]] == [[4, 4, 0, 0]] * 4


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 8), st.floats(0, 1), st.integers(4, 40), st.integers(0, 99))
def test_tokens_computed_are_kept_or_rejected(k: int, acceptance: float, budget: int, seed: int):
    run = draft_rows.simulate(requests=parse_requests(FOUR), num_speculative_tokens=k, acceptance=acceptance,
                              max_num_batched_tokens=budget, seed=seed)
    kept = sum(row.after - row.before for step in run.steps for row in step.rows)
    assert run.tokens_computed == kept + run.tokens_rejected
    assert all(step.used + step.left == budget and step.left >= 0 for step in run.steps)
    assert run.tokens_sampled == 64


@pytest.mark.parametrize(("text", "budget", "fault"), [
    ("A:100/30@0", 32, "130 tokens"), ("A:1/1@2", 32, "later"), (FOUR, 3, "4 sequences"),
    (",".join(f"{name}:1/1@0" for name in "ABCDEFG"), 32, "7 requests"),
])
def test_a_strip_that_cannot_be_shown_is_refused(text: str, budget: int, fault: str):
    with pytest.raises(Refusal, match=fault):
        draft_rows.simulate(requests=parse_requests(text), max_num_batched_tokens=budget)
