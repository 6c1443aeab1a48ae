"""A real Chromium on the live site; a page that breaks the content policy or asks another site fails its test."""
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, Request, Response, sync_playwright
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from tests.browser import chromium

# Playwright's loop runs in this thread, where Django would refuse the tests' own queries.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
# For axe, the greater part of these tests: each width and each theme once, not every pair of them. Colours are the
# themes' own tokens at every width, and what is laid out for a width is so in both themes.
LOOKS = [pytest.param({}, id="desktop"), pytest.param({"phone": True, "dark": True}, id="dark-phone")]
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    arguments = ["--disable-background-networking", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
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


@pytest.fixture
def visit(browser: Browser, live_server: LiveServer, faults: list[str]) -> Iterator[Callable[..., Page]]:
    """A function that opens a page in a new browser window of its own, on a desktop in light unless told otherwise.

    `user` is signed in from the start. Addresses given to `page.goto` begin at the site's root.
    """
    contexts: list[BrowserContext] = []

    def open_page(
        *, user: User | None = None, phone: bool = False, dark: bool = False, javascript: bool = True, **more: object
    ) -> Page:
        options = {
            "base_url": live_server.url,
            "viewport": PHONE if phone else DESKTOP,
            "has_touch": phone,
            "is_mobile": phone,
            "color_scheme": "dark" if dark else "light",
            "java_script_enabled": javascript,
        }
        context = browser.new_context(**options | more)
        contexts.append(context)
        context.set_default_timeout(10_000)
        if user:
            sign_in(context, live_server.url, user)
        page = context.new_page()
        watch(page, live_server.url, faults)
        return page

    yield open_page
    for context in contexts:
        context.close()


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


def watch(page: Page, url: str, faults: list[str]) -> None:
    """Write down every error in the page's console (a breach of the content policy is one), scripts and requests."""

    def requested(request: Request) -> None:
        if not request.url.startswith((url + "/", "data:", "blob:")):
            faults.append(f"asked another site: {request.url}")

    def failed(request: Request) -> None:
        # Leaving a page aborts what it was still asking for.
        if request.failure != "net::ERR_ABORTED":
            faults.append(f"request failed: {request.url} {request.failure}")

    def answered(response: Response) -> None:
        if response.status >= 400:
            faults.append(f"{response.status}: {response.url}")

    page.on("console", lambda message: faults.append(f"console: {message.text}") if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.on("request", requested)
    page.on("requestfailed", failed)
    page.on("response", answered)


def assert_accessible(page: Page) -> None:
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
