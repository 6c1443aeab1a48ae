"""Several people act in a room at once: whatever the order, the stored state is the fold of the log, and what was
acknowledged is in it."""
import os
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError, connection

from accounts.models import User
from calculators.models.base import Refusal
from mocks import services
from mocks.models import Event, Interview, Membership
from mocks.room import Role, fold
from tests.flashcards.test_threads import at_once
from tests.mocks.conftest import NOON

ACTS = int(os.environ.get("ROOM_ACTS", "25"))  # of each writer; ROOM_ACTS=300 does as much as is claimed
LEADING: list[tuple[str, dict[str, Any]]] = [
    ("ask", {"position": 0}), ("ask", {"position": 1}), ("phase", {"to": "score"}), ("phase", {"to": "follow-ups"}),
    ("pause", {}), ("resume", {}), ("hint", {"number": 0}), ("hint", {"number": 1}), ("follow_up", {"number": 0}),
    ("push_lab", {"address": "/labs/scheduler"}), ("close_lab", {}), ("note", {"text": "noted"}),
    ("score", {"position": 0, "point": "first", "value": 2}), ("score", {"position": 1, "point": "second", "value": 1}),
    ("skip", {}), ("extend", {"minutes": 1, "of": "all"}), ("call", {"verdict": "yes"}),
]
ANSWERING: list[tuple[str, dict[str, Any]]] = [
    ("scratch", {"text": "a"}), ("scratch", {"text": "b"}), ("set_lab", {"address": "/labs/scheduler?n=2"}),
    ("commit_lab", {"address": "/labs/scheduler", "typed": "65"}),
]


def write(
    user: User, interview: Interview, acts: list[tuple[str, dict[str, Any]]], seed: int, barrier: Barrier
) -> list[tuple[int, str, UUID]]:
    """Act at random; what was acknowledged as (ordinal, kind, key). Some acts are sent twice."""
    chance, acknowledged = Random(seed), []
    barrier.wait()
    try:
        for _ in range(ACTS):
            kind, detail = chance.choice(acts)
            key = UUID(int=chance.getrandbits(128))
            for _ in range(chance.choice((1, 1, 2))):
                try:
                    event = services.record(user, interview, kind, detail, NOON, key=key)
                except (Refusal, OperationalError):  # one that got no turn to write in time is not acknowledged
                    continue
                acknowledged.append((event.ordinal, event.kind, key))
    finally:
        connection.close()
    return acknowledged


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_state_is_the_fold_whatever_the_order(interview: Interview, ada: User, ben: User, chen: User, seed: int):
    Membership.objects.filter(user=chen).update(role="interviewer")
    services.seat(interview, {chen: Role.INTERVIEWER})
    services.begin(ben, interview, NOON)
    writers = [(ben, LEADING), (ben, LEADING), (chen, LEADING), (ada, ANSWERING), (ada, ANSWERING)]
    barrier = Barrier(len(writers))
    with ThreadPoolExecutor(len(writers)) as crowd:
        sent = [
            crowd.submit(write, user, interview, acts, 100 * seed + at, barrier)
            for at, (user, acts) in enumerate(writers)
        ]
        acknowledged = {one for writer in sent for one in writer.result()}
    rows = list(Event.objects.filter(interview=interview).order_by("ordinal"))
    assert [row.ordinal for row in rows] == list(range(1, len(rows) + 1))
    assert {(row.ordinal, row.kind, row.key) for row in rows if row.key} == acknowledged
    interview.refresh_from_db()
    assert interview.folded() == fold(row.event() for row in rows)
    assert (interview.log_length, interview.phase) == (len(rows), interview.folded().phase)


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_of_many_clicks_on_next_one_moves_the_interview_on(interview: Interview, ben: User):
    services.begin(ben, interview, NOON)
    results = at_once(lambda _: services.record(ben, interview, "ask", {"position": 0}, NOON, stamp="brief:").kind)
    assert [result for result in results if result == "ask"] == ["ask"]
    assert {type(result) for result in results} == {str, services.Missed}
    assert Event.objects.filter(interview=interview, kind="ask").count() == 1


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_an_interview_begins_once(interview: Interview, ben: User):
    results = at_once(lambda _: services.begin(ben, interview, NOON).kind)
    assert [result for result in results if result == "start"] == ["start"]
    assert {type(result) for result in results} == {str, services.Missed}
    interview.refresh_from_db()
    assert len(interview.asked) == 2
