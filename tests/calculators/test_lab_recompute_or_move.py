"""The recompute-or-move lab's page: what it says, holds back and marks, and that any setting can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.recompute_or_move_picture import Picture
from calculators.models.base import Refusal
from calculators.pictures import NARROW, WIDE, Path
from tests.calculators.drawings import assert_within, walls, words

VIEW = LABS["recompute-or-move"].views[0]
A_BLOCK = {"layers_per_copy": 32, "k_and_v": "together"}


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/recompute-or-move?{query}")
    assert response.status_code == 200
    return response.content.decode()


def drawn(values: dict, said: float | None = None) -> Picture:
    return VIEW.drawn(VIEW.show(VIEW.bind(values)), said).picture


@pytest.mark.django_db
def test_the_page_says_both_costs_and_their_derivation(client: Client):
    html = page(client)
    assert "2,000 tokens take 53.9 ms to recompute and 90.5 ms to move in 8,000 copies of 32 KiB" in html
    assert "131,072 B / 26.1 µs" in html and "10 µs × 5.02 / (1 − 5.02 / 25)" in html
    assert "Recomputing wins, 1.7×: the copies&#x27; overhead is 80 ms, the link itself takes 10.5 ms." in html


@pytest.mark.django_db
def test_the_table_holds_the_numbers_of_the_picture(client: Client):
    html = page(client)
    assert '<td class="num">32 KiB (at hand)</td><td class="num">90.5</td><td class="num">8,000, 2.9</td>' in html
    assert '<td>Llama-2-7B</td><td class="num">524,288; 21.9</td><td class="num">23.9</td>' in html


@pytest.mark.django_db
def test_a_held_result_shows_nothing_of_itself(client: Client):
    html = page(client, "ask=1")
    for figure in ("5.02", "53.9", "90.5"):
        assert figure not in html


@pytest.mark.django_db
def test_both_ways_as_an_answer_are_known_as_a_slip(client: Client):
    html = page(client, "ask=1&said=10+GB/s")
    assert "1.99× too high" in html
    assert "what out and in need together, or one FLOP a parameter instead of two" in html


@pytest.mark.django_db
def test_more_layers_than_the_model_has_are_refused_beside_their_field(client: Client):
    html = page(client, "layers_per_copy=40")
    assert "Llama-3.1-8B has 32 layers; takes at most so many." in html
    assert 'value="40"' in html


def test_the_wall_stands_where_both_cost_the_same():
    made = drawn({})
    assert walls(made.wide) == 1 and "from 58.9 KiB on, moving wins" in words(made.wide)
    assert {"recompute 53.9 ms", "move 90.5 ms: 8,000 copies of 32 KiB"} <= set(words(made.wide))


def test_a_link_that_is_too_slow_has_no_wall_and_says_so():
    made = drawn({"link_gb_per_s": 4})
    assert walls(made.wide) == 0 and "at no size does moving win" in words(made.wide)


def test_without_overhead_moving_wins_at_every_size():
    assert "at every size moving wins" in words(drawn({"overhead_us": 0}).wide)


def test_the_pen_line_stands_in_the_row_that_the_guess_is_about():
    assert words(drawn({}, 10.0).models_wide).count("your 10") == 1
    assert not [shape for shape in drawn({}).models_wide.shapes if isinstance(shape, Path) and shape.css == "pen"]


@pytest.mark.parametrize("preset", VIEW.presets, ids=lambda preset: preset.name)
def test_every_preset_shows_what_its_note_claims(preset):
    _, result = VIEW.run(preset.values)
    claims = {
        "a layer at a time": lambda: result.copy_bytes == 32 * 1024 and result.winner == "recompute",
        "a block at a time": lambda: result.copy_bytes == 2 * 2**20 and result.winner == "move",
        "97% cached": lambda: result.missing_tokens == 60,
        "out and in": lambda: round(result.both_ways_gb_per_s, 1) == 10.0 and result.winner == "recompute",
        "7B of 2023 on an A100": lambda: round(result.both_ways_gb_per_s) == 15,
        "70B on four": lambda: result.winner == "move" and result.times > 20,
    }
    assert claims[preset.name]()


@settings(max_examples=80, deadline=None)
@given(
    tokens=st.integers(1, 1_000_000), hit_fraction=st.floats(0, 0.99),
    model=st.sampled_from(["qwen3-0.6b", "llama-2-7b", "deepseek-v3"]), gpu=st.sampled_from(["l4", "h100", "b200"]),
    tensor_parallel_size=st.sampled_from((1, 8)), link_gb_per_s=st.floats(0.1, 1_000),
    overhead_us=st.floats(0, 1_000), block_size=st.integers(1, 256), layers_per_copy=st.integers(1, 28),
    k_and_v=st.sampled_from(("apart", "together")), trips=st.sampled_from((1, 2)),
    tflop_per_s=st.none() | st.floats(0.1, 20_000), said=st.none() | st.floats(-10, 1e7),
)
def test_every_setting_is_drawn_inside_its_picture(said: float | None, **values: object):
    try:
        VIEW.run(values)
    except Refusal:
        return
    made = drawn(values, said)
    for drawing, width in ((made.wide, WIDE), (made.narrow, NARROW), (made.copies_wide, 480),
                           (made.copies_narrow, NARROW), (made.models_wide, 480), (made.models_narrow, NARROW)):
        assert drawing.height < 900
        assert_within(drawing, width)
