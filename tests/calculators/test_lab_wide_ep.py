"""The wide-ep lab's pages: what each view says and marks, its strip of steps, and that any setting can be drawn."""
from dataclasses import fields

import pytest
from django.test import Client

from calculators.labs import LABS
from calculators.labs.base import Refusal, View
from calculators.labs.wide_ep_prefills_picture import words_of
from calculators.pictures import NARROW, WIDE, Drawing
from tests.calculators.drawings import assert_within, walls, words

LAB = LABS["wide-ep"]
VIEWS = {view.name: view for view in LAB.views}


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/wide-ep?{query}")
    assert response.status_code == 200
    return response.content.decode()


def drawn(view: View, values: dict, said: float | None = None, step: str = "0") -> list[Drawing]:
    made = view.drawn(view.show(view.bind(values), step), said).picture
    return [value for field in fields(made) if isinstance(value := getattr(made, field.name), Drawing)]


@pytest.mark.django_db
def test_the_page_says_the_step_and_who_it_is_for(client: Client):
    html = page(client)
    assert "The step takes 533.9 ms instead of 83.4 ms, for all 1,024 decoding users" in html
    assert "graph mode eager for all: rank 3 has 4,224 tokens, above 512" in html
    assert "7 × (468.0 − 58.4) ms =" in html
    assert '<th scope="row" class="num">8,192</th><td class="num">984.5 (11.8)</td><td class="num">5.9%</td>' in html


@pytest.mark.django_db
def test_a_chunk_spread_over_the_ranks_is_known_as_a_slip(client: Client):
    html = page(client, "ask=1&said=140+ms")
    assert "3.8× too low" in html
    assert "That spreads the chunk over 8 ranks; the step waits for the one that has it." in html


@pytest.mark.django_db
def test_a_step_without_the_all_to_all_marks_its_line(client: Client):
    assert 'class=" missed"><th scope="row">all-to-all' in page(client, "said=468")


@pytest.mark.django_db
@pytest.mark.parametrize(("query", "figure"), [
    ("ask=1", "533.9"), ("view=experts&ask=1", "0.957"), ("view=overlap&ask=1", "59.4"), ("view=sick&ask=1", "3.93"),
    ("view=width&ask=1", "40.9"),
])
def test_a_held_result_shows_nothing_of_itself(client: Client, query: str, figure: str):
    assert figure not in page(client, query)


@pytest.mark.django_db
@pytest.mark.parametrize(("query", "sentence"), [
    ("view=experts", "Balancedness 0.288 → 0.957: the busiest rank has 156.7 tokens instead of 520"),
    ("view=overlap", "Split in two the step takes 59.4 ms instead of 83.4 ms: 29% shorter. Splitting pays from 52.4"),
    ("view=overlap&decodes=32", "19% longer. The threshold lets it on although it loses."),
    ("view=overlap&decodes=8", "31% longer. The threshold of 32 keeps it off."),
    ("view=prefills", "1,313 tokens/s a GPU, mean TTFT 487 ms; without an interval 196 ms and 653."),
    ("view=sick", "one slow GPU costs 3.93 GPUs’ worth. Rank 5 is the one that waits least."),
    ("view=sick&sickness=hung", "4,096 requests are stuck, and /health stays green."),
    ("view=width", "DP32 + EP32 holds 40.9 M tokens, 89.8 GB on each GPU"),
])
def test_each_view_says_its_finding(client: Client, query: str, sentence: str):
    assert sentence in page(client, query)


@pytest.mark.django_db
def test_a_budget_without_room_is_refused_beside_its_field(client: Client):
    html = page(client, "chunk_tokens=8192")
    assert "128 decodes come first: a chunk of 8,192 needs a budget of at least 8,320." in html


@pytest.mark.django_db
def test_loads_that_cannot_be_read_are_said_beside_their_field(client: Client):
    assert "“many” is no load; one reads 400, or 60*4 for four experts with 60." in page(
        client, "view=experts&expert_loads=many")


@pytest.mark.django_db
def test_a_predicted_step_is_scored_with_its_reasons(client: Client):
    said = "&".join(f"said_r{rank}={0 if rank else 1024}" for rank in range(8))
    html = page(client, f"view=prefills&step=8&{said}")
    assert "Step 8: 1 of 8 right." in html
    held = page(client, "view=prefills&step=3&said_r1=1024")
    assert "1 waits: 3 is no multiple of 8" in held


def test_a_step_is_told_in_words():
    _, run = VIEWS["prefills"].run({})
    assert words_of(run, 8) == "8 ranks prefill, up to 1,024 tokens: all take 196 ms."
    assert words_of(run, 9) == "Counter 9 is no multiple of 8: only decodes, 83.4 ms; 1 prompt waits."


def test_the_long_bar_and_the_wait_are_named():
    wide = drawn(VIEWS["lockstep"], {})[0]
    assert {"4,096 prefill tokens on top of 128 decodes: 468 ms", "7 ranks wait 410 ms: 2.87 GPU-seconds",
            "533.9 ms, 6.4 times as long"} <= set(words(wide))


def test_a_wide_group_is_drawn_by_a_few_of_its_ranks():
    wide = drawn(VIEWS["lockstep"], {"ranks": 32, "chunk_rank": 30})[0]
    assert {"rank 0", "rank 30", "and 25 more ranks like rank 0"} <= set(words(wide))
    assert "rank 29" not in words(wide)


def test_the_wall_stands_at_the_break_even():
    for drawing in drawn(VIEWS["overlap"], {})[:2]:
        assert walls(drawing) == 1 and "break-even 52.4" in words(drawing)
    assert walls(drawn(VIEWS["overlap"], {"handover_ms": 1_000})[0]) == 0


def test_a_readers_step_is_a_pen_line_where_it_would_have_ended():
    assert "you" in words(drawn(VIEWS["lockstep"], {}, 140.0)[0])
    assert "you" not in words(drawn(VIEWS["lockstep"], {}, 14_000.0)[0])


LIMITS = {
    "lockstep": [
        {"ranks": 256, "chunk_rank": 255, "chunk_tokens": 131_072, "max_num_batched_tokens": 262_144},
        {"ranks": 2, "chunk_rank": 0, "chunk_tokens": 0, "decodes": 1},
        dict.fromkeys(("decode_ms", "prefill_ms", "fixed_ms", "wire_ms", "wire_decode_ms", "wire_prefill_ms"), 0),
        {"floor_ms": 0.1, "decode_ms": 100, "prefill_ms": 100, "wire_ms": 1_000},
    ],
    "experts": [
        {"expert_loads": "1000000,0*255", "ranks": 128, "num_redundant_experts": 512},
        {"expert_loads": "1,1", "ranks": 1, "num_redundant_experts": 0}, {"expert_loads": "1,0", "ranks": 2},
        {"expert_loads": "7*10", "ranks": 3, "enable_eplb": "off", "num_redundant_experts": 0},
    ],
    "overlap": [
        {"decodes": 1}, {"decodes": 1_024, "dbo_decode_token_threshold": 1_024}, {"wire_ms": 1_000, "decode_ms": 0},
        dict.fromkeys(("decode_ms", "fixed_ms", "wire_ms", "wire_decode_ms", "handover_ms"), 0) | {"floor_ms": 0.1},
    ],
    "prefills": [
        {"decodes": 0, "prompt_tokens": 1}, {"ranks": 16, "step_count": 480, "arrivals": "poisson", "every_steps": 1},
        {"ranks": 1, "step_count": 2, "every_steps": 1_000}, {"prompt_tokens": 131_072, "max_num_batched_tokens": 129},
        {"arrivals": "poisson", "every_steps": 1_000, "step_count": 2},
    ],
    "sick": [
        {"ranks": 1_024, "sick_rank": 1_023, "slow_factor": 5}, {"ranks": 2, "sick_rank": 0, "slow_factor": 1},
        {"sickness": "hung", "ranks": 2, "sick_rank": 1, "recovery_min": 0},
    ],
    "width": [
        {"ep_ranks": 4, "gpu": "h100"}, {"ep_ranks": 256, "other_memory_gb": 0}, {"gpu_memory_utilization": 0.05},
    ],
}


@pytest.mark.parametrize(("name", "values"), [
    pytest.param(name, values, id=f"{name}-{number}")
    for name, view in VIEWS.items()
    for number, values in enumerate([*(preset.values for preset in view.presets), *LIMITS[name]])
])
def test_any_setting_can_be_drawn(name: str, values: dict):
    view = VIEWS[name]
    for said, step in ((None, "0"), (1e-6, "7"), (1e12, "99999")):
        for drawing in drawn(view, values, said, step):
            assert drawing.title and "nan" not in drawing.title
            assert drawing.width in (WIDE, 480, NARROW)
            assert_within(drawing, drawing.width)
            assert not [text for text in words(drawing) if "nan" in text or "inf" in text.replace("infer", "")]


@pytest.mark.parametrize("name", VIEWS)
def test_every_preset_shows_what_its_note_claims(name: str):
    results = {preset.name: VIEWS[name].run(preset.values)[1] for preset in VIEWS[name].presets}
    claims = {
        "lockstep": lambda: results["a short prompt"].mode == "piecewise" and results["EP32"].lost_gpu_s > 12,
        "experts": lambda: (
            round(results["sixteen copies"].balancedness / results["eight copies"].balancedness - 1, 3) == 0.014
            and results["256 experts, EP32"].balancedness > 0.99
            and round(results["EPLB’s own example"].balancedness, 3) == 0.932
        ),
        "overlap": lambda: (
            results["32 a rank"].runs_split and results["32 a rank"].change > 0
            and results["NVLink, EP8"].bound < 1.25
            and results["a small model"].break_even < results["128 a rank"].break_even
        ),
        "prefills": lambda: results["long prompts"].chunks == 5 and results["interval 16"].at_hand.ttft_ms > 2 * 460,
        "sick": lambda: results["EP144"].days_between == pytest.approx(results["20% slow"].days_between / 4.5),
        "width": lambda: (
            round(results["EP8 on H200"].kv_tokens / results["EP8 on H200"].tensor_parallel.kv_tokens) == 5
            and results["EP32 on H100"].layouts[1].free_gb < 0
        ),
    }
    assert claims[name]()


def test_a_refusal_names_its_field():
    with pytest.raises(Refusal, match="The ranks are 0 to 31"):
        VIEWS["sick"].run({"sick_rank": 32})
