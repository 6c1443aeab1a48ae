"""What another desired retention would ask and bring: the coming year played many times with a person's own habits."""
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db.models import Sum
from django.utils import timezone
from django.utils.text import get_text_list

from accounts.models import User
from accounts.rows import has_shape
from calculators.models.base import Refusal
from flashcards import queue
from flashcards.foresight import deck_of, habits_of, terms_of
from flashcards.memory import DEFAULT_PARAMETERS, recall_after
from flashcards.models import Attempt, Card, Review, Work
from flashcards.projection import Deck, Habits, Play, Terms, project_all
from flashcards.study_day import study_day
from flashcards.works import Tell
from progress import fit
from progress.fit import Log
from progress.fitting import answers_of

GRID = (0.70, 0.75, 0.80, 0.83, 0.85, 0.87, 0.89, 0.90, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97)
DAYS = 365
REPLICAS = 16
AT_ONCE = 500_000  # cards of all plays, of some 100 bytes each, that are played together
PLAYED = {
    "asked": float, "cards": int, "begun": int, "known": float, "days": int, "replicas": int, "answers": int,
    "reviews_per_day": int, "lately": float, "defaults": [str],
    "outcomes": [{"retention": float, "minutes": [float], "known": [float], "held": float}],
}
DRAWN = {"scored": int, "strength": [float]}  # what years played before it was asked lack
LOW, HIGH = 10, 90  # percentiles of the plays that a spread reaches from and to
LATELY = 28  # days
LEAST_SCORED = 100  # predictions, before it is asked how well the person remembers
STRENGTHS = np.geomspace(0.1, 10, 81)  # that are tried
HELD = 0.1  # of the days: from there on the limit of reviews is said to bind


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle of the plays, and what a tenth of them stay below and above."""

    low: float
    middle: float
    high: float


SPREAD = tuple(Spread.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A year at one desired retention."""

    retention: float
    minutes: Spread  # a day, on average over the year
    known: Spread  # cards at its end: the sum of predicted recall
    held: float  # of the year's days, the share on which the limit of reviews held something back

    @property
    def is_held(self) -> bool:
        return self.held >= HELD

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Outcome":
        """The outcome as work keeps it."""
        return cls(plain["retention"], Spread(*plain["minutes"]), Spread(*plain["known"]), plain["held"])


def outcomes(
    deck: Deck, terms: Terms, habits: Habits, retentions: Sequence[float], *, days: int, replicas: int, seed: int,
    strengths: Sequence[float] = (1.0,), tell: Tell = lambda share, stage: None,
) -> list[Outcome]:
    """The year at each desired retention, from the same deck and, play by play, the same luck; the plays take the
    strengths in turn."""
    found: list[Outcome] = []
    at_once = max(AT_ONCE // (replicas * max(len(deck.new), 1)), 1)
    while asked := retentions[len(found):len(found) + at_once]:
        tell(len(found) / len(retentions), f"Playing a year at {asked[0]:.2f}")
        plays = [Play(retention, seed + play, strengths[play % len(strengths)])
                 for retention in asked for play in range(replicas)]
        courses = project_all(deck, terms, habits, plays, days=days, known_from=days - 1)
        for at, retention in enumerate(asked):
            years = courses[at * replicas:(at + 1) * replicas]
            held = np.mean([year.held > 0 for year in years])
            found.append(Outcome(retention, _spread([year.seconds.mean() / 60 for year in years]),
                                 _spread([year.known[-1] for year in years]), float(held)))
    return found


def strengths_of(log: Log, parameters: Sequence[float], count: int, seed: int) -> list[float]:
    """How much more stable the cards may be than FSRS takes them for, times, so many draws of it: each is what makes
    the predictions come true on average over cards drawn anew from the person's own (a bootstrap). Exactly 1 where
    there are too few predictions."""
    recall, remembered, _ = fit.predictions(log, np.array(parameters))
    if len(recall) < LEAST_SCORED:
        return [1.0]
    card = np.nonzero(log.scored)[1][np.argsort(log.place[log.scored], kind="stable")]
    k = parameters[20]
    waited = np.clip(recall, 1e-9, 1) ** (-1 / k) - 1  # 0.9 ** (-1 / k) - 1 times days over stability
    cards = int(card.max()) + 1
    came = np.bincount(card, remembered, cards)
    expected = np.array([np.bincount(card, (1 + waited / strength) ** -k, cards) for strength in STRENGTHS])
    weights = np.random.default_rng(seed).multinomial(cards, np.full(cards, 1 / cards), count)
    off = expected @ weights.T - weights @ came  # (strengths, draws); it grows with the strength
    return [float(np.exp(np.interp(0, off[:, draw], np.log(STRENGTHS)))) for draw in range(count)]


def _spread(values: Sequence[float]) -> Spread:
    return Spread(*(float(value) for value in np.percentile(values, (LOW, 50, HIGH))))


def play(work: Work, tell: Tell) -> dict[str, Any]:
    """The coming year of the work's person at each desired retention, as the What if page keeps it."""
    tell(0, "Reading your log")
    user, profile = work.user, work.user.profile
    now = timezone.now()
    today = study_day(now, profile.zone, profile.day_start)
    deck, habits, terms = deck_of(user, today), habits_of(user), terms_of(profile, today)
    if not len(deck.new):
        raise Refusal("There is no card in your drill to play the year with.")
    asked = profile.desired_retention
    log = fit.log_of(answers_of(user))
    strengths = strengths_of(log, terms.parameters, REPLICAS, today.toordinal())
    found = outcomes(deck, terms, habits, sorted({*GRID, asked}), days=DAYS, replicas=REPLICAS,
                     seed=today.toordinal(), strengths=strengths, tell=tell)
    begun = ~deck.new
    known = recall_after(-deck.last[begun], deck.stability[begun], np.array(terms.parameters)).sum()
    return {
        "asked": asked, "cards": len(deck.new), "begun": int(begun.sum()), "known": float(known), "days": DAYS,
        "replicas": REPLICAS, "answers": Review.objects.filter(card__user=user).answers().count(),
        "reviews_per_day": terms.reviews_per_day, "lately": _lately(user, now),
        "scored": int(log.scored.sum()), "strength": list(asdict(_spread(strengths)).values()),
        "defaults": _defaults(user, terms, habits), "outcomes": [_plain(one) for one in found],
    }


def is_result(result: Any) -> bool:
    """Whether this is what a played year comes to, as its page shows it."""
    if not has_shape(result, PLAYED):
        return False
    if "strength" in result and not (has_shape(result, DRAWN) and len(result["strength"]) == len(SPREAD)):
        return False
    spreads = [one[name] for one in result["outcomes"] for name in ("minutes", "known")]
    asked = [one for one in result["outcomes"] if one["retention"] == result["asked"]]
    return bool(asked) and all(len(spread) == len(SPREAD) for spread in spreads)


def _plain(outcome: Outcome) -> dict[str, Any]:
    return {**asdict(outcome), "minutes": list(asdict(outcome.minutes).values()),
            "known": list(asdict(outcome.known).values())}


def _defaults(user: User, terms: Terms, habits: Habits) -> list[str]:
    """What the person's log says too little of, so that it is assumed as it is with others."""
    usual, pace = Habits(), queue.pace_of(user)
    kinds = set(Card.objects.filter(user=user, suspended=False).values_list("question__kind", flat=True).distinct())
    unpaced = sorted({kind or "number" for kind in kinds} - set(pace))
    named = {
        "FSRS’s parameters": terms.parameters == DEFAULT_PARAMETERS,
        "how often each grade is given at first sight": habits.first == usual.first,
        "how often Hard, Good and Easy are given to what is remembered": habits.remembered == usual.remembered,
        "how much longer or shorter each grade takes": habits.effort == usual.effort,
        f"the time that {get_text_list([f'“{kind}”' for kind in unpaced], 'and')} cards take": bool(unpaced),
    }
    return [name for name, is_default in named.items() if is_default]


def _lately(user: User, now: datetime) -> float:
    """The minutes a day that the last four weeks took, by what was timed."""
    since = Attempt.objects.filter(card__user=user, kind=Attempt.Kind.GRADE, at__gt=now - timedelta(days=LATELY))
    return (since.aggregate(Sum("seconds"))["seconds__sum"] or 0) / 60 / LATELY
