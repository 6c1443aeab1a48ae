"""The arithmetic of reports: against figures worked out elsewhere, and laws that hold for any log."""
import numpy as np
import pytest

from flashcards import memory
from progress import counts
from progress.counts import Answers, Share


def answers(*rows: tuple[int, int, int, bool, bool, float, int]) -> Answers:
    """Rows of card, day, rating, in review, was new, stability, due."""
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Answers(*columns[:3], columns[3].astype(bool), columns[4].astype(bool), columns[5], columns[6],
                   *(np.zeros(len(rows), int) for _ in range(3)))


# Wilson's interval at 95%, as R's prop.test(x, n, correct = FALSE) gives it.
@pytest.mark.parametrize(("hits", "of", "low", "high"), [
    (8, 10, 0.4901625, 0.9433178), (0, 10, 0, 0.2775328), (10, 10, 0.7224672, 1), (81, 263, 0.2552826, 0.3662081),
])
def test_an_interval_is_wilsons(hits: int, of: int, low: float, high: float) -> None:
    assert counts.wilson(hits, of) == pytest.approx((low, high), abs=1e-4)


def test_a_share_lies_within_its_interval() -> None:
    for of in range(1, 40):
        for hits in range(of + 1):
            share = Share(hits, of)
            assert 0 <= share.low <= share.share <= share.high <= 1


def test_recall_of_many_is_memorys_of_each() -> None:
    days, stability = np.array([0, 1, 7, 400]), np.array([2.3, 0.5, 7.0, 31.0])
    by_one = [memory.recall_after(d, s) for d, s in zip(days, stability, strict=True)]
    assert counts.recall_after(days, stability, memory.DEFAULT_PARAMETERS) == pytest.approx(by_one)
    assert by_one[2] == pytest.approx(0.9)  # stability is the days until 90%


def test_the_answer_before_is_of_the_same_card() -> None:
    scored = counts.scored(answers(
        (1, 10, 3, False, True, 2.3, 12), (1, 12, 3, True, False, 8.0, 40), (1, 12, 1, True, False, 1.0, 12),
        (2, 40, 3, False, True, 2.3, 42), (2, 50, 1, True, False, 0.5, 51)))
    assert scored.card.tolist() == [1, 2]
    assert scored.elapsed.tolist() == [2, 10]
    assert scored.interval.tolist() == [2, 2]
    assert scored.stability.tolist() == [2.3, 2.3]
    assert scored.remembered.tolist() == [1, 0]


def test_no_answers_are_no_predictions() -> None:
    nothing = Answers(*(np.zeros(0, int) for _ in range(10)))
    assert not len(counts.scored(nothing).day)
    assert counts.by(np.zeros(0, int), np.zeros(0)) == {}
    assert counts.calibration(np.zeros(0), np.zeros(0)) is None


def test_every_prediction_falls_into_one_bin() -> None:
    recall = np.array([0, 0.049, 0.05, 0.5, 0.95, 1])
    calibration = counts.calibration(recall, np.array([0, 0, 1, 1, 1, 1.0]))
    assert [(round(one.low, 2), one.came.of) for one in calibration.bins] == [(0, 2), (0.05, 1), (0.5, 1), (0.95, 2)]
    assert calibration.answers == 6
    assert calibration.bins[-1].predicted == pytest.approx(0.975)


def test_brier_scores_by_hand() -> None:
    # 90% sure, right 3 of 4: (3 * 0.01 + 0.81) / 4; and a coin that is always called 50%.
    assert counts.brier({0.9: Share(3, 4)}) == pytest.approx(0.21)
    assert counts.brier({0.5: Share(1, 7)}) == pytest.approx(0.25)


@pytest.mark.parametrize("spread", [1, 10**9])
def test_keys_are_found_among_keys_in_any_order_close_together_or_far_apart(spread: int) -> None:
    keys, among = np.array([5, 2, 9, 7]), np.array([2, 5, 7])
    assert counts.places(keys * spread, among * spread).tolist() == [1, 0, -1, 2]
    assert counts.places(keys * spread, among[::-1] * spread).tolist() == [1, 2, -1, 0]
    assert counts.places(np.array([-(10**12), 10**12]), among * spread).tolist() == [-1, -1]
    assert counts.places(np.array([5]), np.zeros(0, int)).tolist() == [-1]
