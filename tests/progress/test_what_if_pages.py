"""The What if page: each way a year can stand."""
import csv
import io
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Profile, User
from flashcards import works
from flashcards.models import Work
from progress.what_if import is_result

HTMX = {"HX-Request": "true"}


def outcome(retention: float, minutes: float, known: float, held: float = 0) -> dict[str, Any]:
    return {"retention": retention, "minutes": [minutes - 1, minutes, minutes + 1],
            "known": [known - 5, known, known + 5], "held": held}


YEAR = {
    "asked": 0.9, "cards": 360, "begun": 100, "known": 93.4, "days": 365, "replicas": 16, "answers": 812,
    "reviews_per_day": 24, "lately": 11.2, "defaults": ["FSRS’s parameters"],
    "outcomes": [outcome(0.8, 6, 310), outcome(0.85, 7, 330), outcome(0.9, 9, 341), outcome(0.95, 15, 352, held=0.4)],
}


@pytest.fixture
def played(ada: User) -> Work:
    now = timezone.now()
    return Work.objects.create(
        user=ada, kind=Work.Kind.WHAT_IF, asked_at=now, seen_at=now, done_at=now, progress=1, result=YEAR)


def text(client: Client, **how: Any) -> str:
    response = client.get("/progress/what-if/", **how)
    assert response.status_code == 200
    return response.content.decode()


def test_a_double_click_starts_one(as_ada: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Work] = []
    monkeypatch.setattr(works, "start", begun.append)
    assert "Play the year" in text(as_ada)
    for _ in range(2):
        assert as_ada.post("/progress/what-if/start/").url == "/progress/what-if/"
    assert begun == [Work.objects.get()]
    assert 'hx-get="/progress/what-if/"' in text(as_ada)


def test_the_year_is_told_in_words_a_picture_and_a_table(as_ada: Client, played: Work) -> None:
    page = text(as_ada)
    assert "At 0.90, 9 min a day, and 341 cards known in a year." in page
    assert "0.95 would take 15 min a day, with 11 more known." in page
    assert "0.85 would take 7 min a day, with 11 fewer known." in page
    assert "lines reach over the middle 80% of 16 plays" in page
    assert "<title>At 0.90, 9.0 minutes a day and 341 cards known; at 0.95, 15.0 and 352.</title>" in page
    assert '15.0 <span class="ink-3">(14.0–16.0)</span>' in page
    assert "From 360 cards, 100 of them begun, and 812 answers." in page


def test_the_year_is_a_file_too(as_ada: Client, played: Work, eve: User) -> None:
    assert 'href="/progress/what-if/year.csv"' in text(as_ada)
    heads, *rows = csv.reader(io.StringIO(as_ada.get("/progress/what-if/year.csv").content.decode()))
    assert heads[:2] == ["desired retention", "minutes a day"]
    assert rows[-1] == ["0.95", "15", "14", "16", "352", "347", "357", "0.4"]
    assert len(rows) == len(YEAR["outcomes"])
    as_ada.force_login(eve)
    assert as_ada.get("/progress/what-if/year.csv").status_code == 404


def test_what_the_lines_hold_is_said(as_ada: Client, played: Work) -> None:
    assert "The lines hold chance alone" in text(as_ada)  # a year played before it was asked, or by too few reviews
    Work.objects.update(result=YEAR | {"scored": 5_820, "strength": [0.91, 0.97, 1.04]})
    page = text(as_ada)
    assert "by 5,820 of them" in page
    assert "lasts 0.97 times as long as FSRS takes it to (0.91 to 1.04)" in page


@pytest.mark.parametrize("drawn", [{"strength": "x"}, {"strength": [1.0, 1.0], "scored": 5}, {"strength": [1.0] * 3}])
def test_a_year_of_another_shape_is_no_result(drawn: dict[str, Any]) -> None:
    assert is_result(YEAR)
    assert is_result(YEAR | {"scored": 5, "strength": [0.9, 1.0, 1.1]})
    assert not is_result(YEAR | drawn)


def test_what_is_assumed_and_where_the_limit_binds_is_named(as_ada: Client, played: Work) -> None:
    page = text(as_ada)
    assert "<li>FSRS’s parameters</li>" in page
    assert "your limit of 24 reviews held something back" in page
    assert "40%" in page


def test_a_retention_changed_since_is_said(as_ada: Client, played: Work) -> None:
    assert "play it again" not in text(as_ada)
    Profile.objects.update(desired_retention=0.92)
    assert "You ask for 0.92 now; play it again to see that." in text(as_ada)


def test_the_page_that_waited_is_told_when_it_is_done(as_ada: Client, played: Work) -> None:
    page = text(as_ada, headers=HTMX)
    assert "The year is played. At 0.90" in page
    assert "<html" not in page


def test_a_year_that_stopped_can_be_played_again(as_ada: Client, played: Work) -> None:
    Work.objects.update(done_at=None, seen_at=played.asked_at - works.SILENCE * 2)
    page = text(as_ada)
    assert "It stopped before it was done." in page
    assert "Start again" in page


def test_a_year_played_before_stays_while_a_later_one_came_to_nothing(as_ada: Client, played: Work) -> None:
    now = timezone.now()
    later = Work.objects.create(user=played.user, kind=Work.Kind.WHAT_IF, asked_at=now, seen_at=now)
    assert "a year at each" not in text(as_ada)
    Work.objects.filter(pk=later.pk).update(done_at=now, fault="There is no card.")
    page = text(as_ada)
    assert "There is no card." in page
    assert "a year at each" in page
