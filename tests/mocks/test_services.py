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
from tests.mocks.conftest import NOON, question

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


def test_an_owner_who_is_interviewed_is_no_owner_there(team: Any, ada: User, ben: User, chen: User):
    Membership.objects.filter(user=ada).update(role="interviewer")
    mine = services.plan_interview(
        team, ada, ben, NOON, minutes=30, plan=[], spec={}, seats={ada: Role.INTERVIEWER})
    presence = access.room_for(ben, mine.code)
    assert (presence.role, presence.owns, presence.releases) == (Role.CANDIDATE, False, False)
    theirs = access.room_for(ada, mine.code)
    assert (theirs.owns, theirs.releases, access.releasers_of(mine)) == (False, True, [ada])
    Membership.objects.filter(user=chen).update(role="owner")
    assert access.room_for(ada, mine.code).releases is False
    assert access.room_for(chen, mine.code).releases is True
    assert access.releasers_of(mine) == [chen]


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


def test_a_pause_keeps_them_closed_for_a_day_and_no_longer(interview: Interview, ada: User, ben: User, act: Act):
    act(ben, "start")
    act(ben, "ask", 60, position=0)
    act(ben, "pause", 120)
    assert embargo_on(ada, NOON + timedelta(hours=20))
    assert embargo_on(ada, NOON + timedelta(days=1, seconds=119))
    assert embargo_on(ada, NOON + timedelta(days=1, seconds=120)) is None
    act(ben, "resume", 3600)
    # 30 minutes allowed, 2 of them gone, and an hour of grace.
    assert embargo_on(ada, NOON + timedelta(minutes=60 + 28 + 59))
    assert embargo_on(ada, NOON + timedelta(minutes=60 + 28 + 60)) is None


def test_the_next_question_asked_in_a_pause_ends_it_for_the_answers_too(
    interview: Interview, ada: User, ben: User, act: Act
):
    act(ben, "start")
    act(ben, "ask", 60, position=0)
    act(ben, "pause", 120)
    act(ben, "ask", 180, position=1)
    assert embargo_on(ada, NOON + timedelta(hours=2)) is None


def test_what_was_missed_goes_into_the_drill_due_today(interview: Interview, ada: User, ben: User, act: Act):
    for user, kind, detail in (
        (ben, "start", {}), (ben, "ask", {"position": 0}), (ben, "phase", {"to": "score"}), (ben, "debrief", {}),
        (ben, "end", {}),
    ):
        act(user, kind, **detail)
    interview.refresh_from_db()
    assert services.take_missed(ada, interview, ["blocks"], NOON) == ["blocks"]
    card = ada.cards.get(question__slug="blocks")
    assert card.due_day == NOON.date()
    assert services.take_missed(ada, interview, ["blocks"], NOON) == []
    assert (card.reviews.count(), Event.objects.filter(kind="drill").count()) == (1, 1)
    with pytest.raises(Refusal):
        services.take_missed(ada, interview, ["other"], NOON)


def test_called_off_the_answers_are_open_and_nothing_begins(interview: Interview, ada: User, ben: User, act: Act):
    act(ben, "call_off", -60)
    assert embargo_on(ada, NOON) is None
    interview.refresh_from_db()
    assert (interview.phase, interview.started_at) == ("called off", None)
    with pytest.raises(services.Missed):
        act(ben, "start")


def replanned(row: Interview, seats: dict[User, Role], **more: Any) -> None:
    told = {"minutes": row.minutes, "plan": row.plan, "spec": row.spec, "scheduled_at": row.scheduled_at}
    services.replan(row, **told | {"seats": seats, "seal": services.plan_seal(row)} | more)


def test_moved_to_another_time_the_answers_close_then(interview: Interview, ada: User, ben: User, chen: User):
    replanned(interview, {ben: Role.INTERVIEWER}, scheduled_at=NOON + timedelta(hours=3))
    assert embargo_on(ada, NOON + timedelta(hours=2)) is None
    assert embargo_on(ada, NOON + timedelta(hours=3))
    with pytest.raises(Http404):
        access.room_for(chen, interview.code)
    interview.refresh_from_db()
    replanned(interview, {ben: Role.INTERVIEWER}, scheduled_at=None)
    assert embargo_on(ada, NOON + timedelta(hours=3)) is None


def test_a_plan_that_somebody_changed_meanwhile_is_not_overwritten(interview: Interview, ben: User, chen: User):
    seal = services.plan_seal(interview)
    replanned(interview, {ben: Role.INTERVIEWER, chen: Role.OBSERVER}, minutes=40)
    interview.refresh_from_db()
    with pytest.raises(services.Missed):
        replanned(interview, {ben: Role.INTERVIEWER}, minutes=50, seal=seal)


def test_a_plan_stands_once_it_has_begun(interview: Interview, ben: User, act: Act):
    act(ben, "start")
    interview.refresh_from_db()
    with pytest.raises(Refusal, match="has begun"):
        replanned(interview, {ben: Role.INTERVIEWER}, minutes=50)


@pytest.fixture
def alone(ada: User) -> Interview:
    plan = [{"slug": question(slug, position=at).slug, "minutes": 6} for at, slug in enumerate(("blocks", "steps"))]
    row = services.plan_interview(None, ada, ada, NOON, minutes=20, plan=plan, spec={})
    services.begin(ada, row, NOON)
    services.record(ada, row, "ask", {"position": 0}, NOON + timedelta(minutes=1))
    return row


def test_alone_an_answer_closes_when_its_time_is_up_whenever_one_looks(alone: Interview, ada: User):
    alone.refresh_from_db()
    assert services.look(alone, NOON + timedelta(minutes=6, seconds=59)).phase == Phase.ANSWER
    assert services.look(alone, NOON + timedelta(minutes=30)).phase == Phase.SCORE
    assert (alone.phase, alone.folded().items[0].spent_ms) == (Phase.SCORE, 6 * 60_000)
    assert Event.objects.get(kind="phase").at == NOON + timedelta(minutes=7)
    assert alone.folded() == fold(alone.log())
    services.look(alone, NOON + timedelta(minutes=31))
    assert Event.objects.filter(kind="phase").count() == 1


def test_alone_nothing_is_written_after_the_time(alone: Interview, ada: User):
    with pytest.raises(Refusal, match="The time for this question is over"):
        services.record(ada, alone, "scratch", {"text": "late"}, NOON + timedelta(minutes=8))
    services.record(ada, alone, "score", {"position": 0, "point": "first", "value": 1}, NOON + timedelta(minutes=8))
    alone.refresh_from_db()
    assert alone.folded().phase == Phase.SCORE
    assert alone.folded() == fold(alone.log())


def test_alone_no_answers_are_closed(alone: Interview, ada: User):
    services.record(ada, alone, "extend", {"minutes": 5, "of": "all"}, NOON + timedelta(minutes=2))
    assert embargo_on(ada, NOON + timedelta(minutes=3)) is None
