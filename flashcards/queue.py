"""What comes next: the offer on each button, the plan of a person's day, the next card."""
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import takewhile
from statistics import median

from django.db.models import Q, QuerySet, prefetch_related_objects

from accounts.models import Profile, User
from flashcards import memory, spread
from flashcards.access import card_for
from flashcards.memory import DEFAULT_PARAMETERS, Due, Memory, Rules
from flashcards.models import Attempt, Card, Direction, Rating, Review, State
from flashcards.siblings import Siblings, waiting_words
from flashcards.study_day import end_of, start_of, study_day

LEARN_AHEAD = timedelta(minutes=20)
FORECAST_DAYS = 14
STEP_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
PACE_ATTEMPTS = 200  # the latest ones: a pace changes
PACE_FROM = 3  # answers of a kind; one card left open over lunch is no pace
NUMBER_SECONDS = 12  # for a number card, until this person's own pace is known


@dataclass(frozen=True, slots=True)
class Offer:
    """What a button will do: the memory, the due (a day, or an instant inside learning steps), and its label."""

    memory: Memory
    due_day: date | None
    due_at: datetime | None
    label: str  # "10 min", "14 d", "3.3 mo", "1.2 y"

    @property
    def due(self) -> Due:
        return Due(self.due_day, self.due_at)


@dataclass(frozen=True, slots=True)
class Held:
    """Cards that the day keeps back, and the words that say so: "3 new questions past today's limit of 2"."""

    kind: str  # "new questions", "new numbers", "reviews" or "siblings"
    count: int
    words: str


@dataclass(frozen=True, slots=True)
class Place:
    """A card in the day's line: predicted recall (None for a new one) and the seconds it should take this person."""

    card: Card
    recall: float | None
    seconds: int


@dataclass(frozen=True, slots=True)
class UnderWay:
    """What a study day asks of the cards that were begun before, within its limit of reviews."""

    cards: list[Card]  # everything begun that may come up on some day
    done: Counter  # of the day so far: "reviews", "new questions", "new numbers"
    siblings: Siblings
    steps: list[Card]  # inside learning steps, the earliest first
    of_today: list[Card]  # of these, what falls on this day
    due: list[Card]
    held: list[Card]  # due past the limit
    waiting: list[Card]  # kept back by a sibling
    recall: dict[int, float]
    backlog: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What is left of a study day within its limits; `line` is all of it in the order it comes."""

    study_day: date
    cards: list[Card]  # everything begun that may come up on some day
    learning_due: list[Card]
    due: list[Card]
    new_today: list[Card]
    line: list[Card]
    recall: dict[int, float]  # by the card's pk, of those in line that are not new
    held_back: list[Held]
    order: str


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
    order: str  # "lowest predicted recall first", "in the order they fell due"; new ones alone: "in the bank's order"
    minutes: int  # for all that is left, at this person's own pace where it is known
    own_pace: bool  # whether it is known for all of it
    next_due: datetime | None  # when something comes back once all this is done; None when nothing is under way
    forecast: list[tuple[date, int]]  # cards falling due on each of 14 days, today's with the overdue
    streak: int  # study days in a row with an answer, up to today or yesterday
    studied_today: bool


# The offer

def rules(profile: Profile, card: Card) -> Rules:
    """How a person's card is scheduled; questions and number cards have learning steps of their own."""
    return Rules(
        parameters=parameters(profile),
        desired_retention=profile.desired_retention,
        learning_steps=waits(profile.number_steps if card.note_id else profile.question_steps),
        relearning_steps=waits(profile.relearning_steps),
    )


def parameters(profile: Profile) -> tuple[float, ...]:
    """The FSRS parameters that a person's cards are scheduled with."""
    return tuple(profile.fsrs_parameters) or DEFAULT_PARAMETERS


def waits(steps: str) -> tuple[timedelta, ...]:
    """Learning steps as a profile keeps them, "1m 10m"."""
    return tuple(int(step[:-1]) * STEP_UNITS[step[-1]] for step in steps.split())


def offer(card: Card, ordinal: int, now: datetime, profile: Profile) -> dict[Rating, Offer]:
    """What each of the four buttons will do if pressed at `now` for log position `ordinal`.

    It is worked out before a button is shown and again, by the same rules, when it is pressed.
    """
    day, by = study_day(now, profile.zone, profile.day_start), rules(profile, card)
    after = memory.preview(card.memory, at=now, study_day=day, rules=by)
    last = max(day, card.last_day or day) + timedelta(days=by.maximum_interval)
    due_days = spread.strictly({rating: due.day for rating, (_, due) in after.items() if rating > 1 and due.day}, last)
    offers = {}
    for rating, (remembered, due) in after.items():
        due_day = due_days.get(rating, due.day)
        wait = due_day - day if due_day else due.at - now
        offers[Rating(rating)] = Offer(remembered, due_day, due.at, label(wait))
    return offers


def label(wait: timedelta) -> str:
    """A wait as a button shows it: "10 min", "1.5 h", "14 d", from 100 days "3.3 mo", from a year "1.2 y"."""
    days = wait / timedelta(days=1)
    if wait < timedelta(minutes=1):
        return f"{round(wait.total_seconds())} s"
    if wait < timedelta(hours=1):
        return f"{round(wait.total_seconds() / 60, 1):g} min"
    if days < 1:
        return f"{round(wait.total_seconds() / 3600, 1):g} h"
    if days < 100:
        return f"{round(days, 1):g} d"
    return f"{days / 365.25 * 12:.1f} mo" if days < 365 else f"{days / 365.25:.1f} y"


# The day

def plan(user: User, now: datetime, only: str = "", named: bool = True) -> Plan:
    """What is left of the study day that holds `now`, or of its number cards alone (`only` is then "numbers").

    Learning steps come first, then what the person asked for, whatever the limits say, then reviews with the new cards
    spread evenly among them. Limits count what the log says was done on this study day. Of a number card's two
    directions one comes up, the other waits for a later day. A step due within 20 minutes comes early when nothing
    else is left. Unless `named`, the questions and notes of the cards are not read and what a sibling keeps back is not
    told: enough to find the next card.
    """
    profile = user.profile
    day = study_day(now, profile.zone, profile.day_start)
    begun = _under_way(user, day)
    done, siblings, steps = begun.done, begun.siblings, begun.steps

    numbers, new_waiting, numbers_held = _introduced(
        _new_numbers(user, day), profile.new_numbers_per_day - done["new numbers"], siblings)
    questions, _, questions_held = _introduced(
        _new_questions(user, day), profile.new_questions_per_day - done["new questions"], siblings)
    new_today = spread.interleave(
        numbers, questions, reviews_done=done["new numbers"], new_done=done["new questions"])

    rest = spread.interleave(
        begun.due, new_today, reviews_done=done["reviews"], new_done=done["new numbers"] + done["new questions"])
    rest.sort(key=lambda card: not card.asked)
    learning = [card for card in begun.of_today if card.due_at <= now]
    if only == "numbers":
        learning, rest, steps = ([card for card in part if card.note_id] for part in (learning, rest, steps))
    if not learning and not rest:
        learning = [card for card in steps if card.due_at <= now + LEARN_AHEAD and siblings.gives(card)]
    waiting = [*begun.waiting, *new_waiting] if named else []
    if named:
        prefetch_related_objects([*learning, *rest, *waiting], "question__topic", "note__topic")
    held_back = [
        *_held("new questions", len(questions_held), profile.new_questions_per_day),
        *_held("new numbers", len(numbers_held), profile.new_numbers_per_day),
        *_held("reviews", len(begun.held), profile.reviews_per_day),
        *_held_by_siblings(waiting),
    ]
    order = ("lowest predicted recall first" if begun.backlog
             else "in the order they fell due" if begun.due or learning else "in the bank's order")
    return Plan(day, begun.cards, learning, begun.due, new_today, learning + rest, begun.recall, held_back, order)


def due_count(user: User, now: datetime) -> int:
    """How many of the cards begun before wait at `now`, within the day's limit of reviews."""
    begun = _under_way(user, study_day(now, user.profile.zone, user.profile.day_start))
    return len(begun.due) + sum(card.due_at <= now for card in begun.of_today)


def today(user: User, now: datetime, only: str = "") -> Day:
    """The study day that holds `now`: what is left of it, how long it should take, and the days ahead."""
    profile, left = user.profile, plan(user, now, only)
    pace = _pace(user)
    line = [Place(card, left.recall.get(card.pk), pace.get(card.kind) or _stated_seconds(card)) for card in left.line]
    own_pace = all(card.kind in pace for card in left.line)
    answered = Review.objects.filter(card__user=user).answers()
    days = answered.order_by("-study_day").values_list("study_day", flat=True).distinct()
    streak, studied_today = _streak(days, left.study_day)
    return Day(
        study_day=left.study_day,
        ends_at=end_of(left.study_day, profile.zone, profile.day_start),
        learning_due=left.learning_due,
        due=left.due,
        new_today=left.new_today,
        held_back=left.held_back,
        done_today=answered.filter(study_day=left.study_day).count(),
        first_in_line=line,
        order=left.order,
        minutes=max(round(sum(place.seconds for place in line) / 60), 1) if line else 0,
        own_pace=own_pace,
        next_due=_next_due(left, profile),
        forecast=_forecast(left, profile),
        streak=streak,
        studied_today=studied_today,
    )


def next_card(user: User, now: datetime, later: Sequence[int] = (), only: str = "") -> Card | None:
    """The card to show now, or None when the day, or what it has of number cards, is done.

    A card whose answer was just undone comes first; those put off (`later`, pks, in the order they were) come last.
    """
    left = plan(user, now, only, named=False)
    line = [card.pk for card in left.line]
    if (undone := _just_undone(user)) is not None and _open(user, left.study_day).filter(pk=undone).exists():
        line = [undone, *(pk for pk in line if pk != undone)]
    put_off = {pk: at for at, pk in enumerate(later)}
    first = min(line, key=lambda pk: put_off.get(pk, -1), default=None)
    return first and card_for(user, first)


def _under_way(user: User, day: date) -> UnderWay:
    """The cards begun before, sorted out for the day: learning steps, reviews in their order, and who waits."""
    profile = user.profile
    cards = list(_open(user, day).exclude(state=State.NEW))
    done, answered = _done(user, day)
    siblings = Siblings(answered)
    steps = sorted((card for card in cards if card.due_at), key=lambda card: (card.due_at, card.pk))
    of_today = [card for card in steps if study_day(card.due_at, profile.zone, profile.day_start) <= day]
    of_today, waiting = siblings.sort_out(of_today)

    due = [card for card in cards if card.state == State.REVIEW and card.due_day <= day]
    recall = {card.pk: memory.predicted_recall(card.memory, day, parameters(profile)) for card in [*steps, *due]}
    room = max(profile.reviews_per_day - done["reviews"], 0)
    backlog = len(due) > room or any(card.due_day < day for card in due)
    due.sort(key=lambda card: (recall[card.pk], card.pk) if backlog else (card.due_day, card.pk))
    due.sort(key=lambda card: not card.asked)
    due, kept = siblings.sort_out(due)
    room = max(room, sum(card.asked for card in due))
    return UnderWay(cards, done, siblings, steps, of_today, due[:room], due[room:], [*waiting, *kept], recall, backlog)


def _open(user: User, day: date) -> QuerySet[Card]:
    """All that may come up: neither suspended nor buried beyond the day."""
    return Card.objects.filter(user=user, suspended=False).exclude(buried_until__gt=day)


def _new_questions(user: User, day: date) -> QuerySet[Card]:
    """The questions not begun that the bank still offers, those asked for first, else in its order."""
    offered = _open(user, day).filter(state=State.NEW, question__draft=False, question__retired=False)
    return offered.order_by("-asked", "question__topic__position", "question__position", "pk")


def _new_numbers(user: User, day: date) -> QuerySet[Card]:
    """The sides of number cards not begun that the bank still offers, the forward ones first, else in its order."""
    offered = _open(user, day).filter(state=State.NEW, note__draft=False, note__retired=False)
    asked = offered.filter(Q(direction=Direction.FORWARD) | Q(note__reverse=True))
    return asked.order_by("direction", "note__topic__position", "note__position", "pk")


def _introduced(cards: QuerySet[Card], room: int, siblings: Siblings) -> tuple[list[Card], list[Card], list[int]]:
    """The new cards in three: those that begin today, those that a sibling keeps back, and the pks past the limit.

    A bank of new cards is looked through for a few, so only those few are read whole.
    """
    begun: list[int] = []
    waiting: list[int] = []
    held: list[int] = []
    for card in cards.values_list("pk", "note_id", "asked", named=True):
        may_begin = card.asked or len(begun) < room
        (held if not may_begin else begun if siblings.gives(card) else waiting).append(card.pk)
    whole = Card.objects.in_bulk([*begun, *waiting])
    return [whole[pk] for pk in begun], [whole[pk] for pk in waiting], held


def _held(kind: str, count: int, limit: int) -> list[Held]:
    noun = kind.removesuffix("s") if count == 1 else kind
    return [Held(kind, count, f"{count} {noun} past today’s limit of {limit}")] if count else []


def _held_by_siblings(cards: Sequence[Card]) -> list[Held]:
    words = waiting_words(card.item.slug for card in cards) if cards else ""
    return [Held("siblings", len(cards), words)] if cards else []


def _done(user: User, day: date) -> tuple[Counter, dict[int, int]]:
    """What the study day has seen, by the log: how many reviews, new questions and new numbers, and of each note that
    was answered the card that was, {note: card}."""
    done: Counter = Counter()
    answered: dict[int, int] = {}
    seen = Review.objects.filter(card__user=user, study_day=day).answers().order_by("pk")
    for was, note, card in seen.values_list("was", "card__note", "card"):
        if was == State.REVIEW:
            done["reviews"] += 1
        elif was == State.NEW:
            done["new numbers" if note else "new questions"] += 1
        if note:
            answered[note] = card
    return done, answered


def _just_undone(user: User) -> int | None:
    """The pk of the card whose answer the person's latest action, an undo, took back."""
    latest = Review.objects.filter(card__user=user).select_related("names").order_by("-pk").first()
    return latest.card_id if latest and latest.names and latest.names.kind == Review.Kind.ANSWER else None


def _pace(user: User) -> dict[str, int]:
    """The median seconds that this person takes, from first look to grade, by kind of card answered often enough."""
    latest = Attempt.objects.filter(card__user=user, kind=Attempt.Kind.GRADE).order_by("-pk")
    taken: dict[str, list[int]] = {}
    for kind, seconds in latest.values_list("card__question__kind", "seconds")[:PACE_ATTEMPTS]:
        taken.setdefault(kind or "number", []).append(seconds)
    return {kind: round(median(seconds)) for kind, seconds in taken.items() if len(seconds) >= PACE_FROM}


def _stated_seconds(card: Card) -> int:
    """How long a card should take whoever answers it."""
    return NUMBER_SECONDS if card.note_id else card.question.minutes * 60


def _due_days(left: Plan, profile: Profile) -> Iterator[date]:
    for card in left.cards:
        if card.due_at:
            yield study_day(card.due_at, profile.zone, profile.day_start)
        elif card.due_day:
            yield card.due_day


def _forecast(left: Plan, profile: Profile) -> list[tuple[date, int]]:
    counts = dict.fromkeys((left.study_day + timedelta(days=ahead) for ahead in range(FORECAST_DAYS)), 0)
    for due_day in _due_days(left, profile):
        if (day := max(due_day, left.study_day)) in counts:
            counts[day] += 1
    return list(counts.items())


def _next_due(left: Plan, profile: Profile) -> datetime | None:
    """The first instant after now at which a card that is not in line comes up."""
    in_line = {card.pk for card in left.line}
    tomorrow = left.study_day + timedelta(days=1)
    days = [card.due_day for card in left.cards if card.due_day and card.due_day > left.study_day]
    days += [tomorrow] if left.held_back else []
    instants = [card.due_at for card in left.cards if card.due_at and card.pk not in in_line]
    instants += [start_of(min(days), profile.zone, profile.day_start)] if days else []
    return min(instants, default=None)


def _streak(days: Iterable[date], today: date) -> tuple[int, bool]:
    """How many of `days`, latest first, follow on one another up to today or yesterday, and whether today is one.

    A day ahead of today, answered on before a flight west, waits until today has come to it.
    """
    passed = [day for day in days if day <= today]
    studied_today = today in passed
    latest = today if studied_today else today - timedelta(days=1)
    run = takewhile(lambda pair: pair[1] == latest - timedelta(days=pair[0]), enumerate(passed))
    return sum(1 for _ in run), studied_today
