"""Number cards as files: reading, writing, checking, loading by the bank's own rules, judging an estimate."""
from dataclasses import replace
from pathlib import Path

import pytest

from accounts.models import User
from calculators.models.base import Refusal
from questions import loading
from questions.content import Act, BadFile, digest
from questions.grading import judge_estimate
from questions.models import Note
from questions.notes import NoteFile, check_note, computed, dump_note, parse_deck, shown_value, with_note
from questions.services import document_of, run_lab
from tests.questions import bakery

NOTE = NoteFile(
    topic="baking", slug="loaf", ask="Flour for a loaf", value=500, unit="g", accept=[450, 550],
    origin="By the book.", source={"url": "https://example.org/bread", "date": "2020"}, cue="what a loaf takes",
)
CALC = {"lab": "bakery", "figure": "loaves", "values": {"flour_g": 3000}}


def faults(note: NoteFile) -> list[str]:
    return [str(fault) for fault in check_note(note, bakery.run_lab)]


# Reading and writing

def test_a_note_written_and_read_is_the_same() -> None:
    whole = replace(NOTE, value=2.5, accept=[2, 3], shown="about 2.5", calc=CALC, reverse=False, cue="", draft=True)
    for note in (NOTE, whole):
        assert parse_deck(dump_note(note), "baking") == [note]


def test_other_bytes_with_the_same_meaning_have_the_same_digest() -> None:
    [read] = parse_deck('[[note]]\nslug = "loaf"\nask = "Flour for a loaf "\nvalue = 500.0\nunit = "g"\n'
                        'accept = [450.0, 550]\norigin = "By the book."\ncue = "what a loaf takes"\n'
                        'source = {date = 2020-01-01, url = "https://example.org/bread"}', "baking")
    assert digest(read) == digest(replace(NOTE, source=NOTE.source | {"date": "2020-01-01"}))
    assert digest(read) != digest(NOTE)


def test_a_deck_that_cant_be_carried_names_every_fault() -> None:
    with pytest.raises(BadFile) as bad:
        parse_deck('title = "x"\n[[note]]\nslug = "a"\nvalue = true\naccept = 5\nweight = 1\n[[note]]\nask = "b"', "t")
    assert [str(fault) for fault in bad.value.faults] == [
        "deck: There is no such key: title; a deck holds [[note]] only.",
        "a: value: It takes a number.", "a: accept: It takes a list.", "a: weight: There is no such key.",
        "note 2: It has no slug.",
    ]
    with pytest.raises(BadFile, match="Not TOML"):
        parse_deck("[[note", "t")


def test_putting_a_note_back_leaves_the_others_as_they_were_written() -> None:
    text = "# The deck.\n\n" + dump_note(NOTE) + '\n[[note]] \nslug   =  "roll"  # by hand\n'
    changed = with_note(text, replace(NOTE, value=510))
    assert 'slug   =  "roll"  # by hand' in changed
    assert changed.startswith("# The deck.\n")
    assert [note.value for note in parse_deck(changed, "baking")] == [510, 0]
    more = parse_deck(with_note(changed, replace(NOTE, slug="bun")), "baking")
    assert [note.slug for note in more] == ["loaf", "roll", "bun"]


# Checking

def test_a_right_note_has_no_fault() -> None:
    assert faults(NOTE) == []
    assert faults(replace(NOTE, value=6, unit="loaves", accept=[6, 6], calc=CALC)) == []


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"slug": "Loaf_1"}, "slug: “Loaf_1” is no slug"),
    ({"ask": " "}, "ask: It is missing."),
    ({"origin": "a<br>b"}, "origin: Raw HTML is shown as text"),
    ({"cue": ""}, "cue: The number alone says too little"),
    ({"reverse": False}, "cue: Without a reverse side"),
    ({"accept": [450]}, "accept: It takes two numbers"),
    ({"accept": [510, 550]}, "accept: The value 500 g is not in the range."),
    ({"unit": "g/loafs per cup"}, "unit: The unit “g/loafs per cup” can't be read."),
    ({"source": {"url": "https://example.org"}}, "source: It carries a version, or a date"),
    ({"source": {"file": "a.py", "version": "1", "page": "3"}}, "source, page: There is no such key."),
    ({"calc": {"lab": "bakery"}}, "calc: It names a lab and a figure."),
    ({"calc": CALC | {"lab": "mill"}}, "calc: There is no lab “mill”."),
    ({"calc": CALC | {"figure": "rolls"}}, "calc: “run.rolls” stops at “rolls”"),
    ({"calc": CALC}, "calc: The lab comes to 6 g, outside the range."),
])
def test_each_fault_is_told(changes: dict, sentence: str) -> None:
    told = faults(replace(NOTE, **changes))
    assert len(told) == 1
    assert told[0].startswith(sentence)


def test_a_labs_figure_is_read_in_the_unit_that_its_name_ends_in() -> None:
    # 6 loaves bake for 6 * 1234.5 ms and hold 6 GiB of crumbs.
    for figure, unit, value in (("bake_ms", "s", 7.407), ("crumb_bytes", "GiB", 6), ("crumb_bytes", "MiB", 6144)):
        note = replace(NOTE, unit=unit, calc=CALC | {"figure": figure})
        assert computed(note, bakery.run_lab) == pytest.approx(value)
    with pytest.raises(Refusal, match="is a time; this asks for a size"):
        computed(replace(NOTE, unit="GB", calc=CALC | {"figure": "bake_ms"}), bakery.run_lab)


# An estimate

def estimate(typed: str, value: float = 128, low: float = 125, high: float = 135, unit: str = "KiB") -> tuple:
    judged = judge_estimate(typed, value, unit, low, high)
    return judged.within, judged.near, judged.direction


def test_an_estimate_is_right_within_the_range_and_near_within_three_times_its_reach() -> None:
    # The range reaches 7 above 128, so near is from 107 to 149.
    assert estimate("125 KiB") == (True, True, "too low")
    assert estimate("131,072 bytes") == (True, True, "")
    assert estimate("112") == (False, True, "too low")
    assert estimate("106.9") == (False, False, "too low")
    assert estimate("149") == (False, True, "too high")
    assert estimate("0.5 MiB") == (False, False, "too high")


def test_an_exact_number_has_nothing_near_it() -> None:
    assert estimate("8k tokens", 8192, 8192, 8192, "tokens") == (False, False, "too low")
    assert estimate("8,192", 8192, 8192, 8192, "tokens") == (True, True, "")


def test_a_range_may_begin_at_nothing() -> None:
    assert estimate("0%", 1, 0, 1, "%") == (True, True, "too low")
    assert estimate("0.5", 1, 0, 1, "%") == (True, True, "too low")


# Loading

pytest_db = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bank without questions, and beside it a deck of one note."""
    monkeypatch.setattr(loading, "run_lab", bakery.run_lab)
    (tmp_path / "bank").mkdir()
    (tmp_path / "deck").mkdir()
    (tmp_path / "bank" / "topics.toml").write_text('[[topics]]\nslug = "baking"\ntitle = "Baking"\n')
    write(tmp_path / "bank", NOTE)
    return tmp_path / "bank"


def write(bank: Path, *notes: NoteFile) -> None:
    (bank.parent / "deck" / "baking.toml").write_text("\n".join(map(dump_note, notes)))


def load(bank: Path, *take: str) -> dict[str, Act]:
    return loading.load_bank(loading.read_bank(bank), take)


@pytest_db
def test_a_note_is_loaded_whole_and_twice_changes_nothing(folder: Path) -> None:
    assert load(folder) == {"loaf": Act.CREATE}
    before = Note.objects.values().get()
    assert document_of(Note.objects.get()) == NOTE
    assert load(folder) == {"loaf": Act.NOTHING}
    assert Note.objects.values().get() == before


@pytest_db
def test_an_edited_note_is_kept_and_a_conflict_is_settled_as_asked(folder: Path) -> None:
    load(folder)
    Note.objects.update(origin="Edited.")
    assert load(folder) == {"loaf": Act.KEEP_EDIT}
    write(folder, replace(NOTE, origin="Changed."))
    assert load(folder) == {"loaf": Act.CONFLICT}
    assert Note.objects.get().origin == "Edited."
    path, written = loading.export_row(Note.objects.get(), folder)
    assert (path.name, written) == ("baking.toml", True)
    assert load(folder) == {"loaf": Act.CAME_HOME}
    assert loading.export_row(Note.objects.get(), folder) == (path, False)
    Note.objects.update(origin="Edited again.")
    assert load(folder, "loaf") == {"loaf": Act.UPDATE}
    assert Note.objects.get().origin == "Edited."


@pytest_db
def test_a_note_that_leaves_the_deck_retires_and_the_order_is_the_decks(folder: Path) -> None:
    write(folder, *(replace(NOTE, slug=slug) for slug in ("roll", "loaf", "bun")))
    load(folder)
    assert list(Note.objects.values_list("slug", flat=True)) == ["roll", "loaf", "bun"]
    write(folder, replace(NOTE, slug="bun"), NOTE)
    assert load(folder) == {"bun": Act.NOTHING, "loaf": Act.NOTHING, "roll": Act.RETIRE}
    assert list(Note.objects.filter(retired=False).values_list("slug", flat=True)) == ["bun", "loaf"]


@pytest_db
def test_a_persons_own_note_is_none_of_the_decks(folder: Path, ada: User) -> None:
    load(folder)
    topic = Note.objects.get().topic
    Note.objects.create(slug="mine", topic=topic, ask="Mine", value=1, accept=[1, 1], origin="Me.", owner=ada)
    assert load(folder) == {"loaf": Act.NOTHING}
    assert not Note.objects.get(slug="mine").retired


@pytest_db
def test_a_bad_deck_stops_the_load_and_every_fault_is_named(folder: Path) -> None:
    write(folder, NOTE, replace(NOTE, accept=[1, 2]))
    (folder.parent / "deck" / "soups.toml").write_text('[[note]]\nslug = "soup"\nvalue = "hot"\n')
    with pytest.raises(loading.BadBank) as bad:
        load(folder)
    assert bad.value.faults == {
        "deck/baking.toml": ["loaf, accept: The value 500 g is not in the range.",
                             "loaf: The slug is taken by another card."],
        "deck/soups.toml": ["topics.toml has no topic “soups”.", "line 3, soup: value: It takes a number."],
    }
    assert not Note.objects.exists()


# The deck itself

# What an equation from the ask alone gives, and what only the lab of its calc does.
WITHOUT_A_SOURCE = {
    "step-sync-gap", "async-four-steps", "async-max-gain", "async-eos-waste", "inflight-d", "spec-rate", "spec-budget",
    "grammar-naive", "greedy-flip", "flops-per-token", "lockout",
}


def test_the_deck_has_its_89_cards(real_deck: loading.Bank) -> None:
    topics = [note.topic for note in real_deck.notes.values()]
    assert {topic: topics.count(topic) for topic in dict.fromkeys(topics)} == {
        "engine": 13, "kernels": 14, "kv-cache": 11, "sampling": 14, "scale-out": 18, "scheduling": 9, "sizing": 10}


def test_every_card_says_where_its_number_is_from(real_deck: loading.Bank) -> None:
    assert {slug for slug, note in real_deck.notes.items() if not note.source} == WITHOUT_A_SOURCE


def test_cards_that_a_lab_can_compute_agree_with_it(real_deck: loading.Bank) -> None:
    with_lab = [note for note in real_deck.notes.values() if note.calc]
    assert with_lab
    for note in with_lab:
        low, high = note.accept
        assert low <= computed(note, run_lab) <= high, note.slug


def test_a_number_seen_from_behind_is_told_apart_from_every_other(real_deck: loading.Bank) -> None:
    turned = [note for note in real_deck.notes.values() if note.reverse]
    fronts = [(note.topic, shown_value(note), note.unit, note.cue) for note in turned]
    assert len(set(fronts)) == len(fronts)


def test_a_cue_does_not_say_the_ask(real_deck: loading.Bank) -> None:
    for note in real_deck.notes.values():
        assert note.cue.casefold() not in note.ask.casefold() or not note.cue, note.slug
