"""Drills by filters in the browser's words: the form, a drill to its end, one that doesn't count, and stale pages."""
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from flashcards import services
from flashcards.models import Attempt, Card, Rating, Review

DRILL, BEGIN = reverse("flashcards:drill"), reverse("flashcards:begin_drill")
Deal = Callable[[int], list[Card]]


def text(response: object) -> str:
    assert response.status_code == 200
    return response.content.decode()


@pytest.fixture
def known(deal: Deal) -> list[Card]:
    """Two cards that Ada answered yesterday, neither due."""
    cards = deal(3)[:2]
    for card in cards:
        assert services.answer_card(card, Rating.EASY, ordinal=1, now=timezone.now() - timedelta(days=1))
        card.refresh_from_db()
    return cards


def fields(page: str) -> dict[str, str]:
    """What the page's forms carry."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))


def commit(client: Client, page: str, pk: int) -> str:
    return text(client.post(reverse("flashcards:check", args=[pk]), fields(page) | {"aloud": "1"}, follow=True))


def card_in(page: str) -> int:
    return int(re.search(r"/cards/(\d+)/(?:check|answer|go-on)/", page)[1])


def test_the_page_says_what_a_drill_would_be(as_ada: Client, known: list[Card]):
    page = text(as_ada.get(DRILL, {"topic": "scheduling"}))
    assert "Drill scheduling" in page
    assert "2 early, about 6 min." in page
    assert "Drill these 2" in page
    assert "2 early, 1 new" in text(as_ada.get(DRILL, {"topic": "scheduling", "new": "1"}))


def test_filters_that_leave_nothing_say_so_and_lead_on(as_ada: Client, known: list[Card]):
    page = text(as_ada.get(DRILL, {"missed": "week"}))
    assert "Nothing that these filters leave was missed this week." in page
    assert "clear the filters" in page
    page = text(as_ada.get(BEGIN, {"topic": "no-such"}, follow=True))
    assert "No card is left by these filters." in page


def test_a_drill_goes_through_its_cards_and_says_what_was_done(as_ada: Client, known: list[Card]):
    page = text(as_ada.get(BEGIN, {"kind": "explain"}, follow=True))
    assert "<b>1</b> of 2" in page
    for _ in known:
        pk = card_in(page)
        page = commit(as_ada, page, pk)
        page = text(as_ada.post(reverse("flashcards:answer", args=[pk]), fields(page) | {"rating": "3"}, follow=True))
    assert "Drill done: 2 answered." in page
    assert "2 Good." in page
    assert all(card.reviews.count() == 2 for card in known)


def test_its_address_alone_goes_on_with_it_in_another_tab(as_ada: Client, known: list[Card]):
    begun = as_ada.get(BEGIN, {"kind": "explain"})
    page = text(as_ada.get(begun.url))
    pk = card_in(page)
    page = commit(as_ada, page, pk)
    sent = fields(page) | {"rating": "3"}
    as_ada.post(reverse("flashcards:answer", args=[pk]), sent)
    other = text(as_ada.get(begun.url))
    assert "<b>2</b> of 2" in other
    assert card_in(other) != pk
    again = text(as_ada.post(reverse("flashcards:answer", args=[pk]), sent, follow=True))  # Back, and sent once more
    assert "Nothing was recorded twice" in again
    assert card_in(again) == card_in(other)
    assert Review.objects.filter(kind="answer").count() == 3


def test_a_cram_records_no_review_and_ends(as_ada: Client, known: list[Card]):
    rows = Review.objects.count()
    page = text(as_ada.get(BEGIN, {"cram": "1"}, follow=True))
    assert "doesn’t count" in page
    for _ in known:
        pk = card_in(page)
        page = commit(as_ada, page, pk)
        assert 'name="rating"' not in page
        sent = fields(page)
        page = text(as_ada.post(reverse("flashcards:go_on", args=[pk]), sent, follow=True))
    assert "Drill done: 2 looked at." in page
    assert "Nothing was counted" in page
    again = as_ada.post(reverse("flashcards:go_on", args=[pk]), sent, follow=True)
    assert "Nothing was recorded twice" in text(again)
    assert Review.objects.count() == rows
    assert Attempt.objects.filter(kind="leave").count() == 2


def test_later_keeps_to_the_drill(as_ada: Client, known: list[Card]):
    page = text(as_ada.get(BEGIN, {"kind": "explain"}, follow=True))
    pk = card_in(page)
    page = text(as_ada.post(reverse("flashcards:draft", args=[pk]), fields(page) | {"leave": "later"}, follow=True))
    assert card_in(page) != pk
    assert fields(page)["kind"] == "explain"


def test_a_strangers_card_is_not_gone_on_from(as_ada: Client, eve: User, known: list[Card]):
    services.ensure_cards(eve)
    theirs = Card.objects.filter(user=eve).first()
    assert as_ada.post(reverse("flashcards:go_on", args=[theirs.pk])).status_code == 404
