"""Loading the bank: the table of file and row, row by row, on files in a folder of their own."""
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import DjangoAssertNumQueries

from questions import loading
from questions.content import Act, QuestionFile, dump
from questions.models import Note, Question, Topic
from questions.services import document_of
from tests.questions.bakery import document, run_lab

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bank with one topic and one question, whose lab is the bakery."""
    monkeypatch.setattr(loading, "run_lab", run_lab)
    (tmp_path / "baking").mkdir()
    list_questions(tmp_path)
    write(tmp_path, document())
    return tmp_path


def list_questions(folder: Path, *slugs: str) -> None:
    text = f'[[topics]]\nslug = "baking"\ntitle = "Baking"\nquestions = {list(slugs)}\n'
    (folder / "topics.toml").write_text(text)


def write(folder: Path, question: QuestionFile) -> None:
    (folder / "baking" / f"{question.slug}.md").write_text(dump(question))


def load(folder: Path, *take: str) -> dict[str, Act]:
    return loading.load_bank(loading.read_bank(folder), take)


def loaves() -> Question:
    return Question.objects.get(slug="loaves")


def edit(**changes: str) -> None:
    Question.objects.filter(slug="loaves").update(**changes)


def test_a_new_file_becomes_a_row_that_holds_it_whole(folder: Path):
    assert load(folder) == {"loaves": Act.CREATE}
    assert asdict(document_of(loaves())) == asdict(document())
    assert loaves().topic.title == "Baking"


def test_loading_twice_changes_nothing(folder: Path):
    load(folder)
    before = Question.objects.values().get()
    assert load(folder) == {"loaves": Act.NOTHING}
    assert Question.objects.values().get() == before


def test_a_changed_file_updates_a_row_that_nobody_edited(folder: Path):
    load(folder)
    write(folder, document(catch="Flour varies by field."))
    assert load(folder) == {"loaves": Act.UPDATE}
    assert loaves().catch == "Flour varies by field."
    assert load(folder) == {"loaves": Act.NOTHING}


def test_an_edit_outlives_every_reload(folder: Path):
    load(folder)
    edit(catch="Edited.")
    assert [load(folder), load(folder)] == [{"loaves": Act.KEEP_EDIT}] * 2
    assert loaves().catch == "Edited."


def test_an_edit_that_came_home_counts_as_loaded(folder: Path):
    load(folder)
    edit(catch="Edited.")
    write(folder, document(catch="Edited."))
    assert load(folder) == {"loaves": Act.CAME_HOME}
    assert load(folder) == {"loaves": Act.NOTHING}


def test_in_a_conflict_the_row_stays_whole_and_the_rest_loads(folder: Path):
    load(folder)
    edit(catch="Edited.")
    write(folder, document(catch="Changed.", measure="Crumbs."))
    write(folder, document(slug="rolls"))
    assert load(folder) == {"loaves": Act.CONFLICT, "rolls": Act.CREATE}
    assert (loaves().catch, loaves().measure) == ("Edited.", "The loaves.")
    assert load(folder) == {"loaves": Act.CONFLICT, "rolls": Act.NOTHING}


def test_a_conflict_is_settled_for_the_file_when_asked(folder: Path):
    load(folder)
    edit(catch="Edited.")
    write(folder, document(catch="Changed."))
    assert load(folder, "loaves") == {"loaves": Act.UPDATE}
    assert loaves().catch == "Changed."
    assert load(folder) == {"loaves": Act.NOTHING}


def test_a_conflict_is_settled_for_the_row_by_exporting_it(folder: Path):
    load(folder)
    edit(catch="Edited.")
    write(folder, document(catch="Changed."))
    assert loading.export_question(loaves(), folder) == (folder / "baking" / "loaves.md", True)
    assert load(folder) == {"loaves": Act.CAME_HOME}
    assert loaves().catch == "Edited."


@pytest.mark.parametrize("edited", [False, True])
def test_a_question_whose_file_is_gone_retires_and_stays_for_its_cards(folder: Path, edited: bool):
    load(folder)
    if edited:
        edit(catch="Edited.")
    (folder / "baking" / "loaves.md").unlink()
    assert load(folder) == {"loaves": Act.RETIRE}
    assert loaves().retired
    assert load(folder) == {"loaves": Act.NOTHING}


def test_a_file_that_comes_back_brings_its_question_back(folder: Path):
    load(folder)
    (folder / "baking" / "loaves.md").unlink()
    load(folder)
    write(folder, document())
    load(folder)
    assert not loaves().retired


def made_in_the_admin(slug: str) -> None:
    row = Question(slug=slug)
    topic, _ = Topic.objects.get_or_create(slug="baking", defaults={"title": "Baking", "position": 1})
    loading.write_row(row, replace(document(), slug=slug), topic)
    row.save()


def test_a_question_made_in_the_admin_is_kept_and_its_export_makes_it_a_file(folder: Path):
    load(folder)
    made_in_the_admin("buns")
    assert load(folder)["buns"] == Act.KEEP_OWN
    loading.export_question(Question.objects.get(slug="buns"), folder)
    assert load(folder)["buns"] == Act.CAME_HOME


def test_a_file_unlike_the_question_made_in_the_admin_is_a_conflict(folder: Path):
    made_in_the_admin("loaves")
    edit(catch="Edited.")
    assert load(folder) == {"loaves": Act.CONFLICT}


def test_one_bad_file_stops_the_load_before_any_write(
    folder: Path, django_assert_num_queries: DjangoAssertNumQueries
):
    write(folder, document(slug="rolls", minutes=99, catch="[[oven.rolls]]"))
    with pytest.raises(loading.BadBank) as bad, django_assert_num_queries(0):
        load(folder)
    assert list(bad.value.faults) == ["baking/rolls.md"]
    minutes, figure = bad.value.faults["baking/rolls.md"]
    assert minutes == "line 5, minutes: A good answer takes 1 to 60 minutes."
    assert figure.endswith("catch: “oven.rolls” stops at “rolls”: Baked has no such figure.")
    assert not Question.objects.exists()


def test_faults_of_the_folder_are_named(folder: Path):
    (folder / "cooking").mkdir()
    (folder / "cooking" / "soup.md").write_text(dump(replace(document(), topic="cooking", slug="soup")))
    (folder / "baking" / "bad.md").write_bytes(b"\xff\xfe")
    with pytest.raises(loading.BadBank) as bad:
        loading.read_bank(folder)
    assert bad.value.faults["cooking/soup.md"] == ["topics.toml has no topic “cooking”."]
    assert "can't be read" in bad.value.faults["baking/bad.md"][0]


def test_what_topics_and_next_name_must_be_there(folder: Path):
    list_questions(folder, "loaves", "rolls")
    write(folder, document(next=["buns"]))
    with pytest.raises(loading.BadBank) as bad:
        loading.read_bank(folder)
    assert bad.value.faults == {
        "topics.toml": ["There is no file baking/rolls.md."],
        "baking/loaves.md": ["next: there is no question “buns”."],
    }


def test_questions_stand_in_the_order_of_the_topics_file(folder: Path):
    for slug in ("rolls", "buns", "apple-pie"):
        write(folder, document(slug=slug))
    list_questions(folder, "rolls", "loaves")
    load(folder)
    assert list(Question.objects.values_list("slug", flat=True)) == ["rolls", "loaves", "apple-pie", "buns"]


def test_an_export_that_says_the_same_leaves_the_file_alone(folder: Path):
    load(folder)
    path = folder / "baking" / "loaves.md"
    path.write_text(path.read_text().replace("+++\n", "+++\n# a comment\n", 1))
    assert loading.export_question(loaves(), folder) == (path, False)
    assert "# a comment" in path.read_text()


def run(command: str, *args: str) -> str:
    out = StringIO()
    call_command(command, *args, stdout=out)
    return out.getvalue()


def test_load_bank_reports_a_conflict_and_fails(folder: Path, monkeypatch: pytest.MonkeyPatch):
    bank = loading.read_bank(folder)
    monkeypatch.setattr(loading, "read_bank", lambda: bank)
    assert run("load_bank") == "loaves: created\n1 question and 0 number cards: created\n"
    assert run("load_bank") == "1 question and 0 number cards: unchanged\n"
    edit(catch="Edited.")
    assert "export_bank loaves" in run("load_bank")
    bank = replace(bank, questions={"loaves": document(catch="Changed.")})
    with pytest.raises(CommandError, match="loaves: conflict.*--take-file loaves"):
        run("load_bank")
    with pytest.raises(CommandError, match="No file of the bank is named rolls"):
        run("load_bank", "--take-file", "rolls")
    assert "loaves: updated" in run("load_bank", "--take-file", "loaves")


def test_export_bank_writes_what_was_edited(folder: Path):
    load(folder)
    assert run("export_bank", "--to", str(folder)) == "Nothing was edited or made in the admin.\n"
    edit(catch="Edited.")
    run("export_bank", "--to", str(folder))
    assert "Edited." in (folder / "baking" / "loaves.md").read_text()
    with pytest.raises(CommandError, match="There is no question or number card buns"):
        run("export_bank", "buns")


def test_an_export_that_cannot_be_written_is_told_and_the_rest_is_written(tmp_path: Path):
    loading.load_bank(loading.read_bank())
    note, question = Note.objects.first(), Question.objects.first()
    Note.objects.filter(pk=note.pk).update(ask="Edited?")
    Question.objects.filter(pk=question.pk).update(title="Edited")
    deck = tmp_path / "deck" / f"{note.topic.slug}.toml"
    deck.parent.mkdir()
    deck.write_text("x = [")
    with pytest.raises(CommandError, match=f"^{note.slug}: its file can't be written. deck: Not TOML"):
        run("export_bank", "--to", str(tmp_path / "bank"))
    assert deck.read_text() == "x = ["
    assert "Edited" in (tmp_path / "bank" / question.topic.slug / f"{question.slug}.md").read_text()
    with pytest.raises(CommandError, match=f"^{question.slug}: its file can't be written. .*Not a directory"):
        run("export_bank", question.slug, "--to", str(deck))


def test_fewer_draws_than_none_are_refused():
    with pytest.raises(CommandError, match="--draws takes 0 or more."):
        run("check_bank", "--draws", "-5")


def test_a_link_inside_the_site_must_lead_somewhere(folder: Path):
    write(folder, document(catch="See [one](/labs/scheduler?step=3), [two](/labs/smithy), [three](/nowhere/)."))
    report = loading.check_bank(loading.read_bank(folder), draws=0)
    assert report.faults == {
        "baking/loaves.md": ["catch: the link /labs/smithy leads nowhere.", "catch: the link /nowhere/ leads nowhere."]
    }
