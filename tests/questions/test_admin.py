"""Authors: Kim writes (Editors), Ben publishes (Publishers), Eve is a stranger; every fault stands beside its field."""
import re
from dataclasses import replace
from pathlib import Path

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from accounts.models import User
from questions import loading
from questions.content import Act, digest
from questions.models import Question, Topic
from questions.services import document_of
from questions.toml_lines import read_lines
from tests.questions.forms_sent import form_sent

pytestmark = pytest.mark.django_db
LIST = "/admin/questions/question/"
ADD = "/admin/questions/question/add/"
SAVE = {"_save": "Save"}


def in_group(user: User, name: str) -> Client:
    user.groups.add(Group.objects.get(name=name))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def editor(kim: User) -> Client:
    return in_group(kim, "Editors")


@pytest.fixture
def publisher(ben: User) -> Client:
    return in_group(ben, "Publishers")


@pytest.fixture
def bank(db: None, real_bank: loading.Bank) -> loading.Bank:
    """Two of the bank's questions with the neighbours that they name, and its number cards, loaded."""
    two = [real_bank.questions[slug] for slug in ("prefill-damage", "token-budget")]
    named = [slug for question in two for slug in (question.slug, *question.next)]
    questions = {slug: real_bank.questions[slug] for slug in dict.fromkeys(named)}
    topics = tuple(replace(topic, questions=()) for topic in real_bank.topics)
    bank = replace(real_bank, topics=topics, questions=questions)
    loading.load_bank(bank)
    return bank


def row(slug: str) -> Question:
    return Question.objects.get(slug=slug)


def page_of(question: Question) -> str:
    return f"/admin/questions/question/{question.pk}/change/"


def form_at(client: Client, address: str) -> dict[str, str]:
    return form_sent(client.get(address).content.decode(), "question_form")


def save(client: Client, address: str, **changes: str):
    return client.post(address, form_at(client, address) | SAVE | changes)


def typed_question(**changes: str) -> dict[str, str]:
    """A small question without a fault, as typed into the empty form. 8 × 1,024 tokens are 8,192 (by hand)."""
    Topic.objects.get_or_create(slug="scheduling", defaults={"title": "Scheduling", "position": 1})
    typed = {
        "topic": "scheduling", "slug": "long-chunks", "title": "Chunks of one prompt",
        "kind": "size", "level": "senior", "minutes": "3",
        "ask": "A prompt has [[one.prompt_tokens]] tokens.\r\n\r\n**How long is the longest gap?**",
        "said_aloud": "About [[one.peak_gap_ms|g2]] ms[^code].",
        "derivation": "[[one.lines]]", "catch": "It grows.", "measure": "The gap.",
        "check_figure": "one.peak_gap_ms", "check_unit": "ms", "check_tolerance": "0.1",
        "runs-0-name": "one", "runs-0-lab": "prefill-interference", "runs-0-values": "prompt_tokens = 100000",
        "runs-0-vary": "prompt_tokens = {from = 90000, to = 110000, step = 1000}",
        "keep": '"one.peak_gap_ms" = {from = 1}',
        "sources-0-id": "code", "sources-0-file": "vllm/v1/core/sched/scheduler.py", "sources-0-version": "0.33.0",
        "hints-0-text": "Which step is the longest?",
    }
    for number, name in enumerate(("gap", "step", "lockout", "after")):
        for key in ("text", "named", "explained", "bounded"):
            typed[f"rubric-{number}-{key}"] = f"{key} of {name}"
        typed[f"rubric-{number}-id"] = name
    return typed | changes


def add(client: Client, **changes: str):
    changes = {"_save": "Save"} | changes
    return client.post(ADD, form_at(client, ADD) | typed_question(**changes))


# Who may


def test_a_stranger_finds_nothing(bank: loading.Bank, eve: User):
    client = Client()
    client.force_login(eve)
    pk = row("token-budget").pk
    for address in (LIST, ADD, page_of(row("token-budget")), f"/admin/questions/question/{pk}/preview/"):
        assert client.get(address).status_code == 404
        assert client.post(address, {"title": "Mine"}).status_code == 404


def test_an_editor_writes_a_draft_which_no_learner_meets(editor: Client):
    assert add(editor).url == LIST
    question = row("long-chunks")
    assert question.draft
    assert question.checked == {"figure": "one.peak_gap_ms", "unit": "ms", "tolerance": 0.1}
    assert question.ask == "A prompt has [[one.prompt_tokens]] tokens.\n\n**How long is the longest gap?**"
    assert save(editor, page_of(question), catch="It ramps.").url == LIST
    assert row("long-chunks").catch == "It ramps."


@pytest.mark.parametrize("trick", [{"_publish": "Publish"}, {"draft": ""}])
def test_an_editor_cannot_publish(editor: Client, trick: dict[str, str]):
    add(editor, **trick)
    assert row("long-chunks").draft
    save(editor, page_of(row("long-chunks")), **trick)
    assert row("long-chunks").draft
    assert 'name="_publish"' not in editor.get(ADD).content.decode()


def test_what_is_published_is_closed_to_an_editor(bank: loading.Bank, editor: Client, publisher: Client):
    question = row("token-budget")
    page = editor.get(page_of(question)).content.decode()
    assert "only Publishers change it" in page
    assert 'name="_save"' not in page
    sent = form_at(publisher, page_of(question)) | SAVE | {"catch": "Mine."}
    assert editor.post(page_of(question), sent).status_code == 403
    assert digest(document_of(row("token-budget"))) == question.loaded_digest


def test_a_publisher_publishes_and_takes_back(editor: Client, publisher: Client):
    add(editor)
    address = page_of(row("long-chunks"))
    response = publisher.post(address, form_at(publisher, address) | {"_publish": "Publish"}, follow=True)
    assert "“long-chunks” is published" in response.content.decode()
    assert not row("long-chunks").draft
    save(publisher, page_of(row("long-chunks")), draft="on")
    assert row("long-chunks").draft


def test_only_what_has_no_file_can_be_deleted(bank: loading.Bank, editor: Client, publisher: Client):
    add(editor)
    own, filed = row("long-chunks").pk, row("token-budget").pk
    assert editor.post(f"{LIST}{own}/delete/", {"post": "yes"}).status_code == 403
    assert publisher.post(f"{LIST}{filed}/delete/", {"post": "yes"}).status_code == 403
    assert publisher.post(f"{LIST}{own}/delete/", {"post": "yes"}).url == LIST
    assert not Question.objects.filter(pk=own).exists()


# Beside the files


@pytest.mark.parametrize("slug", ["token-budget", "prefill-damage"])
def test_saving_without_a_change_is_no_edit(bank: loading.Bank, publisher: Client, slug: str):
    before = Question.objects.filter(slug=slug).values().get()
    assert save(publisher, page_of(row(slug))).url == LIST
    assert digest(document_of(row(slug))) == before["loaded_digest"]
    assert not loading.edited(row(slug))


def test_an_edit_outlives_a_load_and_is_exported(bank: loading.Bank, publisher: Client, tmp_path: Path):
    save(publisher, page_of(row("token-budget")), title="One step, one budget", **{"rubric-0-named": "names it"})
    assert loading.load_bank(bank)["token-budget"] == Act.KEEP_EDIT
    question = row("token-budget")
    assert (question.title, question.rubric[0]["named"]) == ("One step, one budget", "names it")
    path, written = loading.export_question(question, tmp_path)
    assert written
    document, faults = loading.read_file(path)
    assert faults == []
    assert digest(document) == digest(document_of(question))


def test_a_new_question_is_exported_and_comes_home(publisher: Client, tmp_path: Path):
    add(publisher, _publish="Publish")
    path, _ = loading.export_question(row("long-chunks"), tmp_path)
    assert path == tmp_path / "scheduling" / "long-chunks.md"
    document, faults = loading.read_file(path)
    assert (digest(document), faults) == (digest(document_of(row("long-chunks"))), [])


def test_a_slug_is_fixed_once_learners_or_files_know_it(bank: loading.Bank, publisher: Client):
    save(publisher, page_of(row("token-budget")), slug="budget", topic="engine")
    assert row("token-budget").topic.slug == "scheduling"
    add(publisher)
    save(publisher, page_of(row("long-chunks")), slug="longer-chunks")
    save(publisher, page_of(row("longer-chunks")), _publish="Publish")
    save(publisher, page_of(row("longer-chunks")), slug="chunks")
    assert not Question.objects.filter(slug="chunks").exists()


def test_a_new_question_comes_last_in_its_topic(bank: loading.Bank, publisher: Client):
    last = Question.objects.filter(topic__slug="scheduling").count()
    add(publisher)
    assert row("long-chunks").position == last + 1


def test_two_authors_do_not_overwrite_each_other_unseen(editor: Client, publisher: Client):
    add(editor)
    address = page_of(row("long-chunks"))
    opened = form_at(editor, address)
    save(publisher, address, catch="It ramps.")
    response = editor.post(address, opened | SAVE | {"measure": "The tail."})
    assert response.status_code == 200
    page = response.content.decode()
    assert "It was changed since you opened it." in page
    assert "The tail." in page
    assert row("long-chunks").catch == "It ramps."
    assert editor.post(address, form_sent(page, "question_form") | SAVE).url == LIST
    assert (row("long-chunks").catch, row("long-chunks").measure) == ("It grows.", "The tail.")


# Faults

FAULTS = {
    # What is typed, the id of the field the sentence stands beside ("" for a table), and part of the sentence.
    "no title": ({"title": ""}, "id_title", "A title has 1 to 160 characters"),
    "a slug with a capital": ({"slug": "Long"}, "id_slug", "is no slug"),
    "no topic": ({"topic": ""}, "id_topic", "It belongs to one of the topics."),
    "no kind": ({"kind": ""}, "id_kind", "Nothing is chosen: it is one of explain"),
    "no level": ({"level": ""}, "id_level", "it is one of senior"),
    "minutes in words": ({"minutes": "three"}, "id_minutes", "1 to 60 minutes"),
    "too many minutes": ({"minutes": "61"}, "id_minutes", "1 to 60 minutes"),
    "no ask": ({"ask": " "}, "id_ask", "The part is missing: the ask."),
    "a figure that is not there": ({"ask": "[[one.loaves]]"}, "id_ask", "has no such figure"),
    "a fraction without a format": ({"catch": "[[one.peak_gap_ms]]"}, "id_catch", "a fraction takes a format"),
    "a figure left open": ({"measure": "[[one.peak_gap_ms|0"}, "id_measure", "A figure is not closed"),
    "raw HTML": ({"said_aloud": "<b>x</b>"}, "id_said_aloud", "Raw HTML"),
    "a link to nowhere": ({"catch": "[x](/labs/smithy)"}, "id_catch", "the link /labs/smithy leads nowhere"),
    "a source that is not there": ({"catch": "5[^book]"}, "id_catch", "There is no source “book”."),
    "a check that is not there": ({"check_figure": "one.gap"}, "id_check_figure", "has no such figure"),
    "a unit that can't be read": ({"check_unit": "2 parsecs"}, "id_check_unit", "can't be read"),
    "a tolerance above 1": ({"check_tolerance": "10"}, "id_check_tolerance", "It is a fraction, 0 to 1."),
    "a tolerance in words": ({"check_tolerance": "ten"}, "id_check_tolerance", "Enter a number."),
    "keep that does not hold": ({"keep": '"one.peak_gap_ms" = {to = 1}'}, "id_keep", "with the file's own values"),
    "keep that is no TOML": ({"keep": "one ="}, "id_keep", "Not TOML"),
    "a next that is not there": ({"next": "long-tails"}, "id_next", "There is no question “long-tails”."),
    "a run without a name": ({"runs-0-name": ""}, "id_runs-0-name", "A run's name takes"),
    "a run whose name has points": ({"runs-0-name": "one.two"}, "id_runs-0-name", "A run's name takes"),
    "a check of no number": ({"check_figure": "one.lines"}, "id_check_figure", "is neither a number nor a map"),
    "a unit for no check": ({"check_figure": ""}, "id_check_figure", "is no path"),
    "a run without a lab": ({"runs-0-lab": ""}, "id_runs-0-lab", "It names a lab."),
    "a view that is not there": ({"runs-0-view": "attic"}, "id_runs-0", "has no view “attic”"),
    "an input that is not there": ({"runs-0-values": "loaves = 2"}, "id_runs-0", "no such input: loaves"),
    "a value that the lab refuses": ({"runs-0-values": "prompt_tokens = 0"}, "id_runs-0", "prompt_tokens"),
    "values that are no TOML": ({"runs-0-values": "a = 1, b = 2"}, "id_runs-0-values", "Not TOML"),
    "values that are not finite": ({"runs-0-values": "a = inf"}, "id_runs-0-values", "finite numbers"),
    "an input that can't vary": ({"runs-0-vary": "loaves = [1, 2]"}, "id_runs-0-vary", "has no input “loaves”"),
    "a vary of one value": ({"runs-0-vary": "decoders = 3"}, "id_runs-0-vary", "It is a list to draw from, or a range"),
    "a vary that no run gives": ({"runs-0-vary": "decoders = ['[[two.x]]']"}, "id_runs-0-vary", "draws fail"),
    "keep as an array": ({"keep": "[{a = 1}]"}, "id_keep", "It is one table"),
    "values as an array": ({"runs-0-values": "[{a = 1}]"}, "id_runs-0-values", "It is one table"),
    "a range downwards": ({"runs-0-vary": "decoders = {from = 9, to = 1}"}, "id_runs-0-vary", "A range goes upwards"),
    "two runs of one name": (
        {"runs-TOTAL_FORMS": "2", "runs-1-name": "one", "runs-1-lab": "prefill-interference", "runs-0-shown": "on"},
        "id_runs-1-name", "Another run has this name.",
    ),
    "two runs and none shown": (
        {"runs-TOTAL_FORMS": "2", "runs-1-name": "two", "runs-1-lab": "prefill-interference"},
        "runs", "one is marked shown",
    ),
    "no anchor": ({"rubric-2-bounded": ""}, "id_rubric-2-bounded", "It is missing."),
    "three points": ({"rubric-3-DELETE": "on"}, "rubric", "It has 3 points; a rubric has 4 to 8."),
    "one id twice": ({"rubric-1-id": "gap"}, "rubric", "The id “gap” stands there twice."),
    "an id with a space": ({"rubric-1-id": "the gap"}, "id_rubric-1-id", "An id takes letters"),
    "half a trap": ({"traps-0-said": "It is bounded."}, "id_traps-0-refuted", "It is missing."),
    "half a follow-up": ({"follow_ups-0-key": "No."}, "id_follow_ups-0-ask", "It is missing."),
    "an option without a reason": ({"options-0-text": "One"}, "id_options-0-why", "It is missing."),
    "no option is right": ({"options-0-text": "One", "options-0-why": "So."}, "options", "One option is right"),
    "a source of no date": ({"sources-0-version": ""}, "id_sources-0", "It carries a version, or a date"),
    "a source with two places": ({"sources-0-url": "https://a.example/b"}, "id_sources-0", "a file or a url, one"),
    "a url of another kind": ({"sources-0-file": "", "sources-0-url": "ftp://a"}, "id_sources-0-url", "It begins with"),
    "a place in words": ({"hints-0-ORDER": "first"}, "id_hints-0-ORDER", "Enter a whole number."),
}


@pytest.fixture(scope="module")
def blank() -> dict[str, str]:
    """What the empty form sends, once a test has fetched it: each fault is typed into the same."""
    return {}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_stands_beside_its_field_and_nothing_typed_is_lost(
    publisher: Client, blank: dict[str, str], name: str
):
    changes, place, sentence = FAULTS[name]
    if not blank:
        blank |= form_at(publisher, ADD)
    sent = blank | typed_question(**changes)
    response = publisher.post(ADD, sent | {"_save": "Save"})
    page = response.content.decode()
    assert response.status_code == 200
    assert not Question.objects.exists()
    faults = {fault.get("id", ""): fault for fault in response.context["form"].faults}
    assert place.removeprefix("id_") in {fault.removeprefix("id_") for fault in faults}
    assert sentence.replace("'", "&#x27;") in page
    # The link at the top leads to something on the page, and what was typed is still all there.
    for link in re.findall(r'href="#([^"]+)"', page.partition('id="faults"')[2].partition("</div>")[0]):
        assert f'id="{link}"' in page
    kept = form_sent(page, "question_form")
    assert {key: value for key, value in sent.items() if kept.get(key, "") != value and not key.startswith("_")} == {}


def test_all_faults_are_named_at_once(publisher: Client):
    response = add(
        publisher, title="", minutes="abc", check_figure="one.gap", **{"runs-0-vary": "a =", "rubric-2-bounded": ""}
    )
    names = [fault["name"] for fault in response.context["form"].faults]
    assert names == ["Title", "Minutes", "Check figure", "Runs 1, vary", "Rubric 3, bounded"]
    assert "Not saved: 5 faults." in response.content.decode()


def test_a_slug_belongs_to_one_question_or_card(bank: loading.Bank, publisher: Client):
    assert "already exists" in add(publisher, slug="token-budget").content.decode()
    note = loading.Note.objects.first().slug
    assert "A number card has this slug." in add(publisher, slug=note).content.decode()


def test_a_form_that_came_in_parts_erases_nothing(bank: loading.Bank, publisher: Client):
    address = page_of(row("token-budget"))
    sent = {key: text for key, text in form_at(publisher, address).items() if not key.startswith("rubric")}
    response = publisher.post(address, sent | SAVE)
    assert "ManagementForm data is missing" in response.content.decode()
    assert not loading.edited(row("token-budget"))


# Rows


def test_rows_are_ordered_deleted_and_left_blank(publisher: Client):
    add(publisher, **{
        "hints-TOTAL_FORMS": "4", "hints-0-text": "Second.", "hints-0-ORDER": "2", "hints-1-text": "First.",
        "hints-1-ORDER": "1", "hints-2-text": "Gone.", "hints-2-DELETE": "on", "hints-3-text": " ",
    })
    assert row("long-chunks").hints == [{"text": "First."}, {"text": "Second."}]


def test_more_rows_come_without_a_script_and_save_nothing(publisher: Client):
    response = add(publisher, _more="hints", title="")
    page = response.content.decode()
    assert form_sent(page, "question_form")["hints-TOTAL_FORMS"] == "3"
    assert 'name="hints-2-text"' in page
    assert not Question.objects.exists()


def test_a_check_alone_saves_nothing(publisher: Client):
    page = add(publisher, _look="Check").content.decode()
    assert "Nothing is wrong with it." in page
    assert not Question.objects.exists()


def test_an_array_of_tables_and_a_path_in_quotes_read_as_typed(publisher: Client):
    vary = "[{prompt_tokens = [90000], decoders = [16]},\r\n{prompt_tokens = [110000], decoders = [48]}]"
    assert add(publisher, **{"runs-0-vary": vary}).status_code == 302
    assert row("long-chunks").runs["one"]["vary"] == [
        {"prompt_tokens": [90000], "decoders": [16]}, {"prompt_tokens": [110000], "decoders": [48]},
    ]
    kept = form_at(publisher, page_of(row("long-chunks")))
    # PostgreSQL keeps no order within a table.
    assert read_lines(kept["runs-0-vary"]) == read_lines(vary)
    assert kept["keep"] == '"one.peak_gap_ms" = {from = 1}'


# Preview


def test_the_pane_shows_what_is_typed_with_its_figures(publisher: Client):
    page = add(publisher, title="").content.decode()
    pane = page.partition('class="beside"')[2]
    assert "A prompt has 100,000 tokens." in pane
    assert "From what is typed, not saved." in pane


def test_the_pane_falls_back_to_what_is_saved(publisher: Client):
    add(publisher)
    response = save(publisher, page_of(row("long-chunks")), ask="[[one.loaves]]")
    pane = response.content.decode().partition('class="beside"')[2]
    assert "A prompt has 100,000 tokens." in pane
    assert "From what is saved" in pane


def test_a_faulty_check_does_not_hide_the_question(publisher: Client):
    pane = add(publisher, check_figure="one.gap").content.decode().partition('class="beside"')[2]
    assert "A prompt has 100,000 tokens." in pane
    assert "An outline, in words." not in pane


def test_a_draft_is_seen_on_the_site_by_authors_alone(editor: Client, as_ada: Client):
    add(editor)
    address = f"/admin/questions/question/{row('long-chunks').pk}/preview/"
    assert f'href="{address}"' in editor.get(page_of(row("long-chunks"))).content.decode()
    page = editor.get(address).content.decode()
    assert "A prompt has 100,000 tokens." in page
    assert "a draft: authors alone see it" in page
    assert "A prompt has 100,000 tokens." not in editor.get(address, {"draw": "2"}).content.decode()
    assert editor.get(address, {"draw": "9" * 99}).status_code == 200
    assert as_ada.get(address).status_code == 404


def test_the_log_names_what_was_changed(publisher: Client):
    add(publisher)
    question = row("long-chunks")
    save(publisher, page_of(question), catch="It ramps.", **{"hints-0-text": "Another."})
    history = publisher.get(f"{LIST}{question.pk}/history/").content.decode()
    assert "Changed catch and hints." in history


def test_the_list_says_where_each_row_stands(bank: loading.Bank, publisher: Client):
    save(publisher, page_of(row("token-budget")), title="Edited")
    add(publisher)
    page = publisher.get(LIST).content.decode()
    for words in ("edited here", "the same", "made here", "draft", "published"):
        assert words in page
    assert publisher.get(LIST, {"q": "chunks", "draft__exact": "1"}).status_code == 200
