"""The number card in a review and the Numbers page, by plain forms and links."""
import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from flashcards import services
from flashcards.models import Attempt, Card, Direction, Review
from flashcards.pictures import estimate_ruler
from questions import loading
from questions.models import Note
from tests.flashcards.conftest import write_questions


@pytest.fixture
def deck(ada: User, real_deck: loading.Bank) -> dict[str, Card]:
    """Ada's number cards of the real deck, by slug, those of the number's side with a ’; and two questions."""
    loading.load_bank(real_deck)
    write_questions(2)
    services.ensure_cards(ada)
    cards = Card.objects.filter(user=ada).exclude(note=None).select_related("note")
    return {card.note.slug + ("’" if card.direction == Direction.REVERSE else ""): card for card in cards}


def send(client: Client, verb: str, card: Card, **sent: object) -> str:
    card.refresh_from_db()
    address = reverse(f"flashcards:{verb}", args=[card.pk])
    return text(client.post(address, {"ordinal": card.next_ordinal} | sent, follow=True))


def look(client: Client, card: Card) -> str:
    card.refresh_from_db()
    return text(client.get(reverse("flashcards:review"), {"card": card.pk, "ordinal": card.next_ordinal}))


def text(response: object) -> str:
    assert response.status_code == 200
    return response.content.decode()


def body(page: str) -> str:
    """The card's own part of the page, as words."""
    return " ".join(re.sub(r"<[^>]+>", " ", page[page.index('<div id="card"'):]).split())


def suggested(page: str) -> str:
    found = re.search(r'class="grade suggested".*?<span>(\w+)</span>', page)
    return found[1] if found else ""


# The card

def test_the_front_asks_and_shows_no_value(as_ada: Client, deck: dict[str, Card]):
    page = look(as_ada, deck["kv-8b"])
    assert "KV per token, Llama-3.1-8B in BF16" in page
    assert "128" not in body(page)
    assert 'name="rating"' not in page


def test_the_other_front_shows_the_number_its_topic_and_a_cue(as_ada: Client, deck: dict[str, Card]):
    words = body(look(as_ada, deck["kv-8b’"]))
    assert "128 KiB" in words
    assert "kv-cache" in words
    assert deck["kv-8b"].note.cue in words
    assert "Llama-3.1-8B" not in words
    assert 'name="typed"' not in look(as_ada, deck["kv-8b’"])


@pytest.mark.parametrize(("typed", "grade", "verdict"), [
    ("131,072 bytes", "Good", "128 KiB is the number itself."),
    ("0.13 MiB", "Good", "133.1 KiB is 1.04×, in the range."),
    ("112", "Hard", "112 KiB is 0.88×, just outside. 112 is another: KV per token, Qwen3-0.6B in BF16."),
    ("1 MiB", "Again", "1,024 KiB is 8×, outside."),
    ("0", "Again", "0 KiB is outside."),
])
def test_an_estimate_is_told_how_far_off_it_is(
    as_ada: Client, deck: dict[str, Card], typed: str, grade: str, verdict: str
):
    page = send(as_ada, "check", deck["kv-8b"], typed=typed)
    assert verdict in body(page)
    assert suggested(page) == grade
    assert "within 125 to 135" in page
    attempt = Attempt.objects.get()
    assert (attempt.typed, attempt.within) == (typed, grade == "Good")
    assert attempt.ratio == pytest.approx(attempt.value / 128)


def test_just_flipped_it_shows_the_number_and_space_takes_good(as_ada: Client, deck: dict[str, Card]):
    page = send(as_ada, "check", deck["def-block"], aloud="1")
    assert "16 tokens" in body(page)
    assert suggested(page) == ""
    assert re.search(r'value="3" data-key="3 Space"', page)
    assert Attempt.objects.get().within is None


def test_flipped_from_the_number_it_shows_the_meaning(as_ada: Client, deck: dict[str, Card]):
    page = send(as_ada, "check", deck["def-block’"], aloud="1")
    assert "Default tokens of a KV block" in body(page)
    assert "CacheConfig.DEFAULT_BLOCK_SIZE" in body(page)
    assert suggested(page) == ""


@pytest.mark.parametrize(("typed", "fault"), [
    ("", "Type an estimate first, or just flip."),
    ("a lot", "can&#x27;t be read as a number"),
    ("3 ms", "ms is a time; this asks for a size"),
])
def test_what_cant_be_read_is_told_and_reveals_nothing(
    as_ada: Client, deck: dict[str, Card], typed: str, fault: str
):
    page = send(as_ada, "check", deck["kv-8b"], typed=typed)
    assert fault in page
    assert "128" not in body(page)
    assert not Attempt.objects.exists()
    if typed:
        assert f'value="{typed}"' in page


def test_the_estimate_is_read_back_while_it_is_typed(as_ada: Client, deck: dict[str, Card]):
    look(as_ada, deck["kv-8b"])
    assert "read as 0.1 MiB = 102.4 KiB" in send(as_ada, "draft", deck["kv-8b"], typed="0.1 MiB")
    assert 'value="0.1 MiB"' in look(as_ada, deck["kv-8b"])


def test_a_lab_that_computes_it_opens_with_its_values(as_ada: Client, deck: dict[str, Card]):
    page = send(as_ada, "check", deck["kv-70b"], aloud="1")
    address = re.search(r'href="(/labs/kv-size[^"]*)"', page)[1].replace("&amp;", "&")
    assert "model=llama-3.1-70b" in address
    assert "327,680" in text(as_ada.get(address))


def test_a_grade_is_recorded_once_and_undone_it_is_back_as_it_was(as_ada: Client, deck: dict[str, Card], ada: User):
    card = deck["kv-8b"]
    send(as_ada, "check", card, typed="112")
    for _ in range(2):
        page = send(as_ada, "answer", card, rating="2", ordinal=1)
    assert Review.objects.count() == 1
    assert "Undo" in page
    assert "<code>kv-8b</code>" in page
    page = text(as_ada.post(reverse("flashcards:undo"), {"review": Review.objects.get().pk}, follow=True))
    assert "112 KiB" in body(page)
    assert suggested(page) == "Hard"


def test_a_changed_unit_leaves_an_old_estimate_unjudged(as_ada: Client, deck: dict[str, Card]):
    send(as_ada, "check", deck["kv-8b"], typed="112 KiB")
    Note.objects.filter(slug="kv-8b").update(unit="tokens")
    assert "128 tokens" in body(look(as_ada, deck["kv-8b"]))


def test_enter_in_the_field_checks_and_does_not_put_off(as_ada: Client, deck: dict[str, Card]):
    # Enter presses the first submit button that belongs to the form.
    for card in (deck["kv-8b"], Card.objects.get(question__slug="q1")):
        page = look(as_ada, card)
        first = re.search(r'<button form="commit"[^>]*>', page)[0]
        assert "formaction" not in first


# A sitting with the numbers alone

def test_a_sitting_with_the_numbers_alone_stays_so_and_then_offers_the_rest(
    as_ada: Client, ada: User, deck: dict[str, Card]
):
    ada.profile.new_numbers_per_day, ada.profile.number_steps = 2, ""
    ada.profile.save()
    assert "or only the 2 number cards, 1 min" in text(as_ada.get("/"))
    page = text(as_ada.get(reverse("flashcards:review"), {"only": "numbers"}))
    for _ in range(2):
        assert 'name="only" value="numbers"' in page
        pk = int(re.search(r"/cards/(\d+)/check/", page)[1])
        card = Card.objects.get(pk=pk)
        assert card.note_id
        send(as_ada, "check", card, aloud="1", only="numbers")
        page = send(as_ada, "answer", card, rating="4", only="numbers")
    assert "Go on with the other 2" in body(page)
    assert 'action="/cards/' not in page


def test_putting_off_keeps_to_the_numbers(as_ada: Client, deck: dict[str, Card]):
    first = deck["pass-8b-h100"]
    response = as_ada.post(
        reverse("flashcards:draft", args=[first.pk]), {"ordinal": 1, "leave": "later", "only": "numbers"})
    assert response.url.endswith(f"later={first.pk}&only=numbers")


@pytest.mark.parametrize("verb", ["draft", "check", "ticks", "answer"])
@pytest.mark.parametrize("sent", [{"leave": "lab"}, {"typed": "\0"}, {"tick": ["x"] * 99}, {"only": "everything"}])
def test_garbage_records_nothing_and_is_no_error(as_ada: Client, deck: dict[str, Card], verb: str, sent: dict):
    send(as_ada, verb, deck["kv-8b"], **sent)
    assert not Review.objects.exists()


# The ruler

def places(said: float, value: float = 128) -> tuple[float, float, float]:
    """Where the accepted band begins and ends and the estimate stands, as shares of the ruler, 0.5 its middle."""
    drawn = estimate_ruler(value, (125, 135), said, "128", width=422)
    band = next(shape for shape in drawn.shapes if getattr(shape, "css", "") == "accepted")
    dot = next(shape for shape in drawn.shapes if getattr(shape, "css", "") == "own-dot")
    x = float(re.match(r"M([0-9.]+)", dot.d)[1]) + 6
    return tuple(round((place - 6) / 400, 3) for place in (band.x, band.x + band.w, x))


def test_the_ruler_runs_in_ratios_from_half_to_twice():
    # log2(112 / 128) = -0.193 of the half ruler; the band is 0.977 to 1.055 times.
    assert places(112) == pytest.approx((0.483, 0.538, 0.404), abs=0.001)
    assert places(128)[2] == 0.5
    assert (places(64)[2], places(256)[2]) == (0, 1)
    assert (places(1)[2], places(99_999)[2]) == (0, 1)


# The page

def test_every_number_has_a_place_by_topic(as_ada: Client, deck: dict[str, Card]):
    page = text(as_ada.get(reverse("flashcards:numbers")))
    assert page.count('class="number-place"') == 89
    assert "89 of 89" in re.sub(r"<[^>]+>", "", page)
    assert re.findall(r'id="topic-([a-z-]+)"', page) == [
        "engine", "scheduling", "kv-cache", "sizing", "sampling", "kernels", "scale-out"]


def test_looking_is_no_review(as_ada: Client, deck: dict[str, Card]):
    as_ada.get(reverse("flashcards:numbers"))
    assert not Attempt.objects.exists()
    assert not Review.objects.exists()


def test_filters_are_the_address_and_count_what_they_leave(as_ada: Client, deck: dict[str, Card]):
    services.answer_card(deck["kv-8b"], 4, ordinal=1, now=deck["kv-8b"].user.date_joined)
    page = text(as_ada.get(reverse("flashcards:numbers"), {"topic": ["kv-cache", "sizing", "nowhere"]}))
    assert page.count('class="number-place"') == 21
    assert 'href="?topic=sizing"' in page  # takes kv-cache off
    page = text(as_ada.get(reverse("flashcards:numbers"), {"topic": "kv-cache", "state": "learning"}))
    assert page.count('class="number-place"') == 1
    page = text(as_ada.get(reverse("flashcards:numbers"), {"topic": "kv-cache", "state": "suspended"}))
    assert "No number card is left by these filters." in page


def test_the_other_side_shows_those_that_are_asked_from_it(as_ada: Client, deck: dict[str, Card]):
    page = text(as_ada.get(reverse("flashcards:numbers"), {"side": "reverse"}))
    assert page.count('class="number-place"') == Note.objects.filter(reverse=True).count()
    assert "side=reverse&amp;topic=engine" in page


def test_a_stranger_is_asked_to_sign_in(client: Client, db: None):
    assert client.get(reverse("flashcards:numbers")).url == "/accounts/login/?next=/numbers/"


def test_another_persons_numbers_are_another_page(eve: User, deck: dict[str, Card]):
    Note.objects.filter(slug="kv-8b").update(owner=deck["kv-8b"].user)
    client = Client()
    client.force_login(eve)
    assert text(client.get(reverse("flashcards:numbers"))).count('class="number-place"') == 88
    assert client.get(reverse("flashcards:review"), {"card": deck["kv-8b"].pk, "ordinal": 1}).status_code == 404


# Notes

def test_a_note_on_a_number_is_kept_on_its_page_and_is_ones_own(as_ada: Client, deck: dict[str, Card], eve: User):
    address = reverse("flashcards:number_note", args=["kv-8b"])
    page = "/numbers/kv-8b/"
    assert f'action="{address}"' in text(as_ada.get(page))
    assert as_ada.post(address, {"text": "two times <8>"}).url == page
    assert "Kept" in text(as_ada.post(address, {"text": "two times <8>\r\nlayers"}, headers={"HX-Request": "true"}))
    assert "two times &lt;8&gt;\nlayers</textarea>" in text(as_ada.get(page))
    services.ensure_cards(eve)
    other = Client()
    other.force_login(eve)
    assert "layers</textarea>" not in text(other.get(page))
    assert as_ada.post(reverse("flashcards:number_note", args=["nowhere"]), {"text": "x"}).status_code == 404
    assert as_ada.get(address).status_code == 405
