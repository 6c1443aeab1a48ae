"""A small deck for Ada: plain questions, clocks in UTC and intervals without fuzz unless a test sets them."""
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from accounts.models import Profile, User
from flashcards import services
from flashcards.models import Card
from questions import loading
from questions.models import Question, Topic

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)  # a Monday


@pytest.fixture(autouse=True)
def without_fuzz(monkeypatch: pytest.MonkeyPatch) -> None:
    """People begin with their intervals as bare FSRS has them, so that a figure can be worked out by hand."""
    monkeypatch.setattr(Profile._meta.get_field("fuzz"), "default", False)


def write_questions(count: int, *, kind: str = "explain", minutes: int = 3) -> list[Question]:
    """Questions q1, q2 … of one topic, in that order."""
    topic, _ = Topic.objects.get_or_create(slug="scheduling", defaults={"title": "Scheduling", "position": 1})
    return [
        Question.objects.create(
            slug=f"q{at}", topic=topic, position=at, title=f"Question {at}", kind=kind, level="staff", minutes=minutes,
            ask="What happens?", said_aloud="This.", catch="That.", measure="Those.",
        )
        for at in range(1, count + 1)
    ]


@pytest.fixture
def deal(ada: User) -> Callable[[int], list[Card]]:
    """Deal Ada cards for a number of new questions, with no limit that gets in the way."""

    def cards(count: int = 1) -> list[Card]:
        write_questions(count)
        ada.profile.new_questions_per_day = 63
        ada.profile.save()
        services.ensure_cards(ada)
        return list(Card.objects.filter(user=ada).order_by("question__position"))

    return cards


@pytest.fixture
def card(deal: Callable[[int], list[Card]]) -> Card:
    return deal(1)[0]


@pytest.fixture
def deck(ada: User, on_scheduling: loading.Bank) -> dict[str, Card]:
    """Ada's questions of the real bank, by slug, and a plain one that takes an outline; no number card is begun."""
    loading.load_bank(on_scheduling)
    write_questions(1)
    ada.profile.new_questions_per_day, ada.profile.new_numbers_per_day = 63, 0
    ada.profile.save()
    services.ensure_cards(ada)
    return {card.question.slug: card for card in Card.objects.filter(user=ada, note=None)}
