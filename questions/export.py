"""The cards that a person made for themselves, as an export has them."""
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import uuid4

from accounts.models import User
from accounts.rows import BadExport, Taken, fields_of, row_of, rows_in
from questions import search
from questions.checking import is_number
from questions.models import Note, Topic

HELD = (
    "guid", "kind", "position", "ask", "front", "back", "tags", "value", "shown", "unit", "accept", "origin", "reverse",
    "cue", "draft", "retired",
)


def of(user: User) -> dict[str, Any]:
    """Their own notes, those without a guid known by their slug; a topic by its slug."""
    notes = Note.objects.filter(owner=user).select_related("topic").order_by("pk")
    return {"notes": [{**row_of(note, HELD), "guid": key_of(note), "topic": note.topic and note.topic.slug}
                      for note in notes]}


def key_of(note: Note) -> str:
    """What an own note is known by wherever it is brought to."""
    return note.guid or note.slug


def put(user: User, part: Mapping[str, Any], now: datetime, taken: Taken) -> None:
    """Add the notes that are not here; one of a known guid stays as it is."""
    here = {key_of(note) for note in Note.objects.filter(owner=user)}
    topics = {topic.slug: topic for topic in Topic.objects.all()}
    adding = []
    for row in rows_in(part, "notes"):
        fields = fields_of(Note, HELD, row)
        if not fields.get("guid") or fields["guid"] in here:
            taken.count("own cards", known=1)
            continue
        check(fields)
        fields["reverse"] = fields.get("reverse", False) and fields.get("kind") != Note.Kind.CLOZE
        here.add(fields["guid"])
        topic = topics.get(row["topic"]) if isinstance(row.get("topic"), str) else None
        adding.append(Note(owner=user, slug=new_slug(), topic=topic, **fields))
    Note.objects.bulk_create(adding, batch_size=500)
    search.refresh_own(adding)
    taken.count("own cards", new=len(adding))


def check(fields: Mapping[str, Any]) -> None:
    """Refuse a note that no page could show. Raises BadExport."""
    if not all(isinstance(tag, str) for tag in fields.get("tags", [])):
        raise BadExport("The tags of an own card are no words.")
    if fields.get("kind", Note.Kind.NUMBER) == Note.Kind.NUMBER:
        accept, value = fields.get("accept", []), fields.get("value")
        if len(accept) != 2 or not all(map(is_number, (*accept, value))) or not accept[0] <= value <= accept[1]:
            raise BadExport(f"The own card “{fields.get('ask', '')[:60]}” has no number within its range.")


def new_slug() -> str:
    """A slug for an own note, which no other has."""
    return f"own-{uuid4().hex[:20]}"
