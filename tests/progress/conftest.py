"""Logs in the database, for reports that read it by a connection of their own: a test commits what it writes."""
import csv
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from accounts.models import User
from flashcards import memory
from flashcards.memory import Due, Memory, Rules
from flashcards.models import Card, Review
from progress.engine import connect
from progress.reading import Reading
from questions.models import Note, Topic
from tests.drillapp.commands import ROOT

REVLOG = ROOT / "tests" / "golden" / "revlog"
Rated = tuple[int, datetime, int]  # a card's number, the instant, the rating


def recorded(name: str) -> list[Rated]:
    """A recorded log (tests/golden/revlog), in the order of its instants."""
    with (REVLOG / name).open() as file:
        rows = [(int(row["card_id"]), datetime.fromisoformat(row["review_time"]).astimezone(UTC), int(row["rating"]))
                for row in csv.DictReader(file)]
    return sorted(rows, key=lambda row: row[1])


def write_log(user: User, rows: Iterable[Rated], *, zone: str = "UTC", topics: tuple[str, ...] = ("sizing",)) -> None:
    """Answers on number cards, without learning steps, days from 04:00 in the zone; cards go round the topics."""
    user.profile.zone = zone
    user.profile.save()
    places = [Topic.objects.get_or_create(slug=slug, defaults={"title": slug, "position": at})[0]
              for at, slug in enumerate(topics)]
    logs: dict[int, list[Review]] = {}
    states: dict[int, tuple[Memory, Due]] = {}
    rules = Rules()
    for number, at, rating in rows:
        before, _ = states.get(number, (Memory(), Due()))
        day = (at.astimezone(ZoneInfo(zone)) - timedelta(hours=4)).date()
        after, due = states[number] = memory.step(before, rating, at=at, study_day=day, rules=rules)
        log = logs.setdefault(number, [])
        log.append(Review(
            ordinal=len(log) + 1, kind="answer", rating=rating, at=at, study_day=day, zone=zone, day_start=time(4),
            was=before.state, due_day=due.day, due_at=due.at, **after.columns()))
    notes = Note.objects.bulk_create(
        Note(slug=f"n{number}", topic=places[number % len(places)], position=number, ask=f"n{number}?", value=1,
             accept=[1, 1], origin="a test") for number in logs)
    cards = [Card(user=user, note=note) for note in notes]
    for number, card in zip(logs, cards, strict=True):
        card.take(*states[number], log_length=len(logs[number]))
    for card, log in zip(Card.objects.bulk_create(cards), logs.values(), strict=True):
        for row in log:
            row.card = card
    Review.objects.bulk_create([row for log in logs.values() for row in log], batch_size=500)


@pytest.fixture
def reading_of(transactional_db: None) -> Iterable[Callable[[User, datetime], Reading]]:
    """A person's reports, on a connection that is open until the test's end."""
    with connect() as connection:
        yield lambda user, now: Reading(connection, user, now)
