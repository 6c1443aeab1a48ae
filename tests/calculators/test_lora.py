"""The lora model: sizes and times worked by hand for Llama-3.1-8B on an H100; the admission loop followed on paper."""
from math import isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models import lora_steps
from calculators.models.base import Refusal
from calculators.models.lora import ARRIVALS, BUSY, RANKS, SPREAD, solve
from calculators.models.lora_steps import Request, format_requests, parse_requests

ALONE, TOGETHER, DATASHEET = solve(), solve(max_loras=8), solve(max_loras=8, bandwidth_share=1)


@pytest.mark.parametrize(("value", "expected", "digits"), [
    # in + out of q, k, v, o, gate, up, down = 8,192 + 2 × 5,120 + 8,192 + 3 × 18,432 = 81,920 a layer
    (ALONE.adapter_parameters, 81_920 * 16 * 32, 0),
    (ALONE.adapter_bytes / 1e6, 83.9, 1),
    (solve(rank=64, max_lora_rank=64).adapter_bytes / 1e6, 335.5, 1),
    (ALONE.weight_bytes / 1e9, 15.01, 2),
    (ALONE.one_adapter_percent, 0.56, 2),
    (ALONE.flop_percent, 0.56, 2),
    (DATASHEET.one_adapter_ms, 0.025, 3),
    (DATASHEET.all_adapters_percent, 4.5, 1),
    (DATASHEET.all_adapters_ms, 0.20, 2),
    (TOGETHER.all_slots_bytes / 1e9, 0.67, 2),
    (TOGETHER.slot_kv_tokens, 5_120, 0),
    (ALONE.served.first_step_ms, 6.02, 2),
    (TOGETHER.served.first_step_ms, 8.98, 2),
    (ALONE.makespan_s, 14.46, 2),
    (ALONE.tokens_per_s, 1_328, 0),
    (TOGETHER.makespan_s, 2.69, 2),
    (TOGETHER.tokens_per_s, 7_126, 0),
    (ALONE.gain, 5.4, 1),
])
def test_eight_tenants_of_an_8b_model(value: float, expected: float, digits: int) -> None:
    assert round(value, digits) == expected


def test_the_first_step_is_said_with_what_it_reads() -> None:
    # By hand: 7 × 1,200 × 131,072 B = 1.101 GB; (15.01 + 1.101 + 0.0839) GB at 80% of 3.35 TB/s take 6.04 ms.
    run = solve(requests_per_tenant=7, context_tokens=1_200, weight_gb=15.01, kv_bytes_per_token=131_072)
    said = {line.label: line.expression for line in run.lines}
    assert said["first step, as set"] == "(15.01 + 7 × 0.157 + 1 × 0.0839) GB / 2.68 TB/s"
    assert said["first step, a slot for each"] == "(15.01 + 56 × 0.157 + 8 × 0.0839) GB / 2.68 TB/s"
    assert round(run.served.first_step_ms, 2) == 6.04


def test_eight_slots_by_rank() -> None:
    sizes = {each.slot_rank: (round(each.all_bytes / 1e9, 2), each.kv_tokens) for each in TOGETHER.by_rank}
    assert (sizes[16], sizes[64], sizes[128]) == ((0.67, 5_120), (2.68, 20_480), (5.37, 40_960))


def test_cost_goes_by_distinct_adapters_and_not_by_requests() -> None:
    # one adapter adds 83.9 MB whether one or sixty-four of its requests run
    one, many = (solve(tenants=1, requests_per_tenant=count, context_tokens=0) for count in (1, 32))
    assert one.served.first_step_ms == many.served.first_step_ms
    assert solve(tenants=1).one_adapter_percent == ALONE.one_adapter_percent


def test_a_small_adapter_is_read_as_large_as_its_slot() -> None:
    padded = solve(rank=8, max_lora_rank=16)
    assert padded.slot_bytes == 2 * padded.adapter_bytes == ALONE.slot_bytes
    assert padded.makespan_s == ALONE.makespan_s


def test_who_keeps_coming_starves_the_others() -> None:
    # A's last request comes at 39 × 0.2 s = 7.8 s, and 300 steps of some 6 ms later the slot is free
    busy = solve(arrivals=BUSY)
    assert busy.starved == 7
    assert busy.served.tenants[1].first_wait_s == pytest.approx(7.8 + 1.77, abs=0.05)
    assert solve(arrivals=BUSY, max_loras=8).starved == ALONE.starved == 0


def test_turns_are_taken_from_behind() -> None:
    # all eight of A are admitted at once: seven of them from behind B's first request
    assert [tenant.passed_over for tenant in ALONE.served.tenants] == [0, 7, 14, 21, 28, 35, 42, 49]


def test_an_adapter_that_memory_does_not_hold_stops_everybody() -> None:
    twice = {"tenants": 3, "requests_per_tenant": 2, "output_tokens": 10, "arrivals": SPREAD, "gap_s": 10,
             "disk_load_ms": 100}
    kept, lost = solve(**twice, max_cpu_loras=3), solve(**twice, max_cpu_loras=2)
    assert (kept.served.disk_loads, lost.served.disk_loads) == (3, 6)  # A B C A B C with room for two: never a hit
    assert lost.served.stalled_s == pytest.approx(0.6)


@pytest.mark.parametrize(("values", "field", "words"), [
    ({"max_loras": 8, "max_cpu_loras": 4}, "max_cpu_loras", r"max_cpu_loras \(4\) must be at least max_loras \(8\)"),
    ({"rank": 64}, "max_lora_rank", "its rank 64 is greater than max_lora_rank 16"),
])
def test_what_the_engine_rejects_is_refused(values: dict, field: str, words: str) -> None:
    with pytest.raises(Refusal, match=words) as refused:
        solve(**values)
    assert refused.value.field == field


@settings(max_examples=30, deadline=None)
@given(
    tenants=st.integers(1, 12), requests_per_tenant=st.integers(1, 6), output_tokens=st.integers(1, 500),
    context_tokens=st.integers(0, 5_000), arrivals=st.sampled_from(sorted(ARRIVALS)), gap_s=st.floats(0.001, 5),
    busy_requests=st.integers(1, 20), max_loras=st.integers(1, 16), max_num_seqs=st.integers(1, 40),
    disk_load_ms=st.sampled_from([0, 150]), launch_us=st.sampled_from([0, 50]),
    max_lora_rank=st.sampled_from(RANKS[2:]), weight_gb=st.none() | st.floats(0.01, 1_000),
)
def test_all_are_served_and_no_step_holds_too_many(**values: object) -> None:
    result = solve(**values)
    busy = values["arrivals"] == BUSY
    own = values["busy_requests"] if busy else values["requests_per_tenant"]
    total = own + (values["tenants"] - 1) * values["requests_per_tenant"]
    for served in (result.served, result.in_one_batch):
        assert sum(tenant.requests for tenant in served.tenants) == total
        assert round(served.mean_batch * served.decode_steps) == total * values["output_tokens"]
        assert served.most_adapters <= min(served.max_loras, values["tenants"], values["max_num_seqs"])
        assert served.mean_batch <= values["max_num_seqs"]
        assert all(tenant.longest_wait_s >= tenant.mean_wait_s >= 0 for tenant in served.tenants)
        assert max(tenant.done_s for tenant in served.tenants) == served.makespan_s
    assert all(isfinite(line.value) for line in result.lines)


def test_admission_step_by_step() -> None:
    # one slot, and A comes again while A runs: B waits from step 1 until A is gone after step 8
    run = lora_steps.simulate(requests=parse_requests("A:6,B:3,C:3,A:4@5"))
    assert [step.running["A"] for step in run.steps] == [0, 1, 1, 1, 1, 2, 2, 1, 1, 0, 0, 0, 0, 0, 0]
    assert run.steps[5].admitted == ("A2",) and run.steps[5].skipped == ("B1", "C1")
    assert (run.steps[9].admitted, run.steps[12].admitted) == (("B1",), ("C1",))
    assert run.passed_over == {"A": 0, "B": 1, "C": 1}


def test_seats_keep_the_order_where_slots_do_not() -> None:
    run = lora_steps.simulate(requests=parse_requests("A:2,B:2,A:2"), max_loras=1, max_num_seqs=1)
    assert [step.admitted for step in run.steps[1:]] == [("A1",), (), ("B1",), (), ("A2",), ()]


@settings(max_examples=30, deadline=None)
@given(
    requests=st.lists(st.builds(Request, st.sampled_from("ABCD"), st.integers(1, 9), st.integers(0, 20)), min_size=1,
                      max_size=12),
    max_loras=st.integers(1, 4), max_num_seqs=st.integers(1, 6),
)
def test_each_token_is_made_once_under_both_caps(requests: list[Request], max_loras: int, max_num_seqs: int) -> None:
    run = lora_steps.simulate(requests=tuple(requests), max_loras=max_loras, max_num_seqs=max_num_seqs)
    assert sum(sum(step.running.values()) for step in run.steps) == sum(request.tokens for request in requests)
    assert max(step.adapters for step in run.steps) <= max_loras
    assert max(sum(step.running.values()) for step in run.steps) <= max_num_seqs
    assert parse_requests(format_requests(tuple(requests))) == tuple(requests)


@pytest.mark.parametrize("text", ["", "Z:3", "A:0", "A:51", "A:3@101", "A", ",".join(["A:1"] * 25)])
def test_what_is_no_list_of_requests_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        parse_requests(text)
