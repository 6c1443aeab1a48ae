"""Ten requests send one form at once, as impatient clicks do: it is done once, and everybody is led on."""
from typing import Any
from uuid import uuid4

import pytest
from django.urls import reverse

from accounts.models import User
from mocks.models import Event, Interview
from mocks.room import Phase, fold
from tests.flashcards.test_threads import THREADS, at_once
from tests.mocks.conftest import as_person

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]
KEYED: list[tuple[str, dict[str, Any]]] = [
    ("pause", {}), ("resume", {}), ("extend", {"minutes": 5, "of": "all"}), ("hint", {"number": 0}),
    ("push_lab", {"address": "/labs/kv-size"}), ("close_lab", {}), ("note", {"text": "noted"}),
]


def send_ten(users: list[User], address: str, form: dict[str, Any]) -> None:
    """One form, ten times at once, by these in turn; each is led on or shown its page."""
    clients = [as_person(users[at % len(users)]) for at in range(THREADS)]
    statuses = at_once(lambda at: clients[at].post(address, form).status_code)
    assert set(statuses) <= {200, 302}, statuses


def test_every_act_sent_ten_times_is_one(interview: Interview, ada: User, ben: User):
    def ten(kind: str, form: dict[str, Any], user: User = ben) -> None:
        row = Interview.objects.get(pk=interview.pk)
        sent = {"key": str(uuid4()), "stamp": row.folded().stamp} | form
        send_ten([user], reverse("mocks:act", args=[interview.code, kind]), sent)
        done.append(kind)
        row.refresh_from_db()
        assert [one.kind for one in row.log()] == done
        assert row.folded() == fold(row.log())

    done: list[str] = []
    ten("start", {})
    ten("ask", {"position": 0})
    for kind, form in KEYED:
        ten(kind, form)
    ten("scratch", {"position": 0, "text": "typed", "mark-text": ""}, ada)
    ten("phase", {"to": "score"})
    for point in ("first", "second", "third"):
        ten("score", {"position": 0, "point": point, "value": 2})
    ten("call", {"verdict": "yes", "level": "staff", "reason": "so"})
    ten("debrief", {})
    ten("submit", {})
    ten("agree", {"position": 0, "point": "first", "value": 3})
    ten("end", {})


def test_two_interviewers_who_both_move_on_move_once(interview: Interview, ben: User, chen: User):
    interview.team.memberships.filter(user=chen).update(role="interviewer")
    interview.seats.filter(user=chen).update(role="interviewer")
    for kind, form in (("start", {}), ("ask", {"position": 0}), ("skip", {}), ("debrief", {}), ("end", {})):
        stamp = Interview.objects.get(pk=interview.pk).folded().stamp
        send_ten([ben, chen], reverse("mocks:act", args=[interview.code, kind]), {"stamp": stamp} | form)
    assert [one.kind for one in Event.objects.order_by("ordinal")] == ["start", "ask", "skip", "debrief", "end"]
    assert Interview.objects.get(pk=interview.pk).phase == Phase.OVER
