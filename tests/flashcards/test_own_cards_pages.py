"""My cards, export and import as pages: empty, filled, refused, another person's, and signed out."""
import json
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from flashcards import own_cards, services
from flashcards.models import Card, Rating, Upload
from flashcards.own_forms import FORMS
from flashcards.transfer import bringing, everything
from questions.models import Embargo, Note
from tests.flashcards.conftest import NOON

MINE, NEW = "/my-cards/", "/my-cards/new/"
IN, OUT = "/settings/import/", "/settings/export/"


def text(response) -> str:
    assert response.status_code == 200, response.status_code
    return response.content.decode()


@pytest.fixture
def note(ada: User) -> Note:
    form = FORMS["basic"]({"front": "What is **prefill**?", "back": "All prompt tokens at once."})
    assert form.is_valid()
    return own_cards.save(ada, form.note_fields(), NOON)


def send(client: Client, name: str, body: bytes | str):
    body = body.encode() if isinstance(body, str) else body
    return client.post(IN, {"file": SimpleUploadedFile(name, body)}, follow=True)


def test_an_empty_place_says_what_goes_there(as_ada: Client):
    page = text(as_ada.get(MINE))
    assert "No card of your own yet" in page
    assert f'href="{NEW}"' in page


@pytest.mark.parametrize("kind", ["basic", "cloze", "number", "garbage"])
def test_each_kind_has_its_form(as_ada: Client, kind: str):
    page = text(as_ada.get(NEW, {"kind": kind}))
    assert ('name="value"' in page) == (kind == "number")


def test_a_card_is_written_found_changed_and_retired(as_ada: Client, ada: User):
    page = text(as_ada.post(NEW + "?kind=cloze", {"front": "Blocks hold {{c1::16}} tokens", "tags": "kv"}, follow=True))
    assert "Added: Blocks hold 16 tokens" in page
    note = Note.objects.get(owner=ada)
    assert note.ask in text(as_ada.get(MINE, {"text": "blocks"}))
    assert "No card of yours says" in text(as_ada.get(MINE, {"text": "zebra"}))
    assert "{{c1::16}}" in text(as_ada.get(f"{MINE}{note.pk}/"))
    text(as_ada.post(f"{MINE}{note.pk}/", {"front": "Blocks hold {{c1::32}} tokens"}, follow=True))
    assert Note.objects.get().ask == "Blocks hold 32 tokens"
    page = text(as_ada.post(f"{MINE}{note.pk}/retire/", follow=True))
    assert "1 retired" in page
    assert "Blocks hold 32 tokens" in text(as_ada.get(MINE, {"show": "retired"}))
    assert "It was so already." in text(as_ada.post(f"{MINE}{note.pk}/retire/", follow=True))


def test_the_search_finds_it_for_its_person_alone_and_is_closed_in_an_interview(
    as_ada: Client, client: Client, eve: User, ada: User, note: Note
):
    page = text(as_ada.get("/search/", {"q": "prompt tokens"}))
    assert f'<a href="{MINE}{note.pk}/">' in page
    assert "at once" not in page  # the other side
    client.force_login(eve)
    assert f"{MINE}{note.pk}/" not in text(client.get("/search/", {"q": "prompt tokens"}))
    now = timezone.now()
    Embargo.objects.create(user=ada, reference="room", begins_at=now, ends_at=now + timedelta(hours=1))
    answer = as_ada.get("/search/", {"q": "prompt tokens"})
    assert (answer.status_code, f"{MINE}{note.pk}/" in answer.content.decode()) == (403, False)


def test_a_fault_keeps_what_was_typed(as_ada: Client):
    page = text(as_ada.post(NEW + "?kind=number", {"front": "How many?", "value": "lots", "tolerance": "5"}))
    assert "Not saved." in page
    assert 'value="lots"' in page
    assert "How many?" in page
    assert not Note.objects.exists()


def test_it_is_reviewed_as_a_number_card_is(as_ada: Client, ada: User, note: Note):
    card = Card.objects.get(user=ada)
    page = text(as_ada.get("/review/"))
    assert "What is <strong>prefill</strong>?" in page
    assert "All prompt tokens" not in page
    page = text(as_ada.post(f"/cards/{card.pk}/check/", {"ordinal": 1, "aloud": "1"}, follow=True))
    assert "All prompt tokens at once." in page
    page = text(as_ada.post(f"/cards/{card.pk}/answer/", {"ordinal": 1, "rating": 3}, follow=True))
    card.refresh_from_db()
    assert (card.log_length, card.answers) == (1, 1)
    assert "What is prefill?" in text(as_ada.get("/"))  # due again in ten minutes
    assert "All prompt tokens at once." in text(as_ada.get(f"/numbers/{note.slug}/"))
    assert note.slug not in text(as_ada.get("/numbers/"))


@pytest.mark.parametrize("path", ["{pk}/", "{pk}/retire/"])
def test_a_stranger_gets_nothing_of_it(note: Note, eve: User, path: str):
    client = Client()
    client.force_login(eve)
    address = MINE + path.format(pk=note.pk)
    assert client.get(address).status_code in (404, 405)
    assert client.post(address, {"front": "Mine now", "back": "x"}).status_code == 404
    assert client.get(f"/numbers/{note.slug}/").status_code == 404
    assert client.get("/review/", {"card": Card.objects.get().pk, "ordinal": 1}).status_code == 404
    assert "prefill" not in text(client.get(MINE))
    note.refresh_from_db()
    assert (note.ask, note.retired) == ("What is prefill?", False)


@pytest.mark.parametrize("address", [MINE, NEW, OUT, OUT + "everything/", IN])
def test_signed_out_there_is_nothing_to_see(client: Client, db: None, address: str):
    assert client.get(address).url.startswith("/accounts/login/")


def test_everything_is_a_file_of_its_person(as_ada: Client, note: Note):
    assert "Everything" in text(as_ada.get(OUT))
    response = as_ada.get(OUT + "everything/")
    assert response["Content-Disposition"].startswith('attachment; filename="drillapp-')
    assert [one["front"] for one in json.loads(response.content)["questions"]["notes"]] == ["What is **prefill**?"]
    assert as_ada.get(OUT + "nothing/").status_code == 404


def test_a_file_is_told_first_and_brought_in_when_agreed_to(as_ada: Client, ada: User, eve: User, note: Note):
    services.answer_card(Card.objects.get(), Rating.GOOD, ordinal=1, now=NOON)
    file = everything.written(ada, NOON)
    client = Client()
    client.force_login(eve)
    page = text(send(client, "mine.json", file))
    assert "mine.json holds" in page
    assert not Note.objects.filter(owner=eve).exists()
    page = text(client.post(IN + "apply/", follow=True))
    assert "mine.json is brought in" in page
    assert eve.cards.get().answers == 1
    assert not Upload.objects.exists()
    page = text(send(client, "mine.json", file))
    assert "Nothing in mine.json is new" in page
    assert "Bring it in" not in page
    assert "Bring a file in" in text(client.post(IN + "drop/", follow=True))


@pytest.mark.parametrize(("name", "body", "words"), [
    ("x.json", "{", "This is no JSON that can be read."),
    ("x.json", '{"format": "drillapp", "version": 99}', "Update drillapp"),
    ("x.json", "", "This file is empty."),
])
def test_what_can_not_be_read_is_refused_in_words(as_ada: Client, name: str, body: str, words: str):
    page = text(send(as_ada, name, body))
    assert words in page
    assert "Traceback" not in page


def test_no_file_and_a_huge_one_are_refused_beside_the_field(as_ada: Client, monkeypatch: pytest.MonkeyPatch):
    assert "Choose a file first." in text(as_ada.post(IN))
    monkeypatch.setattr(bringing, "MOST_BYTES", 10)
    assert "up to 0 are read" in text(send(as_ada, "x.json", "x" * 11))
    assert not Upload.objects.exists()


def test_nothing_waits_and_nothing_is_applied(as_ada: Client):
    assert "There is no file that waits" in text(as_ada.post(IN + "apply/", follow=True))


def test_another_persons_file_is_not_mine(as_ada: Client, ada: User, eve: User):
    send(as_ada, "x.json", everything.written(ada, NOON))
    client = Client()
    client.force_login(eve)
    assert "x.json" not in text(client.get(reverse("flashcards:import")))
