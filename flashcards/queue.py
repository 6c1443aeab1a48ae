"""What comes next: the offer on each button, the plan of a person's day, the next card."""
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise, starmap, takewhile
from statistics import median

from django.db.models import Count, Q

from accounts.models import Profile, User
from flashcards import kept, memory, spread
from flashcards.access import card_for
from flashcards.agenda import (
    NEW_NUMBERS,
    NEW_QUESTIONS,
    Agenda,
    InSteps,
    Keyed,
    introduced,
    new_numbers,
    new_questions,
    open_cards,
    room_for,
    under_way,
)
from flashcards.latest import Latest
from flashcards.memory import DEFAULT_PARAMETERS, Due, Memory, Rules
from flashcards.models import Attempt, Card, Rating, Review, State
from flashcards.siblings import Sided, waiting_words
from flashcards.spread import Placed, Placing
from flashcards.study_day import end_of, start_of, study_day
from questions.models import Note

LEARN_AHEAD = timedelta(minutes=20)
FORECAST_DAYS = 14
STEP_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
PACE_ATTEMPTS = 200  # the latest ones: a pace changes
PACE_FROM = 3  # answers of a kind; one card left open over lunch is no pace
LEFT_OPEN = 60 * 60  # seconds, from which a card was left open rather than thought about
LONGEST_PAUSE = 30  # days missed that a row of study days still outlasts
NUMBER_SECONDS = 12  # for a number card, until this person's own pace is known


@dataclass(frozen=True, slots=True)
class Offer:
    """What a button will do: the memory, the due (a day, or an instant inside learning steps), and its label."""

    memory: Memory
    due_day: date | None
    due_at: datetime | None
    label: str  # "10 min", "14 d", "3.3 mo", "1.2 y"
    placed: Placed | None = None  # of an interval that was spread: what bare FSRS gives, and why it was moved
    first_day: date | None = None  # the days among which it may fall; what other cards of those days hold decides
    last_day: date | None = None

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
class Line:
    """What is left of a study day at an instant, in the order it comes: first `learning`, then `rest`."""

    agenda: Agenda
    learning: list[InSteps]
    rest: list[Keyed]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is left of a study day within its limits; `line` is all of it in the order it comes."""

    study_day: date
    learning_due: list[Card]
    due: list[Card]
    new_today: list[Card]
    line: list[Card]
    recall: dict[int, float]  # by the card's pk, of those in line that are not new
    held_back: list[Held]
    order: str
    overdue: int  # of all that is due, within the limit or past it, what fell due on an earlier day


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
    streak: int  # study days with an answer, in a row that a missed day pauses
    studied_today: bool
    missed: int  # days without an answer since the latest one with, before today


# The offer

def rules(profile: Profile, card: Card) -> Rules:
    """How a person's card is scheduled; questions and number cards have learning steps of their own."""
    return Rules(
        parameters=parameters(profile),
        desired_retention=profile.desired_retention,
        learning_steps=waits(profile.number_steps if card.note_id else profile.question_steps),
        relearning_steps=waits(profile.relearning_steps),
        maximum_interval=profile.maximum_interval,
    )


def parameters(profile: Profile) -> tuple[float, ...]:
    """The FSRS parameters that a person's cards are scheduled with."""
    return tuple(profile.fsrs_parameters) or DEFAULT_PARAMETERS


@lru_cache
def waits(steps: str) -> tuple[timedelta, ...]:
    """Learning steps as a profile keeps them, "1m 10m"."""
    return tuple(int(step[:-1]) * STEP_UNITS[step[-1]] for step in steps.split())


def offer(card: Card, ordinal: int, now: datetime, profile: Profile) -> dict[Rating, Offer]:
    """What each of the four buttons will do if pressed at `now` for log position `ordinal`.

    It is worked out before a button is shown and again, by the same rules, when it is pressed.
    """
    day = study_day(now, profile.zone, profile.day_start)
    after, bare, how = _after(card, ordinal, now, profile, tuple(Rating))
    spans = _spans(bare, how)
    placed = spread.place(bare, how, _loads(card, how, bare, day, profile))
    offers = {}
    for rating, (remembered, due) in after.items():
        first = last = due_day = due.day and min(due.day, how.base + timedelta(days=how.most))
        if rating in placed:
            first, last = spans[rating]
            due_day = how.base + timedelta(days=placed[rating].days)
        wait = due_day - day if due_day else due.at - now
        offers[Rating(rating)] = Offer(remembered, due_day, due.at, label(wait), placed.get(rating), first, last)
    return offers


def taken(
    card: Card, rating: Rating, ordinal: int, now: datetime, profile: Profile, shown: date | None
) -> tuple[Memory, Due]:
    """What this button does: its offer, on the day that it showed where that is one of those it may fall on.

    What the other cards hold of those days decided then; it is asked for again only where nothing was shown.
    """
    after, bare, how = _after(card, ordinal, now, profile, tuple(range(2, rating)) + (rating,))
    remembered, due = after[rating]
    if rating not in bare:  # Again, or inside learning steps: nothing spreads it
        return remembered, Due(due.day and min(due.day, how.base + timedelta(days=how.most)), due.at)
    if shown:
        first, last = _spans(bare, how)[rating]
        if first <= shown <= last:
            return remembered, Due(shown, due.at)
    whole = offer(card, ordinal, now, profile)[rating]
    return whole.memory, whole.due


def _after(
    card: Card, ordinal: int, now: datetime, profile: Profile, ratings: Sequence[int]
) -> tuple[dict[int, tuple[Memory, Due]], dict[int, int], Placing]:
    """What bare FSRS makes of each rating; the intervals of those that are spread, in days; and what spreads them."""
    day = study_day(now, profile.zone, profile.day_start)
    after = memory.preview(card.memory, at=now, study_day=day, rules=rules(profile, card), ratings=ratings)
    how = placing(card, ordinal, day, profile)
    bare = {rating: (due.day - how.base).days for rating, (_, due) in after.items() if rating > 1 and due.day}
    return after, bare, how


def _spans(bare: Mapping[int, int], how: Placing) -> dict[int, tuple[date, date]]:
    """The first and the last day on which each interval may fall, whatever the other cards hold of them."""
    spans, latest = {}, 0
    for rating, (low, high) in sorted(spread.ranges(bare, how).items()):
        latest = min(max(high, latest + 1), how.most)
        spans[rating] = how.base + timedelta(days=low), how.base + timedelta(days=latest)
    return spans


def placing(card: Card, ordinal: int, day: date, profile: Profile) -> Placing:
    """What decides where the card's next intervals fall when it is answered on study day `day`."""
    base = max(day, card.last_day or day)
    longest = profile.maximum_interval
    if profile.interview_day and profile.interview_day > base:
        longest = min(longest, (profile.interview_day - base).days)
    reviewed = card.state == State.REVIEW and card.due_day and card.last_day
    return Placing(
        base, longest, (card.due_day - card.last_day).days if reviewed else None, profile.fuzz,
        f"{card.pk}, {ordinal}", profile.easy_days)


def _loads(card: Card, how: Placing, bare: Mapping[int, int], day: date, profile: Profile) -> dict[date, int]:
    """How many other cards of the person fall due on each day among which an interval may fall."""
    reach = spread.ranges(bare, how).values()
    days = {how.base + timedelta(days=at) for low, high in reach if low < high for at in range(low, high + 3)}
    loads = kept.loads(profile, day, days)
    if card.state == State.REVIEW and not card.suspended and card.due_day in loads:
        loads[card.due_day] -= 1
    return loads


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

def plan(user: User, now: datetime, only: str = "") -> Plan:
    """What is left of the study day that holds `now`, or of its number cards alone (`only` is then "numbers"), with
    what the day keeps back."""
    profile, left = user.profile, line(user, now, only)
    agenda, begun, day = left.agenda, left.agenda.begun, left.agenda.begun.study_day
    numbers = new_numbers(user, day).count() - agenda.new_numbers
    questions = new_questions(user, day).count() - agenda.new_questions
    cards = Card.objects.select_related("question__topic", "note__topic")
    whole = cards.in_bulk([card.pk for card in (*left.learning, *begun.due, *agenda.new_today)])
    learning, due, new_today, rest = (
        [whole[card.pk] for card in part] for part in (left.learning, begun.due, agenda.new_today, left.rest))
    in_line = learning + rest
    held_back = [
        *_held("new questions", questions, profile.new_questions_per_day),
        *_held("new numbers", numbers, profile.new_numbers_per_day),
        *_held("reviews", len(begun.past), profile.reviews_per_day),
        *_held_by_siblings([*begun.waiting, *agenda.new_waiting]),
        *_put_off(user, day),
    ]
    order = (profile.get_backlog_order_display() if begun.backlog
             else "in the order they fell due" if due or learning else "in the bank's order")
    recall = {
        card.pk: memory.predicted_recall(card.memory, day, parameters(profile))
        for card in in_line if card.stability is not None
    }
    return Plan(day, learning, due, new_today, in_line, recall, held_back, order, begun.overdue)


def line(user: User, now: datetime, only: str = "") -> Line:
    """What is left of the study day that holds `now`, in the order it comes: learning steps, then the day's agenda.

    A step due within 20 minutes comes early when nothing else is left.
    """
    agenda = kept.agenda(user, study_day(now, user.profile.zone, user.profile.day_start))
    begun, steps, rest = agenda.begun, agenda.begun.steps, agenda.rest
    learning = [card for card in begun.of_today if card.due_at <= now]
    if only == "numbers":
        learning, rest, steps = ([card for card in part if card.note_id] for part in (learning, rest, steps))
    if not learning and not rest:
        siblings = begun.siblings.copy()  # whoever comes early has the day in this line alone
        learning = [card for card in steps if card.due_at <= now + LEARN_AHEAD and siblings.gives(card)]
    return Line(agenda, learning, rest)


def held_back(user: User, now: datetime, kind: str, count: int) -> list[int]:
    """The first so many cards, by their keys, that a limit of the day keeps back: "reviews", "new questions" or "new
    numbers"; none whose sibling has the day."""
    profile = user.profile
    day = study_day(now, profile.zone, profile.day_start)
    begun = under_way(user, day)
    if kind == "reviews":
        return [card.pk for card in begun.past[:count]]
    offered, room = NEW_QUESTIONS if kind == "new questions" else NEW_NUMBERS, room_for(profile, begun.done, kind)
    through, waiting = introduced(offered.through(user, day, room), room, begun.siblings)
    passed = {card.pk for card in (*through, *waiting)}
    held = (card for card in starmap(Keyed, offered.whole.all(user=user.pk, day=day)) if card.pk not in passed)
    return [card.pk for card in held if begun.siblings.gives(card)][:count]


def due_count(user: User, now: datetime) -> int:
    """How many of the cards begun before wait at `now`, within the day's limit of reviews."""
    begun = kept.begun(user, study_day(now, user.profile.zone, user.profile.day_start))
    return len(begun.due) + sum(card.due_at <= now for card in begun.of_today)


def today(user: User, now: datetime, only: str = "") -> Day:
    """The study day that holds `now`: what is left of it, how long it should take, and the days ahead."""
    profile, left = user.profile, plan(user, now, only)
    pace = pace_of(user)
    line = [Place(card, left.recall.get(card.pk), pace.get(card.kind) or stated_seconds(card)) for card in left.line]
    own_pace = all(card.kind in pace for card in left.line)
    answered = Review.objects.filter(card__user=user).answers()
    days = answered.order_by("-study_day").values_list("study_day", flat=True).distinct()
    streak, studied_today, missed = _streak(days, left.study_day)
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
        next_due=_next_due(user, left, profile),
        forecast=[(one.day, one.cards) for one in ahead(user, left.study_day, FORECAST_DAYS)],
        streak=streak,
        studied_today=studied_today,
        missed=missed,
    )


def next_card(
    user: User, now: datetime, later: Sequence[int] = (), only: str = "", left: Line | None = None
) -> Card | None:
    """The card to show now, or None when the day, or what it has of number cards, is done; of a line that is known
    (`left`) the first.

    A card whose answer was just undone comes first; those put off (`later`, pks, in the order they were) come last.
    """
    left = left or line(user, now, only)
    pks = [card.pk for card in (*left.learning, *left.rest)]
    undone, day = left.agenda.undone, left.agenda.begun.study_day
    if undone is not None and open_cards(user, day).filter(pk=undone).exists():
        pks = [undone, *(pk for pk in pks if pk != undone)]
    put_off = {pk: at for at, pk in enumerate(later)}
    first = min(pks, key=lambda pk: put_off.get(pk, -1), default=None)
    return first and card_for(user, first)


def minutes_of(user: User, left: Line) -> int:
    """What is left should take so many, at the person's own pace where it is known."""
    in_line = [*left.learning, *left.rest]
    if not in_line:
        return 0
    pace = pace_of(user)
    numbers = sum(card.note_id is not None for card in in_line)
    seconds = numbers * (pace.get("number") or NUMBER_SECONDS)
    if numbers < len(in_line):
        questions = Card.objects.filter(pk__in=[card.pk for card in in_line if card.note_id is None])
        for kind, minutes in questions.values_list("question__kind", "question__minutes"):
            seconds += pace.get(kind) or minutes * 60
    return max(round(seconds / 60), 1)


def _held(kind: str, count: int, limit: int) -> list[Held]:
    noun = kind.removesuffix("s") if count == 1 else kind
    return [Held(kind, count, f"{count} {noun} past today’s limit of {limit}")] if count else []


def _held_by_siblings(cards: Sequence[Sided]) -> list[Held]:
    notes = Note.objects.filter(pk__in={card.note_id for card in cards}).values_list("slug", "owner") if cards else ()
    slugs = [slug for slug, owner in notes if owner is None]
    return [Held("siblings", len(cards), waiting_words(slugs, own=len(notes) - len(slugs)))] if cards else []


def _put_off(user: User, day: date) -> list[Held]:
    """What is due but was put off by its person until tomorrow."""
    put_off = Card.objects.filter(user=user, suspended=False, buried_until__gt=day).filter(
        Q(due_day__lte=day) | Q(due_at__isnull=False))
    count = put_off.count()
    return [Held("put off", count, f"{count} put off to tomorrow")] if count else []


PACES = Latest(  # grades: kind of question, None for a number, and seconds
    Attempt, lambda rows: rows.filter(kind=Attempt.Kind.GRADE).values_list("card__question__kind", "seconds"),
    PACE_ATTEMPTS, bare=True)


def pace_of(user: User) -> dict[str, int]:
    """The median seconds that this person takes, from first look to grade, by kind of card answered often enough."""
    taken: dict[str, list[int]] = {}
    for kind, seconds in PACES.all(user):
        if seconds >= LEFT_OPEN:
            continue
        taken.setdefault(kind or "number", []).append(seconds)
    return {kind: round(median(seconds)) for kind, seconds in taken.items() if len(seconds) >= PACE_FROM}


def stated_seconds(card: Card) -> int:
    """How long a card should take whoever answers it."""
    return NUMBER_SECONDS if card.note_id else card.question.minutes * 60


@dataclass(frozen=True, slots=True)
class Ahead:
    """What falls due on a day to come; of today, with what is overdue."""

    day: date
    cards: int
    seconds: int  # at this person's own pace where it is known


def ahead(user: User, today: date, days: int) -> list[Ahead]:
    """The coming study days, today's first, as the cards under way stand."""
    profile, pace = user.profile, pace_of(user)
    last = today + timedelta(days=days - 1)
    cards, seconds = Counter(), Counter()
    under_way = open_cards(user, today).exclude(state=State.NEW).order_by()
    kind = ("question__kind", "question__minutes")
    by_day = under_way.filter(due_day__lte=last).values_list("due_day", *kind).annotate(Count("pk"))
    steps = under_way.filter(due_at__isnull=False).values_list("due_at", *kind)
    in_steps = ((study_day(at, profile.zone, profile.day_start), *kind, 1) for at, *kind in steps)
    for due_day, kind, minutes, count in (*by_day, *in_steps):
        day = max(due_day, today)
        cards[day] += count
        seconds[day] += count * pace.get(kind or "number", minutes * 60 if minutes else NUMBER_SECONDS)
    return [
        Ahead(day, cards[day], seconds[day]) for day in (today + timedelta(days=ahead) for ahead in range(days))
    ]


def _next_due(user: User, left: Plan, profile: Profile) -> datetime | None:
    """The first instant after now at which a card that is not in line comes up."""
    today, in_line = left.study_day, {card.pk for card in left.line}
    under_way = open_cards(user, today).exclude(state=State.NEW)
    ahead = under_way.filter(due_day__gt=today).order_by("due_day").values_list("due_day", flat=True).first()
    days = [day for day in (ahead, left.held_back and today + timedelta(days=1)) if day]
    steps = under_way.filter(due_at__isnull=False).values_list("pk", "due_at")
    instants = [at for pk, at in steps if pk not in in_line]
    instants += [start_of(min(days), profile.zone, profile.day_start)] if days else []
    return min(instants, default=None)


def _streak(days: Iterable[date], today: date) -> tuple[int, bool, int]:
    """How many of `days`, latest first, make a row up to today, whether today is one, and how many were just missed.

    A day missed pauses the row: it adds nothing and takes nothing away. More than LONGEST_PAUSE in a row end it. A day
    ahead of today, answered on before a flight west, waits until today has come to it.
    """
    passed = [day for day in days if day <= today]
    row = takewhile(lambda pair: (pair[0] - pair[1]).days - 1 <= LONGEST_PAUSE, pairwise([today, *passed]))
    missed = max((today - passed[0]).days - 1, 0) if passed else 0
    return sum(1 for _ in row), today in passed, missed
