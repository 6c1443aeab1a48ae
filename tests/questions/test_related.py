"""What belongs to what: questions, number cards, labs and neighbours, in both directions."""
from dataclasses import replace

import pytest
from django.test import Client

from flashcards.models import Card
from questions import loading, related
from questions.models import Note, Question
from tests.flashcards.conftest import write_questions


@pytest.fixture
def number(db: None) -> Note:
    """The card of the token budget, which the question of the same topic leans on."""
    topic = write_questions(1)[0].topic
    Question.objects.filter(slug="q1").update(slug="token-budget", next=["q2"], runs={"run": {"lab": "serve-command"}})
    Question.objects.create(
        slug="q2", topic=topic, position=2, title="The second", kind="explain", level="staff", minutes=3, ask="And?",
        said_aloud="So.", catch="But.", measure="That.",
    )
    return Note.objects.create(
        slug="def-budget-h100", topic=topic, ask="The default budget", value=8192, unit="tokens", accept=[8192, 8192],
        origin="Read there.", calc={"lab": "serve-command", "figure": "budget"},
    )


def test_every_number_card_is_leant_on_by_a_question(real_bank: loading.Bank):
    named = {slug for slugs in loading.read_cards().values() for slug in slugs}
    assert named == set(real_bank.notes)


def test_a_card_or_question_that_is_not_there_is_a_fault(tmp_path):
    (tmp_path / "cards.toml").write_text('gone = ["lost"]')
    faults = loading.card_faults(tmp_path, {}, {})
    assert faults == {"cards.toml": ["There is no question “gone”.", "There is no number card “lost”."]}
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "cards.toml").write_text("gone = [")
    assert "can't be read" in loading.card_faults(tmp_path / "odd", {}, {})["cards.toml"][0]


def test_a_check_without_options_is_a_fault(real_bank: loading.Bank):
    bare = {"token-budget": replace(real_bank.questions["token-budget"], options=[], next=[])}
    assert loading.listing_faults((), bare, ["token-budget"]) == {
        "topics.toml": ["checks: there is no question “token-budget” with options."]}


def test_questions_cards_labs_and_neighbours_lead_to_each_other(number: Note, as_ada: Client):
    first, second = Question.objects.get(slug="token-budget"), Question.objects.get(slug="q2")
    assert related.notes_of(first) == [number] and related.questions_of(number) == [first]
    assert related.questions_by_note() == {number.slug: [first]}
    assert related.next_to(first) == [second] and related.before(second) == [first] and related.before(first) == []
    assert related.notes_of_lab("serve-command") == [number]

    lab = Client().get("/labs/serve-command/", follow=True).content.decode()
    assert "/questions/token-budget/" in lab and "/numbers/#number-def-budget-h100" in lab and "8,192" not in (
        lab[lab.index("Numbers it computes"):][:400])
    assert "/questions/token-budget/" in as_ada.get("/numbers/").content.decode()
    for slug, leads_to in (("token-budget", ["/questions/q2/", "/numbers/#number-def-budget-h100"]),
                           ("q2", ["/questions/token-budget/"])):
        page = as_ada.get(f"/questions/{slug}/").content.decode()
        assert not any(f'href="{address}"' in page for address in leads_to)  # the way on comes with the answer
        card = Card.objects.get(question__slug=slug)
        as_ada.post(f"/cards/{card.pk}/check/", {"ordinal": 1, "outline": "Mine", "only": "this"})
        page = as_ada.get(f"/questions/{slug}/").content.decode()
        assert all(f'href="{address}"' in page for address in leads_to)


def test_what_is_withdrawn_is_not_led_to(number: Note):
    first, second = Question.objects.get(slug="token-budget"), Question.objects.get(slug="q2")
    Question.objects.update(retired=True)
    Note.objects.update(draft=True)
    assert not any([related.notes_of(first), related.questions_of(number), related.questions_by_note(),
                    related.next_to(first), related.before(second), related.notes_of_lab("serve-command")])
