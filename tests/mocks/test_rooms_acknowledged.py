"""What a room acknowledged is in its log, and once, when the server is killed while three people act in it.

The suite does a little of it; KILLS=30 does as much as is claimed.
"""
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import count
from uuid import uuid4

import pytest

from tests.drillapp.commands import run
from tests.drillapp.served import Site, served

KILLS = int(os.environ.get("KILLS", "2"))
PREPARE = """
from django.test import Client
from django.utils import timezone
from accounts.models import User
from drillapp import startup
from mocks import services
from mocks.models import Membership
from mocks.room import Role
from tests.mocks.conftest import question
startup.migrate(), startup.collect_static()
now = timezone.now()
ben, chen, ada = (User.objects.create_user(f"{name}@example.org") for name in ("ben", "chen", "ada"))
team = services.make_team(ben, "Platform", now)
for user, role in ((chen, "interviewer"), (ada, "candidate")):
    Membership.objects.create(team=team, user=user, role=role, joined_at=now)
row = services.plan_interview(
    team, ben, ada, now, minutes=240, plan=[{"slug": question("blocks").slug, "minutes": 120}], spec={},
    seats={ben: Role.INTERVIEWER, chen: Role.INTERVIEWER})
services.begin(ben, row, now)
services.record(ben, row, "ask", {"position": 0}, now)
for user in (ben, chen, ada):
    client = Client()
    client.force_login(user)
    print(client.cookies["sessionid"].value)
print(row.code)
"""
EVENTS = "SELECT ordinal, kind, detail FROM mocks_event ORDER BY ordinal"


class RoomSite(Site):
    """The served site with an interview that runs; the sessions of its two interviewers and its candidate."""

    @property
    def code(self) -> str:
        return self.prepared[-1]

    def log(self) -> list[tuple[int, str, dict]]:
        return [(ordinal, kind, detail if isinstance(detail, dict) else json.loads(detail))
                for ordinal, kind, detail in self.select(EVENTS)]


@dataclass
class Writer:
    """Somebody who sends one kind of act again and again, each with a text of its own."""

    site: RoomSite
    session: str
    kind: str
    field: str
    fixed: dict[str, str] = field(default_factory=dict)
    acknowledged: list[str] = field(default_factory=list)
    in_doubt: dict[str, str] = field(default_factory=dict)

    def send(self, form: dict[str, str]) -> bool:
        headers = {"Cookie": f"sessionid={self.session}; csrftoken={'a' * 32}", "Accept": "application/json"}
        status, _, body = self.site.send(
            "POST", f"/mock/{self.site.code}/do/{self.kind}/", headers=headers, **form)
        return status == 200 and "fault" not in json.loads(body)

    def write_on(self) -> None:
        """Until the server is gone; what it did not answer is in doubt."""
        for number in count():
            form = {**self.fixed, self.field: f"{self.kind} {uuid4()} {number}", "key": str(uuid4())}
            try:
                assert self.send(form)
            except (OSError, HTTPException):
                self.in_doubt = form
                return
            self.acknowledged.append(form[self.field])

    def settle(self) -> None:
        """Send what is in doubt again, twice, as a page does once it is connected."""
        for _ in range(2):
            assert self.send(self.in_doubt)
        self.acknowledged.append(self.in_doubt[self.field])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoomSite]:
    with served(RoomSite, tmp_path_factory.mktemp("rooms"), PREPARE) as running:
        yield running


@pytest.mark.race
def test_a_server_killed_in_an_interview_has_all_that_it_acknowledged_once(site: RoomSite) -> None:
    ben, chen, ada = site.prepared[:3]
    writers = [
        Writer(site, ben, "note", "text"), Writer(site, ada, "scratch", "text", {"position": "0", "mark-text": ""}),
        Writer(site, chen, "score", "evidence", {"position": "0", "point": "first"}),
    ]
    with ThreadPoolExecutor(len(writers)) as pool:
        for at in range(KILLS):
            told = [len(writer.acknowledged) for writer in writers]
            running = [pool.submit(writer.write_on) for writer in writers]
            while any(len(writer.acknowledged) < some + 2 for writer, some in zip(writers, told, strict=True)):
                assert not all(one.done() for one in running)
                time.sleep(0.01)
            time.sleep(at % 10 / 50)  # each time at another place of a request
            site.kill()
            for one in running:
                one.result()
            site.start()
            for writer in writers:
                writer.settle()
    log = site.log()
    kept = [detail.get("text", detail.get("evidence")) for _, _, detail in log]
    assert [text for writer in writers for text in writer.acknowledged if kept.count(text) != 1] == []
    assert [ordinal for ordinal, _, _ in log] == list(range(1, len(log) + 1))
    checked = run(site.data, "manage.py", "check_data", **site.more)
    assert checked.returncode == 0, checked.stdout + checked.stderr
