"""What answers come to: shares with their intervals, and predictions against what came. Knows numpy alone."""
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from progress.fit import BINS, log_losses, rmse_bins

Array = np.ndarray
SPARSE = 16  # times as many: keys that spread over more are searched for, not looked up in a table
Z = 1.959964  # standard deviations on each side that hold 95% of a normal distribution


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of a person that stand, card by card, the earliest of each first. Days are ordinals.

    `stability` (days) and `due` are what the answer made of the card, 0 for none; the rest is of the answer's attempt.
    """

    card: Array
    day: Array
    rated: Array
    in_review: Array  # whether the card was in review
    was_new: Array  # whether it was new, or begun anew
    stability: Array
    due: Array
    seconds: Array  # -1 where it carries no time
    confidence: Array  # percent, 0 where none was stated
    within: Array  # 1 or 0, -1 without a number


@dataclass(frozen=True, slots=True)
class Cards:
    """A person's cards as they stand, by their keys; of one without a memory stability is 0. Days are ordinals."""

    pk: Array
    log_length: Array
    topic: Array
    suspended: Array
    under_way: Array  # whether it is new no more
    last_day: Array
    due_day: Array  # 0 for none
    stability: Array
    lapses: Array
    answers: Array


@dataclass(frozen=True, slots=True)
class Scored:
    """The answers that were predicted: each the first of its study day, a study day or more after the card's last one.

    Days are ordinals, `elapsed` and `stability` are in days; `interval` is what the card had been given.
    """

    card: Array
    day: Array
    elapsed: Array
    interval: Array
    stability: Array
    remembered: Array
    in_review: Array  # whether the card was in review: what true retention counts


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, with the 95% interval of the share after Wilson (1927)."""

    hits: int
    of: int

    @property
    def share(self) -> float:
        return self.hits / self.of

    @property
    def low(self) -> float:
        return wilson(self.hits, self.of)[0]

    @property
    def high(self) -> float:
        return wilson(self.hits, self.of)[1]


@dataclass(frozen=True, slots=True)
class Bin:
    """What was predicted to be remembered with about one chance: the mean of the predictions, and what came."""

    low: float
    high: float
    predicted: float
    came: Share


@dataclass(frozen=True, slots=True)
class Calibration:
    """Predictions against what came; the losses are those that a fit is judged by."""

    bins: tuple[Bin, ...]
    answers: int
    log_loss: float
    rmse_bins: float


def scored(answers: Answers) -> Scored:
    """The predicted ones among the answers; each was predicted by what the card's standing answer before it left."""
    same_card = answers.card[1:] == answers.card[:-1]
    predicted = same_card & (answers.day[1:] > answers.day[:-1]) & ~answers.was_new[1:] & (answers.stability[:-1] > 0)
    last = np.flatnonzero(predicted)
    now = last + 1
    return Scored(
        answers.card[now], answers.day[now], answers.day[now] - answers.day[last],
        answers.due[last] - answers.day[last], answers.stability[last],
        (answers.rated[now] > 1).astype(float), answers.in_review[now])


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95% interval of a share: (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)."""
    share, spread = hits / of, Z**2 / of
    middle, half = share + spread / 2, Z * sqrt(share * (1 - share) / of + spread / of / 4)
    low, high = (middle - half) / (1 + spread), (middle + half) / (1 + spread)
    return (0.0 if hits == 0 else low), (1.0 if hits == of else high)  # there exactly, but for rounding


def places(keys: Array, among: Array) -> Array:
    """Where each key stands among others, whole numbers in any order; -1 where it doesn't."""
    if not len(among) or not len(keys):
        return np.full(len(keys), -1)
    first, last = int(among.min()), int(among.max())
    if last - first < SPARSE * len(among):
        table = np.full(last - first + 1, -1)
        table[among - first] = np.arange(len(among))
        return np.where((keys >= first) & (keys <= last), table[np.clip(keys, first, last) - first], -1)
    order = np.argsort(among, kind="stable")
    at = order[np.minimum(np.searchsorted(among, keys, sorter=order), len(among) - 1)]
    return np.where(among[at] == keys, at, -1)


def by(keys: Array, remembered: Array) -> dict[int, Share]:
    """The share remembered of each key that occurs, the keys in order; they are whole numbers."""
    if not len(keys):
        return {}
    first = int(keys.min())
    of = np.bincount(keys - first)
    hits = np.bincount(keys - first, remembered)
    return {first + int(at): Share(int(hits[at]), int(of[at])) for at in np.flatnonzero(of)}


def calibration(recall: Array, remembered: Array) -> Calibration | None:
    """Predicted recall against what came, in 20 equal bins of what was predicted; None without an answer."""
    if not len(recall):
        return None
    place = np.minimum((recall * BINS).astype(int), BINS - 1)
    of = np.bincount(place)
    hits, sums = (np.bincount(place, what) for what in (remembered, recall))
    bins = tuple(
        Bin(int(at) / BINS, (int(at) + 1) / BINS, float(sums[at] / of[at]), Share(int(hits[at]), int(of[at])))
        for at in np.flatnonzero(of))
    return Calibration(bins, len(recall), float(log_losses(recall, remembered).mean()), rmse_bins(recall, remembered))


def brier(said: dict[float, Share]) -> float:
    """The mean squared distance of what was said (0 to 1) from what came, 0 or 1: 0 is perfect, 0.25 a coin's."""
    total = sum(share.of for share in said.values())
    lost = sum(share.hits * (1 - sure) ** 2 + (share.of - share.hits) * sure**2 for sure, share in said.items())
    return lost / total


def recall_after(days: Array, stability: Array, parameters: Sequence[float]) -> Array:
    """memory.recall_after for many at once."""
    decay = -parameters[20]
    factor = 0.9 ** (1 / decay) - 1
    return (1 + factor * days / stability) ** decay
