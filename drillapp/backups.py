"""Copies of the whole database: made while it is in use, checked before they are trusted, thinned as they age.

A copy is a tar.gz of a manifest (what it was made from) and the database: SQLite's own file, or pg_dump's archive.
"""
import fcntl
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from drillapp import startup

MANIFEST = "manifest.json"
PAYLOADS = {"sqlite": "drill.sqlite3", "postgresql": "drill.dump"}
DAILY = "daily-"  # begins the names of the automatic copies
KEEP_DAYS, KEEP_WEEKS, KEEP_MONTHS = 7, 5, 12
LOG = "flashcards_review"  # a database with a row here is somebody's
WAIT = "5000"  # ms that a restore waits for who is writing


class BackupFault(Exception):
    """Why a copy can't be made or taken back, as a sentence."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a copy was made from."""

    made_at: str
    vendor: str
    migrations: tuple[str, ...]  # "app.name", all that the database had been through


def folder() -> Path:
    """Where the automatic copies lie."""
    return Path(settings.DATA_DIR) / "backups"


def make(path: Path, now: datetime) -> None:
    """Write a copy of the database as it is now; `path` never holds half of one.

    Raises BackupFault: nothing can be written there, or pg_dump is missing or fails.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="making-") as making:
            payload = Path(making) / PAYLOADS[connection.vendor]
            (_copy_sqlite if connection.vendor == "sqlite" else _dump_postgres)(payload)
            manifest = Path(making) / MANIFEST
            applied = sorted(f"{app}.{name}" for app, name in MigrationExecutor(connection).loader.applied_migrations)
            manifest.write_text(json.dumps(
                {"made_at": now.isoformat(), "vendor": connection.vendor, "migrations": applied}))
            packed = Path(making) / "packed"
            with tarfile.open(packed, "w:gz", compresslevel=6) as tar:
                for file in (manifest, payload):
                    tar.add(file, file.name)
            with packed.open("rb") as written:
                os.fsync(written.fileno())
            packed.replace(path)
    except (OSError, sqlite3.Error) as fault:
        raise BackupFault(f"No copy was made at {path}: {getattr(fault, 'strerror', None) or fault}.") from None


def take_back(path: Path, *, replace: bool, now: datetime) -> Path | None:
    """Make the database what the copy holds, and bring it up to this code.

    What is there goes only with `replace`, and is copied first: the result is that copy's path. Raises BackupFault, and
    changes nothing: no copy of ours, damaged, of another kind of database or of a later version, or people are there.
    """
    with _opened(path) as (manifest, payload):
        if manifest.vendor != connection.vendor:
            raise BackupFault(
                f"{path} was made from {manifest.vendor}, and this is {connection.vendor}. A person's own export "
                "goes from one to the other.")
        executor = MigrationExecutor(connection)
        known = {f"{app}.{name}" for app, name in executor.loader.disk_migrations}
        if unknown := sorted(set(manifest.migrations) - known):
            raise BackupFault(f"{path} was made by a later version: it has been through {unknown[0]}.")
        kept = None
        with startup.one_at_a_time():
            if _has_people():
                if not replace:
                    raise BackupFault("People are here already. --replace puts the copy in their place.")
                kept = folder() / f"before-restore-{now:%Y%m%d-%H%M%S}.tar.gz"
                make(kept, now)
            (_restore_sqlite if connection.vendor == "sqlite" else _restore_postgres)(payload)
            call_command("migrate", verbosity=0, interactive=False)
        return kept


def read_manifest(path: Path) -> Manifest:
    """What a copy was made from. Raises BackupFault for what is no copy or is damaged."""
    with _opened(path) as (manifest, _):
        return manifest


# Every day

def begin_daily(today: date) -> bool:
    """Have today's copy made by a process of its own, unless it is there or nothing asks for one; whether it was begun.

    Several that begin it at once make it once: the process takes a lock.
    """
    if not settings.DRILL_BACKUPS or connection.vendor != "sqlite" or daily_path(today).exists():
        return False
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "backup", "--daily"]
    subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    return True


def make_daily(now: datetime) -> Path | None:
    """Make today's copy and thin the older ones; None when it is there or being made."""
    folder().mkdir(parents=True, exist_ok=True)
    with (folder() / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        for half in folder().glob("making-*"):  # of a process that was killed: only who holds the lock makes any
            shutil.rmtree(half, ignore_errors=True)
        path = daily_path(now.date())
        if path.exists():
            return None
        make(path, now)
        thin(now.date())
        return path


def daily_path(day: date) -> Path:
    return folder() / f"{DAILY}{day:%Y-%m-%d}.tar.gz"


def thin(today: date) -> list[Path]:
    """Remove the automatic copies that their age no longer keeps; those removed."""
    days = {}
    for path in folder().glob(f"{DAILY}*.tar.gz"):
        with suppress(ValueError):
            days[date.fromisoformat(path.name[len(DAILY):-len(".tar.gz")])] = path
    gone = [path for day, path in sorted(days.items()) if day not in kept_of(days, today)]
    for path in gone:
        path.unlink()
    return gone


def kept_of(days: Collection[date], today: date) -> set[date]:
    """The days whose copies are kept: each of the last 7, the first of each of the last 5 weeks that has one, and the
    first of each of the last 12 months."""
    first_of_week: dict[tuple[int, int], date] = {}
    first_of_month: dict[tuple[int, int], date] = {}
    for day in sorted(days):
        first_of_week.setdefault(day.isocalendar()[:2], day)
        first_of_month.setdefault((day.year, day.month), day)
    weeks = {(today - timedelta(weeks=back)).isocalendar()[:2] for back in range(KEEP_WEEKS)}
    month = today.year * 12 + today.month - 1
    months = {((month - back) // 12, (month - back) % 12 + 1) for back in range(KEEP_MONTHS)}
    return {
        day for day in days
        if (today - day).days < KEEP_DAYS
        or (day.isocalendar()[:2] in weeks and first_of_week[day.isocalendar()[:2]] == day)
        or ((day.year, day.month) in months and first_of_month[day.year, day.month] == day)
    }


# The two databases

def _copy_sqlite(payload: Path) -> None:
    with closing(sqlite3.connect(connection.settings_dict["NAME"])) as source, \
            closing(sqlite3.connect(payload)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")
        if (found := copy.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            raise BackupFault(f"The database is damaged: {found}. No copy was made; check_data says more.")


def _restore_sqlite(payload: Path) -> None:
    connection.close()
    try:
        with closing(sqlite3.connect(payload)) as copy, \
                closing(sqlite3.connect(connection.settings_dict["NAME"])) as there:
            if (found := copy.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
                raise BackupFault(f"The copy is damaged: {found}. Nothing was changed.")
            there.execute(f"PRAGMA busy_timeout={WAIT}")
            copy.backup(there)  # one transaction: who reads meanwhile sees the old database or the new one
            there.execute("PRAGMA journal_mode=WAL")
    except sqlite3.DatabaseError as fault:
        raise BackupFault(f"Nothing was restored: {fault}.") from None


def _dump_postgres(payload: Path) -> None:
    _postgres_tool("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={payload}")


def _restore_postgres(payload: Path) -> None:
    _postgres_tool(
        "pg_restore", "--clean", "--if-exists", "--no-owner", "--no-privileges", "--single-transaction",
        f"--dbname={connection.settings_dict['NAME']}", str(payload))


def _postgres_tool(name: str, *arguments: str) -> None:
    """Run one of PostgreSQL's own tools on this database; who and where it is stand in the environment alone."""
    if shutil.which(name) is None:
        raise BackupFault(f"{name} is not on the PATH; it comes with PostgreSQL's client tools.")
    database = connection.settings_dict
    names = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}
    given: dict[str, Any] = {name: str(database[key]) for name, key in names.items() if database.get(key)}
    options = database.get("OPTIONS", {})
    given |= {"PGHOST": options["host"]} if options.get("host") else {}
    done = subprocess.run([name, *arguments], env=os.environ | given, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it says nothing"]
        raise BackupFault(f"{name} failed: {said[-1]}")


def _has_people() -> bool:
    if LOG not in connection.introspection.table_names():
        return False
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM {LOG} LIMIT 1")
        return cursor.fetchone() is not None


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Manifest, Path]]:
    """A copy's manifest and its database, unpacked beside the data."""
    with tempfile.TemporaryDirectory(dir=settings.DATA_DIR, prefix="unpacked-") as unpacked:
        try:
            with tarfile.open(path, "r:gz") as tar:
                said = json.loads(_member(tar, MANIFEST).read())
                manifest = Manifest(said["made_at"], said["vendor"], tuple(said["migrations"]))
                payload = Path(unpacked) / PAYLOADS[manifest.vendor]
                with payload.open("wb") as file:
                    shutil.copyfileobj(_member(tar, payload.name), file)
        except FileNotFoundError:
            raise BackupFault(f"There is no file {path}.") from None
        except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError, KeyError, TypeError):
            raise BackupFault(f"{path} is no copy made here, or it is damaged.") from None
        yield manifest, payload


def _member(tar: tarfile.TarFile, name: str) -> Any:
    file = tar.extractfile(name)
    if file is None:
        raise KeyError(name)
    return file
