"""The history of one's actions: everything that was done, in words, and the undo of any of it."""
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from flashcards import services
from flashcards.action_list import PAGE, ActionList
from flashcards.models import Card, Rating, Review
from tests.flashcards.test_review_pages import text
from tests.flashcards.test_services import answer, place

DAY = timedelta(days=1)


@pytest.fixture
def cards(deal: Callable[[int], list[Card]]) -> list[Card]:
    """Four cards, of which three were answered a week ago."""
    dealt = deal(4)
    for card in dealt[:3]:
        answer(card, Rating.GOOD, timezone.now() - 7 * DAY)
    return dealt


def undo(client: Client, review: object, **more: object) -> str:
    return text(client.post(reverse("flashcards:undo_action"), {"review": review} | more, follow=True))


def told(user: User) -> list[tuple[str, bool, bool]]:
    """Each act in words, whether it is undone, and whether it may be."""
    return [(action.words, action.undone, action.may_be_undone) for action in ActionList(user, "1").actions]


def caught_up(user: User, cards: list[Card]) -> None:
    day = timezone.now().date() + 3 * DAY
    assert services.move_due(user, {card.pk: day + at * DAY for at, card in enumerate(cards)}, now=timezone.now())


def test_every_act_is_there_in_words_the_latest_first(ada: User, cards: list[Card]):
    now = timezone.now()
    place(cards[0], "suspend", now)
    place(cards[1], "bury", now)
    place(cards[1], "amend", now)  # to Good, which it is: nothing is written
    services.amend(cards[1], cards[1].reviews.first().pk, Rating.HARD, ordinal=cards[1].next_ordinal, now=now)
    place(cards[2], "reset", now)
    place(cards[3], "add", now)
    words = [one for one, _, _ in told(ada)]
    assert re.fullmatch(r"Grade of \d+ \w+ \d+ changed from Good to Hard", words.pop(2))
    assert words == ["Add to drill", "Begun anew", "Put off to tomorrow", "Suspended", "Good", "Good", "Good"]


def test_any_act_is_undone_out_of_turn_and_struck_out(as_ada: Client, ada: User, cards: list[Card]):
    place(cards[0], "suspend", timezone.now())
    suspension = cards[0].reviews.last().pk
    place(cards[1], "bury", timezone.now())
    page = undo(as_ada, suspension)
    assert "Undone: Suspended on “Question 1”." in page
    assert "<s>Suspended</s> undone" in page
    cards[0].refresh_from_db()
    assert not cards[0].suspended
    assert told(ada)[:2] == [("Put off to tomorrow", False, True), ("Suspended", True, False)]


def test_catching_up_is_one_row_and_one_undo(as_ada: Client, ada: User, cards: list[Card]):
    before = {card.pk: card.due_day for card in cards}
    caught_up(ada, cards[:3])
    assert told(ada)[0] == ("Caught up: 3 cards moved", False, True)
    assert len(told(ada)) == 4
    named = ActionList(ada, "1").actions[0].row.pk
    page = undo(as_ada, named)
    assert "Undone: Due day set, on 3 cards." in page
    assert {card.pk: card.due_day for card in Card.objects.filter(user=ada)} == before
    assert "Nothing was undone" in undo(as_ada, named)
    assert Review.objects.filter(kind="undo").count() == 3


def test_an_answer_in_the_middle_is_changed_on_its_page_instead(as_ada: Client, ada: User, cards: list[Card]):
    first = cards[0].reviews.get().pk
    answer(cards[0], Rating.HARD, timezone.now())
    assert told(ada) == [("Hard", False, True), ("Good", False, True), ("Good", False, True), ("Good", False, False)]
    assert "or the card was answered since" in undo(as_ada, first)
    page = text(as_ada.get(reverse("flashcards:history")))
    assert page.count(f'action="{reverse("flashcards:undo_action")}"') == 3
    assert '<a href="/questions/q1/">Question 1</a>' in page


def test_each_undo_that_is_offered_can_be_done(as_ada: Client, ada: User, cards: list[Card]):
    """Whatever the order, an undo that the page shows takes its act back, until none is left."""
    for verb in ("bury", "add", "suspend", "amend", "remove", "reset"):
        for card in cards[:3]:
            place(card, verb, timezone.now())
    answer(cards[0], Rating.EASY, timezone.now())
    caught_up(ada, cards)
    left = Review.objects.standing().filter(card__user=ada).count()
    while offered := [action for action in ActionList(ada, "1").actions if action.may_be_undone]:
        named = offered[len(offered) // 2].row
        assert "Undone: " in undo(as_ada, named.pk)
        assert Review.objects.standing().filter(card__user=ada).count() < left
        left = Review.objects.standing().filter(card__user=ada).count()
    assert left == 0


def test_many_are_paged_and_an_undo_stays_on_its_page(as_ada: Client, ada: User, cards: list[Card]):
    for at in range(PAGE):
        place(cards[at % 2], "suspend" if at % 4 < 2 else "unsuspend", timezone.now())
    page = text(as_ada.get(reverse("flashcards:history"), {"page": 2}))
    assert page.count("<td>Good<") == 3
    assert 'href="?page=1"' in page
    response = as_ada.post(
        reverse("flashcards:undo_action"), {"review": cards[2].reviews.get().pk, "page": "2"})
    assert response.url == "/history/?page=2"


@pytest.mark.parametrize("sent", [{}, {"review": "x"}, {"review": "9" * 40}, {"review": "1", "page": "javascript:"}])
def test_garbage_undoes_nothing(as_ada: Client, cards: list[Card], sent: dict[str, str]):
    if sent.get("review") == "1":
        sent |= {"review": str(Review.objects.order_by("-pk").first().pk + 1)}
    assert "Nothing was undone" in text(as_ada.post(reverse("flashcards:undo_action"), sent, follow=True))
    for number in ("x", "0", "-1", "9" * 30):
        assert as_ada.get(reverse("flashcards:history"), {"page": number}).status_code == 200


def test_anothers_acts_are_neither_seen_nor_undone(cards: list[Card], eve: User):
    client = Client()
    client.force_login(eve)
    assert "Here will stand each answer" in text(client.get(reverse("flashcards:history")))
    assert "Nothing was undone" in undo(client, cards[0].reviews.get().pk)
    assert not Review.objects.filter(kind="undo").exists()
