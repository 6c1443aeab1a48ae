"""Answers of the engine questions, against derivations of their own."""
import pytest

from questions import loading
from questions.content import QuestionFile
from questions.figures import Ran
from questions.runs import play
from questions.services import run_lab


def question(slug: str) -> QuestionFile:
    return loading.read_file(loading.FOLDER / "engine" / f"{slug}.md")[0]


def runs_of(slug: str) -> dict[str, Ran]:
    """Every run of a question, with the file's own values."""
    return play(question(slug).runs, {}, run_lab)


def test_processes_agree_with_the_architecture_page_but_for_one_gpu():
    # docs.vllm.ai, Architecture Overview: API servers + ranks + GPUs, and one more for several ranks.
    ran = runs_of("process-map")
    said = {"one": 1 + 1 + 1, "four": 1 + 1 + 4, "pair": 2 + 2 + 2 + 1, "wide": 4 + 4 + 8 + 1}
    counted = {name: ran[name].result.processes for name in said}
    assert counted == said | {"one": 2}
    assert len(ran["wide"].result.roles) == 5


def test_a_speed_up_of_1_7_leaves_at_least_3_5_ms_exposed():
    # By hand: 5 x 1.7 - 5 = 3.5; with 1 ms still exposed 1.7 x 6 - 5 = 5.2; over 20 ms of kernels 23.5 / 20.
    ran = runs_of("v1-speedup-source")
    assert ran["small"].result.speed_up == pytest.approx(1.7)
    assert ran["still"].result.speed_up == pytest.approx(1.7)
    assert ran["large"].result.speed_up == pytest.approx(23.5 / 20)
    assert round(25 / 16, 2) == 1.56  # runner V2's published tokens/s, in thousands
