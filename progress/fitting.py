"""A person's log as the optimizer takes it, and what a fit to it comes to, as the Fit page keeps it."""
from bisect import bisect
from collections import defaultdict
from dataclasses import asdict
from typing import Any

import numpy as np
from django.db.models import Q

from accounts.export import can_schedule
from accounts.models import User
from accounts.rows import has_shape
from flashcards.models import Review, Work
from flashcards.works import Tell
from progress import fit
from progress.fit import Answer, Array, Log

GAIN = {"mean": float, "error": float, "predictions": int}
SCORE = {"loss": float, "rmse": float}
JUDGED = {
    "scored": int, "gain": GAIN, "latest": GAIN, "worth_it": bool, "splits": [GAIN], "answers": int,
    "parameters": [float], "later_loss": float, "seen": {"defaults": SCORE, "yours": SCORE, "fitted": SCORE},
}
JUDGING = 0.8  # the share of the whole that trying it on later reviews takes


def answers_of(user: User) -> list[Answer]:
    """The person's answers that count, as they count now, in the order they were given.

    A card begun anew is another card from there on. What came after a memory brought along without its answers is
    left out: from where it went on is not known.
    """
    begun: dict[int, list[int]] = defaultdict(list)  # of each card the places at which its memory began again
    unknown: set[tuple[int, int]] = set()
    again = Review.objects.filter(card__user=user).standing().filter(
        Q(kind=Review.Kind.RESET) | Q(kind=Review.Kind.IMPORT, rating=None))
    for card, ordinal, kind in again.order_by("card_id", "ordinal").values_list("card_id", "ordinal", "kind"):
        begun[card].append(ordinal)
        if kind == Review.Kind.IMPORT:
            unknown.add((card, len(begun[card])))
    given = Review.objects.filter(card__user=user).answers().order_by("card_id", "ordinal")
    keys: dict[tuple[int, int], int] = {}
    timed, latest = [], {}
    columns = given.values_list("card_id", "ordinal", "at", "study_day", "rated")
    for card, ordinal, at, day, rating in columns.iterator():
        life = card, bisect(begun[card], ordinal) if card in begun else 0
        if life in unknown:
            continue
        latest[card] = max(at, latest.get(card, at))  # a clock set back changes no card's order
        timed.append((latest[card], Answer(keys.setdefault(life, len(keys)), day.toordinal(), rating)))
    timed.sort(key=lambda pair: pair[0])
    return [answer for _, answer in timed]


def fit_log(work: Work, tell: Tell) -> dict[str, Any]:
    """Fit to the log of the work's person, judged on later reviews: what the page shows.

    `later` and `seen` are the scores of the reviews that the judged fits had not seen, and of all reviews.
    """
    tell(0, "Reading your log")
    log = fit.log_of(answers_of(work.user))
    verdict = fit.judged(log, tell=lambda share: tell(JUDGING * share, "Trying it on reviews that it has not seen"))
    result: dict[str, Any] = asdict(verdict)
    if verdict.gain is None:
        return result
    w = fit.fitted(log, fit.before(log, log.place.size), tell=lambda share: tell(
        JUDGING + (1 - JUDGING) * share, "Fitting to all of your reviews"))
    own = np.array(work.user.profile.fsrs_parameters or fit.DEFAULTS)
    by = {"defaults": fit.DEFAULTS, "yours": own, "fitted": w}
    result |= {
        "answers": int(log.count.sum()),
        "parameters": [round(float(number), 6) for number in w],
        "later_loss": _loss_of_the_last(log, verdict.gain.predictions),
        "seen": {name: _score(log, parameters) for name, parameters in by.items()},
    }
    return result


def is_result(result: Any) -> bool:
    """Whether this is what a fit comes to, as its page shows it."""
    if has_shape(result, JUDGED):
        return len(result["splits"]) == fit.SPLITS and result["parameters"] and can_schedule(result["parameters"])
    return has_shape(result, {"scored": int}) and not result.get("gain")


def _loss_of_the_last(log: Log, count: int) -> float:
    """The mean loss of the latest predictions with the defaults, in nats."""
    recall, remembered, _ = fit.predictions(log, fit.DEFAULTS)
    return float(fit.log_losses(recall[-count:], remembered[-count:]).mean())


def _score(log: Log, w: Array) -> dict[str, float]:
    """How well the parameters predict the whole log: log loss in nats and RMSE over bins."""
    recall, remembered, _ = fit.predictions(log, w)
    return {"loss": float(fit.log_losses(recall, remembered).mean()), "rmse": fit.rmse_bins(recall, remembered)}
