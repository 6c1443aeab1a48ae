"""The main job in a browser: start, look into the lab, commit, check, tick, grade, undo, reload, grade again."""
from collections.abc import Callable
from random import Random

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from accounts import services as people
from accounts.models import User
from drillapp.settings import SITE_URL
from flashcards import services
from flashcards.models import Attempt, Card, Draft, Rating, Review
from questions import loading
from tests.browser.conftest import LOOKS

Visit = Callable[..., Page]
Check = Callable[[Page], None]
# Recorded from vLLM 0.33.0's scheduler for the scenario of token-budget.
ENGINE_MAP = {"A": "1", "B": "1", "C": "1", "D": "2,045"}
OUT_LOUD = "I said it out loud"


@pytest.fixture
def learner(transactional_db: None, ada: User, on_scheduling: loading.Bank) -> User:
    """Ada with the real bank's questions in her deck; no number card is begun."""
    loading.load_bank(on_scheduling)
    ada.profile.new_numbers_per_day = 0
    ada.profile.save()
    services.ensure_cards(ada)
    return ada


def card_of(user: User, slug: str) -> Card:
    return Card.objects.get(user=user, question__slug=slug)


def address(card: Card) -> str:
    return f"/review/?card={card.pk}&ordinal={card.next_ordinal}"


def standing() -> list[tuple[str, int]]:
    """The answers that stand, each with its grade."""
    answers = Review.objects.answers().order_by("pk")
    return list(answers.values_list("card__question__slug", "rating"))


def fill_map(page: Page) -> None:
    for name, tokens in ENGINE_MAP.items():
        page.locator(f"#commit [name=said_{name}]").fill(tokens)


def settled(page: Page) -> None:
    """Wait until htmx has taken up what it put in, a few ms after it can be seen."""
    expect(page.locator(".htmx-request, .htmx-added, .htmx-settling, .htmx-swapping")).to_have_count(0)


def test_the_main_job(page: Page, learner: User, check_access: Check):
    page.goto(people.signin_link(learner, timezone.now()).removeprefix(SITE_URL))
    page.goto("/")
    expect(page.get_by_role("heading", name="2 new.")).to_be_visible()
    page.get_by_role("link", name="Start").click()

    # The lab, set one step before the one asked about, stepped and stepped back; the address stays the review's.
    page.locator(".lab-fold > summary").click()
    lab = page.locator(".lab-fold #lab")
    expect(lab.locator("#lab-jump")).to_have_value("1")
    review_address = page.url
    settled(page)
    lab.locator("#lab-back").click()
    expect(lab.locator("#lab-jump")).to_have_value("0")
    settled(page)
    lab.locator("#lab-step").click()
    expect(lab.locator("#lab-jump")).to_have_value("1")
    assert page.url == review_address

    # Commit, check, tick: the grade follows.
    fill_map(page)
    expect(page.locator("#reading")).to_contain_text("{A: 1, B: 1, C: 1, D: 2,045}")
    page.locator(".confidence label", has_text="90").click()
    page.get_by_role("button", name="Check").first.click()
    expect(page.get_by_text("6 of 6 right")).to_be_visible()
    expect(page.locator(".grade.suggested")).to_contain_text("Good")
    for tick in page.locator("[name=tick]").all()[:4]:
        tick.check()
    expect(page.locator("#tick-count")).to_have_text("4 of 7")
    expect(page.locator(".grade.suggested")).to_contain_text("Hard")
    check_access(page)

    # Grade, undo, reload, grade again.
    page.get_by_role("button", name="Hard").click()
    expect(page.locator("#typed")).to_be_visible()
    assert standing() == [("token-budget", 2)]
    page.get_by_role("button", name="Undo Hard on token-budget").click()
    expect(page.locator("#tick-count")).to_have_text("4 of 7")
    assert standing() == []
    page.reload()
    expect(page.get_by_text("6 of 6 right")).to_be_visible()
    expect(page.locator("#tick-count")).to_have_text("4 of 7")
    page.get_by_role("button", name="Good").click()
    expect(page.locator("#typed")).to_be_visible()
    assert standing() == [("token-budget", 3)]

    # The second question, to the end of the sitting.
    page.locator("#typed").fill("0.25 s")
    expect(page.locator("#reading")).to_contain_text("250 ms")
    page.get_by_role("button", name="Check").first.click()
    expect(page.locator(".mine .value")).to_have_text("250 ms")
    page.get_by_role("button", name="Again").click()
    expect(page.get_by_role("heading", name="Done for today: 2 answered.")).to_be_visible()
    assert standing() == [("token-budget", 3), ("prefill-damage", 1)]
    assert Review.objects.count() == 4


def test_keys_alone_do_it(visit: Visit, learner: User):
    page = visit(user=learner)
    page.goto("/")
    page.keyboard.press("Enter")
    page.wait_for_url("/review/")
    page.keyboard.press("l")
    expect(page.locator(".lab-fold #lab-jump")).to_have_value("1")
    settled(page)
    page.keyboard.press(".")
    expect(page.locator(".lab-fold #lab-jump")).to_have_value("2")
    settled(page)
    page.keyboard.press(",")
    expect(page.locator(".lab-fold #lab-jump")).to_have_value("1")
    page.keyboard.press("c")
    for tokens in ENGINE_MAP.values():
        page.keyboard.type(tokens)
        page.keyboard.press("Tab")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("6 of 6 right")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.locator("#typed")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("6 of 6 right")).to_be_visible()
    page.keyboard.press("2")
    expect(page.locator("#typed")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("Only what you put off is left.")).to_be_visible()
    assert standing() == [("token-budget", 2)]


def test_without_javascript_it_all_works(visit: Visit, learner: User):
    page = visit(user=learner, javascript=False)
    page.goto("/")
    page.get_by_role("link", name="Start").click()
    fill_map(page)
    page.get_by_role("button", name="Check", exact=False).first.click()
    expect(page.get_by_text("6 of 6 right")).to_be_visible()
    expect(page.get_by_text("from the map alone")).to_be_visible()
    page.locator("[name=tick]").first.check()
    page.get_by_role("button", name="Count my ticks").click()
    expect(page.locator("#tick-count")).to_have_text("1 of 7")
    expect(page.locator(".grade.suggested")).to_contain_text("Again")
    page.get_by_role("button", name="Hard").click()
    expect(page.locator("#typed")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("6 of 6 right")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Good").click()
    expect(page.locator("#typed")).to_be_visible()
    assert standing() == [("token-budget", 3)]

    # What is typed goes along to the lab and is there again.
    page.locator("#typed").fill("0.3 s")
    page.locator(".lab-fold > summary").click()
    page.get_by_role("button", name="Keep my draft and open the lab").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("long prompt")
    page.goto("/review/")
    expect(page.locator("#typed")).to_have_value("0.3 s")


@pytest.mark.race
def test_a_double_click_is_one_grade(visit: Visit, learner: User):
    page = visit(user=learner)
    page.goto("/review/")
    page.get_by_role("button", name=OUT_LOUD).click()
    page.locator(".grade", has_text="Good").dblclick()
    expect(page.locator("#typed")).to_be_visible()
    assert standing() == [("token-budget", 3)]


@pytest.mark.race
def test_two_tabs_record_one_grade_and_the_second_is_told(visit: Visit, learner: User):
    first = visit(user=learner)
    first.goto("/review/")
    first.get_by_role("button", name=OUT_LOUD).click()
    expect(first.locator(".grade", has_text="Good")).to_be_visible()
    second = visit(user=learner)
    second.goto("/review/")
    expect(second.locator(".grade", has_text="Good")).to_be_visible()
    first.locator(".grade", has_text="Good").click()
    expect(first.locator("#typed")).to_be_visible()
    second.locator(".grade", has_text="Again").click()
    expect(second.get_by_text("Answered in another tab. Nothing was recorded twice")).to_be_visible()
    expect(second.locator("#typed")).to_be_visible()
    assert standing() == [("token-budget", 3)]


def test_back_to_a_graded_card_is_told_and_moved_on(visit: Visit, learner: User):
    page = visit(user=learner)
    page.goto(address(card_of(learner, "token-budget")))
    graded = page.url
    page.get_by_role("button", name=OUT_LOUD).click()
    page.locator(".grade", has_text="Easy").click()
    expect(page.locator("#typed")).to_be_visible()
    page.goto(graded)
    expect(page.get_by_text("Answered in another tab.")).to_be_visible()
    expect(page.locator("#typed")).to_be_visible()


def test_what_is_typed_survives_a_reload_and_another_window(visit: Visit, learner: User):
    size = card_of(learner, "prefill-damage")
    page = visit(user=learner)
    page.goto(address(size))
    with page.expect_response("**/draft/"):
        page.locator("#typed").press_sequentially("640 ms")
    expect(page.locator("#reading")).to_contain_text("read as 640 ms")
    page.reload()
    expect(page.locator("#typed")).to_have_value("640 ms")
    other = visit(user=learner)
    other.goto(address(size))
    expect(other.locator("#typed")).to_have_value("640 ms")


def test_a_lost_connection_is_said_and_loses_nothing(visit: Visit, learner: User, faults: list[str]):
    page = visit(user=learner)
    page.goto(address(card_of(learner, "prefill-damage")))
    page.context.set_offline(True)
    page.locator("#typed").fill("640 ms")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#messages")).to_contain_text("No connection.")
    expect(page.locator("#typed")).to_have_value("640 ms")
    page.context.set_offline(False)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#grade")).to_be_visible()
    expect(page.locator("#messages")).not_to_contain_text("No connection.")
    assert Attempt.objects.count() == 1
    faults.clear()  # the browser reports each request that it could not send


def test_later_pressed_while_typing_loses_nothing(visit: Visit, learner: User):
    size = card_of(learner, "prefill-damage")
    page = visit(user=learner)
    page.goto(address(size))
    page.locator("#typed").type("0.9")
    page.keyboard.press("Escape")
    expect(page.locator("#commit [name=said_A]")).to_be_visible()
    assert Draft.objects.get(card=size).typed == "0.9"


def test_a_fault_keeps_what_was_typed_beside_its_sentence(visit: Visit, learner: User, check_access: Check):
    page = visit(user=learner)
    page.goto(address(card_of(learner, "prefill-damage")))
    page.locator("#typed").fill("31.5 GiB")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".fault")).to_contain_text("GiB is a size; this asks for a time")
    expect(page.locator("#typed")).to_have_value("31.5 GiB")
    assert not Attempt.objects.exists()
    check_access(page)


def test_focus_and_the_live_region_follow_the_card(visit: Visit, learner: User):
    page = visit(user=learner)
    page.goto("/review/")
    page.get_by_role("button", name=OUT_LOUD).click()
    expect(page.locator("h1")).to_be_focused()
    page.locator(".grade", has_text="Good").click()
    expect(page.get_by_role("status").first).to_contain_text("Recorded: Good.")
    expect(page.locator("h1")).to_be_focused()
    expect(page).to_have_title("One long prompt among decoders · drillapp")


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_on_any_page(visit: Visit, learner: User, check_access: Check, look: dict[str, bool]):
    page = visit(user=learner, **look)
    for path in ("/", "/settings/"):
        page.goto(path)
        check_access(page)
    for slug in ("token-budget", "prefill-damage"):
        page.goto(address(card_of(learner, slug)))
        page.locator(".lab-fold > summary").click()
        expect(page.locator("#lab")).to_be_visible()
        check_access(page)
        page.get_by_role("button", name=OUT_LOUD).click()
        expect(page.locator("#grade")).to_be_visible()
        for fold in page.locator(".fold:not(.lab-fold) > summary").all():
            fold.click()
        check_access(page)
        page.locator(".grade", has_text="Again").click()
        expect(page.locator("#grade")).to_be_hidden()
    page.goto("/")
    check_access(page)


def test_a_phone_never_scrolls_sideways(visit: Visit, learner: User):
    page = visit(user=learner, phone=True, viewport={"width": 360, "height": 740})

    def fits() -> bool:
        return page.evaluate("document.documentElement.scrollWidth <= 360")

    for path in ("/", "/settings/"):
        page.goto(path)
        assert fits(), path
    for slug in ("token-budget", "prefill-damage"):
        page.goto(address(card_of(learner, slug)))
        page.locator(".lab-fold > summary").click()
        expect(page.locator("#lab")).to_be_visible()
        assert fits(), slug
        page.get_by_role("button", name=OUT_LOUD).click()
        expect(page.locator("#grade")).to_be_visible()
        for fold in page.locator(".fold:not(.lab-fold) > summary").all():
            fold.click()
        assert fits(), f"{slug}, answered"


# What a screen reader is told: each text that the live region comes to hold, in order.
HEAR = """() => {
  window.heard = [];
  const region = document.getElementById("messages");
  new MutationObserver(() => {
    const said = region.textContent.replace(/\\s+/g, " ").trim();
    if (said) window.heard.push(said);
  }).observe(region, { childList: true, subtree: true, characterData: true });
}"""


def heard(page: Page) -> list[str]:
    """What was announced since this was last asked."""
    settled(page)
    return page.evaluate("window.heard.splice(0)")


def test_the_whole_loop_by_keyboard_and_by_roles(visit: Visit, learner: User):
    kinds = Review.objects.values_list("kind", flat=True).order_by("pk")
    page = visit(user=learner)
    page.goto("/")
    page.keyboard.press("Enter")
    page.wait_for_url("/review/")
    page.evaluate(HEAR)
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.locator("#card")).to_match_aria_snapshot("""
    - heading /1 of 2/ [level=1]
    - region "The question"
    - button /Check/
    - region "this card":
      - button /Not today/
      - button /Suspend/
    """)

    # Commit: focus lands on the heading that says the answer is there; the grades are a form of four buttons.
    page.keyboard.press("c")
    expect(page.locator("#commit [name=said_A]")).to_be_focused()
    for tokens in ENGINE_MAP.values():
        page.keyboard.type(tokens)
        page.keyboard.press("Tab")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="beside the staff answer")).to_be_focused()
    expect(page.get_by_role("checkbox")).to_have_count(7)
    expect(page.locator("#card")).to_match_aria_snapshot("""
    - form "Grade":
      - button /Again/
      - button /Hard/
      - button /Good/
      - button /Easy/
    """)
    heard(page)

    # A double tap on a grade is one grade, told once; focus is on the next card's heading.
    page.keyboard.press("3")
    page.keyboard.press("3")
    expect(page.get_by_role("heading", name="2 of 2")).to_be_focused()
    (said,) = heard(page)
    assert said.startswith("Recorded: Good. Next ")
    assert list(kinds) == ["answer"]

    # Undone, and graded again.
    page.keyboard.press("u")
    expect(page.get_by_role("heading", name="beside the staff answer")).to_be_focused()
    (said,) = heard(page)
    assert said.startswith("Undone: Good.")
    page.keyboard.press("Space")
    expect(page.get_by_role("heading", name="2 of 2")).to_be_focused()
    heard(page)

    # Put off and suspended, each told once with its undo, and taken back.
    second = page.get_by_role("heading", name="2 of 2: One long prompt among decoders")
    for key, words, kind in (("-", "Put off: “One long", "bury"), ("@", "Suspended: “One long", "suspend")):
        page.keyboard.press(key)
        expect(second).to_have_count(0)  # another new one has come in its place
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        (said,) = heard(page)
        assert said.startswith(words)
        assert "Undo" in said
        assert kinds.last() == kind
        page.keyboard.press("u")
        expect(second).to_be_focused()
        assert len(heard(page)) == 1

    # A due day that can't be read: focus is on the field, which is described by what is wrong with it.
    graded = card_of(learner, "token-budget")
    page.goto(address(graded))
    page.evaluate(HEAR)
    page.keyboard.press("d")
    field = page.get_by_role("textbox", name="Due")
    expect(field).to_be_focused()
    page.keyboard.type("soon")
    page.keyboard.press("Enter")
    expect(page.get_by_text("“soon” can’t be read as a day")).to_be_visible()
    expect(field).to_be_focused()
    expect(field).to_have_value("soon")
    expect(field).to_have_accessible_description("“soon” can’t be read as a day; type a day such as 2026-12-24, or a "
                                                 "number of days such as “in 5 days”.")
    page.keyboard.press("Control+a")
    page.keyboard.type("in 5 days")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Due day set: “One step")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    assert len(heard(page)) == 1
    assert kinds.last() == "set_due"


# What a double tap does when its second half comes right after the next card has come in.
TAP_AGAIN = """(second) => {
  document.addEventListener("htmx:afterSwap", () => {
    if (second === "Space") {
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true, cancelable: true }));
    } else {
      const there = document.querySelector('#commit [name="aloud"]');
      there.dispatchEvent(new MouseEvent("click", { detail: 2, bubbles: true, cancelable: true }));
    }
    document.documentElement.dataset.tapped = second;
  }, { once: true });
}"""


def test_the_second_half_of_a_double_tap_does_nothing_to_the_next_card(
    visit: Visit, transactional_db: None, ada: User, real_deck: loading.Bank
):
    loading.load_bank(real_deck)
    page = visit(user=ada)
    page.goto("/review/")
    page.evaluate(TAP_AGAIN, "Space")
    page.keyboard.press("Space")  # flips; the second would take Good
    expect(page.locator("html[data-tapped=Space]")).to_have_count(1)
    expect(page.locator("#grade")).to_be_visible()
    settled(page)
    page.evaluate(TAP_AGAIN, "pointer")
    page.locator(".grade", has_text="Good").click()  # the next card’s Flip may lie where Good was
    expect(page.locator("html[data-tapped=pointer]")).to_have_count(1)
    expect(page.locator("#commit")).to_be_visible()
    settled(page)
    assert (Review.objects.count(), Attempt.objects.filter(kind="check").count()) == (1, 1)


def test_single_keys_turned_off_do_nothing(visit: Visit, learner: User):
    learner.profile.single_keys = False
    learner.profile.save()
    page = visit(user=learner)
    page.goto("/review/")
    for key in ("-", "@", "c", "l", "/", "?", "7", "Escape", "Space"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    assert page.url.endswith("/review/")
    assert page.locator("#commit [name=said_A]").input_value() == ""
    page.locator("#commit [name=said_A]").fill("1")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#grade")).to_be_visible()
    page.keyboard.press("3")
    page.goto("/keys/")
    expect(page.get_by_text("Single keys are turned off")).to_be_visible()
    assert not Review.objects.exists()


def test_an_earlier_answer_is_changed_by_keyboard_and_told(visit: Visit, learner: User, check_access: Check):
    card = card_of(learner, "token-budget")
    assert services.answer_card(card, Rating.GOOD, ordinal=1, now=timezone.now())
    page = visit(user=learner)
    page.goto("/questions/token-budget/")
    page.get_by_text("Good, change it").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(".regrade").get_by_role("button", name="Again")).to_be_focused()
    check_access(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Changed to Again; it comes back")
    assert Review.objects.answers().get().rated == Rating.AGAIN
    page.keyboard.press("u")
    expect(page.get_by_role("status").first).to_contain_text("Undone: Grade changed")
    assert Review.objects.answers().get().rated == Rating.GOOD
    page.goto("/history/")
    check_access(page)


def test_an_answer_that_comes_after_its_card_has_gone_is_not_put_in(visit: Visit, learner: User):
    page = visit(user=learner)
    page.goto("/review/")
    page.get_by_role("button", name=OUT_LOUD).click()
    expect(page.locator("#grade")).to_be_visible()
    held: list[Route] = []
    page.route("**/ticks/", lambda route: held.append(route))
    page.locator("[name=tick]").first.check()
    page.keyboard.press("3")
    expect(page.locator("#typed")).to_be_visible()
    for route in held:  # the first card’s ticks, for which there is no place any more
        route.fulfill(body='<form id="grade">overtaken</form><p id="tick-count" hx-swap-oob="true">overtaken</p>')
    page.evaluate("new Promise((done) => setTimeout(done, 300))")
    expect(page.get_by_text("overtaken")).to_have_count(0)
    assert len(held) == 1
    assert standing() == [("token-budget", 3)]


def test_keys_mashed_in_a_review_leave_a_sound_log_and_page(visit: Visit, learner: User):
    page = visit(user=learner)
    page.goto("/review/")
    keys = ["1", "2", "3", "4", "Space", "u", "Escape", "l", ".", ",", "c", "-", "@", "Control+Enter"]
    chance = Random(7)
    for _ in range(120):
        page.keyboard.press(chance.choice(keys))
        page.wait_for_timeout(chance.choice((0, 0, 30, 120)))
    settled(page)
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert [services.rebuild_card(card, write=False) for card in Card.objects.filter(user=learner)].count("") == (
        Card.objects.filter(user=learner).count())
