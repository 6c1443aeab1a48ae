"""Progress in a browser: every page of it open to all, on a phone as well."""
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from accounts.models import User
from flashcards.models import Card
from tests.browser.conftest import LOOKS
from tests.progress.conftest import write_log
from tests.progress.test_progress_pages import log_of, questions


@pytest.fixture
def year(transactional_db: None, ada: User) -> User:
    """Ada with ten weeks of answers and questions not begun."""
    write_log(ada, log_of(cards=12, weeks=10), topics=("sizing", "engine"))
    questions(ada, 3)
    return ada


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_and_nothing_scrolls_sideways(
    visit: Callable[..., Page], year: User, check_access: Callable[[Page], None], look: dict
):
    page = visit(user=year, **look)
    card = Card.objects.filter(user=year, note__isnull=False).first()
    for path in ("/progress/", "/progress/readiness/?target=200", f"/progress/cards/{card.pk}/"):
        page.goto(path)
        for fold in page.locator("main summary").all():
            fold.click()
        check_access(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
