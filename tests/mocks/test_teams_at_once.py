"""Many who join, change and leave at once: a link lets in as many as it says, and a team keeps an owner."""
import pytest

from accounts.models import User
from calculators.models.base import Refusal
from mocks import services, teams
from mocks.models import Invitation, Membership, Team
from tests.conftest import person
from tests.flashcards.test_threads import THREADS, at_once
from tests.mocks.conftest import NOON

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


def place(team: Team, user: User) -> Membership:
    return Membership.objects.get(team=team, user=user)


def test_of_ten_who_hold_a_link_for_three_three_come_in(team: Team, ben: User):
    link = teams.invite(place(team, ben), "candidate", NOON, days=7, most_uses=3)
    crowd = [person(f"Guest{at}") for at in range(THREADS)]
    results = at_once(lambda at: teams.join(crowd[at], link.token, NOON))
    assert sum(isinstance(one, Membership) for one in results) == 3
    assert results.count(None) == 7
    assert link.uses.count() == 3 and team.memberships.count() == 6


def test_ten_clicks_on_join_are_one(team: Team, ben: User, eve: User):
    link = teams.invite(place(team, ben), "candidate", NOON, days=7, most_uses=5)
    assert {one.pk for one in at_once(lambda _: teams.join(eve, link.token, NOON))} == {place(team, eve).pk}
    assert link.uses.count() == 1


def test_owners_who_take_the_team_from_each_other_leave_one(team: Team):
    owners = [person(f"Owner{at}") for at in range(THREADS)]
    for user in owners:
        Membership.objects.create(team=team, user=user, role="owner", joined_at=NOON)
    places = [place(team, user).pk for user in owners]
    Membership.objects.filter(team=team, role="owner").exclude(pk__in=places).update(role="interviewer")
    results = at_once(lambda at: teams.change_role(team.pk, places[at], "observer", NOON))
    assert sum(isinstance(one, Refusal) for one in results) == 1
    assert team.memberships.filter(role="owner").count() == 1


def test_ten_clicks_make_one_link_and_one_team(team: Team, ben: User):
    owner = place(team, ben)
    assert len({one.pk for one in at_once(lambda _: teams.invite(owner, "observer", NOON, days=7))}) == 1
    assert Invitation.objects.count() == 1
    assert len({one.pk for one in at_once(lambda _: services.make_team(ben, "Serving", NOON))}) == 1
