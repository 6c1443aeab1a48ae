"""The glossary's page: every term with the questions that use it."""
from collections import defaultdict
from dataclasses import dataclass

from django.utils.safestring import SafeString

from questions import glossary
from questions.access import published
from questions.glossary import Term
from questions.models import Question, SearchDocument
from questions.services import inline


@dataclass(frozen=True, slots=True)
class TermRow:
    """A term, and the published questions that name it in their ask or their answer."""

    term: Term
    questions: list[Question]

    @property
    def html(self) -> SafeString:
        return inline(self.term.text)


def terms_page_rows() -> list[TermRow]:
    """Every term in the order of the names."""
    naming = dict(SearchDocument.objects.exclude(question=None).values_list("question_id", "terms"))
    users: dict[str, list[Question]] = defaultdict(list)
    for question in published():
        for slug in naming.get(question.pk, ()):
            users[slug].append(question)
    return [TermRow(term, users[term.slug]) for term in glossary.terms().values()]
