"""The site as it is really served, for tests that kill it or ask it several things at once."""
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlencode, urlsplit, urlunsplit

import psycopg

from tests.drillapp.commands import ROOT, environment, run


class Site:
    """gunicorn as it is served, on a data folder and a database of its own that a script prepares. The first word that
    the script prints is the session of who is signed in."""

    def __init__(self, data: Path, prepare: str, **more: str) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        self.data, self.more = data, {"PORT": str(self.port), **more}
        self.cookies = {"csrftoken": "a" * 32}
        self.prepared = self.shell(prepare).split()
        self.cookies["sessionid"] = self.prepared[0]
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "gunicorn", "--config", str(ROOT / "gunicorn.conf.py")]
        self.process = subprocess.Popen(
            command, cwd="/", env=environment(self.data, **self.more), start_new_session=True)
        for _ in range(600):
            try:
                if self.send("GET", "/healthz")[0] == 200:
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the server does not answer")

    def kill(self) -> None:
        """End every process of it at once; none gets to say a word."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def shell(self, code: str) -> str:
        done = run(self.data, "manage.py", "shell", "--no-imports", "-c", code, **self.more)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def select(self, query: str) -> list[tuple]:
        url = self.more.get("DATABASE_URL")
        with closing(psycopg.connect(url) if url else sqlite3.connect(self.data / "drill.sqlite3")) as database:
            return database.execute(query).fetchall()

    def send(
        self, verb: str, path: str, *, headers: Mapping[str, str] | None = None, **form: object
    ) -> tuple[int, str, str]:
        """Status, where it leads, and the body of one request."""
        cookies = "; ".join(f"{name}={value}" for name, value in list(self.cookies.items()))
        headers = {"Cookie": cookies, "X-CSRFToken": self.cookies["csrftoken"],
                   "Content-Type": "application/x-www-form-urlencoded"} | dict(headers or {})
        with closing(HTTPConnection("localhost", self.port, timeout=60)) as connection:
            connection.request(verb, path, urlencode(form) if form else None, headers)
            answer = connection.getresponse()
            for cookie in answer.headers.get_all("Set-Cookie", ()):
                self.cookies |= [cookie.split(";")[0].split("=", 1)]
            return answer.status, answer.getheader("Location", ""), answer.read().decode()

    def read(self, verb: str, path: str, **form: object) -> str:
        """The page that comes of a request, where it led elsewhere the page there."""
        status, location, page = self.send(verb, path, **form)
        if status == 302:
            status, _, page = self.send("GET", location)
        assert status == 200
        return page


Some = TypeVar("Some", bound=Site)


@contextmanager
def served(kind: type[Some], data: Path, prepare: str) -> Iterator[Some]:
    """On SQLite; where the tests have a PostgreSQL, on a new database of that."""
    more = {}
    if url := os.environ.get("DATABASE_URL", ""):
        name = f"served_{os.getpid()}_{time.monotonic_ns()}"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        more = {"DATABASE_URL": urlunsplit(urlsplit(url)._replace(path=f"/{name}")), "SECRET_KEY": "of these tests"}
    running = kind(data, prepare, **more)
    try:
        yield running
    finally:
        running.kill()
