"""The epp lab's page: what it says, holds back and marks, and that any pods can be drawn."""
import pytest
from django.test import Client

from calculators.labs import LABS
from calculators.labs.epp_picture import Picture
from calculators.pictures import MEASURE, NARROW, WIDE, Drawing
from tests.calculators.drawings import assert_within, walls, words

VIEW = LABS["epp"].views[0]
TWELVE = ",".join(f"a-long-pod-name{n:X}:{n / 12:.2f}/{n * 800}/{1 - n / 12:.2f}" for n in range(12))
ALIKE = ",".join(f"p{n}:0/0/1" for n in range(12))


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/epp?{query}")
    assert response.status_code == 200
    return response.content.decode()


def drawn(values: dict, said: float | None = None) -> Picture:
    return VIEW.drawn(VIEW.show(VIEW.bind(values)), said).picture


def drawings(made: Picture) -> list[Drawing]:
    each = (made.scores, made.scores_narrow, made.lead, made.lead_narrow, made.rulers, made.rulers_narrow)
    return [drawing for drawing in each if drawing]


@pytest.mark.django_db
def test_the_page_says_who_takes_it_and_who_would_have(client: Client):
    html = page(client)
    assert ("decode-1 takes the request with 2.33. decode-3 (3.75: not healthy) and prefill-1 (3.70: role is prefill) "
            "score more and are filtered out.") in html
    assert "The lead changes with prefix at 1.272 (to decode-4)" in html
    assert "(0.625 + 0.52) / 0.9 =" in html


@pytest.mark.django_db
def test_a_filtered_score_as_an_answer_is_known_as_a_slip(client: Client):
    html = page(client, "ask=1&said=3.75")
    assert "1.61× too high" in html
    assert "That is decode-3’s, which is filtered out (not healthy): no score rescues it." in html


@pytest.mark.django_db
def test_a_held_result_shows_nothing_of_itself(client: Client):
    html = page(client, "ask=1")
    assert "2.33" not in html and "takes the request" not in html


@pytest.mark.django_db
def test_pods_that_cannot_be_read_are_said_beside_their_field(client: Client):
    html = page(client, "pods=decode-1")
    assert "“decode-1” is no pod; one reads decode-1@decode:0.9/6/0.72" in html
    assert "Shown is the preset" in html


@pytest.mark.django_db
def test_nobody_left_is_a_page_too(client: Client):
    html = page(client, "pods=a@prefill:0.5/0/0.1")
    assert "Nobody is left: the client gets an error, not a pod at random." in html


@pytest.mark.django_db
def test_a_long_prompt_shows_what_the_prefix_saves(client: Client):
    assert "decode-1 53.3 ms, decode-2 480 ms, decode-4 533 ms" in page(client, "request=long")


def test_each_filtered_pod_stands_behind_a_wall_with_its_reason():
    for drawing in (drawn({}).scores, drawn({}).scores_narrow):
        assert walls(drawing) == 2
        assert {"not healthy", "role is prefill", "2.33", "3.75", "3.70"} <= set(words(drawing))


def test_the_readers_score_is_a_pen_line_on_the_same_scale():
    assert "you 3.75" in words(drawn({}, 3.75).scores)
    assert not [text for text in words(drawn({}, 400.0).scores) if "you" in text]


def test_the_present_weights_and_llm_ds_stand_in_the_table():
    _, result = VIEW.run({"prefix_weight": 1.5})
    assert [row.weights for row in result.other_weights if row.present] == ["1.5, 1, 1"]
    assert "3, 2, 2, min-max: llm-d’s own" in [row.weights for row in result.other_weights]


@pytest.mark.parametrize("preset", VIEW.presets, ids=lambda preset: preset.name)
def test_every_preset_shows_what_its_note_claims(preset):
    _, result = VIEW.run(preset.values)
    claims = {
        "the five pods": result.winner == "decode-1" and len(result.survivors) == 3,
        "llm-d defaults": result.winner == "decode-4",
        "cold prompt": all(pod.prefix == 0 for pod in result.pods),
        "sql-v2 adapter": [pod.name for pod in result.survivors] == ["decode-2"],
        "prefill stage": [pod.name for pod in result.survivors] == ["prefill-1"],
        "long prompt": result.long_prompt,
        "filters off": result.winner == "decode-3",
        "a hot prefix": result.winner == "decode-1" and result.pods[0].queue == max(pod.queue for pod in result.pods),
    }
    assert claims[preset.name]


@pytest.mark.parametrize("values", [
    *(preset.values for preset in VIEW.presets),
    {"pods": TWELVE, "prefix_weight": 5, "queue_weight": 5, "kv_weight": 5},
    {"pods": TWELVE, "queue_scorer": "min-max", "request": "prefill"},
    {"pods": ALIKE}, {"prefix_weight": 0, "queue_weight": 0, "kv_weight": 0}, {"prefix_weight": 5},
    {"pods": "a@prefill:0.5/0/0.1"}, {"pods": "a:1/0/0!"},
    {"prefix_weight": 1e-9, "queue_weight": 1e-9, "kv_weight": 0},
])
@pytest.mark.parametrize("said", [None, 1.272, 1e12, -3.0])
def test_any_setting_can_be_drawn(values: dict, said: float | None):
    for drawing in drawings(drawn(values, said)):
        assert drawing.title and "nan" not in drawing.title
        assert_within(drawing, drawing.width)
    gist = VIEW.gist(VIEW.show(VIEW.bind(values)))
    assert (gist.wide.width, gist.narrow.width, drawn(values).scores.width) == (MEASURE, NARROW, WIDE)
