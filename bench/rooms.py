"""How fast rooms answer that are polled: gunicorn as bin/run starts it, three people a room, a poll a second each.

    .venv/bin/python -m tests.postgres .venv/bin/python bench/rooms.py [ROOMS [SECONDS]]

100 rooms for 30 seconds unless told otherwise, on the PostgreSQL that tests.postgres starts (without it: on SQLite);
first quiet ones, in which nothing happens, then such where each candidate's scratchpad changes every third second.
Told are requests a second of those that the clock asks for, the processor time that one takes of the server, of the
database and of this client, which share the machine, requests for each second of one core of the server's, and of the
server's and the database's together, and what one waits.
"""
import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[1]
TOKEN = "a" * 32  # a CSRF token
TICKS = os.sysconf("SC_CLK_TCK")
EVERY_S, TYPES_EVERY_S = 1.0, 3.0
STANDS = re.compile(r'name="(after|here)" value="([^"]*)"')
REGION = re.compile(r'data-region="([^"]*)" data-seen="([^"]*)"')


def main(rooms: int, seconds: float, port: int) -> None:
    from bench.serving import processor_s, wait_for

    people = [person for number in range(rooms) for person in room_of(number)]
    command = [sys.executable, "-m", "gunicorn", "--config", str(ROOT / "gunicorn.conf.py")]
    with subprocess.Popen(command, start_new_session=True) as server:
        try:
            wait_for(port)
            postmaster = postmaster_of_this_machine()
            asyncio.run(measure(port, people, seconds, lambda: Busy(
                processor_s(server.pid), children_s(postmaster) if postmaster else 0.0, time.process_time())))
        finally:
            os.killpg(server.pid, signal.SIGTERM)


class Busy(NamedTuple):
    """Seconds of processor time that each has taken so far; a SQLite database's are among the server's."""

    server: float
    database: float
    client: float


async def measure(port: int, people: list[tuple[str, str, str]], seconds: float, busy: Callable[[], Busy]) -> None:
    """Everybody comes in, which is not counted; then they stay, first in quiet rooms."""
    visitors = [Visitor(port, *person) for person in people]
    for visitor in visitors:
        await visitor.enter()
    for what, types in (("quiet", False), ("typing", True)):
        before, told = busy(), Told()
        await asyncio.gather(*(visitor.stay(seconds, types, told) for visitor in visitors))
        took = Busy(*(now - then for now, then in zip(busy(), before, strict=True)))
        tell(what, len(people) // 3, told, seconds, took)


@dataclass
class Told:
    """The seconds that polls and writes took, and how often each status came."""

    polls: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)
    statuses: Counter = field(default_factory=Counter)


def tell(what: str, rooms: int, told: Told, seconds: float, busy: Busy) -> None:
    asked = len(told.polls) + len(told.writes)
    due = 3 * rooms / EVERY_S + (rooms / TYPES_EVERY_S if told.writes else 0)
    each = ", ".join(f"{name} {taken / asked * 1e3:.2f}" for name, taken in busy._asdict().items())
    print(f"{what}: {rooms} rooms of 3, {asked / seconds:.0f} requests/s of {due:.0f}, answers "
          f"{dict(sorted(told.statuses.items()))}\n  ms of processor time a request: {each}; {asked / busy.server:.0f} "
          f"requests for each second of the server's, {asked / (busy.server + busy.database):.0f} with the database's")
    for name, waits in (("poll", told.polls), ("typed", told.writes)):
        if len(waits) > 1:
            p50, p95 = (quantiles(waits, n=20)[at] * 1e3 for at in (9, 18))
            print(f"  {name:<6} p50 {p50:.0f} ms, p95 {p95:.0f} ms, most {max(waits) * 1e3:.0f} ms")


def postmaster_of_this_machine() -> int | None:
    """The number of the process whose children answer for the PostgreSQL in use; None on SQLite."""
    from django.db import connection

    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [backend] = cursor.fetchone()
    return int(fields_of(Path(f"/proc/{backend}/stat"))[1])


def children_s(parent: int) -> float:
    """Seconds of processor time that the children of a process have taken so far, those that ended among them."""
    ended = sum(map(int, fields_of(Path(f"/proc/{parent}/stat"))[13:15]))
    alive = [fields for stat in Path("/proc").glob("[0-9]*/stat") if int((fields := fields_of(stat))[1]) == parent]
    return (ended + sum(int(fields[11]) + int(fields[12]) for fields in alive)) / TICKS


def fields_of(stat: Path) -> list[str]:
    """What /proc tells of a process, from its state on; one that has just ended is nobody's child."""
    try:
        return stat.read_text().rpartition(")")[2].split()
    except OSError:
        return ["X", "-1"]


def room_of(number: int) -> list[tuple[str, str, str]]:
    """A room in which a question is being asked: of each person in it the part, the session and the room."""
    from django.test import Client
    from django.utils import timezone

    from accounts.models import User
    from mocks import services
    from mocks.models import Membership
    from mocks.room import Role

    now = timezone.now()
    people = {
        role: User.objects.create_user(f"{role}{number}@example.org")
        for role in (Role.INTERVIEWER, Role.CANDIDATE, Role.OBSERVER)
    }
    lead, candidate = people[Role.INTERVIEWER], people[Role.CANDIDATE]
    team = services.make_team(lead, f"Team {number}", now)
    for role in (Role.CANDIDATE, Role.OBSERVER):
        Membership.objects.create(team=team, user=people[role], role=role, joined_at=now)
    interview = services.plan_interview(
        team, lead, candidate, now, minutes=45, plan=[{"slug": SLUG, "minutes": 10}], spec={},
        scheduled_at=now + timedelta(minutes=1), seats={user: role for role, user in people.items()})
    services.begin(lead, interview, now)
    services.record(lead, interview, "ask", {"position": 0}, now)
    found = []
    for role, user in people.items():
        client = Client()
        client.force_login(user)
        found.append((role, client.cookies["sessionid"].value, interview.code))
    return found


class Visitor:
    """One person with the room open, on a connection of their own. What goes out again and again is put together once:
    the machine is to be busy with the server."""

    def __init__(self, port: int, role: str, session: str, code: str) -> None:
        self.port, self.role, self.code, self.stands, self.regions, self.mark = port, role, code, {}, {}, ""
        self.head = (
            f"Host: localhost:{port}\r\nCookie: sessionid={session}; csrftoken={TOKEN}\r\nX-CSRFToken: {TOKEN}\r\n")
        self.asks = self.question()

    async def enter(self) -> None:
        """Open the page, as far as its news go."""
        await self.connect()
        await self.poll()

    async def connect(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    def question(self) -> bytes:
        """The request for news after what the page has."""
        seen = ",".join(f"{name}:{seen}" for name, seen in self.regions.items())
        path = f"/mock/{self.code}/feed/?{urlencode(self.stands | {'seen': seen})}"
        return f"GET {path} HTTP/1.1\r\n{self.head}HX-Request: true\r\n\r\n".encode()

    async def poll(self) -> int:
        status, page = await self.send(self.asks)
        if page:
            self.stands |= STANDS.findall(page)
            self.regions |= REGION.findall(page)
            self.asks = self.question()
        return status

    async def type(self) -> int:
        """Send the scratchpad as the page does while one types."""
        form = urlencode({"text": f"{time.perf_counter():.3f} tokens", "position": 0, "mark-text": self.mark})
        status, answer = await self.send((
            f"POST /mock/{self.code}/do/scratch/ HTTP/1.1\r\n{self.head}Accept: application/json\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n\r\n{form}").encode())
        told = json.loads(answer)
        self.mark = told["marks"]["text"]
        if [self.stands["after"]] == [str(length) for length in told.get("after", [])[:1]]:
            self.stands["after"], self.regions["scratch"] = told["after"][1], ""
            self.asks = self.question()
        return status

    async def stay(self, seconds: float, types: bool, told: Told) -> None:
        """Poll once a second, and where the candidate types send that as well."""
        await asyncio.sleep(random.random() * EVERY_S)
        end, typed = time.perf_counter() + seconds, time.perf_counter() + random.random() * TYPES_EVERY_S
        while (started := time.perf_counter()) < end:
            told.statuses[await self.poll()] += 1
            told.polls.append(time.perf_counter() - started)
            if types and self.role == "candidate" and time.perf_counter() > typed:
                began, typed = time.perf_counter(), typed + TYPES_EVERY_S
                told.statuses[await self.type()] += 1
                told.writes.append(time.perf_counter() - began)
            await asyncio.sleep(max(0.0, EVERY_S - (time.perf_counter() - started)))

    async def send(self, request: bytes) -> tuple[int, str]:
        """The answer's status and text."""
        try:
            self.writer.write(request)
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):  # the server closes what has been idle for two seconds
            await self.connect()
            self.writer.write(request)
            head = await self.reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        if status == 204:
            return status, ""
        size = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
        return status, (await self.reader.readexactly(size)).decode()


SLUG = "preemption-victim"

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        free_port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as data:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "drillapp.settings", "DRILL_DATA": data, "PORT": str(free_port),
                       "DRILL_BACKUPS": "off", "SECRET_KEY": "of this bench"}
        import django

        django.setup()
        from drillapp import startup
        from questions import loading

        startup.migrate()
        startup.collect_static()
        bank = loading.read_bank()
        loading.load_bank(bank)
        given = [float(one) for one in sys.argv[1:]]
        main(int(given[0]) if given else 100, given[1] if len(given) > 1 else 30.0, free_port)
