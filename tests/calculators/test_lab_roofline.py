"""The roofline lab's pages: what stands under the roof, and that any setting can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.base import View
from tests.calculators.drawings import assert_within, walls, words

LAB = LABS["roofline"]
RIDGE, LAPTOP, FORMATS = LAB.views
ANY = settings(max_examples=60, deadline=None)


def parts(view: View, values: dict, said: float | None = None):
    return view.drawn(view.show(view.bind(values)), said).picture.parts


def draw_whatever(view: View, values: dict, said: float | None = None) -> None:
    for part in parts(view, values, said):
        for drawing in (part.wide, part.narrow):
            assert_within(drawing, drawing.width)


def test_a_context_puts_a_second_wall_before_the_ridge():
    without, within = parts(RIDGE, {})[0].wide, parts(RIDGE, {"context_tokens": 2_048})[0].wide
    assert walls(without) == 1 and walls(within) == 2
    assert {"ridge 295", "batch 295"} <= set(words(without))
    assert {"never past 63.8", "never reached"} <= set(words(within))


def test_the_readers_batch_is_a_pen_line():
    assert "you: 590" in words(parts(RIDGE, {}, 590)[0].wide)
    assert "you: 590" not in words(parts(RIDGE, {})[0].wide)


@ANY
@given(values=st.fixed_dictionaries({
    "tflop_per_s": st.sampled_from(["", 1, 989, 100_000]), "tb_per_s": st.sampled_from(["", 0.01, 100]),
    "params_b": st.sampled_from([0.01, 8.03, 10_000]), "bytes_per_weight": st.sampled_from([0.25, 2, 4]),
    "context_tokens": st.sampled_from([0, 1, 2_048, 2_000_000]), "batch": st.sampled_from([1, 64, 65_536]),
    "prefill_tokens": st.sampled_from([1, 8_192, 2_000_000]), "tensor_parallel": st.sampled_from([1, 64]),
}), said=st.none() | st.floats(-10, 1e9))
def test_any_roof_is_drawn_inside_its_picture(values: dict, said: float | None):
    draw_whatever(RIDGE, values, said)


@ANY
@given(values=st.fixed_dictionaries({
    "laptop_gb_per_s": st.sampled_from([1, 546, 10_000]), "laptop_gb": st.sampled_from([0.05, 4.92, 10_000]),
    "gpu_gb": st.sampled_from([0.05, 16, 10_000]), "users": st.sampled_from([1, 64, 65_536]),
    "context_tokens": st.sampled_from([1, 2_048, 2_000_000]),
}))
def test_any_two_devices_are_drawn_inside_their_picture(values: dict):
    draw_whatever(LAPTOP, values)


@pytest.mark.parametrize("batch", [1, 64, 65_536])
@pytest.mark.parametrize("context", [0, 2_000_000])
def test_formats_are_drawn_inside_their_picture(batch: int, context: int):
    draw_whatever(FORMATS, {"batch": batch, "context_tokens": context})


@pytest.mark.django_db
def test_the_sparse_peak_is_named(client: Client):
    html = client.get("/labs/roofline?said=590").content.decode()
    assert "2.0× too high" in html and "the peak with sparsity" in html
    never = client.get("/labs/roofline?context_tokens=2048&said=295").content.decode()
    assert "No batch gets there" in never
