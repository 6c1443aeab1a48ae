"""Questions as they are posed: the bank's own two, with their labs."""
import re

import pytest
from django.test import Client

from calculators.models.base import Refusal
from questions import loading
from questions.access import published
from questions.grading import UnreadEntries
from questions.models import Question
from questions.services import judge, pose, pose_from
from tests.questions.test_draws import all_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank(on_scheduling: loading.Bank) -> None:
    loading.load_bank(on_scheduling)


@pytest.fixture
def token_budget(bank: None) -> Question:
    return Question.objects.get(slug="token-budget")


@pytest.fixture
def prefill_damage(bank: None) -> Question:
    return Question.objects.get(slug="prefill-damage")


def test_the_step_asked_about_is_the_recorded_one(token_budget: Question):
    check = pose(token_budget).check
    assert check.expected == {"A": 1, "B": 1, "C": 1, "D": 2045}  # the scheduler's own run: 2,048 less three decoders
    assert [row.words for row in check.requests] == [
        "decoding, prompt done", "decoding, prompt done", "decoding, prompt done",
        "5,000 of 8,000 left", "prompt of 300", "1,000, first 512 cached",
    ]
    assert (check.kind, check.limit) == ("map", 2048)


def test_the_lab_opens_one_step_before_the_one_asked_about(token_budget: Question):
    posed = pose(token_budget)
    assert posed.lab.startswith("/labs/scheduler")
    assert "step=1" in posed.lab
    assert "step=2" in posed.lab_answered


def test_one_number_of_a_step_is_committed_as_a_number(token_budget: Question):
    token_budget.checked["figure"] = "step.steps.2.tokens.D"
    check = pose(token_budget).check
    assert (check.kind, check.expected, check.requests) == ("number", 2045, ())


def test_a_calculator_opens_with_its_answer_held_back(prefill_damage: Question):
    posed = pose(prefill_damage)
    assert "ask=1" in posed.lab
    assert "ask=" not in posed.lab_answered


def test_figures_follow_the_lab_when_its_inputs_change(token_budget: Question):
    token_budget.runs["step"]["values"]["max_num_batched_tokens"] = 1500
    posed = pose(token_budget)
    assert posed.check.expected["D"] == 1497  # the new budget less three decoders
    assert "D gets 1,497" in posed.said_aloud_html
    assert "--max-num-batched-tokens 1500" in posed.ask_html
    assert posed.digest != pose(Question.objects.get(slug="token-budget")).digest


def test_a_map_is_judged_with_the_requests_that_get_nothing(token_budget: Question):
    posed = pose(token_budget)
    right = {"A": "1", "B": "1", "C": "1", "D": "2,045", "E": "0", "F": ""}
    assert judge(posed, right).within
    assert [entry.name for entry in judge(posed, right | {"E": "3"}).entries if not entry.right] == ["E"]
    with pytest.raises(UnreadEntries):
        judge(posed, right | {"D": "the rest"})


def test_the_longest_gap_is_the_one_worked_out_by_hand(prefill_damage: Question):
    posed = pose(prefill_damage)
    assert posed.check.expected == pytest.approx(984, abs=1)
    judgement = judge(posed, "0.25 s")
    assert (judgement.off, judgement.direction, judgement.reading) == ("3.9×", "too low", "read as 0.25 s = 250 ms")
    assert judgement.slip.startswith("That is a full chunk with no prefix behind it.")
    with pytest.raises(Refusal, match="GiB is a size"):
        judge(posed, "5 GiB")


def test_the_same_seed_poses_the_same_numbers_and_another_one_others(prefill_damage: Question):
    drawn = [pose(prefill_damage, f"card 1/{count}") for count in range(12)]
    assert len({posed.check.expected for posed in drawn}) > 3
    assert pose(prefill_damage, "card 1/0") == drawn[0]


def test_kept_values_pose_the_same_question_again(prefill_damage: Question):
    drawn = pose(prefill_damage, "card 2/0")
    assert drawn.values
    assert pose_from(prefill_damage, drawn.values) == drawn


def test_kept_values_that_fit_no_more_give_way_to_the_files_own(prefill_damage: Question):
    own = pose(prefill_damage)
    for values in ({"gone": {"x": 1}}, {next(iter(prefill_damage.runs)): {"no_such_knob": 1}}, {}):
        assert pose_from(prefill_damage, values).check.expected == own.check.expected


def test_a_draw_that_cannot_be_run_gives_way_to_the_files_own(prefill_damage: Question):
    own = pose(prefill_damage).check.expected
    prefill_damage.runs["damage"]["vary"] = {"prompt_tokens": ["[[gone.tokens]]"]}
    assert pose(prefill_damage, "card 1/0").check.expected == own
    prefill_damage.runs["damage"]["vary"] = {"decoders": [8]}
    prefill_damage.keep = {"damage.no_such_figure": 1}
    assert pose(prefill_damage, "card 1/0").check.expected == own


def test_a_draw_that_the_prose_cannot_tell_gives_way_to_the_files_own(token_budget: Question):
    token_budget.runs["step"]["vary"] = {"requests": ["A:24/1@0"]}  # D, of which the answer tells, is not in it
    assert pose(token_budget, "card 1/0") == pose(token_budget)


@pytest.mark.parametrize("slug", ["token-budget", "prefill-damage"])
def test_nothing_is_left_unfilled_and_no_text_can_act(bank: None, slug: str):
    text = all_text(pose(Question.objects.get(slug=slug)))
    assert not re.search(r"\[\[|\[\^|\ue000|<script|style=|<img", text)


def test_the_question_is_told_from_its_scenario_and_its_tables(prefill_damage: Question):
    posed = pose(prefill_damage)
    assert "<table" not in posed.scenario_html
    assert posed.asked_html.endswith("?")
    assert posed.asked_html in re.sub(r"</?a\b[^>]*>", "", posed.ask_html)


def test_a_lab_names_the_published_questions_that_it_answers(bank: None, client: Client):
    assert "One step&#x27;s token budget" in client.get("/labs/scheduler").content.decode()
    Question.objects.update(draft=True)
    assert "Questions this answers" not in client.get("/labs/scheduler").content.decode()


def test_drafts_and_retired_questions_are_not_drilled(bank: None):
    Question.objects.filter(slug="token-budget").update(draft=True)
    Question.objects.filter(slug="prefill-damage").update(retired=True)
    assert not published().filter(slug__in=["token-budget", "prefill-damage"]).exists()
    assert published().filter(slug="three-ceilings").exists()
