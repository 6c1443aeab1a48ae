"""A team's page and the way into a team, as each sees them."""
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from accounts import access as doors
from accounts.models import User
from mocks import services, teams
from mocks.models import Interview, Invitation, Membership, Team
from mocks.team_page import TeamPage
from tests.mocks.conftest import NOON, as_person, scored

Act = Callable[..., Any]
NEW = {"email": "new@example.org", "password1": "crib-tangle-9", "password2": "crib-tangle-9"}


def place(team: Team, user: User) -> Membership:
    return Membership.objects.select_related("team", "user").get(team=team, user=user)


@pytest.fixture
def link(team: Team, ben: User) -> str:
    """The address of a link for one candidate, made just now."""
    invitation = teams.invite(place(team, ben), "candidate", timezone.now(), days=7)
    return f"/mock/join/{invitation.token}/"


# Joining

def test_a_newcomer_needs_the_link_alone(client: Client, link: str, team: Team, settings: Any):
    cache.clear()
    settings.DRILL_SIGNUP = "invite"
    page = client.get(link).content.decode()
    assert "Ben invites you to Platform, as candidate." in page
    sign_up = re.search(r'href="(/accounts/signup/\?next=[^"]+)"', page)[1]
    assert client.get(sign_up).status_code == 200
    made = client.post(sign_up, NEW | {"next": link})
    assert made.url == link
    assert ">Join " in client.get(link).content.decode()
    joined = client.post(link, follow=True)
    assert joined.redirect_chain[-1][0] == f"/mock/teams/{team.pk}/"
    assert "You are in, as candidate." in joined.content.decode()
    assert place(team, User.objects.get(email="new@example.org")).role == "candidate"


def test_a_newcomer_whose_address_is_to_be_confirmed_comes_back_all_the_same(client: Client, link: str, settings: Any):
    cache.clear()
    settings.DRILL_SIGNUP, settings.ACCOUNT_EMAIL_VERIFICATION = "invite", "mandatory"
    client.get(link)
    assert client.post("/accounts/signup/", NEW | {"next": link}).url == "/accounts/confirm-email/"
    confirm = re.search(r"/accounts/confirm-email/\S+", mail.outbox[-1].body)[0]
    sign_in = client.post(confirm).url
    assert client.get(sign_in).status_code == 200
    typed = {"login": NEW["email"], "password": NEW["password1"], "next": parse_qs(urlsplit(sign_in).query)["next"][0]}
    assert client.post("/accounts/login/", typed).url == link


def test_a_used_up_link_makes_no_further_account(client: Client, link: str, team: Team, eve: User, settings: Any):
    settings.DRILL_SIGNUP = "invite"
    client.get(link)
    as_person(eve).post(link)
    client.post("/accounts/signup/", NEW)
    assert not User.objects.filter(email="new@example.org").exists()


def test_without_a_link_nobody_makes_an_account(client: Client, link: str, settings: Any):
    settings.DRILL_SIGNUP = "invite"
    client.get("/mock/join/forged/")
    client.post("/accounts/signup/", NEW)
    assert not User.objects.filter(email="new@example.org").exists()


def test_a_closed_site_makes_none_by_a_link_either(client: Client, link: str, settings: Any):
    settings.DRILL_SIGNUP = "closed"
    assert "signup" not in client.get(link).content.decode()
    client.post("/accounts/signup/", NEW)
    assert not User.objects.filter(email="new@example.org").exists()


def test_a_mailed_link_makes_an_account_for_its_address_alone(client: Client, team: Team, ben: User, settings: Any):
    cache.clear()
    settings.DRILL_SIGNUP = "invite"
    mailed = teams.invite(place(team, ben), "candidate", timezone.now(), days=7, email="kim@example.org")
    client.get(f"/mock/join/{mailed.token}/")
    refused = client.post("/accounts/signup/", NEW)
    assert "The invitation is for kim@example.org" in refused.content.decode()
    client.post("/accounts/signup/", NEW | {"email": "kim@example.org"})
    assert User.objects.filter(email="kim@example.org").exists()


def test_who_holds_a_link_has_not_proved_its_address(rf: Any, team: Team, ben: User):
    # The owner sees the link of a mailed invitation; it must not vouch for somebody else's address.
    mailed = teams.invite(place(team, ben), "candidate", timezone.now(), days=7, email="kim@example.org")
    request = rf.get("/")
    request.session = {doors.INVITE_KEY: mailed.token}
    assert doors.invited_email(request) == "kim@example.org"
    assert not doors.was_written_to(request, "kim@example.org")


def test_one_with_an_account_signs_in_and_comes_back(client: Client, link: str, eve: User):
    cache.clear()
    sign_in = re.search(r'href="(/accounts/login/\?next=[^"]+)"', client.get(link).content.decode())[1]
    assert client.get(sign_in).status_code == 200
    there = client.post(sign_in, {"login": eve.email, "password": "a long password", "next": link})
    assert there.url == link


def test_two_clicks_join_once(link: str, eve: User, team: Team):
    browser = as_person(eve)
    assert [browser.post(link).status_code for _ in range(2)] == [302, 200]
    assert team.memberships.filter(user=eve).count() == 1
    assert "You are in Platform already, as candidate." in browser.get(link).content.decode()


def test_who_joins_says_by_which_name(link: str, eve: User):
    browser = as_person(eve)
    refused = browser.post(link, {"name": "E" * 61})
    assert refused.status_code == 200 and "At most 60 characters." in refused.content.decode()
    team_page = browser.post(link, {"name": "Eve Ødegård"}, follow=True).content.decode()
    assert 'aria-label="Eve Ødegård, settings"' in team_page


def test_expired_withdrawn_used_up_and_forged_look_alike_and_tell_nothing(
    client: Client, team: Team, ben: User, eve: User, kim: User
):
    now = timezone.now()
    links = {name: teams.invite(place(team, ben), role, now, days=7).token
             for name, role in (("used", "candidate"), ("withdrawn", "observer"), ("expired", "interviewer"))}
    teams.join(kim, links["used"], now)
    teams.withdraw(Invitation.objects.get(token=links["withdrawn"]), now)
    Invitation.objects.filter(token=links["expired"]).update(expires_at=now)
    for browser in (client, as_person(eve)):
        answers = [browser.get(f"/mock/join/{token}/") for token in [*links.values(), "forged", "%00forged"]]
        pages = {re.sub(r"\b\w{64}\b", "the form’s secret", one.content.decode()) for one in answers}
        assert {one.status_code for one in answers} == {404}
        assert len(pages) == 1
        page = pages.pop()
        assert "This invitation no longer works." in page
        assert "Platform" not in page and "Ben" not in page


def test_a_link_for_another_address_says_so_and_no_more(team: Team, ben: User, eve: User):
    mailed = teams.invite(place(team, ben), "candidate", timezone.now(), days=7, email="kim@example.org")
    answer = as_person(eve).get(f"/mock/join/{mailed.token}/")
    page = answer.content.decode()
    assert answer.status_code == 404 and "for another address" in page
    assert "kim@example.org" not in page and "Platform" not in page


def test_a_look_at_a_link_uses_nothing_up(client: Client, link: str, eve: User):
    for _ in range(3):
        client.get(link)
        as_person(eve).get(link)
    assert as_person(eve).post(link).status_code == 302


# The page

ACTS = ("invite", "leave", "hand-over", "share", "rename", "delete")


@pytest.mark.parametrize("act", ["", *ACTS, "members/{member}/role", "members/{member}/remove"])
def test_a_stranger_knows_of_no_team(team: Team, eve: User, ada: User, act: str):
    address = f"/mock/teams/{team.pk}/{act.format(member=place(team, ada).pk)}/".replace("//", "/")
    browser = as_person(eve)
    answers = [one for one in (browser.get(address), browser.post(address)) if one.status_code != 405]
    assert answers and {one.status_code for one in answers} == {404}
    assert not any("Platform" in one.content.decode() for one in answers)
    assert team.memberships.count() == 3


@pytest.mark.parametrize("act", ["invite", "rename", "delete", "members/{member}/role", "members/{member}/remove"])
def test_only_the_owner_changes_a_team(team: Team, ada: User, ben: User, chen: User, act: str):
    Membership.objects.filter(user=chen).update(role="interviewer")
    for user in (ada, chen):
        address = f"/mock/teams/{team.pk}/{act.format(member=place(team, ben).pk)}/"
        assert as_person(user).post(address, {"role": "observer", "name": "Platform"}).status_code == 403
    assert Team.objects.filter(name="Platform").exists() and place(team, ben).role == "owner"


def test_another_teams_owner_withdraws_no_link(team: Team, link: str, eve: User, ada: User):
    services.make_team(eve, "Elsewhere", NOON)
    row = Invitation.objects.get()
    for user in (eve, ada):
        assert as_person(user).post(f"/mock/invitations/{row.pk}/withdraw/").status_code == 404


def test_the_owner_makes_a_link_and_withdraws_it(team: Team, ben: User, eve: User):
    browser = as_person(ben)
    page = browser.post(
        f"/mock/teams/{team.pk}/invite/", {"role": "candidate", "days": "7", "most_uses": "3"}, follow=True)
    row = Invitation.objects.get()
    assert f"/mock/join/{row.token}/" in page.content.decode()
    teams.join(eve, row.token, timezone.now())
    assert "1 of 3 used: Eve" in browser.get(f"/mock/teams/{team.pk}/").content.decode()
    page = browser.post(f"/mock/invitations/{row.pk}/withdraw/", follow=True).content.decode()
    assert "withdrawn; 1 of 3 used: Eve" in page and f"/mock/join/{row.token}/" not in page


@pytest.mark.parametrize(("typed", "fault"), [
    ({"most_uses": "0"}, "A whole number from 1 to 50."), ({"most_uses": "many"}, "A whole number from 1 to 50."),
    ({"role": "owner"}, "One of the roles in the list."), ({"days": "365"}, "One of the times in the list."),
])
def test_a_link_that_cannot_be_made_keeps_what_was_typed(team: Team, ben: User, typed: dict[str, str], fault: str):
    sent = {"role": "interviewer", "days": "30", "most_uses": "7"} | typed
    answer = as_person(ben).post(f"/mock/teams/{team.pk}/invite/", sent)
    page = answer.content.decode()
    assert answer.status_code == 200 and fault in page
    assert f'value="{sent["most_uses"]}"' in page
    assert not Invitation.objects.exists()


def test_by_mail_where_the_site_has_mail(team: Team, ben: User, settings: Any):
    sent = {"role": "candidate", "days": "7", "most_uses": "5", "email": "eve@example.org"}
    as_person(ben).post(f"/mock/teams/{team.pk}/invite/", sent)
    assert Invitation.objects.get().email == "" and mail.outbox == []
    Invitation.objects.all().delete()
    settings.HAS_MAIL = True
    for _ in range(2):
        page = as_person(ben).post(f"/mock/teams/{team.pk}/invite/", sent, follow=True).content.decode()
    assert "Sent to eve@example.org." in page
    assert (Invitation.objects.get().email, len(mail.outbox)) == ("eve@example.org", 1)


def test_a_mail_that_cannot_be_sent_leaves_the_link(team: Team, ben: User, settings: Any, monkeypatch: Any):
    def fail(*_: Any) -> None:
        raise ConnectionRefusedError("no server")

    settings.HAS_MAIL = True
    monkeypatch.setattr(teams, "mail_invitation", fail)
    sent = {"role": "candidate", "days": "7", "most_uses": "1", "email": "eve@example.org"}
    page = as_person(ben).post(f"/mock/teams/{team.pk}/invite/", sent, follow=True).content.decode()
    assert "could not be sent" in page and Invitation.objects.get().token in page


def test_a_candidate_sees_members_and_own_interviews_alone(
    interview: Interview, team: Team, ada: User, ben: User, kim: User, act: Act
):
    Membership.objects.create(team=team, user=kim, role="candidate", joined_at=NOON)
    services.plan_interview(team, ben, kim, NOON, minutes=30, plan=[], spec={}, seats={ben: "interviewer"})
    scored(act, ben)
    page = as_person(ada).get(f"/mock/teams/{team.pk}/").content.decode()
    assert "Ben interviewed you" in page and "Ben interviews Kim" not in page
    for words in ("coverage", "agreement", "all points", "invite-heading", "Remove", "ben@example.org"):
        assert words not in page


def test_a_member_ticks_and_unticks_the_sharing(team: Team, ada: User, ben: User):
    address = f"/mock/teams/{team.pk}/share/"
    as_person(ada).post(address, {"shares": "on"})
    assert place(team, ada).shares_drill
    assert "shares the drill" in as_person(ben).get(f"/mock/teams/{team.pk}/").content.decode()
    as_person(ada).post(address)
    assert not place(team, ada).shares_drill


def test_a_role_change_holds_at_the_next_request(team: Team, ada: User, ben: User):
    browser = as_person(ada)
    as_person(ben).post(f"/mock/teams/{team.pk}/members/{place(team, ada).pk}/role/", {"role": "owner"})
    assert browser.get(f"/mock/teams/{team.pk}/delete/").status_code == 200
    as_person(ben).post(f"/mock/teams/{team.pk}/members/{place(team, ada).pk}/role/", {"role": "observer"})
    assert browser.get(f"/mock/teams/{team.pk}/delete/").status_code == 403


@pytest.mark.parametrize("role", ["king", "", "owner"])
def test_a_role_that_is_none_and_the_last_owners_change_nothing(team: Team, ben: User, role: str):
    answer = as_person(ben).post(
        f"/mock/teams/{team.pk}/members/{place(team, ben).pk}/role/", {"role": role or "observer"}, follow=True)
    assert answer.status_code == 200
    assert place(team, ben).role == "owner"


def test_leaving_twice_in_a_hurry_ends_on_the_mock_page(team: Team, ada: User):
    browser = as_person(ada)
    assert [browser.post(f"/mock/teams/{team.pk}/leave/").url for _ in range(2)] == ["/mock/"] * 2
    assert browser.get(f"/mock/teams/{team.pk}/").status_code == 404


def test_handing_over_twice_in_a_hurry_is_once(team: Team, ben: User, chen: User):
    browser, sent = as_person(ben), {"member": str(place(team, chen).pk)}
    assert [browser.post(f"/mock/teams/{team.pk}/hand-over/", sent).url for _ in range(2)] == [
        f"/mock/teams/{team.pk}/"] * 2
    assert (place(team, ben).role, place(team, chen).role) == ("interviewer", "owner")
    assert browser.post(f"/mock/teams/{team.pk}/hand-over/", {"member": "x"}, follow=True).status_code == 200


def test_a_team_is_renamed_and_a_bad_name_stays_typed(team: Team, ben: User):
    browser, address = as_person(ben), f"/mock/teams/{team.pk}/rename/"
    page = browser.post(address, {"name": "x" * 90}).content.decode()
    assert "at most 80 characters" in page and "x" * 90 in page
    browser.post(address, {"name": "Serving"})
    assert Team.objects.get().name == "Serving"


def test_a_team_is_deleted_once_its_name_is_typed(team: Team, ben: User):
    browser, address = as_person(ben), f"/mock/teams/{team.pk}/delete/"
    answer = browser.post(address, {"name": "platform"})
    assert "This team is “Platform”, not “platform”." in answer.content.decode()
    assert [browser.post(address, {"name": "Platform"}).url for _ in range(2)] == ["/mock/"] * 2
    assert not Team.objects.exists()


# How it went

def page_for(team: Team, user: User) -> TeamPage:
    return TeamPage(place(team, user), NOON)


def test_a_course_is_the_share_of_all_points_as_agreed(team: Team, ben: User, act: Act):
    scored(act, ben, agreed=3)
    found = page_for(team, ben).courses
    # 3 + 2 + 3 of three points at 3 each.
    assert [(one.name, one.results[-1].points, one.results[-1].of) for one in found] == [("Ada", 8, 9)]
    page = as_person(ben).get(f"/mock/teams/{team.pk}/").content.decode()
    assert "89% of the points" in page and "<td class=\"num\">8</td>" in page


def test_two_who_scored_are_compared_point_by_point(interview: Interview, team: Team, ben: User, chen: User, act: Act):
    Membership.objects.filter(user=chen).update(role="interviewer")
    interview.seats.filter(user=chen).update(role="interviewer")
    scored(act, ben, chen)
    found = page_for(team, ben)
    assert [one.results[-1].points for one in found.courses] == [4.5]  # the means 2.5, 1.5 and 0.5
    [pair] = found.pairs
    assert (pair.agreement.points, pair.agreement.alike, pair.higher_by) == (3, 0, 1)
    assert pair.words == "Ben by 1.00"
    assert "3 points scored by two so far; figures from 10 points." in " ".join(
        as_person(ben).get(f"/mock/teams/{team.pk}/").content.decode().split())


def test_who_is_still_to_score_reads_no_course_of_it(interview: Interview, team: Team, ben: User, chen: User, act: Act):
    Membership.objects.filter(user=chen).update(role="interviewer")
    interview.seats.filter(user=chen).update(role="interviewer")
    scored(act, ben)
    assert page_for(team, chen).courses == []
    assert len(page_for(team, ben).courses) == 1


def test_an_interviewer_reads_their_own_course_once_it_is_released(
    interview: Interview, team: Team, ada: User, ben: User, act: Act
):
    Membership.objects.filter(user=ada).update(role="interviewer")
    scored(act, ben)
    assert page_for(team, ada).courses == []
    act(ben, "release", parts=["comments"])
    assert page_for(team, ada).courses == []
    act(ben, "release", parts=["scores"])
    assert len(page_for(team, ada).courses) == 1


def test_coverage_counts_what_was_asked_of_each_topic(team: Team, ben: User, act: Act):
    assert [(one.topic, one.asked, one.of) for one in page_for(team, ben).coverage] == [("scheduling", 0, 2)]
    scored(act, ben)
    assert [(one.topic, one.asked, one.of) for one in page_for(team, ben).coverage] == [("scheduling", 1, 2)]


def test_a_page_of_many_costs_no_query_for_each(
    interview: Interview, team: Team, ada: User, ben: User, act: Act, django_assert_max_num_queries: Any
):
    scored(act, ben)
    over = Interview.objects.get(pk=interview.pk)
    for _ in range(8):
        other = services.plan_interview(team, ben, ada, NOON, minutes=30, plan=[], spec={}, seats={ben: "interviewer"})
        Interview.objects.filter(pk=other.pk).update(phase="over", state=over.state, ended_at=NOON)
        teams.invite(place(team, ben), "observer", timezone.now(), days=7, email=f"{other.pk}@example.org")
    browser = as_person(ben)
    with django_assert_max_num_queries(24):
        browser.get(f"/mock/teams/{team.pk}/")
