"""Disaggregated prefill: the figures of the sheets, and every call against a record of vLLM 0.33.0 making them.

tests/golden/kv_transfer_calls.json was recorded from vLLM's own Scheduler, NixlPullConnector (scheduler's half),
NixlPullConnectorWorker and ActiveKVConnector on a CPU, the network and the model replaced by stubs.
"""
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models import connector_sides, kv_lease, kv_transfer, nixl_pull, pd_ratio
from calculators.models.base import Refusal
from calculators.models.catalogue import GPUS
from calculators.models.kv_calls import COLLECT, GONE, UPDATE, Step, calls_of, matched, slots, told_blocks
from calculators.models.kv_transfer import MODELS

RECORD = json.loads((Path(__file__).parents[1] / "golden/kv_transfer_calls.json").read_text())
NIXL = [case for case in RECORD["cases"] if case["view"] == "nixl"]
SIDES = [case for case in RECORD["cases"] if case["view"] == "sides"]
HOUSEKEEPING = {*UPDATE, *COLLECT}  # of a step's end, which the lab tells with the next row if there is one
LLAMA_70B, LLAMA_8B, DEEPSEEK = MODELS["llama-3.1-70b"], MODELS["llama-3.1-8b"], MODELS["deepseek-v3"]
FAULTS = list(nixl_pull.ENDS)


def name(case: dict) -> str:
    return " ".join(str(value) for value in case["inputs"].values())


def follow(inputs: dict) -> nixl_pull.NixlPull:
    """The lab's run of a recorded case."""
    return nixl_pull.simulate(
        peer=inputs["peer"], kv_load_failure_policy=inputs["policy"], local_hit_tokens=inputs["local_hit_tokens"],
        fault=inputs["fault"], queue_s=16 if inputs["queued"] else 0,
    )


def assert_as_recorded(steps: tuple[Step, ...], engine: str, lines: list[int]) -> None:
    """The lab's calls of one engine are the engine's, each in its place; only the end of the last step is left out."""
    recorded = " ".join(RECORD["lines"][line] for line in lines).split()
    calls = calls_of(steps, engine)
    assert calls == recorded[: len(calls)]
    assert set(recorded[len(calls):]) <= HOUSEKEEPING


def assert_passes_through(steps: tuple[Step, ...], engine: str, states: list[list]) -> None:
    """The recorded statuses and block counts at the ends of steps come in the lab's run, in that order."""
    seen = iter([[step.held_by[engine].status, step.held_by[engine].held] for step in steps])
    assert all(state in seen for state in states)


WRITTEN = {  # how the lab writes what a recorded call was given
    "matched": ("get_num_new_matched_tokens", matched), "alloc": ("update_state_after_alloc", told_blocks),
    "slots": ("allocate_slots", lambda tokens, loaded, later, blocks: slots(tokens, loaded, later)),
    "cache": ("cache_blocks", lambda tokens: f"request, {tokens:,}"),
}


def assert_given_as_recorded(steps: tuple[Step, ...], engine: str, recorded: list[list]) -> None:
    """Each row named after one of these calls was given what the recorded call was, in that order."""
    names = {name for name, _ in WRITTEN.values()}
    calls = iter([(WRITTEN[kind][0], WRITTEN[kind][1](*given)) for kind, *given in recorded])
    assert all((step.name, step.given) in calls for step in steps if step.engine == engine and step.name in names)


@pytest.mark.parametrize("case", NIXL, ids=name)
def test_a_pull_makes_the_calls_that_the_engines_made(case: dict) -> None:
    run, expect = follow(case["inputs"]), case["expect"]
    for engine, recorded in zip("PD", expect["given"], strict=True):
        assert_as_recorded(run.steps, engine, expect[engine])
        assert_given_as_recorded(run.steps, engine, recorded)
        assert_passes_through(run.steps, engine, expect[f"{engine}_states"])
    said = [step.returned for step in run.steps if step.name == "get_num_new_matched_tokens"]
    assert said == [f"({count:,}, {beside})" for answers in expect["answers"] for count, beside in answers]
    assert run.expired == ("num_kv_expired_reqs" in expect["P_counters"])


@pytest.mark.parametrize("case", SIDES, ids=name)
def test_both_halves_are_asked_what_the_engine_asked(case: dict) -> None:
    run, expect = connector_sides.simulate(**case["inputs"]), case["expect"]
    assert_as_recorded(run.steps, "engine", expect["calls"])
    assert_given_as_recorded(run.steps, "engine", expect["given"])
    assert_passes_through(run.steps, "engine", expect["states"])
    said = [step.returned for step in run.steps if step.name == "get_num_new_matched_tokens"]
    assert said == [f"({count if count is None else format(count, ',')}, {beside})" for count, beside
                    in expect["answers"]]
    assert run.ended == expect["ended"]


@pytest.mark.parametrize(("crash_s", "frees_s"), RECORD["leases"])
def test_the_lease_ends_when_the_recorded_workers_freed(crash_s: float, frees_s: float) -> None:
    assert kv_lease.solve(ends_s=crash_s).frees_s == frees_s


FIGURES = [  # what, from the lab, as the sheets of topic 7 give it
    ("KV of 8,192 tokens, 70B, GB", lambda: kv_transfer.solve().kv_bytes / 1e9, 2.684, 0.0005),
    ("per rank, GB", lambda: kv_transfer.solve().rank_bytes / 1e9, 0.671, 0.0005),
    ("read at the full rate, ms", lambda: kv_transfer.solve(efficiency=1).read_ms, 13.4, 0.05),
    ("read at 0.8, ms", lambda: kv_transfer.solve().read_ms, 16.8, 0.05),
    ("read at 0.5, ms", lambda: kv_transfer.solve(efficiency=0.5).read_ms, 26.8, 0.05),
    ("prefill at MFU 0.5, ms", lambda: kv_transfer.solve().prefill_ms, 629, 0.5),
    ("prefill at MFU 0.4, ms", lambda: kv_transfer.solve(mfu=0.4).prefill_ms, 786, 0.5),
    ("prefill at MFU 0.6, ms", lambda: kv_transfer.solve(mfu=0.6).prefill_ms, 524, 0.5),
    ("read / prefill, %", lambda: kv_transfer.solve().share_percent, 2.7, 0.05),
    ("break-even, GB/s", lambda: kv_transfer.solve().break_even_gb_per_s, 4.27, 0.005),
    ("decode floor, ms", lambda: kv_transfer.solve().decode_step_ms, 10.5, 0.05),
    ("with a chunk of 2,048, ms", lambda: kv_transfer.solve().chunk.step_ms, 146, 0.5),
    ("times an ordinary step", lambda: kv_transfer.solve().stretched, 14, 0.5),
    ("with a chunk of 8,192, ms", lambda: kv_transfer.solve(chunk_tokens=8_192).chunk.step_ms, 584, 0.5),
    ("times an ordinary step", lambda: kv_transfer.solve(chunk_tokens=8_192).stretched, 55, 0.6),
    ("with a chunk of 512, ms", lambda: kv_transfer.solve(chunk_tokens=512).chunk.step_ms, 37, 0.5),
    ("first token by way of P, ms", lambda: kv_transfer.solve().first_token_ms, 678, 1),
    ("8B, 2,048 tokens, MB", lambda: kv_transfer.moved_bytes(LLAMA_8B, "bf16", 2_048, 1) / 1e6, 268, 0.5),
    ("on one NIC, ms", lambda: kv_transfer.solve(
        model="llama-3.1-8b", prompt_tokens=2_048, prefill_gpus=1, decode_gpus=1, efficiency=1).read_ms, 5.4, 0.05),
    ("its prefill, ms", lambda: kv_transfer.prefill_ms(LLAMA_8B, GPUS["h100"], 2_048, 1, 0.5), 69, 0.5),
    ("MLA, 4,096 tokens, MB", lambda: kv_transfer.moved_bytes(DEEPSEEK, "bf16", 4_096, 1) / 1e6, 288, 0.5),
    ("on one NIC, ms", lambda: kv_transfer.moved_bytes(DEEPSEEK, "bf16", 4_096, 1) / 50e6, 5.76, 0.005),
    ("MLA a token, B", lambda: kv_transfer.token_bytes(DEEPSEEK, "bf16"), 70_272, 0),
    ("70B 2K, GB", lambda: kv_transfer.moved_bytes(LLAMA_70B, "bf16", 2_048, 1) / 1e9, 0.671, 0.0005),
    ("70B 32K, GB", lambda: kv_transfer.moved_bytes(LLAMA_70B, "bf16", 32_768, 1) / 1e9, 10.74, 0.005),
    ("MLA 2K, GB", lambda: kv_transfer.moved_bytes(DEEPSEEK, "bf16", 2_048, 1) / 1e9, 0.144, 0.0005),
    ("MLA 8K, GB", lambda: kv_transfer.moved_bytes(DEEPSEEK, "bf16", 8_192, 1) / 1e9, 0.576, 0.0005),
    ("MLA 32K, GB", lambda: kv_transfer.moved_bytes(DEEPSEEK, "bf16", 32_768, 1) / 1e9, 2.303, 0.0005),
    ("pinned, 10/s for 0.5 s in all, GB", lambda: kv_transfer.solve(wait_s=0.4832).pinned_bytes / 1e9, 13.4, 0.05),
    ("pinned with a queue of 5 s, GB", lambda: kv_transfer.solve(wait_s=5).pinned_bytes / 1e9, 134, 1),
    ("prefill nodes", lambda: pd_ratio.solve().prefill_work, 1.09, 0.005),
    ("decode nodes", lambda: pd_ratio.solve().decode_work, 0.68, 0.005),
    ("whole prefill nodes", lambda: pd_ratio.solve().prefill_nodes, 2, 0),
    ("whole decode nodes", lambda: pd_ratio.solve().decode_nodes, 1, 0),
    ("hits of 56%: times the rate", lambda: pd_ratio.solve().ratio / pd_ratio.solve(hit_share=0.56).ratio, 2.27, 0.01),
    ("beat, s", lambda: kv_lease.solve().interval_s, 5, 0),
    ("worth, s", lambda: kv_lease.solve().extension_s, 20, 0),
    ("first deadline that a beat moves to, s", lambda: next(
        beat.deadline_s for beat in kv_lease.solve().beats if beat.moves), 35, 0),
    ("beats that may be lost", lambda: kv_lease.solve().lost_beats, 2, 0),  # at 5 and 10 s; 15 s is before 20 s
    ("beats that may be lost, 32 s", lambda: kv_lease.solve(kv_lease_duration=32).lost_beats, 3, 0),  # 21 s, every 5
    ("held for 45 s at 10/s, TB", lambda: kv_lease.solve(ends_by="reads", ends_s=45).pinned_gb / 1e3, 1.2, 0.01),
    ("D dies at 22 s, held, GB·s", lambda: kv_lease.solve().held_gb_s, 107, 0.5),
    ("blocks a rank", lambda: nixl_pull.simulate().blocks, 512, 0),
    ("offered by the connector", lambda: connector_sides.simulate().count, 2_992, 0),
    ("blocks of the load", lambda: connector_sides.simulate().load_blocks, 187, 0),
    ("left to compute", lambda: connector_sides.simulate().left_tokens, 80, 0),
    ("the store has all: left", lambda: connector_sides.simulate(load="async", store_tokens=4_096).left_tokens, 1, 0),
    ("asking, ms a step", lambda: connector_sides.simulate().asking_ms, 10, 0),
    ("block ids, B", lambda: connector_sides.simulate().message_bytes, 748, 0),
    ("KV that passes beside, GB", lambda: connector_sides.simulate().kv_bytes / 1e9, 0.98, 0.005),
]


@pytest.mark.parametrize(("figure", "computed", "value", "within"), FIGURES, ids=[row[0] for row in FIGURES])
def test_the_sheets_figures_come_out(figure: str, computed: object, value: float, within: float) -> None:
    assert computed() == pytest.approx(value, abs=within, rel=0)


def test_the_read_by_prompt_and_link() -> None:
    by_rate = {link.gb_per_s: [round(ms, 1) for ms in link.takes_ms] for link in kv_transfer.solve().links}
    assert by_rate == {50: [13.4, 53.7, 214.7], 64: [10.5, 41.9, 167.8], 450: [1.5, 6.0, 23.9],
                       12.5: [53.7, 214.7, 859.0]}  # the sheet's table, 70B


def test_the_prefill_is_its_filled_in_products_over_the_rate() -> None:
    lines = {line.label: line for line in kv_transfer.solve(prompt_tokens=6_144).lines}
    flop, took = lines["its products, and attention"].value, lines["the prefill"]
    assert took.value == pytest.approx(flop / (4 * 989 * 0.5) * 1e3, rel=1e-3)
    assert took.expression.startswith(f"{flop:.0f} T / (4 × 989 T × 0.5)")


def test_the_ratio_by_traffic() -> None:
    assert [round(shape.ratio, 2) for shape in pd_ratio.solve().shapes] == [1.00, 0.80, 1.61, 0.20, 8.03, 0.05]


def test_a_latent_is_read_whole_by_each_rank() -> None:
    dense, latent = (kv_transfer.solve(model=slug, gpu="h200", prefill_gpus=8, decode_gpus=8)
                     for slug in ("llama-3.1-70b", "deepseek-v3"))
    assert dense.rank_bytes * 8 == dense.kv_bytes
    assert latent.rank_bytes == 8_192 * 70_272


def test_the_smaller_side_limits_the_read() -> None:
    assert kv_transfer.solve(prefill_gpus=2, decode_gpus=8).read_ms == kv_transfer.solve(decode_gpus=2).read_ms


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("policy", ["fail", "recompute"])
def test_no_block_stays_held_for_a_request_that_has_ended(fault: str, policy: str) -> None:
    """Each engine's blocks are free at the end, but for a D that still decodes; a dead process holds none."""
    run = nixl_pull.simulate(fault=fault, kv_load_failure_policy=policy, peer="new", queue_s=30)
    last = run.steps[-1].held_by
    for holding in last.values():
        assert not holding.held or holding.status == "RUNNING", fault
    assert (last["P"].looks == GONE) == (fault == "P dies")
    assert (run.first_token_ms is None) == (last["D"].status != "RUNNING")


def test_both_sides_hold_the_blocks_during_the_read() -> None:
    read = next(step for step in nixl_pull.simulate().steps if step.name == "READ")
    assert [holding.held for holding in read.held_by.values()] == [512, 512]
    assert [holding.looks for holding in read.held_by.values()] == ["held", "held"]


def test_an_aborted_read_keeps_its_blocks_until_it_has_ended() -> None:
    steps = nixl_pull.simulate(fault="abort").steps
    aborted = next(place for place, step in enumerate(steps) if step.held_by["D"].status == "FINISHED_ABORTED")
    read = next(place for place, step in enumerate(steps) if step.name == "READ")
    assert aborted < read and steps[read].held_by["D"].held == 512 and steps[-1].held_by["D"].held == 0


def test_a_refused_handshake_lets_no_heartbeat_through() -> None:
    # vllm 0.33.0, base_worker.py, _send_heartbeats: no heartbeat while the handshake is not done
    run = nixl_pull.simulate(fault="handshake", peer="new", queue_s=45)
    assert run.lease.frees_s == 30
    freed = next(place for place, step in enumerate(run.steps) if step.held_by["P"].looks == "hashed")
    refused = next(place for place, step in enumerate(run.steps) if step.name == "handshake refused")
    assert freed < refused


def test_what_a_handshake_or_a_death_needs_is_asked_for() -> None:
    with pytest.raises(Refusal, match="choose a new one"):
        nixl_pull.simulate(fault="handshake")
    with pytest.raises(Refusal, match="waits 20 s"):
        nixl_pull.simulate(fault="D dies", queue_s=20)
    with pytest.raises(Refusal, match="187 blocks are loaded"):
        connector_sides.simulate(fault="bad blocks", first_bad_block=187)
    with pytest.raises(Refusal, match="within its step"):
        connector_sides.simulate(fault="abort")


def test_a_request_that_comes_to_d_after_the_lease_finds_the_blocks_gone() -> None:
    late = kv_lease.solve(ends_by="reads", ends_s=40, arrives_s=35)
    assert (late.frees_s, late.expired, late.beats) == (30, True, ())


@settings(max_examples=60, deadline=None)
@given(lease=st.integers(6, 600), ends=st.floats(0, 3_600), arrives=st.floats(0, 600),
       ends_by=st.sampled_from(["reads", "dies"]))
def test_a_deadline_never_moves_back(lease: int, ends: float, arrives: float, ends_by: str) -> None:
    run = kv_lease.solve(kv_lease_duration=lease, ends_s=ends, arrives_s=arrives, ends_by=ends_by)
    deadlines = [lease, *(beat.deadline_s for beat in run.beats)]
    assert deadlines == sorted(deadlines)
    assert run.frees_s <= max(deadlines) and (ends_by == "reads" or run.frees_s >= lease)


@settings(max_examples=60, deadline=None)
@given(prompt=st.integers(1, 20_000), hit=st.integers(0, 20_000), store=st.integers(0, 20_000),
       size=st.sampled_from([1, 16, 256]), load=st.sampled_from(["sync", "async"]))
def test_loaded_and_computed_tokens_add_up(prompt: int, hit: int, store: int, size: int, load: str) -> None:
    run = connector_sides.simulate(prompt_tokens=prompt, local_hit_tokens=hit, store_tokens=store, block_size=size,
                                   load=load)
    local = min(hit, prompt - 1) // size * size
    whole = local + run.count == prompt  # then one token is computed again
    assert local + run.count + run.left_tokens == prompt + whole
    assert run.steps[-1].held_by["engine"].held == 0


def test_the_last_beat_comes_before_the_crash_and_may_be_none() -> None:
    assert kv_lease.solve(ends_s=22).last_beat_s == 20
    assert kv_lease.solve(ends_s=1, arrives_s=2).last_beat_s is None


def test_a_prompts_gigabytes_are_a_ranks_times_the_ranks() -> None:
    split, pull = kv_transfer.solve(), nixl_pull.simulate()
    assert (round(split.kv_gb, 3), round(split.pinned_gb, 1)) == (2.684, 13.9)
    assert pull.rank_gb * pull.ranks[1] == pytest.approx(split.kv_gb)


def test_work_of_just_so_many_nodes_takes_no_further_one() -> None:
    # 500 output tokens for each request, as many requests a second as one node decodes tokens: 500 nodes
    assert pd_ratio.solve(rate_per_s=24_213.790164823717, decode_node_tokens_per_s=24_213.790164823717,
                          output_tokens=500).decode_nodes == 500
