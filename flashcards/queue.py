"""What comes next: the offer on each button, the plan of a person's day, the next card."""
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from accounts.models import Profile, User
from flashcards.memory import Due, Memory, Rules
from flashcards.models import Card, Rating

LEARN_AHEAD = timedelta(minutes=20)


@dataclass(frozen=True, slots=True)
class Offer:
    """What a button will do: the memory, the due (a day, or an instant inside learning steps), and its label."""

    memory: Memory
    due: Due
    label: str  # "10 min", "14 d", "3.3 mo", "1.2 y"

    @property
    def due_day(self) -> date | None:
        return self.due.day

    @property
    def due_at(self) -> datetime | None:
        return self.due.at


@dataclass(frozen=True, slots=True)
class Held:
    """Cards that the day's limits keep back, and the words that say so: "3 new past today's limit of 2"."""

    kind: str  # "new" or "reviews"
    count: int
    words: str


@dataclass(frozen=True, slots=True)
class Place:
    """A card in the day's line: predicted recall (None for a new one) and the seconds it should take this person."""

    card: Card
    recall: float | None
    seconds: int


@dataclass(frozen=True, slots=True)
class Day:
    """A person's study day as it stands now; the lists of cards are what is left of it, in order."""

    study_day: date
    ends_at: datetime
    learning_due: list[Card]
    due: list[Card]
    new_today: list[Card]
    held_back: list[Held]
    done_today: int  # standing answers
    first_in_line: list[Place]  # all that is left, in the order it comes
    order: str  # "lowest predicted recall first" or "in the order they fell due"
    minutes: int  # for all that is left, at this person's own pace
    next_due: datetime | None  # when something comes back once all this is done; None when nothing ever will
    forecast: list[tuple[date, int]]  # cards falling due on each of 14 days, today's with the overdue
    streak: int  # study days in a row with an answer, up to today or yesterday
    studied_today: bool


def rules(card: Card) -> Rules:
    """How this card is scheduled, by its owner's settings."""
    raise NotImplementedError


def offer(card: Card, ordinal: int, now: datetime, profile: Profile) -> dict[Rating, Offer]:
    """What each of the four buttons will do if pressed at `now` for log position `ordinal`."""
    raise NotImplementedError


def today(user: User, now: datetime) -> Day:
    """The plan of the study day that holds `now`, within the person's limits."""
    raise NotImplementedError


def next_card(user: User, now: datetime, later: Sequence[int] = ()) -> Card | None:
    """The card to show now, or None when the day is done.

    A card whose answer was just undone comes first; those put off (`later`, pks, in the order they were) come last.
    """
    raise NotImplementedError
