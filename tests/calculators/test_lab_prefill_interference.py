"""The prefill-interference lab's page: what it holds back, what it marks, and that any setting can be drawn."""
import re

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.prefill_interference_picture import picture
from calculators.models.base import Refusal
from calculators.pictures import NARROW, WIDE, Bar, Path, Text
from tests.calculators.drawings import assert_within, words

VIEW = LABS["prefill-interference"].views[0]


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/prefill-interference?{query}")
    assert response.status_code == 200
    return response.content.decode()


def drawn(values: dict, said: float | None = None):
    return VIEW.drawn(VIEW.show(VIEW.bind(values)), said).picture


@pytest.mark.django_db
def test_the_page_says_the_finding_and_its_derivation(client: Client):
    html = page(client)
    assert "takes the gap of 32 decoders from 10.0 ms to 984 ms and locks arrivals out for 8.61 s" in html
    assert "524,288 × 8,160 × 110,160.5 / 615e12" in html
    assert "43 prompts wait when the prefill is over" in html


@pytest.mark.django_db
def test_a_held_result_shows_nothing_of_itself(client: Client):
    html = page(client, "ask=1")
    for figure in ("984", "8.61", "766.3", "15.6"):
        assert figure not in html


@pytest.mark.django_db
def test_a_committed_number_is_marked_where_it_falls_short(client: Client):
    html = page(client, "ask=1&said=250+ms")
    assert "3.9× too low" in html
    assert "your 250 ms" in html
    assert re.search(r'<tr class=" missed"><th scope="row">attention, last', html)


@pytest.mark.django_db
def test_a_number_that_cannot_be_read_shows_nothing(client: Client):
    html = page(client, "ask=1&said=a+lot")
    assert "984" not in html
    assert 'value="a lot"' in html


@pytest.mark.django_db
def test_a_knob_that_cannot_be_used_says_what_it_takes(client: Client):
    html = page(client, "decoders=900&max_num_batched_tokens=512")
    assert "a budget of 512 leaves nothing to prefill with" in html
    assert 'value="900"' in html


def test_the_pen_line_stands_at_the_readers_guess():
    made = drawn({}, 250.0)
    pens = [shape for shape in made.wide.shapes if isinstance(shape, Path) and shape.css == "pen"]
    assert len(pens) == 1
    assert made.missed == "attention, last"
    for said in (None, 0.0, -1.0):
        assert not [shape for shape in drawn({}, said).wide.shapes if isinstance(shape, Path) and shape.css == "pen"]


def test_every_chunk_and_every_token_of_the_prefill_is_drawn_once():
    made = drawn({})
    bars = [shape for shape in made.wide.shapes if isinstance(shape, Bar)]
    assert sum(bar.css == "s-running" for bar in bars) == 14
    assert sum(bar.css == "s-waiting" for bar in bars) == 9  # one in five of 43
    assert sum(bar.css == "solid" and bar.w == 2 for bar in bars) == 14 + 6  # a tick a prefill step, then the backlog


@pytest.mark.parametrize("preset", VIEW.presets, ids=lambda preset: preset.name)
def test_every_preset_shows_what_its_note_claims(preset):
    _, result = VIEW.run(preset.values)
    claims = {
        "one long prompt": lambda: result.lockout_s > 8,
        "threshold 2,048": lambda: result.lockout_s == 0,
        "90% cached": lambda: result.prefill.chunks == 2 and round(result.peak_gap_ms) == 962,
        "budget 2,048": lambda: round(result.peak_gap_ms) == 250 and round(result.lockout_s, 2) == 8.83,
        "A100": lambda: 8 < result.lockout_s < 12,
        "32B on an H200": lambda: 25 < result.lockout_s < 40,
    }
    assert claims[preset.name]()


def test_a_round_gap_past_the_top_has_no_figure():
    # one token on a fast GPU: the gaps are 0.84 to 0.91 ms, and 2 ms would lie above the drawing
    made = drawn({"prompt_tokens": 1, "context_tokens": 0, "tb_per_s": 49.8, "cpu_ms": 0, "pool_gib": 0.5})
    assert_within(made.wide, WIDE)
    assert_within(made.narrow, NARROW)
    assert "1 ms" in words(made.wide) and "2 ms" not in words(made.wide)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    prompt_tokens=st.integers(1, 200_000), max_num_batched_tokens=st.integers(64, 20_000),
    long_prefill_token_threshold=st.sampled_from((0, 0, 512, 4_000)), decoders=st.integers(0, 300),
    context_tokens=st.integers(0, 4_000), arrivals_per_s=st.integers(0, 60),
    arrival_prompt_tokens=st.integers(16, 4_000), output_tokens=st.integers(1, 100_000),
    said=st.none() | st.floats(1e-3, 1e7),
)
def test_every_setting_is_drawn_inside_its_picture(said: float | None, **values: int):
    try:
        _, result = VIEW.run({**values, "pool_gib": 500})
    except Refusal:
        return
    form = VIEW.bind({**values, "pool_gib": 500})
    made = picture(VIEW.drawn(VIEW.show(form), said))
    for drawing, width in ((made.wide, WIDE), (made.narrow, NARROW)):
        assert drawing.title == result.finding
        for shape in drawing.shapes:
            if isinstance(shape, Bar):
                assert shape.w >= 0 and shape.x >= -1 and shape.x + shape.w <= width + 12
                assert shape.y >= 0 and shape.y + shape.h <= drawing.height
            elif isinstance(shape, Text):
                assert -1 <= shape.x <= width + 1 and 0 <= shape.y <= drawing.height, shape
            else:
                assert "nan" not in shape.d and "inf" not in shape.d
