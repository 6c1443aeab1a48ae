"""Predict's score: kept once for each thing asked, of the person alone, and nowhere for a stranger."""
from datetime import UTC, datetime

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.test import Client

from accounts.models import User
from calculators.labs import LABS
from calculators.labs.base import Expected
from calculators.labs.commit import Scored, number, score, slots
from flashcards import predictions
from flashcards.models import Prediction

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
STEP = {"step": "1", "said_A": "24", "said_B": "1", "said_C": "0"}  # of the lab's six requests: A 24, B 8, C 0
HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/labs/scheduler"}


def say(client: Client, slug: str = "scheduler", **said: str) -> str:
    """Send the form and follow it to the lab."""
    return client.post(f"/predictions/{slug}/predict/", said, follow=True).content.decode()


def first_step(client: Client) -> dict[str, str]:
    """What the scheduler lab's first step gives each request that it asks for."""
    run = LABS["scheduler"].views[0].run({})[1]
    slots = client.get("/labs/scheduler").context["stage"].slots
    return {slot.name: str(run.steps[1].tokens.get(slot.name, 0)) for slot in slots if not slot.note}


def test_each_entry_of_a_step_is_one_row_with_what_was_said_and_what_it_was(as_ada: Client, ada: User):
    truth = first_step(as_ada)
    said = {f"said_{name}": tokens for name, tokens in truth.items()} | {"said_A": "3"}
    page = say(as_ada, step="1", **said)
    rows = {row.field: row for row in Prediction.objects.filter(user=ada)}
    assert set(rows) == set(truth)
    assert (rows["A"].predicted, rows["A"].actual, rows["A"].right) == (3, float(truth["A"]), False)
    assert all(row.right and row.predicted == row.actual for name, row in rows.items() if name != "A")
    assert {(row.lab, row.address, row.step) for row in rows.values()} == {("scheduler", "/labs/scheduler", 1)}
    assert f"Step 1: {len(truth) - 1} of {len(truth)} right." in page
    assert f"{len(truth) - 1} of {len(truth)} right<span class=\"visually-hidden\"> in this lab, kept" in page


def test_a_second_click_and_a_better_second_guess_add_nothing(as_ada: Client):
    truth = first_step(as_ada)
    wrong = {f"said_{name}": "7" for name in truth}
    say(as_ada, step="1", **wrong)
    say(as_ada, step="1", **wrong)
    page = say(as_ada, step="1", **{f"said_{name}": tokens for name, tokens in truth.items()})
    assert Prediction.objects.count() == len(truth)
    assert not Prediction.objects.filter(right=True).exists()
    assert f"Step 1: {len(truth)} of {len(truth)} right." in page  # what is said now is still weighed
    assert f"0 of {len(truth)} right<span class=\"visually-hidden\"> in this lab, kept" in page


def test_a_reload_of_the_answer_adds_nothing(as_ada: Client):
    response = as_ada.post("/predictions/scheduler/predict/", STEP)
    assert response.status_code == 303
    kept = Prediction.objects.count()
    assert [as_ada.get(response["Location"]).status_code for _ in range(2)] == [200, 200]
    assert kept == Prediction.objects.count() > 0


def test_other_values_are_another_question_and_other_labs_another_score(as_ada: Client, ada: User):
    say(as_ada, **STEP)
    asked = Prediction.objects.count()
    say(as_ada, **STEP, max_num_batched_tokens="64")
    assert Prediction.objects.count() == 2 * asked
    say(as_ada, "ngram", step="1", said_match="0", said_accepted="0")
    assert predictions.score_of(ada, "ngram")[1] == 2
    assert predictions.score_of(ada, "scheduler")[1] == 2 * asked


def test_htmx_gets_the_step_and_its_address(as_ada: Client):
    response = as_ada.post("/predictions/scheduler/predict/", STEP, headers=HTMX)
    fragment = as_ada.get(response["Location"], headers=HTMX)
    assert fragment["HX-Push-Url"].startswith("/labs/scheduler?step=1&said_A=24")
    assert 'hx-post="/predictions/scheduler/predict/"' in fragment.content.decode()


def test_what_cannot_be_read_is_said_and_nothing_is_kept(as_ada: Client):
    page = say(as_ada, **STEP | {"said_A": "lots"})
    assert "“lots” for A is no number of tokens." in page and 'value="lots"' in page
    assert "1 of" not in page
    assert not Prediction.objects.exists()


@pytest.mark.parametrize("given", [
    {"step": "0", "said_A": "1"}, {"said_A": "1"}, {"step": "1"}, {"step": "x", "said_A": "1"},
    {"step": "1", "said_A": "1", "max_num_seqs": "many"}, {"step": "1", "said_A": "\0"}, {"view": "budget-dial"},
])
def test_what_predicts_nothing_keeps_nothing(as_ada: Client, given: dict[str, str]):
    assert as_ada.post("/predictions/scheduler/predict/", given, follow=True).status_code == 200
    assert not Prediction.objects.exists()


def test_an_unknown_lab_is_not_found_and_a_link_predicts_nothing(as_ada: Client):
    assert as_ada.post("/predictions/no-such-lab/predict/", STEP).status_code == 404
    assert as_ada.get("/predictions/scheduler/predict/", STEP).status_code == 405


def test_a_stranger_keeps_the_score_in_the_address_alone(client: Client, db: None):
    page = client.get("/labs/scheduler", STEP)
    html = page.content.decode()
    assert 'method="get" action="/labs/scheduler"' in html and "csrfmiddlewaretoken" not in html
    assert " right</span>" in html and "kept" not in html
    assert not page.cookies and not Prediction.objects.exists()
    assert client.post("/predictions/scheduler/predict/", STEP)["Location"].startswith("/accounts/login/?next=")
    assert not Prediction.objects.exists()


def test_nobody_sees_anothers_score(as_ada: Client, eve: User):
    say(as_ada, **STEP)
    hers = Client()
    hers.force_login(eve)
    assert "in this lab, kept" not in hers.get("/labs/scheduler").content.decode()


def test_rows_are_never_changed_and_go_with_the_account(as_ada: Client, ada: User):
    say(as_ada, **STEP)
    row = Prediction.objects.first()
    for change in (row.save, row.delete, Prediction.objects.all().delete, lambda: Prediction.objects.update(step=2)):
        with pytest.raises(TypeError):
            change()
    with pytest.raises(IntegrityError), transaction.atomic():
        Prediction.objects.create(user=ada, **{name: getattr(row, name) for name in (
            "lab", "state", "address", "step", "field", "predicted", "actual", "right", "at")})
    ada.delete()
    assert not Prediction.objects.exists()


def test_a_long_name_is_kept_by_its_beginning(ada: User):
    lab = LABS["scheduler"]
    shown = lab.views[0].show(lab.views[0].bind({}), "1")
    predictions.keep(ada, lab, lab.views[0], shown, [Scored("n" * 300, 1, 2, "")], NOON)
    assert Prediction.objects.get().field == "n" * 200


TIME = (Expected("wait", 28.84, decimals=1, unit="ms"), Expected("A", 12))


@pytest.mark.parametrize(("text", "right"), [
    ("28.8", True), ("28.84", True), ("28.79", True), ("28.9", False), ("28", False), ("", False),
    ("28.78", False),  # 0.06 off
])
def test_a_decimal_is_right_to_the_decimals_asked_for(text: str, right: bool):
    wait, count = score(TIME, {"wait": text, "A": "12"})
    assert (wait.right, count.right) == (right, True)


@pytest.mark.parametrize(("text", "decimals", "value"), [
    ("1,024.5", 1, 1024.5), ("−0.5", 1, -0.5), (".25", 2, 0.25), ("5.", 1, 5), ("", 1, 0), ("1,024", 0, 1024),
    ("2 045", 0, 2045), ("28.8", 0, None), ("-1", 0, None), ("nan", 1, None), ("1e3", 1, None), ("9" * 10, 1, None),
    ("٣", 1, None), ("-", 1, None), (".", 1, None), ("1.2.3", 1, None),
])
def test_numbers_as_they_are_typed(text: str, decimals: int, value: float | None):
    assert number(text, decimals) == value


def test_what_is_no_number_is_said_in_the_unit_asked_for():
    wait, count = slots(TIME, {"wait": "long", "A": "1.5"})
    assert wait.fault == "“long” for wait is no number of ms."
    assert count.fault == "“1.5” for A is no number of tokens."


@pytest.mark.django_db
def test_no_migration_is_missing():
    call_command("makemigrations", "--check", "--dry-run", "flashcards", verbosity=0)
