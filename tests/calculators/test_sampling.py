"""The sampler's stages: recorded rows of the engine, the figures of two worked cases, and what holds for any row."""
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models import sampling_stages as stages
from calculators.models import sampling_trace
from calculators.models.base import Refusal
from calculators.models.sampling import Sampling, format_tokens, parse_tokens, simulate

GOLDEN = Path(__file__).parents[1] / "golden" / "sampler.json"
RECORDED = json.loads(GOLDEN.read_text())
SIX = "A:0.42,B:0.24,C:0.14,D:0.1,E:0.06,F:0.04"
USUAL = {
    "given_as": "probabilities", "temperature": 1.0, "min_p": 0.0, "top_k": 0, "top_p": 1.0,
    "left_order": "Tmkp", "right_order": "Tkpm", "repetition_penalty": 1.0, "frequency_penalty": 0.0,
    "presence_penalty": 0.0, "bias_first": True, "draws": 0, "seed": 1,
}
CASE_1 = {"temperature": 0.5, "min_p": 0.1, "top_k": 4, "top_p": 0.9}
CASE_2 = {"temperature": 2.0, "top_k": 4, "top_p": 0.8, "right_order": "Tpkm"}


def run(tokens: str = SIX, **changed: object) -> Sampling:
    return simulate(tokens=parse_tokens(tokens), **USUAL | changed)


def shares(stage: object) -> list[float]:
    return [stage.shares[name] for name in stage.kept]


@pytest.mark.parametrize(("name", "difference"), list(sampling_trace.cases(RECORDED, "sampler")))
def test_every_recorded_row_comes_out(name: str, difference: str | None) -> None:
    assert difference is None, name


def test_a_changed_record_is_named() -> None:
    case = json.loads(json.dumps(RECORDED["cases"][3]))
    case["expect"]["kept"] = [0, 1]
    assert sampling_trace.first_difference(case) == "kept: ours [0, 1, 2], theirs [0, 1]"
    case = json.loads(json.dumps(RECORDED["cases"][3]))
    case["expect"]["probs"][0] += 3e-6
    assert sampling_trace.first_difference(case).startswith("probs: ours")
    assert "typical_p" in sampling_trace.first_difference(case | {"typical_p": 0.5})


# Worked by hand, p^(1/T) over its sum, then each cut: (order, stage, tokens kept, shares)
CASE_1_STAGES = [
    ("Tmkp", 1, "ABCDEF", [0.6562, 0.2143, 0.0729, 0.0372, 0.0134, 0.0060]),
    ("Tmkp", 2, "ABC", [0.6956, 0.2271, 0.0773]),
    ("Tmkp", 3, "ABC", [0.6956, 0.2271, 0.0773]),
    ("Tmkp", 4, "AB", [0.7538, 0.2462]),
    ("Tkpm", 2, "ABCD", [0.6692, 0.2185, 0.0744, 0.0379]),
    ("Tkpm", 3, "ABC", [0.6956, 0.2271, 0.0773]),
    ("Tkpm", 4, "ABC", [0.6956, 0.2271, 0.0773]),
    ("kpmT", 1, "ABCD", [0.4667, 0.2667, 0.1556, 0.1111]),
    ("kpmT", 2, "ABCD", [0.4667, 0.2667, 0.1556, 0.1111]),
    ("kpmT", 3, "ABCD", [0.4667, 0.2667, 0.1556, 0.1111]),
    ("kpmT", 4, "ABCD", [0.6692, 0.2185, 0.0744, 0.0379]),
]
CASE_2_STAGES = [
    ("Tmkp", 1, "ABCDEF", [0.2851, 0.2155, 0.1646, 0.1391, 0.1077, 0.0880]),
    ("Tmkp", 3, "ABCD", [0.3545, 0.2679, 0.2046, 0.1730]),
    ("Tmkp", 4, "ABC", [0.4286, 0.3240, 0.2474]),
    ("Tpkm", 2, "ABCD", [0.3545, 0.2679, 0.2046, 0.1730]),
    ("Tpkm", 4, "ABCD", [0.3545, 0.2679, 0.2046, 0.1730]),
]


@pytest.mark.parametrize(("case", "order", "at", "kept", "expected"), [
    *((CASE_1, *row) for row in CASE_1_STAGES), *((CASE_2, *row) for row in CASE_2_STAGES),
])
def test_both_worked_cases_come_out_stage_by_stage(case: dict, order: str, at: int, kept: str,
                                                   expected: list[float]) -> None:
    stage = run(**case | {"left_order": order}).left.stages[at]
    assert "".join(stage.kept) == kept
    assert [f"{share:.4f}" for share in shares(stage)] == [f"{share:.4f}" for share in expected]


def test_min_p_cuts_at_a_tenth_of_the_largest() -> None:
    result = run(**CASE_1)
    assert round(result.left.stages[2].bar, 4) == 0.0656  # 0.1 × 0.65625
    assert result.left.stages[2].gone == ("D", "E", "F")
    assert result.only_right == ("C",) and result.only_left == ()
    assert result.finding == "vLLM leaves A and B; Transformers leaves A, B and C."


@pytest.mark.parametrize(("token", "logit"), [("A", 0.30), ("B", 0.40), ("C", -0.625), ("D", 1.00)])
def test_penalties_move_the_largest_from_a_to_d(token: str, logit: float) -> None:
    result = run("A:2/2+P,B:1.5/1,C:-0.5+P,D:1", given_as="logits", temperature=0.0, repetition_penalty=1.25,
                 frequency_penalty=0.5, presence_penalty=0.3)  # 2/1.25 − 2 × 0.5 − 0.3 = 0.3; −0.5 × 1.25 = −0.625
    assert result.logits[token] == pytest.approx(logit, abs=1e-6)
    assert result.greedy_token == "D" and result.left.kept == ("D",)


@pytest.mark.parametrize(("bias_first", "logit"), [(True, 1.1), (False, 1.3)])
def test_bias_and_repetition_do_not_commute(bias_first: bool, logit: float) -> None:
    result = run("A:2/2!1,B:0", given_as="logits", repetition_penalty=1.25, frequency_penalty=0.5,
                 presence_penalty=0.3, bias_first=bias_first)  # 3/1.25 − 1.3, or 2/1.25 − 1.3 + 1
    assert result.logits["A"] == pytest.approx(logit, abs=1e-6)


def test_ties_with_the_kth_all_stay() -> None:
    assert run("A:2,B:1,C:1,D:1,E:0", given_as="logits", top_k=2).left.kept == ("A", "B", "C", "D")


def test_temperature_zero_ignores_the_filters_and_not_the_mask() -> None:
    result = run("A:0.6!off,B:0.3,C:0.1", temperature=0.0, min_p=1.0, top_k=1, top_p=0.1)
    assert result.left.kept == result.right.kept == ("B",)
    assert [stage.why for stage in result.left.stages[3:]] == ["off at temperature 0"] * 3


def test_a_temperature_below_a_hundredth_is_raised() -> None:
    assert run(temperature=0.001).left.shares == run(temperature=0.01).left.shares
    assert run("A:1,B:0.99", given_as="logits", temperature=0.001).left.shares["B"] > 0.2


def test_reported_logprobs_are_of_the_untouched_logits() -> None:
    plain, bent = run(), run(**CASE_1, repetition_penalty=1.5)
    assert plain.raw_logprobs == bent.raw_logprobs
    assert plain.raw_logprobs["A"] == pytest.approx(math.log(0.42), abs=1e-6)


def test_the_seed_moves_the_draws_and_never_the_set() -> None:
    one, two = run(**CASE_1, draws=1000, seed=1), run(**CASE_1, draws=1000, seed=2)
    assert one.left == two.left and one.drawn != two.drawn
    assert sum(one.drawn.values()) == 1000 and one.drawn["C"] == 0
    assert abs(one.drawn["A"] - 754) < 60  # four standard deviations of a thousand draws


@pytest.mark.parametrize("text", ["A:0.5", "A:0.5,A:0.5", "A:x,B:1", "A:1/2/3,B:1", "A:0.5!off,B:0.5!off", "A:9999,B:1",
                                  "A:1!500,B:1", ",".join(f"T{n}:0.1" for n in range(13))])
def test_tokens_that_cannot_be_used_are_refused_in_words(text: str) -> None:
    with pytest.raises(Refusal):
        parse_tokens(text)


def test_a_value_that_is_no_probability_is_refused() -> None:
    with pytest.raises(Refusal, match="B: -0.5 is no probability"):
        run("A:0.5,B:-0.5")


TOKENS = st.lists(
    st.tuples(st.floats(1e-6, 1).map(lambda value: f"{value:.6f}").filter(lambda text: float(text) > 0),
              st.integers(0, 5), st.booleans(), st.sampled_from(("", "!2", "!-3.5", "!off"))),
    min_size=2, max_size=12,
).map(lambda rows: ",".join(f"T{at}:{value}/{uses}{'+P' * prompt}{bias}"
                            for at, (value, uses, prompt, bias) in enumerate(rows)))


@settings(max_examples=60, deadline=None)
@given(tokens=TOKENS, temperature=st.floats(0, 10), min_p=st.floats(0, 1), top_k=st.integers(0, 20),
       top_p=st.floats(0.01, 1), left_order=st.permutations("Tmkp").map("".join),
       repetition_penalty=st.floats(0.1, 10), frequency_penalty=st.floats(-2, 2))
def test_probability_is_conserved_and_somebody_is_always_left(tokens: str, **knobs: object) -> None:
    try:
        parsed = parse_tokens(tokens)
    except Refusal:
        return
    assert parse_tokens(format_tokens(parsed)) == parsed
    result = simulate(tokens=parsed, **USUAL | knobs | {"draws": 5})
    for chain in (result.left, result.right, *result.known):
        for before, after in zip(chain.stages, chain.stages[1:], strict=False):
            assert after.kept and set(after.kept) <= set(before.kept)
            assert set(before.kept) == set(after.kept) | set(after.gone)
            assert sum(after.shares.values()) == pytest.approx(1, abs=2e-5)
    assert sum(result.drawn.values()) == 5


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=12), st.floats(0.1, 3), st.integers(1, 12))
def test_top_k_goes_by_rank_so_temperature_never_changes_it(values: list[float], temperature: float, k: int) -> None:
    logits = stages.row([round(value, 2) for value in values])
    cold, plain = stages.top_k(stages.tempered(logits, temperature), k), stages.top_k(logits, k)
    assert np.array_equal(np.isinf(cold), np.isinf(plain))
