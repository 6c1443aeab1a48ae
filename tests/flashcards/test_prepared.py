"""Statements that are written once say what the ORM's own say."""
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F, QuerySet
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from flashcards import queue, services
from flashcards.models import Card, Rating, Review
from flashcards.prepared import Prepared, insert, update

DAY = date(2026, 3, 2)
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


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
