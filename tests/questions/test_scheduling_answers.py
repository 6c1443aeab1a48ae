"""Answers of the scheduling questions, against derivations of their own."""
import pytest

from calculators.models.step_time import Machine, step_ms
from questions import loading
from questions.runs import draw, play
from questions.services import run_lab


def longest_gap_ms(budget: int, prompt: int, decoders: int, context: int) -> float:
    """The longest step of one prompt's prefill beside the decoders, each chunk behind its own prefix; ms."""
    chunk, machine = budget - decoders, Machine()
    return max(
        step_ms(machine, ((min(chunk, prompt - done), done),), decoders, decoders * context)
        for done in range(0, prompt, chunk)
    )


@pytest.mark.parametrize("seed", range(40))
def test_a_budget_found_behind_the_last_chunks_own_prefix_is_right_too(real_bank: loading.Bank, seed: int):
    dial = real_bank.questions["budget-dial"]
    _, ran, _ = draw(dial.runs, dial.keep, seed, run_lab)
    given, answer = ran["dial"].inputs, ran["dial"].result.largest_budget
    keeps = [
        budget for budget in range(answer, answer * 5 // 4) if given["itl_target_ms"] >= longest_gap_ms(
            budget, given["longest_prompt_tokens"], given["decoders"], given["context_tokens"],
        )
    ]
    assert answer <= max(keeps) <= answer * (1 + dial.check["tolerance"])


def test_the_victim_resumes_with_65_tokens_and_64_would_be_wrong(real_bank: loading.Bank):
    # By hand: 128 computed and 129 known tokens; of its 8 blocks of 16 the survivors took 4, so 129 - 64 are computed.
    victim = real_bank.questions["preemption-victim"]
    ran = play(victim.runs, {}, run_lab)
    assert ran["on"].result.victims[0].resuming_step_tokens == 65
    assert ran["off"].result.victims[0].resuming_step_tokens == 129
    assert victim.check["tolerance"] == 0


def test_the_resuming_step_takes_as_long_as_a_decode_step(real_bank: loading.Bank):
    # The weights are read in 5.99 ms and 65 tokens are multiplied in 1.7: reading decides, and the CPU adds 0.9.
    ran = play(real_bank.questions["preemption-victim"].runs, {}, run_lab)
    assert ran["on"].result.steps[96].tokens == {"R": 65}
    assert ran["pace"].result.peak_gap_ms == pytest.approx(6.9, abs=0.05)
