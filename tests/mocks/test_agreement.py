"""Agreement between interviewers, worked by hand."""
import pytest

from mocks.agreement import among, of, pairs_in
from mocks.room import Item, Mark, Room


def test_scores_alike_throughout_agree_fully():
    found = of([(0, 0), (1, 1), (2, 2), (3, 3)])
    assert (found.points, found.alike, found.mean_difference, found.kappa) == (4, 4, 0, 1)


def test_a_pair_of_differences_by_hand():
    # Seen: (0 + 1 + 0 + 1) / 4 = 1/2. Chance: one gave 3, 2, 1, 0, the other 3, 1, 1, 1; the squares of all 16
    # differences are 0+4+4+4, 1+1+1+1, 4+0+0+0, 9+1+1+1 = 32, so 2 in the mean. Kappa = 1 - 0.5 / 2.
    found = of([(3, 3), (2, 1), (1, 1), (0, 1)])
    assert (found.alike, found.mean_difference) == (2, 0.5)
    assert found.kappa == pytest.approx(0.75)


def test_scores_turned_round_are_worse_than_chance():
    # Seen (9 + 1 + 1 + 9) / 4 = 5; chance 2.5: the mean square of the differences of 0..3 and 0..3.
    assert of([(0, 3), (1, 2), (2, 1), (3, 0)]).kappa == pytest.approx(-1)


def test_the_same_score_for_everything_says_nothing_about_chance():
    found = of([(2, 2)] * 12)
    assert (found.alike, found.kappa, found.says_something) == (12, None, True)


def test_among_several_it_does_not_matter_who_is_named_first():
    # Both ways round (3, 2), (2, 3), (1, 1), (1, 1): seen (1 + 1) / 4 = 1/2. Each side has 3, 2, 1, 1; the squares of
    # all 16 differences are 0+1+4+4, 1+0+1+1, 4+1+0+0, 4+1+0+0 = 22. Kappa = 1 - 0.5 * 16 / 22.
    found = among([(3, 2), (1, 1)])
    assert found == among([(2, 3), (1, 1)])
    assert (found.points, found.alike, found.mean_difference) == (2, 1, 0.5)
    assert found.kappa == pytest.approx(1 - 8 / 22)


def test_nothing_scored_by_two_is_no_agreement():
    assert (of([]).points, of([]).kappa, of([]).says_something) == (0, None, False)


def test_pairs_are_of_points_that_both_scored():
    marks = {
        "1": {"0": {"p": Mark(3), "q": Mark(2)}},
        "2": {"0": {"p": Mark(1)}, "1": {"r": Mark(0)}},
        "3": {"0": {"p": Mark(0)}},
    }
    room = Room(items=(Item("a", 6, ("p", "q")), Item("b", 6, ("r",))), marks=marks)
    assert pairs_in(room, ["1", "2"]) == [(3, 1)]
    assert pairs_in(room, ["1", "2", "3"]) == [(3, 1), (3, 0), (1, 0)]
