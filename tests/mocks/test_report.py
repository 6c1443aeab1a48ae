"""What each reader finds in a report, and nothing else; scores and headlines worked by hand."""
import json
from dataclasses import replace
from typing import Any

import pytest

from mocks import pictures, report
from mocks.report import LEAST_INTERVIEWS, Reader, Report, of, team_scores
from mocks.room import PARTS, Call, Item, LabState, Mark, Phase, Remark, Reveal, Room

NAMES = {"1": "Ben", "2": "Chen", "3": "Ada", "4": "Dana"}
BEN, CHEN, ADA = Reader("1", rates=True), Reader("2", rates=True), Reader("3", is_candidate=True)
DANA, ALONE = Reader("4"), Reader("3", alone=True, is_candidate=True)


def posed(slug: str, topic: str = "scheduling", points: tuple[str, ...] = ("p", "q")) -> dict[str, Any]:
    """A question as it was asked, each hidden text marked with what it is."""
    return {
        "slug": slug, "title": f"About {slug}", "topic": topic, "kind": "explain", "level": "staff",
        "ask": {"scenario": "", "given": "", "asked": f"Asked of {slug}"},
        "answer": {"said": f"ANSWER {slug}", "derivation": "", "catch": "", "measure": ""},
        "rubric": [{"id": point, "html": f"RUBRIC {point}", "named": f"ANCHOR named {point}",
                    "explained": f"ANCHOR explained {point}", "bounded": f"ANCHOR bounded {point}"}
                   for point in points],
        "hints": ["shown hint", "HINT"], "follow_ups": [{"ask": "shown follow-up", "key": "KEY"},
                                                        {"ask": "UNASKED", "key": "KEY"}],
        "traps": [{"said": "TRAP", "tempting": "TRAP", "refuted": "TRAP"}], "sources": [{"name": "SOURCE"}],
    }


def marks(*values: int | None, words: str = "") -> dict[str, Mark]:
    return {point: Mark(value, words and f"EVIDENCE of {words}", words and f"COMMENT of {words}", 90_000)
            for point, value in zip("pq", values, strict=True)}


def item(slug: str, **more: Any) -> Item:
    told = {"hints": 2, "follow_ups": 2, "opened": True, "spent_ms": 400_000, "shown_hints": (Reveal(0, 90_000, "1"),),
            "shown_follow_ups": (Reveal(0, 95_000, "1"),), "scratch": "my scratch"}
    return Item(slug, 6, ("p", "q"), **told | more)


ROOM = Room(
    phase=Phase.OVER, minutes=30, spent_ms=1_500_000,
    items=(item("blocks"), item("steps"), Item("later", 6, ("p", "q"))),
    marks={
        "1": {"0": marks(3, 2, words="ben"), "1": marks(1, 3)},
        "2": {"0": marks(3, 0, words="chen"), "1": marks(1, 3)},
    },
    calls={"1": Call("yes", "staff", "REASON of ben"), "2": Call("no", "senior", "REASON of chen")},
    submitted={"1": 40, "2": 41},
    remarks=(Remark(9, "1", 60_000, 30_000, "answer", 0, "NOTE of ben"),
             Remark(10, "2", 70_000, 40_000, "answer", 0, "NOTE of chen")),
)
ASKED = [posed("blocks"), posed("steps", "memory"), posed("later", "routing")]
HIDDEN = {
    "scores": ('"yes"',), "answers": ("ANSWER", "RUBRIC", "ANCHOR", "HINT", "KEY", "UNASKED", "TRAP", "SOURCE"),
    "comments": ("EVIDENCE", "COMMENT"),
}


def report_for(reader: Reader, room: Room = ROOM, **more: Any) -> Report:
    return of(room, ASKED, reader, NAMES, **more)


def text_of(told: Report) -> str:
    return json.dumps(told.to_json())


def test_scores_stand_beside_each_other_the_readers_first():
    told = report_for(CHEN)
    assert [(rater.name, rater.mine) for rater in told.raters] == [("Chen", True), ("Ben", False)]
    first = told.questions[0]
    assert (first.totals, first.differences, first.score, first.of) == ((3, 5), (0, 2), 4, 6)
    assert (first.points[1].scores, first.points[1].differences, first.points[1].score) == ((0, 2), (0, 2), 1)
    assert [point.differs for point in first.points] == [False, True]
    assert first.differing_points == 1


def test_what_was_agreed_stands_over_the_mean():
    told = report_for(BEN, replace(ROOM, agreed={"0": {"q": 2}}, agreed_call=Call("yes", "senior", "together")))
    assert (told.questions[0].points[1].score, told.questions[0].points[1].is_agreed) == (2, True)
    assert (told.questions[0].score, told.agreed_call.verdict, told.agreed_call.level) == (5, "yes", "senior")


def test_a_call_that_all_made_stands_without_a_reason_of_one():
    alike = replace(ROOM, calls={"1": Call("no", "staff", "REASON of ben"), "2": Call("no", "staff", "REASON of chen")})
    found = report_for(BEN, alike).agreed_call
    assert (found.verdict, found.level, found.reason) == ("no", "staff", "")


def test_calls_that_differ_agree_on_nothing():
    assert report_for(BEN).agreed_call is None
    assert report_for(BEN, replace(ROOM, submitted={"1": 40})).agreed_call.verdict == "yes"


def test_before_ones_own_scores_are_in_nobody_elses_show():
    room = replace(ROOM, submitted={"2": 41}, agreed={"0": {"q": 3}}, agreed_call=Call("strong yes", "", "AGREED"))
    told = report_for(BEN, room, interviewers=["1", "2"], team=team_scores([ROOM] * 6))
    assert (told.is_blind, [rater.name for rater in told.raters], told.waiting_for) == (True, ["Ben"], ())
    text = text_of(told)
    assert "chen" not in text
    assert "AGREED" not in text
    assert "strong yes" not in text
    assert not told.topics and not told.gaps and told.agreement is None
    assert told.questions[0].points[1].scores == (2,)
    assert all(point.score is None and point.spread is None for q in told.questions for point in q.points)
    assert told.headline == "Your own scores come first."


def test_an_owner_who_takes_no_part_sees_the_scores_that_are_in():
    told = report_for(DANA, replace(ROOM, submitted={"2": 41}), interviewers=["1", "2"])
    assert ([rater.name for rater in told.raters], told.waiting_for) == (["Chen"], ("Ben",))
    assert "ben" not in text_of(told)


def test_notes_are_for_who_wrote_them():
    for reader, mine in ((BEN, ["NOTE of ben"]), (CHEN, ["NOTE of chen"]), (DANA, []), (ADA, []), (ALONE, [])):
        assert [note.text for note in report_for(reader, replace(ROOM, released=PARTS)).notes] == mine


def test_the_candidate_reads_no_word_of_what_is_not_released():
    told = report_for(ADA)
    text = text_of(told)
    assert not any(mark in text for marks_of in HIDDEN.values() for mark in marks_of)
    assert not any(mark in text for mark in ("REASON", "NOTE", "Ben", "Chen", "later"))
    assert all(point.score is None and not point.scores for q in told.questions for point in q.points)
    assert (told.agreed_call, told.calls, told.gaps, told.strengths, told.topics) == (None, (), (), (), ())
    assert told.questions[0].hints == ("shown hint",)
    assert told.questions[0].follow_ups == ({"ask": "shown follow-up"},)


@pytest.mark.parametrize("part", PARTS)
def test_each_part_opens_itself_alone(part: str):
    room = replace(ROOM, released=(part,), submitted={"1": 40})
    text = text_of(report_for(ADA, room, team=team_scores([ROOM] * 6)))
    for other, marks_of in HIDDEN.items():
        assert all((mark in text) == (other == part) for mark in marks_of), other
    assert "chen" not in text  # whose scores are not in
    assert "REASON" not in text
    assert "NOTE" not in text
    assert "later" not in text


def test_a_reason_is_a_comment_on_the_call():
    room = replace(ROOM, agreed_call=Call("yes", "staff", "REASON"), released=("scores", "comments"))
    assert report_for(ADA, room).agreed_call.reason == "REASON"
    assert report_for(ADA, replace(room, released=("scores",))).agreed_call.reason == ""


def test_who_was_alone_reads_all_of_it():
    room = Room(phase=Phase.OVER, items=ROOM.items, marks={"3": {"0": marks(3, 1)}})
    told = report_for(ALONE, room)
    assert (told.raters[0].mine, told.questions[0].score, told.questions[0].points[1].is_missed) == (True, 4, True)
    assert "ANSWER" in text_of(told)
    assert told.missed_slugs == ["blocks"]


def test_a_point_is_missed_by_whoever_scored_it_lowest_unless_agreed():
    assert [(gap.slug, gap.words) for gap in report_for(BEN).gaps] == [("blocks", "RUBRIC q"), ("steps", "RUBRIC p")]
    agreed = replace(ROOM, agreed={"0": {"q": 2}})
    assert [gap.slug for gap in report_for(BEN, agreed).gaps] == ["steps"]
    assert [one.words for one in report_for(BEN).strengths] == ["RUBRIC p", "RUBRIC q"]


def test_topics_add_up_to_the_questions():
    told = report_for(BEN)
    assert [(one.topic, one.score, one.of) for one in told.topics] == [("scheduling", 4, 6), ("memory", 4, 6)]
    assert sum(one.score for one in told.topics) == sum(question.score or 0 for question in told.questions)


def test_a_team_of_five_interviews_shows_its_spread():
    four, five = (team_scores([ROOM] * n) for n in (4, 5))
    spread = report_for(BEN, team=four).questions[0].spread
    assert (spread.interviews, spread.values) == (4, ())
    spread = report_for(BEN, team=five).questions[0].spread
    assert (spread.interviews, spread.values) == (LEAST_INTERVIEWS, (4 / 6,) * 5)
    assert report_for(BEN, team=five).questions[0].points[0].spread.values == (3,) * 5
    assert report_for(ADA, replace(ROOM, released=("answers",)), team=five).questions[0].spread is None
    assert report_for(ADA, replace(ROOM, released=("scores",)), team=five).questions[0].spread.values


def test_scores_that_are_not_in_are_no_part_of_the_teams():
    assert team_scores([replace(ROOM, submitted={})]).questions == {}
    assert team_scores([replace(ROOM, submitted={"2": 9})]).points["blocks", "q"] == [0]


def test_agreement_is_over_the_points_both_scored():
    found = report_for(BEN).agreement
    assert (found.points, found.alike) == (4, 3)
    assert report_for(DANA, replace(ROOM, submitted={"1": 4})).agreement is None


def test_of_knobs_turned_one_after_another_the_last_is_kept():
    labs = tuple(LabState(kind, f"/labs/a?n={n}", by, n * 1000) for n, (kind, by) in enumerate((
        ("pushed", "1"), ("set", "3"), ("set", "3"), ("committed", "3"), ("set", "3"))))
    told = report_for(BEN, replace(ROOM, items=(item("blocks", labs=labs), *ROOM.items[1:])))
    assert [(lab.kind, lab.address[-1], lab.name) for lab in told.labs] == [
        ("pushed", "0", "Ben"), ("set", "2", "Ada"), ("committed", "3", "Ada"), ("set", "4", "Ada")]


def test_somebody_who_is_gone_is_a_former_member():
    told = of(ROOM, ASKED, BEN, {"1": "Ben"})
    assert [rater.name for rater in told.raters] == ["Ben", report.FORMER]


@pytest.mark.parametrize(("scores", "words"), [
    # Each question has two points; the topics are scheduling and memory.
    ([(3, 3), (3, 3)], "Bounds 4 of 4 points; every point explained."),
    ([(3, 1), (1, 1)], "Names 4 of 4 points, explains 1; 3 of 4 points not explained, 2 of them in memory."),
    ([(2, 2), (1, 0)], "Explains 2 of 4 points, bounds none; 2 of 4 points not explained, all in memory."),
    ([(0, 0), (0, 1)], "Most of it went unsaid; 4 of 4 points not explained."),
    ([(2, 1), (2, 1)], "Explains 2 of 4 points, bounds none; 2 of 4 points not explained."),
])
def test_the_headline_says_what_the_scores_say(scores: list[tuple[int, int]], words: str):
    room = replace(ROOM, marks={"1": {str(at): marks(*pair) for at, pair in enumerate(scores)}}, submitted={"1": 4})
    assert report_for(BEN, room).headline == words


def test_a_point_that_one_interviewer_missed_is_explained_by_no_mean():
    # 3 and 1 are 2 in the mean, and the candidate drills the point all the same.
    given = {who: {str(at): marks(value, value) for at in (0, 1)} for who, value in (("1", 3), ("2", 1))}
    room = replace(ROOM, marks=given, submitted={"1": 4, "2": 5})
    assert report_for(BEN, room).headline == (
        "Names 4 of 4 points, explains none; 4 of 4 points not explained.")


def test_a_topic_of_three_strong_points_is_named():
    points = ("p", "q", "r")
    asked = [posed("blocks", "kv-cache", points), posed("steps", "memory", points)]
    room = Room(
        phase=Phase.OVER, submitted={"1": 4}, items=tuple(Item(one["slug"], 6, points, opened=True) for one in asked),
        marks={"1": {"0": {"p": Mark(3), "q": Mark(2), "r": Mark(2)}, "1": {"p": Mark(0), "q": Mark(1), "r": Mark(2)}}})
    # 7 of 9 is 0.78; 3 of 9 is not strong.
    assert of(room, asked, BEN, NAMES).headline == (
        "Strong on kv cache; 2 of 6 points not explained, all in memory.")


def test_before_any_scores_are_in_it_says_so():
    assert report_for(DANA, replace(ROOM, submitted={})).headline == "No scores are in yet."
    assert report_for(ADA, replace(ROOM, released=("answers",))).headline == "No scores are open to you."


def test_a_ring_stands_for_each_interview_and_a_triangle_for_this_one():
    drawing = pictures.rings((0, 2, 2, 3, 3, 3), 2, high=3, who="Ada")
    css = [shape.css for shape in drawing.shapes]
    assert (css.count("ring"), css.count("dot"), css.count("edge")) == (6, 1, 5)  # the axis and a tick at each score
    assert drawing.title == "6 interviews of the team: from 0 to 3 of 3, half of them up to 2.5; Ada 2."


def test_a_higher_pile_of_rings_makes_a_higher_picture():
    low, high = (pictures.rings(values, None, high=1, who="Ada") for values in ((0, 0.2, 0.4, 0.7, 1), (0.5,) * 5))
    assert high.height - low.height == 4 * pictures.PITCH
    assert "dot" not in [shape.css for shape in low.shapes]
    assert low.title.startswith("5 interviews of the team: from 0% to 100%, half of them up to 40%.")
