"""An interview in three browsers at once: interviewer, candidate on a phone, observer; each sees the others' acts."""
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from mocks import services
from mocks.models import Event, Interview, Membership
from mocks.room import Phase, fold
from tests.browser.conftest import LOOKS
from tests.mocks.conftest import chen, interview, team  # noqa: F401

Visit = Callable[..., Page]
Check = Callable[[Page], None]
pytestmark = pytest.mark.django_db(transaction=True)
LAB = "/labs/kv-size"


@pytest.fixture
def room(transactional_db: None, interview: Interview) -> str:  # noqa: F811
    return f"/mock/{interview.code}/"


@pytest.fixture
def ben_at(visit: Visit, ben: User, room: str) -> Page:
    page = visit(user=ben)
    page.goto(room)
    return page


@pytest.fixture
def ada_at(visit: Visit, ada: User, room: str) -> Page:
    page = visit(user=ada, phone=True)
    page.goto(room)
    return page


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()


def move_on(page: Page, phase: str) -> None:
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".at-acts")).to_contain_text(f"phase {phase}")


def begun(ben_at: Page) -> None:
    """The interview runs, and its first question is asked."""
    ben_at.get_by_role("button", name="Start").click()
    expect(ben_at.locator(".at-acts")).to_contain_text("phase brief")
    move_on(ben_at, "answer")


def typed(page: Page) -> Any:
    return page.locator("textarea.scratch")


def is_kept(page: Page) -> None:
    expect(page.locator(".scratch-form [data-told]")).to_have_text("kept")


def cut(line: str) -> bool:
    """Whether a fault is one that a cut line leaves in the console."""
    marks = ("ERR_INTERNET_DISCONNECTED", "ERR_FAILED", "htmx:sendError", "htmx:afterRequest")
    return any(mark in line for mark in marks)


def test_the_whole_way_with_a_reload_in_each_phase(
    visit: Visit, ben_at: Page, ada_at: Page, room: str, chen: User, interview: Interview  # noqa: F811
):
    chen_at = visit(user=chen)
    chen_at.goto(room)
    pages = (ben_at, ada_at, chen_at)

    def all_reload() -> None:
        for page in pages:
            page.reload()

    expect(ada_at.get_by_role("heading", name="Your interview has not begun.")).to_be_visible()
    all_reload()
    ben_at.get_by_role("button", name="Start").click()
    expect(ada_at.get_by_role("heading", name="It has begun: first how it goes.")).to_be_visible()
    all_reload()
    move_on(ben_at, "answer")
    for page in pages:
        expect(page.locator("#main")).to_contain_text("Scenario of blocks.")
    all_reload()
    typed(ada_at).fill("end: 159 -> 10 blocks")
    is_kept(ada_at)
    for page in (ben_at, chen_at):
        expect(page.locator("pre.scratch")).to_have_text("end: 159 -> 10 blocks")
    ben_at.get_by_role("button", name="Show Ada").click()
    for page in (ada_at, chen_at):
        expect(page.locator(".at-shown")).to_contain_text("First hint of blocks.")
    ben_at.keyboard.press("ArrowDown")
    ben_at.keyboard.press("2")
    ben_at.keyboard.press("ArrowDown")
    ben_at.keyboard.press("3")
    ben_at.locator(".point.current [name=evidence]").fill("said so unprompted")
    expect(ben_at.locator(".point.current [data-told]")).to_have_text("kept")
    for page, words in ((ben_at, "quick"), (chen_at, "from afar")):
        page.locator("#note-text").fill(words)
        page.keyboard.press("Enter")
        expect(page.locator(".notes")).to_contain_text(words)
    all_reload()
    expect(typed(ada_at)).to_have_value("end: 159 -> 10 blocks")
    expect(ben_at.locator(".anchor :checked")).to_have_count(2)
    expect(ben_at.locator("[name=evidence]").nth(1)).to_have_value("said so unprompted")
    move_on(ben_at, "follow-ups")
    all_reload()
    ben_at.locator(".at-follow_ups summary").click()
    press(ben_at, "Ask it")
    expect(ada_at.locator(".at-shown")).to_contain_text("And with blocks doubled?")
    move_on(ben_at, "score")
    expect(ada_at.locator("#main")).to_contain_text("The answer is closed.")
    all_reload()
    expect(ada_at.locator("pre.scratch")).to_have_text("end: 159 -> 10 blocks")
    move_on(ben_at, "answer")
    expect(ada_at.locator("#main")).to_contain_text("Scenario of steps.")
    expect(typed(ada_at)).to_have_value("")
    press(ben_at, "Skip this question")
    expect(ben_at.locator(".at-acts")).to_contain_text("phase score")
    move_on(ben_at, "debrief")
    expect(ada_at.get_by_role("heading", name="The questions are over.")).to_be_visible()
    all_reload()
    ben_at.get_by_text("End the interview").click()
    press(ben_at, "End it")
    for page in (ada_at, chen_at):
        expect(page.get_by_role("heading", name="The interview is over.")).to_be_visible()
        expect(page.locator("#feed")).not_to_have_attribute("hx-trigger", "every 1s")
    all_reload()
    interview.refresh_from_db()
    assert interview.folded() == fold(interview.log())
    assert (interview.phase, [one.text for one in interview.folded().remarks]) == (Phase.OVER, ["quick", "from afar"])


def test_what_is_typed_without_a_connection_arrives_once_it_is_back(
    ben_at: Page, ada_at: Page, room: str, faults: list[str]
):
    begun(ben_at)
    typed(ada_at).fill("before")
    is_kept(ada_at)
    ada_at.context.set_offline(True)
    expect(ada_at.locator("#room-lost")).to_be_visible()
    typed(ada_at).fill("before, and in the tunnel")
    ben_at.get_by_role("button", name="Show Ada").click()
    expect(ada_at.locator(".scratch-form [data-told]")).to_have_text("not sent yet")
    ada_at.context.set_offline(False)
    expect(ada_at.locator("#room-lost")).to_be_hidden()
    is_kept(ada_at)
    expect(ada_at.locator(".at-shown")).to_contain_text("First hint of blocks.")
    expect(ben_at.locator("pre.scratch")).to_have_text("before, and in the tunnel")
    expect(typed(ada_at)).to_have_value("before, and in the tunnel")
    assert faults
    faults[:] = [line for line in faults if not cut(line)]


def test_a_page_that_was_left_before_it_could_send_sends_it_when_it_is_opened_again(
    ben_at: Page, ada_at: Page, room: str, faults: list[str]
):
    begun(ben_at)
    expect(typed(ada_at)).to_be_visible()
    ada_at.route("**/do/scratch/", lambda route: route.abort())
    typed(ada_at).fill("typed and not taken")
    expect(ada_at.locator(".scratch-form [data-told]")).to_have_text("not sent yet")
    ada_at.reload()
    ada_at.unroute("**/do/scratch/")
    expect(typed(ada_at)).to_have_value("typed and not taken")
    expect(ben_at.locator("pre.scratch")).to_have_text("typed and not taken")
    faults[:] = [line for line in faults if not cut(line)]


def test_typing_goes_on_through_news(ben_at: Page, ada_at: Page, room: str):
    begun(ben_at)
    expect(typed(ada_at)).to_be_visible()
    typed(ada_at).press_sequentially("end: ", delay=40)
    ben_at.get_by_role("button", name="Show Ada").click()
    typed(ada_at).press_sequentially("159 tokens, ", delay=80)
    expect(ada_at.locator(".at-shown")).to_contain_text("First hint of blocks.")
    expect(typed(ada_at)).to_be_focused()
    ada_at.keyboard.type("10 blocks")
    expect(typed(ada_at)).to_have_value("end: 159 tokens, 10 blocks")
    is_kept(ada_at)
    expect(ben_at.locator("pre.scratch")).to_have_text("end: 159 tokens, 10 blocks")


def test_whoever_types_without_a_rest_is_read_along(ben_at: Page, ada_at: Page):
    begun(ben_at)
    text = typed(ada_at)
    text.evaluate("""(field) => {
      const type = () => { field.value += "a "; field.dispatchEvent(new Event("input", {bubbles: true})); };
      window.typing = setInterval(type, 100);
    }""")
    expect(ben_at.locator(".at-scratch pre")).to_contain_text("a a a a")
    ada_at.evaluate("clearInterval(typing)")


def test_what_is_typed_when_the_interviewer_moves_on_is_kept(
    ben_at: Page, ada_at: Page, room: str, interview: Interview  # noqa: F811
):
    begun(ben_at)
    expect(typed(ada_at)).to_be_visible()
    typed(ada_at).fill("about blocks")
    is_kept(ada_at)
    ada_at.route("**/do/scratch/", lambda route: (ada_at.wait_for_timeout(1200), route.continue_()))
    typed(ada_at).fill("about blocks, to the end")
    ben_at.get_by_role("button", name="Ask question 2, About steps").click()
    expect(ada_at.locator("#main")).to_contain_text("Scenario of steps.")
    expect(typed(ada_at)).to_have_value("")
    ada_at.wait_for_timeout(1500)
    interview.refresh_from_db()
    assert [item.scratch for item in interview.folded().items] == ["about blocks, to the end", ""]


def test_two_devices_of_the_candidate_stay_alike_and_lose_nothing(
    visit: Visit, ben_at: Page, ada_at: Page, ada: User, room: str, faults: list[str]
):
    begun(ben_at)
    desk = visit(user=ada)
    desk.goto(room)
    typed(desk).fill("on the desk")
    expect(typed(ada_at)).to_have_value("on the desk")
    ada_at.context.set_offline(True)
    typed(ada_at).fill("on the phone")
    typed(desk).fill("on the desk, more")
    is_kept(desk)
    ada_at.context.set_offline(False)
    expect(ada_at.locator("[data-other=text]")).to_contain_text("on the desk, more")
    expect(typed(desk)).to_have_value("on the phone")
    expect(desk.locator("[data-other=text]")).to_contain_text("this stood there before")
    expect(desk.locator("[data-other=text]")).to_contain_text("on the desk, more")
    press(ada_at, "Add it below mine")
    expect(typed(desk)).to_have_value("on the phone\n\non the desk, more")
    faults[:] = [line for line in faults if not cut(line)]


def test_two_devices_of_an_interviewer_lose_no_evidence(
    visit: Visit, ben_at: Page, ben: User, room: str, interview: Interview, faults: list[str]  # noqa: F811
):
    begun(ben_at)
    tablet = visit(user=ben)
    tablet.goto(room)

    def evidence(page: Page) -> Any:
        return page.locator("[name=evidence]").first

    for page in (ben_at, tablet):
        page.locator(".anchor").nth(1).click()
    evidence(ben_at).fill("at the desk")
    expect(evidence(tablet)).to_have_value("at the desk")
    tablet.context.set_offline(True)
    evidence(tablet).fill("on the tablet")
    evidence(ben_at).fill("at the desk, more")
    expect(ben_at.locator(".point [data-told]").first).to_have_text("kept")
    tablet.context.set_offline(False)
    for page, words in ((tablet, "took its place"), (ben_at, "this stood there before")):
        expect(page.locator("[data-other=evidence]").first.get_by_text(words)).to_be_visible()
        expect(page.locator("[data-other=evidence]").first).to_contain_text("at the desk, more")
    press(tablet, "Add it to mine")
    expect(evidence(ben_at)).to_have_value("on the tablet; at the desk, more")
    expect(evidence(tablet)).to_be_focused()
    faults[:] = [line for line in faults if not cut(line)]


def test_a_draft_that_comes_back_is_told_what_it_took_the_place_of(
    visit: Visit, ben_at: Page, ada_at: Page, ada: User, room: str, faults: list[str]
):
    begun(ben_at)
    expect(typed(ada_at)).to_be_visible()
    ada_at.route("**/do/scratch/", lambda route: route.abort())
    typed(ada_at).fill("on the phone")
    expect(ada_at.locator(".scratch-form [data-told]")).to_have_text("not sent yet")
    ada_at.goto("about:blank")
    desk = visit(user=ada)
    desk.goto(room)
    typed(desk).fill("on the desk")
    is_kept(desk)
    ada_at.unroute("**/do/scratch/")
    ada_at.goto(room)
    expect(typed(ada_at)).to_have_value("on the phone")
    expect(ada_at.locator("[data-other=text]")).to_contain_text("on the desk")
    faults[:] = [line for line in faults if not cut(line)]


def test_what_is_typed_without_a_connection_while_the_interviewer_moves_on_stays_in_view(
    ben_at: Page, ada_at: Page, room: str, faults: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mocks.room.LATE_MS", 0)
    begun(ben_at)
    expect(typed(ada_at)).to_be_visible()
    ada_at.context.set_offline(True)
    typed(ada_at).fill("typed in the tunnel")
    ben_at.get_by_role("button", name="Ask question 2, About steps").click()
    expect(ben_at.locator("#main")).to_contain_text("Scenario of steps.")
    ada_at.context.set_offline(False)
    expect(ada_at.locator("#main")).to_contain_text("Scenario of steps.")
    expect(ada_at.locator("#room-unkept")).to_contain_text("typed in the tunnel")
    expect(typed(ada_at)).to_have_value("")
    ada_at.reload()
    expect(ada_at.locator("#room-unkept")).to_contain_text("typed in the tunnel")
    press(ada_at, "Put it away")
    ada_at.reload()
    expect(ada_at.locator("#room-unkept")).to_be_hidden()
    faults[:] = [line for line in faults if not cut(line)]


def test_news_that_is_late_takes_no_newer_text_away(ben_at: Page, ada_at: Page, room: str):
    begun(ben_at)
    expect(typed(ada_at)).to_be_visible()
    held: list[tuple[Any, Any]] = []

    def hold(route: Any) -> None:
        answer = route.fetch()
        if not held and "first words" in answer.text():
            held.append((route, answer))
        else:
            route.fulfill(response=answer)

    ada_at.route("**/feed/**", hold)
    typed(ada_at).fill("first words")
    is_kept(ada_at)
    ben_at.get_by_role("button", name="Show Ada").click()  # news that tells of the scratchpad as well
    while not held:
        ada_at.wait_for_timeout(50)
    typed(ada_at).fill("first words, then more")
    is_kept(ada_at)
    route, answer = held[0]
    route.fulfill(response=answer)
    ada_at.wait_for_timeout(200)
    assert typed(ada_at).input_value() == "first words, then more"
    ada_at.unroute("**/feed/**")
    expect(ben_at.locator("pre.scratch")).to_have_text("first words, then more")
    expect(ada_at.locator("[data-other=text]")).to_be_hidden()


def test_what_a_page_wrote_is_no_news_to_it(ben_at: Page, ada_at: Page, room: str):
    begun(ben_at)
    expect(typed(ada_at)).to_be_visible()
    polls: list[Any] = []
    ada_at.on("request", lambda request: polls.append(request) if "/feed/" in request.url else None)
    for words in ("first words", "more words"):
        typed(ada_at).fill(words)
        is_kept(ada_at)
        polls.clear()
        expect(ben_at.locator("pre.scratch")).to_have_text(words)
        while len(polls) < 2:
            ada_at.wait_for_timeout(50)
        assert [poll.response().status for poll in polls[:2]] == [204, 204]


def test_what_another_device_writes_back_is_shown(visit: Visit, ben_at: Page, ada_at: Page, ada: User, room: str):
    """The scratchpad stands again as it did when this page was last told of it, but not as this page has it."""
    begun(ben_at)
    expect(typed(ada_at)).to_be_visible()
    typed(ada_at).fill("on the phone")
    is_kept(ada_at)
    at_desk = visit(user=ada)
    at_desk.goto(room)
    expect(typed(at_desk)).to_have_value("on the phone")
    typed(at_desk).fill("")
    is_kept(at_desk)
    expect(typed(ada_at)).to_have_value("")


def test_a_lab_waits_for_a_number_and_then_tells_what_is_set(ben_at: Page, ada_at: Page, room: str):
    begun(ben_at)
    ben_at.get_by_text("Another lab").click()
    ben_at.locator("#push-address").fill(LAB)
    press(ben_at, "Open it for Ada")
    expect(ada_at.locator("#lab-here")).to_contain_text("The result waits for your number")
    ada_at.locator("#lab-said").fill("100")
    ada_at.keyboard.press("Enter")
    expect(ada_at.locator("#lab-here .verdict")).to_contain_text("You said")
    expect(ada_at.locator("#lab-said")).to_be_focused()
    expect(ben_at.locator(".at-lab")).to_contain_text("Ada said 100")
    expect(ben_at.locator("#room-said")).to_contain_text("Ada said 100")
    ada_at.get_by_text("Knobs").click()
    ada_at.locator("#knob-pool_gib").fill("40")
    expect(ben_at.locator(".at-lab")).to_contain_text("set by Ada")
    expect(ada_at.locator("#knob-pool_gib")).to_be_focused()
    ada_at.reload()
    expect(ada_at.locator("#lab-here")).to_contain_text("Knobs")
    press(ben_at, "Close it")
    expect(ada_at.locator("#lab-here")).to_have_count(0)


def test_who_is_out_leaves_the_room_at_the_next_news(
    ben_at: Page, ada_at: Page, ada: User, room: str, faults: list[str]
):
    begun(ben_at)
    expect(typed(ada_at)).to_be_visible()
    Membership.objects.filter(user=ada).delete()
    ada_at.wait_for_url("**/mock/")
    expect(ada_at.locator("#messages")).to_contain_text("You are no longer in that interview.")
    ada_at.go_back()
    expect(ada_at.locator("body")).not_to_contain_text("Scenario of blocks.")
    assert any(line.startswith("404") for line in faults)  # going back finds no room
    faults[:] = [line for line in faults if "404" not in line]


def test_a_double_click_moves_once(ben_at: Page, room: str):
    ben_at.get_by_role("button", name="Start").dblclick()
    expect(ben_at.locator(".at-acts")).to_contain_text("phase brief")
    ben_at.get_by_role("button", name="Next").dblclick()
    expect(ben_at.locator(".at-acts")).to_contain_text("phase answer")
    ben_at.wait_for_timeout(1200)
    assert list(Event.objects.values_list("kind", flat=True)) == ["start", "ask"]


def test_the_clock_runs_and_stands_when_paused(ben_at: Page, ada_at: Page, room: str):
    begun(ben_at)
    figures = ada_at.locator(".at-who [data-figures]")
    expect(figures).to_have_text("0:03")
    press(ben_at, "Pause")
    expect(ada_at.locator(".at-who")).to_contain_text("paused")
    stands = figures.inner_text()
    ada_at.wait_for_timeout(1500)
    assert figures.inner_text() == stands


def test_a_score_is_taken_back_by_pressing_it_again(ben_at: Page, ben: User, room: str, interview: Interview):  # noqa: F811
    begun(ben_at)
    cell = ben_at.locator(".anchor").nth(2)
    cell.click()
    expect(ben_at.locator(".anchor :checked")).to_have_count(1)
    ben_at.wait_for_timeout(1500)
    cell.click()
    expect(ben_at.locator(".anchor :checked")).to_have_count(0)
    ben_at.wait_for_timeout(1500)
    interview.refresh_from_db()
    assert interview.folded().mark(str(ben.pk), 0, "first").value is None


def test_without_javascript_forms_do_it(visit: Visit, ben: User, ada: User, room: str, interview: Interview):  # noqa: F811
    ben_at, ada_at = visit(user=ben, javascript=False), visit(user=ada, javascript=False)
    ben_at.goto(room)
    ben_at.get_by_role("button", name="Start").click()
    ben_at.get_by_role("button", name="Next").click()
    ada_at.goto(room)
    typed(ada_at).fill("by a form")
    press(ada_at, "Keep")
    expect(typed(ada_at)).to_have_value("by a form")
    ben_at.locator(".anchor").nth(3).click()
    ben_at.locator("[name=evidence]").first.fill("heard")
    ben_at.get_by_role("button", name="Keep").first.click()
    expect(ben_at.locator(".anchor :checked")).to_have_count(1)
    services.record(ben, interview, "push_lab", {"address": LAB}, interview.made_at)
    ada_at.reload()
    ada_at.get_by_role("link", name="Open the lab").click()
    ada_at.locator("#lab-said").fill("100")
    press(ada_at, "Check")
    expect(ada_at.locator(".verdict")).to_contain_text("You said")
    ada_at.get_by_role("link", name="Back to the question").click()
    assert ada_at.url.endswith(room)


@pytest.mark.parametrize("look", LOOKS)
def test_a_room_can_be_used_without_sight(
    visit: Visit, ben_at: Page, ben: User, ada: User, chen: User, room: str, look: dict[str, bool], check_access: Check  # noqa: F811
):
    begun(ben_at)
    ben_at.get_by_role("button", name="Show Ada").click()
    for user in (ben, ada, chen):
        page = visit(user=user, **look)
        page.goto(room)
        expect(page.locator("#main")).to_contain_text("Scenario of blocks.")
        check_access(page)
        if look.get("phone") and user == ben:
            for tab in ("Score", "Notes"):
                page.get_by_text(tab, exact=True).click()
                check_access(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_news_is_read_out_once_and_the_keyboard_keeps_its_place(ben_at: Page, ada_at: Page, room: str):
    for page in (ben_at, ada_at):
        page.evaluate("""() => {
          window.heard = [];
          const said = document.getElementById("room-said");
          new MutationObserver(() => heard.push(said.textContent)).observe(said, {childList: true});
        }""")
    ben_at.get_by_role("button", name="Start").press("Enter")
    expect(ben_at.locator("#room-said")).to_contain_text("phase brief, then question 1")
    expect(ben_at.get_by_role("button", name="Next")).to_be_focused()
    ben_at.keyboard.press("Enter")
    expect(ada_at.locator("#room-said")).to_contain_text("Question 1 of 2 Scenario of blocks.")
    ben_at.get_by_role("button", name="Show Ada").press("Enter")
    expect(ada_at.locator("#room-said")).to_contain_text("First hint of blocks.")
    expect(ben_at.locator("#room-said")).to_contain_text("Hint 1 shown at")
    expect(ben_at.get_by_role("heading", name="Hints, in order")).to_be_focused()
    ben_at.get_by_role("button", name="Pause").press("Enter")
    expect(ada_at.locator("#room-said")).to_contain_text("paused")
    expect(ben_at.get_by_role("button", name="Resume")).to_be_focused()
    ben_at.keyboard.press("ArrowDown")
    ben_at.keyboard.press("2")
    expect(ben_at.locator(".point.current input:checked")).to_be_focused()
    ben_at.get_by_role("button", name="Resume").press("Enter")
    expect(ada_at.locator("#room-said")).to_contain_text("the clock runs")
    expect(ben_at.get_by_role("button", name="Pause")).to_be_focused()
    ben_at.get_by_label("A note for yourself").fill("quick")
    ben_at.keyboard.press("Enter")
    expect(ben_at.locator("#room-said")).to_contain_text("noted at")
    ben_at.get_by_text("End the interview").press("Enter")
    ben_at.get_by_role("button", name="End it").press("Enter")
    expect(ben_at.locator("#room-said")).to_contain_text("The interview is over.")
    expect(ben_at.get_by_role("link", name="Scores and call")).to_be_focused()
    heard = ada_at.evaluate("heard")
    for words in ("Scenario of blocks.", "First hint", "paused"):
        assert sum(words in line for line in heard) == 1


def test_a_score_given_by_key_is_in_view(visit: Visit, ben: User, ben_at: Page, room: str):
    begun(ben_at)
    low = visit(user=ben, viewport={"width": 1280, "height": 320})
    low.goto(room)
    low.evaluate("scrollTo(0, 0)")
    low.keyboard.press("2")
    expect(low.locator(".point.current input:checked")).to_be_focused()
    expect(low.locator(".point.current .anchor").nth(2)).to_be_in_viewport(ratio=.9)


def test_on_a_phone_what_has_the_focus_lies_under_no_bar(visit: Visit, ben: User, ben_at: Page, room: str):
    begun(ben_at)
    phone = visit(user=ben, viewport={"width": 360, "height": 640})
    phone.goto(room)
    lower = "(button) => scrollBy(0, button.getBoundingClientRect().bottom - innerHeight)"  # to the window's edge
    is_clear = """() => {
      const box = document.activeElement.getBoundingClientRect();
      return box.bottom <= document.querySelector(".room-acts").getBoundingClientRect().top;
    }"""
    phone.locator(".room-acts .button").last.focus()
    for name in ("Straight to the score", "Skip this question"):
        button = phone.get_by_role("button", name=name)
        button.evaluate(lower)
        phone.keyboard.press("Tab")
        expect(button).to_be_focused()
        phone.wait_for_function(is_clear)


def test_a_score_that_is_refused_says_so_once(ben_at: Page, ben: User, room: str, interview: Interview):  # noqa: F811
    begun(ben_at)
    ben_at.route("**/feed/**", lambda route: None)  # it hears no news for a while
    scores = [("score", {"position": 0, "point": point, "value": 1}) for point in ("first", "second", "third")]
    call = ("call", {"verdict": "no", "level": "senior", "reason": "thin"})
    for kind, detail in (("phase", {"to": "score"}), ("debrief", {}), *scores, call, ("submit", {})):
        services.record(ben, interview, kind, detail, timezone.now())
    ben_at.keyboard.press("2")
    expect(ben_at.locator("#room-said")).to_contain_text("Not kept: Your scores are in")


def test_a_second_press_undoes_a_pause_and_leads_nowhere(ben_at: Page, room: str, interview: Interview):  # noqa: F811
    begun(ben_at)
    ben_at.get_by_role("button", name="Pause").focus()
    for name in ("Resume", "Pause"):
        ben_at.keyboard.press("Enter")
        expect(ben_at.get_by_role("button", name=name)).to_be_focused()
    interview.refresh_from_db()
    assert [event.kind for event in interview.log()][-2:] == ["pause", "resume"]
    ben_at.get_by_role("button", name="5 minutes more in all").press("Enter")
    expect(ben_at.locator("#room-said")).to_contain_text("of 35 in all")
    ben_at.get_by_role("button", name="Straight to the score").press("Enter")
    expect(ben_at.get_by_role("button", name="Next")).to_be_focused()
    ben_at.get_by_role("button", name="To the debrief").press("Enter")
    expect(ben_at.get_by_role("link", name="Scores and call")).to_be_focused()


def test_whoever_types_on_into_a_field_that_is_gone_presses_no_keys(
    visit: Visit, ben_at: Page, chen: User, room: str, interview: Interview  # noqa: F811
):
    interview.team.memberships.filter(user=chen).update(role="interviewer")
    interview.seats.filter(user=chen).update(role="interviewer")
    begun(ben_at)
    chen_at = visit(user=chen)
    chen_at.goto(room)
    chen_at.locator(".anchor").nth(1).click()
    chen_at.locator("[name=evidence]").first.press_sequentially("said so, a")
    ben_at.get_by_role("button", name="Ask question 2").click()
    expect(chen_at.get_by_role("heading", name="Score as you listen")).to_be_focused()
    chen_at.keyboard.type("n 3")
    expect(chen_at.locator(".anchor :checked")).to_have_count(0)
    chen_at.wait_for_timeout(1200)
    chen_at.keyboard.press("3")
    expect(chen_at.locator(".anchor :checked")).to_have_value("3")
    interview.refresh_from_db()
    state = interview.folded()
    assert (state.stamp, state.mark(str(chen.pk), 0, "first").evidence) == ("answer:1", "said so, a")


def test_a_candidate_who_types_into_an_answer_that_closes_keeps_a_place(ben_at: Page, ada_at: Page, room: str):
    begun(ben_at)
    typed(ada_at).press_sequentially("so it is ")
    is_kept(ada_at)
    ben_at.get_by_role("button", name="Straight to the score").click()
    expect(ada_at.get_by_role("heading", name="scratchpad")).to_be_focused()


def test_two_interviewers_on_three_devices_stay_alike(
    visit: Visit, ben_at: Page, ada_at: Page, ben: User, chen: User, room: str, interview: Interview  # noqa: F811
):
    interview.team.memberships.filter(user=chen).update(role="interviewer")
    interview.seats.filter(user=chen).update(role="interviewer")
    begun(ben_at)
    chen_at, tablet = visit(user=chen), visit(user=ben, phone=True)
    for page in (chen_at, tablet):
        page.goto(room)
    for page in (ben_at, chen_at):  # before either hears of the other
        page.get_by_role("button", name="Show Ada").click(no_wait_after=True)
    for page in (ben_at, chen_at):
        expect(page.locator(".at-hints")).to_contain_text("shown")
    expect(ada_at.locator(".at-shown")).to_contain_text("First hint of blocks.")
    ben_at.locator(".anchor").nth(2).click()
    chen_at.locator(".anchor").nth(1).click()
    ben_at.locator("[name=evidence]").first.fill("from the desk")
    tablet.get_by_text("Score", exact=True).click()
    expect(tablet.locator("[name=evidence]").first).to_have_value("from the desk")
    expect(tablet.locator(".anchor :checked")).to_have_value("2")
    expect(chen_at.locator(".anchor :checked")).to_have_value("1")
    chen_at.route("**/feed/**", lambda route: None)  # it hears no news for a while
    ben_at.get_by_role("button", name="Next").click()
    expect(ben_at.locator(".at-acts")).to_contain_text("phase follow-ups")
    chen_at.get_by_role("button", name="Next").click()
    expect(chen_at.locator("#messages")).to_contain_text("moved on")
    expect(chen_at.locator(".at-acts")).to_contain_text("phase follow-ups")
    chen_at.unroute("**/feed/**")
    expect(ada_at.locator("#main")).to_contain_text("Scenario of blocks.")
    interview.refresh_from_db()
    assert interview.folded() == fold(interview.log())
    kinds = list(Event.objects.order_by("ordinal").values_list("kind", flat=True))
    assert kinds.count("phase") == 1 and kinds.count("ask") == 1
