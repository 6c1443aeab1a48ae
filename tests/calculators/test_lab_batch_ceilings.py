"""The batch-ceilings lab's page: what it says, holds back and marks, and that any setting can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.batch_ceilings_picture import Picture
from calculators.models.base import Refusal
from calculators.pictures import NARROW, WIDE, Path
from tests.calculators.drawings import assert_within, walls, words

VIEW = LABS["batch-ceilings"].views[0]


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/batch-ceilings?{query}")
    assert response.status_code == 200
    return response.content.decode()


def drawn(values: dict, said: float | None = None) -> Picture:
    return VIEW.drawn(VIEW.show(VIEW.bind(values)), said).picture


@pytest.mark.django_db
def test_the_page_says_the_lowest_ceiling_and_its_derivation(client: Client):
    html = page(client)
    assert "the KV pool is the lowest ceiling: 220 of KV 220, ridge 295 and flag 1,024" in html
    assert "28,160 / ⌈2,048 / 16⌉" in html and "989e12 / 3.35e12" in html
    assert "The flag of 1,024 is not reached" in html


@pytest.mark.django_db
def test_the_table_holds_the_numbers_of_the_picture(client: Client):
    html = page(client)
    assert '<td class="num">64</td><td class="num">9.92</td><td class="num">6,450 (101)</td>' in html
    assert '<td class="num">256</td><td class="num">1,760</td><td>295, ridge; 1,024</td>' in html


@pytest.mark.django_db
def test_a_held_result_shows_nothing_of_itself(client: Client):
    html = page(client, "ask=1")
    for figure in ("220", "295", "9,812"):
        assert figure not in html


@pytest.mark.django_db
def test_the_flag_as_an_answer_is_known_as_a_slip(client: Client):
    html = page(client, "ask=1&said=1k&context_tokens=256")
    assert "3.4× too high" in html
    assert "That is the flag. It caps what is admitted and reserves nothing; the ridge lies at 295." in html


@pytest.mark.django_db
def test_a_pool_that_does_not_fit_says_so_beside_its_field(client: Client):
    html = page(client, "model=llama-3.1-70b")
    assert "Empty, the pool is what is left." in html
    assert "Shown is the preset" in html


def test_three_walls_and_two_dots_are_drawn_where_more_is_admitted_than_the_ridge():
    made = drawn({"context_tokens": 256})
    assert walls(made.wide) == 3
    dots = [shape.css for shape in made.wide.shapes if isinstance(shape, Path) and shape.css in ("present", "result")]
    assert dots.count("present") == dots.count("result") == 3  # one in each panel
    assert {"7.75 ms", "38,070", "129", "26.9 ms", "38,088", "37.2"} <= set(words(made.wide))


def test_a_ceiling_off_the_paper_is_named_at_its_edge():
    made = drawn({"context_tokens": 256, "kv_bits": 8})
    assert "KV pool 3,520 →" in words(made.wide)


def test_the_pen_line_stands_at_the_readers_batch():
    assert "your 512" in words(drawn({}, 512.0).wide)
    assert not [shape for shape in drawn({}).wide.shapes if isinstance(shape, Path) and shape.css == "pen"]


@pytest.mark.parametrize("preset", VIEW.presets, ids=lambda preset: preset.name)
def test_every_preset_shows_what_its_note_claims(preset):
    _, result = VIEW.run(preset.values)
    claims = {
        "2,048 tokens": lambda: result.binds == "KV" and result.kv_ceiling == 220,
        "256 tokens": lambda: result.kv_ceiling == 1_760 and round(result.flag_over_ridge, 1) == 3.5,
        "FP8 KV": lambda: result.kv_ceiling == 440 and result.binds == "ridge",
        "two GPUs": lambda: result.kv_ceiling > 2 * 217 and result.ridge == 295,
        "A100": lambda: (result.flag, result.ridge, result.reached) == (256, 153, 256),
        "70B on four": lambda: result.ridge == 295 and round(result.machine.weight_bytes / 16.06e9) == 9,
    }
    assert claims[preset.name]()


@settings(max_examples=80, deadline=None)
@given(
    context_tokens=st.integers(1, 1_000_000), max_num_seqs=st.none() | st.integers(1, 65_536),
    pool_gib=st.none() | st.floats(0.1, 100), model=st.sampled_from(["qwen3-0.6b", "llama-3.1-8b", "llama-3.1-405b"]),
    gpu=st.sampled_from(["l4", "h100", "b200"]), tensor_parallel_size=st.sampled_from((1, 8)),
    weight_bits=st.sampled_from((4, 16)), tflop_per_s=st.none() | st.floats(0.1, 20_000),
    tb_per_s=st.none() | st.floats(0.01, 100), said=st.none() | st.floats(-10, 1e7),
)
def test_every_setting_is_drawn_inside_its_picture(said: float | None, **values: object):
    try:
        VIEW.run(values)
    except Refusal:
        return
    made = drawn(values, said)
    for drawing, width in ((made.wide, WIDE), (made.narrow, NARROW), (made.contexts_wide, 480),
                           (made.contexts_narrow, NARROW)):
        assert_within(drawing, width)
