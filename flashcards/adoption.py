"""Which FSRS parameters a person's cards are scheduled with: a switch of them is a replay of every card's log."""
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet, Sum
from django.utils import timezone

from accounts.models import Profile, User
from flashcards import memory, works
from flashcards.memory import DEFAULT_PARAMETERS, Memory, Row
from flashcards.models import Adoption, Card, Review, Work
from flashcards.works import Tell

AT_ONCE = 20_000  # rows of a log, which are replayed while a page waits
TOLD_EVERY = 500  # cards
READ = ("id", "card_id", "kind", "names_id", "rating", "at", "study_day", "state", "step", "stability", "difficulty",
        "fed_at", "due_day", "due_at", "asked")
UPDATE = f"UPDATE {Card._meta.db_table} SET stability = %s, difficulty = %s WHERE id = %s"


def is_long(user: User) -> bool:
    """Whether a switch takes longer than a page should wait for."""
    rows = Card.objects.filter(user=user).aggregate(Sum("log_length"))["log_length__sum"]
    return (rows or 0) > AT_ONCE


def begin(user: User, parameters: Sequence[float], *, now: datetime, fit: Work | None = None) -> None:
    """Have the switch done by a process of its own; one that is under way goes on instead."""
    given = {"parameters": list(parameters), "fit": fit and fit.pk}
    work, is_new = works.begin(user, Work.Kind.ADOPT, now=now, given=given)
    if is_new:
        works.start(work)


def take(work: Work, tell: Tell) -> dict[str, Any]:
    """What the work of a switch does; whether anything was switched."""
    count = Card.objects.filter(user=work.user, log_length__gt=0).count()
    fit = Work.objects.filter(pk=work.given["fit"], user=work.user).first() if work.given["fit"] else None
    tell(0, "Replaying your log")
    adopted = adopt(
        work.user, work.given["parameters"], now=timezone.now(), fit=fit,
        tell=lambda done: tell(min(done / max(count, 1), 0.99), f"{done:,} of {count:,} cards replayed"),
        check=lambda: tell(0.99, "Every card switched"))
    return {"switched": adopted is not None}


def adopt(
    user: User, parameters: Sequence[float], *, now: datetime, fit: Work | None = None,
    tell: Callable[[int], None] = lambda done: None, check: Callable[[], None] = lambda: None,
) -> Adoption | None:
    """Schedule the person's cards with these parameters from now on, none for the defaults; due days don't move.

    None, and nothing is written, when they are so already. `tell` hears how many cards were replayed, now and then;
    what `check` raises at the end leaves every card as it was.
    """
    by = tuple(parameters) or DEFAULT_PARAMETERS
    remembered = {}
    for card, after in _replayed(Review.objects.filter(card__user=user), by):  # long, so before anything is held
        remembered[card] = after
        if len(remembered) % TOLD_EVERY == 0:
            tell(len(remembered))
    with transaction.atomic():
        profile = Profile.objects.select_for_update().get(user=user)
        if list(profile.fsrs_parameters) == list(parameters):
            return None
        held = Card.objects.select_for_update().filter(user=user, log_length__gt=0).order_by("pk")
        lengths = dict(held.values_list("pk", "log_length"))
        since = [pk for pk, length in lengths.items() if remembered.get(pk, (0,))[0] != length]
        remembered |= dict(_replayed(Review.objects.filter(card__in=since), by))
        with connection.cursor() as cursor:  # others' answers wait meanwhile: bulk_update is far slower
            cursor.executemany(UPDATE, [
                (after.stability, after.difficulty, pk) for pk, (_, after) in remembered.items() if pk in lengths])
        Profile.objects.filter(pk=profile.pk).update(fsrs_parameters=list(parameters))
        check()
        return Adoption.objects.create(user=user, at=now, parameters=list(parameters), fit=fit)


def _replayed(rows: QuerySet[Review], by: tuple[float, ...]) -> Iterator[tuple[int, tuple[int, Memory]]]:
    """Of each card the length of its log and the memory that it says with these parameters, by the card's key."""
    in_order = rows.order_by("card_id", "ordinal").values_list(*READ, named=True)
    for pk, log in groupby(in_order.iterator(chunk_size=5_000), key=attrgetter("card_id")):
        whole: list[Row] = list(log)
        yield pk, (len(whole), memory.replay(whole, by)[0])
