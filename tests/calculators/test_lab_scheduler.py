"""The scheduler lab's page: steps, the map said first, the pool, and what is told of each step.

Figures of the six requests are from the run of vLLM 0.33.0's own scheduler in tests/golden/scheduler/d01*.json.
"""
import re

import pytest
from django.test import Client

from calculators.labs.scheduler import LAB, PRESETS, SIX, limits_of
from calculators.models.scheduler_words import nth, sentences
from calculators.models.step_time import Machine

VIEW = LAB.views[0]
LONG = next(preset.values for preset in PRESETS if "D:8000" in str(preset.values.get("requests")))
VICTIM = next(preset.values for preset in PRESETS if preset.name == "victim")
HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/labs/scheduler"}


@pytest.fixture(autouse=True)
def reads_the_bank(db: None) -> None:
    """A lab's page names the questions it answers."""


def stage(client: Client, query: str = "") -> object:
    return client.get(f"/labs/scheduler?{query}").context["stage"]


def told(values: dict[str, object], step: int) -> list[str]:
    inputs, run = VIEW.run(values)
    return [f"{sentence.who} {sentence.says}".strip() for sentence in sentences(run, step, limits_of(inputs))]


@pytest.mark.parametrize(("text", "step"), [
    ("", 0), ("0", 0), ("7", 7), ("16", 16), ("17", 16), ("999999999999999999999", 16), ("-3", 0), ("x", 0), ("٣", 0),
])
def test_a_step_is_kept_within_the_run(client: Client, text: str, step: int) -> None:
    shown = stage(client, f"step={text}").shown
    assert (shown.step, shown.last_step) == (step, 16)


def test_the_buttons_are_off_at_the_ends_and_never_gone(client: Client) -> None:
    first, last = (client.get(f"/labs/scheduler?step={step}").content.decode() for step in (0, 16))
    assert re.search(r'id="lab-back"[^>]*aria-disabled="true"', first) and 'href="/labs/scheduler?step=1"' in first
    for button in ("lab-step", "lab-run"):
        assert re.search(rf'id="{button}"[^>]*aria-disabled="true"', last)
    assert 'href="/labs/scheduler?step=15"' in last


def test_step_7_reads_as_the_engine_ran_it(client: Client) -> None:
    page = client.get("/labs/scheduler?step=7").content.decode()
    assert "{A: 1, D: 12, E: 8, F: 11}" in page
    assert "32 of 32 tokens" in page
    assert told({}, 7)[:4] == [
        "D resumes: needs 28, finds 16 in the cache, computes 12.",
        "E is the shared prefix itself, yet hits only 8 of 16: the last token must run.",
        "F is admitted: gets 11 of its 30: the budget is gone.",
        "A samples its 8th token and finishes; its blocks go back, 12 free.",
    ]


def test_a_preemption_names_who_asked_and_what_is_lost() -> None:
    assert told({}, 4)[0] == (
        "D asks for a block, none is free, and it is its own victim. Its 3 blocks go back, "
        "its 19 computed tokens must be computed again or hit the cache; what it has sampled is kept."
    )
    # Three of 64 + 96 on 24 blocks: R pays at step 65 with 8 blocks, 128 computed tokens; P and Q take its tail.
    lost, taken = told(VICTIM, 65)
    assert lost.startswith("R is preempted: P asks for a block and none is free. Its 8 blocks go back, its 128 ")
    assert "(R8) to P" in taken and "(R7) to Q" in taken
    assert told(VICTIM, 96)[0] == "R resumes: needs 129, finds 64 in the cache, computes 65."


def test_nothing_of_a_coming_step_is_shown(client: Client) -> None:
    page = client.get("/labs/scheduler?step=3").content.decode()
    drawn = re.search(r'<svg class="picture drawn-wide".*?</svg>', page, re.S)[0]
    assert "not shown yet" in drawn
    assert "s-preempted" not in page  # D is preempted at step 4
    assert "D finished" not in page and "<td>A finished" not in page


def test_the_long_example_gives_the_long_prompt_the_rest(client: Client) -> None:
    _, run = VIEW.run(LONG)
    assert run.steps[2].tokens == {"A": 1, "B": 1, "C": 1, "D": 2045}
    page = client.get(LAB.address(VIEW, LONG, step=2))
    assert "{A: 1, B: 1, C: 1, D: 2,045}" in page.content.decode()
    assert "2,048 of 2,048 tokens; nothing left for the next in line" in page.content.decode()
    assert page.context["stage"].shown.picture.counted


def test_a_step_takes_its_time_by_the_step_time_rule() -> None:
    """By hand for 3 decodes behind 956 + 2 and one chunk of 2,045 behind 3,000 (rates of the shared constants)."""
    _, run = VIEW.run(LONG)
    contexts = sum(run.steps[2].computed_before[name] for name in "ABC")
    products = 2 * 8.03e9 * 2048 / 615e12
    attention = 524_288 * 2045 * (3000 + 2046 / 2) / 615e12
    expected = (products + attention + contexts * 131_072 / 2.68e12) * 1e3 + 0.9
    assert run.took_ms(2, Machine()) == pytest.approx(expected)


def test_the_map_is_said_first_and_scored(client: Client) -> None:
    page = client.get("/labs/scheduler?step=8&said_D=1&said_E=1&said_F=30&score=2-4")
    now = page.context["stage"]
    assert [(entry.name, entry.said, entry.value, entry.right) for entry in now.scored] == [
        ("D", 1, 1, True), ("E", 1, 1, True), ("F", 30, 19, False),
    ]
    assert now.score == (4, 7)
    assert now.step == "/labs/scheduler?step=9&score=4-7"
    assert now.here == "/labs/scheduler?step=8&score=2-4&said_D=1&said_E=1&said_F=30"
    assert "Step 8: 2 of 3 right." in page.content.decode()


def test_a_wrong_entry_is_told_what_was_left(client: Client) -> None:
    entry = stage(client, "step=7&said_A=1&said_D=12&said_E=8&said_F=30").scored[-1]
    assert (entry.said, entry.value) == (30, 11)
    assert entry.why == "it asks for 30; 11 of 32 tokens were left"


def test_an_empty_entry_says_zero(client: Client) -> None:
    entries = {entry.name: entry for entry in stage(client, "step=5&said_A=1&said_B=1&said_C=1&said_D=&said_E=").scored}
    assert all(entry.right for entry in entries.values())
    assert entries["D"].why == "D does not fit in the 1 free block, and nobody overtakes it"
    assert entries["E"].why == "nobody overtakes the head of the queue"


@pytest.mark.parametrize("typed", ["x", "-1", "1.5", "9999999999", "1e3", "٣"])
def test_an_unreadable_entry_reveals_nothing(client: Client, typed: str) -> None:
    page = client.get("/labs/scheduler", {"step": "8", "said_D": typed, "said_E": "1"})
    now = page.context["stage"]
    assert now.shown.step == 7 and now.scored == ()
    html = page.content.decode()
    assert "Nothing is shown yet" in html and f'value="{typed}"' in html
    assert "{D: 1, E: 1, F: 19}" not in html


def test_who_just_ended_is_named_and_not_asked(client: Client) -> None:
    slots = {slot.name: slot.note for slot in stage(client, "step=7").slots}
    assert slots == {"A": "done", "D": "", "E": "", "F": ""}
    assert stage(client, "step=16").slots == ()


@pytest.mark.parametrize("score", ["9-2", "1-2-3", "x", "-", "99999999-99999999", "1-2<b>"])
def test_a_made_up_score_counts_for_nothing(client: Client, score: str) -> None:
    assert stage(client, f"step=2&score={score}").score == (0, 0)


def test_requests_that_cannot_be_read_are_named_beside_the_field(client: Client) -> None:
    for text, words in {
        "A:24/8@0,nonsense": "nonsense", "A:1/1@0,A:1/1@0": "2 requests are called A", "": "Takes a text",
        "A:24/8@0," * 400: "at most 2,000 characters", ",".join(f"A{n}:1/1@0" for n in range(27)): "27 requests",
        "A:30000/2@0,B:10/20001@0": "outputs are 20,003 tokens",
    }.items():
        assert words in stage(client, "").view.bind({"requests": text}).errors["requests"][0]
        assert words in client.get("/labs/scheduler", {"requests": text}).content.decode()


def test_what_cannot_run_is_refused_in_words(client: Client) -> None:
    now = stage(client, "usable_blocks=3")
    assert "blocks" in " ".join(now.faults.values())
    assert now.instead == "six requests" and now.shown.inputs["usable_blocks"] == 19


def test_requests_survive_the_address_and_back() -> None:
    inputs, _ = VIEW.run({"requests": SIX.replace("A:24/8@0+S", "A:25/8@0+S!2~t")})
    query = VIEW.query(inputs)
    assert query.startswith("requests=A:25/8@0%2BS!2~t,B:40/6@0%2BS")


def test_the_json_gives_a_step_whole_only_when_asked(client: Client) -> None:
    answer = client.get("/labs/scheduler.json?step=7").json()
    assert answer["result"]["steps"][7]["tokens"] == {"A": 1, "D": 12, "E": 8, "F": 11}
    assert "pool" not in answer["result"]["steps"][7] and len(answer["step"]["pool"]) == 19
    assert (answer["result"]["tokens_computed"], answer["result"]["first_hit_tokens"]) == (206, 40)
    assert answer["step"]["alloc"][0] == {
        "id": "A", "source": "running", "tokens": 1, "hit_tokens": 0, "ok": True, "free_before": 15, "free_after": 15,
        "new_blocks": [],
    }
    assert {"allocated", "cut", "scripts"}.isdisjoint(answer["step"]) and answer["step"]["needs"]["F"] == 30


@pytest.mark.parametrize("query", [
    "requests=A:1/1@0", "requests=Long-name:12/9@40", "async_scheduling=on&step=5",
    "num_speculative_tokens=3&accepted_drafts=1&step=9", "enable_prefix_caching=off&step=5", "policy=priority&step=9",
    "usable_blocks=60&step=4", "usable_blocks=121&step=4", "usable_blocks=1024&step=4",
    "block_size=1&usable_blocks=300&step=3", "prefill_schedule_interval=3&step=6",
    "watermark=0.5&usable_blocks=40&step=3", "long_prefill_token_threshold=8&step=20",
    "usable_blocks=400&max_num_seqs=26&step=9&requests=" + ",".join(f"{chr(65 + n)}:40/30@{n % 5}" for n in range(26)),
    "requests=A:20/900@0&max_model_len=1000&usable_blocks=130&step=700",
])
def test_every_kind_of_run_is_drawn(client: Client, query: str) -> None:
    page = client.get(f"/labs/scheduler?{query}")
    assert page.context["stage"].faults == {}
    html = page.content.decode()
    assert "None" not in re.sub(r"<[^>]*>", "", html) and "nan" not in html
    for number in re.findall(r' (?:width|height)="([^"]+)"', html):
        assert float(number) >= 0


def test_free_and_held_blocks_add_up_in_the_table(client: Client) -> None:
    for step in range(17):
        picture = stage(client, f"step={step}").shown.picture
        held = sum(bool(block.holders) for block in picture.blocks)
        assert held + picture.free == 19


def test_nth() -> None:
    assert [nth(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 111, 1002)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "111th", "1,002nd",
    ]
