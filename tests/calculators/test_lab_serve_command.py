"""The serve-command lab: its page says each line and what is wrong with it; a pasted command comes back as knobs."""
import re
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs.base import Shown, View
from calculators.labs.serve_command import LAB, ServeForm, paste, picture
from calculators.models.serve_builder import solve
from calculators.models.serve_flags import BY_NAME
from tests.calculators.drawings import assert_within, walls, words

VIEW = LAB.views[0]
PASTED = """
HF_HUB_OFFLINE=1 vllm serve meta-llama/Llama-3.1-8B-Instruct \\
  -tp 2 --max_model_len=32K --no-enable-prefix-caching \\
  --speculative-config.method ngram -sc.num_speculative_tokens 4 \\
  --kv-cache-dtype int8 --served-model-name chat 'chat two' \\
  --tensor-paralel-size 4
"""


@pytest.fixture(autouse=True)
def reads_the_bank(db: None) -> None:
    """A lab's page names the questions it answers."""


def test_the_page_says_each_line_and_refuses_the_expert_split(client: Client) -> None:
    html = client.get("/labs/serve-command", {"enable_expert_parallel": "on"}).content.decode()
    assert "a quarter of every layer on each GPU" in html
    assert "there are no experts to split" in html and 'href="/labs/serve-command">Take it out' in html
    assert "To copy, without the refused line" in html
    assert "<b>32768</b>" in html and "0.9 × 79.19" not in html and "0.90 × 79.19" in html


def test_the_page_says_which_line_leans_on_a_refused_one(client: Client) -> None:
    html = client.get("/labs/serve-command", {"enable_eplb": "on", "redundant_experts": "70"}).content.decode()
    assert "<b>Not copied either:</b> 70 redundant experts without --enable-eplb" in html
    assert "To copy, without the refused lines" in html


def test_a_pasted_command_leads_to_its_knobs(client: Client) -> None:
    response = client.post("/labs/serve-command/paste", {"pasted": PASTED})
    assert response.status_code == 302
    query = dict(parse_qsl(urlsplit(response["Location"]).query))
    assert query["model"] == "llama-3.1-8b" and "checkpoint" not in query
    assert query["tensor_parallel_size"] == "2" and "gpu_memory_utilization" not in query
    assert (query["enable_prefix_caching"], query["drafter"], query["draft_tokens"]) == ("off", "ngram", "4")
    page = client.get(response["Location"]).content.decode()
    assert "the nearest is --tensor-parallel-size." in page
    assert "int8 is no format of the KV cache." in page
    assert "HF_HUB_OFFLINE=1" in page and "chat &#x27;chat two&#x27;" in page


def test_a_size_with_a_small_letter_is_warned_of_after_pasting() -> None:
    values = paste("vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 32k").values
    result = VIEW.run(values)[1]
    assert "--max-model-len 32000" in result.command
    assert [each.says for each in result.general if each.id == "W22"] == [
        "A small letter counts in thousands: 32k is 32,000, 32K would be 32,768."]


def test_what_a_shell_trips_over_is_said_line_by_line(client: Client) -> None:
    text = "vllm serve org/m --seed 1\n  --seed 2"
    page = client.post("/labs/serve-command/paste", {"pasted": text}).content.decode()
    assert "Line 2: no backslash ends the line before it" in page and "--seed is given twice" in page
    page = client.post("/labs/serve-command/paste", {"pasted": "kubectl get pods"}).content.decode()
    assert "No vllm serve command is in it" in page and "kubectl get pods" in page


def test_the_builders_own_command_comes_back_as_the_same_knobs() -> None:
    for preset in VIEW.presets:
        inputs, result = VIEW.run(preset.values)
        if result.refusals or inputs["env"]:
            continue
        values = paste(result.command).values
        back = VIEW.run({**inputs, **values})[0]
        assert {name: back[name] for name in back if name not in ("more", "gpus")} == {
            name: inputs[name] for name in inputs if name not in ("more", "gpus")}, preset.name


def test_every_flag_that_a_preset_or_a_knob_writes_exists() -> None:
    for preset in VIEW.presets:
        for part in VIEW.run(preset.values)[1].parts:
            assert part.flag in BY_NAME or part.unknown
    assert any(part.unknown for part in VIEW.run(VIEW.presets[-1].values)[1].parts)


@pytest.mark.parametrize("values", [{}, {"gpus": 2, "tensor_parallel_size": 2}, {"model": "gpt-oss-20b"},
                                    {"tensor_parallel_size": 1, "gpus": 1}, {"gpu": "mi300x", "model": "qwen3-0.6b"}])
@pytest.mark.parametrize("said", [None, 20.0, 1e9])
def test_the_bar_stays_within_and_ends_at_the_budget(values: dict[str, object], said: float | None) -> None:
    inputs, result = VIEW.run(values)
    drawn = picture(Shown(inputs, result, 0, 0, said))
    for drawing, width in ((drawn.wide, 1_080), (drawn.narrow, 350)):
        assert_within(drawing, width)
        assert walls(drawing) == 1
        assert "GiB of one GPU" in words(drawing)


def test_a_model_by_an_unknown_name_has_no_fit_and_says_so(client: Client) -> None:
    page = client.get("/labs/serve-command", {"model": "named", "checkpoint": "acme/Rocket-9B"}).content.decode()
    assert "No figure is given: the catalogue has no such shape." in page and "acme/Rocket-9B" in page
    page = client.get("/labs/serve-command", {"model": "named"}).content.decode()
    assert "Say which checkpoint" in page
    assert solve(model="named", checkpoint="Qwen/Qwen2.5-72B-Instruct").fit.starts


WORDS = st.lists(st.sampled_from([
    *BY_NAME, "vllm", "serve", "org/m", "1", "0", "-1", "8K", "{}", "'", '"', "\\\n", "\n", "=", "{\"a\":[1]}", "None",
    "9" * 30, "named", "own,layers:3", "--gpu-memory-utilization=nan", "-tp=0", "-sc.method=7", "$(x)", "💥", "A=b",
]), max_size=14).map(" ".join)


@settings(max_examples=12, deadline=None)
@given(WORDS | st.text(max_size=60))
def test_no_pasted_text_breaks_the_page(text: str) -> None:
    client = Client()
    response = client.post("/labs/serve-command/paste", {"pasted": f"vllm serve {text}"})
    assert response.status_code in (200, 302)
    if response.status_code == 302:
        assert len(response["Location"]) < 8_000
        page = client.get(response["Location"], headers={"HX-Request": "true"})
        assert page.status_code == 200 and not re.search(rb"\b(nan|inf)\b", page.content)


def test_a_flag_that_a_knob_says_too_is_named() -> None:
    assert solve(more="--max-num-seqs 8").faults == (
        "--max-num-seqs is said by a knob and among the other flags; the last one counts.",)


@pytest.mark.parametrize("view", LAB.views[1:], ids=lambda view: view.name)
def test_the_other_views_draw_within(view: View) -> None:
    for preset in view.presets:
        inputs, result = view.run(preset.values)
        drawn = view.picture(Shown(inputs, result, 0, 0, 3.0 if view.name == "ttft" else "4"))
        for drawing, width in ((drawn.wide, 1_080), (drawn.narrow, 350)):
            assert_within(drawing, width)


def test_every_knob_has_a_place_in_a_group() -> None:
    placed = [name for group in VIEW.groups for name in group.fields]
    assert sorted(placed) == sorted(ServeForm.base_fields)
