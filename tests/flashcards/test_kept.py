"""What a process keeps of a study day is what the cards and the log say, whatever was done there or elsewhere."""
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import pytest
from django.db import transaction

from accounts.models import User
from flashcards import agenda, kept, own_cards, queue, services
from flashcards.models import Card, Rating, Review, State
from flashcards.study_day import study_day
from questions.models import Note, Question
from tests.flashcards.conftest import NOON, write_questions
from tests.flashcards.test_numbers import write_notes
from tests.flashcards.test_threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)
DAY = timedelta(days=1)
ACTS = 150
SETTINGS = {
    "reviews_per_day": (4, 9, 40), "new_numbers_per_day": (0, 2, 5), "new_questions_per_day": (0, 1, 3),
    "new_place": ("among", "after", "before"), "backlog_order": ("recall", "overdue", "day"),
}


@pytest.fixture(autouse=True)
def two_processes(monkeypatch: pytest.MonkeyPatch) -> tuple[OrderedDict, OrderedDict]:
    """What two processes keep, nothing yet; the first is this one."""
    both = OrderedDict(), OrderedDict()
    monkeypatch.setattr(kept, "_days", both[0])
    return both


@pytest.fixture
def deck(ada: User) -> User:
    """Ada with forty number cards of two sides and ten questions, some of each a day, fuzz on."""
    write_questions(10)
    write_notes(40)
    profile = ada.profile
    profile.new_numbers_per_day, profile.new_questions_per_day, profile.reviews_per_day, profile.fuzz = 5, 2, 12, True
    profile.save()
    services.ensure_cards(ada)
    return ada


def told(one: agenda.Agenda) -> agenda.Agenda:
    """The agenda as it can be compared."""
    return replace(one, begun=replace(one.begun, siblings=None))


def answer(user: User, card: Card, rating: Rating, now: datetime) -> None:
    card.refresh_from_db()
    shown = queue.offer(card, card.next_ordinal, now, user.profile)[rating].due_day
    assert services.answer_card(card, rating, ordinal=card.next_ordinal, now=now, shown=shown)


def act_on_a_card(user: User, draw: Random, now: datetime) -> None:
    """Something that a person can do to a card that is not first in line."""
    card = draw.choice(list(Card.objects.filter(user=user)))
    ordinal, last = card.next_ordinal, card.reviews.answers().order_by("-ordinal").first()
    match draw.randrange(8):
        case 0:
            answer(user, card, draw.choice(list(Rating)), now)
        case 1:
            services.bury(card, ordinal=ordinal, now=now)
        case 2:
            services.set_suspended(card, not card.suspended, ordinal=ordinal, now=now)
        case 3:
            services.add_to_drill(card, ordinal=ordinal, now=now)
        case 4:
            services.set_due(card, study_day(now, "UTC", user.profile.day_start) + DAY * draw.randrange(4),
                             ordinal=ordinal, now=now)
        case 5:
            services.reset(card, ordinal=ordinal, now=now)
        case 6 if last:
            services.amend(card, last.pk, draw.choice(list(Rating)), ordinal=ordinal, now=now)
        case 7 if last:
            services.remove(card, last.pk, ordinal=ordinal, now=now)


def change_what_no_log_tells(user: User, draw: Random, now: datetime) -> None:
    match draw.randrange(5):
        case 0:
            name = draw.choice(list(SETTINGS))
            setattr(user.profile, name, draw.choice(SETTINGS[name]))
            user.profile.save()
        case 1:
            question = draw.choice(list(Question.objects.all()))
            question.retired = not question.retired
            question.save()
        case 2:
            note = draw.choice(list(Note.objects.filter(owner=None)))
            note.reverse, note.position = not note.reverse, draw.randrange(50)
            note.save()
        case 3:
            fields = own_cards.fields_of_words(Note.Kind.BASIC, "front", "back", [], reverse=True)
            own_cards.save(user, fields, now)
        case 4:
            services.bring_more(user, "reviews", 3, after=latest_key(), now=now)


def latest_key() -> int:
    return Review.objects.order_by("pk").values_list("pk", flat=True).last() or 0


@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_would_be_looked_up_after_any_act_in_either_process(
    deck: User, two_processes: tuple[OrderedDict, OrderedDict], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw, now, followed = Random(seed), NOON, 0
    for _ in range(ACTS):
        what = draw.random()
        if what < 0.70 and (card := queue.next_card(deck, now)):
            answer(deck, card, draw.choices(list(Rating), (15, 10, 65, 10))[0], now)
        elif what < 0.75 and (last := services.last_action(deck)):
            services.undo(deck, last.pk, now=now)
        elif what < 0.85:
            act_on_a_card(deck, draw, now)
        elif what < 0.90:
            change_what_no_log_tells(deck, draw, now)
        else:
            now += draw.choice((timedelta(minutes=9), timedelta(hours=3), DAY, 9 * DAY))
        monkeypatch.setattr(kept, "_days", draw.choice(two_processes))
        deck = User.objects.select_related("profile").get(pk=deck.pk)
        day = study_day(now, "UTC", deck.profile.day_start)
        followed += kept._current(deck.profile, day) is not None
        assert told(kept.agenda(deck, day)) == told(agenda.build(deck, day))
    assert followed > ACTS / 4  # a walk in which all is looked up anew would show nothing


def test_what_the_days_to_come_hold_is_counted_on(deck: User) -> None:
    """Beside the count of what is due, day by day, after each answer."""
    day, now = NOON.date(), NOON
    for _ in range(60):
        if (card := queue.next_card(deck, now)) is None:
            day, now = day + DAY, now + DAY
            continue
        answer(deck, card, Rating.GOOD if card.state == State.NEW else Rating.EASY, now)
        days = [day + DAY * ahead for ahead in range(1, 40)]
        due = Card.objects.filter(user=deck, state=State.REVIEW, due_day__in=days).values_list("due_day", flat=True)
        assert kept.loads(deck.profile, day, days) == {one: list(due).count(one) for one in days}


def test_after_an_answer_the_day_is_not_looked_up_again(
    deck: User, django_assert_num_queries: Callable
) -> None:
    """Asked for are the person's mark and the rows since alone."""
    day = NOON.date()
    first = kept.agenda(deck, day).rest[0]
    answer(deck, Card.objects.get(pk=first.pk), Rating.EASY, NOON)
    with django_assert_num_queries(2):
        assert first not in kept.agenda(deck, day).rest
    with django_assert_num_queries(2):
        assert queue.due_count(deck, NOON) == 0


@pytest.mark.parametrize("withdraw", [
    lambda card: setattr(card.question, "draft", True) or card.question.save(),
    lambda card: setattr(card.question, "retired", True) or card.question.save(),
    lambda card: card.delete(),
])
def test_a_question_that_is_withdrawn_leaves_the_line_at_once(deck: User, withdraw: Callable) -> None:
    deck.profile.new_numbers_per_day = 0
    deck.profile.save()
    first, second, *_ = Card.objects.filter(user=deck, note=None).order_by("question__position")
    assert queue.next_card(deck, NOON) == first
    withdraw(first)
    assert queue.next_card(deck, NOON) == second


def test_the_settings_hold_at_once(deck: User) -> None:
    assert len(kept.agenda(deck, NOON.date()).new_today) == 7
    deck.profile.new_numbers_per_day = 1
    assert len(kept.agenda(deck, NOON.date()).new_today) == 3


def test_another_day_is_another_agenda(deck: User) -> None:
    assert kept.agenda(deck, NOON.date()).begun.study_day == NOON.date()
    assert kept.agenda(deck, NOON.date() + DAY).begun.study_day == NOON.date() + DAY


def test_what_was_taken_back_was_never_kept(deck: User) -> None:
    day, first = NOON.date(), kept.agenda(deck, NOON.date()).rest[0]
    with transaction.atomic():
        answer(deck, Card.objects.get(pk=first.pk), Rating.GOOD, NOON)
        assert kept.agenda(deck, day).rest[0] != first
        transaction.set_rollback(True)
    assert kept.agenda(deck, day).rest[0] == first


def test_an_answer_that_comes_while_the_day_is_looked_up_counts_once(
    deck: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes once the latest row was read, on a card that stays inside its learning steps."""
    day, card = NOON.date(), queue.next_card(deck, NOON)
    answer(deck, card, Rating.AGAIN, NOON)
    kept.forget()

    class AnsweredSince:
        @staticmethod
        def first(user: User) -> tuple:
            found = kept.LATEST.first(user)
            answer(deck, card, Rating.AGAIN, NOON + timedelta(minutes=2))
            return found

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(agenda, "LATEST", AnsweredSince)
        kept.agenda(deck, day)
    assert kept.agenda(deck, day).begun.done["answers"] == 2
    assert told(kept.agenda(deck, day)) == told(agenda.build(deck, day))


def test_ten_devices_leave_no_row_unseen(deck: User) -> None:
    """Each answers four of forty cards, and looks at the line between."""
    cards, day = list(Card.objects.filter(user=deck, note__isnull=False).order_by("pk")[:40]), NOON.date()

    def drill(number: int) -> bool:
        user = User.objects.get(pk=deck.pk)
        for card in cards[number::10]:
            services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON)
            kept.agenda(user, day)
        return True

    assert at_once(drill) == [True] * 10
    assert kept.agenda(deck, day).begun.done["answers"] == 40
    assert told(kept.agenda(deck, day)) == told(agenda.build(deck, day))


def test_the_days_of_so_many_people_are_kept_and_no_more(
    deck: User, ben: User, eve: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "PEOPLE", 2)
    for user in (deck, ben, eve):
        kept.agenda(user, NOON.date())
    assert [user for _, user in kept._days] == [ben.pk, eve.pk]
