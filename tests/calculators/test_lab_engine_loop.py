"""The engine-loop lab's pages: what they draw, and that any setting can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.base import View
from calculators.models.base import Refusal
from tests.calculators.drawings import assert_within, words

LAB = LABS["engine-loop"]
LOOP, MASK = LAB.view("loop"), LAB.view("mask")
ANY = settings(max_examples=60, deadline=None)
MS = st.sampled_from([0.01, 0.3, 1.0, 1.2, 5.0, 20.0, 1000.0])


def parts(view: View, values: dict):
    return view.drawn(view.show(view.bind(values))).picture.parts


def draw_whatever(view: View, values: dict) -> None:
    """Draw the setting unless it is refused; every shape lies inside its drawing."""
    try:
        view.run(values)
    except Refusal:
        return
    for part in parts(view, values):
        for drawing in (part.wide, part.narrow):
            assert_within(drawing, drawing.width)


def test_both_loops_end_at_their_time():
    waiting, overlapped = parts(LOOP, {})
    assert {"28.8 ms", "GPU busy 69.4%", "S1", "O4", "step 4"} <= set(words(waiting.wide))
    assert {"22.2 ms", "GPU busy 90.1%"} <= set(words(overlapped.wide))


def test_a_long_run_is_drawn_in_part_and_says_so():
    waiting, _ = parts(LOOP, {"n_steps": 40})
    assert "the first 6 of 40 steps" in waiting.note
    assert "step 6" in words(waiting.wide) and "step 7" not in words(waiting.wide)
    assert not [text for text in words(waiting.wide) if text.endswith(" ms")]


@ANY
@given(values=st.fixed_dictionaries({
    "sched_ms": MS, "out_ms": MS, "gpu_ms": MS, "n_steps": st.integers(1, 200),
    "sample_ms": st.sampled_from([0, 0.01, 1]),
    "hidden_sync": st.sampled_from(["none", "before", "after", "read-back"]),
    "sync_post_ms": st.sampled_from([0, 0.01, 1]),
    "mask_ms": st.sampled_from([0, 0.5, 50]), "cuda_graphs": st.sampled_from(["on", "off"]),
    "processes": st.sampled_from(["one", "separate"]), "launch_ms": st.sampled_from([0, 0.01, 1]),
}))
def test_any_loop_is_drawn_inside_its_picture(values: dict):
    draw_whatever(LOOP, values)


@ANY
@given(values=st.fixed_dictionaries({
    "structured": st.integers(0, 1024), "batch": st.just(4096), "drafts": st.integers(0, 16),
    "us_per_row": st.sampled_from([0.1, 40, 100_000]), "threads": st.integers(1, 8), "forward_ms": MS,
}))
def test_any_mask_is_drawn_inside_its_picture(values: dict):
    draw_whatever(MASK, values)


@pytest.mark.parametrize(("view", "values"), [
    ("processes", {"tensor_parallel": 64, "pipeline_parallel": 64, "data_parallel": 256}),
    ("processes", {"tensor_parallel": 1}), ("message", {"batch": 65_536, "context_tokens": 1_000_000}),
    ("message", {"batch": 1}), ("exposed", {"gpu_ms": 0.01, "exposed_after_ms": 1_000}),
    ("exposed", {"gpu_ms": 1_000, "exposed_before_ms": 0}), ("runner", {"speculation": "suffix"}),
    ("runner", {"feature": "watermark", "gpu_ms": 1_000}),
])
def test_the_extremes_stay_inside_their_pictures(view: str, values: dict):
    draw_whatever(LAB.view(view), values)


@pytest.mark.parametrize("step", range(13))
def test_every_event_of_a_request_is_drawn(step: int):
    view = LAB.view("placeholders")
    for values in ({"prompt_tokens": 1, "eos_at": 6}, {"prompt_tokens": 100_000, "async_scheduling": "off"}):
        for part in view.drawn(view.show(view.bind(values), str(step))).picture.parts:
            for drawing in (part.wide, part.narrow):
                assert_within(drawing, drawing.width)


@pytest.mark.django_db
def test_the_counts_after_the_next_event_are_said_first(client: Client):
    html = client.get("/labs/engine-loop?view=placeholders&step=2&said_computed=101&said_known=101"
                      "&said_placeholders=1").content.decode()
    assert "Step 2: 1 of 3 right." in html and "<b>placeholders</b>" in html
    assert "Its value never leaves the GPU" in html


@pytest.mark.django_db
def test_the_step_without_overlap_is_told_by_its_name(client: Client):
    html = client.get("/labs/engine-loop?view=hidden-sync&said=7.2").content.decode()
    assert "It is <b>6.2 ms</b>" in html and "the loop that waits: schedule, GPU and output in a row" in html
    held = client.get("/labs/engine-loop?ask=1").content.decode()
    assert "22.2" not in held
