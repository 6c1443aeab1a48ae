"""Notes from elsewhere, with their history, as a person's own: what is known by its guid stays, the rest is added."""
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time
from itertools import islice

from django.db import transaction

from accounts.models import User
from accounts.rows import Taken
from flashcards import kept, memory, queue
from flashcards.memory import Due, Memory
from flashcards.models import Card, Review, State
from flashcards.own_cards import fields_of_words
from flashcards.study_day import start_of, study_day
from questions import search
from questions.export import key_of, new_slug
from questions.models import Note

AT_ONCE = 500  # notes written in one transaction, so that nobody waits long for the database


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer given elsewhere, 1 to 4; None where the card was begun anew."""

    at: datetime
    rating: int | None


@dataclass(slots=True)
class Side:
    """A card of a note from elsewhere: its answers, oldest first, and where its schedule stands."""

    direction: str
    seen: list[Seen] = field(default_factory=list)
    due_day: date | None = None  # None for one not begun
    interval_days: int = 0
    stability: float | None = None
    difficulty: float | None = None
    suspended: bool = False


@dataclass(slots=True)
class Incoming:
    """A note of words from elsewhere, in Markdown."""

    guid: str
    kind: Note.Kind
    front: str
    back: str
    tags: list[str] = field(default_factory=list)
    reverse: bool = False
    sides: list[Side] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Clock:
    """By which day an answer from elsewhere counts."""

    zone: str
    day_start: time

    def day(self, at: datetime) -> date:
        return study_day(at, self.zone, self.day_start)


def known_guids(user: User) -> set[str]:
    """What the person's own notes are known by, retired ones included."""
    return {key_of(note) for note in Note.objects.filter(owner=user).only("guid", "slug")}


def count(notes: Iterable[Incoming], known: set[str], taken: Taken) -> Iterator[Incoming]:
    """The notes that are not known, each once; all of them counted."""
    known = set(known)
    for note in notes:
        if note.guid in known:
            taken.count("notes", known=1)
            continue
        known.add(note.guid)
        taken.count("notes", new=1)
        taken.count("cards", new=len(note.sides))
        taken.count("reviews", new=sum(seen.rating is not None for side in note.sides for seen in side.seen))
        yield note


def put(user: User, notes: Iterable[Incoming], clock: Clock, now: datetime, taken: Taken) -> Iterator[int]:
    """Add the notes that are not known, a batch at a time; what comes after each batch is how many notes are done."""
    done = 0
    adding = count(notes, known_guids(user), taken)
    while some := list(islice(adding, AT_ONCE)):
        with transaction.atomic():
            write(user, some, clock, now)
        done += len(some)
        yield done


def write(user: User, notes: Iterable[Incoming], clock: Clock, now: datetime) -> None:
    """Write these notes with their cards, and the logs of those that were begun."""
    rows = [
        Note(owner=user, slug=new_slug(), guid=note.guid,
             **fields_of_words(note.kind, note.front, note.back, note.tags, note.reverse)) for note in notes
    ]
    Note.objects.bulk_create(rows)
    search.refresh_own(rows)
    cards = [
        (Card(user=user, note=row, direction=side.direction), side)
        for row, note in zip(rows, notes, strict=True) for side in note.sides
    ]
    rules = memory.Rules(parameters=queue.parameters(user.profile))
    reviews = [review for card, side in cards for review in log_of(card, side, clock, rules, now)]
    Card.objects.bulk_create(card for card, _ in cards)
    Review.objects.bulk_create(reviews, batch_size=500)
    kept.void(user.pk)


def log_of(card: Card, side: Side, clock: Clock, rules: memory.Rules, now: datetime) -> list[Review]:
    """The log that a card comes with; the card becomes what it says.

    Each answer is replayed by the person's own parameters; the last one's due is the day that was set elsewhere. Where
    the schedule came without answers, one row carries it, if it says how well the card is known.
    """
    rows: list[Review] = []
    remembered, due = Memory(), Due()
    for seen in side.seen:
        day, was = clock.day(seen.at), remembered.state
        if seen.rating is None:
            if remembered.state == State.NEW:
                continue
            remembered, due = Memory(answers=remembered.answers), Due()
            rows.append(row_of(card, Review.Kind.RESET, seen.at, day, was, remembered, due, clock))
            continue
        after, due = memory.step(remembered, seen.rating, at=seen.at, study_day=day, rules=rules)
        remembered = after
        rows.append(row_of(card, Review.Kind.IMPORT, seen.at, day, was, after, due, clock, seen.rating))
    if remembered.state != State.NEW and side.due_day is None:  # begun once, and forgotten there since
        at = side.seen[-1].at
        remembered, due = Memory(answers=remembered.answers), Due()
        rows.append(row_of(card, Review.Kind.RESET, at, clock.day(at), State.REVIEW, remembered, Due(), clock))
    elif remembered.state != State.NEW:
        rows[-1].due_day, due = side.due_day, Due(day=side.due_day)
    elif side.due_day and side.stability and side.difficulty:
        day, due = min(side.due_day - memory.DAY * side.interval_days, clock.day(now)), Due(day=side.due_day)
        at = start_of(day, clock.zone, clock.day_start)
        remembered = Memory(
            state=State.REVIEW, stability=side.stability, difficulty=min(max(side.difficulty, 1), 10),
            fed_at=memory.feed(Memory(), at, day), last_day=day, last_at=at)
        rows.append(row_of(card, Review.Kind.IMPORT, at, day, State.NEW, remembered, due, clock))
    if side.suspended:
        last = rows[-1] if rows else None
        at, day = (last.at, last.study_day) if last else (now, clock.day(now))
        rows.append(row_of(card, Review.Kind.SUSPEND, at, day, remembered.state, remembered, due, clock))
    for ordinal, row in enumerate(rows, 1):
        row.ordinal = ordinal
    card.take(remembered, due, log_length=len(rows))
    card.suspended = side.suspended
    return rows


def row_of(
    card: Card, kind: Review.Kind, at: datetime, day: date, was: str, after: Memory, due: Due, clock: Clock,
    rating: int | None = None,
) -> Review:
    return Review(
        card=card, kind=kind, rating=rating, at=at, study_day=day, zone=clock.zone, day_start=clock.day_start, was=was,
        due_day=due.day, **after.columns())
