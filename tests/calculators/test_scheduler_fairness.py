"""Long prompts in front of short ones: what the long-prefill threshold does for whom, in steps and in seconds.

The steps of the small case are from vLLM 0.33.0's own scheduler, run on the same requests.
"""
import pytest

from calculators.labs.scheduler import LAB, PRESETS
from calculators.models.scheduler import Run, parse_requests, simulate
from calculators.models.step_time import Machine

SMALL = next(preset.values for preset in PRESETS if preset.name == "four long, four short")


def small(threshold: int) -> Run:
    return LAB.views[0].run(SMALL | {"long_prefill_token_threshold": threshold})[1]


@pytest.mark.parametrize(("threshold", "shorts", "longs", "steps"), [
    (0, [9, 10, 10, 10], [2, 4, 6, 9], 14),
    (16, [9, 9, 10, 10], [4, 4, 8, 9], 14),
    (8, [10, 10, 10, 10], [8, 8, 8, 8], 14),  # 4 × 8 is the budget: worse for the short ones than no threshold
    (4, [3, 3, 3, 3], [17, 17, 17, 17], 21),
])
def test_a_threshold_helps_only_while_the_long_ones_leave_some_budget(
    threshold: int, shorts: list[int], longs: list[int], steps: int
) -> None:
    run = small(threshold)
    assert [run.first_token_step[id] for id in "EFGH"] == shorts
    assert [run.first_token_step[id] for id in "ABCD"] == longs
    assert run.step_count == steps


def test_no_threshold_changes_what_is_computed() -> None:
    assert {small(threshold).tokens_computed for threshold in (0, 16, 8, 4)} == {4 * (72 + 3) + 4 * (12 + 3)}


def test_a_prompt_alone_takes_its_prefill() -> None:
    """By hand: 4 × 8,000 behind 0, 8,000, 16,000 and 24,000; products 4 · 208.9 ms, attention 524,288 · 32,000 ·
    16,000.5 / 615e12 = 436.5 ms, CPU 4 · 0.9 ms."""
    run = simulate(requests=parse_requests("A:32000/1@0"), max_num_batched_tokens=8000, max_num_seqs=1,
                   usable_blocks=125, block_size=256, max_model_len=32_768)
    assert run.waits["A"].steps == 4
    assert run.waits["A"].time_to_first_token_s == pytest.approx(4 * 0.20891 + 0.43649 + 4 * 0.0009, abs=1e-4)


def test_a_wait_counts_from_the_arrival() -> None:
    run = small(0)
    steps_ms = [run.took_ms(step.step, Machine()) for step in run.steps]
    assert run.waits["A"].time_to_first_token_s == pytest.approx(sum(steps_ms[:3]) / 1e3)
    assert run.waits["E"].time_to_first_token_s == pytest.approx(sum(steps_ms[1:10]) / 1e3)
    assert run.longest_step_ms == max(steps_ms)
