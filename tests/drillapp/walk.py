"""Every address of the site, and a world that has what each is about."""
import re
from collections.abc import Iterator
from datetime import timedelta
from http.cookies import SimpleCookie

from django.contrib.auth.models import Group
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from accounts.models import User
from flashcards import services as drill
from flashcards.models import Quiz, Rating
from mocks import services
from mocks.models import Interview, Invitation, Membership, Template
from mocks.room import Role
from questions.models import Note
from tests.conftest import person
from tests.mocks.conftest import question

ROLES = ("out", "stranger", "candidate", "interviewer", "observer", "owner", "editor", "staff")
VALUES = {
    "flashcards:export_file": {"what": "everything"}, "progress:csv": {"slug": "retention"},
    "progress:readiness_csv": {"slug": "questions"}, "flashcards:predict": {"slug": "scheduler"},
}

OVER = ("report", "scores", "agree", "release", "take_missed")  # of an interview that has ended


def addresses(resolver: URLResolver, space: str = "", prefix: str = "/") -> Iterator[tuple[str, URLPattern]]:
    """Every address by its name; the admin has four that bear none and go by their path."""
    for entry in resolver.url_patterns:
        path = prefix + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield space + entry.name if entry.name else VARYING.sub("…", path), entry
        else:
            yield from addresses(entry, f"{entry.namespace}:" if entry.namespace else space, path)


VARYING = re.compile(r"<[^>]*>|\(\?P<.*")
NAMES = dict(addresses(get_resolver()))


class World:
    """Ada's card, note, quiz and interviews: one planned, one over; and everybody who may come by."""

    def __init__(self) -> None:
        self.now = timezone.now()
        self.people = {name: person(name.title()) for name in ROLES[1:]}
        self.browsers: dict[str, tuple[Client, SimpleCookie]] = {}
        self.people["editor"].groups.add(Group.objects.get(name="Editors"))
        User.objects.filter(pk=self.people["staff"].pk).update(is_staff=True, is_superuser=True)
        self.question = question("blocks")
        ada = self.people["candidate"]
        drill.ensure_cards(ada)
        self.card = ada.cards.get()
        drill.answer_card(self.card, Rating.GOOD, ordinal=1, now=self.now)
        self.note = Note.objects.create(
            slug="own", kind="basic", ask="Mine", front="f", back="b", owner=ada, guid="g")
        self.quiz = Quiz.objects.create(user=ada, title="Q", questions=[self.question.pk], seed=1, started_at=self.now)
        self.team = services.make_team(self.people["owner"], "Platform", self.now)
        for role in ("candidate", "interviewer", "observer"):
            Membership.objects.create(team=self.team, user=self.people[role], role=role, joined_at=self.now)
        self.template = Template.objects.create(team=self.team, name="Usual", spec={})
        self.invitation = Invitation.objects.create(
            team=self.team, role="observer", token="t" * 43, made_by=self.people["owner"], made_at=self.now,
            expires_at=self.now + timedelta(days=1), most_uses=5)
        self.planned, self.over = self.interview(), self.interview()
        lead = self.people["interviewer"]
        services.begin(lead, self.over, self.now)
        services.record(lead, self.over, "debrief", {}, self.now)
        services.record(lead, self.over, "end", {}, self.now)

    def browser(self, role: str) -> Client:
        """Somebody's browser as signing in left it: to make one and sign in takes as long as many a page."""
        if role not in self.browsers:
            client = Client()
            if role != "out":
                client.force_login(self.people[role])
            self.browsers[role] = client, client.cookies
        client, cookies = self.browsers[role]
        client.cookies = SimpleCookie(cookies)
        return client

    def interview(self) -> Interview:
        """One for tomorrow; the team's owner takes no part."""
        seats = {self.people["interviewer"]: Role.INTERVIEWER, self.people["observer"]: Role.OBSERVER}
        return services.plan_interview(
            self.team, self.people["owner"], self.people["candidate"], self.now, minutes=30,
            plan=[{"slug": "blocks", "minutes": 6}], spec={}, scheduled_at=self.now + timedelta(days=1), seats=seats)

    def path(self, name: str) -> str:
        """The address of the thing in this world that it is about."""
        entry = NAMES[name]
        values = {
            "pk": self.card.pk, "slug": "blocks", "number": 1, "token": "none", "key": "none", "uidb36": "1",
            "app_label": "questions", "object_id": self.question.pk, "content_type_id": 1, "url": "none",
            "code": (self.over if any(word in name for word in OVER) else self.planned).code,
        }
        space, _, verb = name.rpartition(":")
        if space == "mocks":
            member = self.team.memberships.get(role="observer")
            values |= {"pk": self.team.pk, "member": member.pk, "token": self.invitation.token, "kind": "note"}
        if verb == "withdraw":
            values["pk"] = self.invitation.pk
        if verb.endswith("_template"):
            values["pk"] = self.template.pk
        if space == "calculators":
            values["slug"] = "scheduler"
        if verb.startswith("quiz") or "_quiz" in verb or verb.endswith("_place") or verb == "drill_missed":
            values["pk"] = self.quiz.pk
        if "own_card" in verb:
            values["pk"] = self.note.pk
        if verb == "questions_question_preview":
            values["pk"] = self.question.pk
        if verb.startswith("accounts_user"):
            values["object_id"] = self.people["stranger"].pk
        if not entry.name:
            return name.replace("…", str(values["object_id"]))
        values |= VALUES.get(name, {})
        return reverse(name, kwargs={key: values[key] for key in entry.pattern.regex.groupindex})

    def form(self, name: str) -> dict[str, object]:
        """What is sent there; nothing, but where an empty form would not be looked at."""
        heir = Membership.objects.filter(team=self.team, role="interviewer").get()
        return {"member": heir.pk} if name == "mocks:hand_over" else {}
