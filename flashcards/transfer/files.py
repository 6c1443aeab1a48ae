"""The files that a person can take out."""
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from accounts.models import User
from flashcards.transfer import anki_out, everything, tables

ANKI = "application/octet-stream"


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
         "what was typed, notes, quizzes, predictions, your own cards, your part in mock interviews. But for "
         "those it can be brought in again, here or elsewhere.", "application/json", everything.written),
    File("anki", "new.apkg", "For Anki, all cards new", "Questions with their answers, numbers both ways and your own "
         "cards, a deck a topic. A second import into Anki adds nothing.", ANKI, anki_out.without_schedule),
    File("anki-scheduled", "scheduled.apkg", "For Anki, with my schedule", "The same with your due days, intervals, "
         "FSRS’s memory of each card and every answer.", ANKI, anki_out.with_schedule),
    File("cards", "cards.csv", "Cards as a table", "A row for each card that you began or wrote: front, back, due day, "
         "stability, difficulty, answers, lapses.", "text/csv; charset=utf-8", tables.cards_csv),
    File("reviews", "reviews.csv", "Answers as a table", "A row for each thing you did to a card, with what you typed, "
         "how far off it was and how sure you were.", "text/csv; charset=utf-8", tables.reviews_csv),
    File("notes", "notes.md", "Notes and own cards, to read", "What you noted down about questions and numbers, and "
         "the cards that you wrote, as Markdown.", "text/markdown; charset=utf-8", tables.markdown),
)}
