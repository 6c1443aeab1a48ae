"""Scores handed in, agreed on and released: what each page, in each of its forms, gives to whom."""
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from mocks.models import Event, Interview, Membership
from mocks.room import PARTS, Role
from mocks.services import plan_interview, record, seat
from tests.mocks.conftest import NOON, question

Act = Callable[..., Any]
CANARIES = {
    "answers": ("staff answer of", "Point first", "explains first", "Second hint", "The key of", "It is not."),
    "comments": ("EVIDENCE", "COMMENT"),
}
NEVER = ("NOTE of", "Chen")  # neither anybody's notes nor who gave which score


def as_person(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def dana(team: Any) -> User:
    from tests.conftest import person
    user = person("Dana")
    Membership.objects.create(team=team, user=user, role="interviewer", joined_at=NOON)
    return user


@pytest.fixture
def asked(interview: Interview, ada: User, ben: User, dana: User, act: Act) -> Interview:
    """Both questions asked by Ben and Dana, nothing scored; at the debrief."""
    seat(interview, {dana: Role.INTERVIEWER})
    for user, kind, detail in (
        (ben, "start", {}), (ben, "ask", {"position": 0}), (ada, "scratch", {"text": "10 blocks"}),
        (ben, "hint", {"number": 0}), (ben, "note", {"text": "NOTE of Ben"}), (ben, "phase", {"to": "score"}),
        (ben, "ask", {"position": 1}), (ben, "skip", {}), (ben, "debrief", {}),
    ):
        act(user, kind, 60, **detail)
    return interview


@pytest.fixture
def ended(asked: Interview, ben: User, dana: User, act: Act) -> Interview:
    """The same, over, with Ben's scores 3, 2, 0 and Dana's 3, 1, 0 in."""
    for user, scores in ((ben, (3, 2, 0)), (dana, (3, 1, 0))):
        for point, value in zip(("first", "second", "third"), scores, strict=True):
            act(user, "score", 70, position=0, point=point, value=value, evidence=f"EVIDENCE of {user.name}",
                comment=f"COMMENT of {user.name}")
        act(user, "call", 80, verdict="yes", level="staff", reason=f"REASON of {user.name}")
        act(user, "submit", 90)
    act(ben, "end", 100)
    asked.refresh_from_db()
    return asked


def forms_of(row: Interview) -> list[str]:
    """Every address at which a report is read."""
    page = reverse("mocks:report", args=[row.code])
    return [page, f"{page}?print", *(reverse(f"mocks:{name}", args=[row.code]) for name in
                                     ("report_markdown", "report_json"))]


ADDRESSES = ("report", "report_markdown", "report_json", "release", "take_missed", "scores", "agree", "agree_call")


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_stranger_learns_of_nothing(ended: Interview, eve: User, name: str):
    client, address = as_person(eve), reverse(f"mocks:{name}", args=[ended.code])
    statuses = {client.get(address).status_code, client.post(address).status_code}
    assert statuses <= {404, 405}
    assert 404 in statuses


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_observer_reads_no_report_and_scores_nothing(ended: Interview, chen: User, name: str):
    client, address = as_person(chen), reverse(f"mocks:{name}", args=[ended.code])
    assert {client.get(address).status_code, client.post(address).status_code} <= {403, 405}


@pytest.mark.parametrize("name", ["report", "scores"])
def test_who_comes_too_early_is_shown_the_way_to_the_room(interview: Interview, ben: User, act: Act, name: str):
    act(ben, "start")
    answer = as_person(ben).get(reverse(f"mocks:{name}", args=[interview.code]))
    text = answer.content.decode()
    assert answer.status_code == 403 and f'href="/mock/{interview.code}/">To the room<' in text
    assert "Someone who may" not in text


def test_the_candidate_reads_nothing_before_its_release(ended: Interview, ada: User):
    for address in forms_of(ended):
        answer = as_person(ada).get(address)
        assert answer.status_code == 403
        text = answer.content.decode()
        assert "Nothing of this interview has been released to you yet." in text and 'href="/mock/">Mock<' in text
        assert "Someone who may" not in text
        assert not any(mark in text for marks in CANARIES.values() for mark in marks)


@pytest.mark.parametrize("part", PARTS)
def test_of_what_is_released_the_candidate_reads_that_alone(ended: Interview, ada: User, ben: User, part: str):
    as_person(ben).post(reverse("mocks:release", args=[ended.code]), {"part": part})
    for address in forms_of(ended):
        answer = as_person(ada).get(address)
        text = answer.content.decode()
        assert answer.status_code == 200
        for name, marks in CANARIES.items():
            assert all((mark in text) == (name == part) for mark in marks), (address, name)
        assert ("yes, staff" in text or '"verdict": "yes"' in text) == (part == "scores")
        assert not any(mark in text for mark in (*NEVER, "REASON"))
        assert ("Put this question into my drill" in text) == (part == "scores" and address.endswith("/report/"))


def test_a_part_can_be_closed_again(ended: Interview, ada: User, ben: User):
    release = reverse("mocks:release", args=[ended.code])
    as_person(ben).post(release, {"part": ["scores", "comments"]})
    assert "EVIDENCE" in as_person(ada).get(forms_of(ended)[0]).content.decode()
    as_person(ben).post(release, {"part": ["scores"]})
    assert "EVIDENCE" not in as_person(ada).get(forms_of(ended)[0]).content.decode()


def test_a_release_says_what_the_candidate_sees_by_now(ended: Interview, ben: User):
    release = reverse("mocks:release", args=[ended.code])
    browser = as_person(ben)
    for parts, words in (
        (["scores", "answers"], "Ada sees scores and staff answers now."), ([], "Ada sees nothing of it now."),
    ):
        assert words in browser.post(release, {"part": parts}, follow=True).content.decode()


def test_the_owner_alone_releases(ended: Interview, dana: User, ada: User):
    for user in (dana, ada):
        answer = as_person(user).post(reverse("mocks:release", args=[ended.code]), {"part": "scores"})
        assert answer.status_code == 403
    ended.refresh_from_db()
    assert ended.folded().released == ()
    assert "Release what is ticked" not in as_person(dana).get(forms_of(ended)[0]).content.decode()


def test_where_the_owner_is_interviewed_who_interviews_releases(ended: Interview, ada: User, ben: User, dana: User):
    Membership.objects.filter(user=ben).update(role="interviewer")
    Membership.objects.filter(user=ada).update(role="owner")
    told = as_person(ada).get(forms_of(ended)[0]).content.decode()
    assert "Ben or Dana can do that." in told
    assert as_person(ada).post(reverse("mocks:release", args=[ended.code]), {"part": "scores"}).status_code == 403
    page = as_person(dana).get(forms_of(ended)[0]).content.decode()
    assert "Ada owns the team, so who interviews releases." in page
    as_person(dana).post(reverse("mocks:release", args=[ended.code]), {"part": "scores"})
    told = as_person(ada).get(forms_of(ended)[0]).content.decode()
    assert "Ben or Dana can release the rest." in told


def test_an_interviewer_is_told_who_releases(ended: Interview, dana: User):
    page = as_person(dana).get(forms_of(ended)[0]).content.decode()
    assert "Nothing yet. Ben can release it." in page


def test_interviewers_read_both_sides_and_their_own_notes(ended: Interview, ben: User, dana: User):
    for user, note in ((ben, True), (dana, False)):
        for address in forms_of(ended):
            text = as_person(user).get(address).content.decode()
            assert "EVIDENCE of Ben" in text
            assert "EVIDENCE of Dana" in text
            assert ("NOTE of Ben" in text) == note


def test_missed_questions_go_into_the_drill_once(ended: Interview, ada: User, ben: User):
    as_person(ben).post(reverse("mocks:release", args=[ended.code]), {"part": "scores"})
    take = reverse("mocks:take_missed", args=[ended.code])
    client = as_person(ada)
    assert "1 added: it comes first" in client.post(take, follow=True).content.decode()
    assert "in your drill already" in client.post(take, follow=True).content.decode()
    card = ada.cards.get(question__slug="blocks")
    assert (card.asked, card.reviews.count()) == (True, 1)
    assert "All of these were put into your drill" in client.get(forms_of(ended)[0]).content.decode()


def test_what_was_missed_is_not_told_by_taking_it(ended: Interview, ada: User, ben: User):
    as_person(ben).post(reverse("mocks:release", args=[ended.code]), {"part": "comments"})
    as_person(ada).post(reverse("mocks:take_missed", args=[ended.code]))
    assert not Event.objects.filter(kind="drill").exists()


def test_an_agreed_score_is_the_last_one_set(ended: Interview, ben: User, dana: User):
    agree = reverse("mocks:agree", args=[ended.code])
    for user, value in ((ben, 2), (dana, 1), (dana, 1)):
        as_person(user).post(agree, {"position": "0", "point": "second", "value": value})
    ended.refresh_from_db()
    assert ended.folded().agreed == {"0": {"second": 1}}
    assert Event.objects.filter(kind="agree").count() == 2  # the second click changed nothing


@pytest.mark.parametrize("sent", [
    {}, {"position": "0", "point": "second", "value": "4"}, {"position": "9", "point": "second", "value": "1"},
    {"position": "0", "point": "none", "value": "1"}, {"position": "-1", "point": "second", "value": "²"},
])
def test_what_can_not_be_agreed_is_refused_in_words(ended: Interview, ben: User, sent: dict[str, str]):
    answer = as_person(ben).post(reverse("mocks:agree", args=[ended.code]), sent, follow=True)
    assert answer.status_code == 200
    assert 'class="message failed"' in answer.content.decode()
    assert not Event.objects.filter(kind="agree").exists()


def test_an_agreed_call_keeps_what_was_typed_when_it_is_faulty(ended: Interview, ben: User):
    address = reverse("mocks:agree_call", args=[ended.code])
    text = as_person(ben).post(address, {"level": "staff", "reason": "both of us"}).content.decode()
    assert "The call is one of" in text
    assert "both of us" in text
    as_person(ben).post(address, {"verdict": "no", "level": "staff", "reason": "both of us"})
    ended.refresh_from_db()
    assert ended.folded().agreed_call.verdict == "no"


# The score sheet

ALL = {f"value-0-{point}": "2" for point in ("first", "second", "third")}
CALL = {"verdict": "yes", "level": "staff", "reason": "clear"}


def sheet_of(row: Interview) -> str:
    return reverse("mocks:scores", args=[row.code])


def test_a_sheet_is_handed_in_whole(asked: Interview, ben: User):
    as_person(ben).post(sheet_of(asked), ALL | CALL | {"hand_in": "1", "evidence-0-first": "said so"})
    asked.refresh_from_db()
    state = asked.folded()
    assert str(ben.pk) in state.submitted
    assert [state.mark(str(ben.pk), 0, point).value for point in ("first", "second", "third")] == [2, 2, 2]
    assert state.mark(str(ben.pk), 0, "first").evidence == "said so"


def test_a_sheet_that_lacks_something_says_what_and_keeps_the_rest(asked: Interview, ben: User):
    sent = {"value-0-first": "3", "comment-0-first": "unasked", "verdict": "no", "reason": "thin", "hand_in": "1"}
    answer = as_person(ben).post(sheet_of(asked), sent, headers={"HX-Request": "true"})
    text = answer.content.decode()
    assert answer.status_code == 200
    assert "2 points have no score yet." in text
    assert "Say at which level." in text
    assert "thin" in text
    assert "unasked" in text
    asked.refresh_from_db()
    state = asked.folded()
    assert state.submitted == {}
    assert (state.mark(str(ben.pk), 0, "first").value, state.calls[str(ben.pk)].verdict) == (3, "no")


def test_a_row_is_kept_as_it_is_changed(asked: Interview, ben: User):
    answer = as_person(ben).post(sheet_of(asked), {"value-0-first": "3"}, headers={"HX-Request": "true"})
    text = answer.content.decode()
    assert "Kept." in text
    assert "2 points without a score" in text
    as_person(ben).post(sheet_of(asked), {"value-0-first": "3"}, headers={"HX-Request": "true"})
    assert Event.objects.filter(kind="score").count() == 1


def test_a_page_left_open_undoes_nothing_done_elsewhere(asked: Interview, ben: User):
    as_person(ben).post(sheet_of(asked), {"value-0-first": "3", "evidence-0-first": "later words"})
    stale = {"value-0-first": "1", "was-value-0-first": "1", "evidence-0-first": "", "was-evidence-0-first": "",
             "value-0-second": "2", "was-value-0-second": "", "keep": "1"}
    as_person(ben).post(sheet_of(asked), stale)
    asked.refresh_from_db()
    state = asked.folded()
    assert (state.mark(str(ben.pk), 0, "first").value, state.mark(str(ben.pk), 0, "second").value) == (3, 2)
    assert state.mark(str(ben.pk), 0, "first").evidence == "later words"


def sent_by_a_row(point: str = "first", **more: str) -> dict[str, str]:
    """What a row of the sheet sends that was shown while nothing was kept, with what was changed since."""
    row = {f"{what}-0-{point}": "" for what in ("value", "evidence", "comment")}
    return row | {f"was-{name}": "" for name in row} | {f"{what}-0-{point}": text for what, text in more.items()}


def test_a_row_that_was_shown_earlier_undoes_no_words_and_tells_whose_it_replaced(asked: Interview, ben: User):
    client, htmx = as_person(ben), {"HX-Request": "true"}
    client.post(sheet_of(asked), sent_by_a_row(evidence="at the desk", comment="unasked"), headers=htmx)
    told = client.post(sheet_of(asked), sent_by_a_row(value="2"), headers=htmx).content.decode()
    assert "took its place" not in told
    told = client.post(sheet_of(asked), sent_by_a_row(value="2", evidence="on the tablet"), headers=htmx)
    assert "what you typed took its place" in told.content.decode()
    assert "at the desk" in told.content.decode()
    asked.refresh_from_db()
    mark = asked.folded().mark(str(ben.pk), 0, "first")
    assert (mark.value, mark.evidence, mark.comment) == (2, "on the tablet", "unasked")


def test_a_whole_sheet_tells_whose_words_it_replaced(asked: Interview, ben: User):
    client = as_person(ben)
    client.post(sheet_of(asked), {"reason": "at the desk"})
    stale = {"reason": "on the tablet", "was-reason": "", "keep": "1"}
    assert "yours took its place: at the desk" in client.post(sheet_of(asked), stale, follow=True).content.decode()


def test_a_sheet_that_sends_no_reason_keeps_the_one_there_is(asked: Interview, ben: User):
    client = as_person(ben)
    client.post(sheet_of(asked), {"reason": "at the desk", "verdict": "yes"})
    assert client.post(sheet_of(asked), {"was-reason": "at the desk", "keep": "1"}).status_code == 302
    asked.refresh_from_db()
    assert asked.folded().calls[str(ben.pk)].reason == "at the desk"


def test_what_is_kept_is_what_the_row_goes_on_from(asked: Interview, ben: User):
    told = as_person(ben).post(sheet_of(asked), sent_by_a_row(evidence="so "), headers={"HX-Request": "true"})
    assert 'name="was-evidence-0-first" value="so " hx-swap-oob="true"' in told.content.decode()


def test_too_long_an_evidence_is_said_beside_it_and_stays(asked: Interview, ben: User):
    sent = ALL | CALL | {"hand_in": "1", "evidence-0-second": "x" * 2001}
    text = as_person(ben).post(sheet_of(asked), sent, headers={"HX-Request": "true"}).content.decode()
    assert "At most 2,000 characters; this is 2,001." in text
    assert "x" * 2001 in text
    asked.refresh_from_db()
    assert asked.folded().submitted == {}


def test_fields_of_no_question_are_refused(asked: Interview, ben: User):
    for name in ("value-7-first", "value-0-nothing", "evidence-1-first"):
        answer = as_person(ben).post(sheet_of(asked), {name: "1"}, headers={"HX-Request": "true"})
        assert answer.status_code == 200
    asked.refresh_from_db()
    assert set(asked.folded().marks.get(str(ben.pk), {})) <= {"1"}  # the second was asked, then skipped


def test_others_scores_show_once_ones_own_are_in(asked: Interview, ben: User, dana: User, act: Act):
    for point in ("first", "second", "third"):
        act(dana, "score", 70, position=0, point=point, value=1, evidence="EVIDENCE of Dana")
    act(dana, "call", 80, verdict="no", level="staff", reason="REASON of Dana")
    act(dana, "submit", 90)
    fragment = {"HX-Request": "true"}
    assert "of Dana" not in as_person(ben).get(sheet_of(asked), headers=fragment).content.decode()
    as_person(ben).post(sheet_of(asked), ALL | CALL | {"hand_in": "1"}, headers=fragment | {"HX-Target": "scores"})
    text = as_person(ben).get(sheet_of(asked), headers=fragment).content.decode()
    assert "EVIDENCE of Dana" in text
    assert "REASON of Dana" in text
    act(ben, "end", 100)
    assert "EVIDENCE of Dana" in as_person(ben).get(forms_of(asked)[0]).content.decode()


def test_a_report_is_blind_until_ones_own_scores_are_in(asked: Interview, ben: User, dana: User, act: Act):
    for point in ("first", "second", "third"):
        act(dana, "score", 70, position=0, point=point, value=1, evidence="EVIDENCE of Dana")
    act(dana, "call", 80, verdict="no", level="staff", reason="REASON of Dana")
    act(dana, "submit", 90)
    act(ben, "end", 100)
    for address in forms_of(asked):
        text = as_person(ben).get(address).content.decode()
        assert "of Dana" not in text
        assert "Your own scores come first" in text
    answer = as_person(ben).post(sheet_of(asked), ALL | CALL | {"hand_in": "1"}, headers={"HX-Request": "true"})
    assert answer.headers["HX-Redirect"] == forms_of(asked)[0]


def test_what_was_handed_in_stays(ended: Interview, ben: User):
    as_person(ben).post(sheet_of(ended), {"value-0-first": "0", "hand_in": "1"})
    ended.refresh_from_db()
    assert ended.folded().mark(str(ben.pk), 0, "first").value == 3


def test_nothing_new_is_an_empty_answer(asked: Interview, ben: User):
    asked.refresh_from_db()
    at = asked.log_length
    assert as_person(ben).get(sheet_of(asked), {"after": at}).status_code == 204
    record(ben, asked, "note", {"text": "x"}, NOON + timedelta(minutes=2))
    answer = as_person(ben).get(sheet_of(asked), {"after": at}, headers={"HX-Request": "true"})
    assert answer.status_code == 200


def test_before_the_debrief_there_is_no_sheet(interview: Interview, ben: User, act: Act):
    act(ben, "start")
    assert as_person(ben).get(sheet_of(interview)).status_code == 403


def test_as_markdown_a_report_reads_as_a_document(ended: Interview, ben: User):
    text = as_person(ben).get(forms_of(ended)[2]).content.decode()
    assert "| 1. About blocks | 5 | 4 (−1) | 4.5 | 9 | 0:00 | 6 | 1 |" in text
    assert "- Point second: 1.5 of 3 (you 2; Dana 1 (−1))\n  - You: EVIDENCE of Ben; COMMENT of Ben" in text
    assert "- You: yes, staff: REASON of Ben" in text
    assert "2 of 3 points scored alike." in text  # too few for a kappa
    assert "Scenario of blocks. **What happens?**" in text


# Alone, and among many

def test_who_was_alone_reads_all_and_takes_what_they_missed(ada: User):
    plan = [{"slug": question("blocks").slug, "minutes": 6}]
    row = plan_interview(None, ada, ada, NOON, minutes=20, plan=plan, spec={})
    from mocks.services import begin
    begin(ada, row, NOON)
    for kind, detail in (
        ("ask", {"position": 0}), ("phase", {"to": "score"}), ("score", {"position": 0, "point": "first", "value": 1}),
        ("debrief", {}), ("end", {}),
    ):
        record(ada, row, kind, detail, NOON + timedelta(minutes=1))
    client = as_person(ada)
    text = client.get(forms_of(row)[0]).content.decode()
    assert "staff answer of blocks" in text
    assert "Put this question into my drill" in text
    assert "may see" not in text
    client.post(reverse("mocks:take_missed", args=[row.code]))
    assert ada.cards.get(question__slug="blocks").asked
    assert json.loads(client.get(forms_of(row)[-1]).content)["questions"][0]["score"] == 1


def test_five_interviews_of_a_team_show_their_spread(ended: Interview, ada: User, ben: User):
    def copies(n: int) -> None:
        for _ in range(n):
            row = plan_interview(ended.team, ben, ada, NOON, minutes=30, plan=ended.plan, spec={})
            Interview.objects.filter(pk=row.pk).update(state=ended.state, asked=ended.asked, phase="over")

    copies(3)
    page = as_person(ben).get(forms_of(ended)[0]).content.decode()
    assert "4 so far; shown from 5" in page
    copies(1)
    page = as_person(ben).get(forms_of(ended)[0]).content.decode()
    assert "5 interviews of the team: from 50% to 50%, half of them up to 50%; Ada 50%." in page
    assert page.count('class="ring"') == 4 * 5  # the question and its three points
