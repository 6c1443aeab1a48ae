"""Moving what is scheduled apart from its page: it does what the page would do, whole or not at all."""
from collections.abc import Callable
from datetime import timedelta
from threading import Thread

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from accounts.models import Profile, User
from flashcards import rescheduling, services, works
from flashcards.models import Card, Rating, Review, Work
from tests.flashcards.test_settings import AS_IT_IS

Deal = Callable[[int], list[Card]]
MOVING = "/settings/moving/"


@pytest.fixture
def scheduled(deal: Deal, ada: User) -> list[Card]:
    """Six cards answered Good or Easy yesterday, one of them put off since, and one that is new; more is asked for
    now."""
    cards, yesterday = deal(7), timezone.now() - timedelta(days=1)
    for number, card in enumerate(cards[:6]):
        rating = (Rating.GOOD, Rating.EASY)[number % 2]
        assert services.answer_card(card, rating, ordinal=1, now=yesterday)
    cards[0].refresh_from_db()
    assert services.bury(cards[0], ordinal=2, now=yesterday)
    Profile.objects.filter(user=ada).update(desired_retention=0.8)
    return cards


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every deck is a large one; its work waits here, by its key."""
    waiting: list[int] = []
    monkeypatch.setattr(rescheduling, "AT_ONCE", 0)
    monkeypatch.setattr(works, "start", lambda work: waiting.append(work.pk))
    return waiting


def all_of(user: User) -> tuple[list[dict], list[dict]]:
    """The person's cards and log, but for when and in which act rows were written."""
    log = Review.objects.filter(card__user=user).order_by("card", "ordinal").values()
    return (list(Card.objects.filter(user=user).order_by("pk").values()),
            [{name: value for name, value in row.items() if name not in ("id", "at", "batch")} for row in log])


def take(user: User) -> int:
    return rescheduling.take(Work(user=user, kind=Work.Kind.MOVE), lambda share, stage: None)["moved"]


def test_it_moves_what_the_page_would_and_writes_the_same_rows(scheduled: list[Card], ada: User):
    with transaction.atomic():
        moved, there = services.reschedule(ada, timezone.now()), all_of(ada)
        transaction.set_rollback(True)
    assert moved == 6
    assert take(ada) == 6
    assert all_of(ada) == there
    assert all(services.rebuild_card(card, write=False) == "" for card in Card.objects.all())
    assert take(ada) == 0


def test_one_undo_takes_all_of_it_back(scheduled: list[Card], ada: User):
    before = {card.pk: card.due_day for card in Card.objects.all()}
    take(ada)
    assert {card.pk: card.due_day for card in Card.objects.all()} != before
    assert services.undo(ada, services.last_action(ada).pk, now=timezone.now())
    assert {card.pk: card.due_day for card in Card.objects.all()} == before


def test_a_card_answered_meanwhile_stays_where_its_answer_put_it(scheduled: list[Card], ada: User):
    now = timezone.now()
    days = {card.pk: (card.log_length, day) for card, day in rescheduling.days_by_settings(
        rescheduling.scheduled(ada, now.date()), ada, now)}
    answered = Card.objects.get(pk=scheduled[1].pk)
    services.answer_card(answered, Rating.HARD, ordinal=2, now=now)
    answered.refresh_from_db()
    due = answered.due_day
    assert rescheduling.move(ada, days, now) == 5
    answered.refresh_from_db()
    assert (answered.due_day, answered.log_length) == (due, 2)


def test_other_peoples_cards_stay(scheduled: list[Card], ada: User, eve: User):
    before = all_of(ada)
    assert take(eve) == 0
    assert all_of(ada) == before


def test_a_large_deck_moves_apart_from_its_page_which_says_so(
    as_ada: Client, ada: User, scheduled: list[Card], apart: list[int]
):
    answer = as_ada.post("/settings/", AS_IT_IS | {"desired_retention": "0.8", "move": "on"})
    assert (answer.status_code, answer.url, len(apart)) == (302, MOVING, 1)
    assert not Review.objects.filter(kind="set_due").exists()
    assert "it goes on" in as_ada.get(MOVING).content.decode()
    as_ada.post("/settings/", AS_IT_IS | {"desired_retention": "0.8", "move": "on"})
    assert len(apart) == 1  # the one under way goes on
    works.do(apart[0])
    page = as_ada.get(MOVING, headers={"HX-Request": "true"}).content.decode()
    assert "6 cards moved." in page
    assert "hx-trigger" not in page
    assert Review.objects.filter(kind="set_due").count() == 6


def test_a_small_deck_moves_at_once(as_ada: Client, scheduled: list[Card]):
    answer = as_ada.post("/settings/", AS_IT_IS | {"desired_retention": "0.8", "move": "on"}, follow=True)
    assert "6 cards moved." in answer.content.decode()
    assert not Work.objects.exists()


def test_what_was_killed_has_moved_nothing_and_can_be_begun_again(
    as_ada: Client, ada: User, scheduled: list[Card], apart: list[int]
):
    Work.objects.create(user=ada, kind=Work.Kind.MOVE, asked_at=timezone.now() - timedelta(minutes=3), progress=0.6,
                        seen_at=timezone.now() - timedelta(minutes=2))
    page = as_ada.get(MOVING).content.decode()
    assert "Nothing was moved." in page
    assert works.STOPPED in page
    as_ada.post(MOVING)
    works.do(*apart)
    assert "6 cards moved." in as_ada.get(MOVING).content.decode()


def test_what_was_taken_for_dead_while_it_wrote_moves_nothing(ada: User, scheduled: list[Card], apart: list[int]):
    rescheduling.begin(ada, timezone.now())

    def tell(share: float, stage: str) -> None:
        if share == 0.99:
            raise works.Closed

    before = all_of(ada)
    with pytest.raises(works.Closed):
        rescheduling.take(Work.objects.get(), tell)
    assert all_of(ada) == before


def test_before_anything_moved_the_page_says_so(as_ada: Client):
    assert "Nothing is being moved." in as_ada.get(MOVING).content.decode()


@pytest.mark.django_db(transaction=True)
def test_an_answer_on_another_card_comes_after_the_whole_move(scheduled: list[Card], ada: User):
    """Rows of a person come to be seen in the order of their keys: a day that is kept hears of none that comes late."""
    now, new = timezone.now(), scheduled[6]
    days = {card.pk: (card.log_length, day) for card, day in rescheduling.days_by_settings(
        rescheduling.scheduled(ada, now.date()), ada, now)}
    waited = []

    def answer() -> None:
        services.answer_card(new, Rating.GOOD, ordinal=1, now=now)
        connection.close()

    thread = Thread(target=answer)

    def at_the_end() -> None:
        thread.start()
        thread.join(0.5)
        waited.append(thread.is_alive())

    assert rescheduling.move(ada, days, now, at_the_end) == 6
    thread.join()
    assert waited == [True]
    assert Review.objects.order_by("-pk").first().card == new
