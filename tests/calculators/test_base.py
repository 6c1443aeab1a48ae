"""The line of a derivation: how its value is said, and which term a wrong sum leaves out."""
import pytest

from calculators.models.base import Line, left_out

LINES = (Line("linear", "", 213.9, "ms"), Line("attention", "", 766.3, "ms"), Line("rest", "", 4.0, "ms"),
         Line("longest gap", "", 984.2, "ms", total=True), Line("lockout", "", 8.61, "s"))


@pytest.mark.parametrize(("value", "said"), [
    (213.924, "213.9"), (8551.06, "8,551"), (4.0504, "4.05"), (8.6144, "8.61"), (0, "0"), (0.000123456, "0.000123"),
    (114_240, "114,240"), (-5.587, "−5.59"), (12, "12"), (300, "300"),
])
def test_a_value_is_said_in_three_or_four_figures(value: float, said: str):
    assert Line("", "", value).figure == said


@pytest.mark.parametrize(("said", "label"), [
    (250, "attention"), (218, "attention"), (770, "linear"), (984, ""), (980, ""), (10, ""), (2_000, ""),
    (0, ""), (-5, ""),
])
def test_the_missing_term_is_the_one_whose_absence_explains_the_number(said: float, label: str):
    assert left_out(LINES, said) == label


def test_only_a_sum_leaves_a_term_out():
    # A P99 is the mean times ln 100: without its mean there is no P99 that somebody could have meant.
    product = (Line("mean", "", 0.267, "s"), Line("over it", "", 4.605, "×"), Line("P99", "", 1.23, "s", total=True))
    assert left_out(product, 1.0) == ""


def test_without_a_sum_nothing_is_left_out():
    assert left_out((), 5) == ""
    assert left_out((Line("a", "", 1),), 5) == ""
