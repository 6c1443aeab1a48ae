"""How what a search found stands with its person."""
from collections.abc import Sequence
from datetime import date, datetime

from django.db.models import Q

from accounts.models import User
from flashcards import queue
from flashcards.models import Card
from flashcards.number_list import standing
from flashcards.study_day import study_day
from questions.search import Hit


def next_words(user: User, hits: Sequence[Hit], now: datetime) -> list[str]:
    """When each hit is asked next, "due today" or "in 4 d"; empty for what is new or is no card."""
    questions = {hit.document.question_id for hit in hits} - {None}
    notes = {hit.document.note_id for hit in hits} - {None}
    if not questions and not notes:
        return [""] * len(hits)
    today = study_day(now, user.profile.zone, user.profile.day_start)
    found = Card.objects.filter(Q(question__in=questions) | Q(note__in=notes), user=user).order_by("-direction")
    cards = {(card.question_id, card.note_id): card for card in found}  # of a note's sides the first
    return [words_of(cards.get((hit.document.question_id, hit.document.note_id)), today, now) for hit in hits]


def words_of(card: Card | None, today: date, now: datetime) -> str:
    """When a card is asked next."""
    state = standing(card, today, now) if card else "new"
    if state == "learning":
        return f"in {queue.label(card.due_at - now if card.due_at else card.due_day - today)}"
    return {"due": "due today", "lapsed": "due today", "suspended": "suspended"}.get(state, "")
