"""Nothing reaches a side that is not its own: every hidden field bears a mark, and a side that shows one fails."""
from dataclasses import replace
from typing import Any

import pytest

from mocks.room import Phase, Room, fold
from mocks.sides import CandidateSide, InterviewerSide, Person, candidate_side, interviewer_side, mark_of, observer_side
from tests.mocks.test_room import told

PEOPLE = (
    Person("1", "Ben", "interviewer", True), Person("2", "Ada", "candidate", True),
    Person("3", "Chen", "observer", False),
)


def posed(name: str) -> dict[str, Any]:
    """A question as posed, each of its texts a mark of its own."""
    def mark(what: str) -> str:
        return f"<p>{name}-{what}</p>"

    return {
        "slug": mark("slug"), "title": mark("title"), "topic": mark("topic"), "kind": "explain", "level": "staff",
        "values": {"run": {"a": mark("value")}}, "digest": mark("digest"),
        "ask": {part: mark(f"ask-{part}") for part in ("scenario", "given", "asked")},
        "answer": {part: mark(f"answer-{part}") for part in ("said", "derivation", "catch", "measure")},
        "rubric": [{"id": point, "html": mark(f"rubric-{point}"), "named": mark(f"named-{point}"),
                    "explained": mark(f"explained-{point}"), "bounded": mark(f"bounded-{point}")} for point in "pq"],
        "hints": [mark("hint-0"), mark("hint-1")],
        "traps": [{part: mark(f"trap-{part}") for part in ("said", "tempting", "refuted")}],
        "follow_ups": [{"ask": mark("follow-up-ask"), "key": mark("follow-up-key")}],
        "sources": [{"name": mark("source")}], "lab": mark("lab"), "lab_answered": mark("lab-answered"),
        "lab_title": mark("lab-title"),
    }


ASKED = [posed("first"), posed("second")]
ITEMS = [
    {"slug": slug, "minutes": 6, "points": ["p", "q"], "hints": 2, "follow_ups": 1} for slug in ("first", "second")
]
START = (0, "start", {"items": ITEMS, "minutes": 30})
SECRETS = [
    (1, "note", {"text": "note-of-ben"}), (1, "note", {"text": "note-of-chen"}, "3"),
    (1, "score", {"position": 0, "point": "p", "value": 3, "evidence": "evidence-of-ben", "comment": "comment-of-ben"}),
    (1, "call", {"verdict": "strong no", "level": "senior", "reason": "reason-of-ben"}),
]


def shown_by(side: object) -> set[str]:
    """The marks of questions that a side holds, without their brackets."""
    text = repr(side)
    marks = [text[at:].split("</p>")[0].split("<p>")[1] for at in range(len(text)) if text.startswith("<p>", at)]
    return set(marks)


def candidate(*acts: Any) -> CandidateSide:
    return candidate_side(fold(told(START, *acts)), ASKED, PEOPLE)


def test_before_a_question_is_asked_the_candidate_sees_none():
    assert shown_by(candidate()) == set()
    assert candidate().place.count == 2


def test_of_the_question_in_hand_the_candidate_sees_what_it_asks():
    assert shown_by(candidate((1, "ask", {"position": 0}))) == {"first-ask-scenario", "first-ask-given"}


def test_what_is_revealed_is_seen_and_nothing_beside_it():
    side = candidate(
        (1, "ask", {"position": 0}), (2, "hint", {"number": 0}), (3, "follow_up", {"number": 0}), *SECRETS)
    assert shown_by(side) == {"first-ask-scenario", "first-ask-given", "first-hint-0", "first-follow-up-ask"}
    assert [(one.kind, one.by, one.clock_ms) for one in side.shown] == [
        ("hint", "Ben", 60_000), ("follow-up", "Ben", 120_000)]


def test_the_next_question_takes_the_last_one_away():
    side = candidate((1, "ask", {"position": 0}), (2, "hint", {"number": 0}), (3, "ask", {"position": 1}))
    assert shown_by(side) == {"second-ask-scenario", "second-ask-given"}


@pytest.mark.parametrize("end", [[(5, "debrief")], [(5, "debrief"), (6, "end")], [(5, "end")]])
def test_after_the_questions_the_candidate_sees_none(end: list[Any]):
    side = candidate((1, "ask", {"position": 0}), (2, "phase", {"to": "score"}), *end)
    assert (shown_by(side), side.scratch) == (set(), None)


@pytest.mark.parametrize("who", ["2", "3"])
def test_no_note_score_or_call_is_on_the_side_of_anybody_else(who: str):
    room = fold(told(START, (1, "ask", {"position": 0}), *SECRETS))
    for side in (candidate_side(room, ASKED, PEOPLE), observer_side(room, ASKED, PEOPLE, who)):
        text = repr(side)
        assert ("note-of-chen" in text) == (who == "3" and "ObserverSide" in text)
        assert not [mark for mark in ("-of-ben", "strong no", "senior") if mark in text]


def test_an_observer_sees_the_questions_as_the_candidate_does():
    room = fold(told(START, (1, "ask", {"position": 0}), (2, "hint", {"number": 0}), *SECRETS))
    side = observer_side(room, ASKED, PEOPLE, "3")
    assert side.seen == candidate_side(room, ASKED, PEOPLE)
    assert [note.text for note in side.notes] == ["note-of-chen"]


def interviewer(who: str = "1", look: int | None = None, *acts: Any) -> InterviewerSide:
    room = fold(told(START, (1, "ask", {"position": 0}), *SECRETS, *acts))
    return interviewer_side(room, ASKED, PEOPLE, who, look)


def test_an_interviewer_sees_the_whole_question_in_hand():
    side = interviewer()
    assert {"first-answer-said", "first-answer-catch", "first-rubric-p", "first-bounded-q", "first-hint-1",
            "first-follow-up-key", "first-trap-refuted", "second-title"} <= shown_by(side)
    assert [point.value for point in side.points] == [3, None]
    assert [rung.is_next for rung in side.hints] == [True, False]


def test_an_interviewer_sees_no_others_scores_nor_notes():
    text = repr(interviewer("4"))
    assert not [mark for mark in ("-of-ben", "-of-chen", "strong no") if mark in text]
    assert "value=3" not in text


def test_an_interviewer_may_look_back_at_what_was_asked_and_not_ahead():
    back = interviewer("1", 0, (4, "ask", {"position": 1}))
    assert (back.looked, back.looked_back, back.title) == (0, True, "<p>first-title</p>")
    assert not any(rung.is_next for rung in back.hints)
    ahead = interviewer("1", 1)
    assert (ahead.looked, ahead.looked_back) == (0, False)


def test_once_all_is_asked_the_first_without_a_score_is_shown():
    side = interviewer("1", None, (4, "ask", {"position": 1}), (5, "phase", {"to": "score"}),
                       (6, "score", {"position": 0, "point": "q", "value": 0}), (7, "debrief"))
    assert side.looked == 1


def test_the_clocks_are_the_rooms():
    side = candidate((1, "ask", {"position": 0}), (3, "pause"))
    assert (side.question.at(60 * 60_000), side.question.allowed_ms) == (2 * 60_000, 6 * 60_000)
    running = candidate((1, "ask", {"position": 0}))
    assert (running.question.at(4 * 60_000), running.whole.at(4 * 60_000)) == (3 * 60_000, 4 * 60_000)


def test_a_lab_is_in_front_of_the_candidate_while_the_question_is_asked():
    asked = [(1, "ask", {"position": 0}), (2, "push_lab", {"address": "/labs/a"})]
    side = candidate(*asked, (3, "commit_lab", {"address": "/labs/a?said=1", "typed": "1"}, "2"),
                     (4, "set_lab", {"address": "/labs/a?b=2"}, "2"))
    assert (side.lab.start, side.lab.address) == ("/labs/a", "/labs/a?b=2")
    assert (side.lab.committed, side.lab.by) == (True, "Ben")
    assert candidate(*asked, (3, "close_lab")).lab is None
    assert candidate(*asked, (3, "phase", {"to": "score"})).lab is None


def test_a_text_has_one_mark_however_its_lines_end():
    assert mark_of("a\r\nb") == mark_of("a\nb") != mark_of("a\nb ")


def test_an_empty_room_has_sides():
    room = replace(Room(), phase=Phase.LOBBY)
    assert candidate_side(room, [], PEOPLE).ask is None
    assert interviewer_side(room, [], PEOPLE, "1").rows == ()
