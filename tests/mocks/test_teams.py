"""Invitations, roles, coming and going: a team always has an owner."""
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.http import Http404

from accounts.models import User
from calculators.models.base import Refusal
from mocks import access, services, teams
from mocks.models import Interview, Invitation, Membership, Team
from mocks.room import Role
from questions.access import embargo_on
from tests.mocks.conftest import NOON

WEEK = timedelta(days=7)


def place(team: Team, user: User) -> Membership:
    return Membership.objects.get(team=team, user=user)


def invited(team: Team, ben: User, role: str = "candidate", **more: Any) -> Invitation:
    return teams.invite(place(team, ben), role, NOON, **{"days": 7} | more)


def roles(team: Team) -> dict[str, str]:
    return {one.user.name: one.role for one in team.memberships.select_related("user")}


# Invitations

def test_a_link_lets_in_as_its_role_and_says_who_came(team: Team, ben: User, eve: User):
    link = invited(team, ben, "interviewer")
    member = teams.join(eve, link.token, NOON)
    assert (member.team, member.role) == (team, "interviewer")
    assert [(use.user, use.at) for use in link.uses.all()] == [(eve, NOON)]


@pytest.mark.parametrize("after", [WEEK - timedelta(seconds=1), WEEK], ids=["a second before", "at its end"])
def test_a_link_lives_as_long_as_it_says(team: Team, ben: User, eve: User, after: timedelta):
    assert bool(teams.join(eve, invited(team, ben).token, NOON + after)) == (after < WEEK)


def test_a_link_for_two_lets_in_two(team: Team, ben: User, eve: User, kim: User):
    link = invited(team, ben, most_uses=1)
    assert teams.join(eve, link.token, NOON)
    assert teams.join(kim, link.token, NOON) is None
    link = invited(team, ben, most_uses=2)
    assert teams.join(kim, link.token, NOON)
    assert teams.invitation_by(link.token, NOON)


def test_a_withdrawn_or_forged_link_lets_nobody_in(team: Team, ben: User, eve: User):
    link = invited(team, ben)
    assert teams.withdraw(link, NOON)
    assert not teams.withdraw(link, NOON)
    assert teams.join(eve, link.token, NOON) is None
    assert teams.join(eve, "forged", NOON) is None
    assert teams.invited_email("forged") is None


def test_who_is_in_already_uses_nothing_up_and_keeps_the_role(team: Team, ben: User, chen: User):
    link = invited(team, ben, "interviewer")
    assert teams.join(chen, link.token, NOON).role == "observer"
    assert not link.uses.exists()


def test_a_mailed_link_admits_its_address_alone(team: Team, ben: User, eve: User, kim: User):
    link = invited(team, ben, most_uses=9, email="Eve@Example.org")
    assert link.most_uses == 1
    assert teams.join(kim, link.token, NOON) is None
    assert teams.join(eve, link.token, NOON)


def test_the_mail_holds_the_link_and_who_invites(team: Team, ben: User):
    link = invited(team, ben, email="eve@example.org")
    teams.mail_invitation(link)
    letter = mail.outbox[0]
    assert letter.to == ["eve@example.org"]
    assert letter.subject == "drillapp: Ben invites you to Platform"
    assert f"/mock/join/{link.token}/" in letter.body


def test_a_second_click_makes_no_second_link(team: Team, ben: User):
    first = invited(team, ben)
    assert teams.invite(place(team, ben), "candidate", NOON + timedelta(seconds=1), days=7) == first
    assert teams.invite(place(team, ben), "observer", NOON + timedelta(seconds=1), days=7) != first
    assert teams.invite(place(team, ben), "candidate", NOON + timedelta(seconds=9), days=7) != first


def test_so_many_open_links_and_no_more(team: Team, ben: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(teams, "MOST_LIVE", 1)
    invited(team, ben)
    with pytest.raises(Refusal, match="withdraw some"):
        invited(team, ben, "observer")
    assert teams.invite(place(team, ben), "observer", NOON + WEEK, days=7)


def test_who_was_taken_out_does_not_come_back_by_the_same_link(team: Team, ben: User, eve: User):
    link = invited(team, ben, most_uses=5)
    member = teams.join(eve, link.token, NOON)
    teams.remove(team.pk, member.pk, NOON)
    assert teams.join(eve, link.token, NOON) is None
    assert teams.join(eve, invited(team, ben, "observer").token, NOON).role == "observer"


def test_links_go_with_who_made_them(team: Team, ben: User, chen: User, eve: User):
    teams.change_role(team.pk, place(team, chen).pk, "owner", NOON)
    link = teams.invite(place(team, chen), "interviewer", NOON, days=7)
    teams.remove(team.pk, place(team, chen).pk, NOON)
    assert teams.join(eve, link.token, NOON) is None


# Roles

def test_the_last_owner_stays_one(team: Team, ben: User):
    with pytest.raises(Refusal, match="needs an owner"):
        teams.change_role(team.pk, place(team, ben).pk, "interviewer", NOON)
    with pytest.raises(Refusal, match="only owner"):
        teams.remove(team.pk, place(team, ben).pk, NOON)
    assert roles(team)["Ben"] == "owner"


def test_one_of_two_owners_may_go(team: Team, ben: User, chen: User):
    teams.change_role(team.pk, place(team, chen).pk, "owner", NOON)
    teams.remove(team.pk, place(team, ben).pk, NOON)
    assert roles(team) == {"Ada": "candidate", "Chen": "owner"}


def test_handed_over_the_giver_is_interviewer(team: Team, ben: User, chen: User):
    teams.hand_over(place(team, ben), place(team, chen).pk, NOON)
    assert roles(team) == {"Ada": "candidate", "Ben": "interviewer", "Chen": "owner"}
    with pytest.raises(Refusal, match="yours already"):
        teams.hand_over(place(team, chen), place(team, chen).pk, NOON)


def test_nobody_outside_is_handed_a_team(team: Team, ben: User, eve: User):
    theirs = services.make_team(eve, "Elsewhere", NOON)
    with pytest.raises(Http404):
        teams.hand_over(place(team, ben), place(theirs, eve).pk, NOON)
    assert roles(team)["Ben"] == "owner"


def test_answers_open_to_who_can_be_interviewed_no_more(interview: Interview, team: Team, ada: User):
    assert embargo_on(ada, NOON)
    member = teams.change_role(team.pk, place(team, ada).pk, "observer", NOON)
    assert embargo_on(ada, NOON) is None
    teams.change_role(team.pk, member.pk, "candidate", NOON)
    assert embargo_on(ada, NOON)
    teams.remove(team.pk, member.pk, NOON)
    assert embargo_on(ada, NOON) is None


def test_who_leaves_a_running_interview_gets_no_answers_by_it(interview: Interview, team: Team, ada: User, act: Any):
    act(interview.seats.get(role="interviewer").user, "start")
    teams.remove(team.pk, place(team, ada).pk, NOON)
    assert embargo_on(ada, NOON)


# The end

def test_a_team_goes_with_all_that_is_its(interview: Interview, team: Team, ada: User, ben: User, act: Any):
    invited(team, ben)
    teams.delete(team.pk)
    assert not Team.objects.exists() and not Interview.objects.exists() and not Invitation.objects.exists()
    assert embargo_on(ada, NOON) is None


def test_a_team_does_not_go_while_an_interview_runs(interview: Interview, team: Team, ben: User, act: Any):
    act(ben, "start")
    with pytest.raises(Refusal, match="is running"):
        teams.delete(team.pk)
    for kind in ("debrief", "end"):
        act(ben, kind)
    teams.delete(team.pk)


@pytest.mark.parametrize(("second", "heir"), [("interviewer", "Chen"), ("observer", "Ada")])
def test_a_deleted_owners_team_is_the_oldest_interviewers_else_the_oldest_members(
    team: Team, ada: User, ben: User, chen: User, second: str, heir: str
):
    Membership.objects.filter(user=chen).update(role=second, joined_at=NOON + timedelta(days=1))
    ben.delete()
    assert roles(team)[heir] == "owner"
    assert sum(role == "owner" for role in roles(team).values()) == 1


def test_a_second_owner_is_left_alone(team: Team, ben: User, chen: User):
    Membership.objects.filter(user=chen).update(role="owner")
    ben.delete()
    assert roles(team) == {"Ada": "candidate", "Chen": "owner"}


def test_a_team_of_nobody_goes(interview: Interview, team: Team, ada: User, ben: User, chen: User, act: Any):
    act(ben, "start")
    for user in (ada, chen):
        teams.remove(team.pk, place(team, user).pk, NOON)
    ben.delete()
    assert not Team.objects.exists() and not Interview.objects.exists()
    assert embargo_on(ada, NOON) is None


def test_a_role_taken_away_closes_the_next_request(interview: Interview, team: Team, ben: User, chen: User):
    assert access.room_for(chen, interview.code).role == Role.OBSERVER
    teams.change_role(team.pk, place(team, chen).pk, "candidate", NOON)
    with pytest.raises(Http404):
        access.room_for(chen, interview.code)
