"""The budget dial: gaps at each budget, and the largest one within a target.

Figures by hand from the step-time rule with Llama-3.1-8B in bf16 on an H100 at 62% of its FLOP/s and 80% of its
bandwidth: T = max(W/BW, 2N(c + D)/F) + A·c·(prefix + (c + 1)/2)/F + Σctx·kvb/BW + 0.9 ms, beside 32 decoders at 2,000.
"""
from itertools import product

import pytest
from django.test import Client

from calculators.labs.budget_dial import VIEW
from calculators.labs.scheduler import LAB
from calculators.models.base import Refusal
from calculators.models.budget_dial import MOST_STEPS, Dial, Setting, solve


def at(dial: Dial, budget: int) -> Setting:
    return next(setting for setting in dial.settings if setting.budget == budget)


@pytest.mark.parametrize(("target_ms", "prompt", "budget"), [
    (50, 2_048, 1_613), (50, 8_192, 1_372), (50, 32_768, 861),
    (100, 2_048, 3_284), (100, 8_192, 2_807), (100, 32_768, 1_768),
    (200, 2_048, 6_413), (200, 8_192, 5_537), (200, 32_768, 3_544),
])
def test_the_largest_budget_within_a_target(target_ms: float, prompt: int, budget: int) -> None:
    assert solve(itl_target_ms=target_ms, longest_prompt_tokens=prompt).largest_budget == budget


@pytest.mark.parametrize(("budget", "short_ms", "gap_ms", "far_ms", "tokens_per_s"), [
    (256, 10.7, 12.3, 17.0, 20_900), (512, 17.5, 20.9, 30.9, 27_400), (1_024, 31.2, 38.1, 58.9, 31_800),
    (2_048, 59.2, 73.3, 116, 34_000), (4_096, 118, 146, 232, 34_400), (8_192, 246, 303, 474, 33_100),
    (16_384, 546, 660, 1_003, 30_000),
])
def test_each_budget_has_its_gap_and_its_rate(
    budget: int, short_ms: float, gap_ms: float, far_ms: float, tokens_per_s: float
) -> None:
    setting = at(solve(), budget)
    gaps = (setting.short_gap_ms, setting.gap_ms, setting.far_gap_ms)
    assert gaps == pytest.approx((short_ms, gap_ms, far_ms), rel=0.005)
    assert setting.prefill_tokens_per_s == pytest.approx(tokens_per_s, rel=0.002)


def test_what_fifty_milliseconds_cost() -> None:
    """1,024 gives up 8% of the best rate; 8,192 / 992 is 9 steps, and 8,192 / 8,160 is 2."""
    dial = solve()
    assert (dial.chosen.budget, dial.best.budget) == (1_024, 4_096)
    assert dial.loss_share == pytest.approx(0.08, abs=0.005)
    assert (dial.chosen.prompt_steps, dial.present.prompt_steps) == (9, 2)
    assert dial.base_gap_ms == pytest.approx(10.02, abs=0.005)
    assert (dial.knee_tokens, round(dial.linear_us_per_token, 1)) == (229, 26.1)
    assert dial.doubling_tokens == 30_632  # 2 · 8.03e9 / 524,288


@pytest.mark.parametrize(("target_ms", "prompt", "decoders", "gpu"), [*product(
    (15, 50, 333), (1, 8_192, 120_000), (0, 32), ("h100", "a100", "b200"),
)])
def test_the_largest_budget_keeps_the_target_and_one_more_token_breaks_it(
    target_ms: float, prompt: int, decoders: int, gpu: str
) -> None:
    common = {"itl_target_ms": target_ms, "longest_prompt_tokens": prompt, "decoders": decoders, "gpu": gpu,
              "context_tokens": 500}
    largest = solve(**common).largest_budget
    kept, broken = (solve(**common, max_num_batched_tokens=largest + more).present for more in (0, 1))
    assert kept.gap_ms <= target_ms < broken.gap_ms
    assert kept.fits and not broken.fits


def test_every_prompt_token_is_prefilled_once() -> None:
    """The steps of the longest prompt add up to it, whatever slices it."""
    for prompt in (1, 991, 992, 993, 8_192):
        assert at(solve(longest_prompt_tokens=prompt), 1_024).prompt_steps == -(-prompt // 992)


def test_below_the_knee_the_budget_hardly_moves_the_step() -> None:
    """The products hide behind the weights, so only attention tells 64 tokens from 229."""
    small, knee = (solve(max_num_batched_tokens=budget).present.short_gap_ms for budget in (64, 229))
    assert 0 < knee - small < 0.02


def test_the_derivation_ends_in_the_budget() -> None:
    left, linear, attention, chunk, total = solve().lines
    assert (total.value, total.expression) == (1_372, "1,340 + 32")
    assert chunk.expression == "(45,970 − 32 × 26.1) / (26.1 + 7.56)"
    assert (left.value - 32 * linear.value) / (linear.value + attention.value) == pytest.approx(chunk.value, abs=1)


def test_under_the_knee_the_derivation_reads_the_weights() -> None:
    """10.5 ms leave 0.48 for attention behind 32,768: 28 µs a token, 17 tokens."""
    dial = solve(itl_target_ms=10.5, longest_prompt_tokens=32_768)
    assert dial.largest_chunk == 17
    assert [line.label for line in dial.lines][1] == "reading the weights"


@pytest.mark.parametrize(("inputs", "field"), [
    ({"itl_target_ms": 10}, "itl_target_ms"), ({"max_num_batched_tokens": 32}, "max_num_batched_tokens"),
    ({"max_num_batched_tokens": 33, "longest_prompt_tokens": MOST_STEPS + 1}, "longest_prompt_tokens"),
])
def test_what_cannot_be_is_refused_beside_its_field(inputs: dict[str, float], field: str) -> None:
    with pytest.raises(Refusal) as refused:
        solve(**inputs)
    assert refused.value.field == field


def test_a_known_slip_is_named(client: Client, db: None) -> None:
    """45.97 ms / 26.1 µs: the linear cost alone."""
    page = client.get(LAB.address(VIEW, {}, said="1760")).content.decode()
    assert "1.28× too high" in page and "That is the linear cost alone." in page
    assert ">yours</text>" in page


@pytest.mark.parametrize("said", ["1372", "8192", "33", "32", "0.4", "-5", "131073", "1e12"])
def test_any_number_may_be_said(client: Client, db: None, said: str) -> None:
    page = client.get(LAB.address(VIEW, {}, said=said))
    rows = page.context["stage"].shown.picture.wide.shapes
    assert page.status_code == 200 and len(rows) > 50
    assert b"NaN" not in page.content and b'width="-' not in page.content
