"""What has to be true before the site can answer: the port, the database, the static files."""
import fcntl
import hashlib
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

STARTING = 1_147_300_940  # names this project's start among PostgreSQL's advisory locks

def port_fault(host: str, port: int) -> str | None:
    """Why gunicorn could not listen there, in words; None when it can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        # As gunicorn does: a server stopped a moment ago is no hindrance.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as fault:
            return fault.strerror or str(fault)
    return None


def unknown_migrations(executor: MigrationExecutor) -> list[str]:
    """What the database has been through that this code knows nothing of: its names, as "app.name"."""
    known = set(executor.loader.disk_migrations)
    return sorted(f"{app}.{name}" for app, name in executor.loader.applied_migrations if (app, name) not in known)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold off every other start on this data folder or this database until the block ends."""
    with (Path(settings.DATA_DIR) / "starting").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if connection.vendor != "postgresql":
            yield
            return
        # Held by the session: a start that is killed lets go of it.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [STARTING])
            yield
            cursor.execute("SELECT pg_advisory_unlock(%s)", [STARTING])


def migrate() -> int:
    """Bring the database up to the code; how many migrations that took."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        call_command("migrate", verbosity=0, interactive=False)
    return len(plan)


def static_digest() -> str:
    """A digest of the names and the content of every static file that the apps bring."""
    found = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list(ignore_patterns=[]):
            found.update(path.encode() + b"\0" + Path(storage.path(path)).read_bytes())
    return found.hexdigest()


def collect_static() -> bool:
    """Gather the static files under their hashed names, unless they are the ones gathered last; whether it did."""
    stamp = Path(settings.STATIC_ROOT) / "digest"
    digest = static_digest()
    if stamp.exists() and stamp.read_text() == digest:
        return False
    call_command("collectstatic", verbosity=0, interactive=False)
    stamp.write_text(digest)
    return True
