"""Marked strings in all that an interview hides: every response of the site to its candidate, to an observer and to a
stranger is searched for them, in each phase, and none is found before it was revealed or released."""
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpResponse

from mocks import services
from mocks.models import Interview
from tests.drillapp.walk import NAMES, World
from tests.mocks.conftest import question

LEFT = {"account_logout", "admin:logout"}  # they end the visit
PARTS = ("title", "ask", "answer", "catch", "measure", "rubric", "named", "explained", "bounded", "hint0", "hint1",
         "said", "tempting", "refuted", "follow", "key")
OURS = ("note", "evidence", "comment", "reason")


def mark(part: str, slug: str = "") -> str:
    return f"Canary{part}{slug}".replace("-", "")


def marked(slug: str, position: int) -> Any:
    """A question whose every text is marked."""
    m = {part: mark(part, slug) for part in PARTS}
    return question(
        slug, position=position, title=m["title"], ask=f"{m['ask']}. **What happens?**", said_aloud=m["answer"],
        catch=m["catch"], measure=m["measure"], hints=[{"text": m["hint0"]}, {"text": m["hint1"]}],
        rubric=[{"id": "first", "text": m["rubric"], "named": m["named"], "explained": m["explained"],
                 "bounded": m["bounded"]}],
        traps=[{"said": m["said"], "tempting": m["tempting"], "refuted": m["refuted"]}],
        follow_ups=[{"ask": m["follow"], "key": m["key"]}])


class Watched(World):
    """The world with an interview of two marked questions that is due now."""

    def __init__(self) -> None:
        super().__init__()
        marked("alpha", 2), marked("beta", 3)
        self.planned = self.over = self.watched()
        self.lead = self.people["interviewer"]

    def watched(self) -> Interview:
        seats = {self.people["interviewer"]: "interviewer", self.people["observer"]: "observer"}
        return services.plan_interview(
            self.team, self.people["owner"], self.people["candidate"], self.now, minutes=30,
            plan=[{"slug": "alpha", "minutes": 6}, {"slug": "beta", "minutes": 6}], spec={},
            scheduled_at=self.now - timedelta(minutes=1), seats=seats)

    def do(self, who: str, kind: str, **detail: Any) -> None:
        self.planned.refresh_from_db()
        if kind == "start":
            services.begin(self.people[who], self.planned, self.now)
        else:
            services.record(self.people[who], self.planned, kind, detail, self.now)

    def told(self, role: str, names: Iterable[str]) -> dict[str, str]:
        """What each address has for somebody, by a look and by an empty form."""
        return {name: self.body(role, name) for name in names if name not in LEFT}

    def body(self, role: str, name: str) -> str:
        client = self.browser(role)
        with transaction.atomic():
            path = self.path(name)
            found = text_of(client.get(path)) + text_of(client.get(path, headers={"HX-Request": "true"}))
            if "do/" not in path:
                found += text_of(client.post(path))
            transaction.set_rollback(True)
        return found


def text_of(answer: HttpResponse) -> str:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return content.decode(errors="replace") + str(dict(answer.headers))


ALL = {mark(part, slug) for part in PARTS for slug in ("alpha", "beta")} | {mark(part) for part in OURS}
MOCKS = [name for name in NAMES if name.startswith("mocks:")]
ROOM = [f"mocks:{name}" for name in ("room", "feed", "lab", "report", "report_json", "report_markdown", "mock")]


def leaks(world: Watched, role: str, names: Iterable[str], shown: set[str]) -> list[tuple[str, str]]:
    """The (address, marked string) that somebody got and was not to get. A title is one of the bank's sixty-odd outside
    of the interview's own pages: Today names what one's drill has next."""
    bodies = world.told(role, names)
    return [
        (name, one) for name, body in bodies.items() for one in sorted(ALL - shown)
        if one in body and (name in MOCKS or "title" not in one)]


@pytest.mark.django_db
def test_nothing_is_found_before_it_is_revealed_or_released():
    world, shown = Watched(), set()

    def assert_kept(*reveals: str, names: Iterable[str] = ROOM) -> None:
        shown.update(reveals)
        assert leaks(world, "candidate", names, shown) == []
        assert leaks(world, "observer", ROOM, shown) == []
        assert leaks(world, "stranger", ROOM, set()) == []
        room = world.body("candidate", "mocks:room")
        assert [one for one in reveals if one not in room] == []  # so that the search would find one

    assert_kept()
    world.do("interviewer", "start")
    assert_kept()
    world.do("interviewer", "ask", position=0)
    world.do("interviewer", "note", text=mark("note"))
    world.do("interviewer", "score", position=0, point="first", value=1, evidence=mark("evidence"))
    world.do("interviewer", "score", position=0, point="first", comment=mark("comment"))
    assert_kept(mark("ask", "alpha"))
    world.do("interviewer", "hint", number=0)
    assert_kept(mark("hint0", "alpha"), names=NAMES)
    world.do("interviewer", "phase", to="follow-ups")
    world.do("interviewer", "follow_up", number=0)
    assert_kept(mark("follow", "alpha"))
    world.do("interviewer", "phase", to="score")
    assert_kept(names=MOCKS)
    world.do("interviewer", "ask", position=1)
    assert_kept(mark("ask", "beta"))
    world.do("interviewer", "score", position=1, point="first", value=2)
    world.do("interviewer", "phase", to="score")
    world.do("interviewer", "debrief")
    world.do("interviewer", "call", verdict="yes", level="staff", reason=mark("reason"))
    world.do("interviewer", "submit")
    assert_kept()
    world.do("interviewer", "end")
    assert_kept(names=MOCKS)


@pytest.mark.django_db
@pytest.mark.parametrize(("parts", "shown", "hidden"), [
    (["scores"], {"title"}, {"answer", "rubric", "evidence", "comment", "note", "key"}),
    (["answers"], {"answer", "rubric"}, {"evidence", "comment", "note"}),
    (["comments"], {"evidence", "comment"}, {"answer", "rubric", "note", "key"}),
], ids=lambda value: value[0] if isinstance(value, list) else "")
def test_each_part_is_released_by_itself(parts: list[str], shown: set[str], hidden: set[str]):
    world = Watched()
    world.do("interviewer", "start")
    world.do("interviewer", "ask", position=0)
    world.do("interviewer", "note", text=mark("note"))
    world.do("interviewer", "score", position=0, point="first", value=1, evidence=mark("evidence"),
             comment=mark("comment"))
    world.do("interviewer", "phase", to="score")
    world.do("interviewer", "debrief")
    world.do("interviewer", "call", verdict="yes", level="staff", reason=mark("reason"))
    world.do("interviewer", "submit")
    world.do("interviewer", "end")
    world.do("owner", "release", parts=parts)
    bodies = "".join(world.told("candidate", MOCKS).values())

    def named(names: set[str]) -> set[str]:
        return {mark(name, "alpha") if name in PARTS else mark(name) for name in names}

    assert {one for one in named(shown) if one not in bodies} == set()
    assert {one for one in named(hidden) if one in bodies} == set()
    assert {one for one in ALL if one.endswith("beta") and one in bodies} == set()
