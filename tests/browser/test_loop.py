"""What every kind of card says and where focus goes, by keys on a desktop and by thumb on a phone: each result is told
once, focus is on the heading of what came, and a double tap is one."""
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from flashcards import services
from flashcards.models import Attempt, Card, QuizAnswer, Review
from questions import loading
from tests.browser.test_review import ENGINE_MAP, HEAR, address, card_of, heard, settled

Visit = Callable[..., Page]
DEVICES = [pytest.param({}, id="keys"), pytest.param({"phone": True}, id="thumb")]
GRADES = """
- form "Grade":
  - button /Again/
  - button /Hard/
  - button /Good/
  - button /Easy/
"""


class Hands:
    """One way to press: the key that the page shows for it, or a tap on the button; `twice` as fast as one can."""

    def __init__(self, page: Page, phone: bool) -> None:
        self.page, self.phone = page, phone

    def press(self, key: str, name: str, *, twice: bool = False) -> None:
        if not self.phone:
            for _ in range(1 + twice):
                self.page.keyboard.press(key)
            return
        button = self.page.get_by_role("button", name=name).and_(self.page.locator(":visible")).first
        button.scroll_into_view_if_needed()
        box = button.bounding_box()
        for _ in range(1 + twice):
            self.page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def comes(self, title: str) -> None:
        """The card, or the side of it, that this heading names has come and has the focus."""
        expect(self.page.get_by_role("heading", level=1, name=title)).to_be_focused()
        settled(self.page)

    def hears(self, words: str) -> None:
        """This was told, and nothing else, since last asked."""
        (said,) = heard(self.page)
        assert said.startswith(words)


@pytest.fixture
def numbers(transactional_db: None, ada: User, real_deck: loading.Bank) -> list[Card]:
    """Two number cards are Ada's day."""
    loading.load_bank(real_deck)
    ada.profile.new_numbers_per_day, ada.profile.number_steps = 2, ""
    ada.profile.save()
    services.ensure_cards(ada)
    return list(Card.objects.filter(user=ada, direction="forward").order_by("note__topic__position", "note__position"))


@pytest.mark.parametrize("look", DEVICES)
def test_number_cards_to_the_end_of_the_day(visit: Visit, ada: User, numbers: list[Card], look: dict):
    page = visit(user=ada, **look)
    hands = Hands(page, bool(look))
    page.goto("/review/")
    page.evaluate(HEAR)
    hands.comes("1 of 2")
    hands.press("Space", "Just flip", twice=True)
    hands.comes("turned over")
    expect(page.locator("#card")).to_match_aria_snapshot(GRADES)
    assert heard(page) == []  # the heading says it

    page.wait_for_timeout(400)
    hands.press("3", "Good", twice=True)
    hands.comes("2 of 2")
    hands.hears("Recorded: Good. Next ")
    assert (Review.objects.count(), Attempt.objects.filter(kind="check").count()) == (1, 1)
    hands.press("u", "Undo")
    hands.comes("turned over")
    hands.hears("Undone: Good.")
    hands.press("4", "Easy")
    hands.comes("2 of 2")
    hands.hears("Recorded: Easy. ")

    page.wait_for_timeout(400)
    hands.press("-", "Not today", twice=True)
    hands.comes("2 of 2")  # the next new one has come in its place
    hands.hears("Put off: ")
    hands.press("u", "Undo")
    hands.comes("2 of 2")
    hands.hears("Undone: Put off")
    page.wait_for_timeout(400)
    hands.press("@", "Suspend", twice=True)
    hands.comes("2 of 2")
    hands.hears("Suspended: ")
    hands.press("u", "Undo")
    hands.comes("2 of 2")
    hands.hears("Undone: Suspended")
    assert list(Review.objects.order_by("pk").values_list("kind", flat=True)) == [
        "answer", "undo", "answer", "bury", "undo", "suspend", "undo"]

    # A typed estimate, then the end, which is told as every result is and has the focus.
    page.locator("#typed").fill("1")
    hands.press("Control+Enter", "Check")
    hands.comes("turned over")
    page.wait_for_timeout(400)
    hands.press("2", "Hard", twice=True)
    hands.comes("Done for today: 2 answered.")
    hands.hears("Recorded: Hard. ")
    assert Review.objects.answers().count() == 2
    assert not page.get_by_role("button", name="Check").count()
    hands.press("u", "Undo")
    hands.comes("turned over")
    hands.hears("Undone: Hard.")


@pytest.mark.parametrize("look", DEVICES)
def test_a_map_and_a_due_day(
    visit: Visit, transactional_db: None, ada: User, on_scheduling: loading.Bank, look: dict
):
    loading.load_bank(on_scheduling)
    ada.profile.new_numbers_per_day = 0
    ada.profile.save()
    services.ensure_cards(ada)
    page = visit(user=ada, **look)
    hands = Hands(page, bool(look))
    page.goto("/review/")
    page.evaluate(HEAR)
    hands.comes("1 of 2")
    for name, tokens in ENGINE_MAP.items():
        page.locator(f"#commit [name=said_{name}]").fill(tokens)
    page.locator(".confidence label", has_text="90").click()
    hands.press("Control+Enter", "Check", twice=True)
    hands.comes("beside the staff answer")
    expect(page.locator("#card")).to_match_aria_snapshot(GRADES)
    expect(page.get_by_role("checkbox")).to_have_count(7)
    assert heard(page) == []
    page.wait_for_timeout(400)
    hands.press("Space", "Good", twice=True)
    hands.comes("2 of 2")
    hands.hears("Recorded: Good. ")
    assert Review.objects.count() == 1

    page.goto(address(card_of(ada, "token-budget")))
    page.evaluate(HEAR)
    field = page.get_by_role("textbox", name="Due")
    field.fill("in 9 days")
    field.press("Enter")
    hands.comes("of 2")
    hands.hears("Due day set: ")
    hands.press("u", "Undo")
    hands.hears("Undone: ")
    assert list(Review.objects.order_by("pk").values_list("kind", flat=True)) == ["answer", "set_due", "undo"]


@pytest.mark.parametrize("look", DEVICES)
def test_a_question_with_options(
    visit: Visit, transactional_db: None, ada: User, on_scheduling: loading.Bank, look: dict
):
    loading.load_bank(on_scheduling)
    page = visit(user=ada, **look)
    page.goto("/questions/quizzes/new/?q=token-budget")
    page.get_by_label("Questions").fill("1")
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    group = page.get_by_role("radiogroup", name="answers")
    expect(group.get_by_role("radio")).to_have_count(4)
    if look:
        group.get_by_role("radio").nth(1).tap(force=True)
        page.get_by_role("button", name="Check").dblclick()
    else:
        page.keyboard.press("b")
        page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1, name="beside the staff answer")).to_be_focused()
    assert QuizAnswer.objects.count() == 1


def test_the_second_of_two_taps_on_what_has_come_leaves_it_the_focus(visit: Visit, ada: User, numbers: list[Card]):
    page = visit(user=ada, phone=True)
    hands = Hands(page, phone=True)
    page.goto("/review/")
    hands.comes("1 of 2")
    # It comes down where the answer now is, 100 ms after that has come and 0.2 s after the first one.
    page.evaluate("""() => document.addEventListener("htmx:afterSettle", () => setTimeout(() => {
      const came = document.querySelector("#card .value, #card .row");
      const down = new MouseEvent("mousedown", { detail: 2, bubbles: true, cancelable: true });
      document.body.dataset.kept = !came.dispatchEvent(down); // whoever refuses a mousedown keeps the focus
    }, 100), { once: true })""")
    hands.press("Space", "Just flip")
    expect(page.locator("body")).to_have_attribute("data-kept", "true")
    hands.comes("turned over")
