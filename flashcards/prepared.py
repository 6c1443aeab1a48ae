"""Statements whose SQL is written once and run often: on the way of an answer Django takes ten times as long to write a
query as the database to run it."""
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, Field, Model, QuerySet
from django.db.models.query import ModelIterable, get_related_populators
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
        with connection.cursor() as cursor:
            cursor.execute(written.sql, bound)
            rows = cursor.fetchall()
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
        self.converters = [(at, *each) for at, each in compiler.get_converters(columns).items()]
        self.model = compiler.klass_info["model"] if whole else None
        if whole:
            own = compiler.klass_info["select_fields"]
            self.own = slice(own[0], own[-1] + 1)
            self.names = [one[0].target.attname for one in compiler.select[self.own]]
            self.joined = get_related_populators(compiler.klass_info, compiler.select, DEFAULT_DB_ALIAS)
            self.annotated = tuple((compiler.annotation_col_map or {}).items())

    def made(self, row: tuple, connection: BaseDatabaseWrapper) -> Any:
        values = list(row)
        for at, converters, column in self.converters:
            value = values[at]
            for convert in converters:
                value = convert(value, column, connection)
            values[at] = value
        if self.model is None:
            return tuple(values)
        one = self.model.from_db(DEFAULT_DB_ALIAS, self.names, values[self.own])
        for joined in self.joined:
            joined.populate(values, one)
        for name, at in self.annotated:
            setattr(one, name, values[at])
        return one


def insert(row: Model, *, unless_there: bool = False) -> bool:
    """Insert a row, which gets its key; whether it was. No signal is sent.

    With `unless_there` a row that a unique constraint keeps out is left out; else that raises IntegrityError.
    """
    connection, meta = connections[DEFAULT_DB_ALIAS], row._meta
    returning = connection.features.can_return_columns_from_insert
    sql, fields = _insertion(type(row), unless_there, returning)
    with connection.cursor() as cursor:
        cursor.execute(sql, saved(row, fields, connection))
        if returning:
            row.pk = (cursor.fetchone() or [None])[0]
        elif cursor.rowcount:
            row.pk = connection.ops.last_insert_id(cursor, meta.db_table, meta.pk)
    if row.pk:
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    return bool(row.pk)


@cache
def _insertion(model: type[Model], unless_there: bool, returning: bool) -> tuple[str, tuple[Field, ...]]:
    """The text, and the fields in its order."""
    meta = model._meta
    fields = tuple(field for field in meta.concrete_fields if not field.primary_key)
    columns = ", ".join(quoted(field.column) for field in fields)
    sql = f"INSERT INTO {quoted(meta.db_table)} ({columns}) VALUES ({', '.join(['%s'] * len(fields))})"
    return (f"{sql}{' ON CONFLICT DO NOTHING' * unless_there}"
            f"{f' RETURNING {quoted(meta.pk.column)}' * returning}"), fields


def update(row: Model, names: Iterable[str]) -> None:
    """Save these fields of a row that is there. No signal is sent."""
    fields, connection, meta = [row._meta.get_field(name) for name in names], connections[DEFAULT_DB_ALIAS], row._meta
    sets = ", ".join(f"{quoted(field.column)} = %s" for field in fields)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {quoted(meta.db_table)} SET {sets} WHERE {quoted(meta.pk.column)} = %s",
                       [*saved(row, fields, connection), row.pk])


def delete(model: type[Model], name: str, value: int) -> None:
    """Delete the rows of which a field is a number; nothing may point at them. No signal is sent."""
    column = model._meta.get_field(name).column
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(f"DELETE FROM {quoted(model._meta.db_table)} WHERE {quoted(column)} = %s", [value])


def saved(row: Model, fields: Iterable[Field], connection: BaseDatabaseWrapper) -> list[Any]:
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
        case UUID():
            return value if connection.features.has_native_uuid_field else value.hex
    return value
