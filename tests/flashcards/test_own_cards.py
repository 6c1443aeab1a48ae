"""Cards of one's own: what is a card of what, and that nobody else meets them."""
from datetime import timedelta

import pytest

from accounts.models import User
from flashcards import own_cards, queue, services
from flashcards.models import Card, Rating
from flashcards.own_desk import sides_of
from flashcards.own_forms import FORMS
from questions import access, own, search
from questions.models import Note
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
        "KV blocks hold **\\[how many\\]** tokens; KV is kept.", "KV blocks hold **16** tokens; KV is kept.")
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
    assert search.find(eve, "zebra").total == 0


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
