"""Number cards in the admin: the same rules as for questions, in a smaller form."""
import pytest
from django.contrib.auth.models import Group
from django.test import Client

from accounts.models import User
from questions import loading
from questions.content import Act, digest
from questions.models import Note, Topic
from questions.services import document_of
from tests.questions.forms_sent import form_sent

pytestmark = pytest.mark.django_db
LIST = "/admin/questions/note/"
ADD = "/admin/questions/note/add/"


@pytest.fixture
def deck(db: None, real_deck: loading.Bank) -> loading.Bank:
    """The bank's number cards, loaded."""
    loading.load_bank(real_deck)
    return real_deck


def in_group(user: User, name: str) -> Client:
    user.groups.add(Group.objects.get(name=name))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def publisher(ben: User) -> Client:
    return in_group(ben, "Publishers")


def form_at(client: Client, address: str) -> dict[str, str]:
    return form_sent(client.get(address).content.decode(), "note_form")


def add(client: Client, **changes: str):
    """A card without a fault but for the changes: 2 × 32 × 8 × 128 × 2 bytes are 128 KiB (by hand)."""
    Topic.objects.get_or_create(slug="kv-cache", defaults={"title": "KV cache", "position": 1})
    typed = {
        "topic": "kv-cache", "slug": "kv-8b-token", "ask": "KV of one token, Llama-3-8B in bf16",
        "value": "128", "unit": "KiB", "accept_low": "120", "accept_high": "140", "reverse": "on",
        "cue": "KV a token", "origin": "2 × 32 layers × 8 heads × 128 × 2 bytes",
        "source_file": "vllm/v1/kv_cache_interface.py", "source_version": "0.33.0", "_save": "Save",
    }
    return client.post(ADD, form_at(client, ADD) | typed | changes)


def test_every_card_of_the_deck_saves_without_an_edit(deck: loading.Bank, publisher: Client):
    for note in Note.objects.order_by("slug")[::9]:
        address = f"{LIST}{note.pk}/change/"
        assert publisher.post(address, form_at(publisher, address) | {"_save": "Save"}).url == LIST, note.slug
        assert digest(document_of(Note.objects.get(pk=note.pk))) == note.loaded_digest, note.slug


def test_an_edit_outlives_a_load(deck: loading.Bank, publisher: Client):
    note = Note.objects.first()
    address = f"{LIST}{note.pk}/change/"
    publisher.post(address, form_at(publisher, address) | {"_save": "Save", "ask": "What is it?"})
    assert loading.load_bank(deck)[note.slug] == Act.KEEP_EDIT
    assert Note.objects.get(pk=note.pk).ask == "What is it?"


def test_an_editor_writes_a_draft_and_a_publisher_publishes_it(kim: User, publisher: Client):
    assert add(in_group(kim, "Editors"), _publish="Publish").url == LIST
    note = Note.objects.get()
    assert (note.draft, note.accept, note.owner) == (True, [120, 140], None)
    address = f"{LIST}{note.pk}/change/"
    publisher.post(address, form_at(publisher, address) | {"_publish": "Publish"})
    assert not Note.objects.get().draft
    assert in_group(kim, "Editors").post(address, {"ask": "Mine"}).status_code == 403


def test_what_people_made_for_themselves_is_not_shown(deck: loading.Bank, publisher: Client, ada: User):
    own = Note.objects.create(
        slug="ada-own", topic=Topic.objects.first(), ask="Mine", value=1, accept=[1, 1], origin="me", owner=ada
    )
    assert "ada-own" not in publisher.get(LIST).content.decode()
    assert publisher.get(f"{LIST}{own.pk}/change/").status_code == 302


@pytest.mark.parametrize(
    ("changes", "place", "sentence"),
    [
        ({"ask": ""}, "id_ask", "It is missing."),
        ({"value": "many"}, "id_value", "It takes a number."),
        ({"value": ""}, "id_value", "It takes a number."),
        ({"value": "99"}, "id_accept_low", "is not in the range"),
        ({"accept_high": ""}, "id_accept_low", "It takes two numbers"),
        ({"unit": "2 parsecs"}, "id_unit", "can't be read"),
        ({"cue": ""}, "id_cue", "give it a cue"),
        ({"origin": ""}, "id_origin", "It is missing."),
        ({"source_version": ""}, "id_source_title", "It carries a version, or a date"),
        ({"source_date": "May"}, "id_source_date", "A date is written"),
        ({"calc_lab": "smithy", "calc_figure": "irons"}, "id_calc_lab", "There is no lab “smithy”"),
        ({"calc_values": "a ="}, "id_calc_values", "Not TOML"),
        ({"topic": "baking"}, "id_topic", "Select a valid choice"),
        ({"slug": "KV"}, "id_slug", "is no slug"),
    ],
)
def test_a_fault_stands_beside_its_field(publisher: Client, changes: dict[str, str], place: str, sentence: str):
    response = add(publisher, **changes)
    page = response.content.decode()
    assert response.status_code == 200
    assert not Note.objects.exists()
    assert place in [fault.get("id") for fault in response.context["form"].faults]
    assert sentence.replace("'", "&#x27;") in page
    kept = form_sent(page, "note_form")
    # A list shows only what can be chosen from it.
    assert {key: text for key, text in changes.items() if kept.get(key, "") != text and key != "topic"} == {}
