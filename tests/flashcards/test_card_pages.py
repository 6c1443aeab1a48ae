"""What is done to a card beside answering it, by plain forms: from the review, and from the card's own page."""
import html
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from flashcards import queue, services
from flashcards.models import Card, Direction, Rating
from questions import loading
from tests.flashcards.test_review_pages import look, send, text
from tests.flashcards.test_services import answer

DAY = timedelta(days=1)
HERE = {"only": "this"}
ACTS = [("bury", {}), ("suspend", {}), ("unsuspend", {}), ("reset", {}), ("set_due", {"due": "in 5 days"}),
        ("amend", {"grade": "1"}), ("remove", {}), ("add", {})]


@pytest.fixture
def outline(deal: Callable[[int], list[Card]]) -> Card:
    return deal(8)[0]


@pytest.fixture
def begun(outline: Card) -> Card:
    """A plain question answered twice, due long ago."""
    answer(outline, Rating.GOOD, timezone.now() - 60 * DAY)
    answer(outline, Rating.HARD, timezone.now() - 58 * DAY)
    return outline


@pytest.fixture
def number(ada: User, real_deck: loading.Bank) -> Card:
    """Ada's card of the first number, its forward side, answered once."""
    loading.load_bank(real_deck)
    services.ensure_cards(ada)
    card = ada.cards.filter(direction=Direction.FORWARD, note__reverse=True).order_by("pk").first()
    answer(card, Rating.EASY, timezone.now() - 10 * DAY)
    return card


def own_page(card: Card) -> str:
    return reverse(f"flashcards:{'number' if card.note_id else 'question'}", args=[card.item.slug])


def kinds(card: Card) -> list[str]:
    return list(card.reviews.order_by("ordinal").values_list("kind", flat=True))


def words(page: str) -> str:
    """What the page says, without its marks."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def due_day(page: str, rating: int) -> str:
    return re.search(rf'name="due_{rating}" value="([^"]+)"', page)[1]


# The buttons

def test_what_the_button_showed_happens_though_another_tab_filled_the_day(as_ada: Client, ada: User, begun: Card):
    ada.profile.fuzz = True
    ada.profile.save()
    send(as_ada, "check", begun, outline="so")
    shown = due_day(look(as_ada, begun), 4)
    others = ada.cards.exclude(pk=begun.pk)
    others.update(state="review", due_day=shown, last_day=begun.last_day, stability=9, difficulty=5)
    begun.refresh_from_db()
    assert due_day(look(as_ada, begun), 4) != shown  # a page made now would show a freer day
    send(as_ada, "answer", begun, rating="4", due_4=shown)
    begun.refresh_from_db()
    assert begun.due_day == date.fromisoformat(shown)


@pytest.mark.parametrize("shown", ["", "x", "2026-13-01", "0001-01-01", "9999-12-31", "1" * 500])
def test_a_day_that_no_button_can_have_shown_is_not_taken(as_ada: Client, outline: Card, shown: str):
    send(as_ada, "check", outline, outline="so")
    send(as_ada, "answer", outline, rating="3", due_3=shown)
    outline.refresh_from_db()
    assert (outline.due_day - outline.last_day).days == 2  # bare FSRS, the first Good


def test_the_bar_says_why_an_interval_was_capped(as_ada: Client, ada: User, begun: Card):
    today = queue.today(ada, timezone.now()).study_day
    ada.profile.interview_day = interview = today + 3 * DAY
    ada.profile.save()
    page = text(send(as_ada, "check", begun, outline="so"))
    assert f"apped: interview on {interview.day} {interview:%B}" in page
    offers = queue.offer(begun, begun.next_ordinal, timezone.now(), ada.profile)
    assert max(offer.due_day for offer in offers.values() if offer.due_day) == interview


def test_the_bar_says_that_being_overdue_counts(as_ada: Client, begun: Card):
    assert re.search(r"Overdue 5\d days; remembered, that counts for more\.", text(
        send(as_ada, "check", begun, outline="so")))


def test_a_punctual_answer_needs_no_reason(as_ada: Client, outline: Card):
    page = text(send(as_ada, "check", outline, outline="so"))
    assert "Overdue" not in page
    assert "capped" not in page


# From the review

@pytest.mark.parametrize(("verb", "sent", "said", "kind"), [
    ("bury", {}, "Put off: “Question 1” comes up tomorrow.", "bury"),
    ("suspend", {}, "Suspended: “Question 1” stays out of your drill", "suspend"),
    ("reset", {}, "Begun anew", "reset"),
    ("set_due", {"due": "in 5 days"}, "Due day set: “Question 1” comes back on", "set_due"),
])
def test_an_act_moves_on_is_told_with_an_undo_and_undone(
    as_ada: Client, begun: Card, verb: str, sent: dict, said: str, kind: str
):
    before = {name: getattr(begun, name) for name in Card.DERIVED if name != "log_length"}
    page = text(send(as_ada, verb, begun, **sent))
    message = page.partition('id="messages"')[2].partition("</main>")[0]
    assert said in message
    assert ">Undo" in message.partition("<main")[0]
    assert kinds(begun)[-1] == kind
    if verb != "reset":  # which is new now, and may come again
        assert f'action="/cards/{begun.pk}/' not in page
    text(as_ada.post(reverse("flashcards:undo"), {"review": services.last_action(begun.user).pk}, follow=True))
    begun.refresh_from_db()
    assert {name: getattr(begun, name) for name in before} == before


def test_keys_as_ankis_stand_on_the_page_before_and_after_the_commit(as_ada: Client, begun: Card):
    for page in (look(as_ada, begun), text(send(as_ada, "check", begun, outline="so"))):
        for key, verb in (("-", "bury"), ("@", "suspend"), ("d", "set_due")):
            form = page.partition(f'action="/cards/{begun.pk}/{verb.replace("_", "-")}/"')[2].partition("</form>")[0]
            assert f'data-key="{key}"' in form


@pytest.mark.parametrize("due", ["", "soon", "2020-01-01", "in 99999 days", "x" * 60, "\0"])
def test_a_day_that_cant_be_is_a_sentence_and_what_was_typed_stays(as_ada: Client, begun: Card, due: str):
    response = as_ada.post(reverse("flashcards:set_due", args=[begun.pk]), {"ordinal": 3, "due": due})
    page = text(response)
    assert 'class="fault"' in page
    if due.isprintable():
        assert f'name="due" value="{due}"' in page
    assert page.count("autofocus") == 1  # focus goes to the field
    assert kinds(begun) == ["answer", "answer"]


def test_a_new_card_has_no_due_day_to_set_and_nothing_to_begin_anew(as_ada: Client, outline: Card):
    page = look(as_ada, outline)
    assert f"/cards/{outline.pk}/bury/" in page
    assert f"/cards/{outline.pk}/set-due/" not in page
    assert f"/cards/{outline.pk}/reset/" not in page


def test_what_is_typed_is_kept_when_the_card_is_put_off(as_ada: Client, begun: Card):
    look(as_ada, begun)
    send(as_ada, "bury", begun, outline="Decodes first.")
    assert "Decodes first.</textarea>" in look(as_ada, begun)
    send(as_ada, "set_due", begun, due="in 5 days")  # a form that sends nothing of it leaves it
    assert "Decodes first.</textarea>" in look(as_ada, begun)


@pytest.mark.parametrize(("verb", "sent"), ACTS)
def test_a_stale_page_changes_nothing_and_is_told(as_ada: Client, begun: Card, verb: str, sent: dict):
    for ordinal in ("2", "x", ""):
        sent = {"review": begun.reviews.first().pk} | sent | {"ordinal": ordinal}
        page = text(as_ada.post(reverse(f"flashcards:{verb}", args=[begun.pk]), sent, follow=True))
        assert "Nothing was recorded twice" in page
    assert kinds(begun) == ["answer", "answer"]


@pytest.mark.parametrize(("verb", "sent", "before", "said"), [
    ("bury", {}, "bury", "it is put off to tomorrow already."),
    ("suspend", {}, "suspend", "it is suspended already."),
    ("unsuspend", {}, "", "it is in your drill already."),
    ("add", {}, "add_to_drill", "it comes first already."),
    ("add", {}, "suspend", "it is suspended; take it back into your drill first."),
    ("reset", {}, "reset", "it is as a new card already."),
    ("set_due", {"due": "in 5 days"}, "reset", "a new card has no due day"),
    ("amend", {"grade": "3"}, "", "that answer counts as Good already"),
    ("amend", {"grade": "9"}, "", "no answer was named, or no grade."),
])
def test_what_is_so_already_is_said_and_not_called_another_tabs(
    as_ada: Client, begun: Card, verb: str, sent: dict, before: str, said: str
):
    if before == "suspend":
        services.set_suspended(begun, True, ordinal=3, now=timezone.now())
    elif before:
        getattr(services, before)(begun, ordinal=3, now=timezone.now())
    page = words(text(send(as_ada, verb, begun, **HERE | {"review": begun.reviews.first().pk} | sent)))
    assert f"Nothing changed: {said}" in page
    assert "another tab" not in page
    assert begun.reviews.count() == 2 + bool(before)


def test_an_answer_removed_cannot_be_removed_again(as_ada: Client, begun: Card):
    named = {"review": begun.reviews.first().pk} | HERE
    send(as_ada, "remove", begun, **named)
    assert "Nothing changed: that answer no longer counts." in words(text(send(as_ada, "remove", begun, **named)))
    assert kinds(begun) == ["answer", "answer", "remove"]


@pytest.mark.parametrize(("verb", "sent"), ACTS)
def test_sent_twice_it_is_done_once(as_ada: Client, begun: Card, verb: str, sent: dict):
    sent = {"review": begun.reviews.first().pk, "ordinal": 3} | sent
    if verb == "unsuspend":
        services.set_suspended(begun, True, ordinal=3, now=timezone.now())
        sent["ordinal"] = 4
    for _ in range(2):
        text(as_ada.post(reverse(f"flashcards:{verb}", args=[begun.pk]), sent, follow=True))
    assert begun.reviews.count() == sent["ordinal"]


@pytest.mark.parametrize(("verb", "sent"), ACTS)
def test_another_persons_card_is_unknown(eve: User, begun: Card, verb: str, sent: dict):
    client = Client()
    client.force_login(eve)
    sent = {"ordinal": 3, "review": begun.reviews.first().pk} | sent
    assert client.post(reverse(f"flashcards:{verb}", args=[begun.pk]), sent).status_code == 404
    assert begun.reviews.count() == 2


# On the card's own page

@pytest.mark.parametrize("which", ["begun", "number"])
@pytest.mark.parametrize(("verb", "sent"), ACTS[:6])
def test_from_the_own_page_one_stays_there_and_can_undo(
    as_ada: Client, which: str, request: pytest.FixtureRequest, verb: str, sent: dict
):
    card = request.getfixturevalue(which)
    if verb == "unsuspend":
        services.set_suspended(card, True, ordinal=card.next_ordinal, now=timezone.now())
    sent = HERE | {"review": card.reviews.first().pk} | sent
    response = send(as_ada, verb, card, **sent)
    assert response.redirect_chain[-1][0] == own_page(card)
    assert kinds(card)[-1] == verb
    undone = {"review": services.last_action(card.user).pk, "card": card.pk} | HERE
    after = as_ada.post(reverse("flashcards:undo"), undone, follow=True)
    assert after.redirect_chain[-1][0] == own_page(card)
    assert "Undone: " in text(after)


def test_an_earlier_answer_changed_counts_as_the_other_grade(as_ada: Client, begun: Card):
    first = begun.reviews.first()
    page = text(send(as_ada, "amend", begun, review=first.pk, grade="1", **HERE))
    assert "Changed to Again; it comes back" in page
    assert [review.rated for review in begun.reviews.answers()] == [Rating.AGAIN, Rating.HARD]
    said = words(page.partition('id="history"')[2])
    assert re.search(r"Again was Good ?, change it", said)
    assert re.search(r"Grade of \d+ \w+ \d+ changed from Good to Again", said)


def test_an_earlier_answer_removed_is_struck_out_and_no_longer_counts(as_ada: Client, begun: Card):
    first = begun.reviews.first()
    page = text(send(as_ada, "remove", begun, review=first.pk, **HERE))
    assert "Removed, it no longer counts; it comes back" in page
    assert [review.rated for review in begun.reviews.answers()] == [Rating.HARD]
    assert "<s>Good</s> removed" in page
    page = text(send(as_ada, "remove", begun, review=begun.reviews.answers().get().pk, **HERE))
    assert "Removed, it no longer counts; it is as a new card." in page


@pytest.mark.parametrize("sent", [
    {}, {"review": "x"}, {"review": "9" * 40}, {"review": "1", "grade": "9"}, {"review": "0", "grade": "2"},
    {"grade": "٣"},
])
@pytest.mark.parametrize("verb", ["amend", "remove"])
def test_garbage_changes_no_answer(as_ada: Client, begun: Card, verb: str, sent: dict):
    if verb == "remove" and sent.get("review") == "1":
        sent = {"review": str(begun.reviews.last().pk + 1)}
    text(send(as_ada, verb, begun, **sent, **HERE))
    assert kinds(begun) == ["answer", "answer"]


def test_a_numbers_own_page_shows_both_sides_and_each_answers_history(as_ada: Client, number: Card):
    page = text(as_ada.get(own_page(number)))
    said = words(page)
    assert "meaning to number" in said
    assert "number to meaning" in said
    assert "1 answer" in said
    assert page.count(f'action="/cards/{number.pk}/amend/"') == 1
    assert as_ada.get("/numbers/no-such-number/").status_code == 404


def test_a_number_withdrawn_is_there_for_who_began_it_alone(as_ada: Client, eve: User, number: Card):
    services.ensure_cards(eve)
    type(number.note).objects.filter(pk=number.note_id).update(retired=True)
    client = Client()
    client.force_login(eve)
    assert as_ada.get(own_page(number)).status_code == 200
    assert client.get(own_page(number)).status_code == 404


def test_put_off_a_card_says_so_and_is_no_longer_up(as_ada: Client, begun: Card):
    assert "Up in today’s drill." in text(as_ada.get(own_page(begun)))
    page = text(send(as_ada, "bury", begun, **HERE))
    assert "Put off to tomorrow." in page
    assert f"/cards/{begun.pk}/bury/" not in page
    assert "Add to my drill now" in page


# Leeches

def lapse(card: Card, now: datetime) -> None:
    """Forget the card once and know it again, by which it is back in review."""
    answer(card, Rating.AGAIN, now)
    answer(card, Rating.GOOD, now + timedelta(minutes=11))


def test_the_lapse_that_makes_a_leech_is_told_with_what_helps(as_ada: Client, ada: User, begun: Card):
    ada.profile.leech_lapses = 2
    ada.profile.save()
    for told in (False, True, True):  # at 2, and at each further half of it
        send(as_ada, "check", begun, outline="so")
        page = text(send(as_ada, "answer", begun, rating="1"))
        message = page.partition('id="messages"')[2].partition("<main")[0]
        assert ("A leech: “Question 1” has lapsed" in message) == told
        assert ('<a href="/questions/q1/#memo">' in message) == told
        assert (f'action="/cards/{begun.pk}/suspend/"' in message) == told
        answer(begun, Rating.GOOD, timezone.now())
    assert not begun.suspended


def test_a_leech_is_suspended_only_by_its_person(as_ada: Client, ada: User, begun: Card):
    ada.profile.leech_lapses = 2
    ada.profile.save()
    for ago in (50, 40):
        lapse(begun, timezone.now() - ago * DAY)
    page = text(as_ada.get(own_page(begun)))
    assert "A leech" in page
    assert "lapsed 2 times" in page
    assert 'href="/questions/q1/#memo"' in page
    assert 'id="memo"' in page
    page = text(send(as_ada, "suspend", begun, **HERE))
    assert "A leech" not in page


def test_a_number_that_is_a_leech_is_told_with_its_lab(as_ada: Client, ada: User, number: Card):
    ada.cards.filter(pk=number.pk).update(lapses=8)
    shown = text(as_ada.get("/numbers/?state=leech"))
    assert shown.count('class="number-place"') == 1
    assert "<b>leech</b>" in shown
    assert ("Try its lab" in text(as_ada.get(own_page(number)))) == bool(number.note.calc)


# Single keys

def test_single_keys_turned_off_are_off_on_every_page_and_the_list_says_so(as_ada: Client, ada: User):
    assert "data-single-keys" not in text(as_ada.get("/"))
    assert "Single keys are turned off" not in text(as_ada.get("/keys/"))
    ada.profile.single_keys = False
    ada.profile.save()
    assert 'data-single-keys="off"' in text(as_ada.get("/"))
    assert "Single keys are turned off" in text(as_ada.get("/keys/"))
