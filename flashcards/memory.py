"""What a card's log says of its memory: FSRS-6 behind a few plain functions, fed with study days.

The scheduler counts whole 24-hour blocks between instants. A person counts study days. So it is never shown the real
clock but one of our own, `fed_at`, on which a study day is 24 hours; the real instants stay in the log.
"""
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any, Protocol

import fsrs

DAY = timedelta(days=1)
SHORT_OF_A_DAY = DAY - timedelta(microseconds=1)
DEFAULT_PARAMETERS: tuple[float, ...] = tuple(fsrs.scheduler.DEFAULT_PARAMETERS)
FSRS_STATES = {
    "new": fsrs.State.Learning,
    "learning": fsrs.State.Learning,
    "review": fsrs.State.Review,
    "relearning": fsrs.State.Relearning,
}
GIVEN = ("answer", "import")  # kinds of row that are answers, here or elsewhere, when they carry a rating
NAMES = {fsrs.State.Learning: "learning", fsrs.State.Review: "review", fsrs.State.Relearning: "relearning"}


@dataclass(frozen=True, slots=True)
class Rules:
    """How a person wants to be scheduled; steps are waits inside learning, maximum_interval is in days."""

    parameters: tuple[float, ...] = DEFAULT_PARAMETERS
    desired_retention: float = 0.9
    learning_steps: tuple[timedelta, ...] = ()
    relearning_steps: tuple[timedelta, ...] = ()
    maximum_interval: int = 36_500

    def scheduler(self) -> fsrs.Scheduler:
        return _scheduler(self)


@lru_cache
def _scheduler(rules: Rules) -> fsrs.Scheduler:
    """FSRS by these rules; it keeps nothing of what it is asked."""
    return fsrs.Scheduler(
        parameters=rules.parameters,
        desired_retention=rules.desired_retention,
        learning_steps=rules.learning_steps,
        relearning_steps=rules.relearning_steps,
        maximum_interval=rules.maximum_interval,
        enable_fuzzing=False,  # it draws from the global random; ours is seeded
    )


@dataclass(frozen=True, slots=True)
class Memory:
    """A card after some answers: stability in days, difficulty 1 to 10, and the clocks it was last answered on."""

    state: str = "new"  # new, learning, review, relearning
    step: int | None = None
    stability: float | None = None
    difficulty: float | None = None
    fed_at: datetime | None = None
    last_day: date | None = None  # the latest study day answered on
    last_at: datetime | None = None
    answers: int = 0
    lapses: int = 0

    def columns(self) -> dict[str, Any]:
        """What a log row keeps of the memory that it led to."""
        return {name: getattr(self, name) for name in ("state", "step", "stability", "difficulty", "fed_at")}


@dataclass(frozen=True, slots=True)
class Due:
    """When a card comes back: an exact instant inside learning steps, else a study day; neither for a new card.

    `asked` says that its person asked for it out of turn: it comes first and whatever the limits say, until answered.
    """

    day: date | None = None
    at: datetime | None = None
    asked: bool = False


class Row(Protocol):
    """What replay reads of a row of the log."""

    id: int | None
    kind: str
    names_id: int | None
    rating: int | None
    at: datetime
    study_day: date
    state: str
    step: int | None
    stability: float | None
    difficulty: float | None
    fed_at: datetime | None
    due_day: date | None
    due_at: datetime | None
    asked: bool


def feed(memory: Memory, at: datetime, day: date) -> datetime:
    """The instant on the scheduler's own clock for an answer at `at` on study day `day`.

    The first is noon of its study day. Then 24 hours for each study day that has passed, or, on the same one, the real
    time since the answer before, less than 24 hours. A step back, in time or by a change of zone, is the same day.
    """
    if memory.fed_at is None:
        return datetime.combine(day, time(12), tzinfo=UTC)
    if day > memory.last_day:
        return memory.fed_at + DAY * (day - memory.last_day).days
    return memory.fed_at + min(max(at - memory.last_at, timedelta()), SHORT_OF_A_DAY)


def step(memory: Memory, rating: int, *, at: datetime, study_day: date, rules: Rules) -> tuple[Memory, Due]:
    """The memory after an answer, and when bare FSRS would have the card back."""
    fed_at = feed(memory, at, study_day)
    day = max(study_day, memory.last_day or study_day)
    card, _ = rules.scheduler().review_card(_fsrs_card(memory), fsrs.Rating(rating), fed_at)
    after = Memory(
        state=NAMES[card.state],
        step=card.step,
        stability=card.stability,
        difficulty=card.difficulty,
        fed_at=fed_at,
        last_day=day,
        last_at=at,
        answers=memory.answers + 1,
        lapses=memory.lapses + (memory.state == "review" and rating == fsrs.Rating.Again),
    )
    wait = card.due - fed_at
    return after, Due(day=day + wait) if after.state == "review" else Due(at=at + wait)


def preview(
    memory: Memory, *, at: datetime, study_day: date, rules: Rules, ratings: Sequence[int] = (1, 2, 3, 4)
) -> dict[int, tuple[Memory, Due]]:
    """What each rating would lead to."""
    return {rating: step(memory, rating, at=at, study_day=study_day, rules=rules) for rating in ratings}


def predicted_recall(memory: Memory, day: date, parameters: tuple[float, ...] = DEFAULT_PARAMETERS) -> float | None:
    """The chance, 0 to 1, that the card is remembered on study day `day`; None for a new one."""
    if memory.stability is None:
        return None
    fed_at = memory.fed_at + DAY * max((day - memory.last_day).days, 0)
    return Rules(parameters=parameters).scheduler().get_card_retrievability(_fsrs_card(memory), fed_at)


def recall_after(days: float, stability: float, parameters: tuple[float, ...] = DEFAULT_PARAMETERS) -> float:
    """The chance, 0 to 1, that what was answered so many days ago is remembered: FSRS-6's forgetting curve;
    of many at once when they are arrays.

    (1 + factor * days / stability) ** decay, with decay = -w20 and the factor that makes it 0.9 after `stability` days.
    """
    decay = -parameters[20]
    factor = 0.9 ** (1 / decay) - 1
    return (1 + factor * days / stability) ** decay


def interval(stability: float, by: Rules) -> int:
    """The days, without fuzz, after which predicted recall has fallen to what is desired: recall_after, solved for
    days and rounded half to even as fsrs does, at least 1 and at most `maximum_interval`."""
    decay = -by.parameters[20]
    factor = 0.9 ** (1 / decay) - 1
    days = stability / factor * (by.desired_retention ** (1 / decay) - 1)
    return min(max(round(days), 1), by.maximum_interval)


def standing(rows: Iterable[Row]) -> list[Row]:
    """The rows, oldest first, that no standing undo names; an undo that is itself undone gives its row back."""
    kept, undone = [], set()
    for row in reversed(list(rows)):
        if row.id is not None and row.id in undone:
            continue
        if row.kind == "undo":
            undone.add(row.names_id)
        kept.append(row)
    return kept[::-1]


def answers_of(standings: Iterable[Row]) -> dict[int | None, int | None]:
    """What each answer among rows that stand counts as now, by its id: a rating, or None once it was removed."""
    ratings: dict[int | None, int | None] = {}
    for row in standings:
        if row.kind in GIVEN and row.rating:
            ratings[row.id] = row.rating
        elif row.kind == "amend":
            ratings[row.names_id] = row.rating
        elif row.kind == "remove":
            ratings[row.names_id] = None
    return ratings


def course(
    rows: Iterable[Row], parameters: tuple[float, ...] = DEFAULT_PARAMETERS
) -> Iterator[tuple[Row, Memory, Due]]:
    """Each standing row of a card's whole log that moves its memory or its due, with both as they were after it.

    Stability, difficulty and the fed clock are computed again from the ratings, as they count now. State, step and due
    are what the row says: they hang on settings and on other cards of that day, which may have changed since. From an
    answer on that was changed or removed later, state and step are those without learning steps, and the row of the
    change says where that left the card.
    """
    memory, rules = Memory(), Rules(parameters=parameters)
    standings = standing(rows)
    ratings, as_it_was = answers_of(standings), True
    for row in standings:
        due = Due(row.due_day, row.due_at)
        if row.kind in GIVEN and row.rating:
            rating = ratings[row.id]
            as_it_was &= rating == row.rating
            if rating is None:
                memory = replace(memory, answers=memory.answers + 1)
                continue
            after, bare = step(memory, rating, at=row.at, study_day=row.study_day, rules=rules)
            memory = replace(after, state=row.state, step=row.step) if as_it_was else after
            yield row, memory, due if as_it_was else bare
        elif row.kind == "import":
            memory = Memory(
                state=row.state, step=row.step, stability=row.stability, difficulty=row.difficulty, fed_at=row.fed_at,
                last_day=row.study_day, last_at=row.at, answers=memory.answers,
            )
            yield row, memory, due
        elif row.kind == "reset":
            memory = Memory(answers=memory.answers)
            yield row, memory, Due()
        elif row.kind in ("amend", "remove"):
            if memory.stability is not None:  # else all that came before was removed, and it is new again
                memory = replace(memory, state=row.state, step=row.step)
            as_it_was = True
            yield row, memory, due
        elif row.kind == "set_due":
            memory = out_of_steps(memory) if due.day else memory
            yield row, memory, replace(due, asked=row.asked)


def out_of_steps(memory: Memory) -> Memory:
    """The memory of a card that is given a due day: from then on it is in no learning step."""
    return replace(memory, state="review", step=None) if memory.state in ("learning", "relearning") else memory


def replay(rows: Iterable[Row], parameters: tuple[float, ...] = DEFAULT_PARAMETERS) -> tuple[Memory, Due]:
    """A card's memory and due from its whole log, in order, as if what was undone had never been done."""
    standings = [(memory, due) for _, memory, due in course(rows, parameters)]
    return standings[-1] if standings else (Memory(), Due())


def amended(rows: Sequence[Row], by: Rules) -> tuple[Memory, Due]:
    """Where a card's log leaves it when its last row, of which only `kind`, `names_id` and `rating` are known yet,
    changes or removes an earlier answer: in no learning step, due as bare FSRS has it after the last answer left."""
    *before, change = rows
    memory = Memory()
    for row, after, _ in course(before + [change], by.parameters):
        if row is not change:
            memory = after
    if memory.stability is None:
        return memory, Due()
    memory = replace(memory, state="review", step=None)
    return memory, Due(day=memory.last_day + DAY * interval(memory.stability, by))


def is_suspended(rows: Iterable[Row]) -> bool:
    """Whether the whole log leaves its card out of the drill."""
    kinds = [row.kind for row in standing(rows) if row.kind in ("suspend", "unsuspend")]
    return kinds[-1:] == ["suspend"]


def buried_until(rows: Iterable[Row]) -> date | None:
    """The first study day on which a card that was put off may come up again; None when it never was, or was answered
    or asked for since."""
    until = None
    for row in standing(rows):
        if row.kind == "bury":
            until = row.study_day + DAY
        elif row.kind in GIVEN or row.kind in ("set_due", "reset"):
            until = None
    return until


def _fsrs_card(memory: Memory) -> fsrs.Card:
    # Without an id it would sleep to make one, and without a due it would read the clock; neither is used.
    return fsrs.Card(
        card_id=1,
        state=FSRS_STATES[memory.state],
        step=memory.step,
        stability=memory.stability,
        difficulty=memory.difficulty,
        due=memory.fed_at or datetime.min.replace(tzinfo=UTC),
        last_review=memory.fed_at,
    )
