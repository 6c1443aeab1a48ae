"""What this process remembers of people's study days, so that an answer doesn't have the whole day looked up again.

What is kept is true up to the row of the person's log that it names. The rows since are read and followed one by one
(agenda.after); where one can't be, the day is looked up anew. A person's rows come to be seen in the order of their
keys, as whoever writes one holds the person's settings first (services.py). What no log tells, or not in that order,
such as a question that was withdrawn or a log that was brought along, gives the person's mark another value: nothing
that was kept under the old one holds then.
"""
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise, starmap
from operator import attrgetter
from threading import Lock
from time import monotonic
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import Count, Model, QuerySet

from accounts.models import Profile, User
from flashcards.agenda import LATEST, Agenda, Since, UnderWay, after, build, under_way
from flashcards.models import Card, Mark, Review, State, new_mark
from flashcards.prepared import Given, Prepared, insert
from questions.models import Note, Question, Topic

PEOPLE = 100  # whose days are kept: who did something last
LASTS = 600  # seconds: should a change ever have gone unmarked
HEARD = (Card, Note, Question, Topic)  # what of these is saved or deleted outside of services.py voids what is kept
NEAR = 4  # days apart, that are looked up in one query
DAY = timedelta(days=1)
SETTINGS = attrgetter(  # all that an agenda hangs on beside cards and log
    "zone", "day_start", "new_questions_per_day", "new_numbers_per_day", "reviews_per_day", "backlog_order",
    "new_place", "fsrs_parameters")

MARK = Prepared(lambda user: Mark.objects.filter(user=user).values_list("value"), "user")
SINCE = Prepared(
    lambda user, latest: Review.objects.of(user).filter(pk__gt=latest).order_by("pk").values_list(*Since._fields),
    "user", "latest")


def _due_from_to(user: Given, first: Given, last: Given) -> QuerySet[Card]:
    """How many cards in review fall due on each of these days."""
    cards = Card.objects.filter(user=user, state=State.REVIEW, due_day__gte=first, due_day__lte=last, suspended=False)
    return cards.order_by().values_list("due_day").annotate(Count("pk"))


DUE_FROM_TO = Prepared(_due_from_to, "user", "first", "last")


@dataclass(frozen=True, slots=True)
class Kept:
    """A study day as it stood with the person's row `agenda.latest`, under a mark."""

    mark: int
    settings: tuple[Any, ...]
    at: float  # when it was looked up, by the process's own clock
    agenda: Agenda
    loads: Mapping[date, int]  # of the days after it that were asked for: how many cards in review fall due


_days: OrderedDict[tuple[str, int], Kept] = OrderedDict()  # by database and person
_keeping = Lock()  # else one thread may drop the oldest while another moves it to the end


def agenda(user: User, day: date) -> Agenda:
    """What a person's study day asks, as it stands now."""
    if _passing():
        return build(user, day)
    one = _current(user.profile, day) or _looked_up(user, day)
    return one.agenda


def begun(user: User, day: date) -> UnderWay:
    """Of a person's study day what it asks of the cards that were begun before; by itself that is quicker to look up.
    """
    one = None if _passing() else _current(user.profile, day)
    return one.agenda.begun if one else under_way(user, day)


def loads(profile: Profile, day: date, days: Collection[date]) -> dict[date, int]:
    """How many of the person's cards in review fall due on each of these days, which come after study day `day`."""
    one = None if _passing() else _current(profile, day)
    known = one.loads if one else {}
    missing = sorted(set(days) - known.keys())
    if missing:
        known = {**known, **_due_on(profile.user_id, missing)}
        if one:
            _keep(profile.user_id, replace(one, loads=known))
    return {day: known[day] for day in days}


def void(user_pk: int) -> None:
    """Say that something changed of the person's cards, in this transaction, that no log tells."""
    transaction.on_commit(lambda: Mark.objects.filter(user=user_pk).update(value=new_mark()))


def void_all() -> None:
    """Say that something changed of the bank, in this transaction."""
    transaction.on_commit(lambda: Mark.objects.update(value=new_mark()))


def hear(sender: type[Model], instance: Model, **more: Any) -> None:
    """Void what hangs on a row that was saved or deleted by itself; whoever writes many at once says so."""
    whose = {Card: "user_id", Note: "owner_id"}.get(sender)
    if whose and (user_pk := getattr(instance, whose)):
        void(user_pk)
    else:
        void_all()


def forget() -> None:
    """Keep nothing any longer."""
    _days.clear()


def _passing() -> bool:
    """Whether what is seen now may yet be taken back."""
    return connections[DEFAULT_DB_ALIAS].in_atomic_block


def _key(user_pk: int) -> tuple[str, int]:
    return str(connections[DEFAULT_DB_ALIAS].settings_dict["NAME"]), user_pk


def _current(profile: Profile, day: date) -> Kept | None:
    """What is kept of the day, brought up to now; None where it has to be looked up."""
    user = profile.user_id
    one = _days.get(_key(user))
    if (one is None or one.agenda.begun.study_day != day or one.settings != SETTINGS(profile)
            or monotonic() - one.at > LASTS or MARK.first(user=user) != (one.mark,)):
        return None
    rows = SINCE.all(user=user, latest=one.agenda.latest)
    for row in starmap(Since, rows):
        if (followed := after(one.agenda, row, profile)) is None:
            return None
        more = {row.due_day: one.loads[row.due_day] + 1} if row.due_day in one.loads else {}
        one = replace(one, agenda=followed, loads={**one.loads, **more})
    if rows:
        _keep(user, one)
    return one


def _looked_up(user: User, day: date) -> Kept:
    """The day by the person's cards and log, kept unless an act came between."""
    mark = _mark_of(user.pk)
    one = Kept(mark, SETTINGS(user.profile), monotonic(), build(user, day), {})
    latest, *_ = LATEST.first(user) or (0,)
    if latest == one.agenda.latest:
        _keep(user.pk, one)
    return one


def _mark_of(user_pk: int) -> int:
    if (found := MARK.first(user=user_pk)) is None:
        insert(Mark(user_id=user_pk), unless_there=True)
        found = MARK.get(user=user_pk)
    return found[0]


def _keep(user_pk: int, one: Kept) -> None:
    with _keeping:
        _days[_key(user_pk)] = one
        _days.move_to_end(_key(user_pk))
        while len(_days) > PEOPLE:
            _days.popitem(last=False)


def _due_on(user_pk: int, days: list[date]) -> dict[date, int]:
    """How many of the person's cards in review fall due on each of these days, in order, and on those between near
    ones."""
    starts = [days[0], *(later for day, later in pairwise(days) if later - day > NEAR * DAY)]
    ends = [*(day for day, later in pairwise(days) if later - day > NEAR * DAY), days[-1]]
    found: dict[date, int] = {}
    for first, last in zip(starts, ends, strict=True):
        found |= {first + DAY * at: 0 for at in range((last - first).days + 1)}
        found |= dict(DUE_FROM_TO.all(user=user_pk, first=first, last=last))
    return found
