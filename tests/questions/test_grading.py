"""Judging and grading. The borders are the design's: the tolerance and three times it, four fifths and half."""
import pytest

from calculators.models.base import Refusal
from questions.grading import AGAIN, EASY, GOOD, HARD, UnreadEntries, judge_map, judge_number, percent, suggest_grade


def test_a_number_far_off_is_told_as_a_ratio_and_a_direction():
    judgement = judge_number("250 ms", 984.0, "ms", 0.1)
    assert (judgement.within, judgement.near, judgement.off, judgement.direction) == (False, False, "3.9×", "too low")
    assert judgement.ratio == pytest.approx(3.936)


@pytest.mark.parametrize(
    ("typed", "within", "near"),
    [("100", True, True), ("110", True, True), ("90", True, True), ("111", False, True), ("130", False, True),
     ("70", False, True), ("131", False, False), ("69", False, False), ("0", False, False), ("-100", False, False)],
)
def test_the_tolerance_is_a_share_of_the_right_number(typed: str, within: bool, near: bool):
    judgement = judge_number(typed, 100.0, "ms", 0.1)
    assert (judgement.within, judgement.near) == (within, near)


def test_no_tolerance_means_exactly_this_number_in_any_unit():
    assert judge_number("0.5 s", 500.0, "ms", 0).within
    assert not judge_number("501", 500.0, "ms", 0).within


def test_a_zero_has_no_ratio_but_a_difference():
    judgement = judge_number("0", 100.0, "ms", 0.1)
    assert (judgement.ratio, judgement.off, judgement.direction) == (None, "100 ms", "too low")


def test_a_known_wrong_way_is_named_when_its_number_is_typed():
    slips = ((214.0, "the linear part alone"), (610.0, "half the attention"))
    assert judge_number("215", 984.0, "ms", 0.1, slips).slip == "the linear part alone"
    assert judge_number("400", 984.0, "ms", 0.1, slips).slip == ""
    assert judge_number("984", 984.0, "ms", 0.1, ((984.0, "never said of a right one"),)).slip == ""


def test_a_number_of_another_kind_is_refused():
    with pytest.raises(Refusal, match="GiB is a size"):
        judge_number("5 GiB", 984.0, "ms", 0.1)


NAMES = ("A", "B", "D", "E")


def test_a_map_is_right_entry_by_entry_and_a_request_left_out_gets_nothing():
    judgement = judge_map({"A": "1", "B": "2", "D": "2,045"}, {"A": 1, "B": 1, "D": 2045}, NAMES)
    assert [entry.right for entry in judgement.entries] == [True, False, True, True]
    assert (judgement.within, judgement.off) == (False, "1 of 4 wrong")
    assert judge_map({"A": "1", "B": "1", "D": "2045", "E": "0"}, {"A": 1, "B": 1, "D": 2045}, NAMES).within


def test_each_entry_that_cannot_be_read_has_its_own_sentence():
    with pytest.raises(UnreadEntries) as unread:
        judge_map({"A": "one", "B": "1.5", "D": "-3", "E": "4 ms"}, {}, NAMES)
    assert set(unread.value.faults) == {"A", "B", "D", "E"}
    assert "whole number" in unread.value.faults["B"]


def suggestion(typed: str | None, ticked: int, seconds: float = 999) -> int:
    judgement = judge_number(typed, 100.0, "ms", 0.1) if typed else None
    return suggest_grade(judgement, ticked=ticked, points=10, tolerance=0.1, seconds=seconds, minutes=3)[0]


@pytest.mark.parametrize(
    ("typed", "ticked", "grade"),
    [
        (None, 8, GOOD), (None, 7, HARD), (None, 5, HARD), (None, 4, AGAIN), (None, 0, AGAIN),
        ("100", 8, GOOD), ("100", 7, HARD), ("100", 4, AGAIN),
        ("120", 10, HARD), ("120", 4, AGAIN),
        ("300", 10, AGAIN),
    ],
)
def test_the_lower_of_number_and_ticks_is_suggested(typed: str | None, ticked: int, grade: int):
    assert suggestion(typed, ticked) == grade


def test_easy_is_all_right_and_faster_than_the_stated_time():
    assert suggestion("100", 10, seconds=179) == EASY
    assert suggestion("100", 10, seconds=180) == GOOD
    assert suggestion("100", 9, seconds=10) == GOOD
    assert suggestion("111", 10, seconds=10) == HARD
    assert suggestion(None, 10, seconds=10) == EASY


def test_the_reason_is_one_line():
    judgement = judge_number("250", 984.0, "ms", 0.1)
    assert suggest_grade(judgement, ticked=4, points=7, tolerance=0.1) == (AGAIN, "4 of 7 points, number outside 10%")
    of_map = judge_map({"A": "1"}, {"A": 1, "B": 1}, ("A", "B"))
    assert suggest_grade(of_map, ticked=7, points=7)[1] == "7 of 7 points, 1 of 2 entries right"


@pytest.mark.parametrize(("tolerance", "words"), [(0.25, "25%"), (0.0125, "1.25%"), (0.002, "0.2%")])
def test_a_narrow_tolerance_is_not_said_as_none(tolerance: float, words: str):
    assert percent(tolerance) == words


@pytest.mark.parametrize(
    ("typed", "off"), [("312 ms", "1.04×"), ("301 ms", "1.003×"), ("300.1 ms", "under 0.05%"),
                      ("75 ms", "4×"), ("75 s", "250×")],
)
def test_how_far_off_is_told_from_once(typed: str, off: str):
    assert judge_number(typed, 300, "ms", 0.01).off == off
