"""The grammar lab's pages: arrows over bytes, squares for bits, lanes, and that any grammar can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.base import View
from calculators.labs.grammar import HAND, OK
from calculators.models.base import Refusal
from calculators.pictures import Bar, Text
from tests.calculators.drawings import assert_within, words

LAB = LABS["grammar"]
STATES, COST = LAB.views


def parts(view: View, values: dict, step: str | None = None):
    return view.drawn(view.show(view.bind(values), step)).picture.parts


def test_every_allowed_token_is_an_arrow_and_a_square():
    automaton, word = parts(STATES, {}, "4")
    assert {"true}", "false}", "tr", "fa"} <= set(words(automaton.wide)) & set(words(automaton.narrow))
    filled = [shape for shape in word.wide.shapes if isinstance(shape, Bar) and shape.css == "present"]
    assert len(filled) == 8
    digits = [shape.text for shape in word.narrow.shapes if isinstance(shape, Text) and shape.css == "end"]
    assert "".join(digits) == "0181CE00" and "0181CE00" in words(word.wide)


def test_a_dead_end_is_said():
    values = {"vocabulary": HAND.replace(" r u ", " "), "path": '{" ok ": t'}
    part = parts(STATES, values, "4")[0]
    assert "no token begins so" in words(part.wide) and "the mask is all zeros" in part.words


def test_a_token_that_dies_late_is_named():
    assert "false dies at its" not in parts(STATES, {}, "4")[0].words
    values = {"grammar": "fox\nox", "path": "f o", "vocabulary": "f fa o x EOS"}
    assert "fa dies at its 2nd byte" in parts(STATES, values, "0")[0].words


def test_lanes_show_the_mask_with_drafts_and_without():
    bars, plain, drafted = parts(COST, {})
    assert "10.26 ms" in words(bars.wide) and "64 rows" in plain.heading and "256 rows" in drafted.heading


@settings(max_examples=40, deadline=None)
@given(values=st.fixed_dictionaries({
    "grammar": st.text("ab|()[]*{}2,.\\ é\n", min_size=1, max_size=16), "form": st.sampled_from(["strings", "regex"]),
    "vocabulary": st.sampled_from([HAND, "a b EOS", "a ab abab ␣ é <0xC3> <0xA9> ( ) | * { } EOS",
                                   " ".join(f"t{n}" for n in range(62)) + " a EOS"]),
    "path": st.just(""), "seed": st.integers(0, 9),
}), step=st.integers(0, 40))
def test_any_grammar_is_drawn_inside_its_picture_or_refused(values: dict, step: int):
    try:
        STATES.run(values)
    except Refusal:
        return
    for part in parts(STATES, values, str(step)):
        for drawing in (part.wide, part.narrow):
            assert_within(drawing, drawing.width)


@settings(max_examples=25, deadline=None)
@given(values=st.fixed_dictionaries({
    "vocabulary_size": st.sampled_from([2, 128_256, 1_000_000]), "bytes_per_token": st.sampled_from([0.1, 4, 100]),
    "ns_per_byte": st.sampled_from([0.01, 20, 100_000]), "uncertain_percent": st.sampled_from([0, 1, 100]),
    "structured": st.sampled_from([1, 64, 1_024]), "drafts": st.sampled_from([0, 3, 16]),
    "us_per_row": st.sampled_from([0.1, 40, 100_000]), "forward_ms": st.sampled_from([0.01, 8.8, 10_000]),
}))
def test_any_cost_is_drawn_inside_its_picture(values: dict):
    for part in parts(COST, values):
        for drawing in (part.wide, part.narrow):
            assert_within(drawing, drawing.width)


@pytest.mark.django_db
def test_a_comma_in_a_grammar_stays_as_it_is(client: Client):
    page = client.get("/labs/grammar", {"grammar": '{"a":1,"b":2}', "vocabulary": '{ " a b : 1 2 , } EOS', "path": ""})
    assert page.context["stage"].shown.result.steps[-1].text == '{"a":1,"b":2}'
    assert "{&quot;a&quot;:1,&quot;b&quot;:2}</textarea>" in page.content.decode()


@pytest.mark.django_db
def test_a_mask_is_said_before_it_is_seen(client: Client):
    page = client.get("/labs/grammar", {"step": "4", "said_allowed": "6", "said_forced": "0"})
    assert page.context["stage"].score == (1, 2)
    assert "8 of 32 tokens keep it alive" in page.content.decode()


@pytest.mark.django_db
def test_a_token_that_cannot_follow_is_told_beside_the_path(client: Client):
    page = client.get("/labs/grammar", {"grammar": OK.replace("\n", "\r\n"), "path": "{ ok"})
    assert "the grammar does not take ok" in page.context["stage"].faults["path"]
    assert ">{ ok</textarea>" in page.content.decode()
