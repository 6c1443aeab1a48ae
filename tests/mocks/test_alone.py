"""What somebody alone sees: nothing of an answer while it is open, all of it once it is closed."""
from typing import Any

from mocks.alone import alone_side
from mocks.room import Event, Room, fold
from mocks.sides import Person

MINUTE = 60_000
ADA = Person("1", "Ada", "candidate", True)
ITEMS = [{"slug": s, "minutes": 5, "points": ["p"], "hints": 2, "follow_ups": 1} for s in ("blocks", "steps")]
HIDDEN = ("SAID", "CATCH", "RUBRIC", "ANCHOR", "HINT0", "HINT1", "TRAP", "FOLLOW", "KEY", "STEPS-ASK", "STEPS-TITLE")


def posed(name: str, mark: str = "") -> dict[str, Any]:
    return {
        "slug": name, "title": f"{name.upper()}-TITLE", "topic": "sizing", "kind": "size", "level": "staff",
        "ask": {"scenario": f"{name.upper()}-ASK", "given": "", "asked": ""},
        "answer": {"said": f"SAID{mark}", "derivation": "", "catch": f"CATCH{mark}", "measure": ""},
        "rubric": [{"id": "p", "html": f"RUBRIC{mark}", "named": f"ANCHOR{mark}", "explained": "", "bounded": ""}],
        "hints": [f"HINT0{mark}", f"HINT1{mark}"], "traps": [{"said": f"TRAP{mark}", "tempting": "", "refuted": ""}],
        "follow_ups": [{"ask": f"FOLLOW{mark}", "key": f"KEY{mark}"}], "lab": "/labs/x", "lab_title": "X",
    }


ASKED = [posed("blocks"), posed("steps", "-2")]
BEGUN = [(0, "start", {"items": ITEMS, "minutes": 20}), (1, "ask", {"position": 0})]


def after(*acts: tuple[Any, ...]) -> Room:
    return fold(
        Event(at, kind, "1", round(minute * MINUTE), detail) for at, (minute, kind, detail) in enumerate(acts, 1))


def seen(room: Room) -> str:
    return repr(alone_side(room, ASKED, [ADA], "1"))


def test_before_a_question_only_its_topic_kind_and_minutes_are_told():
    side = alone_side(after(BEGUN[0]), ASKED, [ADA], "1")
    assert (side.coming.number, side.coming.topic, side.coming.kind, side.coming.minutes) == (1, "sizing", "size", 5)
    assert not any(mark in seen(after(BEGUN[0])) for mark in (*HIDDEN, "BLOCKS-ASK", "BLOCKS-TITLE"))


def test_while_it_is_asked_nothing_of_its_answer_is_there():
    told = seen(after(*BEGUN))
    assert "BLOCKS-ASK" in told
    assert not any(mark in told for mark in HIDDEN)


def test_a_hint_taken_is_there_and_the_next_is_not():
    room = after(*BEGUN, (2, "hint", {"number": 0}))
    assert "HINT0" in seen(room) and "HINT1" not in seen(room)
    side = alone_side(room, ASKED, [ADA], "1")
    assert (side.next_hint, side.hints_left) == (1, 1)


def test_once_closed_the_staff_answer_and_the_anchors_are_there_and_the_next_question_is_not():
    told = seen(after(*BEGUN, (3, "phase", {"to": "score"})))
    assert all(mark in told for mark in ("SAID", "CATCH", "RUBRIC", "ANCHOR", "TRAP", "FOLLOW", "KEY"))
    assert not any(mark in told for mark in ("SAID-2", "RUBRIC-2", "STEPS-ASK", "STEPS-TITLE"))


def test_it_says_whether_the_clock_has_closed_it():
    assert alone_side(after(*BEGUN, (6, "phase", {"to": "score"})), ASKED, [ADA], "1").time_was_up
    assert not alone_side(after(*BEGUN, (3, "phase", {"to": "score"})), ASKED, [ADA], "1").time_was_up


def test_points_without_a_score_are_counted_and_the_last_question_has_none_after_it():
    acts = [*BEGUN, (3, "phase", {"to": "score"})]
    assert alone_side(after(*acts), ASKED, [ADA], "1").unscored == 1
    acts += [(4, "score", {"position": 0, "point": "p", "value": 2}), (5, "ask", {"position": 1})]
    acts += [(6, "phase", {"to": "score"})]
    side = alone_side(after(*acts), ASKED, [ADA], "1")
    assert (side.coming, side.looked, side.unscored) == (None, 1, 1)


def test_over_there_is_nothing_left_to_do():
    side = alone_side(after(*BEGUN, (3, "end", {})), ASKED, [ADA], "1")
    assert (side.looked, side.staff, side.points, side.own_lab) == (None, None, (), "")
