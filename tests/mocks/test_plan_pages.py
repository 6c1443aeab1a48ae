"""The pages of a plan: each button keeps everything, Save makes one interview, and nobody sees it who mustn't."""
import re
from datetime import date, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.messages import get_messages
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.models import User
from mocks import services
from mocks.known import bank, known_to_team
from mocks.models import Interview, Membership, Team, Template
from mocks.room import Role
from questions.access import embargo_on
from questions.models import Question
from tests.conftest import person
from tests.mocks.conftest import question

# A plan is for the next two years: a winter's day of the coming one, and its night that lacks an hour in Europe.
YEAR = timezone.now().year + 1
DAY = f"{YEAR}-01-02"
SHORT_NIGHT = next(day for day in (date(YEAR, 3, at) for at in range(25, 32)) if day.weekday() == 6).isoformat()
SLUGS = ("blocks", "steps", "pools", "ranks", "routes")


@pytest.fixture
def asked_of(team: Team) -> Team:
    """The team with five questions on three topics to plan from, 8 minutes each: 6 and a follow-up."""
    for at, slug in enumerate(SLUGS):
        question(slug, position=at, topic=("scheduling", "sizing", "engine")[at % 3])
    return team


@pytest.fixture
def as_ben(ben: User, client: Client) -> Client:
    client.force_login(ben)
    return client


def form_of(page: str) -> dict[str, list[str]]:
    """What the plan's form would send, as a browser reads it off the page."""
    form = page[page.index('<form id="plan"'):]
    form = form[:form.index("</form>")]
    sent: dict[str, list[str]] = {}
    for tag in re.findall(r"<input[^>]*>|<select.*?</select>", form, re.DOTALL):
        name = re.search(r' name="([^"]+)"', tag)
        if name is None or 'form="' in tag or name[1] == "csrfmiddlewaretoken":
            continue
        if tag.startswith("<select"):
            value = re.search(r'<option value="([^"]*)" selected', tag)
            sent.setdefault(name[1], []).append(value[1] if value else "")
        elif 'type="checkbox"' not in tag or " checked" in tag:
            sent.setdefault(name[1], []).append((re.search(r' value="([^"]*)"', tag) or ["", ""])[1])
    return sent


def press(client: Client, address: str, button: str = "", **typed: Any) -> Any:
    """Open the page, type, press a button of it and follow."""
    sent = form_of(client.get(address, follow=True).content.decode()) | typed | {"do": button}
    return client.post(urlsplit(address).path, sent, follow=True)


def here(answer: Any) -> str:
    return answer.redirect_chain[-1][0]


def state(address: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(address).query)


@pytest.fixture
def start(as_ben: Client, asked_of: Team, ada: User) -> str:
    """The address of a new plan with Ada as its candidate, 27 minutes: three questions."""
    opened = as_ben.get(f"/mock/teams/{asked_of.pk}/plan/", {"candidate": ada.pk, "minutes": "27"})
    assert opened.status_code == 302
    return opened.url


def test_a_new_plan_is_proposed_and_stays_as_it_is_when_reloaded(as_ben: Client, start: str):
    first, again = as_ben.get(start), as_ben.get(start)
    assert "Three questions, 27 of 27 minutes" in first.content.decode()
    assert form_of(first.content.decode()) == form_of(again.content.decode())
    assert Interview.objects.count() == 0


def test_each_button_keeps_all_that_was_typed(as_ben: Client, start: str, chen: User):
    typed = {"day": DAY, "at": "14:00", "observer": [str(chen.pk)], "for": ["7", "8", "8"]}
    moved = press(as_ben, start, "down:0", **typed)
    before, after = state(start), state(here(moved))
    assert after["pick"] == [before["pick"][1], before["pick"][0], before["pick"][2]]
    assert after["for"] == ["8", "7", "8"]
    assert (after["day"], after["at"], after["observer"]) == ([DAY], ["14:00"], [str(chen.pk)])
    pinned = press(as_ben, here(moved), "pin:0")
    assert state(here(pinned))["pin"] == [before["pick"][1]]
    assert state(here(pinned))["for"] == ["8", "7", "8"]


def test_what_cannot_be_read_stays_typed_and_is_named(as_ben: Client, start: str):
    answer = press(as_ben, start, "pin:0", minutes="soon", **{"for": ["many", "8", "8"]})
    page = answer.content.decode()
    assert 'value="soon"' in page and "An interview takes 10 to 180 minutes." in page
    assert 'value="many"' in page and "1 to 60" in page
    assert answer.status_code == 200


def test_a_swap_brings_another_and_others_bring_all_others(as_ben: Client, start: str):
    before = state(start)["pick"]
    after = state(here(press(as_ben, start, "swap:1")))["pick"]
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1] not in before
    others = state(here(press(as_ben, start, "others")))["pick"]
    assert set(SLUGS) - set(before) <= set(others)


def test_other_topics_propose_anew_and_other_minutes_add(as_ben: Client, start: str):
    sized = press(as_ben, start, "", topic=["sizing"])
    assert set(state(here(sized))["pick"]) == {"steps", "routes"}
    longer = press(as_ben, start, "", minutes="45")
    assert set(state(start)["pick"]) < set(state(here(longer))["pick"])


def test_saved_it_is_one_interview_with_its_seats_and_answers_closed(
    as_ben: Client, start: str, ada: User, ben: User, chen: User, asked_of: Team
):
    typed = {"day": DAY, "at": "14:00", "observer": [str(chen.pk)]}
    sent = form_of(as_ben.get(start).content.decode()) | typed | {"do": "save"}
    address = urlsplit(start).path
    once, twice = (as_ben.post(address, sent) for _ in range(2))
    row = Interview.objects.get()
    assert once.url == twice.url == f"/mock/{row.code}/plan/"
    assert {seat.user: seat.role for seat in row.seats.all()} == {
        ada: Role.CANDIDATE, ben: Role.INTERVIEWER, chen: Role.OBSERVER}
    assert [item["slug"] for item in row.plan] == state(start)["pick"]
    assert "not yet asked" in row.plan[0]["why"]
    assert embargo_on(ada, row.scheduled_at) and row.scheduled_at.hour == 14
    assert "Add one of your own choice" in as_ben.get(once.url).content.decode()


def test_what_is_missing_is_said_beside_its_field_and_nothing_is_saved(as_ben: Client, start: str):
    answer = press(as_ben, start, "save", candidate="", interviewer=[], day="2020-01-02", at="14:00")
    page = answer.content.decode()
    for told in ("Choose who is interviewed.", "Somebody has to interview.", "That time is past."):
        assert told in page
    assert 'value="2020-01-02"' in page
    assert Interview.objects.count() == 0


def test_one_person_takes_one_part(as_ben: Client, start: str, ada: User, ben: User):
    page = press(as_ben, start, "save", observer=[str(ben.pk)]).content.decode()
    assert "You take one part alone." in page
    assert Interview.objects.count() == 0


def test_a_time_that_the_clock_leaves_out_is_none(as_ben: Client, start: str, ben: User):
    ben.profile.zone = "Europe/Berlin"
    ben.profile.save()
    page = press(as_ben, start, "save", day=SHORT_NIGHT, at="02:30").content.decode()
    assert "leaves 02:30 out in Europe/Berlin" in page


def test_the_time_is_the_planners_clock(as_ben: Client, start: str, ben: User):
    ben.profile.zone = "America/New_York"
    ben.profile.save()
    press(as_ben, start, "save", day=DAY, at="14:00")
    assert Interview.objects.get().scheduled_at.hour == 19


@pytest.fixture
def planned(as_ben: Client, start: str, chen: User) -> Interview:
    press(as_ben, start, "save", day=DAY, at="14:00", observer=[str(chen.pk)])
    return Interview.objects.get()


def test_a_plan_is_changed_until_it_begins(as_ben: Client, planned: Interview, ben: User):
    address = f"/mock/{planned.code}/plan/"
    swapped = press(as_ben, address, "swap:0")
    assert "Your changes are not saved yet." in swapped.content.decode()
    planned.refresh_from_db()
    slugs = [item["slug"] for item in planned.plan]
    press(as_ben, here(swapped), "save")
    planned.refresh_from_db()
    assert [item["slug"] for item in planned.plan][1:] == slugs[1:]
    assert planned.plan[0]["slug"] not in slugs
    sent = form_of(as_ben.get(address).content.decode())
    services.begin(ben, planned, timezone.now())
    late = as_ben.post(address, sent | {"do": "save", "minutes": "50"}, follow=True)
    assert "its plan stands" in late.content.decode()


def test_a_change_made_meanwhile_is_told_and_not_overwritten_unseen(as_ben: Client, planned: Interview):
    address = f"/mock/{planned.code}/plan/"
    mine = form_of(as_ben.get(address).content.decode())
    press(as_ben, address, "save", minutes="40")
    told = as_ben.post(address, mine | {"minutes": "50", "do": "save"}, follow=True)
    assert "Somebody has changed this plan meanwhile." in told.content.decode()
    planned.refresh_from_db()
    assert planned.minutes == 40
    press(as_ben, here(told), "save")
    planned.refresh_from_db()
    assert planned.minutes == 50


def test_the_invitation_tells_where_and_when_but_not_what(as_ben: Client, planned: Interview, ada: User):
    ada.profile.zone = "Asia/Tokyo"
    ada.profile.save()
    page = as_ben.get(f"/mock/{planned.code}/plan/").content.decode()
    text = re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)[1]
    assert f"/mock/{planned.code}/" in text and "at 23:00 (Asia/Tokyo)" in text and "No sound or picture" in text
    assert not any(word in text for word in ("About", "scheduling", "sizing", "engine", *SLUGS))


def test_the_invitation_is_mailed_once_for_a_time(as_ben: Client, planned: Interview, settings: Any):
    address = f"/mock/{planned.code}/invitation/"
    as_ben.post(address)
    assert mail.outbox == []
    settings.HAS_MAIL = True
    as_ben.post(address)
    as_ben.post(address)
    assert [sent.to for sent in mail.outbox] == [["ada@example.org"]]
    press(as_ben, f"/mock/{planned.code}/plan/", "save", at="15:00")
    as_ben.post(address)
    assert len(mail.outbox) == 2


def test_called_off_it_says_so_and_can_be_planned_again(as_ben: Client, planned: Interview, ada: User):
    answer = as_ben.post(f"/mock/{planned.code}/call-off/", follow=True)
    text = answer.content.decode()
    assert "Called off" in text
    assert all(f"<li>About {one['slug']} " in text for one in planned.plan)
    assert embargo_on(ada, planned.scheduled_at) is None
    again = re.search(r'href="(/mock/teams/\d+/plan/[^"]+)"', answer.content.decode())[1].replace("&amp;", "&")
    assert state(again)["candidate"] == [str(ada.pk)]
    assert as_ben.post(f"/mock/{planned.code}/call-off/", follow=True).status_code == 200


def test_what_a_candidate_was_asked_twice_is_proposed_last(as_ben: Client, asked_of: Team, ada: User, ben: User):
    now = timezone.now()
    for _ in range(2):
        row = services.plan_interview(
            asked_of, ben, ada, now, minutes=30, plan=[{"slug": "blocks", "minutes": 6}], spec={},
            seats={ben: "interviewer"})
        services.begin(ben, row, now)
        for kind, detail in (("ask", {"position": 0}), ("phase", {"to": "score"}), ("debrief", {}), ("end", {})):
            services.record(ben, row, kind, detail, now)
    found = known_to_team(bank(), asked_of, ada, now.date())
    assert {one.slug: one.asked for one in found} == dict.fromkeys(SLUGS, 0) | {"blocks": 2}
    plan = here(as_ben.get(f"/mock/teams/{asked_of.pk}/plan/", {"candidate": ada.pk, "minutes": "35"}, follow=True))
    plan = here(press(as_ben, plan, "propose"))
    assert sorted(state(plan)["pick"]) == sorted(set(SLUGS) - {"blocks"})


def test_with_everything_taken_out_propose_proposes_anew(as_ben: Client, start: str):
    plan = start
    for _ in state(plan)["pick"]:
        plan = here(press(as_ben, plan, "out:0"))
    assert "pick" not in state(plan)
    page = as_ben.get(plan).content.decode()
    assert "Nothing is in the plan." in page and "Propose a plan" in page
    assert state(here(press(as_ben, plan, "propose")))["pick"]


def test_a_link_that_names_no_question_proposes_some(as_ben: Client, asked_of: Team, planned: Interview, ada: User):
    new = as_ben.get(f"/mock/teams/{asked_of.pk}/plan/", {"seed": "7", "candidate": ada.pk, "minutes": "27"})
    assert (state(new.url)["seed"], len(state(new.url)["pick"])) == (["7"], 3)
    page = as_ben.get(f"/mock/{planned.code}/plan/", {"seed": "7"}).content.decode()
    assert "Your changes are not saved yet" not in page
    assert len(form_of(page)["pick"]) == len(planned.plan)


def test_where_nothing_fits_the_page_says_what_would_help(as_ben: Client, start: str):
    page = press(as_ben, start, "", kind=["decide"]).content.decode()
    assert "None of these topics, kinds and levels fits: choose more of them" in page
    assert "Propose a plan" not in page


def test_who_may_see_a_plan(planned: Interview, ada: User, chen: User, eve: User, asked_of: Team):
    dora = person("Dora")
    Membership.objects.create(team=asked_of, user=dora, role="interviewer", joined_at=timezone.now())
    address = f"/mock/{planned.code}/"
    for user, status in ((ada, 403), (chen, 403), (eve, 404), (dora, 404)):
        client = Client()
        client.force_login(user)
        for answer in (
            client.get(f"{address}plan/"), client.post(f"{address}plan/", {"do": "save"}),
            client.post(f"{address}call-off/"), client.post(f"{address}invitation/"),
        ):
            assert answer.status_code == status, (user.name, answer.request["PATH_INFO"])
            assert "About" not in answer.content.decode()
    planned.refresh_from_db()
    assert planned.phase == "lobby"


def test_an_interviewer_who_is_interviewed_sees_no_plan(as_ben: Client, planned: Interview, ada: User):
    Membership.objects.filter(user=ada).update(role="interviewer")
    client = Client()
    client.force_login(ada)
    assert client.get(f"/mock/{planned.code}/plan/").status_code == 403


def test_only_interviewers_plan(asked_of: Team, ada: User, chen: User, eve: User):
    for user, status in ((ada, 403), (chen, 403), (eve, 404)):
        client = Client()
        client.force_login(user)
        assert client.get(f"/mock/teams/{asked_of.pk}/plan/").status_code == status


def test_a_template_keeps_what_a_plan_is_made_from(as_ben: Client, start: str, asked_of: Team, ada: User):
    pinned = press(as_ben, press(as_ben, start, "", topic=["sizing"], level=["staff"]).redirect_chain[-1][0], "pin:0")
    first = state(here(pinned))["pick"][0]
    press(as_ben, here(pinned), "template", name="  Sizing,   staff ")
    template = Template.objects.get()
    assert (template.name, template.spec["topics"], template.spec["pinned"]) == (
        "Sizing, staff", ["sizing"], [{"slug": first, "minutes": 8}])
    used = as_ben.get(f"/mock/teams/{asked_of.pk}/plan/", {"template": template.pk, "candidate": ada.pk}, follow=True)
    kept = state(here(used))
    assert (kept["topic"], kept["level"], kept["minutes"], kept["pin"]) == (["sizing"], ["staff"], ["27"], [first])
    again = press(as_ben, start, "template", name="Sizing, staff")
    assert "already" in again.content.decode() and 'value="Sizing, staff"' in again.content.decode()


def test_a_template_is_renamed_and_deleted_by_its_team_alone(as_ben: Client, asked_of: Team, eve: User, ada: User):
    template = Template.objects.create(team=asked_of, name="One", spec={})
    query = "seed=1&minutes=30"
    renamed = as_ben.post(f"/mock/templates/{template.pk}/rename/", {"name": "Two", "back": query})
    assert renamed.url == f"/mock/teams/{asked_of.pk}/plan/?{query}"
    assert Template.objects.get().name == "Two"
    for user, status in ((ada, 403), (eve, 404)):
        client = Client()
        client.force_login(user)
        assert client.post(f"/mock/templates/{template.pk}/delete/").status_code == status
    as_ben.post(f"/mock/templates/{template.pk}/delete/")
    assert Template.objects.count() == 0


@pytest.mark.parametrize("act", ["rename", "delete"])
def test_a_second_press_on_a_template_that_is_gone_leads_back_to_the_plan(
    as_ben: Client, asked_of: Team, ada: User, eve: User, act: str
):
    page = as_ben.get(f"/mock/teams/{asked_of.pk}/plan/", follow=True)
    gone = Template.objects.create(team=asked_of, name="One", spec={}).pk
    page = as_ben.get(page.redirect_chain[-1][0])
    assert page.content.decode().count(f'<input type="hidden" name="team" value="{asked_of.pk}">') == 2
    Template.objects.all().delete()
    sent = {"name": "Two", "team": asked_of.pk, "back": "seed=1&minutes=30"}
    answer = as_ben.post(f"/mock/templates/{gone}/{act}/", sent)
    assert answer.url == f"/mock/teams/{asked_of.pk}/plan/?seed=1&minutes=30"
    assert [str(one) for one in get_messages(answer.wsgi_request)] == [
        "That template is gone already; what was planned from it stays."]
    for user, status in ((ada, 403), (eve, 404)):
        client = Client()
        client.force_login(user)
        assert client.post(f"/mock/templates/{gone}/{act}/", sent).status_code == status
        for team in ("", "x", 10**18):
            assert client.post(f"/mock/templates/{gone}/{act}/", sent | {"team": team}).status_code == 404


def test_what_was_asked_and_what_the_drill_shows_is_seen_only_as_far_as_it_is_shared(
    as_ben: Client, start: str, ada: User, ben: User, asked_of: Team
):
    now = timezone.now()
    past = services.plan_interview(
        asked_of, ben, ada, now, minutes=30, plan=[{"slug": "blocks", "minutes": 8}], spec={},
        seats={ben: Role.INTERVIEWER})
    services.begin(ben, past, now)
    services.record(ben, past, "ask", {"position": 0}, now)
    ada.cards.create(
        question_id=question("weak", topic="sizing").pk, state="review", stability=1.0, difficulty=5.0,
        last_day=(now - timedelta(days=30)).date(), last_at=now - timedelta(days=30), fed_at=now)
    page = as_ben.get(start).content.decode()
    assert "1 of 2" in page and "recall" not in page  # one of scheduling's two, blocks and ranks, was asked
    with_it = press(as_ben, start, "add", add="weak")
    assert "recall" not in with_it.content.decode()
    Membership.objects.filter(user=ada).update(shares_drill=True)
    assert "in the drill" in as_ben.get(here(with_it)).content.decode()


def test_a_question_that_left_the_bank_is_named(as_ben: Client, planned: Interview):
    slug = planned.plan[0]["slug"]
    Question.objects.filter(slug=slug).update(retired=True)
    page = as_ben.get(f"/mock/{planned.code}/plan/").content.decode()
    assert f"No longer in the bank and left out: {slug}." in page
