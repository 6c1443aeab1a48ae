"""Planning and practising alone in a browser: each press keeps the page, and a voice stays in the browser."""
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from mocks.models import Interview, Membership
from mocks.services import make_team
from tests.browser.conftest import LOOKS
from tests.mocks.conftest import NOON, question

A_TONE = """navigator.mediaDevices.getUserMedia = async () => {
  const sound = new AudioContext(), tone = sound.createOscillator(), end = sound.createMediaStreamDestination();
  tone.connect(end);
  tone.start();
  return end.stream;
}"""


@pytest.fixture
def bank(transactional_db: None) -> None:
    for at, (slug, topic) in enumerate((("blocks", "scheduling"), ("pools", "sizing"), ("ranks", "sizing"),
                                        ("waits", "scheduling"))):
        question(slug, position=at, topic=topic)


@pytest.fixture
def team(bank: None, ada: User, ben: User) -> int:
    made = make_team(ben, "Platform", NOON)
    Membership.objects.create(team=made, user=ada, role="candidate", joined_at=NOON)
    return made.pk


@pytest.mark.parametrize("look", LOOKS)
def test_a_plan_is_accessible_as_it_is_made_and_as_it_stands(
    visit: Callable[..., Page], team: int, ben: User, check_access: Callable[[Page], None], look: dict[str, bool]
):
    page = visit(user=ben, **look)
    page.goto(f"/mock/teams/{team}/plan/?candidate={Membership.objects.get(role='candidate').user_id}")
    check_access(page)
    page.get_by_role("button", name="Save and invite Ada").click()
    expect(page.get_by_text("Saved. Ada gets in by the link below.")).to_be_visible()
    check_access(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_press_keeps_the_focus_and_back_takes_it_back(visit: Callable[..., Page], team: int, ben: User):
    page = visit(user=ben)
    page.goto(f"/mock/teams/{team}/plan/?minutes=27")
    titles = page.locator("#plan-rows tbody th")
    before = titles.all_inner_texts()
    page.get_by_role("button", name=f"Swap {before[0]} for another").click()
    expect(titles.first).not_to_have_text(before[0])
    expect(page.locator("#swap-0")).to_be_focused()
    page.go_back()
    expect(titles.first).to_have_text(before[0])
    page.get_by_role("button", name=": earlier").nth(1).press("Enter")
    expect(titles.first).to_have_text(before[1])
    expect(page.get_by_role("button", name=f"{before[1]}: earlier")).to_be_focused()  # though it has no further to go
    page.get_by_label("sizing").press("Space")
    expect(page).to_have_url(re.compile("topic=sizing"))
    expect(page.get_by_label("sizing")).to_be_focused()
    page.get_by_label("sizing").press("Space")
    expect(page).not_to_have_url(re.compile("topic=sizing"))
    page.get_by_label("minutes", exact=True).fill("60")
    page.get_by_label("minutes", exact=True).press("Tab")
    expect(titles).to_have_count(4)
    page.reload()
    expect(titles).to_have_count(4)
    expect(page.get_by_label("minutes", exact=True)).to_have_value("60")
    page.get_by_role("button", name="Propose others").press("Enter")
    expect(page).to_have_url(re.compile("passed="))
    expect(page.get_by_role("button", name="Propose others")).to_be_focused()
    for left in (3, 2, 1):
        page.locator("[id^=out-]").last.press("Enter")
        expect(titles).to_have_count(left)
        expect(page.locator("[id^=out-]").last).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="No question yet")).to_be_focused()
    page.get_by_role("button", name="Propose a plan").press("Enter")
    expect(page.get_by_role("heading", name="Four questions")).to_be_focused()


def test_a_press_as_soon_as_the_plan_is_there_changes_it_in_place(visit: Callable[..., Page], team: int, ben: User):
    # What is put in and not yet wired up sends its form as a page of its own: the focus and the scroll would be lost.
    page = visit(user=ben)
    page.goto(f"/mock/teams/{team}/plan/?minutes=27")
    page.evaluate("""() => {
      window.stayed = true;
      const press = () => document.getElementById("out-0").click();
      document.addEventListener("htmx:afterSwap", () => setTimeout(press), { once: true });
    }""")
    titles = page.locator("#plan-rows tbody th")
    left = titles.count() - 2
    page.locator("#out-0").click()
    expect(titles).to_have_count(left)
    assert page.evaluate("window.stayed")


def test_saved_with_two_quick_presses_it_is_one_interview(
    visit: Callable[..., Page], team: int, ben: User, ada: User, faults: list[str]
):
    page = visit(user=ben)
    page.goto(f"/mock/teams/{team}/plan/?candidate={ada.pk}")
    page.get_by_role("button", name="Save and invite Ada").dblclick()
    page.wait_for_url("**/mock/*/plan/")
    expect(page.get_by_role("textbox", name="Invitation")).to_be_visible()
    assert Interview.objects.count() == 1
    faults.clear()  # the second press takes the place of the first one's request


@pytest.mark.parametrize("look", LOOKS)
def test_alone_from_the_first_question_to_the_report(
    visit: Callable[..., Page], bank: None, ada: User, check_access: Callable[[Page], None], look: dict[str, bool]
):
    page = visit(user=ada, **look)
    page.goto("/mock/solo/?topic=sizing&minutes=12")
    check_access(page)
    page.get_by_role("button", name="Begin; the clock runs").click()
    page.get_by_role("button", name="Ask the first question").click()
    expect(page.locator(".at-ask").get_by_text("What happens?")).to_be_visible()
    page.get_by_label("scratchpad").fill("two blocks")
    expect(page.get_by_text("kept", exact=True)).to_be_visible()
    page.evaluate(A_TONE)
    page.get_by_role("button", name="Record").click()
    expect(page.get_by_text("recording 0:02")).to_be_visible()
    check_access(page)
    page.reload()
    expect(page.locator("[data-takes] audio")).to_have_count(1)  # what was said before the reload
    page.get_by_role("button", name="I’m done").press("Enter")
    expect(page.get_by_text("The staff answer of")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_focused()  # the button is gone
    expect(page.get_by_text("two blocks")).to_be_visible()
    expect(page.locator("[data-takes] audio")).to_have_count(1)
    for place in range(3):
        page.locator(".point[id]").nth(place).locator(".anchor").nth(1).click()
    expect(page.get_by_text("without a score")).to_have_count(0)
    check_access(page)
    page.get_by_role("button", name="To the report").click()
    page.get_by_role("link", name="The report").click()
    page.locator("#criteria-1 > summary").click()
    expect(page.locator("[data-takes-of] audio")).to_have_count(1)
    page.get_by_role("button", name="Put").click()
    expect(page.locator("#messages")).to_contain_text("1 added")
    assert ada.cards.filter(due_day__isnull=False).count() == 1
    page.goto("/mock/solo/")
    expect(page.get_by_text("One recording is kept on this device.")).to_be_visible()
    page.get_by_role("button", name="Delete them all").click()
    expect(page.get_by_text("kept on this device.")).to_be_hidden()


def test_alone_on_a_phone_the_keyboard_is_at_the_question_that_comes(
    visit: Callable[..., Page], bank: None, ada: User
):
    page = visit(user=ada, viewport={"width": 360, "height": 160})
    page.goto("/mock/solo/?topic=sizing&minutes=12")
    page.get_by_role("button", name="Begin; the clock runs").press("Enter")
    page.get_by_role("button", name="Ask the first question").focus()
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Question 1 of 1")).to_be_focused()
    expect(page.get_by_role("button", name="I’m done")).not_to_be_in_viewport()
    page.get_by_role("button", name="I’m done").press("Enter")
    expect(page.locator("#room-said")).to_contain_text("The answer is closed; the staff answer stands below.")


def test_alone_the_answer_closes_by_itself_and_what_was_typed_is_there(
    visit: Callable[..., Page], bank: None, ada: User
):
    page = visit(user=ada)
    page.goto("/mock/solo/?topic=sizing&minutes=12")
    page.get_by_role("button", name="Begin; the clock runs").click()
    page.get_by_role("button", name="Ask the first question").click()
    page.get_by_label("scratchpad").fill("two")
    expect(page.get_by_text("kept", exact=True)).to_be_visible()
    row = Interview.objects.get()
    early = row.state["since_ms"] - 6 * 60_000 + 4_000  # four seconds are left
    Interview.objects.filter(pk=row.pk).update(state=row.state | {"since_ms": early})
    page.get_by_label("scratchpad").press_sequentially(" blocks")
    expect(page.locator(".at-ask").get_by_text("The time was up; the answer is closed.")).to_be_visible()
    expect(page.locator("pre.scratch")).to_have_text("two blocks")


@pytest.mark.parametrize("where", ("teams/{}/plan/", "solo/"))
def test_on_a_phone_what_a_plan_is_made_from_stays_open_while_it_is_set(
    visit: Callable[..., Page], team: int, ben: User, where: str
):
    page = visit(user=ben, phone=True)
    page.goto("/mock/" + where.format(team))
    if not page.locator("#knobs-open").is_checked():
        page.locator(".knobs-fold").tap()
    before = page.locator("#plan-desk .title").inner_text()
    page.get_by_label("minutes", exact=True).fill("60")
    page.get_by_label("minutes", exact=True).press("Tab")
    expect(page.locator("#plan-desk .title")).not_to_have_text(before)
    expect(page.get_by_label("minutes", exact=True)).to_be_visible()
    page.get_by_label("sizing").tap()
    expect(page).to_have_url(re.compile("topic=sizing"))
    expect(page.get_by_label("sizing")).to_be_checked()
    expect(page.get_by_label("sizing")).to_be_visible()
