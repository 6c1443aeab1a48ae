"""The small pictures of how a number comes about: what stands in them, and that they hold together for any number."""
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.beside import Words, beside
from calculators.labs import LABS
from calculators.labs.base import Gist, Shown, View
from calculators.pictures import MEASURE, NARROW, Bar, Drawing, Path
from tests.calculators.drawings import assert_within, walls, words

VIEWS = {
    f"{lab.slug} {view.name}": view for lab in LABS.values() for view in lab.views
    if view.gist(Shown(*view.run({}), step=0, last_step=0)) is not None
}


def drawn(view: View, values: dict | None = None, said: float | None = None) -> Gist:
    return view.gist(Shown(*view.run(values or {}), step=0, last_step=0, said=said))


@pytest.fixture(scope="module")
def presets() -> dict[str, list[Shown]]:
    """Each view's presets, run once."""
    return {
        name: [Shown(*view.run(preset.values), step=0, last_step=0) for preset in view.presets]
        for name, view in VIEWS.items()
    }


def pens(drawing: Drawing) -> int:
    return sum(isinstance(shape, Path) and shape.css == "pen" for shape in drawing.shapes)


def test_the_calculators_that_questions_check_have_one():
    assert set(VIEWS) == {
        "prefill-interference gap", "batch-ceilings ceilings", "recompute-or-move costs", "scheduler budget",
        "gpu-count queueing", "kv-size long-replies", "epp pick", "wide-ep lockstep", "memory-ledger ledger",
        "memory-ledger cold-start", "leak-rate slope", "kv-transfer split", "speculation batch", "speculation length",
    }


@pytest.mark.parametrize("name", VIEWS)
@settings(max_examples=50)
@given(said=st.none() | st.floats(-1e9, 1e12) | st.floats(0, 1_000))
def test_any_number_is_drawn_inside_both_pictures(presets: dict[str, list[Shown]], name: str, said: float | None):
    for shown in presets[name]:
        if made := VIEWS[name].gist(replace(shown, said=said)):
            assert (made.wide.width, made.narrow.width) == (MEASURE, NARROW)
            for drawing in made:
                assert drawing.title
                assert_within(drawing, drawing.width)


@pytest.mark.parametrize("name", VIEWS)
def test_without_a_number_there_is_no_pen(name: str):
    for drawing in drawn(VIEWS[name]):
        assert not pens(drawing)
        assert not [text for text in words(drawing) if "you" in text]


@pytest.mark.parametrize(("name", "said", "you"), [
    ("prefill-interference gap", 250, "you: 250 ms"), ("batch-ceilings ceilings", 512, "you: 512"),
    ("recompute-or-move costs", 8, "you: 8 GB/s"), ("gpu-count queueing", 1, "you: 1 s"),
    ("kv-size long-replies", 60, "7,509 each"),  # 28,160 blocks of 16 tokens / 60
])
def test_the_readers_number_is_a_pen_line_with_words(name: str, said: float, you: str):
    wide, narrow = drawn(VIEWS[name], said=said)
    assert pens(wide) == pens(narrow) == 1
    assert you in words(wide)


def test_a_number_far_off_is_named_and_not_drawn():
    wide, narrow = drawn(VIEWS["prefill-interference gap"], said=8_610)
    assert not pens(wide) and not pens(narrow)
    assert {"you: 8,610 ms,", "far above this"} <= set(words(wide))
    assert "you: 8,610 ms, far above this" in words(narrow)


def test_each_prefill_step_is_a_bar_of_its_attention_on_the_rest():
    # The default scene: 14 chunks of 8,160 tokens; 984 ms are 213.9 linear, 766.3 attention and 4.05 besides.
    wide, _ = drawn(VIEWS["prefill-interference gap"])
    rest = [shape for shape in wide.shapes if isinstance(shape, Bar) and shape.css == "pale"]
    attention = [shape for shape in wide.shapes if isinstance(shape, Bar) and shape.css == "solid"]
    assert len(rest) == len(attention) == 14
    assert {round(bar.h / rest[0].h, 2) for bar in rest} == {1.0}
    assert attention[-1].h / rest[-1].h == pytest.approx(766.3 / (213.9 + 4.05), abs=0.01)
    assert {"246", "984", "linear, 213.9", "KV of the 32, CPU, 4.05"} <= set(words(wide))


def test_every_bar_of_a_prefill_is_its_gap_to_scale():
    view = VIEWS["prefill-interference gap"]
    shown = Shown(*view.run({"long_prefill_token_threshold": 2_048}), step=0, last_step=0)
    bars = [shape for shape in view.gist(shown).wide.shapes if isinstance(shape, Bar)]
    heights = [low.h + high.h for low, high in zip(bars[::2], bars[1::2], strict=True)]
    gaps = shown.result.prefill.gaps_ms
    assert len(gaps) == len(heights)
    assert heights == pytest.approx([gap * max(heights) / max(gaps) for gap in gaps], abs=0.05)


def test_many_steps_are_drawn_in_groups_by_their_longest():
    view = VIEWS["prefill-interference gap"]
    wide, _ = drawn(view, {"max_num_batched_tokens": 512, "prompt_tokens": 114_240})
    bars = [shape for shape in wide.shapes if isinstance(shape, Bar) and shape.css == "solid"]
    assert len(bars) == 60  # 238 steps, four to a bar
    assert "238" in words(wide)


def test_a_step_at_the_largest_budget_ends_at_the_target():
    wide, _ = drawn(VIEWS["scheduler budget"], said=1_000)
    assert {"largest", "now", "yours", "1,000"} <= set(words(wide))
    target = next(shape for shape in wide.shapes if isinstance(shape, Bar) and shape.pattern == "wall").x
    rows: dict[float, float] = {}
    for shape in wide.shapes:
        if isinstance(shape, Bar) and not shape.pattern and shape.y > 60:
            rows[shape.y] = max(rows.get(shape.y, 0), shape.x + shape.w)
    yours, largest, now = (rows[y] for y in sorted(rows))
    assert largest == pytest.approx(target, abs=0.5)
    assert yours < target < now


def test_past_capacity_there_is_no_curve_to_show():
    view = VIEWS["gpu-count queueing"]
    assert drawn(view, {"load": 1.05}) is None
    assert drawn(view, {"service": "deterministic"}) is None
    assert drawn(view, {"max_num_queued_reqs": 20}) is None
    assert walls(drawn(view).wide) == 1


def test_the_queue_shows_its_mean_and_its_p99():
    # M/M/1 at 0.85 with 0.1 s: 0.1 / 0.15 = 0.667 s, times ln 100 = 3.07 s.
    assert {"P99 3.07 s", "mean 667 ms"} <= set(words(drawn(VIEWS["gpu-count queueing"]).wide))


@given(st.lists(st.tuples(st.floats(-50, 300), st.integers(1, 2)), max_size=5))
def test_words_beside_a_picture_never_lie_on_each_other(named: list[tuple[float, int]]):
    blocks = [Words(y, ("words",) * rows) for y, rows in named]
    lines = sorted(text.y for text in beside(560, blocks, 8, 222))
    assert len(lines) == sum(rows for _, rows in named)
    assert all(below - above >= 15.9 for above, below in zip(lines, lines[1:], strict=False))
    assert all(8 <= y <= 224 for y in lines)


def test_words_with_room_stay_at_their_height():
    first, second = beside(560, [Words(100, ("a",)), Words(40, ("b",))], 8, 222)
    assert (first.text, first.y, second.y) == ("b", 44, 104)
