"""Today after a break, in a browser: a plan that follows its fields, its use by a key, and the undo."""
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from flashcards import own_cards, services
from flashcards.models import Card, Rating
from questions.models import Note
from tests.browser.conftest import LOOKS
from tests.flashcards.conftest import write_questions

Visit = Callable[..., Page]
Check = Callable[[Page], None]


@pytest.fixture
def away(transactional_db: None, ada: User) -> User:
    """Ada, who answered thirty questions three weeks ago and none since."""
    write_questions(30)
    services.ensure_cards(ada)
    for card in Card.objects.filter(user=ada):
        services.answer_card(card, Rating.GOOD, ordinal=1, now=timezone.now() - timedelta(days=21))
    return ada


def test_a_plan_follows_its_fields_is_used_by_enter_and_undone(visit: Visit, away: User):
    page = visit(user=away)
    page.goto("/")
    days, minutes = page.locator("#plan-days"), page.locator("#plan-minutes")
    expect(days).to_have_value("3")
    days.fill("6")
    days.press("Tab")
    expect(minutes).to_have_value("15")  # 30 questions of three minutes over six days
    expect(minutes).to_be_focused()
    minutes.fill("9")
    minutes.press("Enter")
    expect(days).to_have_value("10")
    page.locator("h1").click()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("3 due")
    page.get_by_role("button", name="Put every date back").click()
    expect(page.locator("h1")).to_contain_text("30 are due after three weeks away")


def test_on_a_phone_the_plans_button_is_in_thumbs_reach_all_the_time(visit: Visit, away: User):
    page = visit(user=away, phone=True)
    for address in ("/", "/catch-up/"):
        page.goto(address)
        for end in ("0", "document.body.scrollHeight"):
            page.evaluate(f"window.scrollTo(0, {end})")
            box = page.get_by_role("button", name="Use this plan").bounding_box()
            assert 844 - 72 < box["y"] < 844 - box["height"]
            assert box["width"] > 300


def test_words_without_a_break_widen_no_page(visit: Visit, away: User):
    long = "unbroken" * 30
    words = own_cards.fields_of_words(Note.Kind.BASIC, f"`{long}`", f"<b>{long}</b> $x_{{{long}}}$", [long[:40]], True)
    own_cards.save(away, words, timezone.now())
    card = Card.objects.filter(user=away, note__isnull=False).first()
    assert services.answer_card(card, Rating.AGAIN, ordinal=1, now=timezone.now())
    own = f"/my-cards/{card.note_id}/"
    turn = f"/review/?card={card.pk}&ordinal=2"
    page = visit(user=away, phone=True, viewport={"width": 360, "height": 740})
    wide = {}
    for address in ("/", "/drill/", "/history/", "/my-cards/", own, f"/numbers/{card.note.slug}/", turn,
                    "/search/?q=unbroken", f"/progress/cards/{card.pk}/", "/progress/"):
        page.goto(address)
        wide[address] = page.evaluate("document.documentElement.scrollWidth")
    assert {address: width for address, width in wide.items() if width > 360} == {}


@pytest.mark.parametrize("look", LOOKS)
def test_after_a_break_axe_finds_nothing_and_nothing_scrolls_sideways(
    visit: Visit, away: User, check_access: Check, look: dict
):
    page = visit(user=away, **look)
    for address in ("/", "/drill/"):
        page.goto(address)
        check_access(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
