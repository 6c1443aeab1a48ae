"""The leak-rate lab's pages: what is held back until a suspect is named, and that any samples can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.base import Preset, View
from calculators.pictures import NARROW, WIDE
from tests.calculators.drawings import assert_within, words

LAB = LABS["leak-rate"]
SLOPE, SUSPECTS = LAB.views


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/leak-rate?{query}")
    assert response.status_code == 200
    return response.content.decode()


def drawn(view: View, values: dict, said: float | str | None = None):
    return view.drawn(view.show(view.bind(values)), said).picture


@pytest.mark.django_db
def test_the_slope_is_held_until_a_number_is_said(client: Client):
    held = page(client, "ask=1")
    assert "24,556" not in held and "0.9999" not in held
    shown = page(client, "ask=1&said=40.9")
    assert "a token’s share" in shown and "24,556" in shown


@pytest.mark.django_db
def test_a_suspect_is_spoken_against_when_named(client: Client):
    unnamed = page(client, "view=suspects")
    assert "8 of 9 are ruled out" not in unnamed.partition("<details")[0] and '<details class="fold">' in unnamed
    wrong = page(client, "view=suspects&said=hashes")
    assert "not that" in wrong and "9× too small" in wrong and '<details class="fold" open>' in wrong
    assert "not that" not in page(client, "view=suspects&said=tokens")


@pytest.mark.django_db
def test_a_row_that_cannot_be_read_is_named_beside_the_samples(client: Client):
    html = page(client, "samples=0,0,1,2;1,2,x,3;2,1,1,1;3,1,1,1")
    assert "Row 2, “1,2,x,3”, is not 4 numbers apart by commas." in html and "Shown is the preset" in html


def test_the_readers_slope_is_a_line_of_its_own():
    assert "your 20,000 B" in words(drawn(SLOPE, {}, 20_000.0).wide)
    assert not any(word.startswith("your") for word in words(drawn(SLOPE, {}).wide))


@pytest.mark.parametrize("preset", SLOPE.presets, ids=lambda preset: preset.name)
def test_every_preset_can_be_drawn(preset: Preset):
    for view, said in ((SLOPE, 5_000.0), (SUSPECTS, "tokens")):
        made = drawn(view, preset.values, said)
        for drawing, width in ((made.wide, WIDE), (made.narrow, NARROW), (made.suspects_wide, WIDE),
                               (made.suspects_narrow, NARROW)):
            assert drawing.width == width
            assert_within(drawing, width)


@given(
    rows=st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**7)), min_size=4, max_size=12),
    said=st.none() | st.floats(-10, 1e12), prompt_tokens=st.integers(1, 1_000_000),
    top_logprobs=st.integers(0, 100), images_per_request=st.floats(0, 100),
)
@settings(max_examples=60, deadline=None)
def test_any_samples_can_be_drawn(rows: list[tuple[int, int]], said: float | None, **values: object):
    samples = "min,requests,rss;" + ";".join(f"{place},{count},{rss}" for place, (count, rss) in enumerate(rows))
    made = drawn(SLOPE, values | {"samples": samples}, said)
    for drawing, width in ((made.wide, WIDE), (made.narrow, NARROW), (made.suspects_wide, WIDE),
                           (made.suspects_narrow, NARROW)):
        assert_within(drawing, width)
