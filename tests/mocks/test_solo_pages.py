"""Practising alone: put together without telling what will be asked, and begun once."""
import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from mocks.models import Interview
from mocks.room import Phase
from questions.access import embargo_on
from questions.models import Embargo
from tests.mocks.conftest import question


@pytest.fixture
def three(db: None) -> None:
    for at, (slug, topic) in enumerate((("blocks", "scheduling"), ("pools", "sizing"), ("ranks", "sizing"))):
        question(slug, position=at, topic=topic)


def begin(client: Client, address: str) -> Any:
    form = re.search(r'<form method="post".*?</form>', client.get(address).content.decode(), re.DOTALL)[0]
    return client.post("/mock/solo/", dict(re.findall(r'name="(seed|minutes|topic|kind|level)" value="([^"]*)"', form)))


def test_the_page_tells_topics_and_minutes_and_no_question(as_ada: Client, three: None):
    opened = as_ada.get("/mock/solo/", {"topic": "sizing"})
    page = as_ada.get(opened.url).content.decode()
    # 20 minutes leave 17: two of 6 with 2 to score each make 16.
    assert "Two questions, 19 of 20 minutes" in page
    assert not any(slug in page + opened.url for slug in ("blocks", "pools", "ranks", "About"))


def test_begun_twice_it_is_one_interview_that_runs(as_ada: Client, three: None, ada: User):
    address = as_ada.get("/mock/solo/").url
    once, twice = begin(as_ada, address), begin(as_ada, address)
    row = Interview.objects.get()
    assert once.url == twice.url == f"/mock/{row.code}/"
    assert (row.phase, row.team, row.candidate, row.minutes) == (Phase.BRIEF, None, ada, 20)
    assert row.asked and [one["minutes"] for one in row.plan] == [6, 6]
    assert embargo_on(ada, timezone.now()) is None


def test_one_that_was_left_ends_when_another_begins(as_ada: Client, three: None):
    begin(as_ada, as_ada.get("/mock/solo/").url)
    assert "One of yours still runs." in as_ada.get("/mock/solo/", follow=True).content.decode()
    begin(as_ada, as_ada.get("/mock/solo/").url)
    assert [row.phase for row in Interview.objects.order_by("pk")] == [Phase.OVER, Phase.BRIEF]


def test_minutes_that_cannot_be_read_stay_typed_and_begin_nothing(as_ada: Client, three: None):
    answer = as_ada.post("/mock/solo/", {"minutes": "soon", "seed": "1"}, follow=True)
    page = answer.content.decode()
    assert 'value="soon"' in page and "An interview takes 10 to 180 minutes." in page
    assert Interview.objects.count() == 0


def test_without_a_question_that_fits_nothing_begins(as_ada: Client, db: None):
    page = as_ada.post("/mock/solo/", {"minutes": "20", "seed": "1"}, follow=True).content.decode()
    assert "None of these topics, kinds and levels fits: choose more of them" in page
    assert Interview.objects.count() == 0


def test_nobody_else_knows_of_it(as_ada: Client, three: None, eve: User, client: Client):
    code = begin(as_ada, as_ada.get("/mock/solo/").url).url
    client.force_login(eve)
    assert client.get(code).status_code == 404
    assert client.get(f"{code}plan/").status_code == 404


# The room

@pytest.fixture
def running(as_ada: Client, three: None) -> Interview:
    begin(as_ada, as_ada.get("/mock/solo/", {"topic": "sizing"}).url)
    return Interview.objects.get()


def do(client: Client, row: Interview, kind: str, **fields: Any) -> str:
    """Press a button of the room; what comes back is its page."""
    row.refresh_from_db()
    sent = {"key": str(uuid4()), "stamp": row.folded().stamp} | fields
    return client.post(f"/mock/{row.code}/do/{kind}/", sent, follow=True).content.decode()


def later(row: Interview, minutes: float) -> None:
    """Let minutes pass: the room's clock began so much earlier."""
    row.refresh_from_db()
    state = row.state | {"since_ms": row.state["since_ms"] - round(minutes * 60_000)}
    Interview.objects.filter(pk=row.pk).update(state=state)


def test_a_room_of_ones_own_plays_what_the_browser_has_kept_and_no_other_page_does(
    as_ada: Client, running: Interview
):
    assert "media-src blob:" in as_ada.get(f"/mock/{running.code}/").headers["Content-Security-Policy"]
    assert "media-src" not in as_ada.get("/mock/solo/").headers["Content-Security-Policy"]


def test_from_the_brief_to_the_report(as_ada: Client, running: Interview, ada: User):
    page = as_ada.get(f"/mock/{running.code}/").content.decode()
    assert "The clock runs." in page and "Scenario of" not in page
    first = running.plan[0]["slug"]
    page = do(as_ada, running, "ask", position=0)
    assert f"Scenario of {first}" in page
    assert not any(told in page for told in (f"staff answer of {first}", "Point first", "bounds first", "First hint"))
    page = do(as_ada, running, "hint", number=0)
    assert f"First hint of {first}" in page and "Second hint" not in page
    do(as_ada, running, "scratch", position=0, text="two blocks")
    page = do(as_ada, running, "phase", to="score")
    assert all(told in page for told in ("two blocks", f"staff answer of {first}", "Point first", "bounds first"))
    assert "3 points without a score." in page
    for point, value in (("first", 3), ("second", 2), ("third", 0)):
        page = do(as_ada, running, "score", position=0, point=point, value=value)
    assert "without a score" not in page
    page = do(as_ada, running, "ask", position=1)
    assert f"staff answer of {first}" not in page
    do(as_ada, running, "phase", to="score")
    page = do(as_ada, running, "end")
    assert f"/mock/{running.code}/report/" in page
    report = as_ada.get(f"/mock/{running.code}/report/").content.decode()
    assert "two blocks" in report
    as_ada.post(f"/mock/{running.code}/report/take-missed/", {"slugs": first, "slug": first})
    assert ada.cards.filter(question__slug=first, due_day__isnull=False).exists()


def test_when_the_time_is_up_the_next_look_finds_the_answer_closed(as_ada: Client, running: Interview):
    do(as_ada, running, "ask", position=0)
    later(running, 6)
    feed = as_ada.get(f"/mock/{running.code}/feed/", {"after": "2", "here": ""}, headers={"hx-request": "true"})
    assert "The time was up" in feed.content.decode()
    page = as_ada.get(f"/mock/{running.code}/").content.decode()
    assert "closed with the answer" in page and "staff answer of" in page


def test_what_was_on_its_way_when_the_time_was_up_is_kept_and_nothing_later(as_ada: Client, running: Interview):
    do(as_ada, running, "ask", position=0)
    later(running, 6 + 1 / 60)
    do(as_ada, running, "scratch", position=0, text="just in time")
    running.refresh_from_db()
    assert running.folded().items[0].scratch == "just in time"
    as_ada.get(f"/mock/{running.code}/")
    Interview.objects.filter(pk=running.pk).update(
        state=running.state | {"moved_ms": running.folded().moved_ms - 60_000})
    do(as_ada, running, "scratch", position=0, text="too late")
    running.refresh_from_db()
    assert running.folded().items[0].scratch == "just in time"


def test_while_a_team_interviews_them_their_own_room_is_closed(as_ada: Client, running: Interview, ada: User):
    do(as_ada, running, "ask", position=0)
    do(as_ada, running, "phase", to="score")
    now = timezone.now()
    Embargo.objects.create(user=ada, reference="other", begins_at=now, ends_at=now + timedelta(hours=1))
    for address in (f"/mock/{running.code}/", f"/mock/{running.code}/feed/", "/mock/solo/"):
        answer = as_ada.get(address)
        assert answer.status_code == 403 and "staff answer of" not in answer.content.decode()
