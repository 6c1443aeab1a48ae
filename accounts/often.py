"""Queries that are asked again and again, as text: to put one together by objects takes longer than to answer it."""
from collections.abc import Mapping
from typing import Any

import psycopg
from django.db import connection


def rows_of(query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a query, its values by name. PostgreSQL plans it once for each connection, and is not asked before
    whether the connection still holds. Raises OperationalError where it doesn't."""
    connection.ensure_connection()
    if connection.vendor == "postgresql":
        with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
            return cursor.execute(query, values, prepare=True).fetchall()
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchall()
