"""The acceptance lab's pages: windows, pasted counters, one verify step, and that any input can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.models.base import Refusal
from calculators.pictures import NARROW, WIDE
from tests.calculators.drawings import assert_within, words
from tests.calculators.test_acceptance import FIRST, SECOND, metrics

WINDOWS, VERIFY = LABS["acceptance"].views


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/acceptance?{query}")
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.django_db
def test_the_page_says_the_windows_and_the_trap(client: Client):
    html = page(client)
    assert "S0–S1: 51.67% of drafted tokens accepted, 2.550 tokens a step, 1.75× at these step times." in html
    assert "spans a restart" in html and "51.27%, from garbage" in html
    assert "0.7625  0.5000  0.2875" in html and "1,100" in html


@pytest.mark.django_db
def test_a_length_without_the_targets_token_is_known_as_a_slip(client: Client):
    assert "That leaves out the token that the target always adds." in page(client, "ask=1&said=1.55")
    assert "2.550 tokens a step" not in page(client, "ask=1")


@pytest.mark.django_db
def test_pasted_metrics_become_an_address(client: Client):
    text = metrics(*FIRST, start=100.0) + "\n" + metrics(*SECOND, start=100.0)
    response = client.post("/labs/acceptance/paste", {"pasted": text})
    assert response.status_code == 302 and "34000/102000/52200" in response["Location"]
    shown = client.get(response["Location"]).context["stage"].shown
    assert len(shown.result.windows) == 1 and round(shown.result.mean_length, 3) == 2.55


@pytest.mark.django_db
def test_a_pasted_text_that_cannot_be_read_is_said_and_stays(client: Client):
    html = client.post("/labs/acceptance/paste", {"pasted": "nothing <b>here</b>"}).content.decode()
    assert "No counter of speculative decoding is in it." in html and "nothing &lt;b&gt;here" in html


@pytest.mark.django_db
def test_what_can_be_read_is_shown_beside_what_cannot(client: Client):
    text = f"$ curl\n{metrics(*FIRST)}\n{metrics(*SECOND)}"
    html = client.post("/labs/acceptance/paste", {"pasted": text}).content.decode()
    assert "Line 1: “$ curl” is no line of a /metrics text; it is left aside." in html
    assert "51.67% of drafted tokens accepted, 2.550 tokens a step" in html and "S1–S2" not in html


@pytest.mark.django_db
def test_a_verify_step_goes_draft_by_draft(client: Client):
    html = page(client, "view=rejection&step=3")
    assert "A: 0.1 / 0.5 is below 0.35: refused, C is drawn instead, the rest is dropped." in html
    assert "2 of 3 drafts accepted, 3 tokens out: A B C." in html
    assert "1 of 3 drafts judged." in page(client, "view=rejection&step=1")
    assert "2 of 3 drafts accepted" not in page(client, "view=rejection&step=1")


def test_a_window_at_fault_is_named_and_not_drawn():
    made = WINDOWS.drawn(WINDOWS.show(WINDOWS.bind({}))).picture
    assert words(made.wide).count("not a window") == 1
    assert "51.67% of drafted, 2.550 a step" in words(made.narrow)


def test_drafts_behind_a_refused_one_are_dropped():
    values = next(preset.values for preset in VERIFY.presets if preset.name == "padding")
    made = [VERIFY.drawn(VERIFY.show(VERIFY.bind(values), step)).picture for step in ("1", "2")]
    assert words(made[0].wide).count("not judged yet") == 2 and "dropped" not in words(made[0].wide)
    assert words(made[1].wide).count("dropped") == 1 and "not judged yet" not in words(made[1].wide)


@pytest.mark.parametrize("preset", [*WINDOWS.presets, *VERIFY.presets], ids=lambda preset: preset.name)
def test_every_preset_shows_what_its_note_claims(preset):
    view = WINDOWS if preset in WINDOWS.presets else VERIFY
    _, result = view.run(preset.values)
    claims = {
        "four scrapes, one restart": lambda: result.windows[1].percent == "51.27%" and not result.windows[1].valid,
        "a reset that hides": lambda: not result.windows[0].valid and "start" in result.windows[0].fault
        and result.windows[0].drafts > 0,
        "dear drafts": lambda: result.speed_up < 1 and result.window.percent == "51.67%",
        "n-gram with filler": lambda: result.window.percent == "12.73%",
        "three drafts": lambda: result.num_accepted == 2,
        "a drafter without probabilities": lambda: result.output == (0, 3),
        "greedy": lambda: result.output == (0, 1, 2),
        "the drafter is the target": lambda: result.num_accepted == 3 and result.expected_tokens == 4,
        "padding": lambda: result.num_accepted == 1,
    }
    assert claims[preset.name]()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 3)), min_size=2, max_size=8),
       st.floats(0.1, 10_000))
def test_any_scrapes_are_drawn_or_refused(rows: list[tuple[int, int, int]], spec_step_ms: float):
    total, texts = 0, []
    for drafts, generated, start in rows:
        total += drafts
        texts.append(f"{total}/{2 * total}/{total}/{total - total // 3}:{total // 3}/{generated}/{drafts % 7}@{start}")
    values = {"scrapes": ",".join(texts), "spec_step_ms": spec_step_ms}
    try:
        WINDOWS.run(values)
    except Refusal:
        return
    made = WINDOWS.drawn(WINDOWS.show(WINDOWS.bind(values))).picture
    for drawing, width in ((made.wide, WIDE), (made.narrow, NARROW), (made.ledger_wide, WIDE),
                           (made.ledger_narrow, NARROW)):
        assert_within(drawing, width)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(2, 12), st.booleans(), st.booleans(), st.integers(0, 8), st.floats(0, 1))
def test_any_verify_step_is_drawn_inside_its_picture(count: int, size: int, known: bool, greedy: bool, step: int,
                                                     uniform: float):
    row = " ".join([f"{1 - 0.05 * (size - 1):.2f}"] + ["0.05"] * (size - 1))
    other = " ".join([f"{1 / size:.6f}"] * size)
    text = ",".join(f"{'AB-'[at % 3]}:{row}{f'/{other}' if known else ''}@{uniform:.4f}" for at in range(count))
    values = {"drafts": text, "noise": " ".join(["1"] * size), "bonus": "B", "tries": 20,
              "greedy": "on" if greedy else "off"}
    made = VERIFY.drawn(VERIFY.show(VERIFY.bind(values), str(step))).picture
    assert_within(made.wide, WIDE)
    assert_within(made.narrow, NARROW)
