"""The gpu-count lab's pages: what they hold back, what they mark, and that any setting can be drawn."""
import re

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.base import View
from calculators.labs.gpu_count import WHOLE
from calculators.models.base import Refusal
from calculators.models.catalogue import GPUS
from calculators.models.latency_dashboard import CAUSES
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Path, Text

LAB = LABS["gpu-count"]
SIZING, QUEUEING, IN_FLIGHT, DASHBOARD = LAB.views
ANY_SIZE = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/gpu-count?{query}")
    assert response.status_code == 200
    return response.content.decode()


def drawn(view: View, values: dict, said: float | str | None = None):
    return view.drawn(view.show(view.bind(values)), said).picture


def stays_inside(drawing: Drawing, width: float) -> None:
    """Every shape lies within its picture."""
    assert drawing.width == width
    for shape in drawing.shapes:
        if isinstance(shape, Bar):
            assert shape.w >= 0 and shape.h >= 0 and shape.x >= -10 and shape.x + shape.w <= width + 10, shape
            assert shape.y >= -10 and shape.y + shape.h <= drawing.height, shape
        elif isinstance(shape, Text):
            assert -1 <= shape.x <= width + 1 and 0 <= shape.y <= drawing.height, shape
        else:
            assert "nan" not in shape.d and "inf" not in shape.d


def draw_whatever(view: View, values: dict, said: float | None = None) -> None:
    """Draw the setting unless it is refused; every drawing has its shapes inside."""
    try:
        view.run(values)
    except Refusal:
        return
    made = drawn(view, values, said)
    drawings = {name: getattr(made, name) for name in made.__slots__ if isinstance(getattr(made, name), Drawing)}
    assert len(drawings) >= 2
    for name, drawing in drawings.items():
        stays_inside(drawing, NARROW if "narrow" in name else 480 if drawing.width == 480 else WIDE)


@pytest.mark.django_db
def test_sizing_says_the_finding_and_every_step_aloud(client: Client):
    html = page(client)
    assert "29 replicas of 2 GPUs, 32 with spare: 64 GPUs" in html
    assert "2 × (72.85 − 33.83 − 0.60 − 2.10 − 1.85 − 1.68) GiB" in html
    assert "when nothing alone asks for more than 11" in html
    assert "12 would do for time" in html


@pytest.mark.django_db
def test_a_held_count_shows_nothing_of_itself(client: Client):
    html = page(client, "ask=1")
    for figure in ("429,728", "10.6", "29 replicas"):
        assert figure not in html


@pytest.mark.django_db
def test_kv_alone_is_marked_by_the_two_shares_it_leaves_out(client: Client):
    html = page(client, "ask=1&said=22")
    assert "2.9× too low" in html and "That is KV alone." in html
    assert re.findall(r'<tr class=" missed"><th scope="row">([a-z ]+) at 29', html) == ["prefill share", "decode share"]
    assert "your 11 replicas, 22 GPUs" in html
    assert 'class=" missed"' not in page(client, "said=64")


@pytest.mark.django_db
def test_a_dashboard_keeps_its_cause_until_one_is_named(client: Client):
    unnamed = page(client, "view=dashboard&pool_tokens=110500")
    assert "6.1 waiting" in unnamed and "is full 41% of the time" not in unnamed
    wrong = page(client, "view=dashboard&pool_tokens=110500&said=seats")
    assert "not that" in wrong and "the reason is not the flag" in wrong
    assert "the pool takes 96 sequences and is full 41% of the time" in wrong
    right = page(client, "view=dashboard&pool_tokens=110500&said=kv&ask=1")
    assert "not that" not in right and "is full 41% of the time" in right


@pytest.mark.django_db
def test_a_cause_that_is_no_cause_says_which_there_are(client: Client):
    html = page(client, "view=dashboard&said=gremlins")
    assert "Takes one of: nothing, it is healthy" in html
    assert "Both promises hold" not in html


def test_every_cause_has_a_dashboard():
    causes = {DASHBOARD.run(preset.values)[1].cause for preset in DASHBOARD.presets}
    assert causes == set(CAUSES)


def test_a_preset_does_not_give_its_cause_away():
    for preset in DASHBOARD.presets[1:]:
        form = DASHBOARD.bind(preset.values)
        assert DASHBOARD.nearest_preset(form.data) == (preset, set())  # so its folded knobs stay folded


def test_the_wall_furthest_right_wins():
    made = drawn(SIZING, {})
    walls = [shape for shape in made.wide.shapes if isinstance(shape, Path) and shape.css == "s-limit"]
    assert len(walls) == 5
    bars = [shape for shape in made.wide.shapes if isinstance(shape, Bar) and shape.css in ("solid", "present")]
    assert max(bars, key=lambda bar: bar.w).css == "present"


def test_the_guess_stands_in_the_row_it_is_about():
    def marks(said: float) -> list[Path]:
        shapes = drawn(SIZING, {}, said).wide.shapes
        return [shape for shape in shapes if isinstance(shape, Path) and shape.css == "pen"]

    heights = [[float(y) for y in re.findall(r" ([\d.]+)", marks(said)[0].d)] for said in (22, 40)]
    assert heights[0][-1] - heights[0][0] < 40 < heights[1][-1] - heights[1][0]  # KV's own row; across all rows
    assert not drawn(SIZING, {}, 5_000).missed


def test_the_formula_lies_over_the_run():
    css = [shape.css for shape in drawn(QUEUEING, {"load": 1.05}).wide.shapes]
    assert css.count("formula") == 1 and "stepped thin" in css
    capped = drawn(QUEUEING, {"load": 1.05, "max_num_queued_reqs": 20})
    assert sum(away for _, _, away in capped.slices) == QUEUEING.run(
        {"load": 1.05, "max_num_queued_reqs": 20})[1].run.rejected
    assert any(isinstance(shape, Bar) and shape.css == "limit-tick" for shape in capped.wide.shapes)


@pytest.mark.parametrize(("view", "name", "holds"), [
    (SIZING, "no prefix hits", lambda result: result.replicas == 60),
    (SIZING, "replies twice as long", lambda result: result.replicas == 38),
    (SIZING, "four GPUs a replica", lambda result: result.gpus < 64),
    (SIZING, "8B, long replies", lambda result: result.rate_per_s == 50),
    (SIZING, "mixture of experts", lambda result: result.gpus == 56),
    (QUEUEING, "load 1.05", lambda result: result.regime == "growing"),
    (QUEUEING, "load 1.05, cap 20", lambda result: result.run.rejected > 0),
    (QUEUEING, "load 0.95", lambda result: round(result.p99_ttft_s, 2) == 9.21),
    (QUEUEING, "equal services", lambda result: round(result.formula.mean_wait_s, 2) == 0.28),
    (IN_FLIGHT, "with prefill", lambda result: round(result.sequences) == 1_023),
    (IN_FLIGHT, "20 ms a token", lambda result: result.sequences == 500),
    (IN_FLIGHT, "32B on H200s", lambda result: result.kv_bytes_per_token == 2 * 131_072),
])
def test_a_preset_shows_what_its_note_claims(view: View, name: str, holds):
    preset = next(preset for preset in view.presets if preset.name == name)
    assert holds(view.run(preset.values)[1])


@ANY_SIZE
@given(
    users=st.integers(1, 2_000_000), prompt_tokens=st.integers(1, 20_000), hit_percent=st.integers(0, 100),
    output_tokens=st.integers(1, 8_000), ms_per_token=st.integers(5, 200), model=st.sampled_from(list(WHOLE)),
    gpu=st.sampled_from(list(GPUS)), gpus_per_replica=st.sampled_from((1, 2, 4, 8)),
    busy_share=st.floats(0.2, 1), said=st.none() | st.floats(0.01, 1e6),
)
def test_every_size_is_drawn_inside_its_picture(said: float | None, **values: object):
    draw_whatever(SIZING, values, said)


@ANY_SIZE
@given(
    load=st.floats(0.05, 2), service_s=st.floats(0.01, 5), horizon_s=st.floats(20, 400),
    max_num_queued_reqs=st.none() | st.integers(1, 200), service=st.sampled_from(("exponential", "deterministic")),
    said=st.none() | st.floats(0.001, 1e4),
)
def test_every_queue_is_drawn_inside_its_picture(said: float | None, **values: object):
    draw_whatever(QUEUEING, values, said)


@ANY_SIZE
@given(
    rate_per_s=st.floats(0.01, 2_000), output_tokens=st.integers(1, 4_000), ms_per_token=st.floats(1, 200),
    max_num_seqs=st.integers(1, 8_192), prompt_tokens=st.integers(1, 50_000), pool_gib=st.floats(1, 1_000),
    said=st.none() | st.floats(0.1, 1e6),
)
def test_every_flight_is_drawn_inside_its_picture(said: float | None, **values: object):
    draw_whatever(IN_FLIGHT, values, said)


@ANY_SIZE
@given(
    rate_per_s=st.floats(0.1, 30), prompt_tokens=st.integers(1, 20_000), output_tokens=st.integers(2, 2_000),
    front_end_ms=st.floats(0.1, 90), max_num_seqs=st.integers(1, 1_024), pool_tokens=st.integers(2_000, 900_000),
    slo_ttft_ms=st.floats(1, 60_000), slo_tpot_ms=st.floats(1, 500),
)
def test_every_dashboard_is_drawn_inside_its_picture(**values: object):
    draw_whatever(DASHBOARD, values)
