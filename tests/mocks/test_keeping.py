"""What is kept of rooms: the export of each, what an account that goes leaves, and the look over the stored states."""
import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from accounts import services as accounts
from accounts.models import User
from accounts.rows import Taken
from mocks import export, scoring, soundness
from mocks.access import room_for
from mocks.models import Event, Interview, Seat
from mocks.report import FORMER
from mocks.report_page import report_of
from mocks.services import rebuild
from tests.mocks.conftest import NOON

Act = Callable[..., Any]
POINTS = ("first", "second", "third")


@pytest.fixture
def ended(interview: Interview, ada: User, ben: User, chen: User, act: Act) -> Interview:
    """One question asked and scored by Ben, who wrote a note as Chen did."""
    act(ben, "start")
    act(ben, "ask", position=0)
    act(ada, "scratch", text="10 blocks")
    act(ben, "note", text="NOTE of Ben")
    act(chen, "note", text="NOTE of Chen")
    for point, value in zip(POINTS, (3, 2, 1), strict=True):
        act(ben, "score", position=0, point=point, value=value, evidence="EVIDENCE")
    act(ben, "phase", to="score")
    act(ben, "debrief")
    act(ben, "call", verdict="yes", level="staff", reason="clear")
    act(ben, "submit")
    act(ben, "end", 60)
    interview.refresh_from_db()
    return interview


def text_of(user: User) -> str:
    return json.dumps(export.of(user))


def test_each_takes_along_what_is_theirs(ended: Interview, ada: User, ben: User, chen: User, eve: User):
    assert "10 blocks" in text_of(ada)
    assert not any(word in text_of(ada) for word in ("NOTE", "EVIDENCE", "staff answer", "Point first", "yes"))
    assert "NOTE of Ben" in text_of(ben)
    assert "EVIDENCE" in text_of(ben)
    assert "NOTE of Chen" not in text_of(ben)
    assert "NOTE of Chen" in text_of(chen)
    assert "EVIDENCE" not in text_of(chen)
    assert export.of(eve) == {"teams": [], "interviews": []}


def test_what_is_released_goes_along_and_nothing_more(ended: Interview, ada: User, ben: User):
    scoring.release(ben, ended, ["comments"], NOON + timedelta(minutes=2))
    assert "EVIDENCE" in text_of(ada)
    assert not any(word in text_of(ada) for word in ("NOTE", "staff answer", "Point first"))


def test_before_the_end_nothing_of_what_is_asked_goes_along(interview: Interview, ada: User, ben: User, act: Act):
    act(ben, "start")
    act(ben, "ask", position=0)
    act(ada, "scratch", text="10 blocks")
    told = export.of(ada)["interviews"][0]
    assert (told["report"], told["scratchpads"], told["phase"]) == (None, ["10 blocks"], "answer")
    assert "About blocks" not in text_of(ada)


def test_no_interview_is_brought_in_and_that_is_said(ended: Interview, ada: User, eve: User):
    taken = Taken()
    export.put(eve, export.of(ada), NOON, taken)
    assert taken.left_out == [
        "1 mock interviews: they stay where they were held; the file keeps what you may read of them.",
        "1 teams: ask there for an invitation.",
    ]
    assert not Seat.objects.filter(user=eve).exists()


def test_with_an_interviewer_go_their_notes_and_their_name(ended: Interview, ada: User, ben: User, chen: User):
    accounts.delete_account(chen)
    ended.refresh_from_db()
    assert "NOTE of Chen" not in json.dumps(ended.state)
    assert "NOTE of Ben" in json.dumps(ended.state)
    assert not Event._base_manager.filter(detail__text="NOTE of Chen").exists()
    assert rebuild(ended)
    accounts.delete_account(ben)
    ended.refresh_from_db()
    assert ended.folded().mark(next(iter(ended.folded().submitted)), 0, "first").value == 3
    assert ended.team.memberships.get(user=ada).is_owner  # the only one left
    assert room_for(ada, ended.code).is_candidate


def test_who_is_gone_is_a_former_member_in_the_report(ended: Interview, ben: User, chen: User):
    ended.team.memberships.filter(user=chen).update(role="owner")
    accounts.delete_account(ben)
    ended.refresh_from_db()
    told = report_of(room_for(chen, ended.code))
    assert ([rater.name for rater in told.raters], told.questions[0].score) == ([FORMER], 6)


def test_with_its_candidate_an_interview_goes(ended: Interview, ada: User, ben: User):
    accounts.delete_account(ada)
    assert not Interview.objects.exists()
    assert not Event._base_manager.exists()
    assert User.objects.filter(pk=ben.pk).exists()


def test_a_sound_room_has_no_fault(ended: Interview):
    assert list(soundness.faults(repair=False)) == []


def test_a_stored_state_that_strayed_is_named_and_mended(ended: Interview):
    strayed = ended.state | {"released": ["scores"]}
    Interview.objects.filter(pk=ended.pk).update(state=strayed, log_length=3)
    words = f"interview {ended.pk}: its stored state is not what its events tell"
    assert list(soundness.faults(repair=False)) == [(words, False)]
    ended.refresh_from_db()
    assert ended.log_length == 3
    out = StringIO()
    call_command("check_data", repair=True, stdout=out)
    assert f"{words}: repaired" in out.getvalue()
    ended.refresh_from_db()
    assert (ended.folded().released, rebuild(ended)) == ((), True)


def test_a_state_that_no_reader_knows_is_mended_as_well(ended: Interview):
    Interview.objects.filter(pk=ended.pk).update(state={"phase": "nowhere"})
    assert [mended for _, mended in soundness.faults(repair=True)] == [True]
    assert list(soundness.faults(repair=False)) == []


def test_a_gap_in_the_log_is_named_and_left(ended: Interview):
    Event._base_manager.filter(interview=ended, ordinal=3)._raw_delete("default")
    faults = list(soundness.faults(repair=True))
    assert faults == [(f"interview {ended.pk}: its log has 12 events and ends at place 13", False)]
