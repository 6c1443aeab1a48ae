"""One verify step: recorded decisions of the engine, and that the rule keeps the target's distribution."""
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs.rejection import CERTAIN, THREE
from calculators.models import rejection_trace
from calculators.models.base import Refusal
from calculators.models.rejection import (
    PADDING,
    Rejection,
    accept_probability,
    format_drafts,
    parse_drafts,
    residual,
    simulate,
)

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "rejection.json").read_text())


def run(text: str = THREE, noise: tuple[float, ...] = (0.8, 1.4, 1.1, 2.5), bonus: str = "D",
        greedy: bool = False, tries: int = 0) -> Rejection:
    return simulate(drafts=parse_drafts(text), noise=noise, bonus=bonus, greedy=greedy, tries=tries, seed=1)


@pytest.mark.parametrize(("name", "difference"), list(rejection_trace.cases(RECORDED, "rejection")))
def test_every_recorded_verify_step_comes_out(name: str, difference: str | None) -> None:
    assert difference is None, name


def test_a_changed_record_is_named() -> None:
    case = json.loads(json.dumps(RECORDED["cases"][3]))
    case["expect"]["num_accepted"] = 2
    assert rejection_trace.first_difference(case) == "num_accepted: ours 1, theirs 2"


def test_two_pass_and_the_third_is_replaced_from_what_is_left() -> None:
    result = run()  # 0.5/0.6 ≥ 0.4, 0.5/0.8 ≥ 0.55, 0.1/0.5 < 0.35; left of the third: C 0.4 × 1.1
    assert [each.accepted for each in result.judged] == [True, True, False]
    assert result.output == (0, 1, 2) and result.num_accepted == 2
    assert result.expected_tokens == pytest.approx(1 + 5 / 6 + 5 / 6 * 0.625 + 5 / 6 * 0.625 * 0.2)


def test_a_draft_without_probabilities_counts_as_certain() -> None:
    result = run(CERTAIN)
    assert [each.probability for each in result.judged] == [0.5, 0.5, 0.1]
    assert result.output == (0, 3)  # B's 0.5 is below 0.55; of A .2, C .2, D .1 the noise takes D


def test_greedy_takes_the_largest_and_no_draw() -> None:
    result = run(greedy=True)
    assert result.output == (0, 1, 2) and [each.probability for each in result.judged] == [1, 1, 0]


def test_a_drafter_like_the_target_is_always_accepted() -> None:
    result = run("A:0.5 0.5/0.5 0.5@1,B:0.2 0.8/0.2 0.8@1", (1.0, 1.0), "A")
    assert result.output == (0, 1, 0) and result.expected_tokens == 3


def test_padding_never_passes() -> None:
    result = run("-:0.6 0.4/0.6 0.4@0", (1.0, 1.0), "A")
    assert result.num_accepted == 0 and accept_probability(PADDING, (0.6, 0.4), (0.6, 0.4)) == 0


def test_what_is_not_reached_is_not_shown_as_a_step() -> None:
    assert len(run("B:1 0@0.5,A:0.5 0.5@0.5", (1.0, 1.0), "A").steps) == 2


@pytest.mark.parametrize("text", [THREE, CERTAIN])
def test_tries_come_as_often_as_the_target_would_have_them(text: str) -> None:
    tried = run(text, tries=2000).tried
    assert sum(tried.values()) == 2000
    for name, share in zip("ABCD", (0.5, 0.3, 0.15, 0.05), strict=True):
        assert abs(tried[name] / 2000 - share) < 0.045  # four standard deviations


@pytest.mark.parametrize("text", ["", "A:0.5@0.5", "Z:0.5 0.5@0.5", "A:0.5 0.6@0.5", "A:0.5 0.5@0.5,B:1 0 0@0.5",
                                  "C:0.5 0.5@0.5", "A:0.5 0.5/1@0.5", "A:nan 1@0.5"])
def test_drafts_that_cannot_be_used_are_refused_in_words(text: str) -> None:
    with pytest.raises(Refusal):
        run(text, (1.0, 1.0), "A")


def test_noise_and_bonus_must_fit_the_tokens() -> None:
    with pytest.raises(Refusal, match="3 numbers for 4 tokens"):
        run(noise=(1.0, 1.0, 1.0))
    with pytest.raises(Refusal, match="A to D"):
        run(bonus="E")


def test_short_texts_read_back() -> None:
    for text in (THREE, CERTAIN, "-:0.00002 0.99998@0.5"):
        assert format_drafts(parse_drafts(text)) == text


SHARES = st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(sum).map(lambda n: [each / sum(n) for each in n])


@settings(max_examples=100, deadline=None)
@given(SHARES, SHARES)
def test_accepted_and_recovered_together_give_the_targets_distribution(target: list[float], draft: list[float]) -> None:
    """Leviathan et al.: q min(1, p/q) + (1 - sum of min(p, q)) times the residual shared out = p."""
    passed = [draft[token] * accept_probability(token, target, draft) for token in range(3)]
    left = residual(0, target, draft)
    refused = 1 - sum(passed)
    total = sum(left) or 1.0
    for token in range(3):
        assert passed[token] + refused * left[token] / total == pytest.approx(target[token], abs=1e-9)
