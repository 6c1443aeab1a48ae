"""Look the database over: its own integrity, the logs, and whether every card and every room is what its log says."""
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from importlib import import_module

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connection


class Command(BaseCommand):
    """Exit 1 while a fault stands. `--repair` brings what is derived back to what the logs say, and nothing else."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--repair", action="store_true", help="rewrite what is derived from the logs")

    def handle(self, *, repair: bool, **_: object) -> None:
        found = standing = 0
        for words, mended in faults(repair=repair):
            found += 1
            standing += not mended
            self.stdout.write(f"{words}{': repaired' if mended else ''}")
        self.stdout.write(f"{found} faults, {found - standing} repaired" if found else "No fault was found.")
        if standing:
            sys.exit(1)


def faults(*, repair: bool) -> Iterator[tuple[str, bool]]:
    """Each fault in words, and whether it is mended now: the database's own, then each app's."""
    yield from ((fault, False) for fault in database_faults())
    for path in settings.DRILL_SOUNDNESS:
        yield from import_module(path).faults(repair=repair)


def database_faults() -> Iterator[str]:
    """What the database says of itself: damaged pages or indexes, and keys that point nowhere."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA integrity_check")
            yield from (f"database: {row[0]}" for row in cursor.fetchall() if row[0] != "ok")
            cursor.execute("PRAGMA foreign_key_check")
            yield from (f"{table} row {row}: a key to {parent} points nowhere"
                        for table, row, parent, _ in cursor.fetchall())
            return
        cursor.execute("SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE NOT convalidated")
        yield from (f"{table}: the constraint {name} was never checked" for table, name in cursor.fetchall())
        cursor.execute("SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid")
        yield from (f"index {name} is not valid" for (name,) in cursor.fetchall())
