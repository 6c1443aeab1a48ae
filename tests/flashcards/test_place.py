"""A card's place in the drill, and answers left uncounted: who comes up, what the log says, what an undo gives back."""
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from accounts.models import User
from flashcards import memory, queue, services
from flashcards.memory import DEFAULT_PARAMETERS, Memory
from flashcards.models import Attempt, Card, Draft, Memo, Rating, Review
from tests.flashcards.conftest import NOON
from tests.flashcards.test_numbers import write_notes
from tests.flashcards.test_queue import answer, line, set_profile
from tests.flashcards.test_services import commit, derived, place, undo
from tests.flashcards.test_threads import THREADS, at_once

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
Deal = Callable[[int], list[Card]]


# Suspended

def test_a_suspended_card_stays_out_until_it_is_taken_back(deal: Deal, ada: User) -> None:
    first, _ = deal(2)
    assert place(first, "suspend")
    assert line(ada) == [2]
    assert place(first, "unsuspend")
    assert line(ada) == [1, 2]
    assert [row.kind for row in first.reviews.all()] == ["suspend", "unsuspend"]


def test_suspending_moves_no_memory_and_no_due(card: Card) -> None:
    answer(card)
    before = derived(card, "log_length", "suspended")
    place(card, "suspend", NOON + DAY)
    assert derived(card, "log_length", "suspended") == before
    row = card.reviews.last()
    assert (row.due_day, row.stability) == (card.due_day, card.stability)


def test_what_is_so_already_writes_nothing(card: Card) -> None:
    assert not place(card, "unsuspend")
    assert place(card, "suspend")
    assert not place(card, "suspend")
    assert not place(card, "add")
    assert Review.objects.count() == 1


def test_a_stale_page_changes_no_place(card: Card) -> None:
    place(card, "suspend")
    assert not services.set_suspended(card, False, ordinal=1, now=NOON)
    assert not services.add_to_drill(card, ordinal=1, now=NOON)
    assert Review.objects.count() == 1


def test_a_suspended_card_can_be_answered_and_stays_out(card: Card) -> None:
    place(card, "suspend")
    answer(card, Rating.GOOD)
    assert card.suspended
    assert line(card.user, NOON + 9 * DAY) == []


# Added

def test_a_new_question_is_begun_out_of_turn_and_past_the_limit(deal: Deal, ada: User) -> None:
    *_, last = deal(4)
    set_profile(ada, new_questions_per_day=2)
    assert line(ada) == [1, 2]
    place(last, "add")
    assert line(ada) == [4, 1]  # it takes one of the day's two places
    set_profile(ada, new_questions_per_day=0)
    assert line(ada) == [4]
    answer(last)
    assert not last.asked
    assert line(ada) == []


def test_a_card_due_later_comes_today_first_and_past_the_limit(deal: Deal, ada: User) -> None:
    cards = deal(3)
    for one in cards:
        answer(one)  # due on Wednesday
    answer(cards[2], now=NOON + 2 * DAY)  # due later
    set_profile(ada, reviews_per_day=1)
    assert line(ada, NOON + 3 * DAY) == [1]
    place(cards[2], "add", NOON + 3 * DAY)
    assert cards[2].due_day == (NOON + 3 * DAY).date()
    assert line(ada, NOON + 3 * DAY) == [3]
    set_profile(ada, reviews_per_day=2)
    assert line(ada, NOON + 3 * DAY) == [3, 1]


@pytest.mark.parametrize("rating", [Rating.AGAIN, Rating.HARD])
def test_a_step_that_is_given_a_day_comes_on_it_and_back_by_undo(ada: User, card: Card, rating: Rating):
    ada.profile.question_steps, ada.profile.relearning_steps = "10m 20m", "10m"
    ada.profile.save()
    answer(card, rating, NOON)
    before = {name: getattr(card, name) for name in Card.DERIVED if name != "log_length"}
    assert card.due_at
    assert services.set_due(card, NOON.date() + 5 * DAY, ordinal=2, now=NOON)
    card.refresh_from_db()
    assert (card.state, card.step, card.stability) == ("review", None, before["stability"])
    assert not queue.plan(ada, NOON + 4 * DAY).line
    assert [one.pk for one in queue.plan(ada, NOON + 5 * DAY).line] == [card.pk]
    assert services.rebuild_card(card, write=False) == ""
    assert services.undo(ada, services.last_action(ada).pk, now=NOON)
    card.refresh_from_db()
    assert {name: getattr(card, name) for name in before} == before


def test_adding_an_overdue_card_keeps_the_day_it_fell_due(card: Card) -> None:
    answer(card)
    place(card, "add", NOON + 30 * DAY)
    assert card.due_day == (NOON + 2 * DAY).date()


def test_a_step_that_waits_comes_at_once(card: Card) -> None:
    answer(card)
    answer(card, Rating.AGAIN, NOON + 2 * DAY)
    place(card, "add", NOON + 2 * DAY + MINUTE)
    assert card.due_at == NOON + 2 * DAY + MINUTE
    assert line(card.user, NOON + 2 * DAY + MINUTE) == [1]


def test_added_early_the_interval_counts_the_days_that_passed(card: Card) -> None:
    answer(card)
    plain = memory.step(card.memory, 3, at=NOON + DAY, study_day=(NOON + DAY).date(),
                        rules=queue.rules(card.user.profile, card))
    place(card, "add", NOON + DAY)
    answer(card, Rating.GOOD, NOON + DAY)
    assert (card.stability, card.due_day) == (plain[0].stability, plain[1].day)


# Undo across

def test_undo_goes_back_over_suspensions_and_additions(deal: Deal, ada: User) -> None:
    first, second = deal(2)
    before = [derived(one, "log_length") for one in (first, second)]
    answer(first)
    place(second, "add")
    place(first, "suspend")
    for one in (first, second, first):
        assert undo(one) is not None
    assert [derived(one, "log_length") for one in (first, second)] == before
    assert Review.objects.count() == 6


def test_undoing_a_suspension_leaves_the_draft_alone(card: Card) -> None:
    services.open_card(card, NOON)
    place(card, "suspend")
    services.save_draft(card, 2, typed="half an answer")
    undo(card, NOON + DAY)
    draft = Draft.objects.get(card=card)
    assert (draft.typed, draft.opened_at) == ("half an answer", NOON)


def test_an_undone_suspension_does_not_push_the_card_to_the_front(deal: Deal, ada: User) -> None:
    _, second = deal(2)
    place(second, "suspend")
    undo(second)
    assert queue.next_card(ada, NOON).question.position == 1


def test_a_commit_outlives_a_suspension(card: Card) -> None:
    attempt = commit(card)
    place(card, "suspend")
    assert services.committed(card) == attempt
    assert services.answer_card(card, Rating.GOOD, ordinal=2, now=NOON, attempt=attempt)


# Left uncounted

def leave(card: Card, attempt: Attempt) -> bool:
    card.refresh_from_db()
    return services.leave_uncounted(card, ordinal=card.next_ordinal, now=NOON, attempt_pk=attempt.pk)


def test_leaving_an_answer_uncounted_keeps_it_and_moves_nothing(card: Card) -> None:
    before, attempt = derived(card), commit(card)
    services.set_ticks(card, 1, ["budget"])
    assert leave(card, attempt)
    assert services.committed(card) is None
    assert derived(card) == before
    assert not Review.objects.exists()
    kept = card.attempts.get(kind="leave")
    assert (kept.typed, kept.ticks) == ("250 ms", ["budget"])
    assert not Draft.objects.exists()


def test_leaving_twice_leaves_the_next_answer_alone(card: Card) -> None:
    first = commit(card)
    assert leave(card, first)
    second = commit(card, typed="300 ms")
    assert second.pk != first.pk
    assert not leave(card, first)
    assert services.committed(card) == second


def test_after_leaving_other_numbers_are_drawn_and_an_undo_brings_those_back(card: Card) -> None:
    seeds = {services.draw_seed(card)}
    leave(card, commit(card))
    seeds.add(services.draw_seed(card))
    second = commit(card)
    answer(card)
    seeds.add(services.draw_seed(card))
    assert len(seeds) == 3
    undo(card)
    assert services.committed(card) == second
    leave(card, second)
    assert services.draw_seed(card) not in seeds


def test_what_is_graded_can_no_longer_be_left(card: Card) -> None:
    attempt = commit(card)
    assert services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON, attempt=attempt)
    assert not leave(card, attempt)


@pytest.mark.django_db(transaction=True)
def test_ten_threads_add_once_and_leave_once(card: Card) -> None:
    added = at_once(lambda _: services.add_to_drill(card, ordinal=1, now=NOON))
    attempt = services.commit_attempt(card, ordinal=2, now=NOON)
    left = at_once(lambda _: services.leave_uncounted(card, ordinal=2, now=NOON, attempt_pk=attempt.pk))
    for results in (added, left):
        assert sorted(results) == [False] * (THREADS - 1) + [True]
    assert (Review.objects.count(), Attempt.objects.count()) == (1, 2)


# Notes and the curve

@pytest.mark.parametrize("about", ["question", "number"])
def test_a_note_is_kept_once_and_an_empty_one_is_none(card: Card, about: str) -> None:
    item = card.question if about == "question" else write_notes(1)[0]
    for text in ("first", "second"):
        services.save_memo(card.user, item, text, NOON)
    assert Memo.objects.get().text == services.memo_on(card.user, item) == "second"
    services.save_memo(card.user, item, " \n", NOON)
    assert not Memo.objects.exists()


def test_a_note_is_about_one_thing(card: Card) -> None:
    for about in ({}, {"question": card.question, "note": write_notes(1)[0]}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Memo.objects.create(user=card.user, text="x", changed_at=NOON, **about)


@pytest.mark.parametrize("days", [0, 1, 7, 40, 400])
def test_the_curve_is_the_packages_own_at_whole_days(days: int) -> None:
    day = NOON.date()
    once = memory.step(Memory(), 3, at=NOON, study_day=day, rules=memory.Rules())[0]
    by_package = memory.predicted_recall(once, day + days * DAY)
    assert memory.recall_after(days, once.stability, DEFAULT_PARAMETERS) == pytest.approx(by_package)


def test_the_curve_passes_nine_tenths_after_a_stability_of_days() -> None:
    assert memory.recall_after(10, 10) == pytest.approx(0.9)
