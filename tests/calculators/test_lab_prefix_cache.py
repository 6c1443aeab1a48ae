"""The prefix-cache lab's pages: what they say, and that whatever the forms take can be drawn."""
import json

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs.prefix_cache import LAB
from calculators.pictures import NARROW, WIDE
from tests.calculators.drawings import assert_within, walls, words

VIEWS = {view.name: view for view in LAB.views}
LOOKUP = VIEWS["lookup"]


def picture(view: str, step: str = "", **values: object) -> object:
    shown = VIEWS[view].show(VIEWS[view].bind(values), step)
    return VIEWS[view].drawn(shown).picture


@pytest.mark.django_db
def test_a_step_says_why_and_judges_what_was_said(client: Client):
    html = client.get("/labs/prefix-cache?step=4&said_hit=48&said_computed=8").content.decode()
    assert "Step 4: 1 of 2 right." in html
    assert "14 of block 4’s 16 tokens agree; the key does not: stop, and never look further." in html
    assert "8 to 63" in html and "never used, 56" in html


@pytest.mark.django_db
def test_a_request_that_can_not_be_read_keeps_its_text(client: Client):
    html = client.get("/labs/prefix-cache?requests=r1:64,zebra").content.decode()
    assert "“zebra” can&#x27;t be read" in html and "zebra</textarea>" in html


@pytest.mark.django_db
def test_the_pool_is_left_out_of_the_listed_steps(client: Client):
    answer = json.loads(client.get("/labs/prefix-cache.json").content)
    assert [step["hit_tokens"] for step in answer["result"]["steps"]] == [0, 0, 48, 64, 48, 0]
    assert "pool" not in answer["result"]["steps"][0]


def test_rows_to_come_are_blank_and_each_shown_one_has_its_wall():
    made = picture("lookup", "2")
    assert walls(made.rows) == 2 and words(made.rows).count("not shown yet: predict, then step") == 3
    assert words(made.rows).count("22e889be") == 2  # r1's first key and r2's: the same


def test_nothing_is_asked_of_a_step_without_a_request():
    inputs, result = LOOKUP.run({"in_one_step": True})
    assert LOOKUP.predict(result, inputs, len(result.steps) - 1) == ()


@pytest.mark.parametrize(("preset", "claim"), [
    ("five requests", lambda run: run.hit_tokens == 160),
    ("salts none, A, B, A", lambda run: [step.hit_tokens for step in run.steps] == [0, 0, 0, 0, 64]),
    ("a chat of four turns", lambda run: all(
        step.request.prompt_tokens > step.hit_tokens > step.request.prompt_tokens - 80 for step in run.steps[2:])),
    ("one chain, one taker", lambda run: run.steps[3].hit_tokens == 80 and "N·3" in run.steps[3].lost),
    ("a group in one step", lambda run: [step.hit_tokens for step in run.steps[2:5]] == [992] * 3),
])
def test_a_preset_shows_what_its_note_claims(preset: str, claim: object):
    values = next(each.values for each in LOOKUP.presets if each.name == preset)
    assert claim(LOOKUP.run(values)[1])


@pytest.mark.parametrize(("view", "preset", "figure", "value"), [
    ("eviction", "a 55 GiB pool", "stranded_mib", 55_880),
    ("eviction", "eight blocks, three taken", "stranded_mib", 10),
    ("eviction", "11 prompts, 11 blocks taken", "stranded", 77), ("radix", "both in pages of 64", "apart_tokens", 0),
    ("tenants", "50 tenants, a salt each", "copies", 50), ("tenants", "1,000 tenants in groups of 20", "copies", 50),
    ("timing", "one look", "recovered_blocks", 0), ("timing", "10 ms of noise added", "recovered_blocks", 3),
])
def test_a_preset_gives_the_figure_it_names(view: str, preset: str, figure: str, value: float):
    values = next(each.values for each in VIEWS[view].presets if each.name == preset)
    assert getattr(VIEWS[view].run(values)[1], figure) == value


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3_000), st.integers(1, 30), st.booleans(), st.integers(0, 3_000)), min_size=1,
                max_size=9), st.sampled_from([1, 7, 16, 300]), st.booleans(), st.integers(0, 12))
def test_every_lookup_is_drawn_inside_its_picture(made: list, block_size: int, once: bool, step: int):
    text = ",".join(f"q{n}:{length}/{out}" + (f"=q{n - 1}:{shared}" if n and like else "")
                    for n, (length, out, like, shared) in enumerate(made))
    shown = LOOKUP.show(LOOKUP.bind({"requests": text, "block_size": block_size, "in_one_step": once,
                                     "usable_blocks": 2_048}), str(step))
    if shown is None:  # more than the pool holds
        return
    made = LOOKUP.drawn(shown).picture
    for drawing, width in ((made.rows, WIDE), (made.rows_narrow, NARROW), (made.queue, WIDE),
                           (made.queue_narrow, NARROW)):
        assert_within(drawing, width)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 300), st.integers(1, 300), st.integers(0, 90_000), st.integers(1, 200), st.integers(2, 5_000),
       st.integers(1, 300))
def test_every_other_view_is_drawn_inside_its_picture(a: int, b: int, taken: int, requests: int, tokens: int,
                                                      block: int):
    drawn = [
        picture("eviction", chains=a, chain_blocks=b, taken_blocks=min(taken, a * b)),
        picture("radix", requests=requests, prompt_tokens=tokens, shared_low=0, shared_high=tokens, block_size=block,
                page_size=a),
        picture("tenants", tenants=taken + 1, shared_tokens=tokens, unique_tokens=b, pool_tokens=10 * tokens + b),
        picture("timing", prompt_tokens=3 * block + tokens, block_size=block, guesses=min(a + 1, 100), probes=b),
    ]
    for made in drawn:
        for part in made.parts:
            assert_within(part.wide, WIDE)
            assert_within(part.narrow, NARROW)
