"""The small picture of a question: only the asked number stands in it as the reader's."""
import pytest

from calculators.labs.base import Gist
from calculators.pictures import Path
from questions import loading
from questions.models import Question
from questions.services import gist_of, pose
from tests.calculators.drawings import words


def pens(gist: Gist) -> list[Path]:
    return [shape for shape in gist.wide.shapes if isinstance(shape, Path) and shape.css == "pen"]


@pytest.fixture
def damage(db: None, on_scheduling: loading.Bank) -> Question:
    loading.load_bank(on_scheduling)
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
