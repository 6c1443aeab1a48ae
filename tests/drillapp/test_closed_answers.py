"""While somebody is interviewed the staff answers are closed to them, at every address that is not named open."""
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from drillapp.middleware import OPEN_IN_AN_INTERVIEW, OPEN_SPACES, OWN_ROOM
from flashcards.models import Review
from questions.models import Embargo
from tests.drillapp.test_pages import ROUTES
from tests.flashcards.conftest import write_questions

CLOSED = "Closed until your interview ends"
OPEN = {
    name for name in ROUTES
    if name in OPEN_IN_AN_INTERVIEW or name.split(":")[0] in OPEN_SPACES or name.startswith("account_")
}


@pytest.fixture
def interviewed(ada: User) -> User:
    now = timezone.now()
    Embargo.objects.create(
        user=ada, reference="room", begins_at=now - timedelta(minutes=1), ends_at=now + timedelta(hours=1))
    return ada


@pytest.mark.parametrize("name", sorted(set(ROUTES) - OPEN))
def test_every_other_address_is_closed(as_ada: Client, interviewed: User, name: str):
    for answer in (as_ada.get(ROUTES[name]), as_ada.post(ROUTES[name])):
        assert answer.status_code in (403, 405)
        assert answer.status_code == 405 or CLOSED in answer.content.decode()


def test_staff_are_closed_out_as_well(as_ada: Client, interviewed: User):
    User.objects.filter(pk=interviewed.pk).update(is_staff=True, is_superuser=True)
    write_questions(1)
    for address in ("/admin/", "/admin/questions/question/", "/admin/questions/question/1/preview/"):
        assert CLOSED in as_ada.get(address).content.decode()


def test_what_is_open_says_no_staff_answer(as_ada: Client, interviewed: User):
    question = write_questions(1)[0]
    question.said_aloud, question.rubric = "CANARY", [{"id": "a", "text": "CANARY", "named": "", "explained": "",
                                                       "bounded": ""}]
    question.save()
    for name in sorted(OPEN - OWN_ROOM):
        answer = as_ada.get(ROUTES[name])
        if name == "account_logout" or answer.streaming:
            continue
        assert "CANARY" not in answer.content.decode(), name


def test_an_answer_sent_meanwhile_is_not_recorded(as_ada: Client, interviewed: User):
    write_questions(1)
    as_ada.get("/")
    card = interviewed.cards.first()
    answer = as_ada.post(f"/cards/{card.pk}/answer/", {"ordinal": 1, "rating": 3}, headers={"HX-Request": "true"})
    assert (answer.status_code, Review.objects.count()) == (403, 0)
    assert CLOSED in answer.content.decode()


@pytest.mark.parametrize(("begins", "ends"), [(-7, -1), (1, 60)], ids=["over", "still to come"])
def test_before_and_after_everything_is_open(as_ada: Client, ada: User, begins: int, ends: int):
    now = timezone.now()
    Embargo.objects.create(
        user=ada, reference="room", begins_at=now + timedelta(minutes=begins), ends_at=now + timedelta(minutes=ends))
    assert as_ada.get("/questions/").status_code == 200


def test_others_are_not_touched(as_ada: Client, ben: User):
    now = timezone.now()
    Embargo.objects.create(user=ben, reference="room", begins_at=now, ends_at=now + timedelta(hours=1))
    assert as_ada.get("/questions/").status_code == 200


def test_two_interviews_at_a_time_shut_nobody_out_of_either(as_ada: Client, interviewed: User):
    now = timezone.now()
    Embargo.objects.create(user=interviewed, reference="longer", begins_at=now, ends_at=now + timedelta(hours=2))
    for code in ("room", "longer"):
        assert CLOSED not in as_ada.get(f"/mock/{code}/").content.decode()
    assert CLOSED in as_ada.get("/mock/another/").content.decode()


def test_what_closes_answers_to_somebody_else_opens_no_room(as_ada: Client, interviewed: User, ben: User):
    now = timezone.now()
    Embargo.objects.create(user=ben, reference="another", begins_at=now, ends_at=now + timedelta(hours=2))
    assert CLOSED in as_ada.get("/mock/another/").content.decode()


def test_ones_own_room_is_let_through_by_one_query(as_ada: Client, interviewed: User):
    with CaptureQueriesContext(connection) as queries:
        as_ada.get("/mock/room/")
    asked = [query for query in queries if "questions_embargo" in query["sql"]]
    # On PostgreSQL it is a prepared one, which Django does not see.
    assert len(asked) == (0 if connection.vendor == "postgresql" else 1)
