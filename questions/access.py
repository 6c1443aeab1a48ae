"""Which questions and number cards a person may meet, and when the staff answers are closed to them."""
from datetime import datetime

from django.db import connection
from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404

from accounts.models import User
from accounts.often import rows_of
from questions.loading import read_checks
from questions.models import Embargo, Note, Question

# Whether anything closes them at all, as most requests of everybody ask.
CLOSED = """
SELECT EXISTS(
    SELECT 1 FROM questions_embargo WHERE user_id = %(user)s AND begins_at <= %(now)s AND ends_at > %(now)s)
AND NOT EXISTS(SELECT 1 FROM questions_embargo WHERE user_id = %(user)s AND reference = %(own)s)
"""


def published() -> QuerySet[Question]:
    """The questions that are drilled: neither a draft nor retired, in the bank's order."""
    return Question.objects.filter(draft=False, retired=False).select_related("topic")


def staff_checks() -> list[Question]:
    """The staff-level checks that are drilled, in the order asked."""
    found = {question.slug: question for question in published().filter(slug__in=read_checks())}
    return [found[slug] for slug in read_checks() if slug in found]


def notes_for(user: User) -> QuerySet[Note]:
    """The number cards that this person drills: the bank's and their own, no draft and none retired."""
    whose = Q(owner=None) | Q(owner=user)
    return Note.objects.filter(whose, draft=False, retired=False).select_related("topic")


def own_note_for(user: User, pk: int) -> Note:
    """A note that this person made for themselves; any other is unknown (404)."""
    return get_object_or_404(Note.objects.select_related("topic"), pk=pk, owner=user)


def embargo_on(user: User, now: datetime, own: str = "") -> Embargo | None:
    """What closes the bank's staff answers to this person now; None while they are open.

    An interview that runs closes all of them, so that what is closed does not tell what will be asked. `own` is the
    reference of what is asked for: where that closes them to this person, now or at another time, it is theirs and
    stays open. Two interviews on one day shut nobody out of either.
    """
    if not user.is_authenticated:
        return None
    values = {"user": user.pk, "now": connection.ops.adapt_datetimefield_value(now), "own": own}
    [[closed]] = rows_of(CLOSED, values)
    if not closed:
        return None
    return Embargo.objects.filter(user=user, begins_at__lte=now, ends_at__gt=now).order_by("-ends_at").first()
