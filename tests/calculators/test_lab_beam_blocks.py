"""The beam-blocks lab's pages: what they say, and that whatever the forms take can be drawn."""
import json

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs.beam_blocks import LAB
from calculators.pictures import NARROW, WIDE
from tests.calculators.drawings import assert_within, words

VIEWS = {view.name: view for view in LAB.views}


def picture(view: str, step: str = "", said: float | None = None, **values: object) -> object:
    return VIEWS[view].drawn(VIEWS[view].show(VIEWS[view].bind(values), step), said).picture


@pytest.mark.django_db
def test_a_step_says_who_goes_on_and_what_comes_next(client: Client):
    html = client.get("/labs/beam-blocks?step=117").content.decode()
    assert "Next: D goes on twice, C falls out." in html
    html = client.get("/labs/beam-blocks?step=118&said_held=74&said_copied=0").content.decode()
    assert "Step 118: 1 of 2 right." in html and "74 blocks are held, 148 MiB" in html


@pytest.mark.django_db
def test_225_mib_is_known_for_what_it_is(client: Client):
    html = client.get("/labs/beam-blocks?view=bounds&said=225").content.decode()
    assert "the prompt and 4 whole outputs, near the most" in html and ">you said</text>" in html


@pytest.mark.django_db
def test_tables_are_left_out_of_the_listed_steps(client: Client):
    answer = json.loads(client.get("/labs/beam-blocks.json").content)
    assert answer["result"]["steps"][1]["held_blocks"] == 66 and "tables" not in answer["result"]["steps"][1]


def test_a_shared_block_is_drawn_once_with_its_count():
    made = picture("steps", "118")
    assert words(made.stages).count("×5") == 4  # the fork counts the table of the beam that falls out
    assert words(made.whole).count("×4") == 6 and words(made.whole).count("×3") == 1
    assert "0" in words(made.stages)


def test_the_width_that_needs_more_logprobs_is_named():
    assert "more than --max-logprobs allows" in picture("client-loop", beams=16).words


@pytest.mark.parametrize(("preset", "held", "copies"), [
    ("every beam keeps its line", 114, 3), ("always from the best", 78, 564),
])
def test_a_preset_shows_what_its_note_claims(preset: str, held: int, copies: int):
    found = next(each for each in VIEWS["steps"].presets if each.name == preset)
    run = VIEWS["steps"].run(found.values)[1]
    assert (run.held_blocks, run.copies) == (held, copies)
    assert f"{held} blocks, {copies} copies" in found.note


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 10), st.integers(1, 300), st.integers(2, 60), st.sampled_from([8, 16, 300]), st.floats(0, 100),
       st.sampled_from(["scores", "best"]), st.integers(0, 60), st.floats(0.1, 10_000))
def test_everything_is_drawn_inside_its_picture(beams: int, prompt: int, output: int, block: int, own: float,
                                                follow: str, step: int, said: float):
    common = {"beams": beams, "prompt_tokens": prompt, "output_tokens": output, "block_size": block}
    made = picture("steps", str(step), divergence=own, follow=follow, **common)
    for drawing, width in ((made.stages, WIDE), (made.stages_narrow, NARROW), (made.whole, WIDE),
                           (made.whole_narrow, NARROW)):
        assert_within(drawing, width)
    for view in ("bounds", "client-loop"):
        for part in picture(view, said=said, **common).parts:
            assert_within(part.wide, WIDE)
            assert_within(part.narrow, NARROW)
