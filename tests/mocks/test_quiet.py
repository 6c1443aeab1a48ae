"""A room in which nothing is new: answered early with one query, and only to who may still be in it."""
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from mocks import quiet, services
from mocks.glance import glance_at, row_of
from mocks.models import Interview, Membership, Seat
from tests.mocks.conftest import as_person

HTMX = {"HX-Request": "true"}
ON_POSTGRESQL = connection.vendor == "postgresql"


@pytest.fixture
def as_chen(chen: User) -> Client:
    return as_person(chen)


@pytest.fixture
def poll(interview: Interview, act: Callable[..., Any], ben: User, as_chen: Client) -> Callable[..., Any]:
    """What Chen's open page of the running interview is told each second."""
    act(ben, "start")
    address = f"/mock/{interview.code}/"
    page = as_chen.get(address).content.decode()
    has = {name: page.split(f'name="{name}" value="')[1].split('"')[0] for name in ("after", "here")}

    def polled(**headers: str) -> Any:
        return as_chen.get(f"{address}feed/", has, headers=HTMX | headers)

    return polled


def test_nothing_new_takes_one_query_of_session_account_and_room_together(poll: Callable[..., Any]):
    with CaptureQueriesContext(connection) as queries:
        answer = poll()
    assert (answer.status_code, answer.content) == (204, b"")
    # On PostgreSQL it is a prepared one, which Django does not see.
    assert len(queries) == (0 if ON_POSTGRESQL else 1)


def test_what_is_new_is_told_at_the_next_poll(poll: Callable[..., Any], act: Callable[..., Any], ben: User):
    act(ben, "ask", 1, position=0)
    answer = poll()
    assert answer.status_code == 200
    assert "Scenario of blocks." in answer.content.decode()


def test_news_takes_three_queries(poll: Callable[..., Any], act: Callable[..., Any], ben: User):
    """The poll's own, whether staff answers are closed to who asks, and the room's row."""
    act(ben, "ask", 1, position=0)
    with CaptureQueriesContext(connection) as queries:
        assert poll().status_code == 200
    asked = [query["sql"] for query in queries if "SELECT" in query["sql"]]
    assert len(asked) == (0 if ON_POSTGRESQL else 3)


def test_a_row_of_news_is_the_interviews(interview: Interview, act: Callable[..., Any], ben: User, chen: User):
    for kind, detail in (("start", {}), ("note", {"text": "of Ben alone"})):
        act(ben, kind, **detail)
    row = row_of(glance_at(chen, interview.code, timezone.now()))
    there = Interview.objects.get(pk=interview.pk)
    fields = [field.attname for field in Interview._meta.concrete_fields]
    assert {name: getattr(row, name) for name in fields} == {name: getattr(there, name) for name in fields}
    assert row.candidate.name == "Ada"


def test_of_a_room_with_news_it_is_known_who_asks(poll: Callable[..., Any], chen: User, interview: Interview):
    User.objects.filter(pk=chen.pk).update(first_name="Chen", last_name="Li", is_staff=True)
    request = RequestFactory().get(f"/mock/{interview.code}/feed/", {"after": "0"})
    request.session = SessionStore(Session.objects.get().session_key)
    assert not quiet.is_quiet(request, interview.code)
    chen.refresh_from_db()
    fields = [field.attname for field in User._meta.concrete_fields]
    assert {name: getattr(request.user, name) for name in fields} == {name: getattr(chen, name) for name in fields}


def test_an_answer_is_of_one_session_alone(poll: Callable[..., Any], act: Callable[..., Any], ben: User):
    assert poll()["Vary"] == "Cookie"
    act(ben, "ask", 1, position=0)
    assert poll()["Vary"] == "Cookie"


def sign_out(chen: User, interview: Interview) -> None:
    Session.objects.all().delete()


def let_the_session_end(chen: User, interview: Interview) -> None:
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))


def forge_the_session(chen: User, interview: Interview) -> None:
    row = Session.objects.get()
    Session.objects.update(session_data=row.session_data[:-3] + "abc")


def change_the_password(chen: User, interview: Interview) -> None:
    chen.set_password("another long password")
    chen.save()


def close_the_account(chen: User, interview: Interview) -> None:
    User.objects.filter(pk=chen.pk).update(is_active=False)


def delete_the_account(chen: User, interview: Interview) -> None:
    chen.delete()


SIGNED_OUT = [
    sign_out, let_the_session_end, forge_the_session, change_the_password, close_the_account, delete_the_account]


@pytest.mark.parametrize("happens", SIGNED_OUT)
def test_who_is_signed_out_is_told_so_at_the_next_poll(
    poll: Callable[..., Any], chen: User, interview: Interview, happens: Callable[[User, Interview], None]
):
    assert poll().status_code == 204
    happens(chen, interview)
    answer = poll()
    assert answer.status_code == 403
    assert "You are signed out by now." in answer.content.decode()


def leave_the_team(chen: User, interview: Interview) -> None:
    Membership.objects.filter(user=chen).delete()


def become_a_candidate(chen: User, interview: Interview) -> None:
    Membership.objects.filter(user=chen).update(role="candidate")


def lose_the_seat(chen: User, interview: Interview) -> None:
    Seat.objects.filter(user=chen).delete()


@pytest.mark.parametrize("happens", [leave_the_team, become_a_candidate, lose_the_seat])
def test_who_is_out_of_the_room_leaves_at_the_next_poll(
    poll: Callable[..., Any], chen: User, interview: Interview, happens: Callable[[User, Interview], None]
):
    assert poll().status_code == 204
    happens(chen, interview)
    assert poll()["HX-Redirect"] == "/mock/"


@pytest.mark.parametrize("happens", [leave_the_team, become_a_candidate, lose_the_seat])
def test_who_is_out_of_the_room_does_nothing_more_in_it(
    poll: Callable[..., Any], as_chen: Client, chen: User, interview: Interview,
    happens: Callable[[User, Interview], None]
):
    address = f"/mock/{interview.code}/do/note/"
    assert as_chen.post(address, {"text": "before"}, headers=HTMX).status_code == 200
    happens(chen, interview)
    assert as_chen.post(address, {"text": "after"}, headers=HTMX)["HX-Redirect"] == "/mock/"
    assert [event.detail for event in interview.events.filter(kind="note")] == [{"text": "before"}]


def test_a_session_for_which_another_key_speaks_is_judged_at_length(poll: Callable[..., Any], settings: Any):
    """A changed SECRET_KEY, with the earlier one kept to fall back on: Django alone renews such a session."""
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another key"
    with CaptureQueriesContext(connection) as queries:
        assert poll().status_code == 204
    assert len(queries) > 1


def test_a_stranger_to_the_room_hears_of_none(poll: Callable[..., Any], eve: User, interview: Interview):
    answer = as_person(eve).get(f"/mock/{interview.code}/feed/", {"after": "1", "here": ""}, headers=HTMX)
    assert answer["HX-Redirect"] == "/mock/"


def test_who_only_polls_is_still_there(poll: Callable[..., Any], chen: User, interview: Interview):
    at = timezone.now() - services.SEEN_EVERY - timedelta(seconds=1)
    Seat.objects.filter(user=chen).update(seen_at=at)
    assert poll().status_code == 204
    assert Seat.objects.get(user=chen).seen_at > at + services.SEEN_EVERY


def test_a_host_that_is_not_ours_is_refused(poll: Callable[..., Any]):
    assert poll(host="elsewhere.example").status_code == 400


def test_a_lost_connection_is_made_anew(poll: Callable[..., Any], monkeypatch: pytest.MonkeyPatch):
    def lost(*query: Any) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(quiet, "rows_of", lost)
    assert poll().status_code == 204


def test_it_stands_behind_what_judges_the_host_and_secures_each_answer():
    names = [name.rpartition(".")[2] for name in settings.MIDDLEWARE]
    before = set(names[:names.index("answer_quiet_rooms")])
    assert before >= {"SecurityMiddleware", "CSPMiddleware", "SessionMiddleware", "CommonMiddleware"}
