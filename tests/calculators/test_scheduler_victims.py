"""Preemptions told with their cost: who pays, what is freed, what survives in the cache, what is computed again.

P, Q and R have prompts of 64 and 96 output tokens on blocks of 16. Figures by hand, from vLLM 0.33.0's own scheduler
run on the same requests; the recorded cases are in tests/golden/scheduler/.
"""
import json
from pathlib import Path

import pytest

from calculators.models.scheduler import Request, Run, parse_requests, simulate
from calculators.models.scheduler_run import Victim
from calculators.models.scheduler_trace import scheduler_of

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "scheduler").glob("*.json"))
THREE = parse_requests("P:64/96@0,Q:64/96@0,R:64/96@0")


def three(**knobs: object) -> Run:
    common = {"max_num_batched_tokens": 256, "max_num_seqs": 8, "usable_blocks": 24, "block_size": 16,
              "max_model_len": 256}
    return simulate(requests=THREE, **common | knobs)


def test_the_last_admitted_pays_when_the_pool_is_used_up() -> None:
    """At step 65 all three hold 8 blocks; P and Q need a 9th there and a 10th 16 steps later."""
    assert three().victims == (Victim(
        "R", 65, "P", freed_blocks=8, known_tokens=129, lost_tokens=128, overwritten={65: 2, 81: 2}, resumed_step=96,
        stall_steps=31, hit_tokens=64, resuming_step_tokens=65, recomputed_tokens=64,
    ),)
    assert three().victims[0].surviving_blocks == 4


def test_without_caching_everything_is_computed_again() -> None:
    (victim,) = three(enable_prefix_caching=False).victims
    assert (victim.hit_tokens, victim.resuming_step_tokens, victim.recomputed_tokens) == (0, 129, 128)


@pytest.mark.parametrize("caching", [True, False])
def test_a_smaller_pool_leaves_nothing_to_hit(caching: bool) -> None:
    """On 20 blocks R is its own victim at step 33, and the others take all six of its blocks before it is back."""
    (victim,) = three(usable_blocks=20, enable_prefix_caching=caching).victims
    assert (victim.id, victim.asked_by, victim.step, victim.resumed_step) == ("R", "R", 33, 96)
    assert (victim.freed_blocks, victim.overwritten, victim.surviving_blocks) == (6, {49: 2, 65: 2, 81: 2}, 0)
    assert (victim.hit_tokens, victim.recomputed_tokens, victim.resuming_step_tokens) == (0, 96, 97)


def test_a_watermark_changes_nothing_when_all_came_in_while_the_pool_was_half_empty() -> None:
    assert three(watermark=0.1).victims == three().victims


def test_enough_blocks_make_no_victim() -> None:
    assert three(usable_blocks=30).victims == ()


def test_every_recorded_preemption_is_told_once_and_adds_up() -> None:
    told = 0
    for path in GOLDEN:
        run = recorded(json.loads(path.read_text()))
        victims = run.victims
        assert [(victim.step, victim.id) for victim in victims] == [
            (step.step, id) for step in run.steps for id in step.preempted
        ], path.name
        for victim in victims:
            assert 0 < victim.lost_tokens <= victim.known_tokens + 16, path.name
            assert 0 <= victim.overwritten_blocks <= victim.freed_blocks
            if victim.resumed_step is not None:
                assert victim.stall_steps == victim.resumed_step - victim.step > 0
                assert victim.recomputed_tokens + victim.hit_tokens >= victim.lost_tokens
        told += len(victims)
    assert told > 10


def recorded(document: dict) -> Run:
    """The model's run on a recorded file's inputs."""
    scheduler, steps = scheduler_of(document), []
    while not scheduler.all_ended or scheduler.in_flight:
        steps.append(scheduler.step())
    return Run(tuple(Request(request["id"], 1, 1) for request in document["requests"]), tuple(steps))
