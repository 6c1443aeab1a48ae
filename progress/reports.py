"""What the log says of a person's learning, as selects that both databases read; arithmetic is done in counts.py."""
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from progress.counts import Answers, Cards, places
from progress.tables import attempts, cards, notes, questions, reviews, topics

Array = np.ndarray
RATED = ("answer", "import")  # the kinds of row that are answers
IN_REVIEW, WAS_NEW = 2, 1
PART = 2_000  # rows
DAYS, SURE = 2**21, 2**15  # more than any day's ordinal, and than any confidence that can be stored
OWN, OWN_NAME = 0, "my own"  # for the topic of a card that its person made without one


class ordinal(sa.sql.functions.GenericFunction):
    """A day as Python's date.toordinal() counts it."""

    inherit_cache = True
    type = sa.Integer()


@compiles(ordinal, "sqlite")
def _in_sqlite(element: ordinal, compiler: SQLCompiler, **more: Any) -> str:
    return f"CAST(julianday({compiler.process(element.clauses, **more)}) - 1721424.5 AS INTEGER)"


@compiles(ordinal, "postgresql")
def _in_postgresql(element: ordinal, compiler: SQLCompiler, **more: Any) -> str:
    return f"({compiler.process(element.clauses, **more)} - DATE '0001-01-01' + 1)"


@dataclass(frozen=True, slots=True)
class Lapsing:
    """A card that was forgotten: a question by its slug and title, a number card by its front."""

    card: int
    slug: str | None
    title: str
    topic: str
    lapses: int
    answers: int


@dataclass(frozen=True, slots=True)
class Drilled:
    """A question in a person's drill, with its memory where it was begun."""

    slug: str
    title: str
    topic: str
    stability: float | None
    difficulty: float | None
    last_day: date | None


def standing(among: sa.Select | Sequence[int]) -> sa.Select:
    """The answers on these cards that stand, those brought along included, with `rated`, what each counts as now.

    What ReviewQuerySet.answers() gives. Few rows name another, so only those that are named are looked up; of some
    cards given by their keys, among what is named on these alone.
    """
    undo, change, remove, amend = (reviews.alias(name) for name in ("undo", "change", "remove", "amend"))

    def stands(row: sa.FromClause) -> sa.ColumnElement[bool]:
        return ~sa.exists().where(undo.c.names_id == row.c.id, undo.c.kind == "undo").correlate(row)

    on_these = [] if isinstance(among, sa.Select) else [change.c.card_id.in_(among)]
    is_named = reviews.c.id.in_(sa.select(change.c.names_id).where(change.c.names_id.is_not(None), *on_these))
    removed = sa.exists().where(
        remove.c.names_id == reviews.c.id, remove.c.kind == "remove", stands(remove)).correlate(reviews)
    amended = (
        sa.select(amend.c.rating).where(amend.c.names_id == reviews.c.id, amend.c.kind == "amend", stands(amend))
        .order_by(amend.c.ordinal.desc()).limit(1).correlate(reviews).scalar_subquery())
    return (
        sa.select(
            reviews.c.id, reviews.c.card_id, reviews.c.ordinal, reviews.c.study_day, reviews.c.was,
            reviews.c.stability, reviews.c.due_day, reviews.c.attempt_id,
            sa.case((is_named, sa.func.coalesce(amended, reviews.c.rating)), else_=reviews.c.rating).label("rated"))
        .where(
            reviews.c.card_id.in_(among), reviews.c.kind.in_(RATED), reviews.c.rating.is_not(None),
            sa.or_(~is_named, sa.and_(stands(reviews), ~removed)))
    )


def own_cards(user_id: int) -> sa.Select:
    return sa.select(cards.c.id).where(cards.c.user_id == user_id)


def answers(connection: sa.Connection, user_id: int, only: Sequence[int] | None = None) -> Answers:
    """The person's answers, in one pass over the index that holds them in this order (answers_in_order); or those on
    some cards alone."""
    given = standing(own_cards(user_id) if only is None else only).subquery("given")
    was = sa.case((given.c.was == "review", IN_REVIEW), (given.c.was == "new", WAS_NEW), else_=0)
    days = together((given.c.study_day, given.c.due_day))
    card, packed, stability, attempt = columns(connection, (
        sa.select(
            given.c.card_id, (days * 8 + given.c.rated) * 4 + was, sa.func.coalesce(given.c.stability, 0.0),
            sa.func.coalesce(given.c.attempt_id, 0))
        .order_by(given.c.card_id, given.c.ordinal)), int, int, float, int)
    day, due_day = apart(packed // 32)
    was = packed % 4
    tried = graded(connection, user_id, attempt, only) if attempt.any() else nothing(len(card))
    return Answers(
        card, day, (packed // 4 % 8).astype(np.int8), was == IN_REVIEW, was == WAS_NEW, stability, due_day, *tried)


def graded(
    connection: sa.Connection, user_id: int, attempt: Array, only: Sequence[int] | None = None,
) -> tuple[Array, Array, Array]:
    """Of the attempts that answers point to: seconds, confidence and within as Answers has them."""
    own = attempts.c.card_id.in_(own_cards(user_id) if only is None else only)
    within = sa.case((attempts.c.within.is_(None), 0), (attempts.c.within, 2), else_=1)
    pk, packed = columns(connection, (  # a sort in SQL would read each row whole
        sa.select(
            attempts.c.id,
            (sa.cast(attempts.c.seconds, sa.BigInteger) * SURE + sa.func.coalesce(attempts.c.confidence, 0)) * 4
            + within)
        .where(own, attempts.c.kind == "grade")), int, int)
    at = places(attempt, pk)
    if not len(pk):
        return nothing(len(attempt))
    found = packed // 4 // SURE, packed // 4 % SURE, packed % 4 - 1
    return tuple(
        np.where(at >= 0, column.astype(none.dtype)[at], none)
        for column, none in zip(found, nothing(1), strict=True))


def nothing(count: int) -> tuple[Array, Array, Array]:
    """Seconds, confidence and within of so many answers without an attempt."""
    return np.full(count, -1, np.int32), np.zeros(count, np.int16), np.full(count, -1, np.int8)


def cards_of(connection: sa.Connection, user_id: int) -> Cards:
    """The person's cards, by their keys."""
    flags = sa.case((cards.c.suspended, 1), else_=0) + sa.case((cards.c.state != "new", 2), else_=0)
    pk, log_length, topic, packed, stability, lapses, answers = columns(connection, (
        sa.select(
            cards.c.id, cards.c.log_length, TOPIC, together((cards.c.last_day, cards.c.due_day)) * 4 + flags,
            sa.func.coalesce(cards.c.stability, 0.0), cards.c.lapses, cards.c.answers)
        .select_from(cards).outerjoin(questions).outerjoin(notes)
        .where(cards.c.user_id == user_id).order_by(cards.c.id)), int, int, int, int, float, int, int)
    last_day, due_day = apart(packed // 4)
    return Cards(pk, log_length, topic, packed % 2 > 0, packed % 4 > 1, last_day, due_day, stability, lapses, answers)


def ticked(connection: sa.Connection, user_id: int) -> list[tuple[int, list[str], int]]:
    """Each set of rubric points ticked with an answer: (question, ids, answers). An answer without a tick is left out
    unless it was forgotten: who ticks nothing and grades Good does not use the rubric."""
    given = standing(own_cards(user_id).where(cards.c.question_id.is_not(None))).cte("given")
    forgotten = given.c.rated == sa.literal_column("1")  # not bound: PostgreSQL groups by what is literally the same
    rows = connection.execute(
        sa.select(cards.c.question_id, attempts.c.ticks, forgotten, sa.func.count())
        .join_from(given, attempts, attempts.c.id == given.c.attempt_id).join(cards, cards.c.id == given.c.card_id)
        .group_by(cards.c.question_id, attempts.c.ticks, forgotten))
    return [(question, ids, count) for question, ids, was_forgotten, count in rows if ids or was_forgotten]


def rubrics(connection: sa.Connection, pks: set[int]) -> dict[int, tuple[str, str, list[dict[str, Any]]]]:
    """Of each question: its slug, its title, and its rubric as it is now."""
    rows = connection.execute(
        sa.select(questions.c.id, questions.c.slug, questions.c.title, questions.c.rubric)
        .where(questions.c.id.in_(pks)))
    return {pk: (slug, title, rubric) for pk, slug, title, rubric in rows}


def steps_due(connection: sa.Connection, user_id: int) -> list[datetime]:
    """At what instants the cards inside learning steps fall due."""
    steps = connection.scalars(sa.select(cards.c.due_at).where(
        cards.c.user_id == user_id, cards.c.due_at.is_not(None), cards.c.state != "new", ~cards.c.suspended))
    return [at if at.tzinfo else at.replace(tzinfo=UTC) for at in steps]  # SQLite keeps none


def lapsing(connection: sa.Connection, user_id: int, only: Sequence[int] | None = None) -> list[Lapsing]:
    """The cards that were ever forgotten, or these alone, the ones forgotten most often first."""
    title = sa.func.coalesce(questions.c.title, notes.c.ask)
    rows = connection.execute(
        sa.select(cards.c.id, questions.c.slug, title, sa.func.coalesce(topics.c.slug, OWN_NAME), cards.c.lapses,
                  cards.c.answers)
        .select_from(cards).outerjoin(questions).outerjoin(notes).outerjoin(topics, topics.c.id == TOPIC)
        .where(cards.c.user_id == user_id, cards.c.lapses > 0, *([] if only is None else [cards.c.id.in_(only)]))
        .order_by(cards.c.lapses.desc(), cards.c.answers, cards.c.id))
    return [Lapsing(*row) for row in rows]


def drilled(connection: sa.Connection, user_id: int) -> list[Drilled]:
    """The questions that the person drills, begun or not, in the bank's order."""
    rows = connection.execute(
        sa.select(questions.c.slug, questions.c.title, topics.c.slug, cards.c.stability, cards.c.difficulty,
                  cards.c.last_day)
        .select_from(cards).join(questions).join(topics)
        .where(cards.c.user_id == user_id, ~cards.c.suspended,
               sa.or_(cards.c.state != "new", sa.and_(~questions.c.draft, ~questions.c.retired)))
        .order_by(topics.c.position, questions.c.position, cards.c.id))
    return [Drilled(*row) for row in rows]


def topic_names(connection: sa.Connection) -> dict[int, str]:
    """The topics' slugs, in the bank's order, and a name for none."""
    rows = connection.execute(sa.select(topics.c.id, topics.c.slug).order_by(topics.c.position, topics.c.id))
    return dict(tuple(row) for row in rows) | {OWN: OWN_NAME}


def together(days: tuple[sa.ColumnElement[date], sa.ColumnElement[date]]) -> sa.ColumnElement[int]:
    """Two days in one number, for each that is handed over by itself costs as much as reading it; no day is 0."""
    first, second = (sa.cast(sa.func.coalesce(ordinal(day), 0), sa.BigInteger) for day in days)
    return first * DAYS + second


def apart(days: Array) -> tuple[Array, Array]:
    """The ordinals of two days that are together."""
    return (days // DAYS).astype(np.int32), (days % DAYS).astype(np.int32)


def columns(connection: sa.Connection, select: sa.Select, *kinds: type) -> list[Array]:
    """The select's columns, all of them numbers, as arrays of these kinds; the driver's rows are taken a part at a
    time, for there may be a million."""
    cursor, parts = connection.execute(select).cursor, [[np.empty(0, kind)] for kind in kinds]
    while rows := cursor.fetchmany(PART):
        for part, column, kind in zip(parts, zip(*rows, strict=True), kinds, strict=True):
            part.append(np.fromiter(column, kind, len(rows)))
    return [np.concatenate(part) for part in parts]


TOPIC = sa.func.coalesce(questions.c.topic_id, notes.c.topic_id, OWN)
