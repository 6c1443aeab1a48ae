"""The files that a person can take out."""
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from accounts.models import User
from flashcards.transfer import everything


@dataclass(frozen=True, slots=True)
class File:
    """A kind of file: its address's word, its name, what it is, and what writes it."""

    slug: str
    name: str
    title: str
    about: str
    content_type: str
    write: Callable[[User, datetime], str | bytes]

    @property
    def ending(self) -> str:
        """What its button says: ".json"."""
        return f".{self.name.rpartition('.')[2]}"


FILES = {file.slug: file for file in (
    File("everything", "everything.json", "Everything", "All that is known of you, as JSON: settings, every answer and "
         "what was typed, notes, quizzes, predictions, your own cards. It can be brought in again, here or elsewhere.",
         "application/json", everything.written),
)}
