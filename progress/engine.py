"""The engine that reports read by: SQLAlchemy's, read-only, and never Django's own connection.

A connection is opened for a page and closed after it, so that none outlives its thread or is shared by two processes.
"""
from collections.abc import Mapping
from contextlib import closing
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from django.conf import settings
from sqlalchemy.pool import NullPool

STATEMENT_MS = 20_000  # the longest that PostgreSQL may take over one report
CACHE = "PRAGMA query_only=ON", "PRAGMA temp_store=MEMORY", "PRAGMA cache_size=-65536", "PRAGMA mmap_size=1073741824"
IDENTITY = "ENGINE", "NAME", "USER", "HOST", "PORT"
DJANGO_S_OWN = {"isolation_level", "pool", "server_side_binding", "assume_role"}  # among the options of a connection


_engines: dict[tuple[str, ...], sa.Engine] = {}  # they hold no connection, but the statements they have compiled


def connect() -> sa.Connection:
    """A read-only connection to the database that reports are drawn from, for a `with`."""
    database = settings.REPORTS_DATABASE or settings.DATABASES["default"]
    key = tuple(str(database.get(name, "")) for name in IDENTITY)
    if key not in _engines:
        _engines[key] = engine_for(database)
    return _engines[key].connect()


def engine_for(database: Mapping[str, Any]) -> sa.Engine:
    """A read-only engine for a database as Django's settings describe it, SQLite or PostgreSQL."""
    if database["ENGINE"] == "django.db.backends.sqlite3":
        url = sa.URL.create("sqlite", database=f"file:{quote(str(database['NAME']))}",
                            query={"mode": "ro", "uri": "true", "timeout": "10"})
        engine = sa.create_engine(url, poolclass=NullPool)
        sa.event.listen(engine, "connect", _prepare)
        return engine
    given = {name: value for name, value in (database.get("OPTIONS") or {}).items() if name not in DJANGO_S_OWN}
    names = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    given |= {name: database[key] for name, key in names.items() if database.get(key)}
    safe = f"-c default_transaction_read_only=on -c statement_timeout={STATEMENT_MS}"
    given["options"] = f"{given.get('options', '')} {safe}".strip()
    return sa.create_engine("postgresql+psycopg://", connect_args=given, poolclass=NullPool)


def _prepare(connection: Any, record: Any) -> None:
    with closing(connection.cursor()) as cursor:
        for pragma in CACHE:
            cursor.execute(pragma)
