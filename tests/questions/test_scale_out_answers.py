"""Answers of the scale-out questions, against derivations of their own."""
import pytest

from questions import loading
from questions.figures import Ran
from questions.runs import play
from questions.services import run_lab


def played(bank: loading.Bank, slug: str) -> dict[str, Ran]:
    """The runs of a question with its file's own values."""
    return play(bank.questions[slug].runs, {}, run_lab)


def test_a_group_that_ends_just_after_a_check_runs_fifteen_empty_steps():
    # Ranks compare at step 1 of a wave and at every multiple of 16: work that ends in step 17 is noticed in step 32.
    interval = 16
    ends_after = interval + 1
    noticed = next(step for step in range(ends_after + 1, 3 * interval) if step % interval == 0)
    assert noticed - ends_after == 15


def test_pieces_of_a_chunk_add_what_the_whole_chunk_adds(real_bank: loading.Bank):
    chunk, cut = (played(real_bank, "lockstep")[name].result for name in ("chunk", "cut"))
    assert 8 * (cut.step_ms - cut.base_ms) == pytest.approx(chunk.step_ms - chunk.base_ms)
