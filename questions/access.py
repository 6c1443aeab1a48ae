"""Which questions a person may meet."""
from django.db.models import QuerySet

from questions.models import Question


def published() -> QuerySet[Question]:
    """The questions that are drilled: neither a draft nor retired, in the bank's order."""
    return Question.objects.filter(draft=False, retired=False).select_related("topic")
