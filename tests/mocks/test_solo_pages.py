"""Practising alone: put together without telling what will be asked, and begun once."""
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from mocks.models import Interview
from mocks.room import Phase
from questions.access import embargo_on
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


def test_minutes_that_cannot_be_read_stay_typed_and_begin_nothing(as_ada: Client, three: None):
    answer = as_ada.post("/mock/solo/", {"minutes": "soon", "seed": "1"}, follow=True)
    page = answer.content.decode()
    assert 'value="soon"' in page and "An interview takes 10 to 180 minutes." in page
    assert Interview.objects.count() == 0


def test_without_a_question_that_fits_nothing_begins(as_ada: Client, db: None):
    page = as_ada.post("/mock/solo/", {"minutes": "20", "seed": "1"}, follow=True).content.decode()
    assert "No question of these topics, kinds and levels fits." in page
    assert Interview.objects.count() == 0


def test_nobody_else_knows_of_it(as_ada: Client, three: None, eve: User, client: Client):
    code = begin(as_ada, as_ada.get("/mock/solo/").url).url
    client.force_login(eve)
    assert client.get(code).status_code == 404
    assert client.get(f"{code}plan/").status_code == 404
