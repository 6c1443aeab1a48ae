"""The browser tests' own guard: what must fail a test is noticed."""
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer


@pytest.fixture
def sign_in_page(page: Page, faults: list[str]) -> Page:
    page.goto("/accounts/login/")
    assert faults == []
    return page


def test_inline_script_is_stopped_and_noticed(sign_in_page: Page, faults: list[str]):
    script = "Object.assign(document.createElement('script'), {text: 'window.ran = 1'})"
    sign_in_page.evaluate(f"document.body.append({script})")
    assert sign_in_page.evaluate("window.ran") is None
    assert "Content Security Policy" in faults.pop()


def test_inline_style_is_stopped_and_noticed(sign_in_page: Page, faults: list[str]):
    sign_in_page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p id=p style=\"color: red\">p</p>')")
    assert sign_in_page.evaluate("getComputedStyle(document.getElementById('p')).color") != "rgb(255, 0, 0)"
    assert "Content Security Policy" in faults.pop()


def test_another_site_is_not_asked(sign_in_page: Page, faults: list[str]):
    sign_in_page.evaluate("fetch('http://other.invalid/').catch(() => null)")
    assert any("Content Security Policy" in fault for fault in faults)
    faults.clear()


def test_script_error_is_noticed(sign_in_page: Page, faults: list[str]):
    with sign_in_page.expect_event("pageerror"):
        sign_in_page.evaluate("setTimeout(() => { throw new Error('boom') })")
    assert "boom" in faults.pop()


def test_missing_page_is_noticed(sign_in_page: Page, live_server: LiveServer, faults: list[str]):
    sign_in_page.goto("/no-such-page/")
    assert f"404: {live_server.url}/no-such-page/" in faults
    faults.clear()


def test_violation_of_access_rules_is_noticed(sign_in_page: Page, check_access: Callable[[Page], None]):
    sign_in_page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<button></button>')")
    with pytest.raises(AssertionError, match="button-name"):
        check_access(sign_in_page)


def test_page_without_javascript_still_shows(visit: Callable[..., Page]):
    page = visit(javascript=False, phone=True, dark=True)
    page.goto("/accounts/login/")
    expect(page.get_by_role("main")).to_be_visible()
