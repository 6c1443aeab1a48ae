"""check_data names what no log accounts for, and mends only what is derived."""
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from flashcards import services
from flashcards.memory import DEFAULT_PARAMETERS
from flashcards.models import Adoption, Card, Rating, Review
from tests.flashcards.conftest import NOON


def check(*, code: int = 0, **more: bool) -> str:
    out = StringIO()
    try:
        call_command("check_data", stdout=out, **more)
    except SystemExit as ended:
        assert ended.code == code == 1
    else:
        assert code == 0
    return out.getvalue()


@pytest.fixture
def answered(card: Card) -> Card:
    services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON)
    card.refresh_from_db()
    return card


def test_a_sound_database_has_no_fault(answered: Card) -> None:
    assert check() == "No fault was found.\n"


def test_a_card_that_is_not_what_its_log_says_is_repaired(answered: Card) -> None:
    Card.objects.update(stability=99.0, lapses=3)
    said = check(code=1)
    assert f"card {answered.pk}: stability 99.0, by the log 2.3065, lapses 3, by the log 0" in said
    assert "1 faults, 1 repaired" in check(repair=True)
    assert check() == "No fault was found.\n"


def test_parameters_are_those_adopted_last(answered: Card) -> None:
    Adoption.objects.create(user=answered.user, at=NOON, parameters=[])
    answered.user.profile.fsrs_parameters = [*DEFAULT_PARAMETERS[:2], 5.0, *DEFAULT_PARAMETERS[3:]]
    answered.user.profile.save()
    assert "its FSRS parameters are not those adopted last" in check(code=1)
    check(repair=True)
    answered.user.profile.refresh_from_db()
    assert answered.user.profile.fsrs_parameters == []


def test_a_gap_in_a_log_is_named_and_stays(answered: Card) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE flashcards_review SET ordinal = 2")
    assert f"card {answered.pk}: its log has 1 rows and ends at place 2" in check(code=1, repair=True)
    assert Review.objects.get().ordinal == 2


def test_a_row_that_names_another_cards_row_is_named(answered: Card, deal) -> None:
    services.undo(answered.user, answered.reviews.get().pk, now=NOON)
    undo = Review.objects.get(kind="undo")
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE flashcards_review SET names_id = {undo.pk} WHERE id = {undo.pk}")
    assert f"review {undo.pk}: it names review {undo.pk}, which is no earlier row of its card" in check(code=1)
