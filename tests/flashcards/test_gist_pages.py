"""The small picture on the review's page: there after the commit, with the reader's number, and not before."""
from types import SimpleNamespace

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from accounts.models import User
from calculators.labs import LABS
from flashcards import services
from flashcards.models import Card
from questions import loading


@pytest.fixture
def deck(ada: User, on_scheduling: loading.Bank) -> dict[str, Card]:
    loading.load_bank(on_scheduling)
    ada.profile.new_questions_per_day, ada.profile.new_numbers_per_day = 63, 0
    ada.profile.save()
    services.ensure_cards(ada)
    return {card.question.slug: card for card in Card.objects.filter(user=ada, note=None)}


def look(client: Client, card: Card) -> str:
    return client.get(reverse("flashcards:review"), {"card": card.pk, "ordinal": 1}).content.decode()


def check(client: Client, card: Card, **sent: str) -> str:
    response = client.post(reverse("flashcards:check", args=[card.pk]), {"ordinal": 1} | sent, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def test_the_picture_comes_with_the_answer_and_holds_the_readers_number(as_ada: Client, deck: dict[str, Card]):
    card = deck["prefill-damage"]
    assert 'class="gist"' not in look(as_ada, card)
    page = check(as_ada, card, typed="0.25 s")
    assert page.count('class="gist"') == 1
    assert page.count(">you: 250 ms<") == 1  # wide; on a phone it stands at the axis
    assert page.count('class="pen"') >= 2
    assert page.index('class="gist"') < page.index('class="derivation"')
    assert "style=" not in page


def test_said_aloud_it_has_no_pen(as_ada: Client, deck: dict[str, Card]):
    page = check(as_ada, deck["prefill-damage"], aloud="1")
    assert 'class="gist"' in page
    assert ">you" not in page[page.index('class="gist"'):page.index('class="derivation"')]


def test_the_queue_draws_its_pole_and_a_trace_draws_nothing(as_ada: Client, deck: dict[str, Card]):
    assert "both go with 1 / (1 − load)" in check(as_ada, deck["overload-queueing"], typed="2 s")
    assert 'class="gist"' not in check(as_ada, deck["token-budget"], said_A="1")


def test_an_empty_field_offers_forms_of_its_own_unit(as_ada: Client, deck: dict[str, Card]):
    assert "number and unit: 7.5 s, 500 ms" in look(as_ada, deck["prefill-damage"])
    assert "number and unit: 25 GB/s, 900 MB/s" in look(as_ada, deck["recompute-or-move"])
    assert "number and unit: 1,200 sequences, 1.2k, 1.2e3" in look(as_ada, deck["three-ceilings"])


@pytest.mark.parametrize(("same", "said"), [(False, True), (True, False)])
def test_a_lab_that_asks_for_another_number_says_so_before_it_is_opened(same: bool, said: bool):
    posed = SimpleNamespace(lab_title="Memory ledger", view=LABS["memory-ledger"].view("ledger"), checks_shown=same)
    html = render_to_string("flashcards/_lab_fold.html", {
        "posed": posed, "lab": "/labs/memory-ledger?ask=1", "desk": SimpleNamespace(attempt=None, check_kind="number"),
        "card": SimpleNamespace(pk=1)})
    assert ("; it first asks for something else: GiB of KV" in html) == said
