"""The kv-size lab's page: what it holds back, what its presets claim, and that any setting can be drawn."""
import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.base import View
from calculators.models.base import Refusal
from calculators.models.catalogue import MODELS
from calculators.pictures import NARROW, WIDE, Bar, Path
from tests.calculators.drawings import assert_within, walls, words

LAB = LABS["kv-size"]
VIEWS = {view.name: view for view in LAB.views}


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/kv-size?{query}")
    assert response.status_code == 200
    return response.content.decode()


def drawn(view: View, values: dict, said: float | None = None):
    return view.drawn(view.show(view.bind(values)), said).picture


def drawings(picture) -> list:
    parts = (picture.main, picture.side, picture.below)
    return [(part.wide, part.narrow) for part in parts if part]


@pytest.mark.django_db
def test_the_page_says_the_finding_and_its_derivation(client: Client):
    html = page(client)
    assert "Llama-3.1-8B keeps 128 KiB a token, so 217 sequences fit at 2,048 tokens." in html
    assert "2 × 32 × 8 × 128 × 2 =" in html and "27,852 / 128 =" in html


@pytest.mark.django_db
@pytest.mark.parametrize(("view", "figures"), [
    ("concurrency", ("217", "27,852")), ("long-replies", ("177", "103.5")), ("fp8", ("7.29", "5.99")),
    ("paging", ("1,650", "0.201")), ("hybrid", ("2.98", "2,438")), ("siblings", ("2,032",)),
])
def test_a_held_result_shows_nothing_of_itself(view: str, figures: tuple[str, ...], client: Client):
    stage = page(client, f"view={view}&ask=1").partition('id="lab"')[2]
    assert not [figure for figure in figures if figure in stage]


@pytest.mark.django_db
def test_query_heads_are_named_as_the_slip(client: Client):
    html = page(client, "ask=1&said=54")
    assert "4.0× too low" in html
    assert "That counts query heads." in html
    assert "your 54" in html


@pytest.mark.django_db
def test_a_number_in_phase_is_told_from_a_staggered_one(client: Client):
    assert "That takes every reply at its full length." in page(client, "view=long-replies&said=53")


@pytest.mark.django_db
def test_a_pool_too_small_says_so_beside_its_knob(client: Client):
    html = page(client, "context_tokens=131072&pool_gib=10")
    assert "One sequence needs 8,192 blocks of 2 MiB; the pool holds 5,120." in html
    assert 'value="131,072"' in html


def test_every_sequence_is_a_cell_of_the_pool_and_the_rest_is_left_over():
    wide = drawn(VIEWS["concurrency"], {}).main.wide
    cells = [shape for shape in wide.shapes if isinstance(shape, Bar) and shape.css == "s-decoding"]
    left = [shape for shape in wide.shapes if isinstance(shape, Bar) and shape.css == "s-idle"]
    assert 217 <= len(cells) <= 217 + 3  # one that a row ends in is two pieces
    assert len(left) == 1
    assert "217 sequences" in words(wide)


def test_ridge_and_flag_are_walls_where_the_pool_holds_more():
    wide = drawn(VIEWS["concurrency"], {"context_tokens": 256}).main.wide
    assert walls(wide) == 2
    assert {"ridge 295", "max_num_seqs 1,024"} <= set(words(wide))
    assert any(isinstance(shape, Bar) and shape.css == "never" for shape in wide.shapes)
    assert walls(drawn(VIEWS["concurrency"], {}).main.wide) == 0


def test_the_burst_falls_from_all_admitted_to_who_is_left():
    made = drawn(VIEWS["long-replies"], {}).main
    assert {"1,024", "first preemption at step 177", "53 left"} <= set(words(made.wide))
    calm = drawn(VIEWS["long-replies"], {"requests": 20}).main
    assert not [shape for shape in calm.wide.shapes if isinstance(shape, Bar) and shape.pattern == "preempted"]
    assert len(calm.legend) == 1


def test_empty_slots_are_drawn_in_the_groups_that_have_them():
    wide = drawn(VIEWS["hybrid"], {}).main.wide
    assert sum(isinstance(shape, Bar) and shape.css == "never" for shape in wide.shapes) == 8
    assert sum(isinstance(shape, Bar) and shape.css == "present" for shape in wide.shapes) == 10


@pytest.mark.parametrize(("name", "said"), [
    ("concurrency", 150.0), ("long-replies", 60.0), ("fp8", 5.0), ("siblings", 1_024.0),
])
def test_the_readers_number_is_a_pen_line(name: str, said: float):
    for number, lines in ((said, 1), (None, 0)):
        wide = drawn(VIEWS[name], {}, number).main.wide
        assert sum(isinstance(shape, Path) and shape.css == "pen" for shape in wide.shapes) == lines


def test_presets_show_what_their_notes_claim():
    def run(view: str, preset: str):
        return VIEWS[view].run(next(p for p in VIEWS[view].presets if p.name == preset).values)[1]

    assert run("concurrency", "a round 55 GiB").pool_tokens == 450_560
    assert run("concurrency", "DeepSeek-V3, TP 8").replicas == 8
    assert run("concurrency", "DeepSeek-V3, DP 8").node_sequences == 8 * 19
    assert run("long-replies", "a burst of 2,000").burst.first_preemption_step == 177
    assert round(run("long-replies", "promise 65 tokens/s").at_batch.user_tokens_per_s) == 65
    assert run("long-replies", "fp8 KV").at_batch.itl_ms == pytest.approx(28.8, abs=0.05)
    assert run("fp8", "220 of 2,048").doubled_gain < 1.7
    assert run("hybrid", "gpt-oss-120b").padding_layers == 0
    assert run("hybrid", "a state of 2 MiB").block_size == 1_024
    assert run("siblings", "parts at 1,000").first_hit == 768


def assert_drawn_within(view: View, values: dict, said: float | None) -> None:
    """Every drawing of the view at these values keeps its shapes inside; a refused setting has none."""
    try:
        view.run(values)
    except Refusal:
        return
    for wide, narrow in drawings(drawn(view, values, said)):
        assert wide.width in (WIDE, 480) and narrow.width == NARROW
        assert_within(wide, wide.width)
        assert_within(narrow, NARROW)


ANY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@ANY
@given(
    model=st.sampled_from(sorted(MODELS)), context_tokens=st.integers(1, 400_000), pool_gib=st.floats(0.1, 1_000),
    tensor_parallel_size=st.sampled_from((1, 8, 16)), max_num_seqs=st.integers(1, 65_536),
    block_size=st.sampled_from((1, 16, 256)), said=st.none() | st.floats(1e-3, 1e7),
)
def test_any_pool_is_drawn_inside_its_picture(said: float | None, **values: object):
    assert_drawn_within(VIEWS["concurrency"], values, said)


@ANY
@given(
    prompt_tokens=st.integers(1, 20_000), output_tokens=st.integers(1, 200_000), pool_gib=st.floats(0.5, 1_000),
    requests=st.integers(1, 5_000), sequences=st.integers(1, 5_000), staggered=st.sampled_from(("on", "off")),
    max_num_seqs=st.integers(1, 4_096), said=st.none() | st.floats(1e-3, 1e7),
)
def test_any_burst_is_drawn_inside_its_picture(said: float | None, **values: object):
    assert_drawn_within(VIEWS["long-replies"], values, said)


@ANY
@given(
    sequences=st.integers(1, 3_000), context_tokens=st.integers(1, 200_000), pool_gib=st.floats(1, 4_000),
    kv_cache_dtype=st.sampled_from(("bf16", "fp8", "nvfp4")), said=st.none() | st.floats(1e-3, 1e7),
)
def test_any_step_is_drawn_inside_its_picture(said: float | None, **values: object):
    assert_drawn_within(VIEWS["fp8"], values, said)


@ANY
@given(
    block_size=st.integers(1, 256), sequences=st.integers(1, 300), mean_tokens=st.integers(1, 200_000),
    lengths=st.sampled_from(("fixed", "uniform", "exponential")), shared_prefix_tokens=st.integers(0, 200_000),
)
def test_any_block_is_drawn_inside_its_picture(**values: object):
    assert_drawn_within(VIEWS["paging"], values, None)


@ANY
@given(
    model=st.sampled_from([slug for slug, _ in VIEWS["hybrid"].form.base_fields["model"].choices]),
    context_tokens=st.integers(1, 2_000_000), state_layers=st.integers(0, 512), state_kib=st.integers(1, 60_000),
    block_size=st.sampled_from((1, 16, 256)),
)
def test_any_layers_are_drawn_inside_their_picture(**values: object):
    assert_drawn_within(VIEWS["hybrid"], values, None)


@ANY
@given(
    prompt_tokens=st.integers(2, 131_072), shared_tokens=st.integers(0, 131_072), window=st.integers(2, 5_000),
    block_size=st.sampled_from((1, 16, 64)), said=st.none() | st.floats(0, 1e6),
    prefix_cache_retention_interval=st.sampled_from(("0", "256", "1024", "none")),
)
def test_any_siblings_are_drawn_inside_their_picture(said: float | None, **values: object):
    assert_drawn_within(VIEWS["siblings"], values, said)
