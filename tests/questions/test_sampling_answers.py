"""Answers of the sampling questions, against derivations of their own."""
import pytest

from questions import loading
from questions.figures import Ran
from questions.runs import play
from questions.services import run_lab


def runs_of(slug: str) -> dict[str, Ran]:
    """Every run of a question, with the file's own values."""
    return play(loading.read_file(loading.FOLDER / "sampling" / f"{slug}.md")[0].runs, {}, run_lab)


def test_min_p_before_top_p_leaves_two_tokens_and_after_it_three():
    # By hand: squares of the six sum to 0.2688; the bar is 0.01764 of them, so A, B, C stay; 0.2340 / 0.2536 > 0.9.
    six = {"A": 0.42, "B": 0.24, "C": 0.14, "D": 0.1, "E": 0.06, "F": 0.04}
    squares = {name: share**2 for name, share in six.items()}
    assert [name for name, square in squares.items() if square >= squares["A"] / 10] == ["A", "B", "C"]
    request = runs_of("sampling-order")["request"].result
    two, three, four = (sum(list(squares.values())[:count]) for count in (2, 3, 4))
    assert request.left.top_two_share == pytest.approx(two / three, abs=1e-5) and two / three > 0.9
    assert request.right.top_two_share == pytest.approx(two / four, abs=1e-5) and two / four < 0.9
    assert request.left.probability_of_largest == pytest.approx(squares["A"] / two, abs=1e-5)
    assert [chain.kept_count for chain in request.known] == [2, 3, 4]


def test_a_bias_goes_through_the_repetition_penalty():
    # By hand: (2 + 1) / 1.25 - 2 x 0.5 - 0.3, and 2 / 1.25 - 2 x 0.5 - 0.3 + 1; C in the prompt alone: -0.5 x 1.25.
    ran = runs_of("sampling-order")
    assert ran["bias"].result.logits["A"] == pytest.approx(1.1)
    assert ran["bias_last"].result.logits["A"] == pytest.approx(1.3)
    assert ran["penalties"].result.logits == pytest.approx({"A": 0.3, "B": 0.4, "C": -0.625, "D": 1.0})


def test_every_setting_of_the_drafter_comes_to_the_same_tokens():
    # By hand: 37 output tokens, the first from the prefill; a step gives what it accepted and one more.
    ran = runs_of("ngram-drafter")
    for name in ("five", "two", "one", "older", "older_five", "longer"):
        totals = ran[name].result.totals
        assert totals.steps + totals.accepted == ran["five"].result.plain_steps == 36
    assert [step.accepted for step in ran["five"].result.steps if step.match.n] == [4, 4, 5, 1]
    one = ran["one"].result
    assert one.steps[10].match.at >= len(one.prompt)
