"""Which questions an interview asks, and in which order: proposed from what is known of them and of its candidate.

Minutes are whole. A question takes its minutes and, where who answers also scores, `after` more.
"""
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

from calculators.models.base import Refusal

MOST_PICKS = 12
LEAST_MINUTES, MOST_MINUTES = 10, 180  # of an interview
MOST_EACH = 60  # minutes of a question
LONG = 45  # an interview of more minutes than this takes a longer brief and debrief
A_FOLLOW_UP, MOST_FOLLOW_UPS = 2, 2  # minutes that one takes, and of how many of a question the plan thinks
KNOWN_WELL = 0.9  # predicted recall from which on a question is no weakness


@dataclass(frozen=True, slots=True)
class Known:
    """A question and what is known of it: how often this candidate met it in the team's interviews, how well their
    drill has it, and in how many of the team's interviews it was scored."""

    slug: str
    topic: str
    kind: str
    level: str
    minutes: int  # that it takes in an interview
    place: int = 0  # in the bank's order
    asked: int = 0
    planned: bool = False  # in another interview of the candidate that is still to come
    recall: float | None = None  # predicted, 0 to 1; None where it was never drilled or the drill is not shared
    lapses: int = 0
    topic_recall: float | None = None  # the mean of its topic; None of too few cards
    scores: int = 0


@dataclass(frozen=True, slots=True)
class Spec:
    """What is asked of a plan. No topics, kinds or levels are all of them."""

    minutes: int
    topics: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    after: int = 0  # minutes that each question takes beside its own


@dataclass(frozen=True, slots=True)
class Pick:
    """A question of a plan."""

    slug: str
    minutes: int
    pinned: bool = False


def asking_minutes(minutes: int, follow_ups: int) -> int:
    """What a question takes in an interview: the time of a good answer, and of two follow-ups."""
    return minutes + A_FOLLOW_UP * min(follow_ups, MOST_FOLLOW_UPS)


def set_aside(minutes: int) -> tuple[int, int]:
    """The minutes of the brief and of the debrief."""
    return (2, 3) if minutes > LONG else (1, 2)


def taken(picks: Iterable[Pick], spec: Spec) -> int:
    """The minutes that these take, without brief and debrief."""
    return sum(pick.minutes + spec.after for pick in picks)


def left(picks: Iterable[Pick], spec: Spec) -> int:
    """The minutes that a plan still has; below 0 it is over its own."""
    return spec.minutes - sum(set_aside(spec.minutes)) - taken(picks, spec)


def allowed(known: Iterable[Known], spec: Spec) -> list[Known]:
    """The questions that a plan may propose: of its topics, kinds and levels."""
    return [
        one for one in known
        if one.topic in (spec.topics or (one.topic,)) and one.kind in (spec.kinds or (one.kind,))
        and one.level in (spec.levels or (one.level,))
    ]


def uncovered(picks: Iterable[Pick], known: Iterable[Known], spec: Spec) -> list[str]:
    """The chosen topics of which nothing is asked."""
    topic_of = {one.slug: one.topic for one in known}
    asked = {topic_of.get(pick.slug) for pick in picks}
    return [topic for topic in spec.topics if topic not in asked]


def propose(
    known: Sequence[Known], spec: Spec, *, now: Sequence[Pick] = (), passed: Sequence[str] = (), seed: int = 0,
) -> list[Pick]:
    """A plan that fits the minutes: what is pinned in `now` stays at its place, the rest is chosen anew.

    Each chosen topic gets a question while the minutes last, the shortest first where not all of them fit; then the
    best of those that still fit follow. `passed` were turned down, the first of them longest ago: they come last.
    """
    picks = [pick for pick in now if pick.pinned]
    pool = [one for one in allowed(known, spec) if one.slug not in {pick.slug for pick in picks}]
    chosen: list[Known] = []
    room = left(picks, spec)
    places = MOST_PICKS - len(picks)
    wanted = coverable(uncovered(picks, known, spec), pool, spec, room, places)
    taking = Counter(one.topic for one in known if one.slug in {pick.slug for pick in picks})
    while places > len(chosen):
        topic = next(iter(wanted), None)
        kept_back = sum(least(pool, other, spec) for other in wanted[1:])
        fitting = [
            one for one in pool
            if one not in chosen and one.minutes + spec.after <= room - kept_back and topic in (None, one.topic)
        ]
        if not fitting:
            break
        best = min(fitting, key=lambda one: (
            rank(one, passed)[0], one.asked, one.planned, taking[one.topic], -merit(one, seed), one.place))
        chosen.append(best)
        taking[best.topic] += 1
        room -= best.minutes + spec.after
        wanted = wanted[1:]
    fresh = [Pick(one.slug, one.minutes) for one in sorted(chosen, key=lambda one: one.place)]
    for place, pick in enumerate(now):
        if pick.pinned:
            fresh.insert(place, pick)
    return fresh


def refit(
    known: Sequence[Known], spec: Spec, *, now: Sequence[Pick], passed: Sequence[str] = (), seed: int = 0,
) -> list[Pick]:
    """The plan for other minutes: what is in stays while it fits, the last go first, and what is free is filled."""
    kept = list(now)
    while left(kept, spec) < 0 and (loose := [pick for pick in kept if not pick.pinned]):
        kept.remove(loose[-1])
    stays = {pick.slug: pick for pick in kept}
    filled = propose(known, spec, now=[replace(pick, pinned=True) for pick in kept], passed=passed, seed=seed)
    return [stays.get(pick.slug, pick) for pick in filled]


def coverable(topics: Sequence[str], pool: Sequence[Known], spec: Spec, room: int, places: int) -> list[str]:
    """Those of the topics that together fit, as many as can be; in the order given."""
    fit: set[str] = set()
    there = {one.topic for one in pool}
    for topic in sorted((topic for topic in topics if topic in there), key=lambda topic: least(pool, topic, spec)):
        room -= least(pool, topic, spec)
        if room >= 0 and len(fit) < places:
            fit.add(topic)
    return [topic for topic in topics if topic in fit]


def least(pool: Iterable[Known], topic: str, spec: Spec) -> int:
    """The minutes of the shortest question of a topic."""
    return min(one.minutes for one in pool if one.topic == topic) + spec.after


def rank(one: Known, passed: Sequence[str]) -> tuple[int, int, bool]:
    """What comes before all else: not turned down, never asked of this candidate, not planned already."""
    return (passed.index(one.slug) + 1 if one.slug in passed else 0, one.asked, one.planned)


def merit(one: Known, seed: int) -> float:
    """How much speaks for a question among its like: what the drill shows weak, what the team can nearly compare, and
    for the rest the seed's chance, which weighs as much as a recall of two thirds."""
    weak = 3 * (1 - one.recall) if one.recall is not None else 1.5 * (1 - (one.topic_recall or 1))
    return weak + 0.3 * min(one.lapses, 3) + 0.2 * min(one.scores, 4) + Random(f"{seed} {one.slug}").random()


# Changes by hand. `at` is a place in the plan; where there is none they change nothing.

def swap(
    picks: Sequence[Pick], at: int, known: Sequence[Known], spec: Spec, *, passed: Sequence[str] = (), seed: int = 0,
) -> list[Pick]:
    """The next best question that isn't in, in this one's place: of its topic where the plan would else miss that.

    Raises Refusal when no other fits into its minutes.
    """
    old, others = picks[at], [*picks[:at], *picks[at + 1:]]
    missing = uncovered(others, known, spec)
    room = left(others, spec)
    there = {pick.slug for pick in picks}
    fitting = [
        one for one in allowed(known, spec) if one.slug not in there and one.minutes + spec.after <= room
    ]
    topic = next((one.topic for one in known if one.slug == old.slug), None)
    if topic in missing:
        fitting = [one for one in fitting if one.topic == topic] or fitting
    if not fitting:
        raise Refusal("No other question of these topics, kinds and levels fits here.")
    best = min(fitting, key=lambda one: (*rank(one, passed), one.topic != topic, -merit(one, seed), one.place))
    return [*picks[:at], Pick(best.slug, best.minutes), *picks[at + 1:]]


def move(picks: Sequence[Pick], at: int, by: int) -> list[Pick]:
    """The plan with a question one earlier (by -1) or later (by 1)."""
    moved, to = list(picks), at + by
    if 0 <= at < len(moved) and 0 <= to < len(moved):
        moved[at], moved[to] = moved[to], moved[at]
    return moved


def pin(picks: Sequence[Pick], at: int, pinned: bool) -> list[Pick]:
    return [replace(pick, pinned=pinned) if place == at else pick for place, pick in enumerate(picks)]


def without(picks: Sequence[Pick], at: int) -> list[Pick]:
    return [pick for place, pick in enumerate(picks) if place != at]


def add(picks: Sequence[Pick], one: Known) -> list[Pick]:
    """The plan with a question of somebody's own choice at its end, pinned. Raises Refusal when it holds no more."""
    if len(picks) >= MOST_PICKS:
        raise Refusal(f"A plan holds at most {MOST_PICKS} questions.")
    if any(pick.slug == one.slug for pick in picks):
        raise Refusal("The plan has this question already.")
    return [*picks, Pick(one.slug, one.minutes, pinned=True)]


def why(one: Known, picks: Collection[Pick], known: Sequence[Known], spec: Spec) -> str:
    """Why a question is in a plan, in a line: "not yet asked; recall 0.81 in the drill"."""
    said = [asked_words(one)]
    if one.recall is not None and one.recall < KNOWN_WELL:
        said.append(f"recall {one.recall:.2f} in the drill")
    elif one.topic_recall is not None and one.topic == weakest(known):
        said.append("weakest topic in the drill")
    if one.topic in spec.topics and one.topic in uncovered([p for p in picks if p.slug != one.slug], known, spec):
        said.append(f"covers {one.topic}")
    if one.scores:
        said.append(f"the team has {one.scores} score{'' if one.scores == 1 else 's'}")
    return "; ".join(said[:3])


def asked_words(one: Known) -> str:
    if one.asked:
        return "asked once before" if one.asked == 1 else f"asked {one.asked} times before"
    return "in another plan too" if one.planned else "not yet asked"


def weakest(known: Iterable[Known]) -> str | None:
    """The topic of the lowest mean recall."""
    recalls = {one.topic: one.topic_recall for one in known if one.topic_recall is not None}
    return min(recalls, key=lambda topic: (recalls[topic], topic)) if recalls else None
