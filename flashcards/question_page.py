"""A question on its own page: what a review shows of it, and how it stands with its person."""
from functools import cached_property

from django.urls import reverse
from django.utils.safestring import SafeString

from flashcards.models import Review
from flashcards.question_desk import QuestionDesk
from flashcards.services import memo_on
from questions import related
from questions.models import Note, Question
from questions.services import inline


class QuestionPage(QuestionDesk):
    """A question's own page, before or after the commit."""

    page, fragment = "flashcards/question.html", "flashcards/_question_turn.html"
    alone = True

    @property
    def withdrawn(self) -> str:
        """Why the question is no longer drilled by others; empty while it is."""
        return "retired" if self.question.retired else "being rewritten" if self.question.draft else ""

    @property
    def undoable(self) -> Review | None:
        """The person's last action, if it was on this question."""
        return self.last if self.last and self.last.card_id == self.card.pk else None

    @property
    def has_derivation(self) -> bool:
        """Whether there is anything to show of how the answer comes about."""
        return bool(self.posed.derivation or self.gist or (self.judgement and self.judgement.slip))

    # What belongs to it

    @cached_property
    def memo(self) -> str:
        """What the person noted down about it."""
        return memo_on(self.user, self.question)

    @property
    def memo_url(self) -> str:
        return reverse("flashcards:note", args=[self.question.slug])

    @property
    def next_questions(self) -> list[Question]:
        """What to ask next."""
        return related.next_to(self.question)

    @property
    def questions_before(self) -> list[Question]:
        """What leads here."""
        return related.before(self.question)

    @property
    def notes(self) -> list[tuple[Note, SafeString]]:
        """The number cards that it leans on, each with its front."""
        return [(note, inline(note.ask)) for note in related.notes_of(self.question)]
