"""The search in a browser: / opens it over any page, arrows and Enter lead on, Esc gives the page back."""
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from questions import loading, search
from tests.browser.conftest import LOOKS

Visit = Callable[..., Page]
Check = Callable[[Page], None]


@pytest.fixture
def reader(transactional_db: None, ada: User, on_scheduling: loading.Bank) -> User:
    loading.load_bank(replace(on_scheduling, notes={}))
    search.rebuild()
    return ada


def test_the_sheet_opens_finds_and_gives_the_page_back(visit: Visit, reader: User, check_access: Check):
    page = visit(user=reader)
    page.goto("/labs/")
    page.keyboard.press("/")
    field = page.locator("dialog[open] #search-text")
    expect(field).to_be_focused()
    page.keyboard.type("preemtion")
    expect(page.locator("#hits")).to_have_attribute("data-text", "preemtion")
    expect(page.get_by_role("status").filter(has_text="Read as preemption.")).to_be_visible()
    check_access(page)

    # Arrows go through the hits and back into the field.
    page.keyboard.press("ArrowDown")
    expect(page.locator("#hits .hit > a").nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()

    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)
    expect(page.locator("#search-text")).to_have_count(0)
    assert page.url.endswith("/labs/")

    # Opened again, it stays though the browser tells late that it was closed. Enter opens the first.
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.locator("#search-sheet").dispatch_event("close")
    expect(field).to_be_focused()
    page.keyboard.type("who is preempted")
    expect(page.locator("#hits")).to_have_attribute("data-text", "who is preempted")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/questions/preemption-victim/$"))


def test_keys_pressed_before_the_sheet_is_filled_press_nothing_below(visit: Visit, reader: User):
    page = visit(user=reader)
    page.goto("/questions/quizzes/new/")
    held = []
    page.route("**/search/**", lambda route: held.append(route))
    with page.expect_request("**/search/**"):
        page.keyboard.press("/")
    page.keyboard.type("/c")
    page.keyboard.press("Enter")  # begins a quiz where no sheet is over the page
    expect(page.locator("dialog[open]")).to_have_count(1)
    assert page.url.endswith("/questions/quizzes/new/") and not reader.quizzes.exists()
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    expect(page.locator("dialog[open] #search-text")).to_be_focused()
    assert len(held) == 1

    # A key in the moment between the sheet's close and what follows from it goes to the page, not to the hidden field.
    with page.expect_request("**/search/**"):
        page.evaluate("""() => {
          document.getElementById("search-sheet").close();
          const key = new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true });
          document.activeElement.dispatchEvent(key);
        }""")
    while len(held) < 2:
        page.wait_for_timeout(20)
    held[1].continue_()
    expect(page.locator("dialog[open] #search-text")).to_be_focused()

    # Where no field comes the page is given back.
    page.keyboard.press("Escape")
    expect(page.locator("#search-text")).to_have_count(0)  # the sheet is closed, and the browser has told of it
    page.unroute("**/search/**")
    page.route("**/search/**", lambda route: route.fulfill(status=204))
    with page.expect_response("**/search/**"):
        page.keyboard.press("/")
    expect(page.locator("dialog[open]")).to_have_count(0)


def test_the_search_works_without_script(visit: Visit, reader: User):
    page = visit(user=reader, javascript=False)
    page.goto("/labs/")
    page.get_by_role("link", name="Search").first.click()
    page.get_by_label("Search questions").fill("one step's token budget")
    page.keyboard.press("Enter")
    page.locator("#hits .hit > a").first.click()
    assert page.url.endswith("/questions/token-budget/")


@pytest.mark.parametrize("look", LOOKS)
def test_search_glossary_and_paper_can_be_used(visit: Visit, reader: User, check_access: Check, look: dict[str, bool]):
    page = visit(user=reader, **look)
    for address in ("/search/?q=kv+cahce+oom", "/glossary/#kv-block", "/questions/print/?q=token-budget"):
        page.goto(address)
        check_access(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
