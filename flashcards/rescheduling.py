"""Moving what is scheduled to where the settings put it: at once, or with a large deck by a process of its own."""
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import Any
from uuid import uuid4

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import Profile, User
from flashcards import memory, queue, works
from flashcards.models import Card, Review, State, Work
from flashcards.study_day import study_day
from flashcards.works import Tell

AT_ONCE = 5_000  # cards, which are moved while a page waits
TOLD_EVERY = 500
UPDATE = (f"UPDATE {Card._meta.db_table} SET due_day = %s, log_length = %s, asked = %s, buried_until = NULL"
          " WHERE id = %s")


def is_long(user: User, now: datetime) -> bool:
    """Whether moving takes longer than a page should wait for."""
    return scheduled(user, _today(user, now)).count() > AT_ONCE


def begin(user: User, now: datetime) -> None:
    """Have the cards moved by a process of its own; one that is at it goes on instead."""
    work, is_new = works.begin(user, Work.Kind.MOVE, now=now)
    if is_new:
        works.start(work)


def take(work: Work, tell: Tell) -> dict[str, Any]:
    """What the work does; how many cards moved."""
    now = timezone.now()
    cards = scheduled(work.user, _today(work.user, now))
    count, days = cards.count(), {}
    tell(0, "Working out the days")
    for card, day in days_by_settings(cards, work.user, now):
        days[card.pk] = (card.log_length, day)
        if len(days) % TOLD_EVERY == 0:
            tell(min(0.1 * len(days) / max(count, 1), 0.1), f"{len(days):,} of {count:,} days worked out")
    tell(0.1, "Moving the cards")
    return {"moved": move(work.user, days, now, lambda: tell(0.99, "All cards moved"))}


def scheduled(user: User, today: date) -> QuerySet[Card]:
    """The person's cards in review that are not due yet."""
    return Card.objects.filter(user=user, state=State.REVIEW, due_day__gt=today, suspended=False).order_by("pk")


def days_by_settings(cards: QuerySet[Card], user: User, now: datetime) -> Iterator[tuple[Card, date]]:
    """Each card with the due day that the person's settings give it now, as services.reschedule() has it."""
    profile = Profile.objects.get(user=user)
    earliest = study_day(now, profile.zone, profile.day_start) + memory.DAY
    for card in cards.iterator(chunk_size=2_000):
        placing = queue.placing(card, card.next_ordinal, card.last_day, profile)
        wait = min(memory.interval(card.stability, queue.rules(profile, card)), placing.most)
        yield card, max(card.last_day + memory.DAY * wait, earliest)


@transaction.atomic
def move(
    user: User, days: Mapping[int, tuple[int, date]], now: datetime, check: Callable[[], None] = lambda: None
) -> int:
    """Give cards new due days, {card pk: (the log's length that it was worked out at, study day)}, in one act that one
    undo takes back; how many moved. A card that something was done to since stays: that went by the settings already.
    What `check` raises at the end leaves all of them where they were.
    """
    profile, batch = Profile.objects.select_for_update().get(user=user), uuid4()  # first, as whoever writes a log
    place = {"study_day": study_day(now, profile.zone, profile.day_start), "zone": profile.zone,
             "day_start": profile.day_start}
    rows, moving = [], []
    for card in scheduled(user, place["study_day"]).select_for_update().iterator(chunk_size=2_000):
        length, day = days.get(card.pk, (None, None))
        if length != card.log_length or day == card.due_day:
            continue
        rows.append(Review(
            card_id=card.pk, ordinal=card.next_ordinal, kind=Review.Kind.SET_DUE, at=now, was=card.state, due_day=day,
            batch=batch, **place, **card.memory.columns()))
        moving.append((connection.ops.adapt_datefield_value(day), card.next_ordinal, False, card.pk))
    Review.objects.bulk_create(rows, batch_size=500)
    with connection.cursor() as cursor:  # others' answers wait meanwhile: bulk_update is far slower
        cursor.executemany(UPDATE, moving)
    check()
    return len(rows)


def _today(user: User, now: datetime) -> date:
    profile = Profile.objects.get(user=user)
    return study_day(now, profile.zone, profile.day_start)


class MoveDesk:
    """How the moving stands at `now`."""

    def __init__(self, user: User, now: datetime) -> None:
        self.work = work = works.latest(user, Work.Kind.MOVE)
        self.is_silent = bool(work and works.is_silent(work, now))
        self.is_running = bool(work and work.done_at is None and not self.is_silent)

    @property
    def percent(self) -> int:
        return round(100 * self.work.progress)

    @property
    def fault(self) -> str:
        """Why the last came to nothing, as a sentence."""
        return works.STOPPED if self.is_silent else self.work.fault if self.work else ""

    @property
    def moved(self) -> int | None:
        """How many cards the last one moved; None while none came to an end."""
        return self.work.result.get("moved") if self.work and not self.is_running else None

    @property
    def lead(self) -> str:
        """The page's title."""
        if self.is_running:
            return "Moving what is scheduled"
        if self.fault:
            return "Nothing was moved."
        if self.moved is None:
            return "Nothing is being moved."
        return f"{self.moved:,} card{'' if self.moved == 1 else 's'} moved."
