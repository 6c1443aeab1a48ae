"""The speculation lab's pages: the wall at 1, the reader's batch, and that any setting can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.base import View
from calculators.models.base import Refusal
from tests.calculators.drawings import assert_within, walls, words

LAB = LABS["speculation"]
BATCH, LENGTH, ROWS = LAB.views
ANY = settings(max_examples=25, deadline=None)


def parts(view: View, values: dict, said: float | None = None, step: str | None = None):
    return view.drawn(view.show(view.bind(values), step), said).picture.parts


def draw_whatever(view: View, values: dict, said: float | None = None, step: str | None = None) -> None:
    try:
        view.run(values)
    except Refusal:
        return
    for part in parts(view, values, said, step):
        for drawing in (part.wide, part.narrow):
            assert_within(drawing, drawing.width)


def test_a_loss_and_none_are_both_said():
    for place in ("wide", "narrow"):
        assert "lost from 179 on" in words(getattr(parts(BATCH, {})[0], place))
    long = parts(BATCH, {"context_tokens": 2_048})[0].wide
    assert "never lost" in words(long) and walls(long) == 2


def test_the_readers_batch_is_a_pen_line():
    assert "you: 50" in words(parts(BATCH, {}, 50)[0].wide)


def test_the_two_steps_are_set_against_each_other():
    lanes = words(parts(BATCH, {})[1].wide)
    assert {"2.94 × 5.8 / 7.25 = 2.35 times as fast", "2.94 × 12 / 41.9 = 0.84: slower", "1,536 rows"} <= set(lanes)


def test_the_best_length_is_framed_and_the_readers_named():
    drawn = words(parts(LENGTH, {}, 5)[0].wide)
    assert {"best", "95%", "you"} <= set(drawn)


def test_a_pointer_runs_ahead_and_comes_back():
    assert "pointer 17 → 21 → 18" in words(parts(ROWS, {}, step="3")[0].wide)
    starved = next(preset.values for preset in ROWS.presets if preset.name == "a budget of 8")
    assert words(parts(ROWS, starved, step="1")[0].wide).count("nothing this step") == 2


@ANY
@given(values=st.fixed_dictionaries({
    "num_speculative_tokens": st.sampled_from([1, 5, 8, 9, 16]), "acceptance": st.sampled_from([0, 0.5, 0.99, 1]),
    "draft_cost_percent": st.sampled_from([0, 5, 200]), "context_tokens": st.sampled_from([0, 512, 2_000_000]),
    "batch": st.sampled_from([1, 8, 65_536]), "large_batch": st.sampled_from([1, 256, 65_536]),
    "drafter": st.sampled_from(["sequential", "parallel"]), "tb_per_s": st.sampled_from(["", 0.01, 100]),
}), said=st.none() | st.floats(-10, 1e9))
def test_any_batch_is_drawn_inside_its_picture(values: dict, said: float | None):
    draw_whatever(BATCH, values, said)


@ANY
@given(values=st.fixed_dictionaries({
    "num_speculative_tokens": st.integers(1, 16), "acceptance": st.sampled_from([0, 0.3, 0.99, 1]),
    "draft_cost_percent": st.sampled_from([0, 5, 200]), "verify_percent": st.sampled_from([0, 3, 100]),
    "per_position": st.sampled_from(["", "0.9, 0.5", "1 1 1 1", "0"]),
}), said=st.none() | st.floats(-10, 1e9))
def test_any_length_is_drawn_inside_its_picture(values: dict, said: float | None):
    draw_whatever(LENGTH, values, said)


@settings(max_examples=10, deadline=None)
@given(values=st.fixed_dictionaries({
    "num_speculative_tokens": st.integers(1, 16), "acceptance": st.sampled_from([0, 0.5, 1]),
    "max_num_batched_tokens": st.sampled_from([4, 9, 4_096]), "seed": st.integers(0, 9),
    "requests": st.sampled_from(["A:1/1@0", "A:100/20@0,B:1/119@0", "A:12/16@0,B:8/12@0,C:16/20@0,D:6/16@0"]),
}), step=st.integers(0, 60))
def test_any_strip_is_drawn_inside_its_picture(values: dict, step: int):
    draw_whatever(ROWS, values, step=str(step))


@pytest.mark.django_db
def test_the_ridge_by_rows_is_known_as_a_slip(client: Client):
    html = client.get("/labs/speculation?ask=1&said=49").content.decode()
    assert "3.7× too low" in html and "there the gain begins to shrink" in html
    assert "a loss from 179" not in client.get("/labs/speculation?ask=1").content.decode()
    never = client.get("/labs/speculation?context_tokens=2048&said=295").content.decode()
    assert "No batch loses" in never


@pytest.mark.django_db
def test_a_strip_is_predicted_request_by_request(client: Client):
    page = client.get("/labs/speculation", {"view": "rows", "step": "4", "said_A": "4", "said_B": "1", "said_C": "4",
                                            "said_D": "4"})
    assert page.context["stage"].score == (3, 4)
