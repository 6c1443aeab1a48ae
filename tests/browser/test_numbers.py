"""Number cards in a browser: a sitting by keys on a phone's width, and the page of all of them."""
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from flashcards import services
from flashcards.models import Card, Review
from questions import loading
from tests.browser.conftest import LOOKS

Visit = Callable[..., Page]
Check = Callable[[Page], None]


@pytest.fixture
def learner(transactional_db: None, ada: User, real_deck: loading.Bank) -> User:
    """Ada with the real deck and no question."""
    loading.load_bank(real_deck)
    services.ensure_cards(ada)
    return ada


def address(slug: str, direction: str) -> str:
    card = Card.objects.get(note__slug=slug, direction=direction)
    return f"/review/?card={card.pk}&ordinal={card.next_ordinal}"


def settled(page: Page) -> None:
    """Wait until htmx has taken up what it put in."""
    expect(page.locator(".htmx-request, .htmx-added, .htmx-settling, .htmx-swapping")).to_have_count(0)


def rested(page: Page) -> None:
    """Wait until the same key pressed again no longer counts as the second half of a double tap."""
    settled(page)
    page.wait_for_timeout(400)


def standing() -> list[tuple[str, int]]:
    """The answers that stand, each with its grade."""
    return list(Review.objects.answers().order_by("pk").values_list("card__note__slug", "rating"))


def test_a_figure_typed_at_large_goes_into_the_field(visit: Visit, learner: User):
    page = visit(user=learner)
    page.goto("/review/?only=numbers")
    expect(page.locator("h1")).to_be_focused()
    page.keyboard.type("4.8")
    expect(page.locator("#typed")).to_have_value("4.8")
    page.keyboard.press("Enter")
    settled(page)
    page.keyboard.press("3")  # a grade, where there is one to give
    expect(page.locator(".number-front")).to_contain_text("how busy is the GPU")
    expect(page.locator("#typed")).to_have_value("")
    assert standing() == [("pass-8b-h100", 3)]


def test_a_sitting_by_keys_on_a_phone(visit: Visit, learner: User, check_access: Check):
    page = visit(user=learner, phone=True)
    page.goto("/review/?only=numbers")
    expect(page.locator(".number-front")).to_contain_text("Llama-3.1-8B")
    check_access(page)

    # An estimate: c to the field, Enter checks, Space takes the suggested grade.
    page.keyboard.press("c")
    page.keyboard.type("4.2")
    expect(page.locator("#reading")).to_contain_text("read as 4.2 ms")
    page.keyboard.press("Enter")
    expect(page.locator(".verdict")).to_contain_text("4.2 ms is 0.88×, just outside.")
    expect(page.locator(".grade.suggested")).to_contain_text("Hard")
    check_access(page)
    settled(page)
    page.keyboard.press("Space")

    # A flip, and Space takes Good.
    expect(page.locator(".number-front")).to_contain_text("how busy is the GPU")
    rested(page)
    page.keyboard.press("Space")
    expect(page.locator(".big-number")).to_contain_text("69")
    expect(page.locator(".grade.suggested")).to_have_count(0)
    rested(page)
    page.keyboard.press("Space")
    expect(page.locator(".number-front")).to_contain_text("four steps")
    assert standing() == [("pass-8b-h100", 2), ("step-sync-gap", 3)]

    # Undone, it is back as it was flipped, and graded again.
    settled(page)
    page.keyboard.press("u")
    expect(page.locator(".big-number")).to_contain_text("69")
    settled(page)
    page.keyboard.press("4")
    expect(page.locator(".number-front")).to_contain_text("four steps")
    assert standing() == [("pass-8b-h100", 2), ("step-sync-gap", 4)]
    assert "only=numbers" in page.url

    # Put off, it comes last.
    settled(page)
    page.keyboard.press("Escape")
    expect(page.locator(".number-front")).to_contain_text("The most that overlapping")


def test_a_number_is_drilled_without_scripts(visit: Visit, learner: User):
    page = visit(user=learner, javascript=False)
    page.goto(address("kv-8b", "forward"))
    page.get_by_label("Your estimate").fill("a lot")
    page.get_by_label("Your estimate").press("Enter")
    expect(page.locator(".fault")).to_contain_text("can't be read as a number")
    page.get_by_label("Your estimate").fill("130")
    page.get_by_role("button", name="Check").last.click()
    expect(page.locator(".verdict")).to_contain_text("130 KiB is 1.02×, in the range.")
    page.get_by_role("button", name="Good").click()
    assert standing() == [("kv-8b", 3)]


@pytest.mark.parametrize("look", LOOKS)
def test_both_sides_are_accessible_and_fit(
    visit: Visit, learner: User, check_access: Check, look: dict[str, bool]
):
    page = visit(user=learner, **look)
    for slug, direction in (("kv-8b", "reverse"), ("bitmask-llama3", "forward"), ("mtp-accept", "forward")):
        page.goto(address(slug, direction))
        check_access(page)
        settled(page)
        page.keyboard.press("Space")
        expect(page.locator("#grade")).to_be_visible()
        check_access(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("phone", [False, True])
def test_a_number_on_its_page_is_turned_in_place(visit: Visit, learner: User, check_access: Check, phone: bool):
    page = visit(user=learner, phone=phone)
    page.goto("/numbers/?topic=kv-cache")
    check_access(page)
    place = page.locator(".number-place").first
    expect(place.locator(".value")).not_to_be_visible()
    before = place.bounding_box()["height"]
    place.locator("summary").click()
    expect(place.locator(".value")).to_have_text("128")
    if not phone:
        assert place.bounding_box()["height"] == before
    check_access(page)
    page.get_by_role("link", name="number to meaning").click()
    expect(page.locator(".number-place").first.locator(".value")).to_be_visible()
    check_access(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not Review.objects.exists()
