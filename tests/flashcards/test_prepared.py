"""Statements that are written once say what the ORM's own say."""
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F, QuerySet
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from flashcards import queue, services
from flashcards.models import Card, Draft, Rating, Review
from flashcards.prepared import Prepared, delete, insert, unhurried, update

DAY = date(2026, 3, 2)
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
FULL = 2  # of SQLite's "synchronous": each write is waited for


@pytest.fixture
def due(deal: Callable[[int], list[Card]]) -> list[Card]:
    """Three of Ada's cards, due on the 1st, the 2nd and the 3rd."""
    cards = deal(3)
    for at, card in enumerate(cards):
        card.state, card.due_day, card.stability = "review", DAY + timedelta(days=at - 1), 3.5 * (at + 1)
        card.save()
    return cards


def test_each_run_finds_what_its_own_values_ask_for(ada: User, due: list[Card]) -> None:
    until = Prepared(
        lambda user, day: Card.objects.filter(user=user, due_day__lte=day).order_by(F("stability").desc()).values_list(
            "pk", "due_day"), "user", "day")
    assert until.all(user=ada.pk, day=DAY) == [(due[1].pk, DAY), (due[0].pk, DAY - timedelta(days=1))]
    assert until.all(user=ada.pk, day=DAY - timedelta(days=1)) == [(due[0].pk, DAY - timedelta(days=1))]
    assert until.all(user=ada.pk + 1, day=DAY) == []
    assert until.first(user=ada.pk + 1, day=DAY) is None


def test_objects_come_whole_with_what_they_are_joined_to(
    ada: User, due: list[Card], django_assert_num_queries: Any
) -> None:
    whole = Prepared(
        lambda pk: Card.objects.filter(pk=pk).select_related("question__topic", "note", "user__profile"), "pk")
    same = Card.objects.select_related("question__topic", "user__profile").get(pk=due[0].pk)
    with django_assert_num_queries(1):
        card = whole.first(pk=same.pk)
        assert card == same and card.due_day == same.due_day and card.note is None
        assert card.question.rubric == same.question.rubric and card.question.topic == same.question.topic
        assert card.user.profile.day_start == same.user.profile.day_start


def test_the_query_is_built_once(due: list[Card]) -> None:
    built: list[Any] = []

    def build(pk: Any) -> QuerySet[Card]:
        built.append(pk)
        return Card.objects.filter(pk=pk)

    one = Prepared(build, "pk")
    assert [one.first(pk=card.pk) for card in due] == due
    assert len(built) == 1


def test_a_row_inserted_and_updated_is_as_the_orm_would_have_it(ada: User, due: list[Card]) -> None:
    fields = {"card": due[0], "ordinal": 1, "kind": "answer", "rating": 3, "at": NOON, "study_day": DAY, "zone": "UTC",
              "day_start": ada.profile.day_start, "was": "new", "state": "review", "stability": 2.5, "due_at": NOON}
    row = Review(**fields)
    insert(row)
    there = Review.objects.get(pk=row.pk)
    assert {name: getattr(there, name) for name in fields} == fields and there.batch is None and not there.asked
    with pytest.raises(TypeError, match="never changed"):
        row.save()
    due[0].due_at, due[0].asked, due[0].lapses = NOON, True, 7
    update(due[0], ["due_at", "asked"])
    card = Card.objects.get(pk=due[0].pk)
    assert (card.due_at, card.asked, card.lapses) == (NOON, True, 0)


def test_statements_that_somebody_listens_to_do_the_same(card: Card) -> None:
    """Listened to, they go by Django's cursor; else, on SQLite, straight to the driver."""
    for listening in (True, False):
        with CaptureQueriesContext(connection) if listening else nullcontext():
            draft = Draft(card=card, opened_at=NOON, typed="50% of %s", said={"A": "½"}, aloud=True, ticks=["one"])
            assert insert(draft, unless_there=True)
            assert not insert(Draft(card=card, opened_at=NOON), unless_there=True)
            with pytest.raises(IntegrityError), transaction.atomic():
                insert(Draft(card=card, opened_at=NOON))
            there = Draft.objects.get()
            assert (there.pk, there.opened_at, there.typed) == (draft.pk, NOON, "50% of %s")
            assert (there.said, there.aloud, there.confidence, there.ticks) == ({"A": "½"}, True, None, ["one"])
            delete(Draft, "card", card.pk)
        assert not Draft.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_after_a_look_every_write_is_waited_for_again(card: Card) -> None:
    waits: Callable[[], Any] = partial(pragma, "synchronous")
    before = waits()
    pragma(f"synchronous={FULL}")
    services.open_card(card, NOON)
    assert Draft.objects.filter(card=card).exists() and waits() == FULL
    with pytest.raises(LookupError), unhurried():
        assert waits() == (1 if connection.vendor == "sqlite" else FULL)
        raise LookupError
    assert waits() == FULL
    with transaction.atomic(), unhurried():
        assert waits() == FULL
    pragma(f"synchronous={before}")


def pragma(text: str) -> int | None:
    """What SQLite says to it; any other database always waits."""
    if connection.vendor != "sqlite":
        return FULL
    with connection.cursor() as cursor:
        return (cursor.execute(f"PRAGMA {text}").fetchone() or [None])[0]


def test_a_grade_that_nothing_spreads_does_what_its_button_says(ada: User, card: Card) -> None:
    """In learning steps, and of Again on a card in review with no steps to go back to."""
    ada.profile.relearning_steps = ""
    for ratings in (Rating, [Rating.AGAIN]):
        for rating in ratings:
            offer = queue.offer(card, card.next_ordinal, NOON, ada.profile)[rating]
            taken = queue.taken(card, rating, card.next_ordinal, NOON, ada.profile, offer.due_day)
            assert taken == (offer.memory, offer.due)
        card.state, card.stability, card.difficulty, card.fed_at = "review", 30.0, 5.0, NOON - timedelta(days=40)
        card.last_day, card.last_at, card.due_day = DAY - timedelta(days=40), card.fed_at, DAY - timedelta(days=10)


def test_an_answer_takes_as_many_statements_after_fifty_answers_as_after_two(ada: User, card: Card) -> None:
    def statements(now: datetime) -> int:
        with CaptureQueriesContext(connection) as asked:
            assert queue.next_card(ada, now) is not None
            services.open_card(card, now)
            attempt = services.commit_attempt(card, ordinal=card.next_ordinal, now=now, aloud=True)
            offer = queue.offer(card, card.next_ordinal, now, card.user.profile)[Rating.AGAIN]
            assert services.answer_card(
                card, Rating.AGAIN, ordinal=card.next_ordinal, now=now, attempt=attempt, shown=offer.due_day)
        card.refresh_from_db()
        return len(asked)

    taken = [statements(NOON + at * timedelta(days=1)) for at in range(50)]
    assert taken[49] == taken[2]
