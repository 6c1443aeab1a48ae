"""The n-gram lab's page: what it says at each step, and that any text can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.pictures import NARROW, WIDE
from tests.calculators.drawings import assert_within, words

VIEW = LABS["ngram"].views[0]


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/ngram?{query}")
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.django_db
def test_a_step_says_its_match_and_what_was_accepted(client: Client):
    html = page(client, "step=3")
    assert "The last 5 tokens stand at 6; the 5 that followed are drafted; 4 of 5 accepted." in html
    assert "The target adds account." in html
    assert "Other settings on the same text" not in html


@pytest.mark.django_db
def test_the_last_step_compares_settings(client: Client):
    html = page(client, "step=22")
    assert "22 steps instead of 36: 14 drafts accepted of 110 verified (12.7%), 1.64 tokens a step." in html
    assert all(each in html for each in (">14/20<", ">20/40<", ">23/62<", ">23/65<"))


@pytest.mark.django_db
def test_a_said_match_is_judged(client: Client):
    assert "Step 3: 1 of 2 right." in page(client, "step=3&said_match=5&said_accepted=5")


@pytest.mark.django_db
def test_min_above_max_stands_beside_its_field(client: Client):
    html = page(client, "prompt_lookup_min=9")
    assert "min is 9 and max 5" in html and 'value="9"' in html


def test_words_that_are_not_out_yet_are_left_blank():
    made = VIEW.drawn(VIEW.show(VIEW.bind({}), "3")).picture
    assert words(made.text_wide).count("account") == 2  # the instruction's, and the one that just came out


@pytest.mark.parametrize("preset", VIEW.presets, ids=lambda preset: preset.name)
def test_every_preset_shows_what_its_note_claims(preset):
    _, result = VIEW.run(preset.values)
    total = result.totals
    claims = {
        "rename, defaults": lambda: (total.steps, total.min_n) == (22, 5),
        "rename, min 2": lambda: total.steps == 16,
        "rename, min 1": lambda: total.steps == 13 == min(other.steps for other in result.others)
        and round(total.matched_rate, 2) == 0.37,
        "the older runner": lambda: total.steps == 14 and total.drafted == total.matched_drafted,
        "open chat": lambda: total.accepted == 0 == total.matches and total.drafted > 100,
        "a quoted answer": lambda: sum(step.accepted == 5 for step in result.steps) > total.steps / 3,
    }
    assert claims[preset.name]()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["a", "bb", "a-very-long-word-indeed"]), min_size=1, max_size=200),
       st.lists(st.sampled_from(["a", "bb", "ccc"]), min_size=1, max_size=150), st.integers(1, 16), st.integers(1, 16),
       st.integers(0, 160))
def test_every_text_is_drawn_inside_its_picture(prompt: list[str], output: list[str], k: int, low: int, step: int):
    values = {"prompt": " ".join(prompt[:60]), "output": " ".join(output), "num_speculative_tokens": k,
              "prompt_lookup_min": low, "prompt_lookup_max": 16}
    made = VIEW.drawn(VIEW.show(VIEW.bind(values), str(step))).picture
    for drawing, width in ((made.text_wide, WIDE), (made.text_narrow, NARROW), (made.steps_wide, WIDE),
                           (made.steps_narrow, NARROW)):
        assert_within(drawing, width)
