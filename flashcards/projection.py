"""The days to come, played through: what a deck asks of its person each day under one set of terms."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from flashcards.memory import recall_after
from flashcards.spread import FUZZ, UNFUZZED

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
    remember; and how long a look that ends in each of the four takes, as a multiple of the card's seconds."""

    first: tuple[float, float, float, float] = (0.30, 0.12, 0.48, 0.10)
    remembered: tuple[float, float, float] = (0.14, 0.72, 0.14)
    effort: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a person sets; steps are counted, `interview` is a day counted from today, None without one."""

    parameters: tuple[float, ...]  # FSRS-6's 21
    desired_retention: float
    new_questions_per_day: int
    new_numbers_per_day: int
    reviews_per_day: int
    maximum_interval: int = 36_500
    interview: int | None = None
    question_steps: int = 0
    number_steps: int = 0
    relearning_steps: int = 0
    fuzz: bool = False


@dataclass(frozen=True, slots=True)
class Course:
    """What each day asks, and what is known after it; all arrays are (days,)."""

    reviews: Array
    started: Array  # new cards begun
    seconds: Array
    known: Array  # the sum of predicted recall over all that was begun
    held: Array  # due and past the limit
    all_started: int | None  # the first day at whose end nothing is new


@dataclass(frozen=True, slots=True)
class Play:
    """One way the days may go. `strength` is how much more stable the cards are than FSRS takes them for, times: what
    is remembered goes by it, what is scheduled does not."""

    desired_retention: float
    seed: int
    strength: float = 1.0


def project(deck: Deck, terms: Terms, habits: Habits, *, days: int, seed: int) -> Course:
    """One play of the coming `days`, today first, as project_all() has it."""
    return project_all(deck, terms, habits, [Play(terms.desired_retention, seed)], days=days)[0]


def project_all(
    deck: Deck, terms: Terms, habits: Habits, plays: Sequence[Play], *, days: int, known_from: int = 0
) -> list[Course]:
    """The coming `days`, today first, once for each play: whoever is due and lowest in predicted recall comes first.

    Whether a card is remembered, its grade and its fuzz are drawn by the play's seed, the card and the day alone: the
    same luck at any retention. Steps are passed on their day, each look there ending in Good. Siblings, easy days and
    which day is freest are left out. What is known is worked out from the day `known_from` on.
    """
    w, effort, cards = np.array(terms.parameters), np.array(habits.effort), len(deck.new)
    every = np.arange(len(plays))[:, None]
    seeds = np.array([play.seed for play in plays], np.uint64)
    strength = np.array([play.strength for play in plays])
    wait = _wait(np.array([play.desired_retention for play in plays]), w[20])
    steps = np.where(deck.number, terms.number_steps, terms.question_steps)
    # Of each play and card, one play after the other: (plays * cards,).
    stability, difficulty, last, due = (
        np.tile(one, len(plays)) for one in (deck.stability.astype(float), deck.difficulty.astype(float), deck.last,
                                             np.where(deck.new, NOBODY_KNOWS, deck.due)))
    to_begin = ((np.flatnonzero(deck.new & ~deck.number), terms.new_questions_per_day),
                (np.flatnonzero(deck.new & deck.number), terms.new_numbers_per_day))
    begun, all_started = np.flatnonzero(~deck.new), None  # the same in every play
    made = {name: np.zeros((len(plays), days)) for name in ("reviews", "started", "seconds", "known", "held")}
    for day in range(days):
        waiting = np.flatnonzero(due <= day)
        line, made["held"][:, day] = _first(
            waiting, (day - last[waiting]) / stability[waiting], waiting // cards, len(plays), terms.reviews_per_day)
        first = np.concatenate([which[a_day * day:a_day * (day + 1)] for which, a_day in to_begin])
        seen = np.concatenate([line, (every * cards + first).ravel()])
        play, card = np.divmod(seen, cards)
        is_new = np.arange(len(seen)) >= len(line)
        drawn = _luck(seeds[play], card, day)
        before = np.where(is_new, 0, day - last[seen])

        recall = recall_after(before, stability[seen], w)
        remembered = is_new | (drawn(0) < recall_after(before, strength[play] * stability[seen], w))
        grade = np.where(is_new, 1 + _which(habits.first, drawn(1)),
                         np.where(remembered, 2 + _which(habits.remembered, drawn(1)), 1))
        looks = np.where(is_new, steps[card] - (grade == 3), terms.relearning_steps * ~remembered)
        looks = np.where(grade == 4, 0, np.maximum(looks, 0))
        moved = np.where(is_new, (w[grade - 1], first_difficulty(grade, w)),
                         after(stability[seen], difficulty[seen], recall, grade, w))
        stability[seen], difficulty[seen] = in_steps(*moved, looks, w)
        bare = intervals(stability[seen], day, terms, wait[play])
        due[seen] = day + (fuzzed(bare, before, longest(day, terms), drawn(2)) if terms.fuzz else bare)
        last[seen] = day
        begun = np.concatenate([begun, first])

        made["reviews"][:, day], made["started"][:, day] = np.bincount(play[~is_new], minlength=len(plays)), len(first)
        made["seconds"][:, day] = np.bincount(
            play, deck.seconds[card] * (effort[grade - 1] + looks * effort[2]), len(plays))
        if day >= known_from:
            at = every * cards + begun
            made["known"][:, day] = recall_after(day - last[at], strength[:, None] * stability[at], w).sum(axis=1)
        if all_started is None and len(begun) == cards:
            all_started = day
    return [Course(**{name: of[at] for name, of in made.items()}, all_started=all_started)
            for at in range(len(plays))]


def _first(waiting: Array, forgotten: Array, play: Array, plays: int, most: int) -> tuple[Array, Array]:
    """Of those that wait, one play after the other, the `most` of each that are most forgotten; and how many of each
    are held back."""
    counts = np.bincount(play, minlength=plays)
    held = np.maximum(counts - most, 0)
    if not held.any():
        return waiting, held
    kept = []
    for end, count, over in zip(counts.cumsum(), counts, held, strict=True):
        mine = np.arange(end - count, end)
        if over:  # sorting a backlog of thousands for a few would take most of the time
            mine = np.sort(mine[np.argpartition(-forgotten[mine], most)[:most]])
        kept.append(waiting[mine])
    return np.concatenate(kept), held


def _luck(seeds: Array, cards: Array, day: int) -> Callable[[int], Array]:
    """What draws numbers from 0 to 1 that hang on seed, card, day and what they are for alone."""
    key = _mixed(_mixed(_mixed(seeds) + cards.astype(np.uint64)) + np.uint64(day))
    return lambda what: (_mixed(key + np.uint64(what)) >> np.uint64(11)) * 2.0**-53


def _mixed(keys: Array) -> Array:
    """SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _which(shares: Sequence[float], luck: Array) -> Array:
    """Which of these shares of 1 each draw falls into, from 0."""
    return np.searchsorted(np.cumsum(shares)[:-1], luck, side="right")


def _wait(retention: Array | float, k: float) -> Array | float:
    """The days, as a multiple of stability, until recall has fallen to this."""
    return (retention ** (-1 / k) - 1) / (0.9 ** (-1 / k) - 1)


def longest(day: int, terms: Terms) -> int:
    """The longest interval that may begin on a day."""
    if terms.interview is not None and terms.interview > day:
        return min(terms.maximum_interval, terms.interview - day)
    return terms.maximum_interval


def intervals(stability: Array, day: int, terms: Terms, wait: Array | None = None) -> Array:
    """The days until each is due again: FSRS-6's interval, at least one, and within the longest and the interview;
    `wait` as _wait() has it for each, where they are not all asked for as the terms have it."""
    if wait is None:
        wait = _wait(terms.desired_retention, terms.parameters[20])
    return np.clip(np.round(stability * wait), 1, longest(day, terms)).astype(int)


def fuzzed(days: Array, before: Array, most: int, luck: Array) -> Array:
    """Each interval moved by its luck within the range that spread.fuzz_range() gives it; none that grows comes to
    less than a day more than `before`."""
    least = np.minimum(np.where(days > before, before + 1, 1), most)
    days = np.clip(days, least, most)
    delta = np.where(days >= UNFUZZED, 1 + sum(share * np.clip(np.minimum(days, end) - start, 0, None)
                                               for start, end, share in FUZZ), 0)
    low, high = (np.clip(np.floor(bound + 0.5), least, most) for bound in (days - delta, days + delta))
    high = np.where((low == high) & (high > 2) & (high < most), high + 1, high)
    return (low + np.floor(luck * (high - low + 1))).astype(int)


def in_steps(stability: Array, difficulty: Array, looks: Array, w: Array) -> tuple[Array, Array]:
    """Stability and difficulty after so many more looks on the same day, each of which ends in Good."""
    for look in range(looks.max(initial=0)):
        more = looks > look
        grown = stability * np.maximum(np.exp(w[17] * w[18]) * stability ** -w[19], 1)
        stability = np.where(more, grown, stability)
        difficulty = np.where(more, _toward_easy(difficulty, w), difficulty)
    return stability, difficulty


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
    return np.maximum(np.where(grade > 1, grown, lost), 0.001), _toward_easy(moved, w)


def _toward_easy(difficulty: Array, w: Array) -> Array:
    """Difficulty drawn a little back to where an easy card begins."""
    easy = w[4] - np.exp(3 * w[5]) + 1
    return np.clip(w[7] * easy + (1 - w[7]) * difficulty, 1, 10)
