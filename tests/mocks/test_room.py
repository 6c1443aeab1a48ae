"""The fold: times by hand from the events' instants, and what each event leaves."""
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.models.base import Refusal
from mocks.room import ASKING, RUNNING, STEPS, Call, Event, Mark, Role, Room, fold, refuse, step

ITEMS = [
    {"slug": slug, "minutes": 6, "points": ["p", "q"], "hints": 2, "follow_ups": 1} for slug in ("blocks", "steps")
]
MINUTE = 60_000


def told(*acts: tuple[Any, ...]) -> list[Event]:
    """Events from (minute, kind, detail, actor "1" unless named)."""
    return [
        Event(at, kind, rest[1] if len(rest) > 1 else "1", round(minute * MINUTE), rest[0] if rest else {})
        for at, (minute, kind, *rest) in enumerate(acts, 1)
    ]


BEGUN = [(0, "start", {"items": ITEMS, "minutes": 30}), (2, "ask", {"position": 0})]


def test_a_question_is_charged_what_it_was_asked_for_and_the_whole_everything():
    room = fold(told(
        *BEGUN, (5, "pause"), (9, "resume"), (10, "phase", {"to": "follow-ups"}), (12, "phase", {"to": "score"}),
        (15, "ask", {"position": 1})))
    # 2 to 5 and 9 to 12; the brief's 2, those 6 and the score's 3.
    assert room.items[0].spent_ms == 6 * MINUTE
    assert room.clock_ms(16 * MINUTE) == (2 + 3 + 3 + 3 + 1) * MINUTE
    assert room.question_ms(16 * MINUTE) == MINUTE


def test_scoring_is_not_charged_to_the_question():
    room = fold(told(*BEGUN, (5, "phase", {"to": "score"})))
    assert room.question_ms(9 * MINUTE) == 3 * MINUTE


def test_a_question_asked_again_goes_on_where_it_stood():
    room = fold(told(
        *BEGUN, (4, "phase", {"to": "score"}), (5, "ask", {"position": 1}), (6, "phase", {"to": "score"}),
        (7, "ask", {"position": 0})))
    assert room.question_ms(8 * MINUTE) == 3 * MINUTE


def test_a_clock_set_back_takes_no_time_away():
    room = fold(told(*BEGUN, (1, "phase", {"to": "score"})))
    assert (room.items[0].spent_ms, room.clock_ms(0)) == (0, 2 * MINUTE)


def test_the_end_stops_the_clock():
    room = fold(told(*BEGUN, (5, "phase", {"to": "score"}), (6, "debrief"), (8, "end")))
    assert (room.is_over, room.ended_ms, room.clock_ms(100 * MINUTE)) == (True, 8 * MINUTE, 8 * MINUTE)


def test_called_off_it_has_neither_begun_nor_ended():
    room = fold(told((0, "call_off")))
    assert (room.is_called_off, room.has_begun, room.is_over) == (True, False, False)


def test_the_time_of_a_question_is_up_later_for_each_pause_and_extension():
    assert fold(told(*BEGUN)).time_up_ms == 8 * MINUTE
    assert fold(told(*BEGUN, (4, "pause"))).time_up_ms is None
    assert fold(told(*BEGUN, (4, "pause"), (7, "resume"))).time_up_ms == 11 * MINUTE
    assert fold(told(*BEGUN, (4, "extend", {"minutes": 2, "of": "question"}))).time_up_ms == 10 * MINUTE
    assert fold(told(*BEGUN, (4, "phase", {"to": "score"}))).time_up_ms is None


def test_an_extension_moves_the_wall_it_names():
    room = fold(told(
        *BEGUN, (3, "extend", {"minutes": 2, "of": "question"}), (3, "extend", {"minutes": 5, "of": "all"})))
    assert (room.items[0].allowed_ms, room.allowed_ms) == (8 * MINUTE, 35 * MINUTE)


def test_a_reveal_bears_the_questions_clock():
    room = fold(told(*BEGUN, (4.5, "hint", {"number": 0})))
    assert [(one.number, one.clock_ms) for one in room.items[0].shown_hints] == [(0, 150_000)]


def test_a_note_bears_clock_phase_and_question():
    room = fold(told(*BEGUN, (3, "note", {"text": "said swap"}, "2")))
    remark = room.remarks[0]
    assert (remark.by, remark.clock_ms, remark.question_ms, remark.phase, remark.position) == (
        "2", 3 * MINUTE, MINUTE, "answer", 0)
    assert fold(told(*BEGUN, (3, "note", {"text": "x"}), (4, "drop_note", {"names": 3}))).remarks == ()


def test_a_lab_holds_until_something_is_committed_and_holds_again_when_pushed_anew():
    acts = [*BEGUN, (3, "push_lab", {"address": "/labs/a"})]
    assert not fold(told(*acts)).item.lab_committed
    acts += [(4, "commit_lab", {"address": "/labs/a", "typed": "65"}), (5, "set_lab", {"address": "/labs/a?n=2"})]
    room = fold(told(*acts))
    assert (room.item.lab_committed, room.item.lab.address) == (True, "/labs/a?n=2")
    assert not fold(told(*acts, (6, "push_lab", {"address": "/labs/b"}))).item.lab_committed


def test_marks_are_each_interviewers_own_and_change_only_what_is_named():
    room = fold(told(
        *BEGUN, (3, "score", {"position": 0, "point": "p", "value": 2}),
        (3, "score", {"position": 0, "point": "p", "evidence": "said so"}),
        (3, "score", {"position": 0, "point": "p", "value": 1}, "2")))
    assert room.mark("1", 0, "p") == Mark(2, "said so", clock_ms=MINUTE)
    assert room.mark("2", 0, "p") == Mark(1, clock_ms=MINUTE)
    assert room.unscored("1") == [(0, "q")]


def test_a_mark_changed_when_its_question_is_past_keeps_the_clock_it_had():
    scored = (3, "score", {"position": 0, "point": "p", "value": 2})
    room = fold(told(*BEGUN, scored, (4, "phase", {"to": "score"}), (5, "ask", {"position": 1}),
                     (6, "score", {"position": 0, "point": "p", "value": 1}),
                     (7, "score", {"position": 0, "point": "q", "value": 0})))
    assert room.mark("1", 0, "p") == Mark(1, clock_ms=MINUTE)
    assert room.mark("1", 0, "q") == Mark(0)


def test_a_call_is_changed_in_what_is_named():
    called = {"verdict": "yes", "level": "staff", "reason": "clear"}
    room = fold(told(*BEGUN, (3, "call", called), (4, "call", {"level": "senior"})))
    assert room.calls["1"] == Call("yes", "senior", "clear")


def test_acts_of_the_interviewers_alone_are_not_counted_for_the_others():
    room = fold(told(
        *BEGUN, (3, "score", {"position": 0, "point": "p", "value": 2}), (3, "note", {"text": "x"}),
        (3, "hint", {"number": 0})))
    assert (room.length, room.open_length) == (5, 3)


def late(minute: float, position: int = 0) -> Event:
    return Event(9, "scratch", "2", round(minute * MINUTE), {"text": "x", "position": position})


def test_a_text_typed_before_the_interview_moved_on_still_arrives_for_a_moment():
    room = fold(told(*BEGUN, (3, "phase", {"to": "score"}), (4, "ask", {"position": 1})))
    refuse(room, late(4.2), Role.CANDIDATE)
    assert [item.scratch for item in step(room, late(4.2)).items] == ["x", ""]
    with pytest.raises(Refusal, match="is over"):
        refuse(room, late(4.3), Role.CANDIDATE)
    refuse(room, late(5, position=1), Role.CANDIDATE)


def test_no_text_comes_to_a_question_that_is_not_asked_yet():
    with pytest.raises(Refusal, match="is over"):
        refuse(fold(told(*BEGUN)), late(2.1, position=1), Role.CANDIDATE)


def ready() -> list[tuple[Any, ...]]:
    return [*BEGUN, (3, "skip"), (4, "debrief"), (5, "call", {"verdict": "yes", "reason": "clear"})]


@pytest.mark.parametrize(("acts", "kind", "detail", "role", "sentence"), [
    ([], "ask", {"position": 0}, Role.INTERVIEWER, "Not now"),
    (BEGUN, "ask", {"position": 2}, Role.INTERVIEWER, "no such question"),
    (BEGUN, "ask", {"position": True}, Role.INTERVIEWER, "no such question"),
    (BEGUN, "ask", {"position": 0}, Role.INTERVIEWER, "being asked"),
    (BEGUN, "phase", {"to": "answer"}, Role.INTERVIEWER, "moved on"),
    (BEGUN, "hint", {"number": 1}, Role.INTERVIEWER, "in their order"),
    ([*BEGUN, (3, "hint", {"number": 0})], "hint", {"number": 0}, Role.INTERVIEWER, "shown already"),
    (BEGUN, "hint", {"number": 2}, Role.INTERVIEWER, "no such line"),
    (BEGUN, "hint", {"number": 0}, Role.CANDIDATE, "Your part"),
    (BEGUN, "note", {"text": "x"}, Role.CANDIDATE, "Your part"),
    (BEGUN, "scratch", {"text": "x"}, Role.INTERVIEWER, "Your part"),
    (BEGUN, "scratch", {"text": "x" * 20_001}, Role.CANDIDATE, "20,000"),
    (BEGUN, "scratch", {"text": "a\0b"}, Role.CANDIDATE, "can’t be kept"),
    (BEGUN, "set_lab", {"address": "/labs/a"}, Role.CANDIDATE, "No lab is open"),
    (BEGUN, "score", {"position": 0, "point": "p", "value": 4}, Role.INTERVIEWER, "0, 1, 2 or 3"),
    (BEGUN, "score", {"position": 1, "point": "p", "value": 3}, Role.INTERVIEWER, "not been asked"),
    (BEGUN, "score", {"position": 0, "point": "z", "value": 3}, Role.INTERVIEWER, "no such point"),
    (BEGUN, "extend", {"minutes": 0, "of": "all"}, Role.INTERVIEWER, "1 to 60"),
    (BEGUN, "submit", {}, Role.INTERVIEWER, "Not now"),
    ([*BEGUN, (3, "phase", {"to": "score"}), (4, "debrief")], "submit", {}, Role.INTERVIEWER, "2 points have no score"),
    ([*ready(), (5, "submit")], "score", {"position": 0, "point": "p", "value": 3}, Role.INTERVIEWER, "scores are in"),
    (ready(), "agree_call", {"verdict": "yes"}, Role.INTERVIEWER, "Your own scores come first"),
    (BEGUN, "call", {"level": "novice"}, Role.INTERVIEWER, "senior, staff, principal"),
    (BEGUN, "release", {"parts": ["scores"]}, Role.INTERVIEWER, "Your part"),
    (BEGUN, "shout", {}, Role.INTERVIEWER, "no such act"),
])
def test_what_is_refused(acts: list[Any], kind: str, detail: dict[str, Any], role: Role, sentence: str):
    room = fold(told(*acts))
    with pytest.raises(Refusal, match=sentence):
        refuse(room, Event(room.length + 1, kind, "1", 9 * MINUTE, detail), role)


def test_a_skipped_question_needs_no_score():
    room = fold(told(*ready()))
    refuse(room, Event(room.length + 1, "submit", "1", 6 * MINUTE), Role.INTERVIEWER)


def test_the_owner_calls_off_without_a_seat():
    refuse(Room(), Event(1, "call_off", "9", 0), None, releases=True)
    with pytest.raises(Refusal):
        refuse(Room(), Event(1, "call_off", "9", 0), None)
    with pytest.raises(Refusal, match="Not now"):
        refuse(fold(told(*BEGUN)), Event(3, "call_off", "9", 0), Role.INTERVIEWER)


def test_the_owner_releases_without_a_seat():
    room = fold(told(*ready(), (6, "end")))
    event = Event(room.length + 1, "release", "9", 7 * MINUTE, {"parts": ["answers", "scores"]})
    refuse(room, event, None, releases=True)
    assert step(room, event).released == ("scores", "answers")


DETAILS = st.fixed_dictionaries({
    "items": st.just(ITEMS), "minutes": st.integers(1, 60), "position": st.integers(0, 1), "number": st.integers(0, 1),
    "to": st.sampled_from(["answer", "follow-ups", "score"]), "of": st.sampled_from(["all", "question"]),
    "address": st.just("/labs/a"), "typed": st.text(min_size=1, max_size=3), "text": st.text(max_size=3),
    "names": st.integers(1, 30), "point": st.sampled_from(["p", "q"]), "value": st.integers(0, 3),
    "verdict": st.just("yes"), "level": st.just("staff"), "reason": st.text(max_size=3), "parts": st.just(["scores"]),
    "slugs": st.just(["blocks"]),
})
ACTS = st.tuples(
    st.sampled_from(sorted(STEPS)), DETAILS, st.sampled_from("123"), st.integers(0, 5 * MINUTE),
    st.sampled_from([*Role, None]))


@given(st.lists(ACTS, max_size=60), st.booleans())
def test_whatever_is_done_the_state_survives_json_and_no_time_is_lost(acts: list[Any], alone: bool):
    room, events, now = Room(), [], 0
    for kind, detail, actor, gap, role in acts:
        now += gap
        event = Event(len(events) + 1, kind, actor, now, detail)
        try:
            refuse(room, event, role, alone=alone, releases=True)
        except Refusal:
            continue
        room = step(room, event)
        events.append(event)
        assert Room.from_json(json.loads(json.dumps(room.to_json()))) == room
        assert (room.since_ms is not None) == (room.phase in RUNNING and not room.paused)
    assert fold(events) == room
    asked = sum(item.spent_ms for item in room.items)
    assert asked <= room.spent_ms <= now
    assert room.item is None or room.phase not in ASKING or room.question_ms(now) <= room.clock_ms(now)
    assert room.calls.get("9", Call()) == Call()
