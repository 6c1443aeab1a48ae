"""Cards that a person makes for themselves: written, changed, and taken out of the drill."""
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.core.paginator import Page, Paginator
from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.models import User
from flashcards import services
from flashcards.models import Card, Direction
from questions import own, search
from questions.export import new_slug
from questions.models import Note

ON_A_PAGE = 100


def directions(note: Note) -> list[str]:
    """The sides of a note that are asked, as cards name them: "c2" is a cloze's second gap."""
    if note.kind == Note.Kind.CLOZE:
        return [f"c{number}" for number in own.cloze_numbers(note.front)]
    return [Direction.FORWARD, Direction.REVERSE] if note.reverse else [Direction.FORWARD]


@transaction.atomic
def save(user: User, fields: dict[str, Any], now: datetime, note: Note | None = None) -> Note:
    """Write a new note, or change one, and give it its cards.

    A card whose side is gone goes too if it was never answered; else it stays, out of the drill.
    """
    if note is None:
        note = Note(owner=user, slug=new_slug(), guid=uuid4().hex)
    for name, value in fields.items():
        setattr(note, name, value)
    note.save()
    there = {card.direction: card for card in Card.objects.filter(user=user, note=note)}
    asked = directions(note)
    Card.objects.bulk_create(Card(user=user, note=note, direction=side) for side in asked if side not in there)
    for card in (card for side, card in there.items() if side not in asked):
        if card.log_length or card.attempts.exists():
            services.set_suspended(card, True, ordinal=card.next_ordinal, now=now)
        else:
            card.delete()
    search.refresh(note)
    return note


@transaction.atomic
def set_retired(note: Note, retired: bool, now: datetime) -> bool:
    """Take a note's cards out of the drill, or back into it; False when it is so already."""
    if not Note.objects.filter(pk=note.pk, retired=not retired).update(retired=retired):
        return False
    batch = uuid4()
    for card in Card.objects.filter(note=note, user=note.owner):
        if retired or card.direction in directions(note):
            services.set_suspended(card, retired, ordinal=card.next_ordinal, now=now, batch=batch)
    return True


def notes_of(user: User, text: str = "", retired: bool = False) -> QuerySet[Note]:
    """The person's own notes that hold a text, the latest first."""
    notes = Note.objects.filter(owner=user, retired=retired).select_related("topic").order_by("-pk")
    if text:
        notes = notes.filter(Q(ask__icontains=text) | Q(front__icontains=text) | Q(back__icontains=text))
    return notes


def page_of(notes: QuerySet[Note], number: str) -> Page:
    """A page of the list, each note with its cards; a number that is none, or too high, gets the nearest page."""
    page = Paginator(notes, ON_A_PAGE).get_page(number)
    cards: dict[int, list[Card]] = {}
    for card in Card.objects.filter(note__in=[note.pk for note in page], user__isnull=False).order_by("direction"):
        cards.setdefault(card.note_id, []).append(card)
    for note in page:
        note.sides = cards.get(note.pk, [])
    return page


def tags_of(text: str) -> list[str]:
    """The tags of a line, with spaces or commas between them, each once."""
    return list(dict.fromkeys(text.replace(",", " ").split()))


def fields_of_words(
    kind: Note.Kind, front: str, back: str, tags: Iterable[str], reverse: bool = False
) -> dict[str, Any]:
    """What a note of words holds."""
    return {"kind": kind, "ask": own.line_of(front) or "(a picture)", "front": front, "back": back,
            "tags": list(tags), "reverse": reverse and kind == Note.Kind.BASIC}
