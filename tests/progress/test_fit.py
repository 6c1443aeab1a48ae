"""The optimizer against two logs whose figures are known (tests/golden/revlog), and against its own formulas."""
import csv
import json
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from flashcards.memory import DEFAULT_PARAMETERS, Memory, Rules, predicted_recall, step
from progress import fit
from tests.drillapp.commands import ROOT

REVLOG = ROOT / "tests" / "golden" / "revlog"
TRUE = np.array(json.loads((REVLOG / "simulated_four_button.json").read_text())["true_parameters"])


def read(name: str, zone: str) -> list[fit.Answer]:
    """A recorded log, with days from 04:00 in its zone."""
    rows = []
    with (REVLOG / name).open() as file:
        for row in csv.DictReader(file):
            at = datetime.fromisoformat(row["review_time"])
            day = (at.astimezone(ZoneInfo(zone)) - timedelta(hours=4)).date()
            rows.append((at, fit.Answer(int(row["card_id"]), day.toordinal(), int(row["rating"]))))
    return [answer for _, answer in sorted(rows, key=lambda row: row[0])]


@pytest.fixture(scope="module")
def real() -> fit.Log:
    return fit.log_of(read("real_two_button.csv", "America/Los_Angeles"))


@pytest.fixture(scope="module")
def simulated() -> fit.Log:
    return fit.log_of(read("simulated_four_button.csv", "America/New_York"))


@pytest.fixture
def log(request: pytest.FixtureRequest) -> fit.Log:
    return request.getfixturevalue(request.param)


def figures(log: fit.Log, w: np.ndarray, since: int = 0) -> tuple[int, float, float]:
    """Predictions scored, their mean loss and RMSE over bins, from a place in the log on."""
    recall, remembered, place = fit.predictions(log, w)
    later = place >= since
    loss = fit.log_losses(recall[later], remembered[later]).mean()
    return int(later.sum()), round(float(loss), 4), round(fit.rmse_bins(recall[later], remembered[later]), 3)


def test_the_default_and_the_true_parameters_score_as_published(real: fit.Log, simulated: fit.Log) -> None:
    assert figures(real, fit.DEFAULTS) == (3_746, 0.4659, 0.036)
    assert figures(simulated, fit.DEFAULTS) == (5_820, 0.3529, 0.023)
    assert figures(simulated, TRUE) == (5_820, 0.3515, 0.011)


@pytest.mark.parametrize(("log", "reference"), [("real", 0.4547), ("simulated", 0.3523)], indirect=["log"])
def test_a_fit_to_the_whole_log_is_as_good_as_the_reference_optimizers(log: fit.Log, reference: float) -> None:
    _, loss, _ = figures(log, fit.fitted(log, fit.before(log, log.place.size)))
    assert loss <= reference + 0.003


@pytest.mark.parametrize(
    ("log", "reference", "default"), [("real", 0.4665, 0.4628), ("simulated", 0.3665, 0.3654)], indirect=["log"])
def test_a_fit_to_seven_tenths_predicts_the_rest_as_well(log: fit.Log, reference: float, default: float) -> None:
    places = fit.predictions(log, fit.DEFAULTS)[2]
    cut = places[int(len(places) * 0.7)]
    w = fit.fitted(log, fit.before(log, cut))
    assert figures(log, fit.DEFAULTS, cut)[1] == default
    assert figures(log, w, cut)[1] <= reference + 0.003


@pytest.mark.parametrize("log", ["real", "simulated"], indirect=True)
def test_neither_published_log_is_worth_a_fit(log: fit.Log) -> None:
    verdict = fit.judged(log)
    assert not verdict.worth_it
    assert verdict.gain.error == pytest.approx({3_746: 0.0027, 5_820: 0.0010}[verdict.scored], abs=0.0002)


def test_the_gradient_is_the_slope_of_the_loss(simulated: fit.Log) -> None:
    w, weight = TRUE * 0.97 + 0.001, fit.before(simulated, 3_000)
    _, gradient = fit.loss_and_gradient(simulated, w, weight)
    for at in range(21):
        aside = np.zeros(21)
        aside[at] = 1e-5 * max(abs(w[at]), 0.01)
        up, down = (fit.loss_and_gradient(simulated, w + way * aside, weight)[0] for way in (1, -1))
        assert gradient[at] == pytest.approx((up - down) / (2 * aside[at]), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("w", [DEFAULT_PARAMETERS, tuple(TRUE)])
def test_recall_is_predicted_as_the_scheduler_does(w: tuple[float, ...]) -> None:
    """Against the fsrs package, for grades and gaps that reach every formula: same day, forgotten, all four grades."""
    days = [0, 0, 1, 1, 4, 30, 31, 31, 90, 400]
    ratings = [3, 1, 2, 4, 3, 1, 1, 4, 2, 3]
    log = fit.log_of(fit.Answer(7, day, rating) for day, rating in zip(days, ratings, strict=True))
    recall, _, _ = fit.predictions(log, np.array(w))
    memory, expected, rules = Memory(), [], Rules(parameters=w)
    for day, rating in zip(days, ratings, strict=True):
        today = date(2026, 1, 1) + timedelta(days=day)
        if memory.last_day and today > memory.last_day:
            expected.append(predicted_recall(memory, today, w))
        at = datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=day)
        memory, _ = step(memory, rating, at=at, study_day=today, rules=rules)
    assert recall == pytest.approx(expected, rel=1e-9)


def learner(w: np.ndarray, *, cards: int, reviews: int, seed: int) -> list[fit.Answer]:
    """Somebody who remembers by these parameters and comes back after fixed gaps, whatever they remember."""
    rng, answers = np.random.default_rng(seed), []
    rules = Rules(parameters=tuple(w))
    for card in range(cards):
        memory, day = Memory(), date(2026, 1, 1) + timedelta(days=int(rng.integers(0, 40)))
        for gap in (0, *rng.choice([1, 2, 4, 8, 16, 30], reviews)):
            day += timedelta(days=int(gap))
            recall = predicted_recall(memory, day, tuple(w))
            rating = 3 if recall is None or rng.random() < recall else 1
            at = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
            memory, _ = step(memory, rating, at=at, study_day=day, rules=rules)
            answers.append((day, fit.Answer(card, day.toordinal(), rating)))
    return [answer for _, answer in sorted(answers, key=lambda answer: answer[0])]


def test_somebody_who_forgets_otherwise_is_worth_a_fit() -> None:
    w = fit.DEFAULTS.copy()
    w[2], w[8], w[20] = 0.3, 0.4, 0.6  # forgets new things far sooner, gains little by each review
    verdict = fit.judged(fit.log_of(learner(w, cards=150, reviews=8, seed=1)))
    assert verdict.worth_it
    assert verdict.latest.mean > 0


def test_too_few_reviews_are_not_judged() -> None:
    verdict = fit.judged(fit.log_of(learner(fit.DEFAULTS, cards=40, reviews=9, seed=2)))
    assert (verdict.scored, verdict.gain, verdict.worth_it) == (40 * 9, None, False)


@pytest.mark.parametrize(("cards", "reviews", "is_judged"), [(57, 7, False), (50, 8, True)])
def test_a_fit_is_judged_from_400_scored_reviews_on(cards: int, reviews: int, is_judged: bool) -> None:
    verdict = fit.judged(fit.log_of(learner(fit.DEFAULTS, cards=cards, reviews=reviews, seed=2)))
    assert (verdict.scored, verdict.gain is not None) == (cards * reviews, is_judged)
    assert not verdict.worth_it  # by the defaults is how this person forgets


def test_an_empty_log_predicts_nothing() -> None:
    assert [len(part) for part in fit.predictions(fit.log_of([]), fit.DEFAULTS)] == [0, 0, 0]


# The edges of the gate: what five splits gain, the last two of them the latest; each worked out by hand.
# Sixteen of mean 1 whose squared deviations add up to 60: a standard deviation of 2, the root of 60 / 15, and so a
# standard error of 2 / 4. The latest gain without a doubt.
AT_TWO = [[4, -2, 4, -2], [3, -1, 3], [-1, 3, -1], [1, 1, 1], [1, 1, 1]]
# Ten of mean 1 and a standard error of 0.45, the root of 18 / 9 / 10; the latest four have a mean of 1 and a standard
# error of 1, the root of 12 / 3 / 4.
LATEST_AT_ONE = [[2, 0], [2, 0], [2, 0], [4, 0], [0, 0]]
# Sixteen of mean 2 with the deviations of the first, so four standard errors; the latest four have a mean of 0.5 and a
# standard error of 0.87, the root of 9 / 3 / 4, which is too little unless the whole is beyond doubt.
AT_FOUR = [[5, 5, 4, 0], [4, 0, 4, 0], [2, 2, 2, 2], [-1, 2], [2, -1]]


@pytest.mark.parametrize(("more", "worth_it"), [(-1e-9, False), (0, False), (1e-9, True)])
@pytest.mark.parametrize(("gains", "whole", "latest"), [
    (AT_TWO, (1, 0.5), (1, 0)), (LATEST_AT_ONE, (1, 0.2**0.5), (1, 1)), (AT_FOUR, (2, 0.5), (0.5, 0.75**0.5)),
])
def test_what_lies_on_an_edge_of_the_gate_is_too_little_and_a_hair_more_is_enough(
    monkeypatch: pytest.MonkeyPatch, gains: list[list[float]], whole: tuple[float, float], latest: tuple[float, float],
    more: float, worth_it: bool,
) -> None:
    left = iter(gains)
    monkeypatch.setattr(fit, "fitted", lambda log, weight, tell: fit.DEFAULTS)
    monkeypatch.setattr(fit, "_gained", lambda log, w, start, end: np.array(next(left), float) + more)
    verdict = fit.judged(fit.log_of(learner(fit.DEFAULTS, cards=50, reviews=8, seed=2)))
    for gain, (mean, error) in ((verdict.gain, whole), (verdict.latest, latest)):
        assert (gain.mean, gain.error) == (pytest.approx(mean + more, abs=1e-12), pytest.approx(error))
    assert verdict.worth_it is worth_it
