"""Tables and Markdown, out and in."""
import csv
import io
import random

import pytest

from accounts.models import User
from accounts.rows import BadExport, Taken
from flashcards import own_cards, services
from flashcards.models import Card, Memo, Rating
from flashcards.own_forms import FORMS
from flashcards.transfer import incoming, reading, tables
from questions.models import Note, Question
from tests.flashcards.conftest import NOON, write_questions
from tests.flashcards.test_numbers import write_notes


def bring(user: User, text: str | bytes, name: str = "x.csv") -> Taken:
    taken = Taken()
    with reading.read(text.encode() if isinstance(text, str) else text, name, user, taken) as found:
        list(incoming.put(user, found.notes, found.clock, NOON, taken))
    return taken


def held(user: User) -> list[tuple]:
    return list(Note.objects.filter(owner=user).order_by("pk").values_list("kind", "front", "back"))


@pytest.mark.parametrize(("text", "notes"), [
    ("a,b\nc,d\n", [("basic", "a", "b"), ("basic", "c", "d")]),
    ("front,back\na,b", [("basic", "a", "b")]),
    ("Back;Front\nb;a", [("basic", "a", "b")]),
    ("\ufefffront\tback\ttags\na\tb\tt u", [("basic", "a", "b")]),
    ('"a, with\nlines",b', [("basic", "a, with\nlines", "b")]),
    ("#separator:tab\n#html:true\n<b>a</b>\tb<br>c\n", [("basic", "**a**", "b\\\nc")]),
    ("#separator:semicolon\n#columns:Back;Front\nb;a", [("basic", "a", "b")]),
    ("The {{c1::gap}},beside", [("cloze", "The {{c1::gap}}", "beside")]),
    ("\n\na,b\n,\n", [("basic", "a", "b")]),
    ("a|b", [("basic", "a", "b")]),
    ("a", [("basic", "a", "")]),
    (",b", []),
    ("", []),
])
def test_a_table_is_cards(ada: User, text: str, notes: list) -> None:
    bring(ada, text)
    assert held(ada) == notes


@pytest.mark.parametrize(("text", "notes"), [
    ("# Deck\n\n## a\n\nb\n\n## c\nd\n", [("basic", "a", "b"), ("basic", "c", "d")]),
    ("## a\n\nlong\nfront\n\n---\n\nb\n", [("basic", "long\nfront", "b")]),
    ("## gap\nThe {{c1::gap}}\n", [("cloze", "The {{c1::gap}}", "")]),
    ("## a\n```\n# no heading\n```\n", [("basic", "a", "```\n# no heading\n```")]),
    ("no heading at all", []),
    ("## a {{c1::b}}\n", [("cloze", "a {{c1::b}}", "")]),
])
def test_markdown_is_cards(ada: User, text: str, notes: list) -> None:
    bring(ada, text, "x.md")
    assert held(ada) == notes


def test_tags_come_along(ada: User) -> None:
    bring(ada, "## a\nb\n\nTags: x y\n", "x.md")
    bring(ada, "front,back,tags\nc,d,\"x, z\"")
    assert [note.tags for note in Note.objects.order_by("pk")] == [["x", "y"], ["x", "z"]]


@pytest.mark.parametrize(("name", "text"), [("x.csv", "a,b\nc,d\n"), ("x.md", "## a\nb\n## c\nd\n")])
def test_the_same_file_again_adds_nothing(ada: User, name: str, text: str) -> None:
    assert bring(ada, text, name).new == {"notes": 2, "cards": 2}
    taken = bring(ada, text, name)
    assert (taken.new, taken.known) == ({}, {"notes": 2})
    assert Card.objects.count() == 2


@pytest.mark.parametrize(("body", "words"), [
    (b"\xff\xfe\x00\xd8", "no text"), (b"\x80\x81\x82,\xff", "no text"), (b'a,"b' + b"x" * 2_000_000, "can’t be read"),
])
def test_what_is_no_table_is_refused(ada: User, body: bytes, words: str) -> None:
    with pytest.raises(BadExport, match=words):
        bring(ada, body)


def test_utf_16_of_a_spreadsheet_is_read(ada: User) -> None:
    bring(ada, "é\tb\n".encode("utf-16"))
    assert held(ada) == [("basic", "é", "b")]


def live(user: User) -> None:
    write_questions(1)
    write_notes(1)
    for kind, typed in (
        ("basic", {"front": "=1+1 is\nwhat?", "back": "two", "reverse": "on", "tags": "sums"}),
        ("cloze", {"front": "A {{c1::gap}} and {{c2::one}}"}),
        ("number", {"front": "Layers", "value": "32", "tolerance": "0", "back": "config.json"}),
    ):
        form = FORMS[kind](typed)
        assert form.is_valid(), form.errors
        own_cards.save(user, form.note_fields(), NOON)
    services.ensure_cards(user)
    for card in Card.objects.filter(user=user):
        services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON)
    services.save_memo(user, Question.objects.get(), "Mind the ridge.", NOON)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_tables_hold_a_row_for_each_card_and_for_each_answer(ada: User, eve: User) -> None:
    live(ada)
    cards = rows(tables.cards_csv(ada, NOON))
    assert len(cards) == Card.objects.filter(user=ada).count() == 8
    question = next(row for row in cards if row["card"] == "question:q1:forward")
    assert (question["state"], question["due"], question["stability"]) == ("review", "2026-03-04", "2.3065")
    reviews = rows(tables.reviews_csv(ada, NOON))
    assert [(row["what"], row["counts_as"], row["study_day"]) for row in reviews] == [("answer", "3", "2026-03-02")] * 8
    assert rows(tables.cards_csv(eve, NOON)) == rows(tables.reviews_csv(eve, NOON)) == []


def test_a_question_stands_there_in_words_with_its_figures_in_it(deck: dict[str, Card], ada: User) -> None:
    for card in deck.values():
        services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON)
    said = [row["back"] for row in rows(tables.cards_csv(ada, NOON)) if row["card"].startswith("question:")]
    assert len(said) == len(deck)
    assert any("[[" in card.question.said_aloud for card in deck.values())
    assert not any("[[" in one or "[^" in one or "…" in one for one in said)


def test_a_spreadsheet_is_given_no_formula(ada: User) -> None:
    live(ada)
    assert "\n=1" not in tables.cards_csv(ada, NOON).replace(",=", "\n=")


def test_our_own_tables_and_notes_come_home_and_add_nothing(ada: User) -> None:
    live(ada)
    for text, name in ((tables.cards_csv(ada, NOON), "cards.csv"), (tables.markdown(ada, NOON), "notes.md")):
        taken = bring(ada, text, name)
        assert (taken.new, taken.known) == ({}, {"notes": 3})


def test_markdown_holds_notes_and_cards(ada: User) -> None:
    live(ada)
    services.save_memo(ada, Note.objects.get(slug="n1"), "Two of eight.", NOON)
    text = tables.markdown(ada, NOON)
    assert "## Question 1\n\nMind the ridge." in text
    assert "## A gap and one\n\nA {{c1::gap}} and {{c2::one}}" in text
    assert "32" in text
    assert text.index("## Question 1\n\nMind") < text.index("## Number 1\n\nTwo of eight.") < text.index("# My cards")
    assert Memo.objects.count() == 2


def test_garbage_is_cards_or_a_sentence(ada: User) -> None:
    draw = random.Random(4)
    for name in ("x.csv", "x.md"):
        for _ in range(25):
            text = "".join(draw.choice('ab,;\t\n"#|{}:c1-` \0é\r') for _ in range(120))
            try:
                bring(ada, text, name)
            except BadExport as fault:
                assert str(fault)
    assert {services.rebuild_card(card, write=False) for card in ada.cards.all()} <= {""}
