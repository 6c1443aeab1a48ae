"""A quiz in a browser: by keys on a desktop, by thumb on a phone in the dark."""
from collections.abc import Callable

from playwright.sync_api import Page, expect

from accounts.models import User
from flashcards.models import QuizAnswer, Review
from questions import loading
from tests.browser.test_review import settled


def wide(page: Page) -> bool:
    """Whether the page scrolls sideways."""
    return page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_a_quiz_by_keys_then_by_thumb(
    visit: Callable[..., Page], transactional_db: None, ada: User, on_scheduling: loading.Bank,
    check_access: Callable[[Page], None],
):
    loading.load_bank(on_scheduling)
    page = visit(user=ada)
    page.goto("/questions/?topic=scheduling&q=token-budget")
    page.get_by_role("link", name="Quiz me on these").click()
    check_access(page)
    page.get_by_label("Questions").fill("1")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/1/")
    expect(page.locator(".place")).to_contain_text("0 of 1 answered, 0 right")
    check_access(page)
    page.keyboard.press("b")
    expect(page.locator("input[value=b]")).to_be_checked()
    page.keyboard.press("c")
    page.locator("body").press("Enter")
    expect(page.locator(".options .mine .letter")).to_have_text("c")
    expect(page.locator(".options .right")).to_contain_text("staff")
    check_access(page)
    assert QuizAnswer.objects.count() == 1
    page.locator("body").press("Enter")
    page.wait_for_url("**/questions/quizzes/*/")
    expect(page.get_by_role("heading", level=1)).to_contain_text("of 1.")
    check_access(page)

    phone = visit(user=ada, phone=True, dark=True, viewport={"width": 360, "height": 740})
    phone.goto("/questions/quizzes/new/?q=long-replies")
    phone.get_by_label("Questions").fill("1")
    assert not wide(phone)
    phone.get_by_role("button", name="Begin").click()
    phone.wait_for_url("**/1/")
    assert not wide(phone)
    phone.get_by_role("button", name="I don’t know").dblclick()
    phone.get_by_role("link", name="Show the score").click()
    phone.wait_for_url("**/questions/quizzes/*/")
    check_access(phone)
    assert QuizAnswer.objects.filter(passed=True).count() == 1
    assert not wide(phone)
    phone.get_by_role("button", name="Put the 1 missed into my drill").dblclick()
    expect(phone.get_by_text("first in today’s drill")).to_be_visible()
    settled(phone)
    assert Review.objects.filter(kind=Review.Kind.SET_DUE).count() == 1
    phone.goto("/questions/quizzes/")
    check_access(phone)
    assert not wide(phone)
