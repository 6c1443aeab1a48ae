"""The detokenizer lab's pages: what they draw at each step, for any tokens."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.base import View
from tests.calculators.drawings import assert_within, walls, words

LAB = LABS["detokenizer"]
WINDOW, STOP = LAB.views
ANY = settings(max_examples=40, deadline=None)


def part(view: View, step: int, values: dict | None = None):
    return view.drawn(view.show(view.bind(values or {}), str(step))).picture.parts[0]


def test_half_a_character_is_drawn_as_held_and_then_emitted():
    held, whole = part(WINDOW, 3).wide, part(WINDOW, 4).wide
    assert any(getattr(shape, "css", "") == "s-waiting" for shape in held.shapes)
    assert "nothing: half a character" in words(held) and "😀" not in words(held)
    assert "😀" in words(whole) and "F0" in words(whole)


def test_what_was_sent_so_far_is_counted():
    # "The cat says 😀" are 14 characters; with a stop of seven, six stay in hand.
    values = {"tokens": "The ␣cat ␣says ␣ {F0 9F 98} {80} !", "stop": "↵↵User:"}
    assert part(STOP, 6, values).words == "“␣” is sent, 8 characters in all; 6 are held."


def test_the_reply_ends_at_a_wall():
    before, after = part(STOP, 6).wide, part(STOP, 7).wide
    assert walls(before) == 0 and walls(after) == 1
    assert "the reply ends here, 12" in words(after)


@ANY
@given(step=st.integers(0, 40), per_step=st.integers(1, 17), view=st.sampled_from([WINDOW, STOP]),
       prompt=st.sampled_from(["", "q", "caf {C3}", "{end}", "_ " * 50]),
       stop=st.sampled_from(["", "b", "ab|_c", "x" * 32]),
       tokens=st.lists(st.sampled_from(["a", "_b", "{F0 9F 98}", "{80}", "世", "{end}", "x" * 32, "↵"]), min_size=1,
                       max_size=40), skip=st.sampled_from(["on", "off"]), way=st.sampled_from(["fast", "slow"]))
def test_any_stream_is_drawn_inside_its_picture(step: int, per_step: int, view: View, prompt: str, stop: str,
                                                tokens: list[str], skip: str, way: str):
    values = {"prompt": prompt, "tokens": " ".join(tokens), "per_step": per_step, "stop": stop, "skip_special": skip,
              "detokenizer": way}
    made = part(view, step, values)
    for drawing in (made.wide, made.narrow):
        assert_within(drawing, drawing.width)


@pytest.mark.django_db
def test_the_next_step_is_said_in_counts(client: Client):
    html = client.get("/labs/detokenizer?step=3&said_emitted=1&said_prefix=4&said_read=5").content.decode()
    assert "Step 3: 2 of 3 right." in html and "ends in half a character" in html


@pytest.mark.django_db
def test_tokens_that_cannot_be_read_stay_beside_their_sentence(client: Client):
    html = client.get("/labs/detokenizer", {"tokens": "_Hi {XY}"}).content.decode()
    assert "holds no bytes" in html and "_Hi {XY}" in html


@pytest.mark.parametrize("view", LAB.views, ids=lambda view: view.name)
def test_presets_are_written_as_they_are_read_back(view: View):
    for preset in view.presets:
        inputs, _ = view.run(preset.values)
        assert view.texts(view.starts | preset.values) == view.texts(inputs)
