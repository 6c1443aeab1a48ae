"""Catching up: what an order of the backlog costs, days filled to their minutes, and the act that moves the cards."""
from collections.abc import Callable
from datetime import timedelta
from itertools import permutations
from random import Random

import pytest

from accounts.models import User
from flashcards import backlog, catching_up, memory, queue, services
from flashcards.backlog import Backlog, Wanted
from flashcards.catching_up import Order, Ordinary, Plan, Waiting
from flashcards.models import Card, Rating, Review
from tests.flashcards.conftest import NOON

Deal = Callable[[int], list[Card]]
MONDAY = NOON.date()
DAY = timedelta(days=1)
IDLE = [Ordinary(0, 0)] * 90
ANY = 999  # reviews a day: no limit that binds


def recall(days: float, stability: float) -> float:
    return memory.recall_after(days, stability)


def waiting(*stabilities: float, since: int = 30, seconds: int = 60) -> list[Waiting]:
    return [Waiting(pk, seconds, since, stability, 1.0) for pk, stability in enumerate(stabilities, 1)]


def after_three_weeks(count: int = 200, seed: int = 7) -> list[Waiting]:
    """Cards of all ages that fell due evenly over the last 21 days, each at the interval that 0.9 asks for."""
    random, cards = Random(seed), []
    for pk in range(count):
        interval, overdue = round(2 * 45 ** random.random()), random.randrange(21)
        cards.append(Waiting(pk, random.choice((12, 60, 180)), interval + overdue, interval, overdue / interval))
    return cards


# The plan

def test_what_is_still_known_is_the_sum_of_predicted_recall():
    # FSRS-6: after as many days as its stability a card is known with 0.9, whatever its parameters.
    assert catching_up.known_today(waiting(30, 30, 30, 30), recall) == pytest.approx(3.6)


def test_each_day_takes_what_its_minutes_leave_beside_its_own():
    line = waiting(*[10] * 7)  # of a minute each
    ordinary = [Ordinary(120, 2), Ordinary(0, 0), Ordinary(600, 9), *IDLE]
    plan = catching_up.plan_by_minutes(line, ordinary, 3, ANY, Order.FADING, recall)
    assert [len(day.cards) for day in plan.days] == [1, 3, 0, 3]  # the third day is full by itself
    assert [day.left for day in plan.days] == [6, 3, 3, 0]
    assert sorted(pk for day in plan.days for pk in day.cards) == [card.pk for card in line]
    assert sorted(plan.later.values()) == [1, 1, 1, 3, 3, 3]


def test_two_sides_of_a_number_never_come_on_one_day():
    line = [Waiting(pk, 12, 30, 10, 1.0, note) for pk, note in enumerate((7, 7, 8, 8, None), 1)]
    assert [[card.pk for card in day] for day in catching_up.filled(line, IDLE, 10, ANY)] == [[1, 3, 5], [2, 4]]


def test_days_are_kept_by_the_fewest_whole_minutes():
    line = waiting(*[10] * 20)
    plan = catching_up.plan_by_days(line, IDLE, 3, ANY, Order.FADING, recall)
    assert (plan.minutes, [len(day.cards) for day in plan.days]) == (7, [7, 7, 6])  # 20 minutes over 3 days
    assert catching_up.filled(line, IDLE[:3], 6, ANY) is None


def test_minutes_that_the_days_fill_by_themselves_are_too_few():
    busy = [Ordinary(300, 5)] * 90
    assert catching_up.plan_by_minutes(waiting(10), busy, 5, ANY, Order.FADING, recall) is None
    assert catching_up.plan_by_minutes(waiting(10), busy, 6, ANY, Order.FADING, recall) is not None


def test_of_the_orders_what_fades_fastest_first_costs_least_memory():
    cards = after_three_weeks()
    known = {order: catching_up.plan_by_days(cards, IDLE, 14, ANY, order, recall).known for order in Order}
    assert max(known, key=known.get) == Order.FADING
    # Beside answering all of them today it forgets less than the other orders, by a third at least.
    lost = {order: catching_up.known_today(cards, recall) - known[order] for order in Order}
    assert lost[Order.FADING] < min(lost[Order.RECALL], lost[Order.OVERDUE]) * 0.67


def test_no_order_of_a_few_is_much_better_than_what_fades_fastest_first():
    for seed in range(6):
        cards = [Waiting(card.pk, 60, card.since, card.stability, card.overdue) for card in after_three_weeks(6, seed)]

        def lost(line: list[Waiting]) -> float:
            return sum(recall(card.since, card.stability) - recall(card.since + wait, card.stability)
                       for wait, card in enumerate(line))

        best = min(lost(list(line)) for line in permutations(cards))
        assert lost(catching_up.in_order(cards, Order.FADING, recall, 5)) <= best * 1.02


def test_more_days_never_leave_more_known():
    cards = after_three_weeks()
    plans = [catching_up.plan_by_days(cards, IDLE, days, ANY, Order.FADING, recall) for days in (1, 7, 14, 21, 42)]
    known = [plan.known for plan in plans]
    assert known == sorted(known, reverse=True)
    assert known[0] == pytest.approx(catching_up.known_today(cards, recall))


def test_no_day_passes_the_limit_of_reviews():
    cards = waiting(*[20] * 100)
    load = [Ordinary(300, 5)] * 90
    plan = catching_up.plan_by_minutes(cards, load, 60, 24, Order.FADING, recall)
    # With 24 reviews a day and 5 of them anyway, 19 a day are left.
    assert [day.reviews for day in plan.days] == [24] * 5 + [10]
    assert catching_up.fewest_days(cards, load, 24) == 6
    assert catching_up.plan_by_days(cards, load, 5, 24, Order.FADING, recall) is None
    assert catching_up.fewest_days(cards, load, 5) is None


@pytest.mark.parametrize(("days", "three"), [(1, (3, 7, 14)), (14, (7, 14, 21)), (80, (28, 42, 60))])
def test_three_of_the_days_offered_stand_around_a_plan(days: int, three: tuple[int, ...]):
    assert catching_up.around(days) == three


# The act

@pytest.fixture
def away(ada: User, deal: Deal) -> list[Card]:
    """Twelve cards that Ada answered Good three weeks before NOON, of which each fell due."""
    cards = deal(12)
    for card in cards:
        assert services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON - 21 * DAY)
        card.refresh_from_db()
    return cards


def use(ada: User, wanted: Wanted) -> Plan:
    found = Backlog(ada, MONDAY)
    return backlog.spread(ada, wanted, found.seal(found.plan(wanted)), NOON)


def dues(user: User) -> dict[int, object]:
    return dict(Card.objects.filter(user=user).values_list("pk", "due_day"))


def test_a_plan_moves_what_waits_and_leaves_todays(ada: User, away: list[Card]):
    before = dues(ada)
    plan = use(ada, Wanted(days=4))
    after = dues(ada)
    assert [len(day.cards) for day in plan.days] == [3, 3, 3, 3]  # 12 of three minutes
    assert {pk for pk in after if after[pk] == before[pk]} == set(plan.days[0].cards)
    for wait, day in enumerate(plan.days[1:], 1):
        assert {after[pk] for pk in day.cards} == {MONDAY + wait * DAY}
    assert Review.objects.exclude(batch=None).values("kind", "batch").distinct().get()["kind"] == "set_due"
    assert len(queue.today(ada, NOON).due) == 3
    assert all(services.rebuild_card(card, write=False) == "" for card in Card.objects.all())


def test_one_undo_puts_every_date_back(ada: User, away: list[Card]):
    before = dues(ada)
    use(ada, Wanted(days=4))
    row, moved = backlog.spread_today(ada, MONDAY)
    assert moved == 9
    assert services.undo_any(ada, row.pk, now=NOON)
    assert dues(ada) == before
    assert backlog.spread_today(ada, MONDAY) is None


def test_a_plan_sent_twice_moves_once(ada: User, away: list[Card]):
    wanted = Wanted(days=4)
    found = Backlog(ada, MONDAY)
    seal = found.seal(found.plan(wanted))
    assert backlog.spread(ada, wanted, seal, NOON)
    after, rows = dues(ada), Review.objects.count()
    assert backlog.spread(ada, wanted, seal, NOON) is None
    assert (dues(ada), Review.objects.count()) == (after, rows)


def test_a_plan_made_before_an_answer_moves_nothing(ada: User, away: list[Card]):
    wanted = Wanted(days=4)
    found = Backlog(ada, MONDAY)
    seal = found.seal(found.plan(wanted))
    assert services.answer_card(away[0], Rating.GOOD, ordinal=2, now=NOON)
    before = dues(ada)
    assert backlog.spread(ada, wanted, seal, NOON) is None
    assert dues(ada) == before


def test_suspended_buried_and_asked_cards_are_left_alone(ada: User, away: list[Card], eve: User):
    suspended, buried, asked, *_ = away
    services.set_suspended(suspended, True, ordinal=2, now=NOON)
    services.bury(buried, ordinal=2, now=NOON)
    services.add_to_drill(asked, ordinal=2, now=NOON)
    assert {card.pk for card in Backlog(ada, MONDAY).waiting} == {card.pk for card in away[3:]}
    assert Backlog(eve, MONDAY).waiting == []


def test_it_is_heavy_after_a_break_and_not_on_a_day_like_others(ada: User, away: list[Card]):
    assert Backlog(ada, MONDAY).is_heavy  # 12 overdue, three weeks away
    services.answer_card(away[0], Rating.GOOD, ordinal=2, now=NOON - DAY)
    assert not Backlog(ada, MONDAY).is_heavy  # within the limit of 24 a day
    ada.profile.reviews_per_day = 10
    assert Backlog(ada, MONDAY).is_heavy


def test_new_cards_take_their_minutes_as_long_as_there_are_any(ada: User, deal: Deal):
    deal(5)  # of three minutes
    ada.profile.new_questions_per_day = 2
    assert [Backlog(ada, MONDAY).ordinary[at].seconds for at in range(4)] == [360, 360, 180, 0]
