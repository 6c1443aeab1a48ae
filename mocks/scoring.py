"""What is done with an interview once its questions are asked: scores kept and handed in, agreed on, released."""
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.models import User
from mocks import services
from mocks.models import Interview
from mocks.room import CALLED, Call, Mark

MARKED = ("value", "evidence", "comment")


@transaction.atomic
def keep_scores(
    user: User, row: Interview, marks: Mapping[tuple[int, str], Mapping[str, Any]], call: Mapping[str, str],
    now: datetime, *, hand_in: bool = False,
) -> None:
    """Keep what differs from this interviewer's scores and call as they stand: {(position, point): what was given}.
    With `hand_in` they are in for good, and the others' show. All of it or nothing. Raises Refusal."""
    state = Interview.objects.select_for_update().get(pk=row.pk).folded()
    who = str(user.pk)
    for (position, point), given in marks.items():
        if changed := changed_in(state.mark(who, position, point), given, MARKED):
            services.record(user, row, "score", {"position": position, "point": point} | changed, now)
    if changed := changed_in(state.calls.get(who, Call()), call, CALLED):
        services.record(user, row, "call", changed, now)
    if hand_in:
        services.record(user, row, "submit", {}, now)


def changed_in(kept: Mark | Call, given: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """What is given and not kept so already."""
    return {name: value for name, value in given.items() if name in names and value != getattr(kept, name)}


@transaction.atomic
def agree(
    user: User, row: Interview, position: int | None, point: str, value: int | None, now: datetime
) -> None:
    """Set the agreed score of a point; the last one set stands. Raises Refusal, also for None."""
    state = Interview.objects.select_for_update().get(pk=row.pk).folded()
    if value is None or state.agreed.get(str(position), {}).get(point) != value:
        services.record(user, row, "agree", {"position": position, "point": point, "value": value}, now)


@transaction.atomic
def agree_call(user: User, row: Interview, call: Mapping[str, str], now: datetime) -> None:
    """Set the agreed call; the last one set stands. Raises Refusal."""
    state = Interview.objects.select_for_update().get(pk=row.pk).folded()
    if changed_in(state.agreed_call, call, CALLED):
        services.record(user, row, "agree_call", dict(call), now)


@transaction.atomic
def release(user: User, row: Interview, parts: Collection[str], now: datetime) -> None:
    """Let the candidate read these parts of the report, and no other from now on. Raises Refusal."""
    state = Interview.objects.select_for_update().get(pk=row.pk).folded()
    if set(state.released) != set(parts):
        services.record(user, row, "release", {"parts": list(parts)}, now)
