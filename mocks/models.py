"""Teams and their interviews in the database. What happened in a room is its events; its state is their fold."""
from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from flashcards.models import AppendOnly, AppendOnlyQuerySet
from mocks import room

MOST_NAME = 80


class Team(models.Model):
    name = models.CharField(max_length=MOST_NAME)
    made_at = models.DateTimeField()
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership", related_name="teams")

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person in a team. The role says which parts this person may take in the team's interviews."""

    class Role(models.TextChoices):
        OWNER = "owner"
        INTERVIEWER = "interviewer"
        CANDIDATE = "candidate"
        OBSERVER = "observer"

    TAKES = {
        Role.OWNER: frozenset(room.Role),
        Role.INTERVIEWER: frozenset(room.Role),
        Role.CANDIDATE: frozenset({room.Role.CANDIDATE}),
        Role.OBSERVER: frozenset({room.Role.OBSERVER}),
    }

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=11, choices=Role)
    joined_at = models.DateTimeField()
    shares_drill = models.BooleanField(default=False, help_text="whether a plan may look at what is weak in the drill")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="in_a_team_once")]

    def __str__(self) -> str:
        return f"{self.user}, {self.role} of {self.team}"

    @property
    def is_owner(self) -> bool:
        return self.role == self.Role.OWNER

    @property
    def leads(self) -> bool:
        """Whether this person plans and runs interviews in the team."""
        return self.role in (self.Role.OWNER, self.Role.INTERVIEWER)

    def takes(self, part: str) -> bool:
        """Whether this person may take the part in an interview of the team."""
        return part in self.TAKES[self.role]


class Invitation(models.Model):
    """A link into a team, good for some uses until it expires or is withdrawn."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=11, choices=Membership.Role)
    token = models.CharField(max_length=43, unique=True)
    email = models.EmailField(blank=True, help_text="whom it was mailed to; it admits nobody else then")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="invitations")
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    most_uses = models.PositiveSmallIntegerField(default=1)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-made_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.role} of {self.team} until {self.expires_at}"


class InvitationUse(models.Model):
    invitation = models.ForeignKey(Invitation, on_delete=models.CASCADE, related_name="uses")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["invitation", "user"], name="an_invitation_admits_once")]

    def __str__(self) -> str:
        return f"{self.user} by {self.invitation}"


class Template(models.Model):
    """A plan that a team kept to plan others from: topics, kinds, level, minutes, and pinned questions."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="templates")
    name = models.CharField(max_length=MOST_NAME)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    spec = models.JSONField()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="a_templates_name_is_its_own")]

    def __str__(self) -> str:
        return self.name


class Interview(models.Model):
    """One interview: planned, running or over. Without a team it is somebody's own, alone.

    `state` is the fold of its events, kept so that a look costs one row. `spec` is what the plan was proposed from
    (topics, kinds, level), `plan` the questions in order, [{slug, minutes, pinned, why}]; `asked` holds the questions
    as they were posed when the interview began, so that a later edit of the bank changes no report.
    """

    code = models.CharField(max_length=22, unique=True)
    candidate = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="interviews_taken",
        help_text="also seated; with this account the interview goes",
    )
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, related_name="interviews")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField()
    scheduled_at = models.DateTimeField(null=True)
    minutes = models.PositiveSmallIntegerField(default=45)
    spec = models.JSONField(default=dict)
    plan = models.JSONField(default=list)
    asked = models.JSONField(default=list)
    state = models.JSONField(default=dict)
    log_length = models.PositiveIntegerField(default=0)
    open_length = models.PositiveIntegerField(default=0, help_text="events that everybody in the room may know of")
    phase = models.CharField(max_length=10, default=room.Phase.LOBBY.value)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-scheduled_at", "-pk"]
        indexes = [models.Index(fields=["team", "phase"])]

    def __str__(self) -> str:
        return self.code

    @property
    def is_solo(self) -> bool:
        return self.team_id is None

    def folded(self) -> room.Room:
        """The room as its events left it."""
        return room.Room.from_json(self.state)

    def log(self) -> Iterator[room.Event]:
        """All that was done in it, in order."""
        for row in self.events.order_by("ordinal").iterator():
            yield row.event()


class Seat(models.Model):
    """Somebody's part in an interview. It holds while the team lets this person take it."""

    interview = models.ForeignKey(Interview, on_delete=models.CASCADE, related_name="seats")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="seats")
    role = models.CharField(max_length=11, choices=[(role.value, role.value) for role in room.Role])
    seen_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["interview", "user"], name="one_seat_in_an_interview"),
            models.UniqueConstraint(
                fields=["interview"], condition=Q(role="candidate"), name="one_candidate_in_an_interview"),
        ]

    def __str__(self) -> str:
        return f"{self.user}, {self.role} in {self.interview}"


class Event(AppendOnly):
    """One act in a room. `key` is what the page that sent it called it: the same twice is one act. `who` is the actor's
    number, which stays when the account goes."""

    interview = models.ForeignKey(Interview, on_delete=models.CASCADE, related_name="events")
    ordinal = models.PositiveIntegerField()
    kind = models.CharField(max_length=12)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    who = models.CharField(max_length=20)
    at = models.DateTimeField()
    detail = models.JSONField(default=dict)
    key = models.UUIDField(null=True)

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["interview", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["interview", "ordinal"], name="one_event_for_each_ordinal"),
            models.UniqueConstraint(fields=["interview", "key"], name="an_act_is_kept_once"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.ordinal} in {self.interview}"

    def event(self) -> room.Event:
        """The act as the fold reads it."""
        return room.Event(self.ordinal, self.kind, self.who, in_ms(self.at), self.detail)


def in_ms(instant: datetime) -> int:
    """An instant as whole milliseconds since the epoch."""
    return round(instant.timestamp() * 1000)
