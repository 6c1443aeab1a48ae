"""What the log says of a person's learning, as selects that both databases read; arithmetic is done in counts.py."""
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import chain
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


def standing(user_id: int) -> sa.Select:
    """The answers of a person that stand, those brought along included, with `rated`, what each counts as now.

    What ReviewQuerySet.answers() gives. Few rows name another, so only those that are named are looked up.
    """
    undo, change, remove, amend = (reviews.alias(name) for name in ("undo", "change", "remove", "amend"))

    def stands(row: sa.FromClause) -> sa.ColumnElement[bool]:
        return ~sa.exists().where(undo.c.names_id == row.c.id, undo.c.kind == "undo").correlate(row)

    is_named = reviews.c.id.in_(sa.select(change.c.names_id).where(change.c.names_id.is_not(None)))
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
            reviews.c.card_id.in_(own_cards(user_id)), reviews.c.kind.in_(RATED), reviews.c.rating.is_not(None),
            sa.or_(~is_named, sa.and_(stands(reviews), ~removed)))
    )


def own_cards(user_id: int) -> sa.Select:
    return sa.select(cards.c.id).where(cards.c.user_id == user_id)


def answers(connection: sa.Connection, user_id: int, only: Sequence[int] | None = None) -> Answers:
    """The person's answers, in one pass over the index that holds them in this order (answers_in_order); or those on
    some cards alone."""
    rows = standing(user_id)
    given = (rows if only is None else rows.where(reviews.c.card_id.in_(only))).subquery("given")
    was = sa.case((given.c.was == "review", IN_REVIEW), (given.c.was == "new", WAS_NEW), else_=0)
    card, day, rated, was, stability, due_day, attempt = columns(connection, (
        sa.select(
            given.c.card_id, ordinal(given.c.study_day), given.c.rated, was, sa.func.coalesce(given.c.stability, 0.0),
            sa.func.coalesce(ordinal(given.c.due_day), 0), sa.func.coalesce(given.c.attempt_id, 0))
        .order_by(given.c.card_id, given.c.ordinal)))
    tried = graded(connection, user_id, attempt.astype(np.int64), only) if attempt.any() else nothing(len(card))
    return Answers(
        card.astype(np.int64), day.astype(np.int32), rated.astype(np.int8), was == IN_REVIEW, was == WAS_NEW, stability,
        due_day.astype(np.int32), *tried)


def graded(
    connection: sa.Connection, user_id: int, attempt: Array, only: Sequence[int] | None = None,
) -> tuple[Array, Array, Array]:
    """Of the attempts that answers point to: seconds, confidence and within as Answers has them."""
    own = attempts.c.card_id.in_(own_cards(user_id) if only is None else only)
    # A sort in SQL would read each row whole.
    pk, *found = columns(connection, (
        sa.select(
            attempts.c.id, attempts.c.seconds, sa.func.coalesce(attempts.c.confidence, 0),
            sa.case((attempts.c.within.is_(None), -1), (attempts.c.within, 1), else_=0))
        .where(own, attempts.c.kind == "grade")))
    order = np.argsort(pk, kind="stable")
    at = places(attempt, pk[order].astype(np.int64))
    if not len(pk):
        return nothing(len(attempt))
    return tuple(
        np.where(at >= 0, column[order][at], none[:1]).astype(none.dtype)
        for column, none in zip(found, nothing(1), strict=True))


def nothing(count: int) -> tuple[Array, Array, Array]:
    """Seconds, confidence and within of so many answers without an attempt."""
    return np.full(count, -1, np.int32), np.zeros(count, np.int8), np.full(count, -1, np.int8)


def cards_of(connection: sa.Connection, user_id: int) -> Cards:
    """The person's cards, by their keys."""
    pk, log_length, topic, suspended, last_day, stability, lapses = columns(connection, (
        sa.select(
            cards.c.id, cards.c.log_length, TOPIC, sa.case((cards.c.suspended, 1), else_=0),
            sa.func.coalesce(ordinal(cards.c.last_day), 0), sa.func.coalesce(cards.c.stability, 0.0), cards.c.lapses)
        .select_from(cards).outerjoin(questions).outerjoin(notes)
        .where(cards.c.user_id == user_id).order_by(cards.c.id)))
    whole = (column.astype(np.int64) for column in (pk, log_length, topic))
    return Cards(*whole, suspended > 0, last_day.astype(np.int64), stability, lapses.astype(np.int64))


def ticked(connection: sa.Connection, user_id: int) -> list[tuple[int, list[str], int]]:
    """Each set of rubric points ticked with an answer: (question, ids, answers). An answer without a tick is left out
    unless it was forgotten: who ticks nothing and grades Good does not use the rubric."""
    given = standing(user_id).cte("given")
    forgotten = given.c.rated == sa.literal_column("1")  # not bound: PostgreSQL groups by what is literally the same
    rows = connection.execute(
        sa.select(cards.c.question_id, attempts.c.ticks, forgotten, sa.func.count())
        .join_from(given, attempts, attempts.c.id == given.c.attempt_id).join(cards, cards.c.id == given.c.card_id)
        .where(cards.c.question_id.is_not(None))
        .group_by(cards.c.question_id, attempts.c.ticks, forgotten))
    return [(question, ids, count) for question, ids, was_forgotten, count in rows if ids or was_forgotten]


def rubrics(connection: sa.Connection, pks: set[int]) -> dict[int, tuple[str, str, list[dict[str, Any]]]]:
    """Of each question: its slug, its title, and its rubric as it is now."""
    rows = connection.execute(
        sa.select(questions.c.id, questions.c.slug, questions.c.title, questions.c.rubric)
        .where(questions.c.id.in_(pks)))
    return {pk: (slug, title, rubric) for pk, slug, title, rubric in rows}


def due(connection: sa.Connection, user_id: int) -> tuple[list[tuple[date, int]], list[datetime]]:
    """Cards under way that fall due: how many on each day, and at what instants those inside learning steps."""
    under_way = (cards.c.user_id == user_id, cards.c.state != "new", ~cards.c.suspended)
    by_day = sa.select(cards.c.due_day, sa.func.count()).where(*under_way, cards.c.due_day.is_not(None))
    steps = sa.select(cards.c.due_at).where(*under_way, cards.c.due_at.is_not(None))
    days = [tuple(row) for row in connection.execute(by_day.group_by(cards.c.due_day).order_by(cards.c.due_day))]
    return days, [at if at.tzinfo else at.replace(tzinfo=UTC) for at in connection.scalars(steps)]  # SQLite keeps none


def lapsing(connection: sa.Connection, user_id: int, most: int | None = None) -> list[Lapsing]:
    """The cards that were forgotten most often; all that ever were unless only so many are wanted."""
    title = sa.func.coalesce(questions.c.title, notes.c.ask)
    rows = connection.execute(
        sa.select(cards.c.id, questions.c.slug, title, sa.func.coalesce(topics.c.slug, OWN_NAME), cards.c.lapses,
                  cards.c.answers)
        .select_from(cards).outerjoin(questions).outerjoin(notes).outerjoin(topics, topics.c.id == TOPIC)
        .where(cards.c.user_id == user_id, cards.c.lapses > 0)
        .order_by(cards.c.lapses.desc(), cards.c.answers, cards.c.id).limit(most))
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


def columns(connection: sa.Connection, select: sa.Select) -> list[Array]:
    """The select's columns, all of them numbers, as arrays; the driver's rows are taken a part at a time, for there may
    be a million."""
    width = len(select.selected_columns)
    cursor, parts = connection.execute(select).cursor, [np.empty((0, width))]
    while rows := cursor.fetchmany(PART):
        parts.append(np.fromiter(chain.from_iterable(rows), float, len(rows) * width).reshape(-1, width))
    return list(np.concatenate(parts).T)


TOPIC = sa.func.coalesce(questions.c.topic_id, notes.c.topic_id, OWN)
