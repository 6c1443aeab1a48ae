"""FSRS-6's 21 parameters from a person's own answers, by gradient, and how far the result is to be believed."""
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from fsrs.scheduler import DEFAULT_PARAMETERS, LOWER_BOUNDS_PARAMETERS, STABILITY_MIN, UPPER_BOUNDS_PARAMETERS

Array = np.ndarray
DEFAULTS, LOWEST, HIGHEST = map(np.array, (DEFAULT_PARAMETERS, LOWER_BOUNDS_PARAMETERS, UPPER_BOUNDS_PARAMETERS))
# How far the parameters of people lie apart: what a fit pays for leaving the defaults. fsrs-optimizer 6.5.0.
SPREAD = np.array((
    6.43, 9.66, 17.58, 27.85, 0.57, 0.28, 0.6, 0.12, 0.39, 0.18, 0.33, 0.3, 0.09, 0.16, 0.57, 0.25, 1.03, 0.31, 0.32,
    0.14, 0.27,
))
SURE = 1e-6  # predicted recall is kept this far from 0 and 1
BINS = 20
SPLITS, LATEST = 5, 2  # expanding splits in time; how many of them are the latest ones
LEAST_SCORED = 400  # predictions, before a fit can be judged
ERRORS, CLEAR = 2, 4  # standard errors that the gain must exceed, and beyond which it is beyond doubt

Tell = Callable[[float], None]  # how far it is, 0 to 1


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: which card, on which study day (as a number), 1 to 4; in the order given."""

    card: int
    day: int
    rating: int


@dataclass(frozen=True, slots=True)
class Gain:
    """How much less is lost on each later prediction with fitted parameters than with the defaults, in nats."""

    mean: float
    error: float  # the standard error of the paired differences
    predictions: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What fitting was worth on reviews that it had not seen."""

    scored: int  # predictions in the whole log
    gain: Gain | None  # over all splits; None when too few are scored
    latest: Gain | None  # over the latest of them
    worth_it: bool
    splits: tuple[Gain, ...] = ()  # of each by itself


@dataclass(frozen=True, slots=True)
class Log:
    """Cards' answers as columns, the longest first: `elapsed` and `rating` are (answers, cards), `place` is where each
    stood in the log; only the first `count[t]` cards have an answer t."""

    elapsed: Array  # days since the answer before; 0 for the first
    rating: Array
    place: Array
    count: Array

    @property
    def scored(self) -> Array:
        """Which answers are predictions that came true or not: a study day or more after the one before."""
        return self.elapsed > 0


def log_of(answers: Iterable[Answer]) -> Log:
    """The log in columns, from answers in the order they were given."""
    by_card: dict[int, list[tuple[int, int, int]]] = {}
    for place, answer in enumerate(answers):
        by_card.setdefault(answer.card, []).append((answer.day, answer.rating, place))
    cards = sorted(by_card.values(), key=len, reverse=True)
    longest = len(cards[0]) if cards else 0
    elapsed, rating, place = (np.zeros((longest, len(cards)), int) for _ in range(3))
    for at, rows in enumerate(cards):
        day, rating[: len(rows), at], place[: len(rows), at] = map(np.array, zip(*rows, strict=True))
        elapsed[1 : len(rows), at] = np.maximum(np.diff(np.maximum.accumulate(day)), 0)
    lengths = np.array([len(rows) for rows in cards])
    return Log(elapsed, rating, place, np.array([(lengths > t).sum() for t in range(longest)], int))


def predictions(log: Log, w: Array) -> tuple[Array, Array, Array]:
    """Of each scored answer: predicted recall, whether it was remembered, and its place in the log; in log order."""
    recall, _ = _run(log, w, None)
    scored = log.scored
    order = np.argsort(log.place[scored], kind="stable")
    return recall[scored][order], (log.rating[scored] > 1)[order].astype(float), log.place[scored][order]


def log_losses(recall: Array, remembered: Array) -> Array:
    """The loss of each prediction, in nats."""
    sure = np.clip(recall, SURE, 1 - SURE)
    return -np.where(remembered > 0, np.log(sure), np.log1p(-sure))


def rmse_bins(recall: Array, remembered: Array) -> float:
    """How far recall lies from what was predicted, over 20 equal bins of predicted recall, weighted by their counts."""
    bins = np.minimum((recall * BINS).astype(int), BINS - 1)
    count = np.bincount(bins, minlength=BINS)
    apart = (np.bincount(bins, recall, BINS) - np.bincount(bins, remembered, BINS)) / np.maximum(count, 1)
    return float(np.sqrt((count * apart**2).sum() / count.sum()))


def loss_and_gradient(log: Log, w: Array, weight: Array) -> tuple[float, Array]:
    """The summed loss of the answers, each times its weight (answers, cards), and its gradient by the parameters."""
    recall, gradient = _run(log, w, weight)
    losses = log_losses(recall, (log.rating > 1).astype(float))
    return float((losses * weight).sum()), gradient


def judged(log: Log, *, tell: Tell = lambda share: None) -> Verdict:
    """Whether fitted parameters predict later reviews better than the defaults.

    Five expanding splits in time: fitted to the first k sixths of what is scored, tried on the next sixth. Worth it is
    a fit whose gain over all of them exceeds twice its standard error, and which still gains on the latest third: by
    more than one standard error there, or, where the whole gain exceeds four, at all. How somebody remembered a year
    ago is no reason to change how they are scheduled now.
    """
    places = predictions(log, DEFAULTS)[2]
    if len(places) < LEAST_SCORED:
        return Verdict(len(places), None, None, False)
    cuts = [places[len(places) * at // (SPLITS + 1)] for at in range(SPLITS + 1)] + [len(log.place.ravel())]
    gains = []
    for at in range(1, SPLITS + 1):
        def tell_of_split(share: float, at: int = at) -> None:
            tell((at - 1 + share) / SPLITS)

        w = fitted(log, before(log, cuts[at]), tell=tell_of_split)
        gains.append(_gained(log, w, cuts[at], cuts[at + 1]))
    gain, latest = _gain(gains), _gain(gains[-LATEST:])
    doubt = 0 if gain.mean > CLEAR * gain.error else latest.error
    worth_it = gain.mean > ERRORS * gain.error and latest.mean > doubt
    return Verdict(len(places), gain, latest, bool(worth_it), tuple(_gain([split]) for split in gains))


def _gained(log: Log, w: Array, start: int, end: int) -> Array:
    """What each prediction from one place in the log to another loses with the defaults and not with `w`."""
    recall, remembered, place = predictions(log, w)
    default, _, _ = predictions(log, DEFAULTS)
    later = (place >= start) & (place < end)
    return log_losses(default[later], remembered[later]) - log_losses(recall[later], remembered[later])


def _gain(gains: Sequence[Array]) -> Gain:
    differences = np.concatenate(gains)
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return Gain(float(differences.mean()), float(error), len(differences))


def _run(log: Log, w: Array, weight: Array | None) -> tuple[Array, Array]:
    """Predicted recall before each answer (answers, cards), and with weights the gradient of the summed loss: forward
    through FSRS-6 with what each step needs on the way back kept, then back."""
    k = w[20]
    factor = 0.9 ** (-1 / k) - 1
    d_factor = (factor + 1) * np.log(0.9) / k**2
    easy_difficulty = w[4] - np.exp(3 * w[5]) + 1
    if not len(log.count):
        return np.ones(log.elapsed.shape), np.zeros(21)
    grade = log.rating[0]
    stability = np.maximum(w[grade - 1], STABILITY_MIN)
    first_raw = w[4] - np.exp(w[5] * (grade - 1)) + 1
    difficulty = np.clip(first_raw, 1, 10)
    recall = np.ones(log.elapsed.shape)
    kept = []
    for t in range(1, len(log.count)):
        n = log.count[t]
        s, d, g, days = stability[:n], difficulty[:n], log.rating[t, :n], log.elapsed[t, :n]
        base = 1 + factor * days / s
        r = base**-k
        recall[t, :n] = r
        ln_s = np.log(s)
        # remembered on a later day
        gain = np.exp(w[8] - w[9] * ln_s) * (11 - d)
        forgot = np.exp(w[10] * (1 - r))
        grown = gain * (forgot - 1)
        bonus = np.where(g == 2, w[15], np.where(g == 4, w[16], 1.0))
        # forgotten on a later day
        power = (s + 1) ** w[13]
        lost = w[11] * d ** -w[12] * np.exp(w[14] * (1 - r))
        long, short = lost * (power - 1), s * np.exp(-w[17] * w[18])
        # on the same day
        step = np.exp(w[17] * (g - 3 + w[18]) - w[19] * ln_s)
        held = (g > 1) & (step < 1)
        case = np.where(days == 0, np.where(held, 4, 3), np.where(g > 1, 0, np.where(long < short, 1, 2)))
        after = np.choose(case, (s * (1 + grown * bonus), long, short, s * step, s))
        change = -w[6] * (g - 3)
        moved = d + (10 - d) * change / 9
        raw = w[7] * easy_difficulty + (1 - w[7]) * moved
        if weight is not None:
            kept.append((n, s, d, g, days, base, r, ln_s, forgot, grown, bonus, power, lost, long, short, step, case,
                         after, change, moved, raw))
        stability, difficulty = np.maximum(after, STABILITY_MIN), np.clip(raw, 1, 10)
    gradient = np.zeros(21)
    if weight is None:
        return recall, gradient
    to_s, to_d = np.zeros(len(grade)), np.zeros(len(grade))
    for t in range(len(log.count) - 1, 0, -1):
        (n, s, d, g, days, base, r, ln_s, forgot, grown, bonus, power, lost, long, short, step, case, after, change,
         moved, raw) = kept[t - 1]
        up_s, up_d = to_s[:n] * (after > STABILITY_MIN), to_d[:n] * ((raw > 1) & (raw < 10))
        is_grown, is_long, is_short, is_step, is_held = (case == each for each in range(5))
        # difficulty
        gradient[4] += w[7] * up_d.sum()
        gradient[5] -= w[7] * 3 * np.exp(3 * w[5]) * up_d.sum()
        gradient[6] -= (up_d * (1 - w[7]) * (10 - d) / 9 * (g - 3)).sum()
        gradient[7] += (up_d * (easy_difficulty - moved)).sum()
        down_d = up_d * (1 - w[7]) * (1 - change / 9)
        # remembered
        up = up_s * is_grown
        by_gain = up * s * bonus * grown
        rise = forgot / np.where(forgot > 1, forgot - 1, 1)
        gradient[8] += by_gain.sum()
        gradient[9] -= (by_gain * ln_s).sum()
        gradient[10] += (by_gain * (1 - r) * rise).sum()
        gradient[15] += (up * s * grown * (g == 2)).sum()
        gradient[16] += (up * s * grown * (g == 4)).sum()
        down_s = up * (1 + grown * bonus * (1 - w[9]))
        down_d -= by_gain / (11 - d)
        down_r = -by_gain * w[10] * rise
        # forgotten
        up = up_s * is_long
        by_long = up * long
        gradient[11] += by_long.sum() / w[11]
        gradient[12] -= (by_long * np.log(d)).sum()
        gradient[13] += (up * lost * power * np.log(s + 1)).sum()
        gradient[14] += (by_long * (1 - r)).sum()
        down_s += up * lost * w[13] * power / (s + 1)
        down_d -= by_long * w[12] / d
        down_r -= by_long * w[14]
        by_short = up_s * is_short * short
        gradient[17] -= w[18] * by_short.sum()
        gradient[18] -= w[17] * by_short.sum()
        down_s += by_short / s
        # on the same day
        by_step = up_s * is_step * s * step
        gradient[17] += (by_step * (g - 3 + w[18])).sum()
        gradient[18] += w[17] * by_step.sum()
        gradient[19] -= (by_step * ln_s).sum()
        down_s += by_step / s * (1 - w[19]) + up_s * is_held
        # the prediction
        inside = (r > SURE) & (r < 1 - SURE)
        down_r += weight[t, :n] * inside * np.where(g > 1, -1 / r, 1 / np.maximum(1 - r, SURE))
        gradient[20] += (down_r * r * (-np.log(base) - k * days / s * d_factor / base)).sum()
        down_s += down_r * k * r / base * factor * days / s**2

        to_s[:n], to_d[:n] = down_s, down_d
    seen = w[grade - 1] > STABILITY_MIN
    np.add.at(gradient, grade - 1, to_s * seen)
    to_d = to_d * ((first_raw > 1) & (first_raw < 10))
    gradient[4] += to_d.sum()
    gradient[5] -= (to_d * (grade - 1) * np.exp(w[5] * (grade - 1))).sum()
    return recall, gradient


def before(log: Log, place: int) -> Array:
    """The weights (answers, cards) that count what was scored before a place in the log, and nothing after it."""
    return (log.scored & (log.place < place)).astype(float)


def fitted(log: Log, weight: Array, *, steps: int = 60, tell: Tell = lambda share: None) -> Array:
    """The parameters within their bounds with the least summed loss, leaving the defaults at the price of one nat for
    each squared SPREAD; by L-BFGS, projected onto the bounds."""
    low, high = (LOWEST - DEFAULTS) / SPREAD, (HIGHEST - DEFAULTS) / SPREAD

    def value(z: Array) -> tuple[float, Array]:
        loss, gradient = loss_and_gradient(log, DEFAULTS + z * SPREAD, weight)
        return loss + z @ z, gradient * SPREAD + 2 * z

    z = np.zeros(21)
    now, slope = value(z)
    pairs: list[tuple[Array, Array]] = []
    for at in range(steps):
        tell(at / steps)
        free = ~((z <= low) & (slope > 0) | (z >= high) & (slope < 0))
        way = -_times_curvature(slope * free, pairs) * free
        if way @ slope >= 0:
            way, pairs = -slope * free, []
        stride = 1.0 if pairs else min(1.0, 1 / max(np.abs(way).sum(), 1e-12))
        for _ in range(20):
            there = np.clip(z + stride * way, low, high)
            then, slope_there = value(there)
            if then <= now + 1e-4 * slope @ (there - z):
                break
            stride /= 2
        else:
            break
        moved, turned, gained = there - z, slope_there - slope, now - then
        if moved @ turned > 1e-12:
            pairs = [*pairs[-9:], (moved, turned)]
        z, now, slope = there, then, slope_there
        if gained < 1e-5 * max(abs(now), 1):
            break
    return DEFAULTS + z * SPREAD


def _times_curvature(slope: Array, pairs: Sequence[tuple[Array, Array]]) -> Array:
    """L-BFGS's two loops: the slope times the inverse curvature that the last moves and turns tell of."""
    way, shares = slope.copy(), []
    for moved, turned in reversed(pairs):
        share = moved @ way / (moved @ turned)
        shares.append(share)
        way -= share * turned
    if pairs:
        moved, turned = pairs[-1]
        way *= moved @ turned / (turned @ turned)
    for (moved, turned), share in zip(pairs, reversed(shares), strict=True):
        way += (share - turned @ way / (moved @ turned)) * moved
    return way
