"""An account goes with everything that is its person's, and with nothing else."""
from datetime import timedelta

import pytest
from django.apps import apps
from django.test import Client

from accounts.models import User
from flashcards import services
from flashcards.models import Card, Memo, Rating, Review
from flashcards.reminders import renew_calendar
from tests.flashcards.conftest import NOON, write_questions


@pytest.fixture
def two(ada: User, ben: User) -> tuple[User, User]:
    """Ada and Ben, each with a log that names its own rows."""
    for question, user in zip(write_questions(2), (ada, ben), strict=True):
        services.ensure_cards(user)
        for card in Card.objects.filter(user=user):
            attempt = services.commit_attempt(card, ordinal=1, now=NOON)
            services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON, attempt=attempt)
            services.amend(card, card.reviews.get().pk, Rating.HARD, ordinal=2, now=NOON)
            services.undo(user, services.last_action(user).pk, now=NOON + timedelta(minutes=1))
        services.save_memo(user, question, "mine", NOON)
        renew_calendar(user, NOON)
    return ada, ben


def rows_of(user: User) -> dict[str, int]:
    """How many rows of each table have a key to the user, or to a card of theirs."""
    counts = {}
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if field.related_model in (User, Card, Review):
                path = {User: field.name, Card: f"{field.name}__user", Review: f"{field.name}__card__user"}
                counts[f"{model.__name__}.{field.name}"] = model._base_manager.filter(
                    **{path[field.related_model]: user.pk}).count()
    return counts


def test_nothing_of_the_person_is_left_and_nobody_else_loses_a_row(two: tuple[User, User], as_ada: Client) -> None:
    ada, ben = two
    before = rows_of(ben)
    assert before["Review.card"] == 2 * 3 and rows_of(ada)["Memo.user"] == 1
    page = as_ada.post("/accounts/delete/", {"email": "Ada@example.org"}, follow=True)
    assert "The account and everything that was in it are gone." in page.content.decode()
    assert set(rows_of(ada).values()) == {0}
    assert not User.objects.filter(pk=ada.pk).exists()
    assert rows_of(ben) == before
    assert Memo.objects.get().user == ben
    assert as_ada.get("/").status_code == 302


@pytest.mark.parametrize(("typed", "fault"), [
    ("", "Type the address of this account in full."),
    ("ada", "Type the address of this account in full."),
    ("ben@example.org", "This account is ada@example.org, not ben@example.org."),
])
def test_the_address_has_to_be_typed(as_ada: Client, ada: User, typed: str, fault: str) -> None:
    page = as_ada.post("/accounts/delete/", {"email": typed})
    assert page.status_code == 200 and fault in page.content.decode()
    assert User.objects.filter(pk=ada.pk).exists()


def test_a_visit_asks_and_deletes_nothing(as_ada: Client, ada: User) -> None:
    assert "Delete ada@example.org and everything that is theirs?" in as_ada.get("/accounts/delete/").content.decode()
    assert User.objects.filter(pk=ada.pk).exists()


def test_a_stranger_is_asked_to_sign_in() -> None:
    assert Client().post("/accounts/delete/", {"email": "x@example.org"}).url.startswith("/accounts/login/")
