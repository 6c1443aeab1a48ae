"""bin/run: what it makes, what it says, and that a second start changes nothing."""
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.drillapp.commands import ROOT, environment, run

# A Python that notes what it is asked to do, and makes a .venv whose Python is itself.
FAKE_PYTHON = """#!/bin/sh
printf '%s\\n' "$*" >>"$LOG"
case "$*" in
*version_info*) exit "$TOO_OLD" ;;
*ensurepip*) exit "$NO_VENV" ;;
*python_version*) echo 3.9.2 ;;
"-m venv --clear "*) mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
*"-m pip install"*) exit "$NO_NETWORK" ;;
esac
"""


class Checkout:
    """A bare checkout in a folder with a space in its name, on a machine whose only Python is the fake one."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "my drill"
        self.tools = folder / "tools"
        self.log = folder / "log"
        self.tools.mkdir()
        shutil.copytree(ROOT / "bin", self.root / "bin")
        for name in ("requirements.txt", "requirements-test.txt"):
            shutil.copy(ROOT / name, self.root)
        for name in ("sh", "dirname", "cat", "mkdir", "cp"):
            (self.tools / name).symlink_to(shutil.which(name))

    def give_python(self, name: str = "python3") -> None:
        (self.tools / name).write_text(FAKE_PYTHON)
        (self.tools / name).chmod(0o755)

    def start(self, **more: str) -> subprocess.CompletedProcess:
        machine = {"PATH": str(self.tools), "LOG": str(self.log), "TOO_OLD": "0", "NO_VENV": "0", "NO_NETWORK": "0"}
        command = [str(self.root / "bin" / "run")]
        return subprocess.run(command, cwd="/", capture_output=True, text=True, env=machine | more)

    def asked(self, words: str) -> int:
        """How many times Python was asked for this."""
        return self.log.read_text().count(words)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_no_python_is_said_plainly(checkout: Checkout):
    started = checkout.start()
    assert (started.returncode, started.stderr) == (1, "drillapp: needs Python 3.11 or newer; no python3 was found\n")


def test_old_python_is_named(checkout: Checkout):
    checkout.give_python()
    started = checkout.start(TOO_OLD="1")
    assert (started.returncode, started.stderr) == (1, "drillapp: needs Python 3.11 or newer; python3 is 3.9.2\n")


def test_missing_venv_module_is_named(checkout: Checkout):
    checkout.give_python("python3.12")
    started = checkout.start(NO_VENV="1")
    assert started.returncode == 1
    assert started.stderr.startswith("drillapp: python3.12 is here, but not its venv module; on Debian")
    assert started.stderr.count("\n") == 1


def test_installs_once_and_again_only_when_the_requirements_changed(checkout: Checkout):
    checkout.give_python()
    assert checkout.start().returncode == 0
    assert (checkout.asked("-m venv"), checkout.asked("-m pip install"), checkout.asked("serve")) == (1, 1, 1)
    checkout.start()
    assert (checkout.asked("-m venv"), checkout.asked("-m pip install"), checkout.asked("serve")) == (1, 1, 2)
    with (checkout.root / "requirements.txt").open("a") as requirements:
        requirements.write("another==1.0\n")
    checkout.start()
    assert (checkout.asked("-m venv"), checkout.asked("-m pip install"), checkout.asked("serve")) == (1, 2, 3)


def test_failed_install_is_tried_again(checkout: Checkout):
    checkout.give_python()
    started = checkout.start(NO_NETWORK="1")
    assert started.returncode == 1
    assert started.stderr == "drillapp: could not install what requirements.txt lists; pip says why above\n"
    assert checkout.asked("serve") == 0
    assert checkout.start().returncode == 0
    assert checkout.asked("-m pip install") == 2


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder as the first start leaves it: the first two, at once, of which one waits for the other."""
    data = tmp_path_factory.mktemp("first") / "data"
    command = [sys.executable, "manage.py", "prepare"]
    starts = [
        subprocess.Popen(command, cwd=ROOT, env=environment(data), stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [(start.communicate()[1], start.returncode) for start in starts] == [("", 0)] * 2
    return data


@pytest.fixture
def data(prepared: Path, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return Path(shutil.copytree(prepared, tmp_path / "data"))


def content(data: Path) -> list[str]:
    """Everything in the database, as SQL."""
    with closing(sqlite3.connect(data / "drill.sqlite3")) as database:
        return list(database.iterdump())


def test_second_start_changes_nothing(data: Path):
    before, files = content(data), {path: path.stat().st_mtime_ns for path in (data / "static").rglob("*")}
    done = run(data, "manage.py", "prepare")
    assert (done.returncode, done.stderr) == (0, "")
    assert content(data) == before
    assert {path: path.stat().st_mtime_ns for path in (data / "static").rglob("*")} == files


def test_starts_at_once_in_an_empty_folder_wait_for_each_other(prepared: Path):
    with closing(sqlite3.connect(prepared / "drill.sqlite3")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("SELECT count(*) FROM questions_question").fetchone() == (63,)


def test_database_newer_than_the_code_stops_with_one_line(data: Path):
    with closing(sqlite3.connect(data / "drill.sqlite3")) as database, database:
        row = "('questions', '9999_later', '2030-01-01')"
        database.execute(f"INSERT INTO django_migrations (app, name, applied) VALUES {row}")
    before = content(data)
    done = run(data, "manage.py", "prepare")
    assert done.returncode == 1
    reason = "the database is newer than this code (it has questions.9999_later); update the code"
    assert done.stderr == f"drillapp: {reason}\n"
    assert content(data) == before


def test_conflict_in_the_bank_is_reported_and_does_not_stop_the_start(data: Path):
    with closing(sqlite3.connect(data / "drill.sqlite3")) as database, database:
        # As after an edit of the row whose file has changed as well since it was loaded.
        database.execute("UPDATE questions_question SET title = 'Edited', loaded_digest = 'of long ago'")
    done = run(data, "manage.py", "prepare")
    assert done.returncode == 0
    assert "conflict" in done.stderr


def test_file_that_is_no_database_stops_with_one_line(tmp_path: Path):
    (tmp_path / "drill.sqlite3").write_text("a letter to my aunt, which is no database at all\n" * 40)
    done = run(tmp_path, "manage.py", "prepare")
    assert (done.returncode, done.stderr) == (1, "drillapp: the database can't be used: file is not a database\n")


def test_database_server_that_is_away_stops_with_one_line(tmp_path: Path):
    url = f"postgres://drill@/drill?host={tmp_path}"
    done = run(tmp_path, "manage.py", "prepare", DATABASE_URL=url, SECRET_KEY="k")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("drillapp: the database can't be used: ")


def test_port_taken_stops_with_one_line_before_anything_is_made(tmp_path: Path):
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        done = run(tmp_path, "manage.py", "serve", PORT=port)
    assert done.returncode == 1
    reason = "Address already in use; PORT=… chooses another one"
    assert done.stderr == f"drillapp: can't listen on port {port} of 127.0.0.1: {reason}\n"
    assert not (tmp_path / "drill.sqlite3").exists()


class Server:
    """`manage.py serve` on a free port, and the lines it prints."""

    def __init__(self, data: Path) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        command = [sys.executable, str(ROOT / "manage.py"), "serve"]
        self.process = subprocess.Popen(
            command, cwd="/", env=environment(data, PORT=str(self.port)), text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        self.lines: list[str] = []
        self.link = ""

    def wait_for_link(self) -> str:
        """The address in the last line that the start prints."""
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if line.startswith("Sign in"):
                return line.split()[-1]
        raise AssertionError(f"no link: {self.lines} {self.process.stderr.read()}")

    def get(self, path: str, cookie: str = "") -> tuple[int, HTTPMessage, str]:
        """Status, headers and body of one request."""
        with closing(HTTPConnection("localhost", self.port, timeout=20)) as connection:
            connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode(errors="replace")

    def interrupt(self) -> tuple[int, str]:
        """Ctrl-C, as a terminal sends it, to the whole group; exit code and what went to stderr."""
        os.killpg(self.process.pid, signal.SIGINT)
        _, complaints = self.process.communicate(timeout=30)
        return self.process.returncode, complaints


@pytest.fixture(scope="module")
def server(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that has printed its link, for the tests that only look and the last, which ends it."""
    running = Server(Path(shutil.copytree(prepared, tmp_path_factory.mktemp("served") / "data")))
    running.link = running.wait_for_link()
    yield running
    if running.process.poll() is None:
        running.interrupt()


def test_served_pages_carry_the_content_policy_and_their_static_files_answer(server: Server):
    status, headers, page = server.get("/labs/")
    assert status == 200
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    links = [part.split('"')[0] for part in page.split('="/static/')[1:]]
    assert links
    for link in links:
        status, headers, _ = server.get(f"/static/{link}")
        assert (status, "immutable" in headers["Cache-Control"]) == (200, True)


def test_start_prints_a_link_that_signs_the_owner_in_once_and_ctrl_c_ends_it(server: Server):
    assert len(server.lines) <= 4
    assert server.get("/healthz")[0] == 200
    status, headers, _ = server.get(urlsplit(server.link).path)
    assert (status, headers["Location"]) == (302, "/")
    cookies = "; ".join(cookie.split(";")[0] for cookie in headers.get_all("Set-Cookie"))
    status, _, page = server.get("/", cookie=cookies)
    assert status == 200
    assert "<main" in page
    status, headers, _ = server.get(urlsplit(server.link).path)
    assert (status, "Location" in headers) == (200, False)
    assert server.interrupt() == (0, "")
