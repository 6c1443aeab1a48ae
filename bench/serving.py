"""How fast a served review answers: gunicorn as bin/run starts it, on SQLite, with several people at once.

    .venv/bin/python bench/serving.py [PEOPLE [ANSWERS]]

4 people of 1,000 cards each give 50 answers each unless told otherwise, each answer a commit and a grade as htmx sends
them. Told are answers a second, answers for each second of processor time that the server took, and what one waits.
"""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[1]
CARDS = 1_000
TOKEN = "a" * 32  # a CSRF token
TICKS = os.sysconf("SC_CLK_TCK")


def main(people: int, answers: int, port: int) -> None:
    sessions = [signed_in(number) for number in range(people)]
    command = [sys.executable, "-m", "gunicorn", "--config", str(ROOT / "gunicorn.conf.py")]
    with subprocess.Popen(command, start_new_session=True) as server:
        try:
            wait_for(port)
            for session in sessions:
                Reviewer(port, session).give(3)  # what each process loads once is loaded
            before, started = processor_s(server.pid), time.perf_counter()
            with ThreadPoolExecutor(people) as crowd:
                waits = list(crowd.map(lambda session: Reviewer(port, session).give(answers), sessions))
            took, busy = time.perf_counter() - started, processor_s(server.pid) - before
        finally:
            os.killpg(server.pid, signal.SIGTERM)
    print(f"{people} people, {answers} answers each: {people * answers / took:.1f} answers/s; "
          f"{people * answers / busy:.1f} for each second of one core")
    for at, what in enumerate(("commit", "grade and next card")):
        cuts = quantiles([wait[at] for each in waits for wait in each], n=20)
        print(f"{what:<20} p50 {cuts[9] * 1e3:.0f} ms, p95 {cuts[18] * 1e3:.0f} ms")


class Reviewer:
    """One person at a review, on a connection of their own."""

    def __init__(self, port: int, session: str) -> None:
        self.connection = HTTPConnection("localhost", port, timeout=60)
        self.headers = {
            "Cookie": f"sessionid={session}; csrftoken={TOKEN}", "X-CSRFToken": TOKEN, "HX-Request": "true",
            "Content-Type": "application/x-www-form-urlencoded"}

    def give(self, answers: int) -> list[tuple[float, float]]:
        """The seconds that each commit and each grade took."""
        waits, (_, page) = [], self.send("GET", "/review/")
        for _ in range(answers):
            card, ordinal = re.search(r'/cards/(\d+)/check/.*?name="ordinal" value="(\d+)"', page, re.DOTALL).groups()
            commit, _ = self.send("POST", f"/cards/{card}/check/", ordinal=ordinal, aloud=1)
            grade, page = self.send("POST", f"/cards/{card}/answer/", ordinal=ordinal, rating=3)
            waits.append((commit, grade))
        self.connection.close()
        return waits

    def send(self, verb: str, path: str, **form: object) -> tuple[float, str]:
        started = time.perf_counter()
        self.connection.request(verb, path, urlencode(form) if form else None, self.headers)
        answer = self.connection.getresponse()
        page = answer.read().decode()
        assert answer.status == 200, page
        return time.perf_counter() - started, page


def signed_in(number: int) -> str:
    """A session of a new person with a deck."""
    from django.test import Client
    from django.utils import timezone

    from accounts.models import User
    from bench import deck
    from flashcards.study_day import study_day

    user = User.objects.create_user(f"bench{number}@example.org")
    user.profile.new_numbers_per_day, user.profile.reviews_per_day = 200, 999
    user.profile.save()
    deck.deal(user, CARDS, study_day(timezone.now(), user.profile.zone, user.profile.day_start))
    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value


def wait_for(port: int) -> None:
    for _ in range(300):
        try:
            with closing(HTTPConnection("localhost", port, timeout=5)) as connection:
                connection.request("GET", "/healthz")
                return
        except OSError:
            time.sleep(0.1)
    sys.exit("the server does not answer")


def processor_s(group: int) -> float:
    """Seconds of processor time that the processes of a group have taken so far (Linux)."""
    stats = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        fields = stat.read_text().rpartition(")")[2].split()
        if int(fields[2]) == group:
            stats.append(int(fields[11]) + int(fields[12]))
    return sum(stats) / TICKS


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        free_port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as data:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "drillapp.settings", "DRILL_DATA": data, "PORT": str(free_port),
                       "DRILL_BACKUPS": "off"}
        import django

        django.setup()
        from drillapp import startup

        startup.migrate()
        startup.collect_static()
        given = [*map(int, sys.argv[1:]), 4, 50][:2] if len(sys.argv) != 2 else [int(sys.argv[1]), 50]
        main(*given, free_port)
