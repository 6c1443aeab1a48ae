"""Which questions and number cards a person may meet."""
from django.db.models import Q, QuerySet

from accounts.models import User
from questions.models import Note, Question


def published() -> QuerySet[Question]:
    """The questions that are drilled: neither a draft nor retired, in the bank's order."""
    return Question.objects.filter(draft=False, retired=False).select_related("topic")


def notes_for(user: User) -> QuerySet[Note]:
    """The number cards that this person drills: the bank's and their own, no draft and none retired."""
    whose = Q(owner=None) | Q(owner=user)
    return Note.objects.filter(whose, draft=False, retired=False).select_related("topic")
