"""Statements whose SQL is written once and run often: on the way of an answer Django takes ten times as long to write a
query as the database to run it."""
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from datetime import date, datetime, time
from types import SimpleNamespace
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, Model, QuerySet
from django.db.models.query import ModelIterable
from django.db.models.sql.compiler import SQLCompiler


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
    """

    def __init__(self, build: Callable[..., QuerySet], *names: str) -> None:
        self.build, self.names, self.written = build, names, {}

    def all(self, **given: Any) -> list[Any]:
        """What the query finds: rows as tuples where it names values, else objects."""
        return list(self.found(given))

    def first(self, **given: Any) -> Any:
        """The first of what it finds, or None; the query had better take one alone."""
        return next(iter(self.found(given)), None)

    def found(self, given: dict[str, Any]) -> Iterable[Any]:
        compiler, whole = self.bound(given)
        if not whole:
            return compiler.results_iter(tuple_expected=True)
        query = SimpleNamespace(get_compiler=lambda using: compiler)
        return ModelIterable(SimpleNamespace(db=DEFAULT_DB_ALIAS, query=query, _known_related_objects={}))

    def bound(self, given: dict[str, Any]) -> tuple[SQLCompiler, bool]:
        """The compiler that wrote the query, of this thread's connection, with what is given in its place; and whether
        it finds objects."""
        connection = connections[DEFAULT_DB_ALIAS]
        if (kept := self.written.get(connection.vendor)) is None:
            kept = self.written[connection.vendor] = self.write(connection)
        compiler, sql, params, converters, whole = kept
        compiler = copy(compiler)
        compiler.connection = connection
        values = {name: adapted(value, connection) for name, value in given.items()}
        bound = [values[one.name] if isinstance(one, Given) else one for one in params]
        compiler.as_sql = lambda: (sql, bound)
        compiler.get_converters = lambda expressions: converters
        return compiler, whole

    def write(self, connection: BaseDatabaseWrapper) -> tuple[SQLCompiler, str, tuple, dict, bool]:
        found = self.build(**{name: Given(name) for name in self.names})
        compiler = found.query.get_compiler(connection=connection)
        sql, params = compiler.as_sql()
        converters = compiler.get_converters([one[0] for one in compiler.select[:compiler.col_count]])
        return compiler, sql, params, converters, issubclass(found._iterable_class, ModelIterable)


def insert(row: Model) -> None:
    """Insert a row of a table of its own; it gets its key. No signal is sent."""
    fields = [field for field in row._meta.concrete_fields if not field.primary_key]
    connection, meta = connections[DEFAULT_DB_ALIAS], row._meta
    returning = f" RETURNING {quoted(meta.pk.column)}" if connection.features.can_return_columns_from_insert else ""
    sql = (f"INSERT INTO {quoted(meta.db_table)} ({', '.join(quoted(field.column) for field in fields)}) "
           f"VALUES ({', '.join(['%s'] * len(fields))}){returning}")
    with connection.cursor() as cursor:
        cursor.execute(sql, saved(row, fields, connection))
        row.pk = cursor.fetchone()[0] if returning else connection.ops.last_insert_id(cursor, meta.db_table, meta.pk)
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


def update(row: Model, names: Iterable[str]) -> None:
    """Save these fields of a row that is there. No signal is sent."""
    fields, connection, meta = [row._meta.get_field(name) for name in names], connections[DEFAULT_DB_ALIAS], row._meta
    sets = ", ".join(f"{quoted(field.column)} = %s" for field in fields)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {quoted(meta.db_table)} SET {sets} WHERE {quoted(meta.pk.column)} = %s",
                       [*saved(row, fields, connection), row.pk])


def saved(row: Model, fields: Iterable[Any], connection: BaseDatabaseWrapper) -> Iterator[Any]:
    """What the database keeps of these fields."""
    return [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields]


def quoted(name: str) -> str:
    return f'"{name}"'


def adapted(value: Any, connection: BaseDatabaseWrapper) -> Any:
    """A value as the database takes it."""
    match value:
        case datetime():
            return connection.ops.adapt_datetimefield_value(value)
        case date():
            return connection.ops.adapt_datefield_value(value)
        case time():
            return connection.ops.adapt_timefield_value(value)
    return value
