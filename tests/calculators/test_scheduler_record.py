"""A recorded scheduler run, handed in: followed beside the model, its faults by line, and its page.

The records are those of vLLM 0.33.0's own scheduler in tests/golden/scheduler.
"""
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs.scheduler_record import page_of
from calculators.models import scheduler_record
from calculators.models.scheduler_record import read

GOLDEN = Path(__file__).parents[1] / "golden" / "scheduler"
SIX = (GOLDEN / "d01_default_six.json").read_text()
DOCUMENT = json.loads(SIX)
PAGE = "/labs/scheduler/recorded"


def changed(**parts: Any) -> dict[str, Any]:
    return copy.deepcopy(DOCUMENT) | parts


def in_lines(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1)


def line_of(text: str, part: str) -> int:
    """The line on which a part of the text stands, counted from 1."""
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize("name", [
    "07_preempt_resume", "16_multi_turn", "17_cache_salt", "32_abort", "36_async_stop_token", "40_spec_padding_rules",
    "r06_random_priority", "r08_random_spec",
])
def test_a_record_of_vllm_agrees_to_its_end(name: str) -> None:
    file = (GOLDEN / f"{name}.json").read_text()
    record, faults = read(file)
    assert faults == () and record.first is None and record.ending == ""
    assert len(record.run.steps) == len(json.loads(file)["steps"])


def test_the_first_step_that_differs_is_named_with_all_its_fields() -> None:
    document = changed()
    document["steps"][4]["after"]["free"] = 3
    document["steps"][4]["finished"] = ["A"]
    document["steps"][9]["total_scheduled"] = 1
    record, _ = read(json.dumps(document))
    assert record.first == 4
    assert record.differences[4] == (("finished", "[]", '["A"]'), ("after.free", "1", "3"))
    page = page_of(json.dumps(document), "")
    assert page.shown.step == 4
    assert page.verdict == (
        'Step 4 is the first that differs: finished is [] here and ["A"] in the record. 2 of 17 steps differ.'
    )


def test_an_end_too_early_or_too_late_is_told() -> None:
    steps = DOCUMENT["steps"]
    short, long = changed(steps=steps[:12]), changed(steps=[*steps, steps[-1]])
    assert read(json.dumps(short))[0].ending == "The record ends with step 11; the model goes on."
    assert read(json.dumps(long))[0].ending == "The model is done after step 16; the record goes on to step 17."
    assert not page_of(json.dumps(short), "").agrees


def test_each_fault_is_told_with_its_line() -> None:
    document = changed(aborts=[{"step": 1, "id": "Z"}])
    del document["config"]["block_size"]
    document["config"]["watermark"] = "none"
    document["requests"][1]["max_tokens"] = "6"
    document["requests"][2]["id"] = "A"
    document["requests"][3]["prompt_token_ids"] = list(range(128))
    document["steps"][5] = 5
    text = in_lines(document)
    record, faults = read(text)
    config, request, abort = line_of(text, '"config"'), line_of(text, '"id": "B"') - 1, line_of(text, '"id": "Z"') - 2
    assert record is None
    assert faults[:3] == (
        f"Line {config}, config: block_size is missing; it takes a whole number from 1 to 256.",
        f'Line {config}, config: watermark takes a number from 0 to 0.99, not "none".',
        f'Line {request}, request 1: max_tokens takes a whole number from 1 to 1,000,000, not "6".',
    )
    assert faults[3].endswith("step 5: takes an object.")
    assert faults[4].endswith('request 0: another request is called "A" as well.')
    assert faults[5].endswith('request 2: another request is called "A" as well.')
    assert faults[6].endswith("request 3: a prompt of 128 tokens; max_model_len leaves room for 127.")
    assert faults[7] == f'Line {abort}, abort 0: no request is called "Z".'


@pytest.mark.parametrize(("text", "sentence"), [
    ("", "Line 1: this is not JSON from character 1 on"), ('{"config": {},\n "steps": [}', "Line 2: this is not JSON"),
    ("[]", "Line 1: a recorded run is an object"), ('{"config": []}', "Line 1: a recorded run is an object"),
    ('{"config": {}, "requests": {}}', "requests takes a list"), ("[" * 100_000, "too deep"),
    ('{"config": ' + "9" * 5_000 + "}", "thousands of digits"), ("x" * 400_001, "400,001 characters"),
    (in_lines(changed(steps=[])), "steps takes a list, one at least"),
    (in_lines(changed(requests=DOCUMENT["requests"] * 5)), "30 requests; the page follows 26 at most"),
])
def test_what_cannot_be_followed_is_refused_in_words(text: str, sentence: str) -> None:
    record, faults = read(text)
    assert record is None and sentence in " ".join(faults)


def test_many_faults_are_counted_not_listed() -> None:
    _, faults = read(json.dumps(changed(steps=[1] * 40)))
    assert len(faults) == 13 and faults[-1] == "And 28 faults more."


PLACES = [
    *(("config", name) for name in DOCUMENT["config"]), *(("requests", 3, name) for name in DOCUMENT["requests"][3]),
    *(("requests", 2, name) for name in ("stop_after", "cache_salt", "priority")), ("requests", 1), ("requests",),
    ("steps", 3, "after"), ("steps", 0, "drafts"), ("steps", 2, "accepted"), ("steps", 3), ("steps",), ("aborts",),
]
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 70), st.integers(), st.floats(), st.text(max_size=4),
    st.lists(st.integers(0, 9), max_size=3), st.dictionaries(st.sampled_from("ABstep"), st.integers(-1, 3), max_size=2),
    st.sampled_from(["AsyncScheduler", "priority"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
def test_whatever_stands_in_a_field_is_followed_or_refused(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    document = changed()
    for (*way, last), value in sorted(changes, key=lambda change: -len(change[0])):  # the innermost first
        holder = document
        for key in way:
            holder = holder[key]
        holder[last] = value
    page = page_of(json.dumps(document), "3")
    assert bool(page.faults) != bool(page.shown)
    if page.shown:
        run = page.shown.result
        assert all(len(step.pool) == step.after.free + step.after.used for step in run.steps)


def test_a_pasted_record_is_stepped_from_the_page(client: Client) -> None:
    page = client.post(PAGE, {"recorded": SIX})
    html = page.content.decode()
    assert page.status_code == 200 and "All 17 steps agree with the record in every field." in html
    assert 'id="lab-back"' in html and page.context["page"].shown.step == 0
    assert html.count("max_tokens&quot;:8") == 1  # the text stays in its field, to be sent with the next step
    stepped = client.post(PAGE, {"recorded": SIX, "step": "7", "jump": "0", "at": "0"})
    assert "{A: 1, D: 12, E: 8, F: 11}" in stepped.content.decode()
    jumped = client.post(PAGE, {"recorded": SIX, "jump": "12", "at": "7"})
    assert jumped.context["page"].shown.step == 12
    again = client.post(PAGE, {"recorded": SIX, "jump": "12", "at": "12"})  # followed anew: from its beginning
    assert again.context["page"].shown.step == 0


def test_an_uploaded_record_is_read_and_kept_only_in_the_page(client: Client) -> None:
    document = changed()
    document["steps"][7]["prefix_hit"]["D"] = 8
    file = SimpleUploadedFile("run.json", b"\xef\xbb\xbf" + json.dumps(document).encode(), "application/json")
    page = client.post(PAGE, {"recorded": "", "file": file})
    html = page.content.decode()
    assert "Step 7 is the first that differs: prefix_hit.D is 16 here and 8 in the record." in html
    assert "Where step 7 differs" in html and page.context["page"].text == json.dumps(document)
    assert not page.cookies


@pytest.mark.parametrize(("given", "sentence"), [
    ({"recorded": " "}, "Paste a recorded run, or choose a file of at most 2.5 MB."),
    ({"file": SimpleUploadedFile("a", b'{\n"\xff"}')}, "Line 2: this is not UTF-8 text."),
    ({"file": SimpleUploadedFile("a", b" " * 3_000_000)}, "choose a file of at most 2.5 MB"),
    ({"recorded": '{"config": <script>alert(1)</script>'}, "Line 1: this is not JSON"),
])
def test_a_fault_stands_beside_the_field_and_the_text_stays(
    client: Client, given: dict[str, Any], sentence: str,
) -> None:
    page = client.post(PAGE, given)
    assert page.status_code == 200
    assert any(sentence in fault for fault in page.context["page"].faults)
    assert b"<script>alert" not in page.content and b'aria-invalid="true"' in page.content


def test_the_address_alone_asks_for_a_record(client: Client) -> None:
    page = client.get(PAGE)
    assert page.status_code == 200 and b"No run yet" in page.content
    assert scheduler_record.LONGEST == 400_000 and b'maxlength="400000"' in page.content
