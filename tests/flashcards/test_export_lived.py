"""Everything of a person who has lived as one file, which comes in at once or by steps, as far as it came and once."""
import copy
from collections.abc import Iterator
from datetime import timedelta
from math import inf

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client

from accounts.models import Profile, User
from accounts.rows import Taken
from flashcards import bring, services
from flashcards.models import Card, Review, Upload, Work
from flashcards.transfer import bringing, everything
from flashcards.works import Closed
from flashcards.written import key_of_card
from tests.conftest import person
from tests.flashcards.conftest import NOON
from tests.flashcards.test_export import comparable, live, through_a_file

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def lived(django_db_setup: None, django_db_blocker: object) -> Iterator[User]:
    """Ada, whose weeks are lived once for all tests here; to live them takes longer than most of these."""
    with django_db_blocker.unblock(), transaction.atomic(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Profile._meta.get_field("fuzz"), "default", False)
        ada = person("Ada")
        live(ada)
        yield ada
        transaction.set_rollback(True)


@pytest.fixture
def ada(lived: User) -> Iterator[User]:
    """Her as a test finds her; what it does, it does to her and to nobody after it."""
    with transaction.atomic():
        yield User.objects.get(pk=lived.pk)
        transaction.set_rollback(True)


@pytest.fixture
def eve(ada: User) -> User:
    return person("Eve")


@pytest.fixture
def ben(ada: User) -> User:
    return person("Ben")


def test_everything_comes_back_in_an_empty_account(ada: User, eve: User):
    everything.put(eve, through_a_file(ada), NOON)
    assert Review.objects.filter(card__user=eve, names__isnull=False).exists()
    assert Review.objects.filter(card__user=eve, batch__isnull=False).exists()
    assert comparable(eve) == comparable(ada)


def test_the_same_file_again_adds_nothing(ada: User, eve: User):
    document = through_a_file(ada)
    for user in (eve, ada):
        everything.put(eve, copy.deepcopy(document), NOON)
        before = comparable(user)
        taken = everything.put(user, copy.deepcopy(document), NOON)
        assert taken.new == {}
        assert taken.known["log rows"] == len(document["flashcards"]["reviews"])
        assert comparable(user) == before


# A long log, in steps

def in_steps(user: User, document: dict, *, keep: bool = True, steps: float = inf) -> Taken:
    """Bring it in a few rows at a time; killed before the step of this number."""
    begun = 0

    def tell(share: float) -> None:
        nonlocal begun
        begun += 1
        if begun > steps:
            raise Closed

    return everything.put_in_steps(user, copy.deepcopy(document), NOON, tell, keep=keep)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(everything, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(everything, "CARDS_AT_ONCE", 2)


def test_a_long_log_comes_in_by_steps_as_it_does_at_once(ada: User, eve: User, ben: User, few: None):
    document = through_a_file(ada)
    assert everything.is_long(document)
    at_once, by_steps = everything.put(ben, copy.deepcopy(document), NOON), in_steps(eve, document)
    assert (by_steps.new, by_steps.known, by_steps.left_out) == (at_once.new, at_once.known, at_once.left_out)
    assert comparable(eve) == comparable(ben) == comparable(ada)
    assert in_steps(eve, document).new == {}
    assert services.last_action(eve).at == services.last_action(ada).at


def test_looking_a_long_log_through_counts_the_same_and_keeps_nothing(ada: User, eve: User, few: None):
    document, before = through_a_file(ada), comparable(eve)
    looked = in_steps(eve, document, keep=False)
    assert comparable(eve) == before
    assert not Card.objects.filter(user=eve).exists()
    assert looked.new == in_steps(eve, document).new


@pytest.mark.parametrize("steps", [0, 1, 4, 11])
def test_what_was_killed_midway_is_whole_as_far_as_it_came_and_is_taken_up_without_doubling(
    ada: User, eve: User, few: None, steps: int
):
    document = through_a_file(ada)
    with pytest.raises(Closed):
        in_steps(eve, document, steps=steps)
    eve.refresh_from_db()
    assert Review.objects.filter(card__user=eve).count() == 7 * steps
    assert {services.rebuild_card(card, write=False) for card in eve.cards.all()} == {""}
    taken = in_steps(eve, document)
    assert taken.known.get("log rows", 0) == 7 * steps
    assert comparable(eve) == comparable(ada)


def test_a_card_that_went_another_way_is_said_once_and_stays_also_by_steps(ada: User, eve: User, few: None):
    services.ensure_cards(eve)
    document = through_a_file(ada)
    kind, name, side = document["flashcards"]["cards"][0]
    mine = next(card for card in eve.cards.select_related("question", "note")
                if key_of_card(card) == (kind, name, side))
    services.set_suspended(mine, True, ordinal=1, now=NOON - 99 * DAY)
    taken = in_steps(eve, document)
    assert taken.left_out == ["1 card that went another way here: what is here stays."]
    assert mine.reviews.count() == 1


def test_an_import_that_stopped_midway_can_go_on(client: Client, ada: User, eve: User, few: None, monkeypatch):
    client.force_login(eve)
    text = everything.written(ada, NOON).encode()
    monkeypatch.setattr(bringing, "AT_ONCE_BYTES", 2**30)
    client.post("/settings/import/", {"file": SimpleUploadedFile("mine.json", text)})
    put_logs, calls = bring.put_logs, []

    def killed(*args: object) -> None:
        calls.append(args)
        if len(calls) == 5:
            raise Closed
        put_logs(*args)

    with monkeypatch.context() as context:
        context.setattr(bring, "put_logs", killed)
        client.post("/settings/import/apply/")
    Work.objects.filter(user=eve, kind=Work.Kind.IMPORT).exclude(done_at=None).update(asked_at=NOON - DAY)
    Work.objects.filter(user=eve, done_at=None).update(asked_at=NOON, seen_at=NOON)
    Upload.objects.filter(user=eve).update(at=NOON)
    page = client.get("/settings/import/").content.decode()
    assert "Not all brought in" in page and "Go on" in page
    page = client.post("/settings/import/apply/", follow=True).content.decode()
    assert "mine.json is brought in" in page
    assert comparable(eve) == comparable(ada)


def test_an_undo_reaches_what_was_brought_along(ada: User, eve: User):
    everything.put(eve, through_a_file(ada), NOON)
    last, twin = services.last_action(ada), services.last_action(eve)
    assert (twin.at, twin.kind) == (last.at, last.kind)
    assert services.undo(eve, twin.pk, now=NOON + 90 * DAY) is not None
    assert services.last_action(ada).pk == last.pk  # hers is not touched


def test_nobody_elses_rows_are_in_the_file(ada: User, eve: User):
    assert everything.of(eve, NOON)["flashcards"]["cards"] == []
    assert everything.of(eve, NOON)["questions"]["notes"] == []
    assert "password" not in everything.written(ada, NOON)
