"""What is done in teams and rooms. Every act in a room is one event, written once, with the state it leads to."""
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from calculators.models.base import Refusal
from flashcards.models import Card
from flashcards.services import add_to_drill, ensure_cards, set_suspended
from mocks import room
from mocks.access import presence_in
from mocks.asked import as_asked
from mocks.models import Event, Interview, Membership, Seat, Team, in_ms
from mocks.room import Role
from questions.access import published
from questions.figures import BadFigure
from questions.models import Embargo

CODE_BYTES = 12
SEEN_EVERY = timedelta(seconds=10)
HERE_FOR = timedelta(seconds=25)
GRACE = timedelta(hours=1)  # that staff answers stay closed past an interview's own time, unless it ends before
PAUSE = timedelta(days=1)  # that they stay closed while its clock stands: a room that is forgotten shuts nobody out
MOST_ITEMS = 12
AT_ONCE = timedelta(seconds=5)  # in which the same form sent again is a second click
SHIFTING = frozenset({"ask", "extend", "pause", "resume"})  # acts that put off when an interview is due to end
MAILED = "mailed"  # in an interview's spec: for which time its invitation went out


class Missed(Refusal):
    """The page that sent an act is behind: the interview has moved on since."""


# Teams

@transaction.atomic
def make_team(user: User, name: str, now: datetime) -> Team:
    """A new team of which this person is the owner; a second click gets the first one's."""
    User.objects.select_for_update().get(pk=user.pk)
    mine = Team.objects.filter(memberships__user=user, memberships__role=Membership.Role.OWNER)
    if first := mine.filter(name=name, made_at__gt=now - AT_ONCE).first():
        return first
    team = Team.objects.create(name=name, made_at=now)
    Membership.objects.create(team=team, user=user, role=Membership.Role.OWNER, joined_at=now)
    return team


# Rooms

@transaction.atomic
def plan_interview(
    team: Team | None, made_by: User, candidate: User, now: datetime, *, minutes: int,
    plan: Sequence[Mapping[str, Any]], spec: Mapping[str, Any], scheduled_at: datetime | None = None,
    seats: Mapping[User, Role] | None = None, code: str | None = None,
) -> Interview:
    """An interview that is planned: its candidate and the others in their seats. Without a team it is one's own.

    With a `code` that there is already, nothing is planned and that interview comes back: the form was sent before.
    Raises Refusal when somebody may not take the part.
    """
    row, made = Interview.objects.get_or_create(code=code or token_urlsafe(CODE_BYTES), defaults={
        "team": team, "made_by": made_by, "candidate": candidate, "made_at": now, "scheduled_at": scheduled_at,
        "minutes": minutes, "plan": list(plan), "spec": dict(spec),
    })
    if made:
        seat(row, {candidate: Role.CANDIDATE, **(seats or {})})
        appoint(row)
    return row


@transaction.atomic
def replan(
    row: Interview, *, minutes: int, plan: Sequence[Mapping[str, Any]], spec: Mapping[str, Any],
    scheduled_at: datetime | None, seats: Mapping[User, Role], seal: str,
) -> None:
    """Change an interview that has not begun; its candidate stays. `seal` is the plan's as the page found it.

    Raises Missed where somebody has changed it since, Refusal where it has begun or somebody may not take the part.
    """
    locked = Interview.objects.select_for_update().get(pk=row.pk)
    if locked.phase != room.Phase.LOBBY:
        raise Refusal("It has been called off." if locked.phase == room.Phase.CALLED_OFF
                      else "It has begun; its plan stands as it was.")
    if seal != plan_seal(locked):
        raise Missed("Somebody has changed this plan meanwhile.")
    locked.minutes, locked.plan, locked.spec, locked.scheduled_at = minutes, list(plan), dict(spec), scheduled_at
    locked.save(update_fields=["minutes", "plan", "spec", "scheduled_at"])
    locked.seats.exclude(role=Role.CANDIDATE).exclude(user__in=seats).delete()
    seat(locked, seats)
    Embargo.objects.filter(reference=locked.code).delete()
    appoint(locked)


def plan_seal(row: Interview) -> str:
    """What names a plan as it stands: another one once anything of it is changed."""
    seats = sorted(row.seats.values_list("user_id", "role"))
    spec = {name: value for name, value in row.spec.items() if name != MAILED}
    return sha256(f"{row.minutes} {row.scheduled_at} {row.plan} {spec} {seats}".encode()).hexdigest()[:12]


@transaction.atomic
def note_mailed(row: Interview) -> bool:
    """Note that the invitation goes out for the appointed time; False when it went before."""
    locked = Interview.objects.select_for_update().get(pk=row.pk)
    if locked.spec.get(MAILED) == str(locked.scheduled_at):
        return False
    locked.spec[MAILED] = str(locked.scheduled_at)
    locked.save(update_fields=["spec"])
    return True


@transaction.atomic
def forget_mailed(row: Interview) -> None:
    locked = Interview.objects.select_for_update().get(pk=row.pk)
    locked.spec.pop(MAILED, None)
    locked.save(update_fields=["spec"])


def appoint(row: Interview) -> None:
    """Have the staff answers closed to the candidate from the appointed time on, where there is one."""
    if row.team_id and row.scheduled_at:
        close_answers(row, row.scheduled_at, row.scheduled_at + timedelta(minutes=row.minutes) + GRACE)


def seat(row: Interview, seats: Mapping[User, Role]) -> None:
    """Give these people their parts, in place of those they had; each must be one that the team lets them take."""
    members = {one.user_id: one for one in Membership.objects.filter(team=row.team_id, user__in=seats)}
    for user, role in seats.items():
        if row.team_id and (user.pk not in members or not members[user.pk].takes(role)):
            raise Refusal(f"{user.name} can’t be {role} in this team.")
        if (user.pk == row.candidate_id) != (role == Role.CANDIDATE):
            raise Refusal("An interview has one candidate, who takes no other part.")
        Seat.objects.update_or_create(interview=row, user=user, defaults={"role": role})


def items_of(asked: Sequence[Mapping[str, Any]], plan: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The plan's questions as the fold begins with them."""
    return [
        {
            "slug": posed["slug"], "minutes": item["minutes"], "points": [point["id"] for point in posed["rubric"]],
            "hints": len(posed["hints"]), "follow_ups": len(posed["follow_ups"]),
        } for posed, item in zip(asked, plan, strict=True)
    ]


def pose_plan(row: Interview) -> list[dict[str, Any]]:
    """The plan's questions posed, each with numbers drawn for this room. Raises Refusal for one that can't be."""
    if not 1 <= len(row.plan) <= MOST_ITEMS:
        raise Refusal(f"An interview asks 1 to {MOST_ITEMS} questions.")
    questions = {question.slug: question for question in published().filter(slug__in=[one["slug"] for one in row.plan])}
    asked = []
    for item in row.plan:
        if item["slug"] not in questions:
            raise Refusal(f"The question “{item['slug']}” is no longer in the bank; swap it.")
        try:
            asked.append(as_asked(questions[item["slug"]], f"{row.code} {item['slug']}"))
        except (Refusal, BadFigure):
            raise Refusal(f"The question “{item['slug']}” can’t be posed as it stands in the bank; swap it.") from None
    return asked


def begin(
    user: User, row: Interview, now: datetime, key: UUID | None = None, stamp: str = room.Room().stamp
) -> Event:
    """Start the interview: its questions are posed and kept, and the clock runs. Raises Refusal."""
    asked = pose_plan(row)
    with transaction.atomic():
        locked = Interview.objects.select_for_update().get(pk=row.pk)
        if (locked.plan, locked.minutes) != (row.plan, row.minutes):
            raise Refusal("Somebody has changed the plan just now. Look at it, then start.")
        detail = {"items": items_of(asked, row.plan), "minutes": row.minutes}
        event = record(user, row, "start", detail, now, key=key, stamp=stamp)
        begun = Interview.objects.get(pk=row.pk)
        if not begun.asked:
            begun.asked = asked
            begun.save(update_fields=["asked"])
    return event


@transaction.atomic
def record(
    user: User, row: Interview, kind: str, detail: Mapping[str, Any], now: datetime, *, key: UUID | None = None,
    stamp: str | None = None,
) -> Event:
    """Write one act down and bring the room's state up to date; what comes back is its event.

    `key` is what the page called the act: sent again it changes nothing and gives the same event. `stamp` is where the
    page that sent it saw the interview, for acts that move it on. The actor's part is judged under the lock.

    Raises Missed where the interview has moved on since, Refusal for what can't be done.
    """
    locked = Interview.objects.select_for_update().defer("asked", "plan", "spec").get(pk=row.pk)
    if key and (earlier := Event.objects.filter(interview=locked, key=key).first()):
        return earlier
    presence = presence_in(user, locked)
    if presence is None:
        raise Refusal("You are no longer in this interview.")
    before = close_in_time(locked, now)
    if stamp is not None and stamp != before.stamp:
        raise Missed("The interview has moved on; this page shows it as it is now.")
    act = room.Event(locked.log_length + 1, kind, presence.who, in_ms(now), dict(detail))
    room.refuse(before, act, presence.role, alone=presence.is_alone, releases=presence.releases)
    event = Event.objects.create(
        interview=locked, ordinal=act.ordinal, kind=kind, actor=user, who=presence.who, at=now, detail=act.detail,
        key=key)
    after = room.step(before, act)
    keep(locked, after, now)
    if locked.team_id and (after.phase != before.phase or kind in SHIFTING or is_over_time(after, now)):
        keep_closed(locked, after, now)
    return event


def close_in_time(row: Interview, now: datetime) -> room.Room:
    """The state as of now. Alone, an answer closes when its question's time is up: at that instant, whenever somebody
    looks next. The row is locked, or looked at only."""
    state = row.folded()
    if not row.is_solo or state.time_up_ms is None or state.time_up_ms > in_ms(now):
        return state
    at = datetime.fromtimestamp(state.time_up_ms / 1000, UTC)
    act = room.Event(
        row.log_length + 1, "phase", str(row.candidate_id), state.time_up_ms, {"to": "score", "in_time": True})
    Event.objects.create(
        interview=row, ordinal=act.ordinal, kind=act.kind, actor_id=row.candidate_id, who=act.actor, at=at,
        detail=act.detail)
    state = room.step(state, act)
    keep(row, state, at)
    return state


@transaction.atomic
def look(row: Interview, now: datetime) -> room.Room:
    """The state as of now, of which the row is brought up to date where the clock has closed an answer since."""
    state = row.folded()
    if not row.is_solo or state.time_up_ms is None or state.time_up_ms > in_ms(now):
        return state
    state = close_in_time(Interview.objects.select_for_update().get(pk=row.pk), now)
    row.refresh_from_db()
    return state


def keep(row: Interview, state: room.Room, now: datetime) -> None:
    """Store the fold beside its log."""
    row.state, row.phase = state.to_json(), state.phase
    row.log_length, row.open_length = state.length, state.open_length
    row.started_at = row.started_at or (now if state.has_begun else None)
    row.ended_at = row.ended_at or (now if state.is_over or state.is_called_off else None)
    row.save(update_fields=["state", "log_length", "open_length", "phase", "started_at", "ended_at"])


def is_over_time(state: room.Room, now: datetime) -> bool:
    """Whether an interview goes on past its time."""
    return state.phase in room.RUNNING and state.clock_ms(in_ms(now)) > state.allowed_ms


def keep_closed(row: Interview, state: room.Room, now: datetime) -> None:
    """Close the bank's staff answers to the candidate of a running interview, and open them when it ends."""
    if state.is_over or state.is_called_off:
        Embargo.objects.filter(user=row.candidate_id, reference=row.code).update(ends_at=now)
        return
    left = timedelta(milliseconds=max(0, state.allowed_ms - state.clock_ms(in_ms(now))))
    close_answers(row, now, now + (PAUSE if state.paused else left + GRACE))


def close_answers(row: Interview, begins_at: datetime, ends_at: datetime) -> None:
    """Close them from then (or from earlier, if they are closed already) to then."""
    embargo, made = Embargo.objects.get_or_create(
        user_id=row.candidate_id, reference=row.code, defaults={"begins_at": begins_at, "ends_at": ends_at})
    if not made:
        embargo.begins_at, embargo.ends_at = min(embargo.begins_at, begins_at), ends_at
        embargo.save(update_fields=["begins_at", "ends_at"])


def be_seen(row: Interview, user: User, now: datetime) -> None:
    """Note that this person's page is open; written at most every ten seconds."""
    see(row.pk, user, now)


def see(interview: int, user: User, now: datetime) -> None:
    """The same by the interview's number."""
    Seat.objects.filter(interview=interview, user=user).exclude(seen_at__gt=now - SEEN_EVERY).update(seen_at=now)


def rebuild(row: Interview, *, write: bool = True) -> bool:
    """Whether the stored state was what the events tell; with `write` it is so afterwards."""
    state = room.fold(row.log())
    told = (json.loads(json.dumps(state.to_json())), state.phase, state.length, state.open_length)  # as it is stored
    if (row.state, row.phase, row.log_length, row.open_length) == told or not state.length and not row.state:
        return True
    if write:
        row.state, row.phase, row.log_length, row.open_length = told
        row.save(update_fields=["state", "phase", "log_length", "open_length"])
    return False


@transaction.atomic
def erase_notes(user: User) -> None:
    """Empty the private notes of somebody whose account goes; their places in the logs stay."""
    notes = QuerySet(Event).filter(actor=user, kind="note")
    rooms = Interview.objects.select_for_update().filter(pk__in=notes.values("interview"))
    for row in list(rooms):
        QuerySet(Event).filter(interview=row, actor=user, kind="note").update(detail={"text": ""})
        rebuild(row)


@transaction.atomic
def take_missed(user: User, row: Interview, slugs: Sequence[str], now: datetime, key: UUID | None = None) -> list[str]:
    """Put these of the interview's questions into its candidate's drill, due today, each once, where the bank still has
    it; those that were put in now. Raises Refusal."""
    state = Interview.objects.select_for_update().get(pk=row.pk).folded()
    if not slugs or set(slugs) - {item.slug for item in state.items}:
        raise Refusal("There is no such question in this interview.")
    there = set(published().filter(slug__in=slugs).values_list("slug", flat=True))
    if not (taken := [slug for slug in slugs if slug in there and slug not in state.drilled]):
        return []
    record(user, row, "drill", {"slugs": taken}, now, key=key)
    ensure_cards(user)
    for card in Card.objects.filter(user=user, question__slug__in=taken).select_related("user__profile"):
        if card.suspended:
            set_suspended(card, False, ordinal=card.next_ordinal, now=now)
            card.refresh_from_db()
        add_to_drill(card, ordinal=card.next_ordinal, now=now)
    return taken
