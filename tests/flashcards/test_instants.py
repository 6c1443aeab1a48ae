"""Study days through clock changes, zones at the world's ends, flights and a moved day start: a table of histories.

In each row a person who has three cards, all in review, sits down at the instants listed and answers all that is up.
Study days and streaks are worked out by hand from the zones' rules: the date on the wall once the day start has passed.
"""
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest

from accounts.models import User
from flashcards import memory, queue, services
from flashcards.models import Card, Rating, Review
from tests.flashcards.test_services import answer

DAY = timedelta(days=1)
BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
FIRST, LAST = "Pacific/Kiritimati", "Pacific/Pago_Pago"  # 14 hours ahead of UTC, 11 behind
FOUR, HALF_PAST_TWO = time(4), time(2, 30)


class Sat(NamedTuple):
    """A sitting: the clock on the wall, its zone, the day start set by then, the study day that it falls on."""

    wall: str
    zone: str
    day_start: time
    day: str
    fold: int = 0

    @property
    def instant(self) -> datetime:
        return datetime.fromisoformat(self.wall).replace(tzinfo=ZoneInfo(self.zone), fold=self.fold).astimezone(UTC)


TABLE = {
    "the hour that spring skips holds the day start": (3, [
        Sat("2026-03-28T12:00", BERLIN, HALF_PAST_TWO, "2026-03-28"),
        Sat("2026-03-29T01:59", BERLIN, HALF_PAST_TWO, "2026-03-28"),
        Sat("2026-03-29T03:00", BERLIN, HALF_PAST_TWO, "2026-03-29"),  # a minute later
        Sat("2026-03-30T02:29", BERLIN, HALF_PAST_TWO, "2026-03-29"),
        Sat("2026-03-30T02:30", BERLIN, HALF_PAST_TWO, "2026-03-30"),
    ]),
    "the hour that autumn repeats holds the day start": (3, [
        Sat("2026-10-24T12:00", BERLIN, HALF_PAST_TWO, "2026-10-24"),
        Sat("2026-10-25T02:29", BERLIN, HALF_PAST_TWO, "2026-10-24"),
        Sat("2026-10-25T02:30", BERLIN, HALF_PAST_TWO, "2026-10-25"),
        Sat("2026-10-25T02:00", BERLIN, HALF_PAST_TWO, "2026-10-25", fold=1),  # half an hour later
        Sat("2026-10-25T02:59", BERLIN, HALF_PAST_TWO, "2026-10-25", fold=1),
        Sat("2026-10-26T02:30", BERLIN, HALF_PAST_TWO, "2026-10-26"),
    ]),
    "a night of 23 hours, and one of 25, before four": (4, [
        Sat("2026-03-08T03:59", NEW_YORK, FOUR, "2026-03-07"),
        Sat("2026-03-08T04:00", NEW_YORK, FOUR, "2026-03-08"),
        Sat("2026-11-01T03:59", NEW_YORK, FOUR, "2026-10-31"),
        Sat("2026-11-01T04:00", NEW_YORK, FOUR, "2026-11-01"),
        Sat("2026-11-02T03:59", NEW_YORK, FOUR, "2026-11-01"),
        Sat("2026-11-02T12:00", NEW_YORK, FOUR, "2026-11-02"),
        Sat("2026-11-03T12:00", NEW_YORK, FOUR, "2026-11-03"),
    ]),
    "first to have the day": (3, [
        Sat("2026-03-02T03:59", FIRST, FOUR, "2026-03-01"),
        Sat("2026-03-02T04:00", FIRST, FOUR, "2026-03-02"),
        Sat("2026-03-03T12:00", FIRST, FOUR, "2026-03-03"),
    ]),
    "last to have the day": (3, [
        Sat("2026-03-02T03:59", LAST, FOUR, "2026-03-01"),
        Sat("2026-03-02T04:00", LAST, FOUR, "2026-03-02"),
        Sat("2026-03-03T23:59", LAST, FOUR, "2026-03-03"),
    ]),
    "a flight back over the date line has a day again": (4, [
        Sat("2026-03-02T12:00", FIRST, FOUR, "2026-03-02"),
        Sat("2026-03-03T12:00", FIRST, FOUR, "2026-03-03"),
        Sat("2026-03-02T12:00", LAST, FOUR, "2026-03-02"),  # an hour later: 22:00 and 23:00 UTC of the 2nd
        Sat("2026-03-03T12:00", LAST, FOUR, "2026-03-03"),
        Sat("2026-03-04T12:00", LAST, FOUR, "2026-03-04"),
        Sat("2026-03-05T12:00", LAST, FOUR, "2026-03-05"),
    ]),
    "a flight over the date line leaves a day out": (3, [
        Sat("2026-03-02T12:00", LAST, FOUR, "2026-03-02"),
        Sat("2026-03-04T01:00", FIRST, FOUR, "2026-03-03"),  # twelve hours on
        Sat("2026-03-04T12:00", FIRST, FOUR, "2026-03-04"),
    ]),
    "a zone is set anew within the hour": (2, [
        Sat("2026-03-02T22:30", BERLIN, FOUR, "2026-03-02"),
        Sat("2026-03-02T16:45", NEW_YORK, FOUR, "2026-03-02"),
        Sat("2026-03-02T22:50", BERLIN, FOUR, "2026-03-02"),
        Sat("2026-03-03T22:00", BERLIN, FOUR, "2026-03-03"),
    ]),
    "a later day start has yesterday again": (4, [
        Sat("2026-03-02T06:00", BERLIN, FOUR, "2026-03-02"),
        Sat("2026-03-02T06:30", BERLIN, time(8), "2026-03-01"),
        Sat("2026-03-02T09:00", BERLIN, time(8), "2026-03-02"),
        Sat("2026-03-03T07:59", BERLIN, time(8), "2026-03-02"),
        Sat("2026-03-03T08:00", BERLIN, time(8), "2026-03-03"),
        Sat("2026-03-04T08:00", BERLIN, time(8), "2026-03-04"),
    ]),
    "an earlier day start has tomorrow already": (2, [
        Sat("2026-03-02T23:00", BERLIN, FOUR, "2026-03-02"),
        Sat("2026-03-03T01:00", BERLIN, FOUR, "2026-03-02"),
        Sat("2026-03-03T01:30", BERLIN, time(0), "2026-03-03"),
        Sat("2026-03-03T23:59", BERLIN, time(0), "2026-03-03"),
    ]),
}


def sit(user: User, sat: Sat) -> list[int]:
    """Answer all that is up, one after the other; the cards that came, by their keys."""
    user.profile.zone, user.profile.day_start = sat.zone, sat.day_start
    user.profile.save()
    came = []
    while (card := queue.next_card(user, sat.instant)) is not None and len(came) < 20:
        came.append(card.pk)
        assert services.answer_card(card, Rating.HARD, ordinal=card.next_ordinal, now=sat.instant)
    return came


def days(rows: Iterable[Review]) -> list[date]:
    return [row.study_day for row in rows]


@pytest.mark.parametrize("history", TABLE.values(), ids=TABLE)
def test_nothing_is_lost_nothing_due_twice_and_the_streak_is_right(
    history: tuple[int, list[Sat]], deal: Callable[[int], list[Card]], ada: User
) -> None:
    streak, sittings = history
    cards = deal(5)
    ada.profile.new_questions_per_day = 0
    begun = cards[:3]
    for card in begun:
        answer(card, Rating.HARD, sittings[0].instant - 40 * DAY)  # due the day after; its day is in no row with these
    # One of the two left is begun at each sitting, so that each day has an answer.
    for at, sat in enumerate(sittings):
        came = sit(ada, sat)
        assert len(came) == len(set(came)), "due twice in one sitting"
        assert came or at, "the first sitting has all three"
        fresh = cards[3 + at % 2]
        answer(fresh, Rating.EASY, sat.instant)
        row = fresh.reviews.last()
        assert (row.study_day, row.zone, row.day_start) == (date.fromisoformat(sat.day), sat.zone, sat.day_start)
        assert queue.today(ada, sat.instant).study_day == row.study_day

    for card in ada.cards.exclude(state="new"):
        rows = list(card.reviews.order_by("ordinal"))
        shown = days(rows)[1:] if card in begun else []
        assert shown == sorted(set(shown)), "shown twice on one study day"
        for before, after in zip(rows, rows[1:], strict=False):
            if card in begun:
                assert after.study_day >= before.due_day, "shown before it was due"
        remembered, due = memory.replay(rows)
        assert (card.due_day, card.stability) == (due.day, remembered.stability)
        assert card.due_day > card.last_day, "due again on the day it was answered"
    last = queue.today(ada, sittings[-1].instant)
    assert (last.streak, last.studied_today) == (streak, True)
    later = queue.plan(ada, sittings[-1].instant + 400 * DAY)
    assert {card.pk for card in later.due} == {card.pk for card in cards}, "one was lost"
