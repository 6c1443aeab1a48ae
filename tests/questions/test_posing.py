"""What must hold of a posed question, on checks and figures made for it."""
import pytest

from questions.content import QuestionFile
from questions.figures import Ran
from questions.posing import absurd, misjudged, shown_figures, spellings
from questions.services import Check


def check_of(expected: float | dict[str, int], unit: str = "ms", tolerance: float = 0.1) -> Check:
    kind = "map" if isinstance(expected, dict) else "number"
    return Check(kind, "run.figure", "Figure", unit, tolerance, expected)


@pytest.mark.parametrize(("expected", "unit", "tolerance"), [
    (984.3, "ms", 0.1), (0.25, "s", 0), (54.4, "GiB", 0.0125), (59.1, "%", 0.05), (2.55, "×", 0.01), (0.3488, "", 0.03),
    (121, "rows", 0), (24_342.0, "tokens/s", 0.05), (-3.5, "GiB", 0.1), ({"A": 1, "D": 2_045}, "tokens", 0),
])
def test_a_number_is_taken_in_every_spelling_and_nothing_beyond_its_tolerance(
        expected: float | dict[str, int], unit: str, tolerance: float):
    assert list(misjudged(check_of(expected, unit, tolerance))) == []


def test_people_write_a_number_in_many_ways():
    assert set(spellings(1_500.0, "ms")) >= {"1500", "~1,500", "1500 ms", "6000/4", "1.5k", "1.5 s", "1500000 µs"}
    assert set(spellings(31.5, "GiB")) >= {"31.5 GiB", "32256 MiB", "33.822867456 GB"}
    assert set(spellings(25.0, "GB/s")) >= {"25000 MB/s", "200 Gbit/s"}
    assert "1.5k GiB" not in spellings(1_500.0, "GiB")  # thousands of what
    assert "0.591×" in {text.replace(" ", "") for text in spellings(59.1, "%")}


def test_a_slip_within_the_tolerance_is_a_fault():
    check = check_of(73.5, "s", 0.06)
    assert list(misjudged(check, ((70.0, "That leaves out compilation."), (35.0, "That is the load.")))) == [
        "A known slip, 70, is taken for 73.5 s: That leaves out compilation."
    ]


def test_an_answer_that_cannot_be_typed_is_a_fault():
    found = list(misjudged(check_of(5e30, "ms")))  # beyond what is read as a number
    assert "The answer is refused as “5e+30”." in found


OWN = {"left_gib": 2.0, "share": 0.4, "sequences": 3, "wait_ms": 5.0, "gains": [1.0, 2.0], "over": -1.0}


@pytest.mark.parametrize(("figure", "form", "drawn", "found"), [
    ("left_gib", "0.0", -0.5, "run.left_gib is negative, -0.5."), ("left_gib", "0.0", 0.0, ""),
    ("left_gib", "0.0", 0.04, "run.left_gib is shown as 0, 0.04."), ("left_gib", "g2", 0.04, ""),
    ("share", "%0", 1.2, "run.share is more than the whole, 120%."), ("share", "%0", 1.0, ""),
    ("share", "%0.0", 0.0004, "run.share is shown as 0, 0.0004."),
    ("sequences", "", 0.3, "run.sequences is no whole number, 0.3."), ("sequences", "", 4, ""),
    ("wait_ms", "span", 0.0, "run.wait_ms is no time at all."), ("over", "0.0", -2.0, ""),
    ("gains", "0.0", [1.0, -2.0], "run.gains is negative, -2."),
])
def test_a_draw_turns_no_figure_into_what_it_cannot_be(figure: str, form: str, drawn: object, found: str):
    own, ran = ({"run": Ran(inputs=values, result=None)} for values in (OWN, OWN | {figure: drawn}))
    assert list(absurd({f"run.{figure}": form}, ran, own)) == ([found] if found else [])


def test_figures_are_those_of_every_text_and_of_the_check():
    document = QuestionFile(
        "topic", "slug", ask="[[run.left_gib|0.0]] GiB on [[run.gpu|label]]", derivation="[[run.lines]]",
        hints=[{"text": "[[run.share|%0]]"}], check={"figure": "run.sequences"},
    )
    assert shown_figures(document) == {"run.left_gib": "0.0", "run.share": "%0", "run.sequences": ""}
