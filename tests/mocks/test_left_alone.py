"""Interviews whose people go or are late: nothing is stuck, and the answers stay closed while one runs."""
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from accounts.models import User
from calculators.models.base import Refusal
from mocks import services, teams
from mocks.models import Interview, Membership, Team
from mocks.room import Phase, Role, Room, fold
from mocks.sides import mark_of
from questions.access import embargo_on
from questions.models import Question
from tests.conftest import person
from tests.mocks.conftest import NOON, as_person, question, scored

Act = Callable[..., Any]


# The answers stay closed

def test_answers_are_closed_again_when_a_long_pause_ends(act: Act, interview: Interview, ada: User, ben: User):
    act(ben, "start")
    act(ben, "pause", 60)
    act(ben, "resume", 3 * 3600)
    assert embargo_on(ada, NOON + timedelta(hours=3, minutes=29))


def test_answers_stay_closed_while_an_interview_goes_on_far_past_its_time(
    act: Act, interview: Interview, ada: User, ben: User
):
    act(ben, "start")
    act(ben, "ask", position=0)
    for minute in (40, 80, 120):  # of 30 that were planned
        act(ada, "scratch", minute * 60, position=0, text=f"after {minute} minutes")
    assert embargo_on(ada, NOON + timedelta(minutes=150))
    act(ben, "end", 151 * 60)
    assert embargo_on(ada, NOON + timedelta(minutes=152)) is None


def test_answers_open_an_hour_after_one_that_was_abandoned(act: Act, interview: Interview, ada: User, ben: User):
    act(ben, "start")
    assert embargo_on(ada, NOON + timedelta(minutes=89))  # 30 planned, an hour of grace
    assert embargo_on(ada, NOON + timedelta(minutes=91)) is None


# Nobody is left to lead

@pytest.fixture
def dan(team: Team) -> User:
    """Another owner, who takes no part."""
    dan = person("Dan")
    Membership.objects.create(team=team, user=dan, role="owner", joined_at=NOON)
    return dan


def test_an_owner_ends_what_nobody_leads_any_more(act: Act, team: Team, interview: Interview, ben: User, dan: User):
    act(ben, "start")
    teams.remove(team.pk, team.memberships.get(user=ben).pk, NOON)
    page = as_person(dan).get(reverse("mocks:plan", args=[interview.code]))
    assert "End it" in page.text
    done = as_person(dan).post(
        reverse("mocks:act", args=[interview.code, "end"]), {"stamp": page.context["stamp"]})
    assert done.status_code == 302
    interview.refresh_from_db()
    assert interview.phase == Phase.OVER
    assert interview.folded() == fold(interview.log())


def test_an_owner_moves_no_interview_on(act: Act, interview: Interview, ben: User, dan: User):
    act(ben, "start")
    with pytest.raises(Refusal, match="Your part"):
        act(dan, "debrief")


def test_an_owner_who_is_interviewed_ends_nothing(act: Act, team: Team, interview: Interview, ada: User, ben: User):
    Membership.objects.filter(team=team, user=ada).update(role="owner")
    act(ben, "start")
    with pytest.raises(Refusal, match="Your part"):
        act(ada, "end")


def test_a_team_goes_with_an_interview_that_nobody_leads_any_more(act: Act, team: Team, ada: User, ben: User):
    Membership.objects.filter(team=team, user=ada).update(role="owner")
    act(ben, "start")
    with pytest.raises(Refusal, match="is running"):
        teams.delete(team.pk)
    teams.remove(team.pk, team.memberships.get(user=ben).pk, NOON)
    teams.delete(team.pk)
    assert not Interview.objects.exists()


# The plan changes at the last moment

def test_what_starts_is_the_plan_as_it_stands(interview: Interview, ben: User):
    seen = Interview.objects.get(pk=interview.pk)
    plan = [{"slug": question("other", position=3).slug, "minutes": 5}]
    services.replan(
        interview, minutes=20, plan=plan, spec={}, scheduled_at=None, seats={ben: Role.INTERVIEWER},
        seal=services.plan_seal(interview))
    with pytest.raises(Refusal, match="changed the plan"):
        services.begin(ben, seen, NOON)
    assert Interview.objects.get(pk=interview.pk).folded() == Room()


def test_saved_again_what_was_called_off_says_so(team: Team, ada: User, ben: User):
    question("blocks")
    page, client = reverse("mocks:new_plan", args=[team.pk]), as_person(ben)
    form = {
        "candidate": ada.pk, "interviewer": ben.pk, "minutes": 20, "seed": 1, "pick": "blocks", "for": 6, "do": "save"}
    saved = client.post(page, form)
    row = Interview.objects.get()
    client.post(reverse("mocks:call_off", args=[row.code]))
    again = client.post(page, form)  # by Back
    assert again["Location"] == saved["Location"]
    assert "called off since" in client.get(again["Location"]).text


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Kiritimati"])
@pytest.mark.parametrize("day", ["0001-01-01", "2025-01-01", "2099-01-01", "9999-12-31"])
@pytest.mark.parametrize("do", ["save", "others"])
def test_a_time_far_off_is_not_planned_for(team: Team, ada: User, ben: User, zone: str, day: str, do: str):
    question("blocks")
    ben.profile.zone = zone
    ben.profile.save()
    page, client = reverse("mocks:new_plan", args=[team.pk]), as_person(ben)
    answer = client.post(page, {
        "candidate": ada.pk, "interviewer": ben.pk, "minutes": 20, "pick": "blocks", "for": 6, "do": do, "seed": 1,
        "day": day, "at": "23:59"}, follow=True)
    assert answer.status_code == 200
    assert f'value="{day}"' in answer.text
    assert not Interview.objects.exists()


# What no page sends

@pytest.mark.parametrize("number", [2**63, 10**40])
def test_a_number_that_no_team_can_have_is_unknown(ben: User, number: int):
    assert as_person(ben).get(f"/mock/teams/{number}/").status_code == 404


@pytest.mark.parametrize("sent", [
    {"level": "emperor"}, {"verdict": "perhaps"}, {"value-1-first": "2"}, {"value-0-nowhere": "2"},
    {"value-99-first": "2"}, {"reason": "a\0b"}, {"evidence-0-first": "a\0b"},
])
@pytest.mark.parametrize("how", ["keep", "hand_in", "nothing"])
def test_a_score_sheet_that_cannot_be_kept_says_why(
    act: Act, interview: Interview, ben: User, sent: dict[str, str], how: str
):
    for kind, detail in (("start", {}), ("ask", {"position": 0}), ("phase", {"to": "score"}), ("debrief", {})):
        act(ben, kind, **detail)
    page = as_person(ben).post(reverse("mocks:scores", args=[interview.code]), sent | {how: "1"})
    assert page.status_code == 200
    interview.refresh_from_db()
    assert interview.folded() == fold(interview.log())


# Typed, and not taken

def test_a_scratchpad_that_comes_too_late_stays_in_view(act: Act, interview: Interview, ada: User, ben: User):
    client = as_person(ada)
    act(ben, "start")
    act(ben, "ask", position=0)
    act(ben, "ask", position=1)  # long ago, by the clock of a request
    page = client.post(
        reverse("mocks:act", args=[interview.code, "scratch"]),
        {"position": "0", "text": "typed too late", "mark-text": ""})
    assert page.text.count("typed too late") == 1
    assert page.context["room"].unkept["typed"] == "typed too late"


def test_a_form_that_takes_anothers_place_gives_its_text_back(act: Act, interview: Interview, ada: User, ben: User):
    client, send = as_person(ada), reverse("mocks:act", args=[interview.code, "scratch"])
    act(ben, "start")
    act(ben, "ask", position=0)
    mark = mark_of("")  # as both pages found it
    for text in ("typed in one tab", "typed in the other"):
        page = client.post(send, {"position": "0", "text": text, "mark-text": mark}, follow=True)
    assert "typed in one tab" in page.text and "typed in the other" in page.text


# Whoever is out of a room goes, whatever put them out

def removed(team: Team, user: User) -> None:
    teams.remove(team.pk, team.memberships.get(user=user).pk, NOON)


def demoted(team: Team, user: User) -> None:
    """To a role that doesn't have the part they took."""
    other = "candidate" if team.memberships.get(user=user).role == "observer" else "observer"
    teams.change_role(team.pk, team.memberships.get(user=user).pk, other, NOON)


def team_deleted(team: Team, user: User) -> None:
    teams.delete(team.pk)


def candidate_gone(team: Team, user: User) -> None:
    Interview.objects.get().candidate.delete()


@pytest.mark.parametrize(("who", "out"), [
    ("ada", removed), ("ada", demoted), ("chen", removed), ("chen", demoted), ("kim", removed), ("kim", demoted),
    ("chen", candidate_gone), ("kim", candidate_gone), ("ben", candidate_gone),
    ("ada", team_deleted), ("kim", team_deleted), ("ben", team_deleted),
])
def test_who_is_out_leaves_at_the_next_news_and_at_the_next_act(
    act: Act, team: Team, interview: Interview, who: str, out: Callable[[Team, User], None]
):
    people = {one.name.lower(): one for one in team.members.all()} | {"kim": person("Kim")}
    Membership.objects.create(team=team, user=people["kim"], role="interviewer", joined_at=NOON)
    services.seat(interview, {people["kim"]: Role.INTERVIEWER})
    if out is not team_deleted:
        act(people["ben"], "start")
        act(people["ben"], "ask", position=0)
    client, room = as_person(people[who]), reverse("mocks:room", args=[interview.code])
    assert client.get(room).status_code == 200
    out(team, people[who])
    for answer in (
        client.get(room + "feed/?after=1&here=1", headers={"HX-Request": "true"}),
        client.get(room + "lab/?in=room", headers={"HX-Request": "true"}),
        client.post(room + "do/note/", {"text": "x"}, headers={"HX-Request": "true"}),
    ):
        assert (answer.status_code, answer.text, answer["HX-Redirect"]) == (200, "", reverse("mocks:mock"))
    kept = client.post(room + "do/scratch/", {"position": "0", "text": "x"}, headers={"Accept": "application/json"})
    assert kept.json() == {"leave": reverse("mocks:mock")}
    for last in ("", "feed/", "lab/", "plan/", "report/", "report.json", "report.md", "scores/"):
        assert client.get(room + last).status_code == 404


def test_a_candidate_who_becomes_an_interviewer_stays_the_candidate(
    act: Act, team: Team, interview: Interview, ada: User, ben: User
):
    act(ben, "start")
    act(ben, "ask", position=0)
    teams.change_role(team.pk, team.memberships.get(user=ada).pk, "owner", NOON)
    client, room = as_person(ada), reverse("mocks:room", args=[interview.code])
    assert "staff answer of blocks" not in client.get(room).text
    for last in ("plan/", "scores/"):
        assert client.get(room + last).status_code == 403
    for kind in ("hint", "score", "end", "release"):
        with pytest.raises(Refusal, match="Your part"):
            act(ada, kind, number=0, position=0, point="first", value=3, parts=["scores"])


@pytest.mark.parametrize("how", ["retired", "deleted"])
def test_of_a_question_that_left_the_bank_nothing_is_taken(
    act: Act, team: Team, interview: Interview, ada: User, ben: User, how: str
):
    scored(act, ben)
    gone = Question.objects.filter(slug="blocks")
    gone.delete() if how == "deleted" else gone.update(retired=True)
    act(ben, "release", parts=["scores", "answers", "comments"])
    report, client = reverse("mocks:report", args=[interview.code]), as_person(ada)
    assert "into my drill" not in client.get(report).text
    told = client.post(reverse("mocks:take_missed", args=[interview.code]), follow=True)
    assert "Nothing was added" in told.text
    assert Interview.objects.get().folded().drilled == ()
