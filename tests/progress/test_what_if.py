"""The coming year played at several desired retentions: what must hold whatever is drawn, and whose habits they are."""
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from accounts.models import User
from flashcards import services, works
from flashcards.foresight import effort_of
from flashcards.memory import DEFAULT_PARAMETERS, recall_after
from flashcards.models import Card, Rating, Work
from flashcards.projection import NOBODY_KNOWS, Deck, Habits, Terms
from progress import fit, what_if
from progress.what_if import Outcome, Spread, outcomes
from tests.flashcards.conftest import NOON, deal  # noqa: F401

TERMS = Terms(DEFAULT_PARAMETERS, 0.9, new_questions_per_day=2, new_numbers_per_day=6, reviews_per_day=999)


def new_deck(count: int) -> Deck:
    """Number cards that nobody began, of ten seconds each."""
    return Deck(np.ones(count), np.full(count, 5.0), np.full(count, NOBODY_KNOWS), np.zeros(count, int),
                np.ones(count, bool), np.ones(count, bool), np.full(count, 10.0))


def play(terms: Terms = TERMS, retentions: tuple[float, ...] = (0.8, 0.9, 0.95)) -> list[Outcome]:
    return outcomes(new_deck(60), terms, Habits(), retentions, days=90, replicas=4, seed=1)


def test_more_asked_for_is_more_minutes_and_more_known() -> None:
    found = play()
    assert [one.retention for one in found] == [0.8, 0.9, 0.95]
    for of in ("minutes", "known"):
        middles = [getattr(one, of).middle for one in found]
        assert middles == sorted(set(middles))
    for one in found:
        assert one.minutes.low <= one.minutes.middle <= one.minutes.high
        assert one.known.high <= 60
        assert one.held == 0


def test_one_day_of_new_cards_never_forgotten_takes_their_seconds() -> None:
    habits = Habits(first=(0, 0, 1, 0))
    one, = outcomes(new_deck(6), TERMS, habits, [0.9], days=1, replicas=3, seed=1)
    assert one == Outcome(0.9, Spread(1, 1, 1), Spread(6, 6, 6), 0)  # six of ten seconds; just seen, all are known


def test_a_grade_that_takes_longer_takes_its_multiple() -> None:
    habits = Habits(first=(0, 1, 0, 0), effort=(1, 3, 1, 1))
    one, = outcomes(new_deck(6), TERMS, habits, [0.9], days=1, replicas=3, seed=1)
    assert one.minutes == Spread(3, 3, 3)


def test_a_limit_that_binds_holds_minutes_down_and_says_so() -> None:
    tight = replace(TERMS, reviews_per_day=2)
    free, held = play(retentions=(0.95,))[0], play(tight, retentions=(0.95,))[0]
    assert held.is_held
    assert not free.is_held
    assert held.minutes.high < free.minutes.low


def test_the_same_seed_is_the_same_year() -> None:
    assert play() == play()


def test_years_are_the_same_however_many_are_played_together(monkeypatch: pytest.MonkeyPatch) -> None:
    together = play()
    monkeypatch.setattr(what_if, "AT_ONCE", 1)
    assert play() == together


def test_an_outcome_is_read_as_it_was_kept() -> None:
    one = play()[0]
    assert Outcome.of(what_if._plain(one)) == one


def test_a_new_persons_year_names_all_that_is_assumed(
    deal: Callable[[int], list[Card]], monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:
    user = deal(3)[0].user
    monkeypatch.setattr(what_if, "GRID", (0.8, 0.95))
    monkeypatch.setattr(what_if, "REPLICAS", 2)
    work, _ = works.begin(user, Work.Kind.WHAT_IF, now=NOON)
    assert works.do(work.pk)
    work.refresh_from_db()
    assert [one["retention"] for one in work.result["outcomes"]] == [0.8, 0.9, 0.95]
    assert (work.result["cards"], work.result["begun"], work.result["known"]) == (3, 0, 0)
    assert work.result["defaults"] == [
        "FSRS’s parameters", "how often each grade is given at first sight",
        "how often Hard, Good and Easy are given to what is remembered", "how much longer or shorter each grade takes",
        "the time that “explain” cards take",
    ]


def test_without_a_card_it_comes_to_nothing_in_words(ada: User) -> None:
    work, _ = works.begin(ada, Work.Kind.WHAT_IF, now=NOON)
    works.do(work.pk)
    assert Work.objects.get().fault == "There is no card in your drill to play the year with."


def test_each_grade_takes_as_long_as_it_took(deal: Callable[[int], list[Card]]) -> None:  # noqa: F811
    """20 answers Good in 60 s and 20 Hard in 120 s: the pace is 90 s, so Good takes 2/3 of it and Hard 4/3; what was
    never timed takes the pace."""
    cards = deal(40)
    assert effort_of(cards[0].user) == (1, 1, 1, 1)
    for number, card in enumerate(cards):
        rating = (Rating.GOOD, Rating.HARD)[number % 2]
        services.open_card(card, NOON)
        then = NOON + timedelta(seconds=(60, 120)[number % 2])
        attempt = services.commit_attempt(card, ordinal=1, now=then)
        services.answer_card(card, rating, ordinal=1, now=then, attempt=attempt)
    assert effort_of(cards[0].user) == pytest.approx((1, 4 / 3, 2 / 3, 1))


# How well one remembers

def log_that(strength: float, cards: int = 400) -> fit.Log:
    """One answer of Good on each card, and one ten days later, remembered as often as the strength would have it."""
    stability = DEFAULT_PARAMETERS[2]
    recalled = round(cards * recall_after(10, strength * stability, DEFAULT_PARAMETERS))
    first = [fit.Answer(card, 0, 3) for card in range(cards)]
    return fit.log_of([*first, *(fit.Answer(card, 10, 3 if card < recalled else 1) for card in range(cards))])


@pytest.mark.parametrize("strength", [0.4, 1, 2.5])
def test_the_strength_that_a_log_was_made_by_is_found(strength: float) -> None:
    drawn = what_if.strengths_of(log_that(strength), DEFAULT_PARAMETERS, 64, seed=3)
    assert np.median(drawn) == pytest.approx(strength, rel=0.15)
    assert min(drawn) < strength < max(drawn)
    assert drawn == what_if.strengths_of(log_that(strength), DEFAULT_PARAMETERS, 64, seed=3)


def test_more_reviews_leave_less_doubt() -> None:
    few, many = (np.std(np.log(what_if.strengths_of(log_that(1, cards), DEFAULT_PARAMETERS, 200, seed=3)))
                 for cards in (150, 2400))
    assert many < few / 2  # by four, as the square root of sixteen


def test_too_few_reviews_say_nothing() -> None:
    assert what_if.strengths_of(log_that(0.4, cards=99), DEFAULT_PARAMETERS, 16, seed=3) == [1.0]
    assert what_if.strengths_of(fit.log_of([]), DEFAULT_PARAMETERS, 16, seed=3) == [1.0]


def test_a_memory_that_lasts_less_long_knows_less_and_the_band_holds_both() -> None:
    def year(*strengths: float) -> Outcome:
        return outcomes(new_deck(60), TERMS, Habits(), [0.9], days=90, replicas=8, seed=1, strengths=strengths)[0]

    weak, strong, both = year(0.5), year(2), year(0.5, 2)
    assert weak.known.high < strong.known.low
    assert both.known.low < weak.known.high < strong.known.low < both.known.high
