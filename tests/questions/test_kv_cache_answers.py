"""Answers of the KV cache questions, against derivations of their own."""
from questions import loading
from questions.content import QuestionFile
from questions.figures import Ran
from questions.runs import play
from questions.services import run_lab


def question(slug: str) -> QuestionFile:
    return loading.read_file(loading.FOLDER / "kv-cache" / f"{slug}.md")[0]


def runs_of(slug: str) -> dict[str, Ran]:
    """Every run of a question, with the file's own values."""
    return play(question(slug).runs, {}, run_lab)


def test_five_prompts_compute_167_tokens():
    # By hand: 64 tokens are four blocks of 16; a whole repeat hits floor(63 / 16) = 3, a token more floor(64 / 16) = 4.
    ran = runs_of("block-identity")
    steps = ran["five"].result.steps[1:]
    assert ran["five"].result.computed_tokens == 64 + (64 - 48) + (65 - 64) + (70 - 48) + 64
    assert [len(step.new_blocks) for step in steps] == [4, 1, 1, 2, 4]
    assert [len(step.copies) for step in steps] == [0, 1, 0, 0, 0]
    assert steps[3].agree == 62 - 48
    assert 64 + 16 + 1 + 22 + 16 == 119  # as if r5 had to compute its first block alone
    assert 50_000 * 26.1e-6 > 1  # s of prefill on the 8B, beside 6 ms of hashing
    assert [step.hit_tokens for step in ran["salts"].result.steps[1:]] == [0, 0, 0, 64]
    assert ran["turns"].result.steps[2].hit_tokens == (70 + 26 - 1) // 16 * 16 == 80
    assert ran["logprobs"].result.steps[2].hit_tokens == 0
