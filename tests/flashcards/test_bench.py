"""The bench of reviews deals a deck that a review could have left."""
import subprocess
import sys
from pathlib import Path

from accounts.models import User
from bench import deck
from flashcards import services
from flashcards.models import Attempt, Card, Review
from tests.flashcards.conftest import NOON

ROOT = Path(__file__).resolve().parents[2]


def test_every_card_of_the_deck_is_what_its_log_says(ada: User) -> None:
    deck.deal(ada, 40, NOON.date())
    cards = Card.objects.filter(user=ada)
    assert (cards.count(), cards.filter(state="new").count()) == (40, 2)
    assert {services.rebuild_card(card, write=False) for card in cards} == {""}


def test_nothing_of_the_deck_lies_ahead_and_each_answer_was_committed(ada: User) -> None:
    deck.deal(ada, 40, NOON.date())
    assert max(Review.objects.values_list("study_day", flat=True)) < NOON.date()
    for row in Review.objects.select_related("attempt"):
        kinds = Attempt.objects.filter(card=row.card_id, ordinal=row.ordinal).values_list("kind", flat=True)
        assert (row.attempt.card_id, row.attempt.kind, set(kinds)) == (row.card_id, "grade", {"check", "grade"})


def test_importing_the_bench_sets_up_nothing() -> None:
    asked = "import bench.reviews, sys; assert 'django' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", asked], cwd=ROOT, check=False).returncode == 0
