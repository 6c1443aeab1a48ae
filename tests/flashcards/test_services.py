"""Answering, committing and undoing cards: once each, and the log always says what is stored."""
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from accounts.models import User
from flashcards import memory, queue, services
from flashcards.models import Attempt, Card, Draft, Rating, Review
from questions.models import Question
from tests.conftest import person
from tests.flashcards.conftest import NOON, write_questions

AGAIN, HARD, GOOD, EASY = Rating
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
COMMIT = {"values": {"run": {"rate": 50}}, "digest": "d1", "typed": "250 ms", "value": 250.0, "ratio": 0.25,
          "within": False, "confidence": 80}


def answer(card: Card, rating: Rating = GOOD, now: datetime = NOON, attempt: Attempt | None = None) -> Review:
    card.refresh_from_db()
    assert services.answer_card(card, rating, ordinal=card.next_ordinal, now=now, attempt=attempt)
    card.refresh_from_db()
    return card.reviews.last()


def commit(card: Card, now: datetime = NOON, **fields: Any) -> Attempt:
    card.refresh_from_db()
    return services.commit_attempt(card, ordinal=card.next_ordinal, now=now, **COMMIT | fields)


def undo(card: Card, now: datetime = NOON) -> Review | None:
    undone = services.undo(card.user, services.last_action(card.user).pk, now=now)
    card.refresh_from_db()
    return undone


def place(card: Card, verb: str, now: datetime = NOON, which: int = 0) -> bool:
    """Do something to the card that is no answer; an earlier answer is the `which`-th."""
    at = {"ordinal": card.next_ordinal, "now": now}
    named = [review.pk for review in card.reviews.answers()][which:which + 1] or [0]
    match verb:
        case "add":
            done = services.add_to_drill(card, **at)
        case "bury" | "reset":
            done = getattr(services, verb)(card, **at)
        case "set_due":
            done = services.set_due(card, NOON.date() + 20 * DAY, **at)
        case "amend":
            done = services.amend(card, *named, GOOD, **at)
        case "remove":
            done = services.remove(card, *named, **at)
        case _:
            done = services.set_suspended(card, verb == "suspend", **at)
    card.refresh_from_db()
    return done


def derived(card: Card, *without: str) -> dict[str, Any]:
    return {name: getattr(card, name) for name in Card.DERIVED if name not in without}


# Cards

def test_every_open_question_gets_one_card(ada: User) -> None:
    write_questions(3)
    Question.objects.filter(slug="q2").update(retired=True)
    Question.objects.filter(slug="q3").update(draft=True)
    services.ensure_cards(ada)
    services.ensure_cards(ada)
    assert [card.question.slug for card in ada.cards.all()] == ["q1"]


# Answering

def test_an_answer_is_one_row_with_the_day_it_fell_on(card: Card) -> None:
    card.user.profile.zone = "Pacific/Auckland"
    card.user.profile.save()
    answer(card, now=datetime(2026, 3, 2, 14, 59, tzinfo=UTC))  # 03:59 of 3 March there
    row = card.reviews.get()
    assert (row.kind, row.rating, row.ordinal, row.was, row.state) == ("answer", GOOD, 1, "new", "review")
    assert (row.study_day, row.zone, str(row.day_start)) == (date(2026, 3, 2), "Pacific/Auckland", "04:00:00")
    assert row.due_day == card.due_day == date(2026, 3, 4)
    assert row.due_at is card.due_at is None


def test_what_the_button_showed_is_what_happens(card: Card) -> None:
    for now in (NOON, NOON + 2 * DAY, NOON + 9 * DAY):
        offers = queue.offer(card, card.next_ordinal, now, card.user.profile)
        row = answer(card, HARD, now)
        assert (row.due_day, row.due_at, row.stability) == (
            offers[HARD].due_day, offers[HARD].due_at, offers[HARD].memory.stability)


def test_second_click_changes_nothing(card: Card) -> None:
    answer(card)
    before = derived(card)
    assert not services.answer_card(card, EASY, ordinal=1, now=NOON)
    card.refresh_from_db()
    assert derived(card) == before
    assert card.reviews.count() == 1


def test_a_position_that_is_not_the_next_is_refused(card: Card) -> None:
    assert not services.answer_card(card, GOOD, ordinal=2, now=NOON)
    assert not services.answer_card(card, GOOD, ordinal=0, now=NOON)
    assert not card.reviews.exists()


def test_a_lapse_comes_back_in_ten_minutes_exactly(card: Card) -> None:
    answer(card)
    answer(card, AGAIN, NOON + 2 * DAY)
    assert (card.state, card.due_at, card.due_day, card.lapses) == ("relearning", NOON + 2 * DAY + 10 * MINUTE, None, 1)


# Committing

def test_the_clock_starts_at_the_first_look_and_goes_on_through_a_reload(card: Card) -> None:
    services.open_card(card, NOON)
    services.open_card(card, NOON + MINUTE)
    assert commit(card, NOON + 3 * MINUTE).seconds == 180


def test_who_only_looked_in_begins_afresh_later(card: Card) -> None:
    services.open_card(card, NOON)
    services.open_card(card, NOON + 2 * DAY)
    assert commit(card, NOON + 2 * DAY + MINUTE).seconds == 60


def test_who_left_something_there_goes_on(card: Card) -> None:
    services.open_card(card, NOON)
    services.save_draft(card, 1, typed="25")
    services.open_card(card, NOON + 2 * 60 * MINUTE)
    assert commit(card, NOON + 2 * 60 * MINUTE).seconds == 7200


def test_a_second_commit_returns_the_first(card: Card) -> None:
    first = commit(card)
    assert commit(card, typed="984 ms", value=984.0) == first
    assert card.attempts.get().typed == "250 ms"


def test_a_commit_from_a_stale_page_writes_nothing(card: Card) -> None:
    answer(card)
    assert services.commit_attempt(card, ordinal=1, now=NOON, **COMMIT) is None
    assert not card.attempts.exists()


def test_a_committed_answer_waits_for_its_grade_across_days(card: Card) -> None:
    attempt = commit(card)
    card.refresh_from_db()
    assert services.committed(card) == attempt
    answer(card, GOOD, NOON + DAY, attempt)
    assert services.committed(card) is None


def test_the_grade_keeps_the_commit_with_its_final_ticks(card: Card) -> None:
    services.open_card(card, NOON)
    attempt = commit(card, NOON + 2 * MINUTE)
    assert services.set_ticks(card, 1, ["budget"])
    assert services.set_ticks(card, 1, ["budget", "lockout"])
    row = answer(card, HARD, NOON + 5 * MINUTE, attempt)
    graded = row.attempt
    assert (graded.kind, graded.ordinal, graded.ticks, graded.seconds) == ("grade", 1, ["budget", "lockout"], 300)
    assert all(getattr(graded, name) == getattr(attempt, name) for name in Attempt.COMMITTED)
    assert card.attempts.get(kind="check").ticks == []
    assert not Draft.objects.exists()


def test_a_draft_is_kept_while_typing_and_only_from_the_page_in_hand(card: Card) -> None:
    services.open_card(card, NOON)
    assert services.save_draft(card, 1, typed="25", confidence=70)
    assert not services.save_draft(card, 2, typed="from another tab")
    draft = services.open_card(card, NOON + MINUTE)
    assert (draft.typed, draft.confidence, draft.opened_at) == ("25", 70, NOON)
    with pytest.raises(TypeError, match="opened_at"):
        services.save_draft(card, 1, opened_at=NOON)


def test_a_draft_of_a_graded_card_is_not_written(card: Card) -> None:
    services.open_card(card, NOON)
    answer(card)
    assert not services.save_draft(card, 1, typed="too late")
    assert services.open_card(card, NOON + DAY).typed == ""


# Undo

def test_an_undo_brings_back_memory_and_due(card: Card) -> None:
    answer(card)
    before = derived(card, "log_length")
    answer(card, AGAIN, NOON + 2 * DAY)
    row = undo(card, NOON + 2 * DAY)
    assert (row.kind, row.ordinal, row.names.ordinal, row.was, row.state) == ("undo", 3, 2, "relearning", "review")
    assert row.due_day == card.due_day == date(2026, 3, 4)
    assert derived(card, "log_length") == before
    assert card.log_length == 3


def test_undoing_the_first_answer_makes_the_card_new(card: Card) -> None:
    before = derived(card, "log_length")
    answer(card)
    undo(card)
    assert derived(card, "log_length") == before


def test_naming_a_row_twice_does_nothing(card: Card) -> None:
    row = answer(card)
    assert services.undo(card.user, row.pk, now=NOON)
    assert services.undo(card.user, row.pk, now=NOON) is None
    assert card.reviews.count() == 2


def test_undo_goes_back_over_cards_and_days_without_limit(deal: Callable[[int], list[Card]], ada: User) -> None:
    cards = deal(3)
    rows = [answer(card, GOOD, NOON + day * DAY) for day in range(0, 40, 10) for card in cards]
    for row in reversed(rows):
        assert services.last_action(ada) == row
        assert services.undo(ada, row.pk, now=NOON + 99 * DAY)
    assert services.last_action(ada) is None
    assert {card.state for card in ada.cards.all()} == {"new"}
    assert Review.objects.count() == 2 * len(rows)


def test_only_the_latest_action_is_undone(deal: Callable[[int], list[Card]], ada: User) -> None:
    first, second = deal(2)
    earlier = answer(first)
    answer(second)
    assert services.undo(ada, earlier.pk, now=NOON) is None
    assert Review.objects.count() == 2


def test_a_stranger_undoes_nothing_of_mine(card: Card, eve: User) -> None:
    row = answer(card)
    assert services.undo(eve, row.pk, now=NOON) is None
    assert services.last_action(eve) is None


def test_after_an_undo_the_numbers_and_the_committed_answer_are_back(card: Card) -> None:
    answer(card)
    seed = card.seed
    services.open_card(card, NOON + 2 * DAY)
    attempt = commit(card, NOON + 2 * DAY + MINUTE)
    services.set_ticks(card, 2, ["budget"])
    answer(card, GOOD, NOON + 2 * DAY + 4 * MINUTE, attempt)
    assert card.seed != seed
    undo(card, NOON + 3 * DAY)
    assert card.seed == seed
    assert services.committed(card) == attempt
    draft = services.open_card(card, NOON + 3 * DAY)
    assert (draft.typed, draft.confidence, draft.ticks) == ("250 ms", 80, ["budget"])
    assert draft.opened_at == NOON + 3 * DAY - 4 * MINUTE  # the clock goes on from where it was
    row = answer(card, EASY, NOON + 3 * DAY + MINUTE, attempt)
    assert (row.ordinal, row.attempt.ticks, row.attempt.seconds) == (4, ["budget"], 300)


def test_a_commit_of_an_abandoned_course_does_not_come_back(card: Card) -> None:
    first = commit(card)
    answer(card, attempt=first)
    second = commit(card, NOON + 2 * DAY)
    answer(card, now=NOON + 2 * DAY, attempt=second)
    undo(card)
    assert services.committed(card) == second
    undo(card)
    assert services.committed(card) == first
    answer(card, HARD, attempt=first)
    assert services.committed(card) is None  # the second was given after another first


# The log

def test_rows_are_never_changed_or_deleted(card: Card) -> None:
    row = answer(card, attempt=commit(card))
    for kept in (row, card.attempts.first()):
        with pytest.raises(TypeError, match="never changed"):
            kept.save()
        with pytest.raises(TypeError, match="never deleted"):
            kept.delete()
        with pytest.raises(TypeError, match="never changed"):
            type(kept).objects.update(at=NOON)
        with pytest.raises(TypeError, match="never deleted"):
            type(kept).objects.all().delete()


def test_the_database_itself_refuses_a_second_row_of_an_ordinal(card: Card) -> None:
    row = answer(card)
    copy = {field.name: getattr(row, field.name) for field in Review._meta.fields if field.name != "id"}
    for wrong in ({}, {"ordinal": 2, "rating": None}, {"ordinal": 2, "rating": 5}, {"ordinal": 2, "kind": "undo"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Review.objects.create(**copy | wrong)


def test_an_account_goes_with_its_log(card: Card) -> None:
    answer(card, attempt=commit(card))
    undo(card)
    answer(card)
    card.user.delete()
    assert not Review.objects.exists()
    assert not Attempt.objects.exists()


def check() -> str:
    """What `rebuild_cards --check` prints; it must not exit."""
    out = StringIO()
    call_command("rebuild_cards", "--check", stdout=out)
    return out.getvalue()


def test_a_card_that_differs_from_its_log_is_named_and_rebuilt(card: Card) -> None:
    answer(card)
    true = derived(card)
    Card.objects.update(stability=99.0, due_day=date(2030, 1, 1))
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("rebuild_cards", "--check", stdout=out)
    said = f"card {card.pk}: stability 99.0, by the log 2.3065, due_day 2030-01-01, by the log 2026-03-04\n"
    assert out.getvalue() == said
    card.refresh_from_db()
    assert card.stability == 99.0
    call_command("rebuild_cards", stdout=(out := StringIO()))
    assert out.getvalue().endswith("1 cards, 1 rebuilt\n")
    card.refresh_from_db()
    assert derived(card) == true
    assert check() == ""


def test_changed_settings_move_no_due_and_leave_the_log_exact(card: Card) -> None:
    answer(card)
    answer(card, AGAIN, NOON + 2 * DAY)
    profile = card.user.profile
    profile.desired_retention, profile.question_steps, profile.relearning_steps = 0.8, "1m 10m", ""
    profile.zone = "Pacific/Auckland"
    profile.save()
    assert check() == ""


def test_other_parameters_change_stability_and_no_due(card: Card) -> None:
    answer(card)
    profile = card.user.profile
    profile.fsrs_parameters = [*memory.DEFAULT_PARAMETERS[:2], 5.0, *memory.DEFAULT_PARAMETERS[3:]]
    profile.save()
    call_command("rebuild_cards", stdout=StringIO())
    card.refresh_from_db()
    assert (card.stability, card.due_day) == (5.0, date(2026, 3, 4))


ZONES = ("UTC", "Pacific/Auckland", "America/New_York")
VERBS = ("suspend", "unsuspend", "add", "bury", "reset", "set_due", "amend", "remove")
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("answer"), st.integers(0, 2), st.sampled_from(list(Rating)), st.integers(-60, 6000)),
        st.tuples(st.sampled_from(VERBS), st.integers(0, 2), st.integers(0, 3), st.integers(0, 6000)),
        st.tuples(st.just("undo"), st.just(0), st.none(), st.integers(0, 30)),
        st.tuples(st.just("zone"), st.sampled_from(ZONES), st.none(), st.just(0)),
    ),
    max_size=14,
)


class LogProperty(TestCase):
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(actions=ACTIONS)
    def test_stored_memory_is_the_log_replayed(self, actions: list[tuple[str, Any, Rating | None, int]]) -> None:
        """After any mix of answers, answers changed or removed later, suspensions, resets, cards put off or asked for,
        undos and flights, over three cards; and an undo leaves no trace but its row."""
        ada, now, past = person("Ada"), NOON, []
        write_questions(3)
        services.ensure_cards(ada)
        cards = list(ada.cards.order_by("pk"))
        for kind, which, rating, minutes in actions:
            now += minutes * MINUTE
            if kind == "zone":
                ada.profile.zone = which
                ada.profile.save()
            elif kind == "answer":
                cards[which].refresh_from_db()
                past.append((which, derived(cards[which], "log_length")))
                answer(cards[which], rating, now)
            elif kind != "undo":
                cards[which].refresh_from_db()
                before = derived(cards[which], "log_length")
                if place(cards[which], kind, now, rating):
                    past.append((which, before))
            elif past:
                which, before = past.pop()
                undo(cards[which], now)
                assert derived(cards[which], "log_length") == before
        for card in ada.cards.all():
            rows = list(card.reviews.order_by("ordinal"))
            assert (card.memory, card.due) == memory.replay(rows)
            assert (card.suspended, card.buried_until) == (memory.is_suspended(rows), memory.buried_until(rows))
            assert [row.ordinal for row in rows] == list(range(1, card.log_length + 1))
        assert Review.objects.standing().count() == len(past)
        assert check() == ""


def test_what_was_brought_along_is_no_action_of_the_history(card: Card) -> None:
    answer(card)
    Review.objects.create(
        card=card, ordinal=2, kind="import", rating=GOOD, at=NOON, was="review", state="review", study_day=NOON.date(),
        zone="UTC", day_start="04:00")
    assert [row.kind for row in services.history(card.user)] == ["answer"]
