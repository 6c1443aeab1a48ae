"""A real Chromium on the live site; a page that breaks the content policy or asks another site fails its test."""
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Error, Page, Request, Response, sync_playwright
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from tests.browser import access, chromium

# Playwright's loop runs in this thread, where Django would refuse the tests' own queries.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
# For axe, the greater part of these tests: each width and each theme once, not every pair of them. Colours are the
# themes' own tokens at every width, and what is laid out for a width is so in both themes.
LOOKS = [pytest.param({}, id="desktop"), pytest.param({"phone": True, "dark": True}, id="dark-phone")]
HERE = Path(__file__).parent
WAITING = '<!doctype html><link rel="icon" href="data:,">'  # the page of a window between two tests
# Two popups of Chromium's address bar, each a page that every window loads and that takes longer than the tests' own;
# and, as this switch takes the place of Playwright's, what that turns off of these.
SWITCHED_OFF = (
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades", "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding",
    "PreconnectToSearch", "ThirdPartyStoragePartitioning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    arguments = ["--disable-background-networking", f"--disable-features={','.join(SWITCHED_OFF)}"]
    arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
    path = chromium.find()
    assert path, "no Chromium; bin/test gets one"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=arguments)
        yield running
        running.close()


@pytest.fixture
def faults() -> Iterator[list[str]]:
    """What went wrong in any page of this test, one line each; a test that provokes a fault takes its line out."""
    found: list[str] = []
    yield found
    assert found == []


@dataclass
class Window:
    """A browser window with one tab; `faults` is the list of the test that has it at the moment."""

    page: Page
    faults: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def windows() -> dict[object, list[Window]]:
    """The windows that no test has at the moment, by their options: to open one takes longer than most tests."""
    return defaultdict(list)


@pytest.fixture
def visit(
    browser: Browser, windows: dict[object, list[Window]], live_server: LiveServer, faults: list[str]
) -> Iterator[Callable[..., Page]]:
    """A function that opens a page in a browser window of its own, on a desktop in light unless told otherwise.

    `user` is signed in from the start. Addresses given to `page.goto` begin at the site's root. The window goes on to
    another test, without a cookie, a route or anything stored; a listener or an init script would stay.
    """
    taken: list[tuple[object, Window]] = []

    def open_page(
        *, user: User | None = None, phone: bool = False, dark: bool = False, javascript: bool = True,
        viewport: dict[str, int] | None = None, **more: object,
    ) -> Page:
        options = {"has_touch": phone, "is_mobile": phone, "java_script_enabled": javascript} | more
        free = windows[kind := tuple(options.items())]
        window = free.pop() if free else open_window(browser, live_server.url, options)
        taken.append((kind, window))
        window.faults = faults
        window.page.set_viewport_size(viewport or (PHONE if phone else DESKTOP))
        window.page.emulate_media(media="null", color_scheme="dark" if dark else "light")
        if user:
            sign_in(window.page.context, live_server.url, user)
        return window.page

    yield open_page
    for kind, window in taken:
        if clear(window.page, live_server.url):
            windows[kind].append(window)


def open_window(browser: Browser, url: str, options: dict[str, object]) -> Window:
    context = browser.new_context(base_url=url, **options)
    context.set_default_timeout(10_000)
    window = Window(context.new_page())
    watch(window, url)
    press_once_loaded(window.page)
    return window


def press_once_loaded(page: Page) -> None:
    """Let no key be pressed while a page is there and its scripts are not: what it says can be read before."""
    press = page.keyboard.press

    def once_loaded(key: str, **more: object) -> None:
        page.wait_for_load_state()
        press(key, **more)

    page.keyboard.press = once_loaded


def clear(page: Page, url: str) -> bool:
    """Leave no trace of a test in its page; False, and the window is gone, when that can't be done.

    It waits at an address of the site's own, as Chromium starts a process anew for each way to an empty page and back.
    """
    context = page.context
    try:
        for other in context.pages:
            if other != page:
                other.close()
        page.unroute_all()
        context.unroute_all()
        context.set_offline(False)
        page.route(f"{url}/waiting", lambda route: route.fulfill(body=WAITING, content_type="text/html"))
        page.goto(f"{url}/waiting")
        page.unroute_all()
        page.evaluate("try { sessionStorage.clear(); localStorage.clear() } catch {}")
        context.clear_cookies()
    except Error:
        context.close()
        return False
    return True


@pytest.fixture
def page(visit: Callable[..., Page]) -> Page:
    """A desktop page, light, signed out."""
    return visit()


@pytest.fixture
def check_access() -> Callable[[Page], None]:
    """A function that fails when axe finds a violation on the page as it stands."""
    return assert_accessible


def sign_in(context: BrowserContext, url: str, user: User) -> None:
    """Give a browser the session of someone signed in."""
    client = Client()
    client.force_login(user)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": url}])


def watch(window: Window, url: str) -> None:
    """Write down every error in the window's console (a breach of the content policy is one), scripts and requests."""

    def say(fault: str) -> None:
        window.faults.append(fault)

    def requested(request: Request) -> None:
        if not request.url.startswith((url + "/", "data:", "blob:", "about:")):
            say(f"asked another site: {request.url}")

    def failed(request: Request) -> None:
        # Leaving a page aborts what it was still asking for.
        if request.failure != "net::ERR_ABORTED":
            say(f"request failed: {request.url} {request.failure}")

    def answered(response: Response) -> None:
        if response.status >= 400:
            say(f"{response.status}: {response.url}")

    page = window.page
    page.on("console", lambda message: say(f"console: {message.text}") if message.type == "error" else None)
    page.on("pageerror", lambda error: say(f"script: {error}"))
    page.on("request", requested)
    page.on("requestfailed", failed)
    page.on("response", answered)


def assert_accessible(page: Page) -> None:
    assert access.violations(page) == []
