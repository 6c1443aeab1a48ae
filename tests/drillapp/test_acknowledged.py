"""What a real server acknowledged is there, and once: killed without warning, asked twice at once, asked again later.

The suite does a little of each; KILLS=50 PAIRS=200 REPLAY_AFTER=30 does as much as is claimed.
"""
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from threading import Barrier
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit, urlunsplit

import psycopg
import pytest

from tests.drillapp.commands import ROOT, environment, run

KILLS, PAIRS = int(os.environ.get("KILLS", "2")), int(os.environ.get("PAIRS", "5"))
REPLAY_AFTER = float(os.environ.get("REPLAY_AFTER", "0"))  # seconds
NOTES = 250
MOVED_ON = "Nothing was recorded twice"
PREPARE = f"""
from django.test import Client
from accounts.models import User
from drillapp import startup
from questions.models import Note, Topic
startup.migrate(), startup.collect_static()
topic = Topic.objects.create(slug="counting", title="Counting", position=1)
Note.objects.bulk_create(
    Note(slug=f"n{{at}}", topic=topic, position=at, ask=f"Number {{at}}?", value=at, accept=[at, at], origin="Counted.",
         reverse=False) for at in range({NOTES}))
ada = User.objects.create_user("ada@example.org")
ada.profile.new_numbers_per_day = 200
ada.profile.save()
client = Client()
client.force_login(ada)
print(client.cookies["sessionid"].value)
"""
ANSWERS = "SELECT card_id, ordinal, rating FROM flashcards_review WHERE kind = 'answer'"


class Turn(NamedTuple):
    """A card as a page shows it."""

    card: int
    ordinal: int


class Site:
    """gunicorn as it is served, on a data folder and a database of its own, with one person signed in."""

    def __init__(self, data: Path, **more: str) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        self.data, self.more = data, {"PORT": str(self.port), **more}
        self.cookies = {"csrftoken": "a" * 32}
        self.cookies["sessionid"] = self.shell(PREPARE)
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

    def answers(self) -> list[tuple[int, int, int]]:
        """The answers in the log: card, ordinal, rating."""
        return self.select(ANSWERS)

    def send(self, verb: str, path: str, **form: object) -> tuple[int, str, str]:
        """Status, where it leads, and the body of one request."""
        cookies = "; ".join(f"{name}={value}" for name, value in list(self.cookies.items()))
        headers = {"Cookie": cookies, "X-CSRFToken": self.cookies["csrftoken"],
                   "Content-Type": "application/x-www-form-urlencoded"}
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

    def show_next(self) -> Turn:
        """The next card of the day, turned over."""
        page = self.read("GET", "/review/")
        card, ordinal = re.search(r'/cards/(\d+)/check/.*?name="ordinal" value="(\d+)"', page, re.DOTALL).groups()
        turn = Turn(int(card), int(ordinal))
        assert 'name="rating"' in self.read("POST", f"/cards/{turn.card}/check/", ordinal=turn.ordinal, aloud=1)
        return turn

    def grade(self, turn: Turn, rating: int) -> int:
        """The status by which an answer is acknowledged."""
        return self.send("POST", f"/cards/{turn.card}/answer/", ordinal=turn.ordinal, rating=rating)[0]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """On SQLite; where the tests have a PostgreSQL, on a new database of that."""
    more = {}
    if url := os.environ.get("DATABASE_URL", ""):
        name = f"acknowledged_{os.getpid()}"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        more = {"DATABASE_URL": urlunsplit(urlsplit(url)._replace(path=f"/{name}")), "SECRET_KEY": "of these tests"}
    running = Site(tmp_path_factory.mktemp("site"), **more)
    yield running
    running.kill()


@pytest.mark.race
def test_a_server_killed_after_an_answer_has_it(site: Site) -> None:
    given = []
    for at in range(KILLS):
        turn, rating = site.show_next(), at % 4 + 1
        assert site.grade(turn, rating) == 302
        site.kill()
        given.append((*turn, rating))
        site.start()
    kept = site.answers()
    assert [answer for answer in given if kept.count(answer) != 1] == []
    assert "DATABASE_URL" in site.more or site.select("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.race
def test_of_two_answers_to_the_card_shown_one_counts(site: Site) -> None:
    before, barrier = len(site.answers()), Barrier(2)

    def send(turn: Turn, rating: int) -> int:
        barrier.wait()
        return site.grade(turn, rating)

    shown = []
    with ThreadPoolExecutor(2) as both:
        for _ in range(PAIRS):
            shown.append(turn := site.show_next())
            assert list(both.map(send, [turn] * 2, [3, 4])) == [302, 302]
    kept = [answer[:2] for answer in site.answers()]
    assert len(kept) == before + PAIRS
    assert [turn for turn in shown if kept.count(turn) != 1] == []


@pytest.mark.race
@pytest.mark.parametrize("rating", [3, 1])
def test_an_answer_sent_again_is_refused_calmly(site: Site, rating: int) -> None:
    turn = site.show_next()
    assert site.grade(turn, 3) == 302
    kept = site.answers()
    time.sleep(REPLAY_AFTER)
    page = site.read("POST", f"/cards/{turn.card}/answer/", ordinal=turn.ordinal, rating=rating)
    assert MOVED_ON in page
    assert site.answers() == kept


@pytest.mark.race
def test_back_and_answered_again_shows_the_next_card(site: Site) -> None:
    turn = site.show_next()
    assert site.grade(turn, 3) == 302
    kept = site.answers()
    assert MOVED_ON in site.read("GET", f"/review/?card={turn.card}&ordinal={turn.ordinal}")
    assert MOVED_ON in site.read("POST", f"/cards/{turn.card}/check/", ordinal=turn.ordinal, aloud=1)
    assert MOVED_ON in site.read("POST", f"/cards/{turn.card}/answer/", ordinal=turn.ordinal, rating=3)
    assert site.answers() == kept
