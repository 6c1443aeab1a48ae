"""The scheduler model against recorded runs of vLLM 0.33.0, its conservation laws, and its edges."""
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models import scheduler_trace
from calculators.models.base import Refusal
from calculators.models.scheduler import Request, Run, format_requests, parse_requests, simulate

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "scheduler").glob("*.json"))
SIX = "A:24/8@0+S,B:40/6@0+S,C:72/4@0,D:28/10@1+S,E:16/5@2+S,F:30/6@3"
SIX_BY_PRIORITY = "A:24/8@0+S!1,B:40/6@0+S!1,C:72/4@0!2,D:28/10@1+S,E:16/5@2+S,F:30/6@3"
DEFAULTS: dict[str, Any] = {
    "max_num_batched_tokens": 32, "max_num_seqs": 4, "usable_blocks": 19, "block_size": 8, "max_model_len": 128,
}


def run_of(text: str = SIX, **knobs: Any) -> Run:
    return simulate(requests=parse_requests(text), **(DEFAULTS | knobs))


# Recorded runs

def recorded(name: str) -> dict[str, Any]:
    return json.loads(next(path for path in GOLDEN if path.stem == name).read_text())


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_recorded_run_is_reproduced(path: Path) -> None:
    assert scheduler_trace.first_difference(json.loads(path.read_text())) is None


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in _leaves(item, (*path, key))]
    if isinstance(value, list):
        return [leaf for key, item in enumerate(value) for leaf in _leaves(item, (*path, key))]
    return [path]


def _changed(value: Any) -> Any:
    return not value if isinstance(value, bool) else f"{value}x" if isinstance(value, str) else (value or 0) + 1


@pytest.mark.parametrize("name", ["32_abort", "37_async_preempt", "39_spec_padded_admission"])
def test_any_changed_value_of_a_recorded_step_is_noticed(name: str) -> None:
    document = recorded(name)
    step = document["steps"][2]
    leaves = [path for path in _leaves(step) if path[0] not in ("drafts", "accepted")]  # these two are inputs
    for path in leaves:
        changed = copy.deepcopy(document)
        holder = changed["steps"][2]
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = _changed(holder[path[-1]])
        assert scheduler_trace.first_difference(changed), path
    assert len(leaves) > 30


@pytest.mark.parametrize("name", ["d01_default_six", "35_async_basic"])
def test_a_missing_or_extra_step_is_noticed(name: str) -> None:
    document = recorded(name)
    count = len(document["steps"])
    last = document["steps"].pop()
    assert scheduler_trace.first_difference(document) == f"steps: ours more than {count - 1}, theirs {count - 1}"
    document["steps"] += [last, last]
    assert scheduler_trace.first_difference(document)


def test_a_missing_field_is_named_with_its_step() -> None:
    document = recorded("d01_default_six")
    del document["steps"][4]["after"]["free_queue"]
    assert scheduler_trace.first_difference(document) == "step 4 after.free_queue: ours [18], theirs no such field"


def test_a_stop_token_is_seen_one_step_late_with_async_scheduling() -> None:
    document = recorded("36_async_stop_token")
    document["requests"] = document["requests"][:1]  # A alone: its stop token is seen one step late
    scheduler = scheduler_trace.scheduler_of(document | {"steps": []})
    steps = [scheduler.step() for _ in range(5)]
    assert [step.tokens for step in steps] == [{"A": 6}, {"A": 1}, {"A": 1}, {"A": 1}, {}]
    assert [step.finished for step in steps] == [(), (), (), ("A",), ()]
    assert steps[4].processed_step == 3 and steps[4].sampled == {}  # the extra token is dropped
    assert scheduler.step().not_called


# The six default requests; the figures are those of recorded runs d01 to d11

def test_the_default_six_step_by_step() -> None:
    run = run_of()
    assert [(step.tokens, step.after.free) for step in run.steps] == [
        ({"A": 24, "B": 8}, 15), ({"A": 1, "B": 16, "C": 15}, 10), ({"A": 1, "B": 1, "C": 30}, 5),
        ({"A": 1, "B": 1, "C": 27, "D": 3}, 1), ({"A": 1, "B": 1, "C": 1}, 1), ({"A": 1, "B": 1, "C": 1}, 1),
        ({"A": 1, "B": 1, "C": 1}, 15), ({"A": 1, "D": 12, "E": 8, "F": 11}, 12), ({"D": 1, "E": 1, "F": 19}, 9),
        ({"D": 1, "E": 1, "F": 1}, 9), ({"D": 1, "E": 1, "F": 1}, 9), ({"D": 1, "E": 1, "F": 1}, 10),
        ({"D": 1, "F": 1}, 9), ({"D": 1, "F": 1}, 14), ({"D": 1}, 14), ({"D": 1}, 14), ({"D": 1}, 19),
    ]
    assert {step.step: step.preempted for step in run.steps if step.preempted} == {4: ("D",)}
    assert run.finished_step == {"B": 6, "C": 6, "A": 7, "E": 11, "F": 13, "D": 16}
    assert run.steps[7].prefix_hit == {"D": 16, "E": 8, "F": 0}
    assert run.steps[7].needs == {"A": 1, "D": 12, "E": 8, "F": 30}
    assert (run.first_hit_tokens, run.first_query_tokens) == (40, 210)
    assert (run.resumed_hit_tokens, run.resumed_query_tokens) == (16, 28)


@pytest.mark.parametrize(("knobs", "steps", "tokens", "preempted", "hits"), [
    ({}, 17, 206, {"D": 4}, 40),
    ({"usable_blocks": 24}, 14, 203, {}, 40),
    ({"enable_prefix_caching": False}, 21, 315, {"C": 5}, 0),
    ({"long_prefill_token_threshold": 8}, 21, 219, {"D": 7}, 32),
    ({"max_num_batched_tokens": 16}, 18, 206, {"F": 11}, 40),
    ({"max_num_batched_tokens": 64}, 15, 209, {"D": 2}, 40),
    ({"usable_blocks": 17}, 17, 203, {"C": 4}, 40),
    ({"max_num_seqs": 2}, 24, 203, {}, 40),
    ({"watermark": 0.1}, 17, 203, {}, 40),
    ({"block_size": 4, "usable_blocks": 38}, 15, 200, {"D": 6}, 44),
])
def test_one_knob_changes_the_default_six(
    knobs: dict[str, Any], steps: int, tokens: int, preempted: dict[str, int], hits: int,
) -> None:
    run = run_of(**knobs)
    victims = {id: step.step for step in run.steps for id in step.preempted}
    assert (run.step_count, run.tokens_computed, victims, run.first_hit_tokens) == (steps, tokens, preempted, hits)


def test_priority_preempts_the_least_urgent() -> None:
    run = run_of(SIX_BY_PRIORITY, policy="priority")
    assert (run.step_count, run.tokens_computed, run.preemptions, run.steps[5].preempted) == (15, 251, 1, ("C",))
    assert (run.resumed_hit_tokens, run.resumed_query_tokens) == (24, 73)


def test_the_map_of_four_running_and_two_waiting() -> None:
    """By hand: 3 decodes leave 2,045 of 2,048 to D; a cap of 1,024 leaves 1,021, of which E takes 300 and F 488."""
    text = "A:1/9@0,B:1/9@0,C:1/9@0,P:512/1@0+S,D:5000/2@1,E:300/2@2,F:1000/2@2+S"
    knobs = {"max_num_batched_tokens": 2048, "max_num_seqs": 8, "usable_blocks": 1000, "block_size": 16,
             "max_model_len": 8192, "shared_prefix_tokens": 512}
    assert run_of(text, **knobs).steps[2].tokens == {"A": 1, "B": 1, "C": 1, "D": 2045}
    capped = run_of(text, **knobs, long_prefill_token_threshold=1024).steps[2]
    assert capped.tokens == {"A": 1, "B": 1, "C": 1, "D": 1024, "E": 300, "F": 488}
    assert capped.total_scheduled == 1815


@pytest.mark.parametrize(("threshold", "shorts", "longs", "steps"), [
    (0, [9, 10, 10, 10], [2, 4, 6, 9], 14), (16, [9, 9, 10, 10], [4, 4, 8, 9], 14), (8, [10] * 4, [8] * 4, 14),
    (4, [3] * 4, [17] * 4, 21),
])
def test_a_prefill_cap_helps_short_prompts_only_while_few_long_ones_run(
    threshold: int, shorts: list[int], longs: list[int], steps: int,
) -> None:
    """First tokens by step, read off the real scheduler."""
    text = "L0:72/4@0,L1:72/4@0,L2:72/4@0,L3:72/4@0,S0:12/4@1,S1:12/4@1,S2:12/4@1,S3:12/4@1"
    run = run_of(text, max_num_seqs=8, usable_blocks=60, long_prefill_token_threshold=threshold)
    assert sorted(step for id, step in run.first_token_step.items() if id[0] == "S") == shorts
    assert sorted(step for id, step in run.first_token_step.items() if id[0] == "L") == longs
    assert run.step_count == steps


def test_drafts_starve_the_tail_of_the_running_list() -> None:
    """Budget 8, four decoders with 3 rejected drafts each: the first two take 4 each, as the real scheduler does."""
    run = run_of("A:1/4@0,B:1/4@0,C:1/4@0,D:1/4@0", max_num_batched_tokens=8, num_speculative_tokens=3)
    assert [step.tokens for step in run.steps[1:4]] == [{"A": 4, "B": 4}] * 3
    assert run.steps[1].running_stop == "budget"


def test_accepted_drafts_shorten_the_run() -> None:
    """12 outputs: 1 from the prefill, then 11 in steps of 1, or of 1 + 3."""
    knobs = {"num_speculative_tokens": 3, "usable_blocks": 40}
    assert run_of("A:8/12@0", **knobs).step_count == 12
    assert run_of("A:8/12@0", **knobs, accepted_drafts=3).step_count == 4


# Laws

@st.composite
def inputs(draw: st.DrawFn) -> dict[str, Any]:
    """Small pools and budgets, so that most runs preempt, queue and share; everybody's end fits in the pool."""
    requests = tuple(
        Request(
            f"r{place}", draw(st.integers(1, 40)), draw(st.integers(1, 12)), draw(st.integers(0, 6)),
            draw(st.booleans()), draw(st.integers(0, 2)),
        )
        for place in range(draw(st.integers(1, 7)))
    )
    seqs = draw(st.integers(1, 5))
    return {
        "requests": requests, "max_num_seqs": seqs, "max_num_batched_tokens": draw(st.integers(seqs, 40)),
        "block_size": 4, "usable_blocks": draw(st.integers(14, 30)), "max_model_len": 64,
        "policy": draw(st.sampled_from(["fcfs", "priority"])), "enable_prefix_caching": draw(st.booleans()),
        "long_prefill_token_threshold": draw(st.sampled_from([0, 0, 5])),
        "prefill_schedule_interval": draw(st.integers(1, 3)), "scheduler_reserve_full_isl": draw(st.booleans()),
        "watermark": draw(st.sampled_from([0.0, 0.2])), "async_scheduling": draw(st.booleans()),
    }


@settings(max_examples=60, deadline=None)
@given(inputs())
def test_nothing_is_lost_or_made_up(knobs: dict[str, Any]) -> None:
    run = simulate(**knobs)
    for step in run.steps:
        assert step.after.free + step.after.used == knobs["usable_blocks"] == len(step.pool)
        assert set(step.after.free_queue) == {block.id for block in step.pool if not block.holders}
        assert len(set(step.after.free_queue)) == step.after.free
        assert step.total_scheduled <= knobs["max_num_batched_tokens"]
        assert len(step.after.running) <= knobs["max_num_seqs"]
        table_entries = sum(len(table) for table in step.after_schedule.blocks.values())
        if not step.finished:  # no block was given back since
            assert sum(len(block.holders) for block in step.pool) == table_entries
        assert all(0 <= block.filled <= knobs["block_size"] for block in step.pool)
        assert not (step.preempted and (step.new or step.resumed))
    sampled = {request.id: 0 for request in run.requests}
    for step in run.steps:
        for id, tokens in step.sampled.items():
            sampled[id] += len(tokens)
    assert sampled == {request.id: request.max_tokens for request in run.requests}
    assert run.steps[-1].after.used == 0 and set(run.finished_step) == set(sampled)


@settings(max_examples=30, deadline=None)
@given(inputs())
def test_the_same_inputs_give_the_same_run(knobs: dict[str, Any]) -> None:
    assert simulate(**knobs) == simulate(**knobs)


def test_every_computed_token_fills_a_place_in_a_block() -> None:
    for step in run_of().steps:
        for id in step.after.running:
            own = [block for block in step.pool if id in block.holders]
            assert sum(block.filled for block in own) == step.after.computed[id]


def test_states_follow_a_request_through_a_preemption() -> None:
    run = run_of()
    assert [run.state_of("D", step) for step in (0, 1, 3, 4, 6, 7, 15, 16)] == [
        "absent", "waiting", "running", "preempted", "preempted", "running", "running", "finished",
    ]


def test_a_freed_block_keeps_its_content_until_it_is_handed_out() -> None:
    pool = {block.label: block for block in run_of().steps[4].pool}
    assert pool["D3"].holders == () and pool["D3"].filled == 3 and not pool["D3"].cached
    assert pool["A1"].holders == ("A", "B") and pool["A1"].cached


def test_a_pool_too_large_to_draw_is_counted_only() -> None:
    step = run_of(usable_blocks=5000).steps[0]
    assert (step.pool, step.after.free_queue, step.after.cached) == ((), (), ())
    assert step.after.free == 5000 - 4  # A 24 and B 8 tokens on top of 16 shared: 3 + 1 blocks of 8


# Edges

def test_a_single_token_prompt_and_reply_take_one_step() -> None:
    run = run_of("A:1/1@0")
    assert [step.tokens for step in run.steps] == [{"A": 1}]


def test_nothing_happens_before_the_first_arrival() -> None:
    run = run_of("A:1/1@2")
    assert [step.tokens for step in run.steps] == [{}, {}, {"A": 1}]


def test_requests_may_be_listed_out_of_order_of_arrival() -> None:
    assert run_of("B:8/2@1,A:8/2@0").steps[1].tokens == {"A": 1, "B": 8}


def test_a_reply_ends_at_max_model_len() -> None:
    run = run_of("A:100/1000@0", usable_blocks=16)
    assert sum(len(step.sampled.get("A", ())) for step in run.steps) == 28  # 128 − 100


@pytest.mark.parametrize(("knobs", "field", "word"), [
    ({"max_num_batched_tokens": 3}, "max_num_batched_tokens", "at least max_num_seqs"),
    ({"max_num_active_seqs": 5}, "max_num_active_seqs", "above max_num_seqs, 4"),
    ({"enable_chunked_prefill": False}, "max_num_batched_tokens", "at least max_model_len, 128"),
    ({"long_prefill_token_threshold": 129}, "long_prefill_token_threshold", "above max_model_len, 128"),
    ({"long_prefill_token_threshold": 3, "num_speculative_tokens": 3}, "long_prefill_token_threshold", "assertion"),
    ({"usable_blocks": 9}, "usable_blocks", "C needs 10 blocks by its end; the pool holds 9"),
    ({"max_model_len": 72}, "requests", "C has a prompt of 72 tokens"),
])
def test_what_cannot_run_is_refused_beside_its_field(knobs: dict[str, Any], field: str, word: str) -> None:
    with pytest.raises(Refusal, match=word) as refusal:
        run_of(**knobs)
    assert refusal.value.field == field


def test_exactly_enough_blocks_is_enough() -> None:
    assert run_of("C:72/4@0", usable_blocks=10).step_count == 6  # 75 tokens of KV in 10 blocks; chunks 32, 32, 8


def test_a_wait_without_end_is_refused() -> None:
    """Drafts pad a full prefix hit to 4 tokens, which a budget of 3 can never hold."""
    with pytest.raises(Refusal, match="B waits for ever.*padded_decode"):
        run_of("A:17/1@0+S,B:17/1@7+S", shared_prefix_tokens=17, max_num_batched_tokens=3, max_num_seqs=3,
               num_speculative_tokens=3)


def test_a_run_without_a_near_end_is_refused() -> None:
    with pytest.raises(Refusal, match="2,000 steps"):
        run_of("A:1/1@5000")


# Requests as text

def test_requests_are_read_with_their_marks_in_any_order() -> None:
    assert parse_requests("A:24/8@0+S, B : 40/6@0!2~tenant\nC:1/1@9~x+S!-1") == (
        Request("A", 24, 8, 0, shares_prefix=True),
        Request("B", 40, 6, 0, priority=2, salt="tenant"),
        Request("C", 1, 1, 9, shares_prefix=True, priority=-1, salt="x"),
    )


@given(st.lists(st.builds(
    Request, id=st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,5}", fullmatch=True), prompt_tokens=st.integers(1, 9_999_999),
    max_tokens=st.integers(1, 9_999_999), arrival_step=st.integers(0, 9_999_999), shares_prefix=st.booleans(),
    priority=st.integers(-9, 9), salt=st.from_regex(r"[A-Za-z0-9_-]{0,4}", fullmatch=True),
), min_size=1, max_size=5, unique_by=lambda request: request.id))
def test_text_round_trip(requests: list[Request]) -> None:
    assert parse_requests(format_requests(tuple(requests))) == tuple(requests)


@pytest.mark.parametrize(("text", "sentence"), [
    ("", "No request"), (" , ", "No request"), ("A:24/8@0,B:40", "“B:40” can't be read"),
    ("A:24/8@0,B:x/6@0", "“B:x/6@0” can't be read"), ("A:24/8@-1", "can't be read"), ("A:24/8@0S", "can't be read"),
    ("A:0/8@0", "at least 1 token"), ("A:8/0@0", "at least 1 token"), ("A:24/8@0+T", r"“\+T” can't be read"),
    ("A:24/8@0!", "“!” can't be read"), ("A:24/8@0+S+S", r"has \+ twice"),
    ("A:1/1@0,A:2/2@0", "2 requests are called A"),
    ("A:99999999/1@0", "can't be read"),
])
def test_what_cannot_be_read_is_named(text: str, sentence: str) -> None:
    with pytest.raises(Refusal, match=sentence):
        parse_requests(text)
