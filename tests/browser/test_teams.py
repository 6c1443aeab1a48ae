"""The Mock page and a team's in a browser: from the link to a member without JavaScript, and accessible to all."""
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from mocks import services, teams
from mocks.models import Membership, Team
from tests.browser.conftest import LOOKS

Visit = Callable[..., Page]


@pytest.fixture
def team(ada: User, ben: User) -> Team:
    """Ben's, with Ada in it, an interview planned, one called off, and a link that nobody has used."""
    now = timezone.now()
    team = services.make_team(ben, "Platform", now)
    Membership.objects.create(team=team, user=ada, role="candidate", joined_at=now)
    for days in (1, 2):
        planned = services.plan_interview(
            team, ben, ada, now, minutes=45, plan=[], spec={}, scheduled_at=now + timedelta(days=days),
            seats={ben: "interviewer"})
    services.record(ben, planned, "call_off", {}, now)
    teams.invite(Membership.objects.get(team=team, user=ben), "interviewer", now, days=7, most_uses=2)
    return team


def test_from_the_link_to_a_member_without_javascript(visit: Visit, team: Team, ben: User, settings: Any):
    settings.DRILL_SIGNUP = "invite"
    owner, newcomer = visit(user=ben, javascript=False), visit(javascript=False, phone=True)
    owner.goto(f"/mock/teams/{team.pk}/")
    newcomer.goto(owner.get_by_label("The link").input_value().replace("http://localhost:8000", ""))
    newcomer.get_by_role("link", name="Make an account").click()
    newcomer.get_by_label("Email").fill("new@example.org")
    newcomer.get_by_label("Password", exact=True).fill("crib-tangle-9")
    newcomer.get_by_label("The same password again").fill("crib-tangle-9")
    newcomer.get_by_role("button", name="Make the account").click()
    newcomer.get_by_role("button", name="Join").click()
    expect(newcomer.get_by_role("heading", name="Platform")).to_be_visible()
    owner.reload()
    expect(owner.get_by_text("1 of 2 used: new")).to_be_visible()
    owner.get_by_role("button", name="Withdraw").click()
    expect(owner.get_by_text("withdrawn; 1 of 2 used: new")).to_be_visible()


def test_the_way_to_each_interview_is_told_from_the_others(visit: Visit, team: Team, ada: User, ben: User):
    now = timezone.now()
    services.plan_interview(team, ben, ada, now, minutes=45, plan=[], spec={}, scheduled_at=now + timedelta(days=3),
                            seats={ben: "interviewer"})
    page = visit(user=ben)
    for address in ("/mock/", f"/mock/teams/{team.pk}/"):
        page.goto(address)
        for what in ("Plan", "Room"):
            links = re.findall(f'link "({what} You interview Ada .*?)"', page.aria_snapshot())
            assert len(set(links)) == len(links) == 2


def test_what_an_act_led_to_is_read_out_as_its_page_opens(visit: Visit, team: Team, ben: User):
    page = visit(user=ben, locale="en-GB")  # a window of its own, as its clock is held
    page.clock.install()
    page.goto(f"/mock/teams/{team.pk}/")
    page.get_by_role("button", name="Make a link").press("Enter")
    expect(page.locator("#messages")).to_have_text("The link is made; hand it on.")
    page.evaluate("""() => {
      window.heard = [];
      new MutationObserver((changes) => {
        for (const change of changes) for (const node of change.addedNodes) heard.push(node.textContent.trim());
      }).observe(document.getElementById("messages"), {childList: true});
    }""")
    page.clock.fast_forward(1000)
    page.wait_for_function("heard.length")
    assert page.evaluate("heard.filter(Boolean)") == ["The link is made; hand it on."]


@pytest.mark.parametrize("look", LOOKS)
def test_the_pages_are_accessible(
    visit: Visit, team: Team, ada: User, ben: User, check_access: Callable[[Page], None], look: dict[str, bool]
):
    link = f"/mock/join/{team.invitations.get().token}/"
    for page, addresses in (
        (visit(user=ben, **look), ("/mock/", f"/mock/teams/{team.pk}/", f"/mock/teams/{team.pk}/delete/", link)),
        (visit(user=ada, **look), ("/mock/", f"/mock/teams/{team.pk}/", "/mock/teams/new/")),
        (visit(**look), (link,)),
    ):
        for address in addresses:
            page.goto(address)
            check_access(page)


def test_nothing_scrolls_sideways_at_360(visit: Visit, team: Team, ben: User):
    page = visit(user=ben, phone=True, viewport={"width": 360, "height": 740})
    for address in ("/mock/", f"/mock/teams/{team.pk}/", f"/mock/join/{team.invitations.get().token}/"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, address


@pytest.mark.parametrize("width", [641, 768, 941, 1024, 1061])
def test_the_header_fits_at_every_width(visit: Visit, width: int):
    owner = User.objects.create_superuser("owner@localhost")
    page = visit(user=owner, viewport={"width": width, "height": 600})
    page.goto("/mock/")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ends = page.evaluate(
        "[...document.querySelectorAll('.header-end > .nav')].map((nav) => nav.getBoundingClientRect())"
        ".map(({left, right, width}) => width ? [left, right] : [])")
    pages, end = (list(edges) for edges in ends)
    if end:
        assert pages[1] <= end[0]
    else:
        expect(page.locator("summary", has_text="Menu")).to_be_visible()
