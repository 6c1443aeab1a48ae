"""A switch of FSRS parameters: every card becomes what its log says by them, and nothing moves."""
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Profile, User
from flashcards import adoption, memory, services, works
from flashcards.memory import DEFAULT_PARAMETERS
from flashcards.models import Adoption, Card, Rating, Review, Work
from tests.flashcards.conftest import NOON
from tests.flashcards.test_threads import THREADS, at_once

OWN = [*DEFAULT_PARAMETERS[:2], 5.0, *DEFAULT_PARAMETERS[3:20], 0.3]
DAY = timedelta(days=1)


@pytest.fixture
def studied(deal: Callable[[int], list[Card]]) -> list[Card]:
    """Three cards with a few answers each and one still new; one answer of the second was amended since."""
    cards = deal(4)
    for number, card in enumerate(cards[:3]):
        for at, rating in enumerate((Rating.GOOD, Rating.AGAIN, Rating.GOOD, Rating.EASY)[:number + 2]):
            card.refresh_from_db()
            assert services.answer_card(card, rating, ordinal=card.next_ordinal, now=NOON + (at * 9) * DAY)
    card = cards[1]
    card.refresh_from_db()
    named = card.reviews.answers()[1].pk
    assert services.amend(card, named, Rating.HARD, ordinal=card.next_ordinal, now=NOON + 40 * DAY)
    for card in cards:
        card.refresh_from_db()
    return cards


def stands(cards: list[Card]) -> list[dict]:
    return [Card.objects.values(*Card.DERIVED).get(pk=card.pk) for card in cards]


def test_the_first_answer_good_leaves_the_third_parameter_as_stability(deal: Callable[[int], list[Card]]) -> None:
    card = deal(1)[0]
    services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON)
    assert Card.objects.get().stability == DEFAULT_PARAMETERS[2]  # FSRS-6: the first stability is w[grade - 1]
    adoption.adopt(card.user, OWN, now=NOON)
    assert Card.objects.get().stability == 5.0


def test_every_card_is_what_its_log_says_and_no_due_moves(studied: list[Card]) -> None:
    before, logged = stands(studied), list(Review.objects.values())
    adopted = adoption.adopt(studied[0].user, OWN, now=NOON + 50 * DAY)
    after = stands(studied)
    assert (adopted.parameters, adopted.fit) == (OWN, None)
    assert Profile.objects.get().fsrs_parameters == OWN
    assert list(Review.objects.values()) == logged
    assert all(services.rebuild_card(card, write=False) == "" for card in Card.objects.all())
    for card, was, now in zip(studied, before, after, strict=True):
        assert now["stability"] == memory.replay(card.reviews.order_by("ordinal"), tuple(OWN))[0].stability
        assert {name for name in was if was[name] != now[name]} <= {"stability", "difficulty"}
    moved = [was["stability"] != now["stability"] for was, now in zip(before, after, strict=True)]
    assert moved == [True, True, True, False]


def test_back_to_the_defaults_is_as_it_was(studied: list[Card]) -> None:
    user, before = studied[0].user, stands(studied)
    adoption.adopt(user, OWN, now=NOON)
    adoption.adopt(user, [], now=NOON)
    assert stands(studied) == before
    assert [row.parameters for row in Adoption.objects.order_by("pk")] == [OWN, []]


def test_a_second_click_changes_nothing(studied: list[Card]) -> None:
    user = studied[0].user
    assert adoption.adopt(user, OWN, now=NOON) is not None
    assert adoption.adopt(user, OWN, now=NOON) is None
    assert Adoption.objects.count() == 1


def test_other_peoples_cards_stay(studied: list[Card], eve: User) -> None:
    before = stands(studied)
    adoption.adopt(eve, OWN, now=NOON)
    assert stands(studied) == before


def test_an_answer_given_while_logs_are_replayed_counts(
    studied: list[Card], monkeypatch: pytest.MonkeyPatch
) -> None:
    card, replayed = studied[2], adoption._replayed
    answered = []

    def slow(*given: object) -> list:
        found = list(replayed(*given))
        if not answered:
            answered.append(services.answer_card(card, Rating.HARD, ordinal=card.next_ordinal, now=NOON + 60 * DAY))
        return found

    monkeypatch.setattr(adoption, "_replayed", slow)
    adoption.adopt(card.user, OWN, now=NOON)
    assert answered == [True]
    assert all(services.rebuild_card(card, write=False) == "" for card in Card.objects.all())


@pytest.mark.django_db(transaction=True)
def test_answers_given_during_a_switch_go_by_one_set_of_parameters(studied: list[Card]) -> None:
    """Eight threads answer while two switch: whoever is first, each card is what its log says by what is in use."""
    user, cards = studied[0].user, studied[:3]
    first = {card.pk: card.next_ordinal for card in cards}

    def act(number: int) -> None:
        if number < 2:
            adoption.adopt(user, OWN if number else [], now=NOON)
            return
        card = cards[number % 3]
        for at in range(3):
            ordinal = first[card.pk] + at
            services.answer_card(card, Rating.GOOD, ordinal=ordinal, now=NOON + (50 + at + number) * DAY)

    assert at_once(act) == [None] * THREADS
    assert all(services.rebuild_card(card, write=False) == "" for card in Card.objects.all())


def test_a_switch_by_a_process_of_its_own_does_the_same_and_says_how_far_it_is(
    studied: list[Card], monkeypatch: pytest.MonkeyPatch
) -> None:
    user, told = studied[0].user, []
    monkeypatch.setattr(works, "start", lambda work: None)
    monkeypatch.setattr(adoption, "TOLD_EVERY", 1)
    adoption.begin(user, OWN, now=NOON)
    adoption.begin(user, [], now=NOON)  # a second click, while it is under way
    work = Work.objects.get()
    assert adoption.take(work, lambda share, stage: told.append((share, stage))) == {"switched": True}
    assert told[-2:] == [(0.99, "3 of 3 cards replayed"), (0.99, "Every card switched")]
    assert Profile.objects.get().fsrs_parameters == OWN
    assert all(services.rebuild_card(card, write=False) == "" for card in Card.objects.all())
    assert adoption.take(work, lambda share, stage: None) == {"switched": False}


def test_a_switch_that_stopped_midway_changed_nothing_and_can_be_begun_again(
    studied: list[Card], monkeypatch: pytest.MonkeyPatch
) -> None:
    user, before = studied[0].user, stands(studied)
    started: list[Work] = []
    monkeypatch.setattr(works, "start", started.append)
    monkeypatch.setattr(adoption, "TOLD_EVERY", 1)

    def killed(share: float, stage: str) -> None:
        if share > 0.5:
            raise works.Closed

    adoption.begin(user, OWN, now=NOON)
    with pytest.raises(works.Closed):
        adoption.take(started[0], killed)
    assert (stands(studied), Profile.objects.get().fsrs_parameters, Adoption.objects.count()) == (before, [], 0)
    adoption.begin(user, OWN, now=NOON + 2 * works.SILENCE)
    first, second = Work.objects.order_by("pk")
    assert (first.fault, started) == (works.STOPPED, [first, second])
    assert works.do(second.pk)
    assert Profile.objects.get().fsrs_parameters == OWN


def test_a_long_log_is_one_of_more_rows_than_a_page_waits_for(studied: list[Card], eve: User) -> None:
    user = studied[0].user
    assert not adoption.is_long(user)
    Card.objects.filter(pk=studied[0].pk).update(log_length=adoption.AT_ONCE)
    assert adoption.is_long(user)
    assert not adoption.is_long(eve)


def test_a_switch_that_was_taken_for_dead_meanwhile_switches_nothing(
    studied: list[Card], monkeypatch: pytest.MonkeyPatch
) -> None:
    user, before, replayed = studied[0].user, stands(studied), adoption._replayed
    monkeypatch.setattr(works, "start", lambda work: None)
    adoption.begin(user, OWN, now=timezone.now())
    work = Work.objects.get()

    def slept(*given: object) -> list:
        Work.objects.filter(pk=work.pk).update(done_at=timezone.now(), fault=works.STOPPED)
        return list(replayed(*given))

    monkeypatch.setattr(adoption, "_replayed", slept)
    works.do(work.pk)
    assert (stands(studied), Adoption.objects.count()) == (before, 0)
    work.refresh_from_db()
    assert work.fault == works.STOPPED
