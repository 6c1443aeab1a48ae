"""Today after a break, in a browser: a plan that follows its fields, its use by a key, and the undo."""
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from flashcards import services
from flashcards.models import Card, Rating
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


@pytest.mark.parametrize("look", LOOKS)
def test_after_a_break_axe_finds_nothing_and_nothing_scrolls_sideways(
    visit: Visit, away: User, check_access: Check, look: dict
):
    page = visit(user=away, **look)
    for address in ("/", "/drill/"):
        page.goto(address)
        check_access(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
