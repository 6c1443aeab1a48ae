"""The plain pages in a browser: keys, time zone, theme, the phone, and accessibility."""
from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts import services
from accounts.models import User
from drillapp.settings import SITE_URL
from tests.browser.conftest import LOOKS

Visit = Callable[..., Page]
STRANGERS = ("/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/accounts/link/none/", "/keys/")
OWN = ("/keys/", "/accounts/logout/", "/accounts/password/change/", "/accounts/link/none/", "/history/", "/my-cards/",
       "/my-cards/new/?kind=cloze", "/my-cards/new/?kind=number", "/settings/import/", "/settings/export/",
       "/progress/", "/progress/fit/", "/progress/what-if/", "/catch-up/")


def test_the_printed_link_signs_in(page: Page, ada: User):
    page.goto(services.signin_link(ada, timezone.now()).removeprefix(SITE_URL))
    expect(page.get_by_role("link", name="Ada, settings")).to_be_visible()


def test_the_browsers_time_zone_is_taken_once(visit: Visit, ada: User):
    tokyo = visit(user=ada, timezone_id="Asia/Tokyo")
    with tokyo.expect_response("**/accounts/zone/"):
        tokyo.goto("/keys/")
    berlin = visit(user=ada, timezone_id="Europe/Berlin")
    berlin.goto("/keys/")
    berlin.wait_for_load_state("networkidle")
    ada.profile.refresh_from_db()
    assert ada.profile.zone == "Asia/Tokyo"


def test_a_key_presses_what_shows_it(visit: Visit, ada: User):
    page = visit(user=ada)
    page.goto("/settings/")
    page.keyboard.press("?")
    expect(page).to_have_url(page.url.split("/settings/")[0] + "/keys/")


def test_a_key_in_a_field_is_only_typed(visit: Visit, ada: User):
    page = visit(user=ada)
    page.goto("/settings/")
    page.get_by_label("Relearning steps").fill("")
    page.get_by_label("Relearning steps").press_sequentially("10m?")
    expect(page.get_by_label("Relearning steps")).to_have_value("10m?")


@pytest.mark.parametrize("chord", ["Alt+?", "Control+?", "Meta+?"])
def test_a_key_held_with_a_modifier_is_the_browsers(visit: Visit, ada: User, chord: str):
    page = visit(user=ada)
    page.goto("/settings/")
    page.keyboard.press(chord)
    page.wait_for_timeout(200)
    assert page.url.endswith("/settings/")


@pytest.mark.parametrize("dark", [False, True])
def test_auto_follows_the_device_and_a_choice_does_not(visit: Visit, ada: User, dark: bool):
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    paper = {False: "rgb(246, 250, 247)", True: "rgb(16, 23, 20)"}
    page = visit(user=ada, dark=dark)
    page.goto("/keys/")
    assert page.evaluate(ground) == paper[dark]
    ada.profile.theme = "light" if dark else "dark"
    ada.profile.save()
    page.reload()
    assert page.evaluate(ground) == paper[not dark]


def test_the_menu_opens_on_a_phone_without_javascript(visit: Visit, ada: User):
    page = visit(user=ada, phone=True, javascript=False)
    page.goto("/keys/")
    page.get_by_text("Menu", exact=True).click()
    page.get_by_role("link", name="Settings of Ada").click()
    assert page.url.endswith("/settings/")


@pytest.mark.parametrize("look", LOOKS)
def test_plain_pages_are_accessible(
    visit: Visit, ada: User, check_access: Callable[[Page], None], look: dict[str, bool]
):
    stranger, own = visit(**look), visit(user=ada, **look)
    for page, addresses in ((stranger, STRANGERS), (own, OWN)):
        for address in addresses:
            page.goto(address)
            check_access(page)


def test_nothing_scrolls_sideways_at_360(visit: Visit, ada: User):
    small = {"viewport": {"width": 360, "height": 740}}
    for page, addresses in ((visit(phone=True, **small), STRANGERS), (visit(user=ada, phone=True, **small), OWN)):
        for address in addresses:
            page.goto(address)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, address


def test_error_pages_are_accessible(
    visit: Visit, ada: User, faults: list[str], check_access: Callable[[Page], None]
):
    page = visit(user=ada)
    page.goto("/labs/shceduler")
    check_access(page)
    assert [fault for fault in faults if "404" not in fault] == []
    faults.clear()


def test_the_first_tab_leads_past_the_header(page: Page):
    page.goto("/accounts/login/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
