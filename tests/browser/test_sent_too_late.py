"""A page that sends what can no longer be taken says so, and keeps what was typed."""
import re
from collections.abc import Callable

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from accounts.models import User
from flashcards.models import Attempt
from tests.browser.test_review import learner  # noqa: F401

Visit = Callable[..., Page]


@pytest.fixture
def page(visit: Visit, learner: User, faults: list[str]) -> Page:  # noqa: F811
    """The review of a question, one entry of its map typed and kept."""
    page = visit(user=learner)
    page.goto("/review/")
    page.locator("[name=said_A]").fill("1")
    expect(page.locator("#reading")).to_contain_text("{A: 1")
    yield page
    page.context.close()  # what it still sends is refused as well, and is reported by then
    assert [fault for fault in faults if "403" not in fault] == []
    faults.clear()  # the refusal is what these tests provoke


def assert_kept(page: Page, sentence: str) -> None:
    page.get_by_role("button", name="Check").first.click()
    expect(page.locator("#messages")).to_contain_text(sentence)
    expect(page.locator("#messages")).to_be_in_viewport()
    expect(page.locator("[name=said_A]")).to_have_value("1")
    assert not Attempt.objects.exists()


def test_signed_out_meanwhile(page: Page):
    Session.objects.all().delete()
    assert_kept(page, "You are signed out by now.")


def test_signed_in_anew_in_another_tab(page: Page):
    for cookie in page.context.cookies():
        if cookie["name"] == "csrftoken":  # a sign-in gives a new one
            page.context.add_cookies([cookie | {"value": "x" * 32}])
    assert_kept(page, "That page was too old to send from.")


def test_without_javascript_signing_in_leads_back_to_the_page(visit: Visit, learner: User):  # noqa: F811
    page = visit(user=learner, javascript=False)
    page.goto("/review/?only=numbers")
    page.goto("/review/")
    Session.objects.all().delete()
    page.get_by_role("button", name="Check").first.click()
    expect(page).to_have_url(re.compile(r"/accounts/login/\?next=%2Freview%2F|/accounts/login/\?next=/review/"))
