"""Acts in a room: written once, judged at each, with the staff answers closed meanwhile."""
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.http import Http404

from accounts.models import User
from calculators.models.base import Refusal
from mocks import access, services
from mocks.models import Event, Interview, Membership
from mocks.room import Phase, Role, fold
from questions.access import embargo_on
from tests.mocks.conftest import NOON

Act = Callable[..., Any]


def test_an_interview_begins_with_its_questions_posed(interview: Interview, ben: User, act: Act):
    act(ben, "start")
    interview.refresh_from_db()
    assert interview.phase == Phase.BRIEF
    assert [asked["slug"] for asked in interview.asked] == ["blocks", "steps"]
    assert "staff answer of blocks" in interview.asked[0]["answer"]["said"]
    assert interview.folded().items[1].points == ("first", "second", "third")


def test_the_state_kept_is_the_fold_of_the_log(interview: Interview, ada: User, ben: User, act: Act):
    for user, kind, detail in (
        (ben, "start", {}), (ben, "ask", {"position": 0}), (ada, "scratch", {"text": "159 tokens"}),
        (ben, "hint", {"number": 0}), (ben, "score", {"position": 0, "point": "first", "value": 3}),
    ):
        act(user, kind, **detail)
    interview.refresh_from_db()
    assert interview.folded() == fold(interview.log())
    assert services.rebuild(interview)


def test_the_same_key_twice_is_one_act(interview: Interview, ben: User, act: Act):
    act(ben, "start")
    key = uuid4()
    first = services.record(ben, interview, "note", {"text": "hm"}, NOON, key=key)
    assert services.record(ben, interview, "note", {"text": "hm"}, NOON, key=key) == first
    assert Event.objects.filter(kind="note").count() == 1


def test_a_page_that_is_behind_moves_nothing_on(interview: Interview, ben: User, act: Act):
    act(ben, "start")
    act(ben, "ask", position=0)
    with pytest.raises(services.Missed):
        services.record(ben, interview, "ask", {"position": 1}, NOON, stamp="brief:")
    interview.refresh_from_db()
    assert interview.folded().position == 0


def test_a_role_change_works_at_the_next_act(interview: Interview, ben: User, chen: User, act: Act):
    interview.seats.filter(user=chen).delete()
    Membership.objects.filter(user=chen).update(role="interviewer")
    services.seat(interview, {chen: Role.INTERVIEWER})
    act(ben, "start")
    act(chen, "ask", position=0)
    Membership.objects.filter(user=chen).update(role="observer")
    with pytest.raises(Refusal, match="no longer"):
        act(chen, "hint", number=0)
    with pytest.raises(Http404):
        access.room_for(chen, interview.code)


def test_a_stranger_knows_of_no_interview(interview: Interview, eve: User):
    with pytest.raises(Http404):
        access.room_for(eve, interview.code)
    with pytest.raises(Refusal):
        services.record(eve, interview, "note", {"text": "hm"}, NOON)


def test_an_owner_who_is_interviewed_is_no_owner_there(team: Any, ada: User, ben: User):
    Membership.objects.filter(user=ada).update(role="interviewer")
    mine = services.plan_interview(
        team, ada, ben, NOON, minutes=30, plan=[], spec={}, seats={ada: Role.INTERVIEWER})
    presence = access.room_for(ben, mine.code)
    assert (presence.role, presence.owns, presence.releases) == (Role.CANDIDATE, False, False)


def test_a_part_that_the_team_does_not_allow_is_refused(team: Any, ada: User, ben: User, chen: User):
    with pytest.raises(Refusal, match="Chen can’t be interviewer"):
        services.plan_interview(
            team, ben, ada, NOON, minutes=30, plan=[], spec={}, seats={chen: Role.INTERVIEWER})


def test_staff_answers_are_closed_from_the_appointed_time_until_the_end(
    interview: Interview, ada: User, ben: User, act: Act
):
    assert embargo_on(ada, NOON - timedelta(seconds=1)) is None
    assert embargo_on(ada, NOON)
    assert embargo_on(ben, NOON) is None
    act(ben, "start")
    act(ben, "debrief", 60)
    act(ben, "end", 120)
    assert embargo_on(ada, NOON + timedelta(seconds=119))
    assert embargo_on(ada, NOON + timedelta(seconds=120)) is None


def test_an_interview_begun_early_or_extended_closes_them_as_long(interview: Interview, ada: User, ben: User, act: Act):
    act(ben, "start", -600)
    assert embargo_on(ada, NOON - timedelta(seconds=600))
    act(ben, "extend", 60, minutes=60, of="all")
    # 90 minutes allowed, 11 of them gone, and an hour of grace.
    assert embargo_on(ada, NOON + timedelta(minutes=1 + 79 + 59))
    assert embargo_on(ada, NOON + timedelta(minutes=1 + 79 + 60)) is None


def test_what_was_missed_goes_into_the_drill_due_today(interview: Interview, ada: User, ben: User, act: Act):
    for user, kind, detail in (
        (ben, "start", {}), (ben, "ask", {"position": 0}), (ben, "phase", {"to": "score"}), (ben, "debrief", {}),
        (ben, "end", {}),
    ):
        act(user, kind, **detail)
    interview.refresh_from_db()
    services.take_missed(ada, interview, ["blocks"], NOON)
    card = ada.cards.get(question__slug="blocks")
    assert card.due_day == NOON.date()
    with pytest.raises(Refusal):
        services.take_missed(ada, interview, ["other"], NOON)
