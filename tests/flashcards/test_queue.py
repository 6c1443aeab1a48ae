"""The order of a day, its limits, its figures; days worked out by hand from the log of each test."""
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, time, timedelta

import pytest
from django.http import Http404

from accounts.models import User
from flashcards import access, queue, services
from flashcards.models import Attempt, Card, Rating
from questions.models import Note, Question
from tests.flashcards.conftest import NOON

AGAIN, HARD, GOOD, EASY = Rating
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
MONDAY = NOON.date()


def answer(card: Card, rating: Rating = GOOD, now: datetime = NOON) -> Card:
    card.refresh_from_db()
    assert services.answer_card(card, rating, ordinal=card.next_ordinal, now=now)
    card.refresh_from_db()
    return card


def set_profile(user: User, **fields: object) -> None:
    for name, value in fields.items():
        setattr(user.profile, name, value)
    user.profile.save()


def numbers(cards: Iterable[Card]) -> list[int]:
    """Cards by their place in the deck, 1 for the first."""
    return [card.question.position for card in cards]


def line(user: User, now: datetime = NOON) -> list[int]:
    return numbers(place.card for place in queue.today(user, now).first_in_line)


# The buttons

def test_hard_good_and_easy_are_at_least_a_day_apart(card: Card) -> None:
    # Bare FSRS gives 1, 2 and 8 days first, and after a lapse 1, 1 and 1 or the like.
    answer(card, AGAIN)
    for later in range(1, 30, 2):
        now = NOON + later * DAY
        offers = queue.offer(card, card.next_ordinal, now, card.user.profile)
        days = [offers[rating].due_day for rating in (HARD, GOOD, EASY)]
        if None not in days:
            assert days[0] < days[1] < days[2]
        answer(card, AGAIN, now)


def test_the_four_buttons_of_a_new_question(card: Card) -> None:
    offers = queue.offer(card, 1, NOON, card.user.profile)
    # Stability is w0 to w3: 0.212, 1.2931, 2.3065 and 8.2956 days, rounded, at least 1.
    assert {rating.label: offer.label for rating, offer in offers.items()} == {
        "Again": "1 d", "Hard": "1 d", "Good": "2 d", "Easy": "8 d"}


def test_steps_are_shown_as_waits(card: Card, ada: User) -> None:
    set_profile(ada, question_steps="1m 10m")
    offers = queue.offer(card, 1, NOON, ada.profile)
    assert [offer.label for offer in offers.values()] == ["1 min", "5.5 min", "10 min", "8 d"]
    assert offers[GOOD].due_at == NOON + 10 * MINUTE


def test_a_wish_to_remember_less_lengthens_the_days(card: Card, ada: User) -> None:
    set_profile(ada, desired_retention=0.80)
    # 2.3065 * (0.8^-6.485 - 1) / (0.9^-6.485 - 1) = 2.3065 * 3.250 / 0.980 = 7.6
    assert queue.offer(card, 1, NOON, ada.profile)[GOOD].label == "8 d"


# Order

def test_steps_due_come_first_then_reviews_with_the_new_among_them(
    deal: Callable[[int], list[Card]], ada: User
) -> None:
    cards = deal(7)
    for card in cards[:4]:
        answer(card)  # due on Wednesday
    answer(cards[4], GOOD, NOON - 3 * DAY)
    wednesday = NOON + 2 * DAY
    answer(cards[4], AGAIN, wednesday - 11 * MINUTE)
    # Five reviews in all, one of them done, so the two new ones come after the second and the fourth.
    assert line(ada, wednesday) == [5, 1, 6, 2, 3, 7, 4]


def test_reviews_that_fall_due_today_keep_their_order(deal: Callable[[int], list[Card]], ada: User) -> None:
    for card in reversed(deal(3)):
        answer(card)
    day = queue.today(ada, NOON + 2 * DAY)
    assert (numbers(day.due), day.order) == ([1, 2, 3], "in the order they fell due")


def test_new_cards_alone_are_said_to_come_in_the_banks_order(deal: Callable[[int], list[Card]], ada: User) -> None:
    deal(3)
    day = queue.today(ada, NOON)
    assert (line(ada), day.order) == ([1, 2, 3], "in the bank's order")


def test_a_backlog_is_taken_lowest_recall_first(deal: Callable[[int], list[Card]], ada: User) -> None:
    first, second, third = deal(3)
    answer(first, EASY, NOON - 20 * DAY)  # the stabler, the likelier remembered
    answer(second, HARD, NOON - 20 * DAY)
    answer(third, GOOD, NOON - 20 * DAY)
    day = queue.today(ada, NOON)
    assert (numbers(day.due), day.order) == ([2, 3, 1], "lowest predicted recall first")
    recalls = [place.recall for place in day.first_in_line]
    assert recalls == sorted(recalls)


@pytest.mark.parametrize(("order", "in_line", "said"), [
    # Elapsed days over stability, by FSRS-6's first stabilities 8.2956, 1.2931 and 2.3065: 4.8, 4.6, 3.5.
    ("recall", [1, 2, 3], "lowest predicted recall first"),
    ("overdue", [2, 1, 3], "relatively most overdue first"),  # overdue 32 of 8 days, 5 of 1, 6 of 2
    ("day", [1, 3, 2], "longest due first"),  # 32, 6 and 5 days ago
])
def test_a_backlog_is_taken_as_its_person_set(
    deal: Callable[[int], list[Card]], ada: User, order: str, in_line: list[int], said: str
) -> None:
    first, second, third = deal(3)
    answer(first, EASY, NOON - 40 * DAY)
    answer(second, HARD, NOON - 6 * DAY)
    answer(third, GOOD, NOON - 8 * DAY)
    set_profile(ada, backlog_order=order)
    day = queue.today(ada, NOON)
    assert (numbers(day.due), day.order) == (in_line, said)


@pytest.mark.parametrize(
    ("place", "in_line"), [("before", [3, 4, 1, 2]), ("after", [1, 2, 3, 4]), ("among", [1, 3, 2, 4])])
def test_new_ones_come_where_their_person_set(
    deal: Callable[[int], list[Card]], ada: User, place: str, in_line: list[int]
) -> None:
    for card in deal(4)[:2]:
        answer(card, GOOD, NOON - 20 * DAY)
    set_profile(ada, new_place=place)
    assert line(ada) == in_line


def test_next_card_is_the_first_in_line_until_none_is_left(deal: Callable[[int], list[Card]], ada: User) -> None:
    deal(3)
    seen = []
    while (card := queue.next_card(ada, NOON)) is not None:
        assert line(ada)[0] == card.question.position
        seen.append(answer(card))
    assert numbers(seen) == [1, 2, 3]
    assert queue.today(ada, NOON).done_today == 3


def test_cards_put_off_come_last_in_the_order_they_were(deal: Callable[[int], list[Card]], ada: User) -> None:
    first, second, third = (card.pk for card in deal(3))
    assert queue.next_card(ada, NOON, [first]).pk == second
    assert queue.next_card(ada, NOON, [first, second, third]).pk == first
    assert queue.next_card(ada, NOON, [first, second, third, first]).pk == second
    assert queue.next_card(ada, NOON, [12345]).pk == first


def test_an_undone_card_comes_next_though_others_are_due(deal: Callable[[int], list[Card]], ada: User) -> None:
    first, second, _ = deal(3)
    answer(first)
    answer(second)
    services.undo(ada, services.last_action(ada).pk, now=NOON)
    assert queue.next_card(ada, NOON) == second
    services.undo(ada, services.last_action(ada).pk, now=NOON)
    assert queue.next_card(ada, NOON) == first
    answer(first)
    assert queue.next_card(ada, NOON) == second


def test_a_review_done_early_and_undone_is_shown_though_it_is_not_due(card: Card, ada: User) -> None:
    answer(card)
    answer(card, GOOD, NOON + DAY)
    services.undo(ada, services.last_action(ada).pk, now=NOON + DAY)
    assert queue.next_card(ada, NOON + DAY) == card


def test_a_step_due_within_twenty_minutes_comes_when_nothing_else_is_left(
    deal: Callable[[int], list[Card]], ada: User
) -> None:
    set_profile(ada, question_steps="20m")
    first, second = deal(2)
    answer(first, AGAIN)
    assert queue.next_card(ada, NOON) == second
    answer(second, EASY)
    assert queue.next_card(ada, NOON) == first
    assert numbers(queue.today(ada, NOON).learning_due) == [1]
    answer(first, HARD)  # half an hour
    day = queue.today(ada, NOON)
    assert queue.next_card(ada, NOON) is None
    assert (day.learning_due, day.next_due) == ([], NOON + 30 * MINUTE)


# Limits

def test_new_ones_past_the_limit_are_held_back_and_said(deal: Callable[[int], list[Card]], ada: User) -> None:
    deal(5)
    set_profile(ada, new_questions_per_day=2)
    day = queue.today(ada, NOON)
    assert numbers(day.new_today) == [1, 2]
    assert [held.words for held in day.held_back] == ["3 new questions past today’s limit of 2"]


def test_what_was_done_today_counts_against_the_limit_until_it_is_undone(
    deal: Callable[[int], list[Card]], ada: User
) -> None:
    cards = deal(5)
    set_profile(ada, new_questions_per_day=2)
    answer(cards[0])
    assert numbers(queue.today(ada, NOON).new_today) == [2]
    answer(cards[1])
    assert queue.next_card(ada, NOON) is None
    assert queue.today(ada, NOON).next_due == datetime(2026, 3, 3, 4, tzinfo=UTC)
    services.undo(ada, services.last_action(ada).pk, now=NOON)
    assert numbers(queue.today(ada, NOON).new_today) == [2]
    assert numbers(queue.today(ada, NOON + DAY).new_today) == [2, 3]


def test_reviews_past_the_limit_are_the_likeliest_remembered(deal: Callable[[int], list[Card]], ada: User) -> None:
    for card, rating in zip(deal(3), (EASY, HARD, GOOD), strict=True):
        answer(card, rating, NOON - 20 * DAY)
    set_profile(ada, reviews_per_day=2)
    day = queue.today(ada, NOON)
    assert numbers(day.due) == [2, 3]
    assert [held.words for held in day.held_back] == ["1 review past today’s limit of 2"]
    assert day.forecast[0] == (MONDAY, 3)


def test_retired_questions_bring_no_new_card_and_keep_the_old(deal: Callable[[int], list[Card]], ada: User) -> None:
    first, second = deal(2)
    answer(first, GOOD, NOON - 5 * DAY)
    Question.objects.update(retired=True)
    assert line(ada) == [1]


def test_a_suspended_card_is_nowhere(deal: Callable[[int], list[Card]], ada: User) -> None:
    deal(2)
    ada.cards.filter(question__slug="q1").update(suspended=True)
    assert line(ada) == [2]


# Days and zones

def test_due_turns_with_the_day_start(card: Card, ada: User) -> None:
    set_profile(ada, zone="Europe/Berlin")
    answer(card)  # due on 4 March, from 04:00 there
    assert queue.next_card(ada, datetime(2026, 3, 4, 2, 59, tzinfo=UTC)) is None
    assert queue.next_card(ada, datetime(2026, 3, 4, 3, 0, tzinfo=UTC)) == card
    assert queue.today(ada, NOON).next_due == datetime(2026, 3, 4, 3, 0, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Los_Angeles", "Europe/Berlin"])
def test_a_flight_loses_nothing_and_shows_nothing_twice(
    zone: str, deal: Callable[[int], list[Card]], ada: User
) -> None:
    cards = deal(4)
    for card in cards[:2]:
        answer(card)
    due = {card.pk: card.due_day for card in cards[:2]}
    set_profile(ada, zone=zone)
    assert line(ada) == [3, 4]
    for card in cards[2:]:
        answer(card)
    assert line(ada) == []
    shown = []
    for hour in range(0, 24 * 9, 3):
        while (card := queue.next_card(ada, NOON + timedelta(hours=hour))) is not None:
            shown.append(card.pk)
            answer(card, EASY, NOON + timedelta(hours=hour))
    assert sorted(shown) == sorted(card.pk for card in cards)
    assert {card.pk: card.reviews.first().due_day for card in cards[:2]} == due


def test_a_later_day_start_does_not_bring_the_day_back(card: Card, ada: User) -> None:
    answer(card, GOOD, datetime(2026, 3, 2, 6, tzinfo=UTC))
    set_profile(ada, day_start=time(8))  # at 06:30 it is yesterday again
    at = datetime(2026, 3, 2, 6, 30, tzinfo=UTC)
    assert queue.next_card(ada, at) is None
    answer(card, GOOD, at)
    assert card.last_day == MONDAY
    assert card.due_day > MONDAY


# Figures

def test_the_next_fourteen_days_count_every_card_once(deal: Callable[[int], list[Card]], ada: User) -> None:
    first, second, third, _ = deal(4)
    answer(first)  # Wednesday
    answer(second, EASY)  # in 8 days
    answer(third, GOOD, NOON - 9 * DAY)  # overdue
    forecast = queue.today(ada, NOON).forecast
    assert [day for day, _ in forecast] == [MONDAY + at * DAY for at in range(14)]
    assert [count for _, count in forecast] == [1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]


def test_a_missed_day_pauses_the_row_and_a_month_ends_it(card: Card, ada: User) -> None:
    for day in (-40, -6, -4, -3, -2, -1):  # between the first two, 33 days without an answer
        answer(card, GOOD, NOON + day * DAY)
    day = queue.today(ada, NOON)
    assert (day.streak, day.studied_today) == (5, False)  # the day missed neither adds nor takes
    answer(card)
    day = queue.today(ada, NOON)
    assert (day.streak, day.studied_today) == (6, True)
    assert queue.today(ada, NOON + 2 * DAY).streak == 6
    assert queue.today(ada, NOON + 31 * DAY).streak == 6  # 30 days missed
    assert queue.today(ada, NOON + 32 * DAY).streak == 0


def test_an_undone_day_is_no_day(card: Card, ada: User) -> None:
    answer(card)
    services.undo(ada, services.last_action(ada).pk, now=NOON)
    assert (queue.today(ada, NOON).streak, queue.today(ada, NOON).done_today) == (0, 0)


def test_minutes_are_the_questions_own_until_a_pace_is_known(deal: Callable[[int], list[Card]], ada: User) -> None:
    first, *rest = deal(4)
    assert queue.today(ada, NOON).minutes == 12  # 4 of 3 minutes
    for at, minutes in enumerate((4, 5, 30, 300)):
        now = NOON + at * DAY
        services.open_card(first, now)
        first.refresh_from_db()
        attempt = services.commit_attempt(first, ordinal=first.next_ordinal, now=now + MINUTE)
        services.answer_card(first, EASY, ordinal=first.next_ordinal, now=now + minutes * MINUTE, attempt=attempt)
    assert Attempt.objects.filter(kind="grade").count() == 4
    day = queue.today(ada, NOON + 2 * DAY)
    assert [place.seconds for place in day.first_in_line] == [300] * 3  # the median of 4, 5, 30; 5 h are no pace
    assert day.minutes == 15


def test_a_day_without_cards_is_empty(ada: User) -> None:
    day = queue.today(ada, NOON)
    assert (day.first_in_line, day.minutes, day.next_due, day.streak) == ([], 0, None, 0)
    assert sum(count for _, count in day.forecast) == 0
    assert day.ends_at == datetime(2026, 3, 3, 4, tzinfo=UTC)
    assert queue.next_card(ada, NOON) is None


def test_a_strangers_day_is_untouched_by_mine(card: Card, eve: User) -> None:
    answer(card)
    assert queue.next_card(eve, NOON + 2 * DAY) is None
    day = queue.today(eve, NOON)
    assert (day.done_today, day.studied_today, sum(count for _, count in day.forecast)) == (0, False, 0)


def test_a_card_is_known_to_its_owner_alone(card: Card, eve: User) -> None:
    assert access.card_for(card.user, card.pk) == card
    with pytest.raises(Http404):
        access.card_for(eve, card.pk)


def test_more_than_a_thousand_due_on_one_day_are_all_in_line(ada: User, card: Card) -> None:
    """SQLite takes no condition of more than a thousand parts, and a limit may be set that high."""
    count = 1_010
    topic = card.question.topic
    notes = Note.objects.bulk_create(
        Note(slug=f"n{at}", topic=topic, position=at, ask=f"Number {at}?", value=at, accept=[at, at], origin="Counted.")
        for at in range(count))
    today = NOON.date()
    Card.objects.bulk_create(
        Card(user=ada, note=note, state="review", stability=9, difficulty=5, fed_at=NOON - 9 * DAY, due_day=today,
             last_day=today - 9 * DAY, last_at=NOON - 9 * DAY) for note in notes)
    ada.profile.reviews_per_day = count
    ada.profile.save()
    assert len(queue.plan(ada, NOON).due) == count
