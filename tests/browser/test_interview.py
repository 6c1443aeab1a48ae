"""From an invitation to the report, in the browsers of an owner who interviews, a candidate on a phone and an observer;
whatever the candidate's browser and a stranger's get is searched for what they are not to know."""
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Error, Page, Request, expect

from accounts.models import User
from mocks.models import Interview, Team
from tests.browser.test_room import cut, is_kept, move_on, press, typed
from tests.conftest import person
from tests.mocks.test_canaries import ALL, mark, marked

Visit = Callable[..., Page]
pytestmark = pytest.mark.django_db(transaction=True)


class Listener:
    """Everything that a page gets, as text, with what asked for it."""

    def __init__(self, page: Page) -> None:
        self.page, self.got = page, []
        page.on("requestfinished", self.hear)

    def hear(self, request: Request) -> None:
        try:
            self.got.append((request.url, request.response().text()))
        except Error:  # a redirect has no body, and a page that was left may have taken its own along
            self.got.append((request.url, ""))

    def leaked(self, shown: set[str]) -> set[tuple[str, str]]:
        """The (address, marked string) of what came so far and was not to come; what came is then forgotten."""
        got, self.got = self.got, []
        return {(url, one) for url, text in got for one in ALL - shown if one in text}


@pytest.fixture
def listen() -> Iterator[Callable[[Page], Listener]]:
    ears: list[Listener] = []

    def begin(page: Page) -> Listener:
        ears.append(Listener(page))
        return ears[-1]

    yield begin
    for ear in ears:
        ear.page.remove_listener("requestfinished", ear.hear)


def invite(owner: Page, team: Team, role: str) -> str:
    """The path of a new link into the team."""
    owner.goto(f"/mock/teams/{team.pk}/")
    owner.get_by_label("As", exact=True).select_option(role)
    press(owner, "Make a link")
    expect(owner.get_by_text("The link is made; hand it on.")).to_be_visible()
    return "/mock/join/" + owner.get_by_label("The link").first.input_value().split("/mock/join/")[1]


def test_from_the_invitation_to_the_report(
    visit: Visit, transactional_db: None, ada: User, ben: User, eve: User, faults: list[str],
    listen: Callable[[Page], Listener],
):
    marked("alpha", 1), marked("beta", 2)
    owner, candidate, observer, stranger = visit(user=ben), visit(user=ada, phone=True), None, visit(user=eve)
    hers, theirs = listen(candidate), listen(stranger)
    owner.goto("/mock/")
    owner.get_by_role("link", name="Begin a team").click()
    owner.get_by_label("Name").fill("Platform")
    owner.keyboard.press("Enter")
    expect(owner.get_by_role("heading", name="Platform")).to_be_visible()
    team = Team.objects.get()
    candidate.goto(invite(owner, team, "candidate"))
    candidate.get_by_role("button", name="Join").click()
    observer = visit(user=person("Chen"))
    observer.goto(invite(owner, team, "observer"))
    observer.get_by_role("button", name="Join").click()
    owner.goto(f"/mock/teams/{team.pk}/plan/?candidate={ada.pk}&minutes=30")
    owner.get_by_label("Chen").last.check()
    owner.get_by_role("button", name="Save and invite Ada").click()
    expect(owner.get_by_text("Saved. Ada gets in by the link below.")).to_be_visible()
    row = Interview.objects.get()
    slugs = [one["slug"] for one in row.plan]
    assert sorted(slugs) == ["alpha", "beta"]
    first, second = slugs
    room = f"/mock/{row.code}/"
    pages, shown = (owner, candidate, observer), set()

    def assert_kept(*reveals: str) -> None:
        """Each reloads, a stranger looks at every address of it, and nothing else has come to the two."""
        shown.update(reveals)
        for page in pages:
            page.reload()
        for reveal in reveals:
            expect(candidate.locator("#main")).to_contain_text(reveal)
        for path in ("", "feed/?after=0", "plan/", "lab/", "report/", "report.json", "report.md", "scores/"):
            stranger.goto(room + path)
        assert hers.leaked(shown) == set()
        assert theirs.leaked(set()) == set()

    for page in pages:
        page.goto(room)
    assert_kept()
    owner.get_by_role("button", name="Start").click()
    expect(candidate.get_by_role("heading", name="It has begun: first how it goes.")).to_be_visible()
    assert_kept()
    for closed in (f"/questions/{first}/", "/questions/print/", "/search/?q=scheduling", "/settings/export/everything/",
                   f"/mock/{row.code}/report.json"):
        candidate.goto(closed)
        expect(candidate.locator("#main")).to_contain_text("until")
    candidate.goto(room)
    move_on(owner, "answer")
    expect(candidate.locator("#main")).to_contain_text(mark("ask", first))
    assert_kept(mark("ask", first))
    candidate.context.set_offline(True)
    expect(candidate.locator("#room-lost")).to_be_visible()
    typed(candidate).fill("ten blocks")
    owner.get_by_role("button", name="Show Ada").click()
    candidate.context.set_offline(False)
    is_kept(candidate)
    expect(candidate.locator("#main")).to_contain_text(mark("hint0", first))
    owner.keyboard.press("ArrowDown")
    owner.keyboard.press("2")
    owner.locator("[name=evidence]").first.fill(mark("evidence"))
    expect(owner.locator(".point.current [data-told]")).to_have_text("kept")
    owner.locator("#note-text").fill(mark("note"))
    owner.keyboard.press("Enter")
    expect(owner.locator(".notes")).to_contain_text(mark("note"))
    assert_kept(mark("hint0", first))
    expect(typed(candidate)).to_have_value("ten blocks")
    move_on(owner, "follow-ups")
    assert_kept()
    move_on(owner, "score")
    assert_kept()
    move_on(owner, "answer")
    expect(candidate.locator("#main")).to_contain_text(mark("ask", second))
    shown.add(mark("ask", second))
    press(owner, "Skip this question")
    expect(owner.locator(".at-acts")).to_contain_text("phase score")
    move_on(owner, "debrief")
    assert_kept()
    owner.get_by_text("End the interview").click()
    press(owner, "End it")
    expect(candidate.get_by_role("heading", name="The interview is over.")).to_be_visible()
    assert_kept()

    owner.goto(f"{room}scores/")
    owner.get_by_text("strong yes", exact=True).click()
    owner.get_by_text("staff", exact=True).first.click()
    owner.get_by_label("because").fill(mark("reason"))
    press(owner, "Hand in my scores")
    expect(owner.get_by_text("Ada sees nothing yet.")).to_be_visible()  # all scores are in: this is the report
    owner.get_by_label("Scores", exact=True).check()
    owner.get_by_role("button", name="Release").click()
    expect(owner.get_by_text("Ada sees nothing yet.")).to_have_count(0)
    candidate.goto(f"{room}report/")
    expect(candidate.locator("#main")).to_contain_text(mark("title", first))
    shown |= {mark("title", first), mark("title", second)}
    assert hers.leaked(shown) == set()
    refused = ("403: ", "404: ", "(Forbidden)", "(Not Found)", "htmx:sendAbort")  # the last: left while it asked
    faults[:] = [line for line in faults if not cut(line) and not any(mark in line for mark in refused)]
