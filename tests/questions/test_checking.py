"""Each kind of fault is found, and named with where it stands."""
from typing import Any

import pytest

from questions.checking import check
from tests.questions.bakery import document, point, run_lab


def faults(**changes: Any) -> list[str]:
    return [str(fault) for fault in check(document(**changes), run_lab)]


def test_the_bakery_question_has_no_fault():
    assert faults() == []


def runs(**changes: Any) -> dict[str, Any]:
    return {"oven": {"lab": "bakery", "values": {"flour_g": 3000}} | changes}


FAULTY = [
    ({"slug": "Loaves!"}, "slug: “Loaves!” is no slug"),
    ({"title": ""}, "title: A title has 1 to 160 characters"),
    ({"title": "[[oven.flour_g]] g"}, "title: A title has 1 to 160 characters and no figure"),
    ({"kind": "puzzle"}, "kind: “puzzle” is none of"),
    ({"level": "junior"}, "level: “junior” is none of"),
    ({"minutes": 0}, "minutes: A good answer takes 1 to 60 minutes."),
    ({"ask": " "}, "ask: The part is missing: the ask."),
    ({"catch": ""}, "catch: The part is missing: The catch."),
    ({"catch": "One.\n## Two"}, "catch: A heading inside a part takes ###"),
    ({"next": ["No Slug"]}, "next: “No Slug” is no slug."),
    ({"rubric": [point("a"), point("b"), point("c")]}, "rubric: It has 3 points; a rubric has 4 to 8."),
    ({"rubric": [point(name) for name in "abcdefghi"]}, "rubric: It has 9 points"),
    ({"rubric": [point(name) for name in "abca"]}, "rubric: The id “a” stands there twice."),
    ({"rubric": [point("a b"), *(point(name) for name in "bcd")]}, "rubric 1, id: An id takes letters"),
    ({"rubric": [{"id": "a", "text": "A."}, *(point(name) for name in "bcd")]}, "rubric 1, named: It is missing."),
    ({"hints": [{"text": "Divide.", "level": "2"}]}, "hints 1, level: There is no such key."),
    ({"hints": [{"text": 3}]}, "hints 1, text: It takes a text."),
    ({"hints": ["Divide."]}, "hints 1: It is a table with keys."),
    ({"traps": [{"said": "x", "tempting": "y"}]}, "traps 1, refuted: It is missing."),
    ({"follow_ups": [{"ask": "Why?", "key": "[[oven.rolls]]"}]}, "follow_ups 1, key: “oven.rolls” stops at “rolls”"),
    ({"options": [{"text": "Six", "why": "w"}, {"text": "Two", "why": "w"}]}, "options: One option is right"),
    ({"sources": [{"id": "book", "url": "https://example.org"}]}, "sources 1: It carries a version, or a date"),
    ({"sources": [{"id": "book", "date": "2020"}]}, "sources 1: It names a file or a url"),
    ({"sources": [{"id": "book", "url": "example.org", "date": "2020"}]}, "sources 1, url: It begins with https://."),
    ({"sources": [{"id": "book", "file": "a.py", "date": "in May"}]}, "sources 1, date: A date is written"),
    ({"sources": [{"id": ["a"], "url": "https://example.org", "date": "2020"}]}, "sources 1, id: It takes a text."),
    ({"said_aloud": "0.5[^blog] kg."}, "said_aloud: There is no source “blog”."),
    ({"said_aloud": "[[oven.loaves]]"}, "said_aloud: “[[oven.loaves]]”: a fraction takes a format"),
    ({"said_aloud": "[[oven.loaves|0]"}, "said_aloud: A figure is not closed"),
    ({"said_aloud": "As [[oven.lines]] say."}, "said_aloud: “[[oven.lines]]” stands alone in its line"),
    ({"derivation": "As [[oven.lines]] say."}, "derivation: “[[oven.lines]]” stands alone in its line"),
    ({"catch": "<b>bold</b>"}, "catch: Raw HTML is shown as text: <b>"),
    ({"catch": "![pic](https://example.org/x.png)"}, "catch: Pictures are not shown"),
    ({"catch": "[x](javascript:alert(1))"}, "catch: A link leads to https://"),
    ({"catch": "[x](//example.org)"}, "catch: A link leads to https://"),
    ({"catch": "[x](/labs/y?a=[[oven.flour_g]])"}, "catch: A figure can't stand in a link's address."),
    ({"runs": runs(lab="smithy")}, "runs.oven: There is no lab “smithy”."),
    ({"runs": runs(values={"flour_g": 10})}, "runs.oven: That is not flour enough for one loaf."),
    ({"runs": runs(values={"sugar_g": 10})}, "runs.oven: no such input: sugar_g"),
    ({"runs": runs(values={"flour_g": [1, 2]})}, "runs.oven.values: It is a table of inputs, each one number or text."),
    ({"runs": runs(colour="red")}, "runs.oven.colour: There is no such key."),
    ({"runs": runs(vary={"sugar_g": [1]})}, "runs.oven.vary: The lab has no input “sugar_g”."),
    ({"runs": runs(vary={"flour_g": []})}, "runs.oven.vary.flour_g: The list to draw from is empty."),
    ({"runs": runs(vary={"flour_g": {"from": 5, "to": 1}})}, "runs.oven.vary.flour_g: A range goes upwards"),
    ({"runs": runs(vary={"flour_g": {"from": 5}})}, "runs.oven.vary.flour_g: A range is {from, to, step}"),
    ({"runs": runs() | {"two": {"lab": "bakery"}}}, "runs: Of several runs one is marked shown = true"),
    ({"runs": runs(values={"flour_g": "[[oven.loaf_g]]"})}, "runs: These runs take values from each other in a ring"),
    ({"keep": {"oven.loaves": {"from": 9}}}, "keep: “oven.loaves” is 6.0 with the file's own values."),
    ({"keep": {"oven.rolls": 1}}, "keep: “oven.rolls” stops at “rolls”"),
    ({"keep": {"oven.verdict": {"from": 1}}}, "keep: “oven.verdict” can't be compared"),
    ({"check": {"figure": "oven.rolls", "unit": "loaves"}}, "check.figure: “oven.rolls” stops at “rolls”"),
    ({"check": {"figure": "oven.loaves"}}, "check.unit: A number has a unit"),
    ({"check": {"figure": "oven.loaves", "unit": "furlongs/s"}}, "check.unit: The unit “furlongs/s” can't be read."),
    ({"check": {"figure": "oven.verdict", "unit": ""}}, "check.figure: “oven.verdict” is neither a number nor a map."),
    ({"check": {"figure": "oven.loaves", "unit": "s", "tolerance": 10}}, "check.tolerance: It is a fraction"),
    ({"check": {"figure": "oven.shares", "tolerance": 0.1}}, "check.figure: A map is of whole numbers"),
    ({"check": {"figure": "oven.loaves", "unit": "s", "label": "x"}}, "check.label: There is no such key."),
]


@pytest.mark.parametrize(("changes", "fault"), FAULTY, ids=[fault[:60] for _, fault in FAULTY])
def test_the_fault_is_named(changes: dict[str, Any], fault: str):
    assert any(found.startswith(fault) for found in faults(**changes)), faults(**changes)


def test_one_fault_is_told_once():
    assert len(faults(catch="<b>bold</b> text")) == 2  # the opening and the closing tag
    assert len(faults(runs=runs(lab="smithy"))) == 1
    assert len(faults(said_aloud="[[oven.rolls]]")) == 1


def test_all_faults_come_at_once():
    found = faults(title="", minutes=99, said_aloud="[[oven.rolls]] 2[^blog]", hints=[{}])
    assert [line.split(":")[0] for line in found] == ["title", "minutes", "hints 1, text", "said_aloud", "said_aloud"]


def test_a_map_with_zero_tolerance_can_be_asked_for():
    assert faults(check={"figure": "oven.steps.1.tokens"}) == []


def test_a_question_without_a_lab_is_whole():
    whole = {"runs": {}, "keep": {}, "check": {}, "traps": [], "derivation": "", "ask": "Why?", "said_aloud": "So."}
    assert faults(**whole) == []
