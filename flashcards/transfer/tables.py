"""Cards as tables and as Markdown, out and in."""
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db.models import F

from accounts.models import User
from accounts.rows import BadExport, Taken
from flashcards.models import Card, Direction, Memo, Review
from flashcards.own_cards import directions, tags_of
from flashcards.own_desk import sides_of
from flashcards.transfer.anki_html import markdown_of
from flashcards.transfer.incoming import Incoming, Side
from flashcards.written import key_of_card
from questions import own
from questions.export import key_of
from questions.models import Note
from questions.services import in_words, value_with_unit

CARDS = (
    "card", "front", "back", "tags", "topic", "kind", "state", "due", "last", "stability", "difficulty", "answers",
    "lapses", "suspended",
)
REVIEWS = (
    "at", "study_day", "card", "what", "rating", "counts_as", "interval_days", "stability", "difficulty", "seconds",
    "typed", "ratio", "confidence",
)
LONGEST = 20_000
MOST_ROWS = 200_000
DIRECTIVE = re.compile(r"#(separator|html|columns|tags column|deck|notetype)[^:]*:\s*(.*)", re.IGNORECASE)
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " ", "colon": ":"}
MY_NOTES = "My notes"  # the heading over what was noted down about questions and numbers
FORMULA = re.compile(r"^[=+@\t\r-](?!\d)")  # what a spreadsheet would work out
DIVIDED = re.compile(r"^\s*-{3,}\s*$", re.MULTILINE)


def table(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table as the text of a .csv file; a text that a spreadsheet would take for a formula begins with a space."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(names)
    for row in rows:
        writer.writerow([f" {one}" if isinstance(one, str) and FORMULA.match(one) else one for one in row])
    return out.getvalue()


def cards_csv(user: User, now: datetime) -> str:
    """One row for each card of the person that was begun, or is their own."""
    return table(CARDS, map(card_row, cards_of(user)))


def cards_of(user: User) -> Iterator[Card]:
    cards = Card.objects.filter(user=user).select_related("question__topic", "note__topic").order_by("pk")
    return (card for card in cards.iterator(500) if card.log_length or (card.note_id and card.note.owner_id))


def card_row(card: Card) -> list[Any]:
    front, back = words_of(card)
    item = card.item
    return [
        ":".join(key_of_card(card)), front, back, " ".join(item.tags) if card.note_id else "",
        item.topic.slug if item.topic else "", item.kind, card.state,
        (card.due_at or card.due_day or "") and (card.due_at or card.due_day).isoformat(), card.last_day or "",
        number(card.stability), number(card.difficulty), card.answers, card.lapses, "yes" if card.suspended else "",
    ]


def number(value: float | None) -> float | str:
    return "" if value is None else round(value, 4)


def words_of(card: Card) -> tuple[str, str]:
    """The two sides of a card, in Markdown; a question by its title and what is said aloud."""
    if card.question_id:
        return card.question.title, in_words(card.question, card.question.said_aloud)
    if card.note.kind != Note.Kind.NUMBER:
        return sides_of(card)
    ask, value = card.note.front or card.note.ask, value_with_unit(card.note)
    return (value, ask) if card.direction == Direction.REVERSE else (ask, value)


def reviews_csv(user: User, now: datetime) -> str:
    """One row for each row of the person's log, as it was done."""
    rows = Review.objects.filter(card__user=user).select_related("card__question", "card__note", "attempt")
    counts_as = dict(Review.objects.filter(card__user=user).answers().values_list("pk", "rated"))
    return table(REVIEWS, (
        [row.at.isoformat(), row.study_day, ":".join(key_of_card(row.card)), row.kind, row.rating or "",
         counts_as.get(row.pk, ""), (row.due_day - row.study_day).days if row.due_day else "", number(row.stability),
         number(row.difficulty), *tried(row)]
        for row in rows.order_by("pk").iterator(500)))


def tried(row: Review) -> list[Any]:
    """What was committed before an answer: seconds, text, ratio, confidence."""
    one = row.attempt
    return [one.seconds, one.typed, number(one.ratio), one.confidence or ""] if one else [""] * 4


def markdown(user: User, now: datetime) -> str:
    """What the person noted down about questions and number cards, and their own cards."""
    lines = [f"# {MY_NOTES}", ""]
    memos = Memo.objects.filter(user=user).select_related("question", "note")
    # on questions first: not every database sorts what is missing to the same end
    for memo in memos.order_by(F("question__topic").asc(nulls_last=True), "question__pk", "note__topic", "note__pk"):
        lines += [f"## {memo.note.ask if memo.note_id else memo.question.title}", "", memo.text.strip(), ""]
    lines += ["# My cards", ""]
    for note in Note.objects.filter(owner=user, retired=False).order_by("pk"):
        lines += [*note_lines(note), ""]
    return "\n".join(lines).rstrip() + "\n"


def note_lines(note: Note) -> Iterator[str]:
    """An own card under its heading; a front of more than its line stands whole, over a rule."""
    yield f"## {note.front or note.ask if note.kind == Note.Kind.NUMBER else note.ask}"
    yield ""
    if note.kind == Note.Kind.NUMBER:
        yield value_with_unit(note)
        if note.origin:
            yield from ("", note.origin)
    else:
        if note.front != note.ask:
            yield from (note.front, "", "---", "")
        yield note.back
    if note.tags:
        yield from ("", f"Tags: {' '.join(note.tags)}")


# In

class Fronts:
    """What a card without a guid is known by: that of an own note of the same front, else a digest of it."""

    def __init__(self, user: User) -> None:
        self.known = {alike(note.front or note.ask): key_of(note) for note in Note.objects.filter(owner=user)}

    def guid(self, front: str) -> str:
        return self.known.get(alike(front)) or f"text-{sha256(alike(front).encode()).hexdigest()[:32]}"


def alike(front: str) -> str:
    return " ".join(front.split())


def note_of(front: str, back: str, tags: list[str], guid: str) -> Incoming | None:
    """A card of a front and a back, or a cloze where the front has gaps; None without a word in front."""
    front, back = front.strip()[:LONGEST], back.strip()[:LONGEST]
    if not front:
        return None
    kind = Note.Kind.CLOZE if own.cloze_numbers(front) else Note.Kind.BASIC
    note = Note(kind=kind, front=front, reverse=False)
    return Incoming(guid, kind, front, back, tags, sides=[Side(direction) for direction in directions(note)])


def from_csv(text: str, user: User, taken: Taken) -> Iterator[Incoming]:
    """The notes of a table: front, back and tags, by a first row that names them or else in that order.

    Raises BadExport when it is no such table.
    """
    text, delimiter, is_html, columns = directed(text)
    csv.field_size_limit(2**20)
    fronts, left = Fronts(user), Counter()
    try:
        for at, row in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)):
            if at == 0 and not columns and "front" in (names := [one.strip().lower() for one in row]):
                columns = names
                continue
            if at > MOST_ROWS:
                raise BadExport(f"This table has more than {MOST_ROWS:,} rows.")
            if not any(one.strip() for one in row):
                continue
            held = dict(zip(columns or ("front", "back", "tags"), row, strict=False))
            yield from row_notes(held, is_html, fronts, left)
    except csv.Error as fault:
        raise BadExport(f"This table can’t be read: {fault}.") from None
    say_left(left, taken)


def row_notes(held: dict[str, str], is_html: bool, fronts: Fronts, left: Counter) -> Iterator[Incoming]:
    kind, _, rest = held.get("card", "").partition(":")
    guid, _, side = rest.rpartition(":")
    if kind in ("question", "number"):
        left["bank"] += 1
        return
    if kind == "own" and side not in ("forward", "c1"):
        return  # another side of a note that has its row
    front, back = held.get("front", ""), held.get("back", "")
    if is_html:
        (front, some), (back, more) = markdown_of(front), markdown_of(back)
        left["media"] += some + more
    guid = guid or held.get("guid", "")[:90] or fronts.guid(front)
    note = note_of(front, back, tags_of(held.get("tags", ""))[:20], guid)
    left["empty"] += note is None
    left["alone"] += bool(note and note.kind == Note.Kind.BASIC and not note.back)
    if note:
        yield note


def directed(text: str) -> tuple[str, str, bool, list[str]]:
    """The table without the lines in front that say how it is written, its separator, whether it holds HTML, and its
    columns where a line names them."""
    said: dict[str, str] = {}
    while found := DIRECTIVE.match(text):
        said[found[1].lower()] = found[2].strip()
        text = text.partition("\n")[2]
    named = said.get("separator", "")
    delimiter = SEPARATORS.get(named.lower(), named if len(named) == 1 else "")
    if not delimiter:
        first = text.partition("\n")[0]
        delimiter = max(",;\t|", key=first.count)
    columns = [one.strip().lower() for one in said.get("columns", "").split(delimiter)] if "columns" in said else []
    return text, delimiter, said.get("html", "").lower() == "true", columns if "front" in columns else []


def from_markdown(text: str, user: User, taken: Taken) -> Iterator[Incoming]:
    """A card for each heading with a text under it: the heading in front, the text behind; where a rule (---) divides
    the text, what is over it is the front. A line "Tags: …" at the end is its tags."""
    fronts, left, of_questions = Fronts(user), Counter(), False
    for level, heading, body in headed(text.replace("\r\n", "\n")):
        of_questions = heading == MY_NOTES if level == 1 else of_questions
        if of_questions:
            left["notes"] += level > 1
            continue
        found = re.search(r"\n?^Tags:[ ]*(.*)\s*\Z", body, re.MULTILINE)
        tags = tags_of(found[1])[:20] if found else []
        body = (body[:found.start()] if found else body).strip()
        over, _, under = divided(body)
        front, back = (over, under) if over else (heading, body)
        if not over and not own.cloze_numbers(heading) and own.cloze_numbers(body):
            front, back = body, ""
        if not back and not own.cloze_numbers(front):
            left["titles"] += bool(heading)
            continue
        note = note_of(front, back, tags, fronts.guid(front))
        left["empty"] += note is None
        if note:
            yield note
    say_left(left, taken)


def divided(body: str) -> tuple[str, str, str]:
    found = DIVIDED.search(body)
    return (body[:found.start()].strip(), found[0], body[found.end():].strip()) if found else ("", "", body)


def headed(text: str) -> Iterator[tuple[int, str, str]]:
    """The headings of a text, each with its level and what stands under it, code left alone."""
    level, heading, body, fenced = 0, "", [], False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and (found := re.match(r"(#{1,6})\s+(.*?)\s*#*\s*$", line)):
            if heading or any(body):
                yield level, heading, "\n".join(body)
            level, heading, body = len(found[1]), found[2], []
        else:
            body.append(line)
    if heading or any(body):
        yield level, heading, "\n".join(body)


def say_left(left: Counter, taken: Taken) -> None:
    taken.left_out += [f"{left[name]:,} {one if left[name] == 1 else more}" for name, one, more in (
        ("bank", "row of a card of the bank’s own, which is here.", "rows of the bank’s own cards, which are here."),
        ("media", "picture or sound: cards here are words.", "pictures and sounds: cards here are words."),
        ("empty", "row without a front.", "rows without a front."),
        ("alone", "back: a card that has none comes in as it is.", "backs: cards that have none come in as they are."),
        ("titles", "heading with nothing under it.", "headings with nothing under them."),
        ("notes", "note on a question or a number, which is no card; an export of everything brings it along.",
         "notes on questions or numbers, which are no cards; an export of everything brings them along."),
    ) if left[name]]
