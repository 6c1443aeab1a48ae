"""Which FSRS parameters a person's cards are scheduled with: a switch of them is a replay of every card's log."""
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from django.db import connection, transaction
from django.db.models import QuerySet

from accounts.models import Profile, User
from flashcards import memory
from flashcards.memory import DEFAULT_PARAMETERS, Memory, Row
from flashcards.models import Adoption, Card, Review, Work

READ = ("id", "card_id", "kind", "names_id", "rating", "at", "study_day", "state", "step", "stability", "difficulty",
        "fed_at", "due_day", "due_at", "asked")
UPDATE = f"UPDATE {Card._meta.db_table} SET stability = %s, difficulty = %s WHERE id = %s"


def adopt(user: User, parameters: Sequence[float], *, now: datetime, fit: Work | None = None) -> Adoption | None:
    """Schedule the person's cards with these parameters from now on, none for the defaults; due days don't move.

    None, and nothing is written, when they are so already.
    """
    by = tuple(parameters) or DEFAULT_PARAMETERS
    remembered = dict(_replayed(Review.objects.filter(card__user=user), by))  # long, so before anything is held
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
        return Adoption.objects.create(user=user, at=now, parameters=list(parameters), fit=fit)


def _replayed(rows: QuerySet[Review], by: tuple[float, ...]) -> Iterator[tuple[int, tuple[int, Memory]]]:
    """Of each card the length of its log and the memory that it says with these parameters, by the card's key."""
    in_order = rows.order_by("card_id", "ordinal").values_list(*READ, named=True)
    for pk, log in groupby(in_order.iterator(chunk_size=5_000), key=attrgetter("card_id")):
        whole: list[Row] = list(log)
        yield pk, (len(whole), memory.replay(whole, by)[0])
