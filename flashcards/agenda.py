"""What a study day asks of a person, whatever the hour: what is due, what begins, who waits, and in which order."""
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import starmap
from operator import attrgetter
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, ExpressionWrapper, F, FloatField, Func, Q, QuerySet, Subquery, Value
from django.db.models.functions import Greatest
from django.db.models.sql.compiler import SQLCompiler

from accounts.models import Profile, User
from flashcards import memory, spread
from flashcards.latest import Latest
from flashcards.models import Card, Direction, Review, State
from flashcards.prepared import Given, Prepared
from flashcards.siblings import Siblings, Sided
from flashcards.study_day import end_of

IDENTITY = "pk", "note_id", "asked"
FIRST_LOOK = 100  # new cards: nearly always enough to fill the day's limit


class Keyed(NamedTuple):
    """A card as far as its place in line hangs on it; a backlog of thousands is read so."""

    pk: int
    note_id: int | None
    asked: bool
    overdue: bool = False


class InSteps(NamedTuple):
    """A card inside learning steps."""

    pk: int
    note_id: int | None
    due_at: datetime


class Seen(NamedTuple):
    """A row of the day's log."""

    id: int
    card_id: int
    card__note: int | None
    kind: str
    names_id: int | None
    rating: int | None
    today: bool  # else it names another row
    was: str
    brought: bool  # past a limit, with others


@dataclass(frozen=True, slots=True)
class UnderWay:
    """What a study day asks of the cards that were begun before, within its limit of reviews."""

    study_day: date
    done: Counter  # of the day so far: "answers", of these "reviews", "new questions", "new numbers"
    siblings: Siblings
    steps: list[InSteps]  # the earliest first
    of_today: list[InSteps]  # of these, what falls on this day
    due: list[Keyed]
    past: list[Keyed]  # due past the limit
    waiting: list[Sided]  # kept back by a sibling
    backlog: bool
    overdue: int  # of all that is due, what fell due on an earlier day


@dataclass(frozen=True, slots=True)
class Agenda:
    """What is left of a study day within its limits, whatever the hour."""

    begun: UnderWay
    new_today: list[Keyed]
    rest: list[Keyed]  # reviews and new cards, in the order they come
    new_waiting: list[Keyed]  # new ones kept back by a sibling
    new_numbers: int  # those let through or kept back by a sibling; any others are past the limit
    new_questions: int
    latest: int  # the key of the latest row of the person's log; 0 without any
    undone: int | None  # the card whose answer that row, an undo, took back


class Since(NamedTuple):
    """A row of the log as far as a agenda follows it."""

    id: int
    card_id: int
    card__note: int | None
    kind: str
    was: str
    study_day: date
    due_day: date | None
    due_at: datetime | None


def build(user: User, day: date) -> Agenda:
    """What the study day asks, by the person's cards and log.

    What the person asked for comes first, whatever the limits say, then reviews with the new cards spread evenly among
    them. Limits count what the log says was done on this study day. Of a number card's two directions one comes up, the
    other waits for a later day.
    """
    profile = user.profile
    latest, card, names = LATEST.first(user) or (0, None, None)
    begun = under_way(user, day)
    done, siblings = begun.done, begun.siblings
    for_numbers, for_questions = (room_for(profile, done, f"new {kind}") for kind in ("numbers", "questions"))
    numbers, new_waiting = introduced(NEW_NUMBERS.through(user, day, for_numbers), for_numbers, siblings)
    questions, _ = introduced(NEW_QUESTIONS.through(user, day, for_questions), for_questions, siblings)
    new_today = spread.interleave(
        numbers, questions, reviews_done=done["new numbers"], new_done=done["new questions"])
    rest = _mixed(begun.due, new_today, profile, done)
    rest.sort(key=attrgetter("asked"), reverse=True)  # which leaves equals in their order
    return Agenda(
        begun, new_today, rest, new_waiting, len(numbers) + len(new_waiting), len(questions), latest,
        card if names == Review.Kind.ANSWER else None)


def after(agenda: Agenda, row: Since, profile: Profile) -> Agenda | None:
    """The agenda with one more row of the log: what build() would find, of an answer to what is first in line or inside
    learning steps.

    None where that has to be looked up: after any other act, and with an answer that ends a backlog or reaches a limit
    of new cards, which let others through than before.
    """
    begun = agenda.begun
    comes_back = row.due_day is not None and row.due_day <= begun.study_day
    if row.kind != Review.Kind.ANSWER or row.study_day != begun.study_day or comes_back:
        return None
    done = Counter(begun.done)
    done["answers"] += 1
    moved = replace(begun, done=done, **_steps_after(begun, row, profile))
    followed = replace(agenda, begun=moved, latest=row.id, undone=None)
    if row.was in (State.LEARNING, State.RELEARNING):
        return followed if any(card.pk == row.card_id for card in begun.of_today) else None
    first = agenda.rest[0] if agenda.rest else None
    if first is None or first.pk != row.card_id or first.asked:
        return None
    rest = agenda.rest[1:]
    if row.was == State.REVIEW:
        done["reviews"] += 1
        overdue = begun.overdue - first.overdue
        if begun.overdue and not overdue:
            return None
        return replace(followed, rest=rest, begun=replace(moved, due=begun.due[1:], overdue=overdue))
    kind = "new numbers" if first.note_id else "new questions"
    done[kind] += 1
    if not room_for(profile, done, kind):
        return None
    return replace(
        followed, rest=rest, new_today=agenda.new_today[1:], new_numbers=agenda.new_numbers - bool(first.note_id),
        new_questions=agenda.new_questions - (not first.note_id))


def _steps_after(begun: UnderWay, row: Since, profile: Profile) -> dict[str, list[InSteps]]:
    """The cards inside learning steps once one was answered."""
    steps, of_today = ([card for card in cards if card.pk != row.card_id] for cards in (begun.steps, begun.of_today))
    if row.due_at:
        card = InSteps(row.card_id, row.card__note, row.due_at)
        steps = sorted([*steps, card], key=attrgetter("due_at", "pk"))
        if card.due_at < end_of(begun.study_day, profile.zone, profile.day_start):
            of_today = sorted([*of_today, card], key=attrgetter("due_at", "pk"))
    return {"steps": steps, "of_today": of_today}


def under_way(user: User, day: date) -> UnderWay:
    """The cards begun before, sorted out for the day: learning steps, reviews in their order, and who waits."""
    profile = user.profile
    done, answered = _done(user, day)
    siblings = Siblings(answered)
    steps = list(starmap(InSteps, IN_STEPS.all(user=user.pk, day=day)))
    ends = end_of(day, profile.zone, profile.day_start)
    of_today = [card for card in steps if card.due_at < ends]
    of_today, waiting = siblings.sort_out(of_today)

    due = list(starmap(Keyed, FELL_DUE[profile.backlog_order].all(user=user.pk, day=day)))
    overdue, room = sum(map(attrgetter("overdue"), due)), room_for(profile, done, "reviews")
    backlog = bool(overdue) or len(due) > room
    if not backlog:  # all of it fell due today
        due.sort(key=lambda card: (not card.asked, card.pk))
    due, kept = siblings.sort_out(due)
    room = max(room, sum(map(attrgetter("asked"), due)))
    return UnderWay(
        day, done, siblings, steps, of_today, due[:room], due[room:], [*waiting, *kept], backlog, overdue)


def _mixed(due: list[Keyed], new: list[Keyed], profile: Profile, done: Counter) -> list[Keyed]:
    """Reviews and new cards in the order that the person set."""
    match profile.new_place:
        case Profile.NewPlace.BEFORE:
            return new + due
        case Profile.NewPlace.AFTER:
            return due + new
    return spread.interleave(
        due, new, reviews_done=done["reviews"], new_done=done["new numbers"] + done["new questions"])


class Days(Func):
    """A study day less another, in days, as a float."""

    arity = 2
    output_field = FloatField()

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **more: Any) -> tuple[str, list]:
        difference = {"template": "(julianday(%(expressions)s))", "arg_joiner": ") - julianday("}
        return self.as_sql(compiler, connection, **difference, **more)

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **more: Any) -> tuple[str, list]:
        return self.as_sql(compiler, connection, template="(%(expressions)s)::float8", arg_joiner=" - ", **more)


def open_cards(user: User | Given, day: date | Given) -> QuerySet[Card]:
    """All that may come up: neither suspended nor buried beyond the day."""
    return Card.objects.filter(user=user, suspended=False).exclude(buried_until__gt=day)


def _fell_due(user: Given, day: Given, order: Any) -> QuerySet[Card]:
    """What is due of the cards in review, in line: the identity of each and whether it is overdue."""
    overdue = ExpressionWrapper(Q(due_day__lt=day), BooleanField())
    fell_due = open_cards(user, day).filter(state=State.REVIEW, due_day__lte=day)
    return fell_due.order_by("-asked", order, "pk").values_list(*IDENTITY, overdue)


IN_STEPS = Prepared(
    lambda user, day: open_cards(user, day).filter(due_at__isnull=False).exclude(state=State.NEW).order_by(
        "due_at", "pk").values_list(*InSteps._fields), "user", "day")
# How due cards stand in line when there are more than the day's. The more days since the last answer over stability,
# the lower is predicted recall, whoever's parameters it is by.
FELL_DUE = {
    Profile.BacklogOrder.RECALL: Prepared(
        lambda user, day: _fell_due(user, day, (Days(day, "last_day") / F("stability")).desc()), "user", "day",
        bare=True),
    Profile.BacklogOrder.OVERDUE: Prepared(
        lambda user, day: _fell_due(
            user, day, (Days(day, "due_day") / Greatest(Days("due_day", "last_day"), Value(1.0))).desc()),
        "user", "day", bare=True),
    Profile.BacklogOrder.DAY: Prepared(lambda user, day: _fell_due(user, day, "due_day"), "user", "day", bare=True),
}


def new_questions(user: User | Given, day: date | Given) -> QuerySet[Card]:
    """The questions not begun that the bank still offers, those asked for first, else in its order."""
    of_questions = open_cards(user, day).filter(state=State.NEW, note=None)  # which the index tells without the card
    offered = of_questions.filter(question__draft=False, question__retired=False)
    return offered.order_by("-asked", "question__topic__position", "question__position", "pk")


def new_numbers(user: User | Given, day: date | Given) -> QuerySet[Card]:
    """The sides of number cards not begun that are still offered: the person's own before the bank's, the forward ones
    first, else in the bank's order."""
    offered = open_cards(user, day).filter(state=State.NEW, note__draft=False, note__retired=False)
    asked = offered.exclude(direction=Direction.REVERSE, note__reverse=False)
    own_first = F("note__owner").asc(nulls_last=True)
    return asked.order_by(own_first, "direction", "note__topic__position", "note__position", "pk")


class Offered:
    """The new cards of a kind that are still offered, in their order, in queries written once."""

    def __init__(self, cards: Callable[[Given, Given], QuerySet[Card]]) -> None:
        given = "user", "day"
        self.first = Prepared(lambda user, day: cards(user, day).values_list(*IDENTITY)[:FIRST_LOOK], *given, bare=True)
        self.whole = Prepared(lambda user, day: cards(user, day).values_list(*IDENTITY), *given, bare=True)
        self.asked = Prepared(
            lambda user, day: cards(user, day).filter(asked=True).values_list(*IDENTITY), *given, bare=True)

    def through(self, user: User, day: date, room: int) -> Iterator[Keyed]:
        """Those to look through for so many; without room for any only what was asked for."""
        given = {"user": user.pk, "day": day}
        first = (self.first if room else self.asked).all(**given)
        yield from starmap(Keyed, first)
        if room and len(first) == FIRST_LOOK:
            yield from starmap(Keyed, self.whole.all(**given)[FIRST_LOOK:])


NEW_QUESTIONS, NEW_NUMBERS = Offered(new_questions), Offered(new_numbers)


def introduced(cards: Iterable[Keyed], room: int, siblings: Siblings) -> tuple[list[Keyed], list[Keyed]]:
    """The new cards that begin today, and those that a sibling keeps back; they are looked through only as far as the
    limit lets them."""
    begun: list[Keyed] = []
    waiting: list[Keyed] = []
    for card in cards:
        if not card.asked and len(begun) >= room:
            break
        (begun if siblings.gives(card) else waiting).append(card)
    return begun, waiting


def room_for(profile: Profile, done: Counter, kind: str) -> int:
    """How many of a kind the day still lets through: its limit, with what was brought past it, less what was done."""
    limits = {"reviews": profile.reviews_per_day, "new questions": profile.new_questions_per_day,
              "new numbers": profile.new_numbers_per_day}
    return max(limits[kind] + done[f"more {kind}"] - done[kind], 0)


def _done(user: User, day: date) -> tuple[Counter, dict[int, int]]:
    """What the study day has seen, by the log: how many answers, how many of these were reviews, new questions and new
    numbers, and how many of each its person brought past the limit ("more reviews"); and of each note that was answered
    the card that was."""
    done: Counter = Counter()
    answered: dict[int, int] = {}
    standing = memory.standing(starmap(Seen, OF_THE_DAY.all(user=user.pk, day=day)))
    counts_as = memory.answers_of(standing)
    for row in standing:
        brought = row.brought and row.kind == Review.Kind.SET_DUE
        if not row.today or not (brought or counts_as.get(row.id) and row.kind in memory.GIVEN):
            continue
        done["answers"] += not brought
        more = "more " * brought
        if row.was == State.REVIEW:
            done[f"{more}reviews"] += 1
        elif row.was == State.NEW:
            done[f"{more}{'new numbers' if row.card__note else 'new questions'}"] += 1
        if row.card__note and not brought:
            answered[row.card__note] = row.card_id
    return done, answered


def _of_the_day(user: Given, day: Given) -> QuerySet[Review]:
    """The day's rows, and what names one of them, to undo it or take it out of the count: that came after the first."""
    begins = Review.objects.filter(study_day=day).order_by("pk").values("pk")[:1]
    rows = Review.objects.of(user).filter(Q(study_day=day) | Q(names__isnull=False), pk__gte=Subquery(begins))
    today = ExpressionWrapper(Q(study_day=day), BooleanField())
    brought = ExpressionWrapper(Q(asked=True, batch__isnull=False), BooleanField())
    return rows.order_by("pk").values_list(
        "id", "card_id", "card__note", "kind", "names_id", "rating", today, "was", brought)


OF_THE_DAY = Prepared(_of_the_day, "user", "day", bare=True)
LATEST = Latest(Review, lambda rows: rows.values_list("pk", "card_id", "names__kind"), bare=True)
