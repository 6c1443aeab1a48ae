"""The Questions pages in a browser: filter, open, commit, check, grade, undo; on a phone, without JavaScript."""
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from flashcards import services
from flashcards.models import Attempt, Card, Memo, Rating, Review
from questions import loading
from questions.models import Question
from tests.browser.conftest import LOOKS
from tests.browser.test_review import OUT_LOUD, fill_map, settled, standing
from tests.flashcards.conftest import NOON

Visit = Callable[..., Page]
Check = Callable[[Page], None]
PAGES = ("/questions/", "/questions/?topic=scheduling&q=nothing+like+it", "/questions/token-budget/",
         "/questions/prefill-damage/", "/questions/overload-queueing/")


@pytest.fixture
def learner(transactional_db: None, ada: User, on_scheduling: loading.Bank) -> User:
    """Ada with the real bank's questions in her deck: one was answered twice, one is suspended."""
    loading.load_bank(on_scheduling)
    services.ensure_cards(ada)
    cards = {card.question.slug: card for card in ada.cards.exclude(question=None)}
    for ordinal, rating in ((1, Rating.GOOD), (2, Rating.AGAIN)):
        services.answer_card(cards["prefill-damage"], rating, ordinal=ordinal, now=NOON)
    services.set_suspended(cards["overload-queueing"], True, ordinal=1, now=NOON)
    return ada


def titles(page: Page) -> list[str]:
    return page.locator(".question-list th[scope=row] a").all_inner_texts()


def test_filter_open_commit_check_grade_undo(visit: Visit, learner: User, check_access: Check):
    before = len(standing())
    page = visit(user=learner)
    page.goto("/")
    page.get_by_role("link", name="Questions").click()
    everything = len(titles(page))

    # Filter by a link and by typing; the address follows and the back button goes back.
    page.get_by_role("link", name=re.compile("^trace")).click()
    expect(page.locator(".filter-chips .chip")).to_contain_text("trace")
    assert len(titles(page)) == Question.objects.filter(kind="trace").count() < everything
    assert page.url.endswith("/questions/?kind=trace")
    settled(page)
    page.keyboard.press("f")
    page.keyboard.type("token-budget")
    expect(page.locator(".question-list th[scope=row]")).to_have_count(1)
    expect(page.locator("#find")).to_be_focused()
    expect(page).to_have_url(re.compile(r"\?kind=trace&q=token-budget$"))
    settled(page)
    page.go_back()
    expect(page.locator("#find")).to_have_value("")
    assert len(titles(page)) > 1

    page.get_by_role("link", name="One step's token budget").click()
    fill_map(page)
    page.get_by_role("button", name="Check").first.click()
    expect(page.get_by_text("6 of 6 right")).to_be_visible()
    for tick in page.locator("[name=tick]").all()[:4]:
        tick.check()
    expect(page.locator(".grade.suggested")).to_contain_text("Hard")
    page.locator(".anchors > summary").first.click()
    check_access(page)
    page.get_by_role("button", name="Hard").click()
    expect(page.get_by_role("status").first).to_contain_text("Recorded: Hard.")
    assert standing()[before:] == [("token-budget", 2)]
    page.keyboard.press("u")
    expect(page.locator("#tick-count")).to_have_text("4 of 7")
    page.reload()
    page.keyboard.press("3")
    expect(page.get_by_role("status").first).to_contain_text("Recorded: Good.")
    page.reload()
    expect(page.get_by_role("button", name="Undo Good")).to_be_visible()
    assert standing()[before:] == [("token-budget", 3)]
    assert page.url.endswith("/questions/token-budget/")


@pytest.mark.race
def test_a_double_click_is_one_grade(visit: Visit, learner: User):
    before = len(standing())
    page = visit(user=learner)
    page.goto("/questions/token-budget/")
    page.get_by_role("button", name=OUT_LOUD).click()
    page.locator(".grade", has_text="Good").dblclick()
    expect(page.locator("#commit")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert standing()[before:] == [("token-budget", 3)]


def test_left_uncounted_and_added_and_suspended(visit: Visit, learner: User):
    before = len(standing())
    page = visit(user=learner)
    page.goto("/questions/three-ceilings/")
    page.get_by_role("button", name=OUT_LOUD).click()
    page.get_by_role("button", name="Leave it uncounted").click()
    expect(page.locator(".past")).to_contain_text("Left uncounted")
    page.get_by_role("button", name="Add to my drill now").click()
    expect(page.get_by_text("Up in today’s drill.")).to_be_visible()
    page.get_by_role("button", name="Suspend").click()
    expect(page.get_by_text("Suspended: it stays out of your drill until")).to_be_visible()
    page.locator("#messages").get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Up in today’s drill.")).to_be_visible()
    assert len(standing()) == before
    assert Attempt.objects.filter(kind="leave").count() == 1
    assert Card.objects.get(user=learner, question__slug="three-ceilings").asked


def test_notes_are_kept_while_typing(visit: Visit, learner: User):
    page = visit(user=learner)
    page.goto("/questions/token-budget/")
    page.get_by_text("Your notes").first.click()
    with page.expect_response("**/note/"):
        page.get_by_role("textbox", name="Your notes").press_sequentially("gaps, then the budget")
    expect(page.locator("#memo-kept")).to_contain_text("Kept")
    page.get_by_role("button", name=OUT_LOUD).click()
    expect(page.locator("#grade")).to_be_visible()
    expect(page.get_by_role("textbox", name="Your notes")).to_have_value("gaps, then the budget")
    assert Memo.objects.get().text == "gaps, then the budget"


def test_without_javascript_it_all_works(visit: Visit, learner: User):
    before = len(standing())
    page = visit(user=learner, javascript=False)
    page.goto("/questions/")
    page.get_by_role("link", name=re.compile("^trace")).click()
    page.locator("#find").fill("budget")
    page.get_by_role("button", name="Find").click()
    assert "kind=trace" in page.url
    assert "q=budget" in page.url
    page.get_by_role("link", name="One step's token budget").click()
    fill_map(page)
    page.get_by_role("button", name="Check", exact=False).first.click()
    expect(page.get_by_text("6 of 6 right")).to_be_visible()
    page.locator("[name=tick]").first.check()
    page.get_by_role("button", name="Count my ticks").click()
    expect(page.locator("#tick-count")).to_have_text("1 of 7")
    page.get_by_role("textbox", name="Your notes").fill("read it again")
    page.get_by_role("button", name="Save the notes").click()
    expect(page.get_by_text("6 of 6 right")).to_be_visible()
    page.get_by_role("button", name="Good").click()
    page.locator("#messages").get_by_role("button", name="Undo").click()
    expect(page.get_by_text("6 of 6 right")).to_be_visible()
    page.get_by_role("button", name="Easy").click()
    assert standing()[before:] == [("token-budget", 4)]
    assert Memo.objects.get().text == "read it again"


def test_a_filter_keeps_the_focus_of_who_tabs(visit: Visit, learner: User):
    page = visit(user=learner)
    page.goto("/questions/")
    page.get_by_role("link", name=re.compile("^trace")).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".filter-chips .chip")).to_contain_text("trace")
    settled(page)
    expect(page.locator("#wide-kind-trace")).to_be_focused()


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(visit: Visit, learner: User, check_access: Check, look: dict[str, bool]):
    page = visit(user=learner, **look)
    for path in PAGES:
        page.goto(path)
        check_access(page)
    page.goto("/questions/prefill-damage/")
    page.get_by_role("button", name=OUT_LOUD).click()
    expect(page.locator("#grade")).to_be_visible()
    for fold in page.locator(".fold:not(.lab-fold) > summary, .anchors > summary").all():
        fold.click()
    check_access(page)


def test_a_phone_never_scrolls_sideways(visit: Visit, learner: User):
    page = visit(user=learner, phone=True, viewport={"width": 360, "height": 740})

    def fits() -> bool:
        return page.evaluate("document.documentElement.scrollWidth <= 360")

    for path in PAGES:
        page.goto(path)
        assert fits(), path
    page.goto("/questions/")
    page.locator(".filter-fold > summary").click()
    page.locator(".filter-fold").get_by_role("link", name=re.compile("^trace")).click()
    expect(page.locator(".filter-chips .chip")).to_contain_text("trace")
    assert fits()
    for question in Question.objects.filter(draft=False):
        page.goto(f"/questions/{question.slug}/")
        page.get_by_role("button", name=OUT_LOUD).click()
        expect(page.locator("#grade")).to_be_visible()
        for fold in page.locator(".fold:not(.lab-fold) > summary, .anchors > summary").all():
            fold.click()
        assert fits(), question.slug


def test_printed_it_has_the_answer_and_none_of_the_controls(visit: Visit, learner: User):
    page = visit(user=learner)
    page.goto("/questions/prefill-damage/")
    page.get_by_role("button", name=OUT_LOUD).click()
    expect(page.locator("#grade")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.locator("#grade")).to_be_hidden()
    expect(page.locator(".header")).to_be_hidden()
    expect(page.get_by_role("heading", name="said aloud")).to_be_visible()
    assert Review.objects.count() == 3
