"""The room's page, its news, and what its forms do."""
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from mocks import services
from mocks.models import Event, Interview, Membership
from mocks.room import Phase, Role, fold
from mocks.room_views import kept, text_before
from mocks.sides import mark_of
from questions.models import Embargo

HTMX = {"HX-Request": "true"}
JSON = {"Accept": "application/json"}
KEPT_FROM_ADA = [
    "staff answer of", "The catch.", "The measure.", "Point first.", "names first", "bounds third", "First hint of",
    "Second hint of", "The key of", "doubled?", "It is not.", "About blocks", "About steps", "Scenario of steps",
    "evidence-of-ben", "comment-of-ben", "note-of-ben", "note-of-chen",
]


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def as_ben(ben: User) -> Client:
    return signed_in(ben)


@pytest.fixture
def as_chen(chen: User) -> Client:
    return signed_in(chen)


@pytest.fixture
def room(interview: Interview) -> str:
    return f"/mock/{interview.code}/"


@pytest.fixture
def do(interview: Interview, room: str) -> Callable[..., Any]:
    """Send a form of the room's, with the stamp that a fresh page would have."""

    def sent(client: Client, kind: str, *, headers: dict[str, str] | None = None, **fields: Any) -> Any:
        stamp = Interview.objects.get(pk=interview.pk).folded().stamp
        fields = {"stamp": stamp, "key": str(uuid4())} | fields
        return client.post(f"{room}do/{kind}/", fields, headers=headers or {})

    return sent


@pytest.fixture
def asking(do: Callable[..., Any], as_ben: Client, interview: Interview) -> Interview:
    """The first question is being asked."""
    do(as_ben, "start")
    do(as_ben, "ask", position=0)
    interview.refresh_from_db()
    assert interview.phase == Phase.ANSWER
    return interview


def news(client: Client, room: str, page: str, **more: str) -> Any:
    """What the feed says to a page as it was made."""
    at = {name: page.split(f'name="{name}" value="')[1].split('"')[0] for name in ("after", "here")}
    seen = ",".join(
        f"{piece.split(chr(34))[0]}:{piece.split('data-seen=' + chr(34))[1].split(chr(34))[0]}"
        for piece in page.split('data-region="')[1:])
    return client.get(f"{room}feed/", at | {"seen": seen} | more, headers=HTMX)


def text(client: Client, room: str) -> str:
    answer = client.get(room)
    assert answer.status_code == 200
    return answer.content.decode()


# Who is in

def test_a_stranger_finds_no_room_at_any_of_its_addresses(eve: User, room: str, interview: Interview):
    client = signed_in(eve)
    assert [client.get(room + rest).status_code for rest in ("", "feed/", "lab/")] == [404, 404, 404]
    assert client.post(f"{room}do/note/", {"text": "x"}).status_code == 404
    assert not Event.objects.exists()


def test_a_page_of_somebody_who_is_out_leaves_at_the_next_news(as_chen: Client, room: str, chen: User):
    page = text(as_chen, room)
    Membership.objects.filter(user=chen).update(role="candidate")
    answer = news(as_chen, room, page)
    assert (answer["HX-Redirect"], answer.content) == ("/mock/", b"")
    assert "no longer in that interview" in text(as_chen, "/mock/")
    assert as_chen.get(room).status_code == 404


def test_news_of_no_room_reads_as_of_one_that_is_closed(as_chen: Client, eve: User, room: str):
    answers = [signed_in(eve).get(address, headers=HTMX) for address in (f"{room}feed/", "/mock/nowhere/feed/")]
    assert [(one.status_code, one["HX-Redirect"]) for one in answers] == [(200, "/mock/"), (200, "/mock/")]


def test_a_kept_field_of_somebody_who_is_out_is_told_to_leave(asking: Interview, as_ada: Client, ada: User, room: str):
    Membership.objects.filter(user=ada).delete()
    answer = as_ada.post(f"{room}do/scratch/", {"text": "x", "position": "0"}, headers=JSON)
    assert answer.json() == {"leave": "/mock/"}


def test_the_owner_without_a_part_sees_what_the_candidate_sees(
    asking: Interview, team: Any, room: str, kim: User, do: Callable[..., Any]
):
    Membership.objects.create(team=team, user=kim, role="owner", joined_at=timezone.now())
    page = text(signed_in(kim), room)
    assert "Scenario of blocks" in page
    assert "staff answer of" not in page
    assert 'name="text"' not in page


# What each sees

def test_each_phase_tells_the_candidate_nothing_that_was_not_revealed(
    do: Callable[..., Any], as_ada: Client, as_ben: Client, as_chen: Client, room: str, interview: Interview
):
    def walk() -> str:
        page = text(as_ada, room)
        return page + as_ada.get(f"{room}feed/", headers=HTMX).content.decode()

    def known() -> list[str]:
        page = walk()
        return [mark for mark in KEPT_FROM_ADA if mark in page]

    assert known() == []
    do(as_ben, "start")
    assert known() == []
    do(as_ben, "ask", position=0)
    do(as_ben, "score", position=0, point="first", value=3, evidence="evidence-of-ben", comment="comment-of-ben")
    do(as_ben, "note", text="note-of-ben")
    do(as_chen, "note", text="note-of-chen")
    assert known() == []
    assert "Scenario of blocks" in walk()
    do(as_ben, "hint", number=0)
    assert known() == ["First hint of"]
    do(as_ben, "phase", to="follow-ups")
    do(as_ben, "follow_up", number=0)
    assert known() == ["First hint of", "doubled?"]
    do(as_ben, "phase", to="score")
    do(as_ben, "debrief")
    assert known() == []
    do(as_ben, "end")
    assert known() == []
    assert "The interview is over" in walk()


def test_an_interviewer_has_all_of_the_question_beside_it(asking: Interview, as_ben: Client, room: str):
    page = text(as_ben, room)
    for words in ("Scenario of blocks", "staff answer of blocks", "bounds third", "Second hint of blocks", "The key of",
                  "It is free.", "About steps"):
        assert words in page


def test_the_candidates_page_says_what_is_kept_and_who_reads_it(as_ada: Client, room: str):
    page = text(as_ada, room)
    assert "Kept: what you type here, lab settings, times and hints shown. Ben may read it" in page
    assert "Chen only until the interview ends" in page
    assert "the staff answers and rubrics of the whole bank are closed to you" in page


def test_an_owner_who_does_not_interview_is_named_among_the_readers(
    as_ada: Client, room: str, ada: User, ben: User, chen: User
):
    Membership.objects.filter(user=ben).update(role="interviewer")
    Membership.objects.filter(user=chen).update(role="owner")
    assert "Ben and the team’s owner may read it" in text(as_ada, room)
    Membership.objects.filter(user=chen).update(role="observer")
    Membership.objects.filter(user=ada).update(role="owner")
    assert "Ben may read it" in text(as_ada, room)


def test_a_text_of_the_candidate_is_text(asking: Interview, as_ada: Client, as_ben: Client, room: str, do: Any):
    do(as_ada, "scratch", position=0, text="<script>alert(1)</script>")
    for client in (as_ada, as_ben):
        assert "<script>alert" not in text(client, room)


# News

def test_a_quiet_room_has_no_news(asking: Interview, as_ada: Client, as_ben: Client, room: str):
    for client in (as_ada, as_ben):
        text(client, room)
    for client in (as_ada, as_ben):
        assert news(client, room, text(client, room)).status_code == 204


def test_who_is_interviewed_elsewhere_hears_nothing_of_a_room_they_lead(
    asking: Interview, as_ben: Client, ben: User, room: str, do: Any
):
    page = text(as_ben, room)
    do(as_ben, "hint", number=0)
    now = timezone.now()
    Embargo.objects.create(user=ben, reference="elsewhere", begins_at=now, ends_at=now + timedelta(hours=1))
    answer = news(as_ben, room, page)
    assert answer.status_code == 403
    assert "hint" not in answer.content.decode().lower()


def test_what_changed_is_sent_and_nothing_else(asking: Interview, as_ada: Client, as_ben: Client, room: str, do: Any):
    page = text(as_ada, room)
    do(as_ben, "hint", number=0)
    answer = news(as_ada, room, page).content.decode()
    assert "First hint of blocks" in answer
    assert 'id="room-shown"' in answer
    assert 'id="room-scratch"' not in answer


def test_the_candidates_page_hears_nothing_of_scores_and_notes(
    asking: Interview, as_ada: Client, as_ben: Client, as_chen: Client, room: str, do: Any
):
    pages = {client: text(client, room) for client in (as_ada, as_chen, as_ada, as_chen)}
    do(as_ben, "score", position=0, point="first", value=3)
    do(as_ben, "note", text="note-of-ben")
    assert [news(client, room, page).status_code for client, page in pages.items()] == [204, 204]


def test_the_scratchpad_reaches_the_interviewer(asking: Interview, as_ada: Client, as_ben: Client, room: str, do: Any):
    text(as_ada, room)
    page = text(as_ben, room)
    do(as_ada, "scratch", position=0, text="3 x 10 = 30")
    assert "3 x 10 = 30" in news(as_ben, room, page).content.decode()


def test_what_happens_while_a_page_is_made_is_news_for_it(
    asking: Interview, as_ben: Client, ben: User, room: str, monkeypatch: pytest.MonkeyPatch
):
    def look(row: Interview, now: Any) -> Any:
        state = row.folded()
        if not Event.objects.filter(kind="note").exists():
            services.record(ben, row, "note", {"text": "as it was made"}, now)
        return state

    monkeypatch.setattr(services, "look", look)
    page = text(as_ben, room)
    assert "as it was made" not in page
    assert "as it was made" in news(as_ben, room, page).content.decode()


def test_who_comes_and_goes_is_news(asking: Interview, as_ada: Client, as_ben: Client, room: str, chen: User):
    page = text(as_ben, room)
    text(as_ada, room)
    assert "Ada is here" in news(as_ben, room, page).content.decode()
    page = text(as_ben, room)
    interview_seats = asking.seats.exclude(user__email="ben@example.org")
    interview_seats.update(seen_at=timezone.now() - timedelta(minutes=1))
    assert "is not here" in news(as_ben, room, page).content.decode()


def test_the_news_stops_once_it_is_over(asking: Interview, as_ada: Client, as_ben: Client, room: str, do: Any):
    page = text(as_ada, room)
    do(as_ben, "end")
    answer = news(as_ada, room, page).content.decode()
    assert '<div id="feed" hx-swap-oob="true"></div>' in answer
    assert 'hx-trigger="every 1s"' not in text(as_ada, room)


# Acts

def test_the_same_form_twice_is_one_act(asking: Interview, as_ben: Client, do: Any):
    key = str(uuid4())
    for _ in range(2):
        do(as_ben, "note", text="hm", key=key)
    assert Event.objects.filter(kind="note").count() == 1


def test_an_act_has_the_orm_read_the_room_once_under_its_lock(asking: Interview, as_ben: Client, room: str):
    with CaptureQueriesContext(connection) as queries:
        answer = as_ben.post(f"{room}do/hint/", {"number": 0}, headers=HTMX)
    assert "First hint of blocks." in answer.content.decode()
    assert sum('FROM "mocks_interview"' in query["sql"] for query in queries) == 1


def test_a_second_interviewers_click_moves_nothing_twice(asking: Interview, as_ben: Client, room: str):
    stamp = asking.folded().stamp
    for _ in range(2):
        answer = as_ben.post(f"{room}do/phase/", {"to": "follow-ups", "stamp": stamp, "key": str(uuid4())}, follow=True)
    assert "You moved on meanwhile" in answer.content.decode()
    asking.refresh_from_db()
    assert asking.folded().phase == Phase.FOLLOW_UPS
    assert Event.objects.filter(kind="phase").count() == 1


def test_an_act_without_a_stamp_moves_nothing(asking: Interview, as_ben: Client, room: str):
    as_ben.post(f"{room}do/debrief/", {})
    as_ben.post(f"{room}do/end/", {})
    asking.refresh_from_db()
    assert asking.phase == Phase.ANSWER


def test_the_candidate_may_not_do_an_interviewers_act(asking: Interview, as_ada: Client, do: Any):
    answer = do(as_ada, "hint", number=0)
    assert answer.status_code == 302
    assert not Event.objects.filter(kind="hint").exists()


@pytest.mark.parametrize(("kind", "fields"), [
    ("hint", {"number": "first"}), ("extend", {"minutes": "9e9", "of": "all"}), ("ask", {"position": "-1"}),
    ("score", {"position": "0", "point": "first", "value": "9"}), ("score", {"position": "0"}), ("scratch", {}),
    ("push_lab", {"address": "https://elsewhere.example/scheduler"}), ("push_lab", {"address": "/settings/"}),
    ("push_lab", {"address": "/labs/scheduler?max_num_seqs=-5"}), ("note", {"text": "a\0b"}), ("note", {"text": " "}),
    ("drop_note", {"names": "x"}), ("phase", {"to": "over"}), ("call", {"verdict": "maybe"}),
])
def test_what_can_not_be_read_is_told_and_changes_nothing(
    asking: Interview, as_ben: Client, do: Any, kind: str, fields: dict[str, str]
):
    before = Event.objects.count()
    for headers in ({}, HTMX, JSON):
        assert do(as_ben, kind, headers=headers, **fields).status_code in (200, 302)
    assert Event.objects.count() == before


def test_an_act_that_there_is_not_is_not_found(asking: Interview, as_ben: Client, do: Any):
    assert do(as_ben, "shout").status_code == 404


def test_a_note_that_is_too_long_stays_in_its_field(asking: Interview, as_ben: Client, do: Any):
    answer = do(as_ben, "note", text="x" * 2001)
    assert answer.status_code == 200
    page = answer.content.decode()
    assert "x" * 2001 in page
    assert "A note takes at most 2,000 characters; this is 2,001." in page


def test_a_kept_field_that_holds_what_is_kept_makes_no_event(asking: Interview, as_ben: Client, do: Any):
    for _ in range(2):
        do(as_ben, "score", headers=JSON, position=0, point="first", value=2, evidence="", comment="")
    assert Event.objects.filter(kind="score").count() == 1


def test_before_a_question_the_scores_say_that_they_wait(interview: Interview, as_ben: Client, room: str, do: Any):
    assert "nothing to score before the first question" in text(as_ben, room)
    do(as_ben, "start")
    do(as_ben, "ask", position=0)
    assert "nothing to score before the first question" not in text(as_ben, room)


def test_a_score_is_taken_back(asking: Interview, as_ben: Client, ben: User, do: Any):
    do(as_ben, "score", headers=JSON, position=0, point="first", value=2)
    do(as_ben, "score", headers=JSON, position=0, point="first", value="")
    asking.refresh_from_db()
    assert asking.folded().mark(str(ben.pk), 0, "first").value is None


def test_the_last_writer_is_told_what_another_device_wrote(asking: Interview, as_ada: Client, do: Any):
    empty = mark_of("")
    first = do(as_ada, "scratch", headers=JSON, position=0, text="on the phone", **{"mark-text": empty}).json()
    assert first["marks"] == {"text": mark_of("on the phone")}
    assert "others" not in first
    second = do(as_ada, "scratch", headers=JSON, position=0, text="on the desk", **{"mark-text": empty}).json()
    assert second["marks"] == {"text": mark_of("on the desk")}
    assert second["others"] == {"text": "on the phone"}
    marks = {"mark-text": second["marks"]["text"]}
    third = do(as_ada, "scratch", headers=JSON, position=0, text="on the desk\nagain", **marks).json()
    assert "others" not in third


def test_a_page_that_had_all_has_all_with_what_it_wrote(
    asking: Interview, as_ada: Client, as_ben: Client, ada: User, room: str, do: Any
):
    do(as_ben, "note", text="of Ben alone")  # which no page of the candidate counts
    after = str(asking.open_length)
    told = do(as_ada, "scratch", headers=JSON, position=0, text="on the phone").json()["after"]
    assert told == [asking.open_length, asking.open_length + 1]
    here = as_ada.get(room).content.decode().split('name="here" value="')[1].split('"')[0]
    assert as_ada.get(f"{room}feed/", {"after": after, "here": here}, headers=HTMX).status_code == 200
    assert as_ada.get(f"{room}feed/", {"after": told[1], "here": here}, headers=HTMX).status_code == 204


def test_a_page_has_not_all_when_something_came_between(asking: Interview, ada: User, ben: User):
    before = Interview.objects.get(pk=asking.pk)
    services.record(ben, asking, "hint", {"number": 0}, timezone.now())
    event = services.record(ada, asking, "scratch", {"position": 0, "text": "late"}, timezone.now())
    assert "after" not in kept("scratch", event, QueryDict("text=late"), before)


def test_what_came_between_is_what_was_replaced(asking: Interview, ada: User):
    before = Interview.objects.get(pk=asking.pk)
    wrote = [services.record(ada, asking, "scratch", {"position": 0, "text": text}, timezone.now())
             for text in ("on the phone", "on the desk")]
    assert [text_before(event, "text", before) for event in wrote] == ["", "on the phone"]


def test_an_interviewers_second_device_is_told_whose_evidence_it_took_the_place_of(
    asking: Interview, as_ben: Client, do: Any
):
    shown = {"mark-evidence": mark_of(""), "mark-comment": mark_of(""), "position": 0, "point": "first"}
    do(as_ben, "score", headers=JSON, evidence="at the desk", comment="unasked", **shown)
    do(as_ben, "score", headers=JSON, evidence="of another point", **shown | {"point": "second"})
    told = do(as_ben, "score", headers=JSON, evidence="on the tablet", **shown).json()
    assert told == {"marks": {"evidence": mark_of("on the tablet")}, "others": {"evidence": "at the desk"}}
    again = shown | {"mark-evidence": told["marks"]["evidence"]}
    assert "others" not in do(as_ben, "score", headers=JSON, evidence="on the tablet, on", **again).json()


def test_a_score_form_left_open_undoes_no_words_and_tells_whose_it_replaced(
    asking: Interview, as_ben: Client, ben: User, room: str, do: Any
):
    shown = {"mark-evidence": mark_of(""), "mark-comment": mark_of(""), "position": 0, "point": "first"}
    do(as_ben, "score", value=1, evidence="at the desk", comment="unasked", **shown)
    do(as_ben, "score", value=2, evidence="on the tablet", comment="", **shown)
    asking.refresh_from_db()
    mark = asking.folded().mark(str(ben.pk), 0, "first")
    assert (mark.value, mark.evidence, mark.comment) == (2, "on the tablet", "unasked")
    assert "yours took its place: at the desk" in text(as_ben, room)


def test_a_text_of_the_question_before_does_not_land_in_the_next(
    asking: Interview, as_ada: Client, as_ben: Client, do: Any
):
    do(as_ben, "ask", position=1)
    do(as_ada, "scratch", headers=JSON, position=0, text="still about blocks")
    asking.refresh_from_db()
    assert [item.scratch for item in asking.folded().items] == ["still about blocks", ""]


def test_after_everything_the_state_is_the_fold(asking: Interview, as_ada: Client, as_ben: Client, do: Any):
    do(as_ada, "scratch", position=0, text="x")
    do(as_ben, "pause")
    do(as_ben, "resume")
    do(as_ben, "extend", minutes=2, of="question")
    do(as_ben, "skip")
    do(as_ben, "ask", position=1)
    asking.refresh_from_db()
    assert asking.folded() == fold(asking.log())
    assert asking.open_length == asking.log_length


def test_an_interviewer_looks_back(asking: Interview, as_ben: Client, room: str, do: Any):
    do(as_ben, "ask", position=1)
    page = as_ben.get(room, {"look": "1"}).content.decode()
    assert "staff answer of blocks" in page
    assert "You look back at question 1" in page


def test_an_interview_can_be_called_off_and_says_so(interview: Interview, as_ada: Client, ben: User, room: str):
    services.record(ben, interview, "call_off", {}, timezone.now())
    assert "This interview was called off." in text(as_ada, room)


# The lab

KV = "/labs/kv-size"


def test_a_pushed_lab_holds_its_result_until_a_number_is_said(
    asking: Interview, as_ada: Client, as_ben: Client, room: str, do: Any
):
    do(as_ben, "push_lab", address=KV)
    asked = {"in": "room"}
    page = as_ada.get(f"{room}lab/", asked, headers=HTMX).content.decode()
    assert "The result waits for your number" in page
    assert "Knobs" not in page
    changed = as_ada.get(f"{room}lab/", {"layers": "64"}, headers=HTMX).content.decode()
    assert "The result waits for your number" in changed
    assert Event.objects.filter(kind__in=("set_lab", "commit_lab")).count() == 0
    page = as_ada.get(f"{room}lab/", {"ask": "1", "said": "100"}, headers=HTMX).content.decode()
    assert "You said" in page
    assert "Knobs" in page
    event = Event.objects.get(kind="commit_lab")
    assert event.detail["typed"] == "100"


def test_what_is_set_after_the_commit_is_recorded_and_seen(
    asking: Interview, as_ada: Client, as_ben: Client, room: str, do: Any
):
    do(as_ben, "push_lab", address=KV)
    as_ada.get(f"{room}lab/", {"ask": "1", "said": "100"}, headers=HTMX)
    page = text(as_ben, room)
    as_ada.get(f"{room}lab/", {"pool_gib": "40"}, headers=HTMX)
    as_ada.get(f"{room}lab/", {"pool_gib": "40"}, headers=HTMX)
    assert [one.detail["address"] for one in Event.objects.filter(kind="set_lab")] == [f"{KV}?pool_gib=40"]
    assert "pool_gib=40" in news(as_ben, room, page).content.decode()


def test_a_step_is_said_before_it_is_shown(asking: Interview, as_ada: Client, as_ben: Client, room: str, do: Any):
    do(as_ben, "push_lab", address="/labs/scheduler?step=4")

    def lab(**given: str) -> str:
        return as_ada.get(f"{room}lab/", given, headers=HTMX).content.decode()

    assert "Say step 4 first" in lab()  # one before the step that the address shows
    assert "Say step 4 first" in lab(step="9")
    assert "flashcards" not in lab()
    assert not Event.objects.filter(kind="set_lab").exists()
    said = lab(step="4", said_A="1")
    assert "Step 4:" in said
    assert Event.objects.filter(kind="commit_lab").count() == 1
    assert "Say step 10 first" in lab(step="9")
    assert Event.objects.filter(kind="set_lab").count() == 1


def test_a_questions_own_lab_stands_a_step_before_already(
    asking: Interview, as_ada: Client, as_ben: Client, room: str, do: Any
):
    do(as_ben, "push_lab", address="/labs/scheduler?step=4", stands="before")
    assert "Say step 5 first" in as_ada.get(f"{room}lab/", headers=HTMX).content.decode()
    do(as_ben, "push_lab", address="javascript:alert(1)", stands="before")
    assert Event.objects.filter(kind="push_lab").count() == 1


def test_the_labs_own_address_leads_its_candidate_to_the_room_while_it_waits(
    asking: Interview, as_ada: Client, as_ben: Client, client: Client, room: str, do: Any
):
    assert as_ada.get(KV).status_code == 200
    do(as_ben, "push_lab", address=KV)
    for address in (KV, f"{KV}?layers=64"):
        assert as_ada.get(address).url == f"{room}lab/"
    assert "say there first what it will show" in as_ada.get(KV, follow=True).content.decode()
    assert as_ada.get(KV, headers=HTMX)["HX-Redirect"] == f"{room}lab/"
    told = as_ada.get(f"{KV}.json")
    assert (told.status_code, told.json()["result"]) == (403, None)
    assert [one.get(KV).status_code for one in (as_ben, client)] == [200, 200]
    assert as_ada.get("/labs/scheduler").status_code == 200
    as_ada.get(f"{room}lab/", {"ask": "1", "said": "100"}, headers=HTMX)
    assert as_ada.get(KV).status_code == 200


def test_a_lab_that_waits_keeps_nobody_who_is_out_of_the_room(
    asking: Interview, as_ada: Client, as_ben: Client, ada: User, do: Any
):
    do(as_ben, "push_lab", address=KV)
    Membership.objects.filter(user=ada).delete()
    assert as_ada.get(KV).status_code == 200


def test_an_interviewer_who_opens_the_rooms_lab_sets_nothing(asking: Interview, as_ben: Client, room: str, do: Any):
    do(as_ben, "push_lab", address=KV)
    assert as_ben.get(f"{room}lab/", {"layers": "64"}).status_code == 200
    assert not Event.objects.filter(kind="set_lab").exists()


def test_without_a_lab_its_address_leads_to_the_room(asking: Interview, as_ada: Client, room: str):
    assert as_ada.get(f"{room}lab/").url == room


def test_the_lab_is_a_page_of_its_own_without_htmx(
    asking: Interview, as_ada: Client, as_ben: Client, room: str, do: Any
):
    do(as_ben, "push_lab", address=KV)
    page = text(as_ada, f"{room}lab/")
    assert "Back to the question" in page
    assert f'action="{room}lab/?in=room&amp;"' in page


def test_two_interviewers_have_each_their_own_scores(
    asking: Interview, as_ben: Client, kim: User, team: Any, room: str, do: Any
):
    Membership.objects.create(team=team, user=kim, role="interviewer", joined_at=timezone.now())
    services.seat(asking, {kim: Role.INTERVIEWER})
    do(as_ben, "score", position=0, point="first", value=3, evidence="evidence-of-ben")
    page = text(signed_in(kim), room)
    assert "evidence-of-ben" not in page
    assert " checked" not in page.split('data-points')[1]
