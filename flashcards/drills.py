"""Filtered drills: the cards of a topic, a kind or a lab, or what was missed this week, due or not.

Nothing is kept of one: its filters and the instant it began at are in the address, and what is left of it is every card
that the filters leave and that was not answered since.
"""
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property

from django.db.models import Q
from django.http import QueryDict

from accounts.models import User
from flashcards import memory, queue
from flashcards.access import card_for
from flashcards.models import Attempt, Card, Direction, Rating, Review, State
from flashcards.question_list import lab_slug
from flashcards.siblings import Siblings
from flashcards.study_day import study_day

A_WEEK = timedelta(days=7)
MOST_CHOICES = 60  # of one filter, as an address may name them
FILTERS = ("topic", "kind", "level", "lab")
MISSED = {"week": "missed this week"}


@dataclass(frozen=True, slots=True)
class Drill:
    """What a drill takes: of each filter the choices, none for any; and when it began, None before that."""

    topic: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    level: tuple[str, ...] = ()  # of questions alone
    lab: tuple[str, ...] = ()
    missed: str = ""  # "week": what was graded Again in the last seven study days
    new: bool = False  # cards that are not begun too
    cram: bool = False  # nothing counts
    since: datetime | None = None

    @property
    def fields(self) -> dict[str, str]:
        """What an address and the forms of a review carry of it."""
        carried = {name: ",".join(getattr(self, name)) for name in FILTERS}
        carried |= {"missed": self.missed, "new": "1" * self.new, "cram": "1" * self.cram}
        carried["since"] = instant_words(self.since) if self.since else ""
        return {name: text for name, text in carried.items() if text}

    @property
    def words(self) -> str:
        """What it takes, in words: "kv-cache, size, missed this week"; "all cards" without a filter."""
        said = [*self.topic, *self.kind, *self.level, *self.lab, *([MISSED[self.missed]] if self.missed else [])]
        return ", ".join(said) or "all cards"


def drill_of(sent: QueryDict) -> Drill:
    """The drill that an address names; what can't be one of its parts is left out."""
    def choices(name: str) -> tuple[str, ...]:
        said = [one for text in sent.getlist(name) for one in text.split(",") if one and "\0" not in one]
        return tuple(dict.fromkeys(said[:MOST_CHOICES]))

    missed = sent.get("missed", "")
    return Drill(*map(choices, FILTERS), missed if missed in MISSED else "", sent.get("new") == "1",
                 sent.get("cram") == "1", read_instant(sent.get("since", "")))


def read_instant(text: str) -> datetime | None:
    """An instant as an address has it, "2026-11-29T22:41:07.120Z"; None for what is none."""
    try:
        instant = datetime.fromisoformat(text)
        return instant.astimezone(UTC) if instant.tzinfo else None
    except (ValueError, OverflowError):
        return None


def instant_words(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Round:
    """A drill as it stands: what is done of it, and what is left in the order it comes."""

    def __init__(self, user: User, drill: Drill, now: datetime) -> None:
        self.user, self.profile, self.drill, self.now = user, user.profile, drill, now
        self.today = study_day(now, self.profile.zone, self.profile.day_start)

    @cached_property
    def answered(self) -> dict[int, int]:
        """The latest grade since it began, {card: rating}."""
        answers = Review.objects.filter(card__user=self.user, at__gte=self.drill.since).answers()
        return dict(answers.order_by("pk").values_list("card", "rated"))

    @cached_property
    def looked_at(self) -> dict[int, bool | None]:
        """What was left uncounted since it began, {card: whether its number was right}."""
        left = Attempt.objects.filter(card__user=self.user, at__gte=self.drill.since, kind=Attempt.Kind.LEAVE)
        return dict(left.order_by("pk").values_list("card", "within"))

    @cached_property
    def cards(self) -> list[Card]:
        """All that the filters leave, done or not."""
        return matching(self.user, self.drill, self.today)

    @cached_property
    def done(self) -> set[int]:
        """Those of its cards that need not come again."""
        if self.drill.since is None:
            return set()
        seen = {*self.answered, *self.looked_at} if self.drill.cram else set(self.answered)
        return seen & {card.pk for card in self.cards}

    @cached_property
    def line(self) -> list[Card]:
        """What is left of it: what is due before what is not, the lowest recall first, new ones last; of a number
        card's sides one a day, unless nothing counts."""
        left = sorted((card for card in self.cards if card.pk not in self.done), key=self.place)
        if self.drill.cram:
            return left
        answers = Review.objects.filter(card__user=self.user, study_day=self.today, card__note__isnull=False).answers()
        return Siblings(dict(answers.order_by("pk").values_list("card__note", "card"))).sort_out(left)[0]

    def place(self, card: Card) -> tuple:
        """Where in line a card stands."""
        if card.state == State.NEW:
            item = card.item
            return 2, item.topic.position if item.topic else 0, item.position, card.pk
        return 0 if self.is_due(card) else 1, self.recall(card), card.pk

    def is_due(self, card: Card) -> bool:
        return card.due_at <= self.now if card.due_at else card.due_day is not None and card.due_day <= self.today

    def recall(self, card: Card) -> float | None:
        return memory.predicted_recall(card.memory, self.today, queue.parameters(self.profile))

    def next_card(self, later: tuple[int, ...] = ()) -> Card | None:
        """The card to show now; those put off come last."""
        put_off = {pk: at for at, pk in enumerate(later)}
        first = min((card.pk for card in self.line), key=lambda pk: put_off.get(pk, -1), default=None)
        return first and card_for(self.user, first)

    @property
    def minutes(self) -> int:
        """What is left should take so many, at the person's own pace where it is known."""
        pace = queue.pace_of(self.user)
        seconds = sum(pace.get(card.kind) or queue.stated_seconds(card) for card in self.line)
        return max(round(seconds / 60), 1) if self.line else 0

    @property
    def counts_words(self) -> str:
        """What is in line: "5 due, 7 early, 2 new"."""
        kinds = Counter("new" if card.state == State.NEW else "due" if self.is_due(card) else "early"
                        for card in self.line)
        return ", ".join(f"{kinds[name]} {name}" for name in ("due", "early", "new") if kinds[name])

    @property
    def done_words(self) -> str:
        """What was done, by grade, or, when nothing counts, by what was right: "2 Again, 7 Good"."""
        if self.drill.cram:
            judged = [self.looked_at[pk] for pk in self.done if self.looked_at.get(pk) is not None]
            return f"{sum(judged)} of {len(judged)} numbers right" if judged else ""
        grades = Counter(self.answered[pk] for pk in self.done)
        return ", ".join(f"{grades[rating]} {rating.label}" for rating in Rating if grades[rating])


def matching(user: User, drill: Drill, today: date) -> list[Card]:
    """The person's cards that the drill's filters leave; none that is suspended or put off."""
    cards = Card.objects.filter(user=user, suspended=False).exclude(buried_until__gt=today)
    offered = Q(question__draft=False, question__retired=False) | Q(note__draft=False, note__retired=False)
    cards = cards.filter(~Q(state=State.NEW) | offered & ~Q(direction=Direction.REVERSE, note__reverse=False)
                         if drill.new else ~Q(state=State.NEW))
    if drill.topic:
        cards = cards.filter(Q(question__topic__slug__in=drill.topic) | Q(note__topic__slug__in=drill.topic))
    if drill.level:
        cards = cards.filter(question__level__in=drill.level)
    if drill.missed:
        this_week = Review.objects.filter(card__user=user, study_day__gt=today - A_WEEK).answers()
        cards = cards.filter(pk__in=this_week.filter(rated=Rating.AGAIN).values("card"))
    found = cards.select_related("question__topic", "note__topic")
    return [card for card in found if (not drill.kind or card.kind_words in drill.kind)
            and (not drill.lab or lab_of(card) in drill.lab)]


def lab_of(card: Card) -> str:
    """The lab that belongs to what the card asks; empty without one."""
    return card.note.calc.get("lab", "") if card.note_id else lab_slug(card.question)


def begun(drill: Drill, now: datetime) -> Drill:
    """The drill, begun now."""
    return replace(drill, since=now)
