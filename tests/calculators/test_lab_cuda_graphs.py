"""The cuda-graphs lab's pages: what they say, hold back and mark, and that any setting can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.base import View
from calculators.labs.cuda_graphs_picture import Picture
from calculators.models.base import Refusal
from calculators.models.graph_modes import MODES, SUPPORT
from calculators.pictures import NARROW, WIDE, Bar, Path
from tests.calculators.drawings import assert_within, walls, words

LAUNCHES, PADDING, MODE = LABS["cuda-graphs"].views


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/cuda-graphs?{query}")
    assert response.status_code == 200
    return response.content.decode()


def drawn(view: View, values: dict, said: float | None = None) -> Picture:
    return view.drawn(view.show(view.bind(values)), said).picture


def assert_drawn_inside(made: Picture) -> None:
    for part in (*made.parts, made.side):
        assert part.wide.height < 700 and part.narrow.height < 700
        assert_within(part.wide, WIDE)
        assert_within(part.narrow, NARROW)


@pytest.mark.django_db
def test_the_page_says_three_steps_and_their_derivation(client: Client):
    html = page(client)
    assert "392 kernels take 2.35 ms eagerly, 1.01 ms in pieces and 1.01 ms as one graph" in html
    assert "33 × 8 + 96 × 6 µs" in html and "max(0.840, 1.004) + 0.008" in html
    assert "Piecewise is enough, 2.33× as fast" in html


@pytest.mark.django_db
@pytest.mark.parametrize(("query", "figures"), [
    ("ask=1", ("2.35", "1.01")), ("view=padding&sequences=129&ask=1", ("136", "9.96")),
    ("view=modes&ask=1", ("1,734", "1,683")),
])
def test_a_held_result_shows_nothing_of_itself(client: Client, query: str, figures: tuple[str, ...]):
    html = page(client, query)
    for figure in figures:
        assert figure not in html


@pytest.mark.django_db
@pytest.mark.parametrize(("query", "words"), [
    ("said=1.84+ms", "That adds launches and kernels."),
    ("view=padding&sequences=129&said=256", "That is the next power of two"),
    ("view=modes&said=1,632", "That is a graph a layer."),
])
def test_a_known_slip_is_named(client: Client, query: str, words: str):
    assert words in page(client, query)


@pytest.mark.django_db
def test_the_tables_hold_the_numbers_of_the_pictures(client: Client):
    assert '<th scope="row">eager</th><td class="num">2.355</td><td class="num">42.6</td>' in page(client)
    padding = page(client, "view=padding")
    assert '<th scope="row">9 (at hand)</th><td class="num">9</td><td class="num">16</td>' in padding
    assert '<th scope="row">mixed</th><td class="num">320</td><td class="num">129</td>' in page(client, "view=modes")


@pytest.mark.django_db
def test_the_engines_refusals_stand_beside_their_fields(client: Client):
    assert "FULL is not supported with this backend" in page(client, "view=modes&cudagraph_mode=FULL&support=NEVER")
    assert "At most 256 sequences run at once here." in page(client, "view=padding&gpu=a100&sequences=300")


def test_launches_and_their_kernels_stand_in_the_enlarged_part():
    start = drawn(LAUNCHES, {}).parts[1].wide
    assert words(start).count("graph") == 5 and "15" in words(start)  # 15 launches of 6 µs; 4 pieces and the whole
    assert "one graph, 8 kernels" in words(start) and "one graph, 392 kernels" in words(start)
    assert sum(isinstance(shape, Bar) and shape.pattern == "idle" for shape in start.shapes) > 15


def test_the_readers_number_stands_on_the_steps_scale():
    def pens(said: float | None) -> int:
        shapes = drawn(LAUNCHES, {}, said).parts[0].wide.shapes
        return sum(isinstance(shape, Path) and shape.css == "pen" for shape in shapes)

    assert (pens(None), pens(1.5), pens(1_000)) == (0, 1, 0)


def test_the_ruler_has_a_tick_a_size_and_a_wall_after_the_largest():
    ruler = drawn(PADDING, {}).parts[0].wide
    assert sum(isinstance(shape, Bar) and shape.css == "solid" for shape in ruler.shapes) == 51
    assert walls(ruler) == 1 and {"9 → 16, 43.8% empty", "512, the largest"} <= set(words(ruler))
    assert "513: no graph" in words(drawn(PADDING, {"sequences": 513}).parts[0].wide)


def test_one_outline_a_graph():
    cut = drawn(MODE, {}).parts[0].wide
    kernels, graphs = 41, 6  # 41 boxes have room: 4 pieces of 7, the beginning of a fifth, and the whole
    assert sum(isinstance(shape, Bar) and shape.css == "result" for shape in cut.shapes) == graphs
    assert sum(isinstance(shape, Bar) and shape.css != "result" for shape in cut.shapes) == 3 * kernels


@pytest.mark.parametrize(("view", "name", "claim"), [
    (LAUNCHES, "8B BF16, a slow CPU", lambda result: round(result.eager.cpu_ms, 2) == 4.92),
    (LAUNCHES, "8B FP8, 64 sequences", lambda result: result.enough == "eager"),
    (PADDING, "900 on a B200", lambda result: result.batch.size == 912),
    (PADDING, "129 with three drafts", lambda result: result.batch.size is None),
    (PADDING, "250 on an A100, no context", lambda result: result.batch.cost_ms > 0),
    (PADDING, "a decode pod of 40 to 64", lambda result: len(result.sizes) == 4 and result.batch.size == 56),
    (MODE, "a backend never captured", lambda result: result.mode == "PIECEWISE"),
    (MODE, "drafts, one token each", lambda result: result.mode == "PIECEWISE"),
    (MODE, "no torch.compile", lambda result: result.mode == "FULL_DECODE_ONLY"),
    (MODE, "a short chunk, Blackwell", lambda result: result.steps_run[1].size == 976),
])
def test_presets_show_what_their_notes_claim(view: View, name: str, claim: object):
    preset = next(preset for preset in view.presets if preset.name == name)
    assert claim(view.run(preset.values)[1])


@settings(max_examples=30, deadline=None)
@given(
    model=st.sampled_from(("qwen3-0.6b", "llama-3.1-405b")), gpu=st.sampled_from(("h100", "l4")),
    sequences=st.integers(1, 4_096), context_tokens=st.integers(0, 131_072), kernels_per_layer=st.integers(1, 48),
    kernels_outside=st.integers(0, 500), eager_ops=st.integers(0, 48), launch_us=st.floats(0.5, 100),
    piece_us=st.floats(0.5, 200), full_us=st.floats(0.5, 500), floor_us=st.floats(0.1, 20),
    layers=st.none() | st.integers(1, 60), kernel_ms=st.none() | st.floats(0.001, 1_000),
    said=st.none() | st.floats(-10, 1e7),
)
def test_every_step_is_drawn_inside_its_picture(said: float | None, **values: object):
    try:
        LAUNCHES.run(values)
    except Refusal:
        return
    assert_drawn_inside(drawn(LAUNCHES, values, said))


@settings(max_examples=30, deadline=None)
@given(
    gpu=st.sampled_from(("h100", "b200", "l4")), sequences=st.integers(1, 16_384),
    context_tokens=st.integers(0, 131_072), num_speculative_tokens=st.integers(0, 16),
    max_num_seqs=st.none() | st.integers(1, 16_384), max_num_batched_tokens=st.none() | st.integers(1, 131_072),
    cudagraph_capture_sizes=st.sampled_from(("", "1", "1 8 64", "3000 9000")),
    max_cudagraph_capture_size=st.none() | st.integers(1, 16_384), said=st.none() | st.floats(-10, 1e7),
)
def test_every_batch_is_drawn_inside_its_picture(said: float | None, **values: object):
    try:
        PADDING.run(values)
    except Refusal:
        return
    assert_drawn_inside(drawn(PADDING, values, said))


@settings(max_examples=30, deadline=None)
@given(
    cudagraph_mode=st.sampled_from(sorted(MODES)), support=st.sampled_from(sorted(SUPPORT)), compiled=st.booleans(),
    num_speculative_tokens=st.integers(0, 16), layers=st.integers(1, 160), kernels_per_layer=st.integers(1, 48),
    kernels_outside=st.integers(0, 500), eager_ops=st.integers(0, 48), sequences=st.integers(1, 1_024),
)
def test_every_mode_is_drawn_inside_its_picture(**values: object):
    try:
        MODE.run(values)
    except Refusal:
        return
    assert_drawn_inside(drawn(MODE, values))
