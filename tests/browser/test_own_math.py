"""Formulas on a person's own card in a browser: drawn, and wider than a phone without widening its page."""
from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from flashcards import own_cards
from questions.models import Note
from tests.browser.conftest import LOOKS

WIDE = " + ".join(rf"\frac{{a_{{{n}}}}}{{b}}" for n in range(60))
OVER = "element => element.scrollWidth - element.clientWidth"


@pytest.mark.parametrize("look", LOOKS)
def test_a_wide_formula_scrolls_in_itself(
    visit: Callable[..., Page], transactional_db: None, ada: User, check_access: Callable[[Page], None], look: dict,
):
    front, back = "What is $x^2$, at $5 and $10?", f"$$\n{WIDE}\n$$\n\nor \\({WIDE}\\) or\n\n- $\\hspace{{99em}}x$"
    own_cards.save(ada, own_cards.fields_of_words(Note.Kind.BASIC, front, back, []), timezone.now())
    page = visit(user=ada, **look)
    page.goto("/review/")
    front = page.locator(".own-front")
    expect(front).to_contain_text("at $5 and $10?")
    raised, base = (front.locator(f"msup > {part}").bounding_box() for part in ("mn", "mi"))
    assert raised["y"] < base["y"] and raised["x"] > base["x"]
    page.locator("button[name=aloud]").click()
    expect(page.locator(".own-back")).to_be_visible()
    assert page.locator("html").evaluate(OVER) == 0
    display = page.locator(".own-back math[display=block]")
    assert display.evaluate(OVER) > 100
    display.evaluate("element => element.addEventListener('scroll', () => element.setAttribute('data-scrolled', ''))")
    display.focus()
    page.keyboard.press("ArrowRight")
    expect(display).to_have_attribute("data-scrolled", "")
    check_access(page)
