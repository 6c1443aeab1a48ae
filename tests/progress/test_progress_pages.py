"""The Progress page, readiness, a card's page and their files, as Ada sees them; to others they are unknown."""
import csv
import io
import random
import re
from datetime import UTC, date, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Profile, User
from flashcards.models import Card
from progress.sheets import SHEETS, Sheet
from questions.models import Question, Topic
from tests.progress.conftest import write_log

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def as_ada(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def text_of(client: Client, path: str, **given: str) -> str:
    response = client.get(path, given)
    assert response.status_code == 200
    return response.content.decode()


def rows_of(client: Client, path: str) -> list[list[str]]:
    response = client.get(path)
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"].startswith("attachment; filename=")
    return list(csv.reader(io.StringIO(response.content.decode())))


def log_of(cards: int, weeks: int, seed: int = 1) -> list[tuple[int, datetime, int]]:
    """An answer a week on each card up to yesterday; one in eight is forgotten."""
    draw, yesterday = random.Random(seed), timezone.now() - timedelta(days=1)
    return [(card, yesterday - timedelta(days=7 * (weeks - 1 - week)), 1 if draw.random() < 0.125 else 3)
            for week in range(weeks) for card in range(cards)]


def questions(user: User, count: int) -> list[Card]:
    topic = Topic.objects.create(slug="kernels", title="Kernels", position=9)
    made = [Question.objects.create(
        slug=f"q{at}", topic=topic, position=at, title=f"Question {at}", kind="explain", level="staff", minutes=3,
        ask="?", said_aloud="a", catch="c", measure="m") for at in range(count)]
    return [Card.objects.create(user=user, question=question) for question in made]


def test_before_the_first_answer_the_page_says_what_will_be_here(as_ada: Client) -> None:
    page = text_of(as_ada, "/progress/")
    assert "from your first answers on" in page
    assert "<svg class=\"picture" not in page


def test_few_answers_are_told_and_not_drawn(as_ada: Client, ada: User) -> None:
    write_log(ada, log_of(cards=4, weeks=4))
    page = text_of(as_ada, "/progress/")
    assert "of the 12 that came back." in page
    assert "Shares are drawn from 30 reviews at least a day apart on; there are 12 so far." in page
    assert "Drawn from 20 answers with a stated confidence on; there are 0 so far." in page
    assert "16 reviews on 4 of 22 days." in page  # but days are days
    assert "None of the reviews carries a time." in page


def test_each_picture_says_from_how_many_and_has_its_table_and_file(as_ada: Client, ada: User) -> None:
    write_log(ada, log_of(cards=20, weeks=10), topics=("sizing", "engine"))
    page = text_of(as_ada, "/progress/")
    assert "180 reviews at least a day apart, 10 weeks" in page or "180 reviews at least a day apart, 9 weeks" in page
    assert "180 reviews; log loss " in page
    assert page.count("as a table") >= 6
    for slug in ("retention", "maturity", "days", "calibration", "topics", "forecast", "lapses"):
        assert f'href="/progress/{slug}.csv"' in page, slug
    assert "style=" not in page
    assert "<script>" not in page


def test_tables_by_time_have_the_latest_first_and_minutes_to_a_tenth(as_ada: Client, ada: User) -> None:
    write_log(ada, log_of(cards=12, weeks=10), topics=("sizing", "engine"))
    page = text_of(as_ada, "/progress/")
    for name in ("True retention by week", "Reviews and minutes by study day"):
        table = page.split(f'aria-label="{name}"')[1].split("</table>")[0]
        days = re.findall(r'<th scope="row">([^<]+)', table)
        told = [datetime.strptime(f"{day} +0000", "%d %b %Y %z") for day in days]
        assert told == sorted(told, reverse=True) != sorted(told)
    timed = Sheet("minutes", "", ("week of", "minutes"), ((date(2026, 3, 2), 1233.1), (date(2026, 3, 9), 8.0)), True, 1)
    assert list(timed.shown) == [("9 Mar 2026", "8.0"), ("2 Mar 2026", "1,233.1")]


def test_predictions_too_scattered_for_any_bin_are_still_drawn(as_ada: Client, ada: User) -> None:
    yesterday = timezone.now() - timedelta(days=1)
    log = [(card, yesterday - timedelta(days=away * card**2), 3) for card in range(1, 33) for away in (1, 0)]
    write_log(ada, sorted(log, key=lambda row: row[1]))  # an answer each, 1 to 1,024 days after the first
    page = text_of(as_ada, "/progress/")
    assert "32 reviews; log loss " in page
    assert "in the table alone" not in page


@pytest.mark.parametrize("slug", SHEETS)
def test_each_report_is_a_file(as_ada: Client, ada: User, slug: str) -> None:
    write_log(ada, log_of(cards=5, weeks=6))
    heads, *rows = rows_of(as_ada, f"/progress/{slug}.csv")
    assert len(heads) >= 2
    assert all(len(row) == len(heads) for row in rows)


def test_a_file_counts_what_the_log_holds(as_ada: Client, ada: User) -> None:
    write_log(ada, log_of(cards=5, weeks=6))
    _, *weeks = rows_of(as_ada, "/progress/retention.csv")
    assert sum(int(row[2]) for row in weeks) == 25
    _, *days = rows_of(as_ada, "/progress/days.csv")
    assert sum(int(row[1]) for row in days) == 30
    _, *forecast = rows_of(as_ada, "/progress/forecast.csv")
    assert (len(forecast), sum(int(row[1]) for row in forecast)) == (365, 5)


def test_what_a_spreadsheet_would_reckon_is_quoted(as_ada: Client, ada: User) -> None:
    card, = questions(ada, 1)
    Question.objects.filter(pk=card.question_id).update(title="=1+1")
    Card.objects.filter(pk=card.pk).update(lapses=2, answers=5)
    _, row = rows_of(as_ada, "/progress/lapses.csv")
    assert row == ["'=1+1", "kernels", "2", "5", ""]


def test_leeches_are_named_at_the_persons_own_threshold(as_ada: Client, ada: User) -> None:
    write_log(ada, log_of(cards=2, weeks=3))
    Card.objects.filter(user=ada).update(lapses=4)
    ada.profile.leech_lapses = 4
    ada.profile.save()
    assert "2 cards are leeches: forgotten 4 times or more." in text_of(as_ada, "/progress/")


def test_an_unknown_report_is_not_found(as_ada: Client) -> None:
    assert as_ada.get("/progress/nothing.csv").status_code == 404
    assert as_ada.get("/progress/readiness/nothing.csv").status_code == 404


def test_readiness_counts_questions_begun_and_not(as_ada: Client, ada: User) -> None:
    begun, _ = questions(ada, 2)
    today = timezone.now().date()
    Card.objects.filter(pk=begun.pk).update(
        state="review", stability=400, difficulty=5, last_day=today, fed_at=timezone.now(), answers=1, due_day=today)
    page = text_of(as_ada, "/progress/readiness/")
    assert "1 of 2 questions ready for" in page
    assert "You have no interview date set." in page
    assert "At most 1 question a day, each remembered, makes all ready." in page
    _, *rows = rows_of(as_ada, "/progress/readiness/questions.csv")
    assert [row[:3] for row in rows] == [["Question 1", "kernels", ""], ["Question 0", "kernels", "1.0"]]
    _, *plan = rows_of(as_ada, "/progress/readiness/plan.csv")
    assert {row[1] for row in plan} == {"Question 1"}


def test_the_interviews_day_is_the_day(as_ada: Client, ada: User) -> None:
    questions(ada, 1)
    ada.profile.interview_day = timezone.now().date() + timedelta(days=40)
    ada.profile.save()
    page = text_of(as_ada, "/progress/readiness/")
    assert f'value="{ada.profile.interview_day.isoformat()}"' in page
    assert "You have no interview date set." not in page


@pytest.mark.parametrize(("given", "fault"), [
    ({"on": "soon", "target": "80"}, "This takes a day such as 2027-03-12."),
    ({"on": "2020-01-01", "target": "80"}, "This takes a day after today."),
    ({"on": "9999-12-31", "target": "80"}, "This takes a day within ten years."),
    ({"on": "", "target": "80"}, "Which day?"),
    ({"target": "half"}, "This takes a whole number of percent, 50 to 97."),
    ({"target": "99"}, "This takes 50 to 97%."),
])
def test_a_fault_is_told_and_keeps_what_was_typed(as_ada: Client, ada: User, given: dict[str, str], fault: str) -> None:
    questions(ada, 1)
    page = text_of(as_ada, "/progress/readiness/", **given)
    assert fault in page
    for name, typed in given.items():
        assert f'name="{name}"' in page
        assert f'value="{typed}"' in page
    assert "questions ready for" in page  # the picture stays


def test_a_number_card_has_a_page_with_its_memory(as_ada: Client, ada: User, eve: User) -> None:
    write_log(ada, log_of(cards=1, weeks=4))
    card = Card.objects.get(user=ada)
    page = text_of(as_ada, f"/progress/cards/{card.pk}/")
    assert "n0?" in page
    assert "Predicted recall today" in page
    assert 'class="picture memory"' in page
    assert 'href="/numbers/n0/"' in page
    assert f'href="/progress/cards/{card.pk}/"' in text_of(as_ada, "/numbers/n0/")
    stranger = Client()
    stranger.force_login(eve)
    assert stranger.get(f"/progress/cards/{card.pk}/").status_code == 404


def test_the_header_leads_here(as_ada: Client) -> None:
    assert '<a href="/progress/" aria-current="page">Progress</a>' in text_of(as_ada, "/progress/")


def test_a_day_before_the_first_week_is_no_week(as_ada: Client, ada: User) -> None:
    # 1970-01-01 is a Thursday; its week begins on the Monday before.
    write_log(ada, [(1, datetime(1970, 1, 1, 12, tzinfo=UTC), 3), (1, datetime(1970, 1, 5, 12, tzinfo=UTC), 3)])
    _, row = rows_of(as_ada, "/progress/retention.csv")
    assert row[:3] == [date(1970, 1, 5).isoformat(), "1", "1"]


def test_an_interview_past_what_can_be_foreseen_leaves_the_usual_day(as_ada: Client, ada: User) -> None:
    Profile.objects.filter(user=ada).update(interview_day=date(9999, 12, 31))
    assert as_ada.get("/progress/readiness/").status_code == 200
