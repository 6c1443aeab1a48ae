"""The Mock page: the interviews of one person, and their teams."""
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from mocks import services
from mocks.mock_page import MockPage
from mocks.models import Interview, Membership, Team
from tests.mocks.conftest import END, NOON, as_person, scored

Act = Callable[..., Any]


def test_each_side_of_an_interview_reads_it_as_its_own(interview: Interview, ada: User, ben: User, chen: User):
    told = {user.name: MockPage(user, NOON).planned[0].words for user in (ada, ben, chen)}
    assert told == {"Ada": "Ben interviews you", "Ben": "you interview Ada", "Chen": "Ben interviews Ada"}


def test_an_interview_goes_from_planned_to_running_to_past(interview: Interview, ada: User, ben: User, act: Act):
    def lengths() -> tuple[int, int, int]:
        page = MockPage(ada, NOON)
        return len(page.planned), len(page.running), len(page.past)

    assert lengths() == (1, 0, 0)
    act(ben, "start")
    assert lengths() == (0, 1, 0)
    for kind in END:
        act(ben, kind)
    assert lengths() == (0, 0, 1)


def test_the_candidate_gets_no_report_until_something_is_released(
    interview: Interview, ada: User, ben: User, act: Act
):
    for kind in ("start", *END):
        act(ben, kind)
    assert not MockPage(ada, NOON).past[0].reads_report
    assert MockPage(ben, NOON).past[0].reads_report
    assert "nothing released yet" in as_person(ada).get("/mock/").content.decode()
    act(ben, "release", parts=["scores"])
    assert MockPage(ada, NOON).past[0].reads_report


def test_who_may_take_the_part_no_longer_sees_nothing_of_it(interview: Interview, ada: User):
    Membership.objects.filter(user=ada).update(role="observer")
    assert MockPage(ada, NOON).parts == []
    Membership.objects.filter(user=ada).delete()
    assert "Platform" not in as_person(ada).get("/mock/").content.decode()


def test_a_stranger_sees_neither_team_nor_interview(interview: Interview, eve: User):
    page = as_person(eve).get("/mock/").content.decode()
    assert "Platform" not in page and "Begin a team" in page


def test_a_page_of_many_interviews_costs_no_query_for_each(
    interview: Interview, team: Team, ada: User, ben: User, django_assert_max_num_queries: Any
):
    for _ in range(10):
        services.plan_interview(team, ben, ada, NOON, minutes=30, plan=[], spec={}, seats={ben: "interviewer"})
    browser = as_person(ben)
    with django_assert_max_num_queries(15):
        browser.get("/mock/")


def test_a_team_is_begun_with_its_owner(as_ada: Client, ada: User):
    response = as_ada.post("/mock/teams/new/", {"name": "  Inference   platform "})
    team = Team.objects.get()
    assert response.url == f"/mock/teams/{team.pk}/"
    assert team.name == "Inference platform"
    assert [(one.user, one.role) for one in team.memberships.all()] == [(ada, "owner")]


@pytest.mark.parametrize(("typed", "fault"), [
    ("", "A team needs a name"), ("  ", "A team needs a name"), ("x" * 81, "at most 80 characters"),
])
def test_a_team_without_a_fit_name_is_not_begun(as_ada: Client, typed: str, fault: str):
    response = as_ada.post("/mock/teams/new/", {"name": typed})
    page = response.content.decode()
    assert response.status_code == 200 and fault in page
    assert typed.strip() in page
    assert not Team.objects.exists()


def test_called_off_it_is_said_until_its_time_and_past_after(interview: Interview, ada: User, ben: User, act: Act):
    act(ben, "call_off", -3600)
    before, after = (MockPage(ada, NOON + timedelta(minutes=minutes)) for minutes in (-5, 5))
    assert [one.is_called_off for one in before.planned] == [True] and before.past == []
    assert before.lead == "No interview is planned."
    assert after.planned == [] and [one.reads_report for one in after.past] == [False]
    assert "Called off: Ben was to interview you" in as_person(ada).get("/mock/").content.decode()


def test_ones_own_course_holds_what_was_released_and_what_was_done_alone(
    interview: Interview, ada: User, ben: User, act: Act
):
    scored(act, ben)
    assert MockPage(ada, NOON).course is None
    act(ben, "release", parts=["answers"])
    assert MockPage(ada, NOON).course is None
    act(ben, "release", parts=["scores"])
    alone = services.plan_interview(
        None, ada, ada, NOON, minutes=10, plan=[{"slug": "blocks", "minutes": 6}], spec={})
    services.begin(ada, alone, NOON)
    for kind, detail in (
        ("ask", {"position": 0}), ("phase", {"to": "score"}),
        *(("score", {"position": 0, "point": point, "value": 3}) for point in ("first", "second", "third")),
        ("debrief", {}), ("end", {}),
    ):
        services.record(ada, alone, kind, detail, NOON + timedelta(minutes=1))
    course = MockPage(ada, NOON).course
    assert [(one.points, one.of) for one in course.results] == [(6, 9), (9, 9)]
    assert course.words == "67% of the points at first, 100% at last"
    page = as_person(ada).get("/mock/").content.decode()
    assert "Platform</th>" in page and "alone</th>" in page
