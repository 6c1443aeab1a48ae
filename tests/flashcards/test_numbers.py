"""Number cards in the deck and in the line: their sides, steps and limits, and a month of the default load."""
import random
from collections import Counter
from datetime import datetime, timedelta

import pytest

from accounts.models import User
from flashcards import own_cards, queue, services, siblings
from flashcards.models import Card, Direction, Rating, Review, State
from questions import loading
from questions.models import Note, Topic
from tests.flashcards.conftest import NOON, write_questions

AGAIN, HARD, GOOD, EASY = Rating
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def write_notes(count: int, **fields: object) -> list[Note]:
    """Notes n1, n2 … of one topic, in that order, each of value 10 to 20 KiB."""
    topic, _ = Topic.objects.get_or_create(slug="kv-cache", defaults={"title": "KV cache", "position": 2})
    whole = {"value": 12, "unit": "KiB", "accept": [10, 20], "origin": "By hand.", "cue": "a size"} | fields
    return [
        Note.objects.create(slug=f"n{at}", topic=topic, position=at, ask=f"Number {at}", **whole)
        for at in range(1, count + 1)
    ]


def deal(user: User, notes: int = 1, **limits: object) -> list[Card]:
    """The person's number cards, forward ones first, with no limit in the way but those given."""
    write_notes(notes)
    for name, value in ({"new_numbers_per_day": 200} | limits).items():
        setattr(user.profile, name, value)
    user.profile.save()
    services.ensure_cards(user)
    return list(Card.objects.filter(user=user).order_by("direction", "note__position"))


def answer(card: Card, rating: Rating = GOOD, now: datetime = NOON) -> Card:
    card.refresh_from_db()
    assert services.answer_card(card, rating, ordinal=card.next_ordinal, now=now)
    card.refresh_from_db()
    return card


def learn(card: Card, now: datetime = NOON) -> Card:
    """Through both steps, so that it is due in some days."""
    answer(card, GOOD, now)
    return answer(card, GOOD, now + 10 * MINUTE)


def line(user: User, now: datetime = NOON, only: str = "") -> list[str]:
    """What is left of the day, as n1 or n1' for the number's side, or q1 for a question."""
    return [name(place.card) for place in queue.today(user, now, only).first_in_line]


def name(card: Card) -> str:
    return card.item.slug + ("’" if card.direction == Direction.REVERSE else "")


# The deck

def test_each_side_that_is_asked_is_a_card_once(ada: User) -> None:
    deal(ada, 2)
    Note.objects.filter(slug="n2").update(reverse=False)
    for _ in range(2):
        services.ensure_cards(ada)
    assert Card.objects.count() == 4  # the one dealt before stays
    Card.objects.all().delete()
    services.ensure_cards(ada)
    assert sorted(map(name, Card.objects.all())) == ["n1", "n1’", "n2"]


def test_drafts_retired_ones_and_other_peoples_own_are_not_dealt(ada: User, eve: User) -> None:
    for note, fields in zip(write_notes(4), ({}, {"draft": True}, {"retired": True}, {"owner": eve}), strict=True):
        Note.objects.filter(pk=note.pk).update(**fields)
    services.ensure_cards(ada)
    services.ensure_cards(eve)
    assert {name(card) for card in ada.cards.all()} == {"n1", "n1’"}
    assert {name(card) for card in eve.cards.all()} == {"n1", "n1’", "n4", "n4’"}


def test_an_account_goes_with_its_own_notes(ada: User) -> None:
    write_notes(1, owner=ada)
    services.ensure_cards(ada)
    answer(Card.objects.first())
    ada.delete()
    assert not Note.objects.exists()


# The line

def test_a_number_takes_its_own_steps_and_a_question_none(ada: User) -> None:
    card = deal(ada)[0]
    labels = [offer.label for offer in queue.offer(card, 1, NOON, ada.profile).values()]
    assert labels == ["1 min", "5.5 min", "10 min", "8 d"]
    answer(card)
    assert (card.state, card.due_at) == (State.LEARNING, NOON + 10 * MINUTE)


def test_the_number_side_waits_while_the_other_is_up(ada: User) -> None:
    deal(ada, 2)
    assert line(ada) == ["n1", "n2"]


def test_a_side_that_was_begun_keeps_the_other_for_a_later_day(ada: User) -> None:
    forward, reverse = deal(ada)
    learn(forward)
    assert line(ada, NOON + 20 * MINUTE) == []
    assert line(ada, NOON + DAY) == ["n1’"]


def test_of_two_sides_due_one_comes_and_the_other_is_named(ada: User) -> None:
    forward, reverse = deal(ada)
    learn(forward)
    learn(reverse, NOON + DAY)
    later = NOON + 30 * DAY
    day = queue.today(ada, later)
    [up] = [place.card for place in day.first_in_line]
    assert [(held.kind, held.count, held.words) for held in day.held_back] == [
        ("siblings", 1, "n1, whose sibling is up today")]
    answer(up, GOOD, later)
    assert line(ada, later) == []
    assert line(ada, later + DAY) == [name(forward if up == reverse else reverse)]


def test_undoing_the_answer_gives_the_day_back(ada: User) -> None:
    forward, reverse = deal(ada)
    answer(forward, EASY)
    assert line(ada) == []
    services.undo(ada, services.last_action(ada).pk, now=NOON)
    assert line(ada) == ["n1"]


def test_a_step_that_reaches_into_the_day_keeps_the_other_side_back(ada: User) -> None:
    ada.profile.number_steps = "10m 12h"
    forward, reverse = deal(ada, number_steps="10m 12h")
    learn(reverse, NOON - 40 * DAY)
    answer(reverse, GOOD, NOON - 39 * DAY)
    Card.objects.filter(pk=reverse.pk).update(due_day=(NOON + DAY).date())
    answer(forward, GOOD, NOON + timedelta(hours=10))  # its second step, due at ten tomorrow morning
    assert line(ada, NOON + timedelta(hours=20)) == []
    assert line(ada, NOON + DAY) == ["n1"]


def test_a_suspended_side_leaves_the_day_to_the_other(ada: User) -> None:
    forward, _ = deal(ada)
    Card.objects.filter(pk=forward.pk).update(suspended=True)
    assert line(ada) == ["n1’"]


def test_new_numbers_have_a_limit_of_their_own_and_stand_among_the_questions(ada: User) -> None:
    write_questions(3)
    deal(ada, 5, new_numbers_per_day=4)
    # Four numbers in all, so the two questions come after the first third and the second.
    assert line(ada) == ["n1", "n2", "q1", "n3", "q2", "n4"]
    words = [held.words for held in queue.today(ada, NOON).held_back]
    assert words == ["1 new question past today’s limit of 2", "6 new numbers past today’s limit of 4"]


def test_what_was_done_counts_and_the_order_of_the_rest_stays(ada: User) -> None:
    write_questions(2)
    deal(ada, 4, new_numbers_per_day=4)
    whole = line(ada)
    for done in range(1, 7):
        answer(queue.next_card(ada, NOON), EASY)
        assert line(ada) == whole[done:]


def test_a_side_that_is_no_longer_asked_brings_no_new_card(ada: User) -> None:
    forward, _ = deal(ada)
    learn(forward, NOON - DAY)
    Note.objects.update(reverse=False)
    assert line(ada) == []


def test_a_sitting_with_the_numbers_alone_leaves_the_questions(ada: User) -> None:
    write_questions(2)
    deal(ada, 3, new_numbers_per_day=2)
    assert line(ada, only="numbers") == ["n1", "n2"]
    assert name(queue.next_card(ada, NOON, only="numbers")) == "n1"
    for _ in range(2):
        answer(queue.next_card(ada, NOON, only="numbers"))
    # Steps of ten minutes come early when no other number is left, though questions are.
    assert line(ada, NOON + MINUTE, only="numbers") == ["n1", "n2"]
    assert line(ada, NOON + MINUTE) == ["q1", "q2"]


def test_a_number_takes_seconds_until_a_pace_is_known(ada: User) -> None:
    deal(ada, 10)
    assert queue.today(ada, NOON).minutes == 2  # ten of 12 s
    for seconds in (30, 600, 20):
        assert queue.today(ada, NOON).first_in_line[0].seconds == 12
        card = queue.next_card(ada, NOON)
        services.open_card(card, NOON)
        attempt = services.commit_attempt(card, ordinal=1, now=NOON + timedelta(seconds=15), aloud=True)
        services.answer_card(card, EASY, ordinal=1, now=NOON + timedelta(seconds=seconds), attempt=attempt)
    # The median of three; after one or two a card left open for ten minutes would have set it.
    assert [place.seconds for place in queue.today(ada, NOON + MINUTE).first_in_line] == [30] * 7


@pytest.mark.parametrize(("slugs", "own", "words"), [
    (["a"], 0, "a, whose sibling is up today"),
    (["b", "a"], 0, "a and b, whose siblings are up today"),
    (["c", "b", "a"], 0, "a, b and c, whose siblings are up today"),
    (["e", "d", "c", "b", "a"], 0, "a, b, c and 2 more, whose siblings are up today"),
    (["a"], 2, "a and 2 more, whose siblings are up today"),
    ([], 1, "1 of your own cards, whose sibling is up today"),
    ([], 4, "4 of your own cards, whose siblings are up today"),
])
def test_siblings_are_named_up_to_three_and_own_cards_counted(slugs: list[str], own: int, words: str) -> None:
    assert siblings.waiting_words(slugs, own) == words


def test_an_own_card_of_words_is_no_number_in_todays_line(ada: User) -> None:
    deal(ada)
    for front in "pq":
        own_cards.save(ada, own_cards.fields_of_words(Note.Kind.BASIC, front, "back", [], True), NOON)
    for card in Card.objects.filter(user=ada):
        services.answer_card(card, EASY, ordinal=1, now=NOON)
    day = queue.today(ada, NOON + 200 * DAY)
    assert Counter(place.card.kind_words for place in day.first_in_line) == {"own": 2, "number": 1}
    assert [held.words for held in day.held_back] == ["n1 and 2 more, whose siblings are up today"]


# A month

@pytest.mark.month
def test_a_month_of_the_default_load_keeps_siblings_apart_and_the_limits(ada: User, real_deck: loading.Bank) -> None:
    loading.load_bank(real_deck)
    write_questions(63)
    services.ensure_cards(ada)
    ada.profile.zone = "Europe/Berlin"
    ada.profile.save()
    dice = random.Random(3)
    for day in range(30):
        now = NOON + day * DAY + dice.randint(-120, 400) * MINUTE
        if dice.random() < 0.1:
            continue  # a day off makes a backlog
        for _ in range(200):
            if (card := queue.next_card(ada, now)) is None:
                break
            now += 20 * timedelta(seconds=1)
            rating = dice.choices((AGAIN, HARD, GOOD, EASY), (10, 15, 65, 10))[0]
            assert services.answer_card(card, rating, ordinal=card.next_ordinal, now=now)
            if dice.random() < 0.04:
                services.undo(ada, services.last_action(ada).pk, now=now)
    rows = list(Review.objects.answers().values_list("study_day", "card__note", "card", "was"))
    assert len({day for day, *_ in rows}) > 20

    sides: dict[tuple, set[int]] = {}
    for day, note, card, _ in rows:
        if note:
            sides.setdefault((day, note), set()).add(card)
    assert sides
    assert all(len(cards) == 1 for cards in sides.values())
    # Both sides of many notes were met, so the rule had work to do.
    met = Counter(note for note, _ in {(note, card) for _, note, card, _ in rows if note})
    assert sum(count == 2 for count in met.values()) > 20

    done = Counter((day, was, bool(note)) for day, note, _, was in rows)
    assert max(count for (_, was, number), count in done.items() if was == State.NEW and number) == 6
    assert max(count for (_, was, number), count in done.items() if was == State.NEW and not number) <= 2
    reviews = Counter(day for day, _, _, was in rows if was == State.REVIEW)
    assert max(reviews.values()) <= 24

    assert [services.rebuild_card(card, write=False) for card in Card.objects.all()] == [""] * Card.objects.count()
