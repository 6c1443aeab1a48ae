"""Ten requests at one moment: one interview is planned, one change stands, one closing is written."""
from datetime import timedelta

import pytest

from accounts.models import User
from mocks import services
from mocks.models import Event, Interview, Team
from mocks.room import Phase, Role, fold
from tests.flashcards.test_threads import at_once
from tests.mocks.conftest import NOON, question

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


def test_a_form_sent_ten_times_plans_one_interview(team: Team, ada: User, ben: User):
    results = at_once(lambda _: services.plan_interview(
        team, ben, ada, NOON, minutes=30, plan=[], spec={}, scheduled_at=NOON, seats={ben: Role.INTERVIEWER},
        code="a" * 22).pk)
    assert set(results) == {Interview.objects.get().pk}
    assert Interview.objects.get().seats.count() == 2


def test_of_ten_changes_one_stands_and_the_others_are_told(interview: Interview, ben: User):
    seal = services.plan_seal(interview)
    results = at_once(lambda number: services.replan(
        interview, minutes=31 + number, plan=interview.plan, spec={}, scheduled_at=NOON,
        seats={ben: Role.INTERVIEWER}, seal=seal))
    assert results.count(None) == 1
    assert {type(result) for result in results} == {type(None), services.Missed}
    interview.refresh_from_db()
    assert interview.minutes == 31 + results.index(None)


def test_an_answer_whose_time_is_up_is_closed_once_whoever_looks(ada: User):
    plan = [{"slug": question("blocks").slug, "minutes": 6}]
    row = services.plan_interview(None, ada, ada, NOON, minutes=10, plan=plan, spec={})
    services.begin(ada, row, NOON)
    services.record(ada, row, "ask", {"position": 0}, NOON)
    late = NOON + timedelta(minutes=7)

    def look_or_score(number: int) -> str:
        if number % 2:
            return str(services.look(Interview.objects.get(pk=row.pk), late).phase)
        return services.record(ada, row, "score", {"position": 0, "point": "first", "value": 2}, late).kind

    assert sorted(at_once(look_or_score)) == 5 * [str(Phase.SCORE)] + 5 * ["score"]
    assert Event.objects.filter(interview=row, kind="phase").count() == 1
    row.refresh_from_db()
    assert row.folded() == fold(row.log())
