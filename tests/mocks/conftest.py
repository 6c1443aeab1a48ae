"""A team: Ben owns it and interviews, Chen observes, Ada is interviewed; Eve is outside."""
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from mocks import services
from mocks.models import Interview, Membership, Team
from mocks.room import Role
from questions.models import Question, Topic
from tests.conftest import person

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
END = ("debrief", "end")  # the acts that end an interview from its brief on


def as_person(user: User) -> Client:
    """A browser in which somebody is signed in."""
    client = Client()
    client.force_login(user)
    return client


def question(slug: str, *, position: int = 1, topic: str = "scheduling", **more: Any) -> Question:
    """A plain question with three rubric points, two hints and a follow-up."""
    where, _ = Topic.objects.get_or_create(slug=topic, defaults={"title": topic.title(), "position": 1})
    points = [
        {"id": name, "text": f"Point {name}.", "named": f"names {name}", "explained": f"explains {name}",
         "bounded": f"bounds {name}"} for name in ("first", "second", "third")
    ]
    told = {
        "title": f"About {slug}", "kind": "explain", "level": "staff", "minutes": 6,
        "ask": f"Scenario of {slug}. **What happens?**",
        "said_aloud": f"The staff answer of {slug}.", "catch": "The catch.", "measure": "The measure.",
        "rubric": points,
        "hints": [{"text": f"First hint of {slug}."}, {"text": f"Second hint of {slug}."}],
        "follow_ups": [{"ask": f"And with {slug} doubled?", "key": f"The key of {slug}."}],
        "traps": [{"said": "It is free.", "tempting": "It looks so.", "refuted": "It is not."}],
    }
    return Question.objects.create(slug=slug, topic=where, position=position, **told | more)


@pytest.fixture
def chen(db: None) -> User:
    return person("Chen")


@pytest.fixture
def team(ada: User, ben: User, chen: User) -> Team:
    team = services.make_team(ben, "Platform", NOON)
    for user, role in ((ada, "candidate"), (chen, "observer")):
        Membership.objects.create(team=team, user=user, role=role, joined_at=NOON)
    return team


@pytest.fixture
def interview(team: Team, ada: User, ben: User, chen: User) -> Interview:
    """Planned for noon, 30 minutes, two questions; nobody has begun it."""
    plan = [{"slug": question(slug, position=at).slug, "minutes": 6} for at, slug in enumerate(("blocks", "steps"))]
    return services.plan_interview(
        team, ben, ada, NOON - timedelta(days=1), minutes=30, plan=plan, spec={}, scheduled_at=NOON,
        seats={ben: Role.INTERVIEWER, chen: Role.OBSERVER})


@pytest.fixture
def act(interview: Interview) -> Callable[..., Any]:
    """Do something in the room, so many seconds after noon."""

    def done(user: User, kind: str, seconds: float = 0, **detail: Any) -> Any:
        now = NOON + timedelta(seconds=seconds)
        if kind == "start":
            return services.begin(user, interview, now)
        return services.record(user, interview, kind, detail, now)

    return done


def scored(act: Callable[..., Any], *users: User, agreed: int | None = None) -> None:
    """The interview held: its first question asked, its three points scored 3, 2 and 1 by the first of these, and one
    less each by the next."""
    first = users[0]
    for kind, detail in (("start", {}), ("ask", {"position": 0}), ("phase", {"to": "score"})):
        act(first, kind, **detail)
    for less, user in enumerate(users):
        for value, point in zip((3, 2, 1), ("first", "second", "third"), strict=True):
            act(user, "score", position=0, point=point, value=value - less)
        act(user, "call", verdict="yes", level="staff", reason="so")
    act(first, "debrief")
    for user in users:
        act(user, "submit")
    if agreed is not None:
        act(first, "agree", position=0, point="third", value=agreed)
    act(first, "end")
