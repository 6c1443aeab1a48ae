"""A deck of any size with the logs that two years of reviewing leave, written straight into SQLite."""
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain
from random import Random
from typing import Any

from django.db import connection, models, transaction

from accounts.models import User
from flashcards import memory
from flashcards.memory import Due, Memory, Rules
from flashcards.models import Card, Rating, Review
from questions.models import Note, Topic

COURSES = 4_000  # different ones; more cards than that share them
OLDEST = 700  # days since a card was begun, at most
BEGUN = 0.95  # of all cards
OFTEN = (8, 12, 70, 10)  # Again to Easy, of a hundred answers
DELAYS, SELDOM = (0, 1, 2, 5, 20), (85, 7, 4, 3, 1)  # days that a review waits, of a hundred
RULES = Rules(learning_steps=(timedelta(minutes=1), timedelta(minutes=10)), relearning_steps=(timedelta(minutes=10),))
MORNING = time(8, tzinfo=UTC)
ATTEMPTS = """
    INSERT INTO flashcards_attempt (id, card_id, ordinal, kind, "take", at, seed, "values", digest, typed, said,
        outline, aloud, ticks, seconds)
    SELECT 2 * id + {offset}, card_id, ordinal, '{kind}', 0, at, card_id * 1000003 + ordinal - 1, '{{}}', '', '',
        '{{}}', '', true, '[]', 5 + 3 * rating
    FROM flashcards_review WHERE id >= {first}"""


def deal(user: User, count: int, today: date) -> None:
    """Give the person so many number cards, all but the new ones begun within two years and reviewed when they fell due
    or a little later: what waits is what falls on today, and a little of the days before."""
    random = Random(count)
    courses = [[(prepared(*row), row) for row in course(random, today)] for _ in range(min(count, COURSES))]
    logs = [courses[at % len(courses)] for at in range(round(count * BEGUN))]
    topic, _ = Topic.objects.get_or_create(slug="bench", defaults={"title": "Bench", "position": 1})
    note, card, review = (next_key(model) for model in (Note, Card, Review))
    log = sorted(
        (own(row[0], at), at, ordinal, ready)
        for at, log in enumerate(logs) for ordinal, (ready, row) in enumerate(log, start=1))
    with transaction.atomic():
        insert(Note, (
            {"id": note + at, "position": at % 30_000, "topic_id": topic.pk} | constant_note(note + at)
            for at in range(count)))
        insert(Card, (
            {"id": card + at, "user_id": user.pk, "note_id": note + at}
            | standing(logs[at] if at < len(logs) else [], at)
            for at in range(count)))
        insert(Review, (
            ready | {"id": review + place, "card_id": card + at, "ordinal": ordinal, "at": moment(instant),
                     "attempt_id": 2 * (review + place) + 1}
            for place, (instant, at, ordinal, ready) in enumerate(log)))
        with connection.cursor() as cursor:
            for offset, kind in enumerate(("check", "grade")):
                cursor.execute(ATTEMPTS.format(offset=offset, kind=kind, first=review))


def course(random: Random, today: date) -> Iterator[tuple[datetime, Rating, Memory, Memory, Due]]:
    """One card's answers up to yesterday: instant, rating, memory before and after, and due."""
    day, waited = today - timedelta(days=random.randint(1, OLDEST)), timedelta()
    before = Memory()
    while day < today:
        rating = random.choices(tuple(Rating), OFTEN)[0]
        at = datetime.combine(day, MORNING) + waited
        after, due = memory.step(before, rating, at=at, study_day=day, rules=RULES)
        yield at, rating, before, after, due
        before = after
        if due.day is None:  # inside learning steps: a little later on the same day
            waited += due.at - at
        else:
            day, waited = due.day + timedelta(days=random.choices(DELAYS, SELDOM)[0]), timedelta()


def prepared(at: datetime, rating: Rating, before: Memory, after: Memory, due: Due) -> dict[str, Any]:
    """What a log row holds of an answer, as SQLite keeps it."""
    return columns(after) | {
        "kind": "answer", "rating": int(rating), "study_day": str(after.last_day), "zone": "UTC",
        "day_start": "04:00:00", "was": before.state, "due_day": due.day and str(due.day),
        "due_at": moment(due.at), "asked": False,
    }


def own(at: datetime, card: int) -> datetime:
    """An answer's instant on one of the cards that share a course."""
    return at + timedelta(seconds=card % 30_000, microseconds=card)


def standing(log: list, card: int) -> dict[str, Any]:
    """What a card is after its log."""
    now, due = (log[-1][1][3:]) if log else (Memory(), Due())
    return columns(now) | {
        "direction": "forward", "log_length": len(log), "answers": len(log), "lapses": now.lapses,
        "last_day": now.last_day and str(now.last_day), "last_at": now.last_at and moment(own(now.last_at, card)),
        "due_day": due.day and str(due.day), "asked": False, "suspended": False,
    }


def constant_note(value: int) -> dict[str, Any]:
    return {
        "slug": f"bench-{value}", "kind": "number", "ask": f"What is number {value} of the bench?", "front": "",
        "back": "", "tags": "[]", "guid": "", "value": float(value), "shown": "", "unit": "",
        "accept": f"[{value}, {value}]", "origin": "Counted.", "source": "{}", "calc": "{}", "reverse": False,
        "cue": "", "draft": False, "retired": False, "loaded_digest": "",
    }


def columns(of: Memory) -> dict[str, Any]:
    return of.columns() | {"fed_at": moment(of.fed_at)}


def moment(instant: datetime | None) -> str | None:
    return instant and connection.ops.adapt_datetimefield_value(instant)


def next_key(model: type[models.Model]) -> int:
    return (model.objects.aggregate(models.Max("pk"))["pk__max"] or 0) + 1


def insert(model: type[models.Model], rows: Iterable[dict[str, Any]]) -> None:
    """Insert rows as SQLite keeps them; a million would take minutes as objects."""
    rows = iter(rows)
    first = next(rows)
    names = ", ".join(f'"{name}"' for name in first)
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {model._meta.db_table} ({names}) VALUES ({', '.join(['%s'] * len(first))})",
            ([row[name] for name in first] for row in chain([first], rows)))
