"""Catching up after a break: what waits, spread over the coming days within so many minutes a day, and what the wait
costs in memory."""
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

HORIZON = 90  # days that a plan may take
MOST_MINUTES = 600  # a day
DAYS_OFFERED = (3, 7, 14, 21, 28, 42, 60)
Recall = Callable[[float, float], float]  # of days since the last answer and stability


class Order(StrEnum):
    """Which cards come first; the others wait."""

    FADING = "fading"
    RECALL = "recall"
    OVERDUE = "overdue"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A card in review that is due: all that its place in a plan hangs on."""

    pk: int
    seconds: int  # that it should take
    since: int  # days since the last answer, as of today
    stability: float  # days
    overdue: float  # days past due, as a share of the interval that it was given
    note: int | None = None  # of a number card, whose two sides never come on one day


@dataclass(frozen=True, slots=True)
class Ordinary:
    """What a day holds beside the backlog; `reviews` are those that its limit counts."""

    seconds: int
    reviews: int


@dataclass(frozen=True, slots=True)
class PlannedDay:
    """A day of a plan; `cards` are those of the backlog that it takes."""

    cards: tuple[int, ...]
    seconds: int  # for those
    ordinary: Ordinary
    left: int  # of the backlog, after this day

    @property
    def reviews(self) -> int:
        """How many reviews fall on it in all."""
        return len(self.cards) + self.ordinary.reviews


@dataclass(frozen=True, slots=True)
class Plan:
    """The backlog over the coming days, today's first; the last day is the one that ends it."""

    days: tuple[PlannedDay, ...]
    minutes: int  # that no day passes, unless by what it holds anyway
    order: Order
    known: float  # how many of the backlog are still known when they are asked, by predicted recall

    @property
    def later(self) -> dict[int, int]:
        """The cards that wait, each with how many days, {pk: days}; those of today stay where they are."""
        return {pk: wait for wait, day in enumerate(self.days) if wait for pk in day.cards}


def in_order(backlog: Sequence[Waiting], order: Order, recall: Recall, days: int) -> list[Waiting]:
    """The backlog as it is to be asked.

    Which order loses least? A card that waits w days is known with a chance of recall(since + w) when its turn comes.
    So those should go first that would lose most by going last: the ones still fading fastest, over the days that the
    plan takes. Lowest recall first spends the first days on what is nearly flat by now.
    """
    def first(card: Waiting) -> tuple[float, int]:
        match order:
            case Order.RECALL:
                return recall(card.since, card.stability), card.pk
            case Order.OVERDUE:
                return -card.overdue, card.pk
            case _:
                return recall(card.since + days, card.stability) - recall(card.since, card.stability), card.pk

    return sorted(backlog, key=first)


def filled(
    line: Sequence[Waiting], ordinary: Sequence[Ordinary], minutes: int, limit: int
) -> list[tuple[Waiting, ...]] | None:
    """The line cut into days: each takes the next cards for as long as its minutes and its limit of reviews last,
    beside what it holds anyway.

    Of a number card's two sides the second waits for the next day. None when some of the line is left after the last
    day.
    """
    cut, pending = [], deque(line)
    for load in ordinary:
        taken, siblings, notes, room = [], [], set(), minutes * 60 - load.seconds
        while pending and pending[0].seconds <= room and len(taken) + load.reviews < limit:
            card = pending.popleft()
            if card.note in notes:
                siblings.append(card)
                continue
            notes |= {card.note} - {None}
            room -= card.seconds
            taken.append(card)
        pending.extendleft(reversed(siblings))
        cut.append(tuple(taken))
        if not pending:
            return cut
    return None


def plan_by_minutes(
    backlog: Sequence[Waiting], ordinary: Sequence[Ordinary], minutes: int, limit: int, order: Order, recall: Recall
) -> Plan | None:
    """The backlog within so many minutes and so many reviews a day; None when that doesn't end it within the days of
    `ordinary`."""
    cut = filled(in_order(backlog, order, recall, 1), ordinary, minutes, limit)
    if cut is None:
        return None
    # What fades fastest hangs on how long the plan takes, and that only a little on the order.
    again = filled(in_order(backlog, order, recall, max(len(cut) - 1, 1)), ordinary, minutes, limit) or cut
    return planned(again, ordinary, minutes, order, recall)


def plan_by_days(
    backlog: Sequence[Waiting], ordinary: Sequence[Ordinary], days: int, limit: int, order: Order, recall: Recall
) -> Plan | None:
    """The backlog within so many days, at the fewest whole minutes a day; None when even the most are too few."""
    line = in_order(backlog, order, recall, max(days - 1, 1))

    def fits(minutes: int) -> bool:
        return filled(line, ordinary[:days], minutes, limit) is not None

    minutes = bisect_left(range(MOST_MINUTES), True, key=fits)
    cut = filled(line, ordinary[:days], minutes, limit)
    return cut and planned(cut, ordinary, minutes, order, recall)


def planned(
    cut: Sequence[Sequence[Waiting]], ordinary: Sequence[Ordinary], minutes: int, order: Order, recall: Recall
) -> Plan:
    """The days as cut, with what is left after each."""
    left = sum(map(len, cut))
    days, known = [], 0.0
    for wait, cards in enumerate(cut):
        left -= len(cards)
        seconds = sum(card.seconds for card in cards)
        days.append(PlannedDay(tuple(card.pk for card in cards), seconds, ordinary[wait], left))
        known += sum(recall(card.since + wait, card.stability) for card in cards)
    return Plan(tuple(days), minutes, order, known)


def known_today(backlog: Sequence[Waiting], recall: Recall) -> float:
    """How many of the backlog are still known today, by predicted recall."""
    return sum(recall(card.since, card.stability) for card in backlog)


def fewest_days(backlog: Sequence[Waiting], ordinary: Sequence[Ordinary], limit: int) -> int | None:
    """The fewest days that the limit of reviews allows; None when that is more than those of `ordinary`."""
    cut = filled(backlog, ordinary, MOST_MINUTES, limit)
    return cut and len(cut)


def around(days: int) -> tuple[int, ...]:
    """Three of the days offered, the nearest to `days` in their middle where that can be."""
    nearest = min(range(len(DAYS_OFFERED)), key=lambda at: abs(DAYS_OFFERED[at] - days))
    start = min(max(nearest - 1, 0), len(DAYS_OFFERED) - 3)
    return DAYS_OFFERED[start:start + 3]
