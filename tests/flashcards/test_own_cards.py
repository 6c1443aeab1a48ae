"""Cards of one's own: what is a card of what, and that nobody else meets them."""
from datetime import timedelta

import pytest

from accounts.models import User
from accounts.rows import Taken
from flashcards import own_cards, queue, services
from flashcards.models import Card, Rating
from flashcards.own_desk import sides_of
from flashcards.own_forms import FORMS
from questions import access, export, own, search
from questions.models import Note, SearchDocument, SearchWord
from questions.services import inline
from tests.flashcards.conftest import NOON
from tests.flashcards.test_numbers import write_notes

DAY = timedelta(days=1)


def add(user: User, kind: str, **typed: object) -> Note:
    form = FORMS[kind]({"front": "Front", "back": "Back", **typed})
    assert form.is_valid(), form.errors
    return own_cards.save(user, form.note_fields(), NOON)


def line(user: User, now=NOON) -> list[str]:
    return [place.card.direction for place in queue.today(user, now).first_in_line if place.card.note_id]


def test_a_card_for_each_gap_and_one_of_them_a_day(ada: User) -> None:
    note = add(ada, "cloze", front="{{c1::KV}} blocks hold {{c2::16::how many}} tokens; {{c1::KV}} is kept.", back="")
    assert sorted(card.direction for card in ada.cards.all()) == ["c1", "c2"]
    assert line(ada) == ["c1"]  # its sibling waits for another day
    assert sides_of(ada.cards.get(direction="c2")) == (
        "KV blocks hold **[how many]** tokens; KV is kept.", "KV blocks hold **16** tokens; KV is kept.")
    assert note.ask == "KV blocks hold 16 tokens; KV is kept."


@pytest.mark.parametrize(("text", "numbers"), [
    ("no gap", []), ("{{c1::a}}", [1]), ("{{c2::a}} {{c1::b}} {{c2::c}}", [1, 2]), ("{{c1::a {{c3::b}} c}}", [1, 3]),
    ("{{c0::a}}", []), ("{{c1:a}}", []), ("{{c1::a\nb}}", [1]), ("{{c12::x::h}}", [12]), ("{{c1::}}", [1]),
])
def test_the_gaps_of_a_text(text: str, numbers: list[int]) -> None:
    assert own.cloze_numbers(text) == numbers


def test_both_ways_are_two_cards_and_they_turn_the_sides(ada: User) -> None:
    add(ada, "basic", reverse="on")
    assert [sides_of(card) for card in ada.cards.order_by("direction")] == [("Front", "Back"), ("Back", "Front")]


def test_a_number_is_taken_within_its_percent_and_its_unit(ada: User) -> None:
    note = add(ada, "number", value="1.5 GiB", unit="MiB", tolerance="10", back="By hand.")
    assert (note.value, note.accept) == (1536, pytest.approx([1382.4, 1689.6]))  # 1.5 * 1024, and a tenth of it off
    assert [card.kind for card in ada.cards.all()] == ["number"]


def test_a_gap_that_goes_takes_its_new_card_along_and_keeps_an_answered_one_out(ada: User) -> None:
    note = add(ada, "cloze", front="{{c1::a}} {{c2::b}} {{c3::c}}", back="")
    services.answer_card(ada.cards.get(direction="c2"), Rating.GOOD, ordinal=1, now=NOON)
    form = FORMS["cloze"]({"front": "{{c1::a}} b c {{c4::d}}"})
    assert form.is_valid()
    own_cards.save(ada, form.note_fields(), NOON + DAY, note)
    assert {card.direction: card.suspended for card in ada.cards.all()} == {"c1": False, "c2": True, "c4": False}


def test_retiring_takes_all_its_cards_out_and_back(ada: User) -> None:
    note = add(ada, "basic", reverse="on")
    assert own_cards.set_retired(note, True, NOON)
    assert not own_cards.set_retired(note, True, NOON)
    assert line(ada) == []
    assert own_cards.set_retired(note, False, NOON)
    assert line(ada) == ["forward"]
    assert {services.rebuild_card(card, write=False) for card in ada.cards.all()} == {""}


def test_nobody_else_meets_them(ada: User, eve: User) -> None:
    add(ada, "basic")
    add(ada, "number", front="Zebra stripes", value="80", unit="", tolerance="5")
    services.ensure_cards(eve)
    assert not Card.objects.filter(user=eve).exists()
    assert not access.notes_for(eve).exists()
    assert search.find(eve, "zebra").total == search.find(eve, "front").total == 0


def found(user: User, text: str) -> list[str]:
    """The fronts of the own cards that a person's search finds, the best first."""
    return [hit.document.note.front for group in search.find(user, text).groups for hit in group.hits]


def test_one_finds_ones_own_by_front_back_gap_and_tag_and_the_front_counts_most(ada: User) -> None:
    add(ada, "basic", front="Ducks", back="They preempted the zebras.")
    add(ada, "basic", front="Which zebra waits?", back="None.")
    add(ada, "cloze", front="A {{c1::kangaroo::animal}} hops", back="")
    add(ada, "basic", front="Tagged", tags="wombat")
    assert found(ada, "zebra") == ["Which zebra waits?", "Ducks"]
    assert found(ada, "preemption") == ["Ducks"]  # another form of the word
    assert found(ada, "zeb") == ["Which zebra waits?", "Ducks"]  # the last word may be begun only
    assert found(ada, "kangaroo") == ["A {{c1::kangaroo::animal}} hops"]
    assert found(ada, "wombat") == ["Tagged"]


def test_a_hit_leaves_the_gap_open_and_leads_to_the_card(ada: User) -> None:
    note = add(ada, "cloze", front="A {{c1::kangaroo::animal}} {{c2::hops}}", back="")
    (hit,) = search.find(ada, "kangaroo").groups[0].hits
    assert (hit.title, hit.line, hit.address) == ("A [animal] […]", "", f"/my-cards/{note.pk}/")


def test_a_card_changed_is_found_by_what_it_says_now_and_a_retired_one_not(ada: User) -> None:
    note = add(ada, "basic", front="Zebra")
    own_cards.save(ada, own_cards.fields_of_words(Note.Kind.BASIC, "Okapi", "Back", []), NOON, note)
    assert (found(ada, "zebra"), found(ada, "okapi")) == ([], ["Okapi"])
    own_cards.set_retired(note, True, NOON)
    assert found(ada, "okapi") == []


def test_a_word_of_ones_own_is_no_slip_and_nobody_elses_slip_is_read_as_it(ada: User, eve: User) -> None:
    SearchWord.objects.create(word="cached", stem="cach", count=9)
    add(ada, "basic", front="Cashed")
    assert found(ada, "cashed") == ["Cashed"]
    assert search.find(ada, "cashed").read_as == ""
    assert search.find(eve, "cashed").read_as == "cached"
    assert search.find(eve, "cash").total == search.find(eve, "cashd").total == 0


ODD_WORDS = ["Ünïcode wörd", "Привет мир", "x" * 5_000 + " tail", "1.5 ½ ²", "日本語 テスト", "o'brien \\ & | ! :*"]


@pytest.mark.parametrize("text", ODD_WORDS)
def test_odd_words_are_kept_and_found(ada: User, text: str) -> None:
    add(ada, "basic", front=text)
    assert found(ada, text.split()[-1] if len(text) > 100 else text) == [text]


def test_of_a_deck_that_holds_a_word_too_often_those_that_hold_all_are_weighed(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST_WEIGHED", 3)
    add(ada, "basic", front="zebra stripes")
    for at in range(5):
        add(ada, "basic", front=f"zebra number {at}")
    assert found(ada, "zebra stripes")[0] == "zebra stripes"
    assert search.find(ada, "zebra").total == 3


def test_what_is_brought_along_is_found_and_a_rebuild_finds_what_was_never_read(ada: User, eve: User) -> None:
    note = add(ada, "basic", front="Zebra")
    part = export.of(ada)
    export.put(eve, part, NOON, Taken())
    assert found(eve, "zebra") == ["Zebra"]
    search.rebuild()
    assert search.rebuild() == 0
    SearchDocument.objects.filter(note=note).delete()
    assert (search.rebuild(), found(ada, "zebra")) == (1, ["Zebra"])


def test_they_come_before_the_banks_and_are_not_among_its_numbers(ada: User) -> None:
    write_notes(2)
    add(ada, "basic")
    services.ensure_cards(ada)
    assert [place.card.item.slug[:2] for place in queue.today(ada, NOON).first_in_line] == ["ow", "n1", "n2"]


@pytest.mark.parametrize(("kind", "typed", "field", "words"), [
    ("basic", {"front": " "}, "front", "Write what the card asks"),
    ("basic", {"back": ""}, "back", "other side"),
    ("basic", {"front": "<b>x</b>"}, "front", "Raw HTML"),
    ("basic", {"front": "![x](http://a.b/c.png)"}, "front", "Pictures are not shown"),
    ("basic", {"tags": "x" * 61}, "tags", "60 characters"),
    ("basic", {"topic": "nowhere"}, "topic", "Select a valid choice"),
    ("cloze", {"front": "no gap"}, "front", "There is no gap"),
    ("cloze", {"front": "{{c0::a}}"}, "front", "There is no gap"),
    ("number", {"value": "", "tolerance": "5"}, "value", "Write the number"),
    ("number", {"value": "many", "tolerance": "5"}, "value", "."),
    ("number", {"value": "5", "tolerance": "95"}, "tolerance", "0 to 90"),
    ("number", {"value": "5", "tolerance": "5", "unit": "a/b/c 7"}, "unit", "can’t be read"),
    ("number", {"value": "5", "tolerance": "5", "front": "[[run.x]]"}, "front", "something else"),
    ("number", {"value": "5", "tolerance": "5", "front": "x" * 161}, "front", "161 characters"),
])
@pytest.mark.django_db
def test_what_is_wrong_is_said_beside_the_field(kind: str, typed: dict, field: str, words: str) -> None:
    form = FORMS[kind]({"front": "Front", "back": "Back", **typed})
    assert not form.is_valid()
    assert words in " ".join(form.errors[field])


@pytest.mark.parametrize(
    "text", ["[[run.x|g3]]", "[^id]", "<script>x</script>", "{{c1::a}} **b**", "x" * 500, "\\", "`"])
def test_the_line_that_a_card_is_known_by_is_safe_anywhere(text: str) -> None:
    said = own.line_of(text)
    assert len(said) <= 160
    assert "<script" not in inline(said)
