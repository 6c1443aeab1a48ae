"""Statements whose SQL is written once and run often: on the way of an answer Django takes ten times as long to write a
query as the database to run it."""
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, Field, Model, QuerySet
from django.db.models.base import ModelState
from django.db.models.query import ModelIterable, RelatedPopulator, get_related_populators
from django.db.models.sql.compiler import SQLCompiler

PLAIN = {int, float, str, bool, type(None)}  # fields of JSON hold lists and maps
NORMAL = 1  # of SQLite's "synchronous": with a write-ahead log it waits at checkpoints alone


class Given(Expression):
    """What a prepared query is told each time that it runs, by its name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, list["Given"]]:
        return "%s", [self]


class Prepared:
    """A query of any number of runs, as a function of what it is given makes it the first time:

        due_on = Prepared(lambda user, day: Card.objects.filter(user=user, due_day=day), "user", "day")
        due_on.all(user=1, day=today)

    What is given goes where an expression may stand, and is a number, a text, a date or an instant. Nothing else may
    hang on it: not how much the query takes, nor which conditions it has.

    Rows that are `bare` come as the database has them, which is quick where they are many: then a query had better name
    keys, numbers, texts and truths alone (1 or 0 on SQLite), not dates.
    """

    def __init__(self, build: Callable[..., QuerySet], *names: str, bare: bool = False) -> None:
        self.build, self.names, self.bare = build, names, bare
        self.written: dict[str, Written] = {}  # by the kind of database

    def all(self, **given: Any) -> list[Any]:
        """What the query finds: rows as tuples where it names values, else objects."""
        connection = connections[DEFAULT_DB_ALIAS]
        if (written := self.written.get(connection.vendor)) is None:
            written = self.written[connection.vendor] = self.write(connection)
        values = {name: adapted(value, connection) for name, value in given.items()}
        bound = [values[one.name] if isinstance(one, Given) else one for one in written.params]
        rows = run(written.sql, bound, connection)
        return [written.made(row, connection) for row in rows] if written.made else rows

    def first(self, **given: Any) -> Any:
        """The first of what it finds, or None; the query had better take one alone."""
        return next(iter(self.all(**given)), None)

    def get(self, **given: Any) -> Any:
        """The first of what it finds. Raises LookupError when it finds nothing."""
        if (one := self.first(**given)) is None:
            raise LookupError(f"nothing is there for {given}")
        return one

    def write(self, connection: BaseDatabaseWrapper) -> "Written":
        found = self.build(**{name: Given(name) for name in self.names})
        compiler = found.query.get_compiler(connection=connection)
        sql, params = compiler.as_sql()
        whole = issubclass(found._iterable_class, ModelIterable)
        return Written(sql, params, None if self.bare else Maker(compiler, whole).made)


@dataclass(frozen=True, slots=True)
class Written:
    """A query as its database takes it."""

    sql: str
    params: tuple
    made: Callable[[tuple, BaseDatabaseWrapper], Any] | None  # of a row what it stands for


class Maker:
    """Makes of a row what Django makes of it: its values converted, and of these an object with what it is joined to
    and annotated with, or a tuple."""

    def __init__(self, compiler: SQLCompiler, whole: bool) -> None:
        columns = [one[0] for one in compiler.select[:compiler.col_count]]
        self.converters = [
            (at, convert, column) for at, (converters, column) in compiler.get_converters(columns).items()
            for convert in converters]
        self.model = compiler.klass_info["model"] if whole else None
        if whole:
            own = compiler.klass_info["select_fields"]
            self.own = slice(own[0], own[-1] + 1)
            self.names = [one[0].target.attname for one in compiler.select[self.own]]
            self.joined = get_related_populators(compiler.klass_info, compiler.select, DEFAULT_DB_ALIAS)
            self.annotated = tuple((compiler.annotation_col_map or {}).items())

    def made(self, row: tuple, connection: BaseDatabaseWrapper) -> Any:
        values = list(row)
        for at, convert, column in self.converters:
            values[at] = convert(values[at], column, connection)
        if self.model is None:
            return tuple(values)
        one = loaded(self.model, self.names, values[self.own])
        for joined in self.joined:
            join(joined, values, one)
        for name, at in self.annotated:
            setattr(one, name, values[at])
        return one


def loaded(model: type[Model], names: Sequence[str], values: Sequence[Any]) -> Any:
    """What Model.from_db makes of a row, without what Model.__init__ does for a new object, which takes longer than all
    the rest of reading one. No signal is sent."""
    one = model.__new__(model)
    one._state = ModelState()
    one._state.adding, one._state.db = False, DEFAULT_DB_ALIAS
    one.__dict__.update(zip(names, values, strict=True))
    return one


def join(by: RelatedPopulator, row: list[Any], one: Model) -> None:
    """Give an object what its row is joined to, as RelatedPopulator.populate does."""
    values = row[by.cols_start:by.cols_end]
    other = None
    if values[by.pk_idx] is not None:
        other = loaded(by.model_cls, by.init_list, values)
        for further in by.related_populators:
            join(further, row, other)
        by.remote_setter(other, one)
    by.local_setter(one, other)


def insert(row: Model, *, unless_there: bool = False) -> bool:
    """Insert a row, which gets its key; whether it was. No signal is sent.

    With `unless_there` a row that a unique constraint keeps out is left out; else that raises IntegrityError.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    sql, fields = _insertion(type(row), unless_there)
    keys = run(sql, saved(row, fields, connection), connection)
    if keys:
        row.pk = keys[0][0]
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    return bool(keys)


@cache
def _insertion(model: type[Model], unless_there: bool) -> tuple[str, tuple[Field, ...]]:
    """The text, and the fields in its order."""
    meta = model._meta
    fields = tuple(field for field in meta.concrete_fields if not field.primary_key)
    columns = ", ".join(quoted(field.column) for field in fields)
    sql = f"INSERT INTO {quoted(meta.db_table)} ({columns}) VALUES ({', '.join(['%s'] * len(fields))})"
    return f"{sql}{' ON CONFLICT DO NOTHING' * unless_there} RETURNING {quoted(meta.pk.column)}", fields


def update(row: Model, names: Iterable[str]) -> None:
    """Save these fields of a row that is there. No signal is sent."""
    connection = connections[DEFAULT_DB_ALIAS]
    sql, fields = _change(type(row), tuple(names))
    run(sql, [*saved(row, fields, connection), row.pk], connection)


@cache
def _change(model: type[Model], names: tuple[str, ...]) -> tuple[str, tuple[Field, ...]]:
    """The text, and the fields in its order."""
    meta = model._meta
    fields = tuple(meta.get_field(name) for name in names)
    sets = ", ".join(f"{quoted(field.column)} = %s" for field in fields)
    return f"UPDATE {quoted(meta.db_table)} SET {sets} WHERE {quoted(meta.pk.column)} = %s", fields


def delete(model: type[Model], name: str, value: int) -> None:
    """Delete the rows of which a field is a number; nothing may point at them. No signal is sent."""
    run(_deletion(model, name), [value], connections[DEFAULT_DB_ALIAS])


@cache
def _deletion(model: type[Model], name: str) -> str:
    return f"DELETE FROM {quoted(model._meta.db_table)} WHERE {quoted(model._meta.get_field(name).column)} = %s"


def run(sql: str, bound: list[Any], connection: BaseDatabaseWrapper) -> list[tuple]:
    """The rows that a statement gives.

    On SQLite it goes straight to the driver, since Django's cursor takes longer than the database does; not where
    somebody listens to what is run.
    """
    listened_to = connection.queries_logged or connection.execute_wrappers
    if connection.vendor != "sqlite" or listened_to or connection.needs_rollback:
        with connection.cursor() as cursor:
            cursor.execute(sql, bound)
            return cursor.fetchall() if cursor.description else []
    connection.ensure_connection()
    connection.validate_thread_sharing()
    with connection.wrap_database_errors:
        return connection.connection.execute(_for_sqlite(sql, len(bound)), bound).fetchall()


@cache
def _for_sqlite(sql: str, bound: int) -> str:
    return sql % (("?",) * bound)


@contextmanager
def unhurried() -> Iterator[None]:
    """On SQLite what is written in here is not waited for until the disk has it: the process may end and it is kept,
    but a power cut keeps it only once something later was waited for. Inside a transaction that one's end decides.

    For what nobody was told is kept, as when a card was first looked at.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    (always,), = run("PRAGMA synchronous", [], connection)
    run(f"PRAGMA synchronous={min(always, NORMAL)}", [], connection)
    try:
        yield
    finally:
        run(f"PRAGMA synchronous={always}", [], connection)


def saved(row: Model, fields: Iterable[Field], connection: BaseDatabaseWrapper) -> list[Any]:
    """What the database keeps of these fields; numbers, texts and truths are kept as they are."""
    return [_kept(field, getattr(row, field.attname), connection) for field in fields]


def _kept(field: Field, value: Any, connection: BaseDatabaseWrapper) -> Any:
    kind = type(value)
    if kind in PLAIN:
        return value
    return adapted(value, connection) if kind in (datetime, date) else field.get_db_prep_save(value, connection)


def quoted(name: str) -> str:
    return f'"{name}"'


def adapted(value: Any, connection: BaseDatabaseWrapper) -> Any:
    """A value as the database takes it."""
    match value:
        case datetime():
            return connection.ops.adapt_datetimefield_value(value)
        case date():
            return connection.ops.adapt_datefield_value(value)
        case UUID():
            return value if connection.features.has_native_uuid_field else value.hex
    return value
