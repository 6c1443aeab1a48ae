"""The small picture of each question: 200 draws stay inside it, and only the asked number stands in it as the reader's.
"""
import pytest

from calculators.labs.base import Gist, Shown
from calculators.pictures import Drawing, Path, Text
from questions import loading
from questions.content import QuestionFile
from questions.figures import resolve
from questions.models import Question
from questions.runs import draw
from questions.services import gist_of, pose, run_kept, view_of
from tests.calculators.drawings import assert_within, words

DRAWS = 200
LETTER = {"end": 9.5, "name": 8, "strong": 7, "pen-text": 7}  # widths, about; any other look's is 6.5
WITH = ("prefill-damage", "three-ceilings", "recompute-or-move", "budget-dial", "overload-queueing", "long-replies")


@pytest.fixture(scope="module")
def files(real_bank: loading.Bank) -> dict[str, QuestionFile]:
    return real_bank.questions


def assert_words_within(drawing: Drawing) -> None:
    """Every text begins and ends inside the drawing, as far as letters can be counted."""
    for shape in drawing.shapes:
        if isinstance(shape, Text):
            width = LETTER.get(shape.css.split()[0], 6.5) * len(shape.text)
            start = shape.x - {"start": 0, "middle": width / 2, "end": width}[shape.anchor]
            assert start >= -2 and start + width <= drawing.width + 2, shape


@pytest.mark.parametrize("slug", WITH)
def test_two_hundred_draws_keep_inside_their_picture(files: dict[str, QuestionFile], slug: str):
    file = files[slug]
    name, run = next((name, run) for name, run in file.runs.items() if run.get("shown"))
    view = view_of(run["lab"], run.get("view", ""))
    for seed in range(DRAWS):
        _, ran, _ = draw(file.runs, file.keep, f"{slug}/{seed}", run_kept)
        expected = resolve(file.check["figure"], ran)
        for times in (None, 0.2, 0.9, 1.6, 40):
            said = times and expected * times
            made = view.gist(Shown(ran[name].inputs, ran[name].result, 0, 0, said))
            for drawing in made:
                assert_within(drawing, drawing.width)
                assert_words_within(drawing)


def pens(gist: Gist) -> list[Path]:
    return [shape for shape in gist.wide.shapes if isinstance(shape, Path) and shape.css == "pen"]


@pytest.fixture
def damage(db: None, real_bank: loading.Bank) -> Question:
    loading.load_bank(real_bank)
    return Question.objects.get(slug="prefill-damage")


def test_the_committed_number_is_the_readers_pen(damage: Question):
    posed = pose(damage)
    assert "you: 250 ms" in words(gist_of(posed, 250).wide)
    assert not pens(gist_of(posed))


def test_a_number_in_another_unit_is_drawn_in_the_pictures_own(damage: Question):
    damage.checked["unit"] = "s"
    assert "you: 250 ms" in words(gist_of(pose(damage), 0.25).wide)


def test_another_number_than_the_pictures_is_not_drawn_in_it(damage: Question):
    damage.checked |= {"figure": "damage.lockout_s", "unit": "s"}
    gist = gist_of(pose(damage), 8.6)
    assert gist and not pens(gist)
    damage.checked |= {"figure": "again.peak_gap_ms", "unit": "ms"}
    assert not pens(gist_of(pose(damage), 250))


def test_a_trace_has_no_small_picture(damage: Question):
    assert gist_of(pose(Question.objects.get(slug="token-budget"))) is None


def test_a_question_without_a_run_has_none(damage: Question):
    damage.runs, damage.checked = {}, {}
    for part in ("ask", "said_aloud", "derivation", "catch", "measure"):
        setattr(damage, part, "Words.")
    for array in ("rubric", "traps", "follow_ups", "hints", "options"):
        setattr(damage, array, [])
    assert gist_of(pose(damage)) is None
