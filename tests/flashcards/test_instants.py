"""Study days through clock changes, zones at the world's ends, flights and a moved day start: a table of histories.

In each row a person who has three cards, all in review, sits down at the instants listed and answers all that is up.
Study days and streaks are worked out by hand from the zones' rules: the date on the wall once the day start has passed.
"""
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest

from accounts.models import User
from flashcards import memory, queue, services
from flashcards.models import Card, Rating, Review
from tests.flashcards.test_services import answer

DAY = timedelta(days=1)
BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
APIA, LORD_HOWE, CHATHAM, TROLL = "Pacific/Apia", "Australia/Lord_Howe", "Pacific/Chatham", "Antarctica/Troll"
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
    "a day that a land left out is four hours long": (4, [
        Sat("2011-12-29T12:00", APIA, FOUR, "2011-12-29"),
        Sat("2011-12-31T03:59", APIA, FOUR, "2011-12-30"),  # midnight of the 29th led to the 31st
        Sat("2011-12-31T04:00", APIA, FOUR, "2011-12-31"),
        Sat("2012-01-01T12:00", APIA, FOUR, "2012-01-01"),
    ]),
    "a day that a land left out is none from midnight on": (3, [
        Sat("2011-12-29T23:59", APIA, time(0), "2011-12-29"),
        Sat("2011-12-31T00:00", APIA, time(0), "2011-12-31"),  # a minute later; the 30th is a day missed
        Sat("2012-01-01T00:00", APIA, time(0), "2012-01-01"),
    ]),
    "the half hour that spring skips holds the day start": (3, [
        Sat("2026-10-03T12:00", LORD_HOWE, time(2, 15), "2026-10-03"),
        Sat("2026-10-04T01:59", LORD_HOWE, time(2, 15), "2026-10-03"),
        Sat("2026-10-04T02:30", LORD_HOWE, time(2, 15), "2026-10-04"),  # a minute later
        Sat("2026-10-05T02:14", LORD_HOWE, time(2, 15), "2026-10-04"),
        Sat("2026-10-05T02:15", LORD_HOWE, time(2, 15), "2026-10-05"),
    ]),
    "the half hour that autumn repeats holds the day start": (3, [
        Sat("2026-04-05T01:44", LORD_HOWE, time(1, 45), "2026-04-04"),
        Sat("2026-04-05T01:45", LORD_HOWE, time(1, 45), "2026-04-05"),
        Sat("2026-04-05T01:30", LORD_HOWE, time(1, 45), "2026-04-05", fold=1),  # a quarter of an hour later
        Sat("2026-04-05T01:59", LORD_HOWE, time(1, 45), "2026-04-05", fold=1),
        Sat("2026-04-06T01:45", LORD_HOWE, time(1, 45), "2026-04-06"),
    ]),
    "the hour that three quarters past repeats holds the day start": (2, [
        Sat("2026-04-05T02:59", CHATHAM, time(3), "2026-04-04"),
        Sat("2026-04-05T03:00", CHATHAM, time(3), "2026-04-05"),
        Sat("2026-04-05T02:50", CHATHAM, time(3), "2026-04-05", fold=1),  # fifty minutes later
        Sat("2026-04-06T02:59", CHATHAM, time(3), "2026-04-05"),
    ]),
    "two hours that are skipped, and repeated": (4, [
        Sat("2026-03-29T00:59", TROLL, time(2), "2026-03-28"),
        Sat("2026-03-29T03:00", TROLL, time(2), "2026-03-29"),  # a minute later
        Sat("2026-10-25T01:59", TROLL, time(2), "2026-10-24"),
        Sat("2026-10-25T02:00", TROLL, time(2), "2026-10-25"),
        Sat("2026-10-25T01:30", TROLL, time(2), "2026-10-25", fold=1),
        Sat("2026-10-26T01:59", TROLL, time(2), "2026-10-25"),
        Sat("2026-10-26T12:00", TROLL, time(2), "2026-10-26"),
        Sat("2026-10-27T12:00", TROLL, time(2), "2026-10-27"),
    ]),
    "noon begins the day": (3, [
        Sat("2026-03-02T11:59", BERLIN, time(12), "2026-03-01"),
        Sat("2026-03-02T12:00", BERLIN, time(12), "2026-03-02"),
        Sat("2026-03-03T11:59", BERLIN, time(12), "2026-03-02"),
        Sat("2026-03-03T12:00", BERLIN, time(12), "2026-03-03"),
    ]),
    "from midnight to noon and back": (4, [
        Sat("2026-03-03T23:50", BERLIN, time(0), "2026-03-03"),
        Sat("2026-03-04T00:10", BERLIN, time(0), "2026-03-04"),
        Sat("2026-03-04T00:20", BERLIN, time(12), "2026-03-03"),
        Sat("2026-03-04T00:30", BERLIN, time(0), "2026-03-04"),
        Sat("2026-03-04T11:59", BERLIN, time(12), "2026-03-03"),
        Sat("2026-03-04T12:00", BERLIN, time(12), "2026-03-04"),
        Sat("2026-03-05T11:00", BERLIN, time(0), "2026-03-05"),
        Sat("2026-03-05T11:30", BERLIN, time(12), "2026-03-04"),
        Sat("2026-03-06T12:00", BERLIN, time(12), "2026-03-06"),
    ]),
    "a flight east over midnight": (3, [
        Sat("2026-03-02T23:00", NEW_YORK, FOUR, "2026-03-02"),
        Sat("2026-03-03T07:00", BERLIN, FOUR, "2026-03-03"),  # two hours later
        Sat("2026-03-03T20:00", BERLIN, FOUR, "2026-03-03"),
        Sat("2026-03-04T12:00", BERLIN, FOUR, "2026-03-04"),
    ]),
    "a flight west over midnight": (3, [
        Sat("2026-03-03T05:00", BERLIN, FOUR, "2026-03-03"),
        Sat("2026-03-03T00:00", NEW_YORK, FOUR, "2026-03-02"),  # an hour later
        Sat("2026-03-03T12:00", NEW_YORK, FOUR, "2026-03-03"),
        Sat("2026-03-04T12:00", NEW_YORK, FOUR, "2026-03-04"),
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
    nothing_lost_or_twice(ada, begun)
    last = queue.today(ada, sittings[-1].instant)
    assert (last.streak, last.studied_today) == (streak, True)
    later = queue.plan(ada, sittings[-1].instant + 400 * DAY)
    assert {card.pk for card in later.due} == {card.pk for card in cards}, "one was lost"


def nothing_lost_or_twice(ada: User, begun: list[Card]) -> None:
    """By the log: no card of `begun`, which come by themselves, came twice on one study day or before it was due, and
    each card is what its log says."""
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


def in_a_row(days_studied: set[date], today: date) -> int:
    """The days of the row that reaches today: up to thirty in a row may be missed."""
    row, day, missed = 0, today, 0
    while missed <= 30:
        row, missed, day = (row + 1, 0, day - DAY) if day in days_studied else (row, missed + 1, day - DAY)
    return row


@pytest.mark.parametrize("seed", range(3))
def test_whatever_zones_and_day_starts_are_set_between_answers(
    seed: int, deal: Callable[[int], list[Card]], ada: User
) -> None:
    chance = Random(seed)
    now = datetime(2026, 3, 20, tzinfo=UTC) + chance.random() * 250 * DAY
    ada.profile.new_questions_per_day = 0
    begun = deal(6)
    for card in begun:
        answer(card, Rating.HARD, now - 60 * DAY)
    for _ in range(25):
        now += timedelta(minutes=chance.choice((1, 20, 90, 400, 1000, 1440, 1500, 5000)))
        zone = chance.choice((BERLIN, NEW_YORK, FIRST, LAST, APIA, LORD_HOWE, CHATHAM, TROLL))
        sat = Sat(now.astimezone(ZoneInfo(zone)).replace(tzinfo=None).isoformat(), zone, time(chance.randrange(13)), "")
        came = sit(ada, sat._replace(fold=now.astimezone(ZoneInfo(zone)).fold))
        assert len(came) == len(set(came)), "due twice in one sitting"
        today = queue.today(ada, now)
        answered = set(Review.objects.values_list("study_day", flat=True))
        assert today.streak == in_a_row({day for day in answered if day <= today.study_day}, today.study_day)
        assert not today.due
    nothing_lost_or_twice(ada, begun)
    later = queue.plan(ada, now + 400 * DAY)
    assert {card.pk for card in later.due} == {card.pk for card in begun}, "one was lost"
