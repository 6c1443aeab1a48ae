"""The days to come, played through once: what a deck asks of its person each day under one set of terms."""
from dataclasses import dataclass

import numpy as np

from flashcards.memory import recall_after

Array = np.ndarray
NOBODY_KNOWS = 10**6  # a due day for what is not begun


@dataclass(frozen=True, slots=True)
class Deck:
    """The cards, begun ones first and then the new ones in the order they come; days count from today.

    All arrays are (cards,); of a new card stability, difficulty and `last` say nothing.
    """

    stability: Array  # days
    difficulty: Array
    due: Array
    last: Array  # the day of the latest answer, 0 or less
    new: Array
    number: Array  # a number card, not a question
    seconds: Array  # that a look at it takes this person


@dataclass(frozen=True, slots=True)
class Habits:
    """How a person grades: the shares of Again, Hard, Good and Easy at first sight, and of the last three when they
    remember; and how long each of the four takes, as a multiple of the card's seconds, a lapse with its second look."""

    first: tuple[float, float, float, float] = (0.30, 0.12, 0.48, 0.10)
    remembered: tuple[float, float, float] = (0.14, 0.72, 0.14)
    effort: tuple[float, float, float, float] = (2.0, 1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a person sets; `interview` is a day counted from today, None without one."""

    parameters: tuple[float, ...]  # FSRS-6's 21
    desired_retention: float
    new_questions_per_day: int
    new_numbers_per_day: int
    reviews_per_day: int
    maximum_interval: int = 36_500
    interview: int | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """What each day asks, and what is known after it; all arrays are (days,)."""

    reviews: Array
    started: Array  # new cards begun
    seconds: Array
    known: Array  # the sum of predicted recall over all that was begun
    held: Array  # due and past the limit
    all_started: int | None  # the first day at whose end nothing is new


def project(
    deck: Deck, terms: Terms, habits: Habits, *, days: int, seed: int, known_from: int = 0, strength: float = 1.0
) -> Course:
    """One play of the coming `days`, today first: whoever is due and lowest in predicted recall comes first.

    Whether a card is remembered, and its grade, are drawn with `seed`. Fuzz, siblings and learning steps are left out;
    a lapse is looked at twice. What is known is worked out from the day `known_from` on. `strength` is how much more
    stable the cards are than FSRS takes them for, times: what is remembered goes by it, what is scheduled does not.
    """
    w, effort, rng = np.array(terms.parameters), np.array(habits.effort), np.random.default_rng(seed)
    stability, difficulty = deck.stability.astype(float), deck.difficulty.astype(float)
    due, last, new = deck.due.copy(), deck.last.copy(), deck.new.copy()
    made = {name: np.zeros(days) for name in ("reviews", "started", "seconds", "known", "held")}
    all_started = None
    for day in range(days):
        waiting = np.flatnonzero(~new & (due <= day))
        held = max(len(waiting) - terms.reviews_per_day, 0)
        forgotten = (day - last[waiting]) / stability[waiting]
        if held:  # sorting a backlog of thousands for a few would take most of the time
            first = np.sort(np.argpartition(forgotten, held)[held:])
            waiting, forgotten = waiting[first], forgotten[first]
        line = waiting[np.argsort(-forgotten, kind="stable")]
        begun = np.concatenate([
            np.flatnonzero(new & ~deck.number)[: terms.new_questions_per_day],
            np.flatnonzero(new & deck.number)[: terms.new_numbers_per_day],
        ])
        made["held"][day] = held
        recall = recall_after(day - last[line], stability[line], w)
        truth = recall if strength == 1 else recall_after(day - last[line], strength * stability[line], w)
        remembered = rng.random(len(line)) < truth
        grade = np.where(remembered, rng.choice([2, 3, 4], len(line), p=habits.remembered), 1)
        stability[line], difficulty[line] = after(stability[line], difficulty[line], recall, grade, w)
        first = rng.choice([1, 2, 3, 4], len(begun), p=habits.first)
        stability[begun], difficulty[begun] = w[first - 1], first_difficulty(first, w)
        seen = np.concatenate([line, begun])
        new[begun], last[seen] = False, day
        due[seen] = day + intervals(stability[seen], day, terms)
        made["reviews"][day], made["started"][day] = len(line), len(begun)
        made["seconds"][day] = (deck.seconds[seen] * effort[np.concatenate([grade, first]) - 1]).sum()
        if day >= known_from:
            made["known"][day] = recall_after(day - last[~new], strength * stability[~new], w).sum()
        if all_started is None and not new.any():
            all_started = day
    return Course(**made, all_started=all_started)


def intervals(stability: Array, day: int, terms: Terms) -> Array:
    """The days until each is due again: FSRS-6's interval, at least one, and within the longest and the interview."""
    k = terms.parameters[20]
    factor = 0.9 ** (-1 / k) - 1
    bare = np.round(stability / factor * (terms.desired_retention ** (-1 / k) - 1))
    most = terms.maximum_interval
    if terms.interview is not None and terms.interview > day:
        most = min(most, terms.interview - day)
    return np.clip(bare, 1, most).astype(int)


def first_difficulty(grade: Array, w: Array) -> Array:
    return np.clip(w[4] - np.exp(w[5] * (grade - 1)) + 1, 1, 10)


def after(stability: Array, difficulty: Array, recall: Array, grade: Array, w: Array) -> tuple[Array, Array]:
    """Stability and difficulty after an answer on a later day, by FSRS-6's formulas."""
    bonus = np.where(grade == 2, w[15], np.where(grade == 4, w[16], 1.0))
    grown = stability * (1 + np.exp(w[8]) * (11 - difficulty) * stability ** -w[9]
                         * np.expm1(w[10] * (1 - recall)) * bonus)
    lost = w[11] * difficulty ** -w[12] * ((stability + 1) ** w[13] - 1) * np.exp(w[14] * (1 - recall))
    lost = np.minimum(lost, stability / np.exp(w[17] * w[18]))
    moved = difficulty - w[6] * (grade - 3) * (10 - difficulty) / 9
    easy = w[4] - np.exp(3 * w[5]) + 1
    return (np.maximum(np.where(grade > 1, grown, lost), 0.001),
            np.clip(w[7] * easy + (1 - w[7]) * moved, 1, 10))
