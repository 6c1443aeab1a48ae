"""Figures in prose. The expected texts are worked by hand from the bakery's 3,000 g of flour at 450 g a loaf."""
import pytest

from calculators.models.base import Refusal
from questions.figures import BadFigure, show, worded
from questions.runs import draw, draw_value, in_order, play
from tests.questions.bakery import run_lab

RUNS = {"oven": {"lab": "bakery", "values": {"flour_g": 3000, "loaf_g": 450}}}


def shown(figure: str) -> str:
    return show(figure, play(RUNS, {}, run_lab))


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        ("[[oven.flour_g]]", "3,000"),
        ("[[oven.flour_g|0]]", "3000"),
        ("[[oven.flour_g|,0]]", "3,000"),
        ("[[oven.loaves|0]]", "7"),  # 6.667
        ("[[oven.loaves|0.0]]", "6.7"),
        ("[[oven.loaves|,0.00]]", "6.67"),
        ("[[oven.loaves|g3]]", "6.67"),
        ("[[oven.loaves|g1]]", "7"),
        ("[[oven.bake_ms|g2]]", "8,200"),  # 8,230 ms
        ("[[oven.bake_ms|,0]]", "8,230"),
        ("[[oven.bake_ms|span]]", "8.23 s"),
        ("[[oven.loaves|%0]]", "667%"),
        ("[[oven.crumb_bytes|size]]", "6.67 GiB"),
        ("[[oven.oven]]", "deck"),
        ("[[oven.oven|label]]", "Deck oven"),
        ("[[oven.verdict]]", "enough"),
        ("[[oven.big]]", "no"),
        ("[[oven.sizes]]", "1, 2,000, 3"),
        ("[[oven.sizes.-1]]", "3"),
        ("[[oven.shares]]", "{A: 1, D: 2,045}"),
        ("[[oven.steps.1.tokens.D]]", "2,045"),
        ("[[oven.steps.-1.tokens]]", "{A: 1, D: 2,045}"),
        ("[[ oven.flour_g | 0 ]]", "3000"),
    ],
)
def test_a_figure_reads_as_its_format_says(figure: str, text: str):
    assert shown(figure) == text


@pytest.mark.parametrize(
    ("figure", "why"),
    [
        ("[[oven.loaves]]", "a fraction takes a format"),
        ("[[oven.loaves|0.2f]]", "is no format"),
        ("[[oven.loaves * 2|0]]", "is no path"),
        ("[[oven]]", "is no path"),
        ("[[stove.loaves|0]]", "there is no run “stove”"),
        ("[[oven.rolls]]", "stops at “rolls”"),
        ("[[oven.steps.2.tokens]]", "it has 2 entries"),
        ("[[oven.steps.0.tokens.D]]", "only A"),
        ("[[oven.steps]]", "a Step can't be shown"),
        ("[[oven.bake]]", "stops at “bake”"),
        ("[[oven.__class__]]", "is no path"),
        ("[[oven.verdict.upper]]", "stops at “upper”"),
        ("[[oven.verdict|0]]", "a word takes no format"),
        ("[[oven.flour_g|size]]", "ends in bytes"),
        ("[[oven.loaves|span]]", "ends in _ms or _s"),
        ("[[oven.flour_g|label]]", "only an input that is a choice"),
    ],
)
def test_a_figure_that_says_nothing_is_a_fault_in_words(figure: str, why: str):
    with pytest.raises(BadFigure) as fault:
        shown(figure)
    assert why in str(fault.value)


def test_a_run_takes_a_value_from_another_whatever_order_they_are_stored_in():
    runs = {
        "a_second": {"lab": "bakery", "values": {"flour_g": "[[first.flour_g]]", "loaf_g": 250}},
        "first": {"lab": "bakery", "values": {"flour_g": 2000}},
    }
    ran = play(runs, {"first": {"flour_g": 1500}}, run_lab)
    assert in_order(runs) == ["first", "a_second"]
    assert ran["a_second"].result.loaves == 6  # the drawn 1,500 / 250


def test_runs_that_take_values_in_a_ring_are_a_fault():
    runs = {
        "one": {"lab": "bakery", "values": {"flour_g": "[[two.flour_g]]"}},
        "two": {"lab": "bakery", "values": {"flour_g": "[[one.flour_g]]"}},
    }
    with pytest.raises(BadFigure, match="in a ring: one, two"):
        in_order(runs)


VARYING = {"oven": {"lab": "bakery", "values": {}, "vary": {"flour_g": {"from": 1000, "to": 5000, "step": 500}}}}


def test_the_same_seed_draws_the_same_values():
    assert draw(VARYING, {}, "card 7/2", run_lab)[0] == draw(VARYING, {}, "card 7/2", run_lab)[0]


def test_a_range_gives_each_of_its_steps_and_nothing_else():
    drawn = {draw(VARYING, {}, seed, run_lab)[0]["oven"]["flour_g"] for seed in range(200)}
    assert drawn == set(range(1000, 5001, 500))


def test_a_range_in_tenths_has_no_rounding_tail():
    class Last:
        def randint(self, low: int, high: int) -> int:
            return high

    assert draw_value({"from": 0.1, "to": 0.7, "step": 0.1}, Last()) == 0.7


def test_of_several_tables_one_is_drawn_and_its_values_go_together():
    rows = [{"flour_g": 1000, "loaf_g": 250}, {"flour_g": 3000, "loaf_g": [750, 1500]}]
    runs = {"oven": {"lab": "bakery", "vary": rows}}
    pairs = {tuple(draw(runs, {}, seed, run_lab)[0]["oven"].values()) for seed in range(100)}
    assert pairs == {(1000, 250), (3000, 750), (3000, 1500)}


def test_a_draw_that_breaks_what_the_prose_relies_on_is_drawn_again():
    draws = [draw(VARYING, {"oven.loaves": {"from": 8}}, seed, run_lab) for seed in range(100)]
    assert {ran["oven"].result.loaves for _, ran, _ in draws} == {8, 9, 10}
    assert sum(thrown for _, _, thrown in draws) > 100  # three of nine are kept: two are thrown away for each


def test_a_draw_that_the_lab_refuses_is_drawn_again():
    runs = {"oven": {"lab": "bakery", "vary": {"flour_g": [100, 1000]}}}
    assert {draw(runs, {}, seed, run_lab)[0]["oven"]["flour_g"] for seed in range(40)} == {1000}


def test_when_nothing_can_be_kept_the_files_own_values_stand():
    runs = {"oven": {"lab": "bakery", "values": {"flour_g": 3000}, "vary": {"flour_g": [100, 200]}}}
    drawn, ran, thrown = draw(runs, {}, 1, run_lab)
    assert (drawn, ran["oven"].result.loaves, thrown) == ({}, 6, 100)


def test_a_refusal_of_the_files_own_values_comes_through():
    with pytest.raises(Refusal, match="not flour enough"):
        play({"oven": {"lab": "bakery", "values": {"flour_g": 1}}}, {}, run_lab)


def test_a_negative_number_has_a_minus_and_a_flags_value_its_hyphen():
    assert worded(-0.242, "%0", "share") == "−24%"
    assert worded(-1234.5, ",0", "gap_ms") == "−1,234"
    assert worded(-1, "", "max_model_len") == "-1"
