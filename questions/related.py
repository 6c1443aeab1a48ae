"""What belongs to what in the bank: a question's neighbours and number cards, a card's questions, a lab's cards."""
from collections.abc import Iterable

from django.db.models import QuerySet

from questions.access import published
from questions.loading import read_cards
from questions.models import Note, Question


def next_to(question: Question) -> list[Question]:
    """What to ask next, in the question's own order, of what is drilled."""
    return in_order(question.next)


def before(question: Question) -> list[Question]:
    """The questions that lead to this one and that it does not lead back to, of what is drilled."""
    return [one for one in published() if question.slug in one.next and one.slug not in question.next]


def notes_of(question: Question) -> list[Note]:
    """The bank's number cards that the question leans on."""
    slugs = read_cards().get(question.slug, ())
    found = {note.slug: note for note in bank_notes().filter(slug__in=slugs)}
    return [found[slug] for slug in slugs if slug in found]


def questions_of(note: Note) -> list[Question]:
    """The drilled questions that lean on the number card."""
    return in_order(slug for slug, notes in read_cards().items() if note.slug in notes)


def questions_by_note() -> dict[str, list[Question]]:
    """The drilled questions that lean on each number card, by the card's slug."""
    found: dict[str, list[Question]] = {}
    for question in published():
        for slug in read_cards().get(question.slug, ()):
            found.setdefault(slug, []).append(question)
    return found


def notes_of_lab(slug: str) -> list[Note]:
    """The bank's number cards that the lab computes."""
    return [note for note in bank_notes() if note.calc.get("lab") == slug]


def bank_notes() -> QuerySet[Note]:
    """The bank's own number cards that are drilled."""
    return Note.objects.filter(owner=None, draft=False, retired=False).select_related("topic")


def in_order(slugs: Iterable[str]) -> list[Question]:
    """The drilled questions with these slugs, in that order."""
    slugs = list(slugs)
    found = {question.slug: question for question in published().filter(slug__in=slugs)}
    return [found[slug] for slug in slugs if slug in found]
