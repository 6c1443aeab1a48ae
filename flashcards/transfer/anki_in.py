"""Notes and their history out of a package of Anki's."""
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from accounts.models import User
from accounts.rows import BadExport, Taken
from flashcards.models import Direction
from flashcards.transfer import anki_out
from flashcards.transfer.anki_file import PLEASE_UPDATE, Collection, NoteType
from flashcards.transfer.anki_html import markdown_of
from flashcards.transfer.incoming import Clock, Incoming, Seen, Side
from questions import own
from questions.access import published
from questions.models import Note

MOST_NOTES = 200_000
MOST_OF_A_PART = 500_000  # cards, or answers, on AT_ONCE notes: a thousand on each
LONGEST_FIELD = 20_000
AT_ONCE = 500
BY_HAND = (4, 5)  # Anki's kinds of a row that is no answer: set by hand, moved by it
CRAMMED = 3
NEW, SUSPENDED = 0, -1
TOKEN = re.compile(r"\{\{([^{}]*)\}\}")
SECTION = re.compile(r"\{\{([#^])\s*([^{}]+?)\s*\}\}((?:(?!\{\{[#^]).)*?)\{\{/\s*\2\s*\}\}", re.DOTALL)
ANSWER_RULE = re.compile(r"<hr[^>]*id=[\"']?answer[\"']?[^>]*>", re.IGNORECASE)
FIRST, LAST = date(1990, 1, 1), date(2190, 1, 1)


def clock_of(collection: Collection, user: User) -> Clock:
    """The days by which its answers count: the person's zone, and the collection's own hour where it names one."""
    hour = collection.config.get("rollover")
    known = isinstance(hour, int) and 0 <= hour <= 23
    return Clock(user.profile.zone, time(hour) if known else user.profile.day_start)


def check_decoy(collection: Collection) -> None:
    """Refuse the empty collection that newer packages carry for older programs. Raises BadExport."""
    rows = collection.database.execute("SELECT flds FROM notes LIMIT 2").fetchall()
    if len(rows) == 1 and str(rows[0][0]).startswith(PLEASE_UPDATE):
        raise BadExport("This package holds only Anki’s note that asks to update. In Anki, export it again, or with "
                        "“Support older Anki versions”.")


def count_of(collection: Collection) -> int:
    """How many notes there are. Raises BadExport when they are too many."""
    [count] = collection.database.execute("SELECT count(*) FROM notes").fetchone()
    if count > MOST_NOTES:
        raise BadExport(f"This package holds {count:,} notes; up to {MOST_NOTES:,} are read.")
    return count


def notes_in(collection: Collection, user: User, clock: Clock, taken: Taken) -> Iterator[Incoming]:
    """Its notes, as a person's own; what is left out is said in `taken` once all are read."""
    left, ours = Counter(), guids_of_the_bank(user)
    begins = first_day(collection, clock)
    last = -1
    while rows := collection.database.execute(
        "SELECT id, substr(guid, 1, 91), mid, substr(tags, 1, 2000), substr(flds, 1, ?) FROM notes WHERE id > ?"
        " ORDER BY id LIMIT ?", (LONGEST_FIELD + 1, last, AT_ONCE)
    ).fetchall():
        last = rows[-1][0]
        sides = sides_of(collection, [row[0] for row in rows], begins, left)
        for key, guid, type_key, tags, fields in rows:
            if guid in ours:
                left["ours"] += 1
                continue
            note_type = collection.types.get(type_key)
            if note_type is None or not isinstance(fields, str) or not isinstance(guid, str) or not 0 < len(guid) <= 90:
                left["unreadable"] += 1
                continue
            if len(fields) > LONGEST_FIELD:
                left["long"] += 1
                continue
            held = dict(zip(note_type.fields, fields.split("\x1f"), strict=False))
            words = [tag[:60] for tag in str(tags).replace("\0", "").split()][:20]
            found = list(incoming(note_type, held, guid, words, sides.get(key, {}), left))
            left["empty"] += not found
            yield from found
    taken.left_out += [sentence for name, sentence in (
        ("media", "{} pictures or sounds: cards here are words."),
        ("ours", "{} notes of the bank, which is here: they keep the history that they have here."),
        ("by_hand", "{} rows of Anki’s log that hold no answer (a due day set by hand, a card moved)."),
        ("crammed", "{} answers given in a filtered deck that does not count."),
        ("empty", "{} notes without a word on them."),
        ("long", "{} notes longer than 20,000 characters."),
        ("unreadable", "{} notes whose type can’t be read."),
        ("odd", "{} answers with an instant or a grade that none can have."),
    ) if left[name] for sentence in [counted(left[name], sentence)]]


def counted(count: int, sentence: str) -> str:
    """The sentence with its count; of one, its first word's plural is a singular."""
    words = sentence.format(f"{count:,}")
    return re.sub(r"^(1 \w+?)s\b", r"\1", words) if count == 1 else words


def guids_of_the_bank(user: User) -> set[str]:
    """What the bank's questions and numbers are known by in a package made here."""
    return {anki_out.guid_of(item) for item in (*published(), *Note.objects.filter(owner=None))}


# The words

def incoming(
    note_type: NoteType, fields: Mapping[str, str], guid: str, tags: list[str], sides: Mapping[int, Side],
    left: Counter,
) -> Iterator[Incoming]:
    """A note as those of here: a cloze as one, a note asked both ways as one, else one for each of its cards."""
    if note_type.is_cloze:
        yield from cloze(note_type, fields, guid, tags, sides, left)
        return
    cards: list[tuple[int, str, str]] = []
    for at, (front, back) in enumerate(note_type.templates):
        if at not in sides:
            continue
        question = filled(front, fields)
        answer = ANSWER_RULE.split(filled(back, fields, front=""))[-1]
        (ask, missing), (told, more) = markdown_of(question), markdown_of(answer)
        left["media"] += missing + more
        if ask or told:
            cards.append((at, ask or told, told))
    if len(cards) == 2 and (cards[0][1], cards[0][2]) == (cards[1][2], cards[1][1]):
        (first, front, back), (second, _, _) = cards
        yield Incoming(guid, Note.Kind.BASIC, front, back, tags, reverse=True, sides=[
            placed(sides[first], Direction.FORWARD), placed(sides[second], Direction.REVERSE)])
        return
    for at, ask, told in cards:
        name = guid if at == 0 else f"{guid}~{at}"
        yield Incoming(name, Note.Kind.BASIC, ask, told, tags, sides=[placed(sides[at], Direction.FORWARD)])


def cloze(
    note_type: NoteType, fields: Mapping[str, str], guid: str, tags: list[str], sides: Mapping[int, Side],
    left: Counter,
) -> Iterator[Incoming]:
    """A cloze: the field with the gaps is its text, what else its back shows stands beside it."""
    name = next((name for name in note_type.fields if own.CLOZE.search(fields.get(name, ""))), "")
    if not name:
        return
    text, missing = markdown_of(fields[name])
    beside, more = markdown_of("<br>".join(
        value for other, value in fields.items() if other != name and value.strip()))
    left["media"] += missing + more
    if numbers := own.cloze_numbers(text):
        held = [placed(sides[number - 1] if number - 1 in sides else Side(""), f"c{number}") for number in numbers]
        yield Incoming(guid, Note.Kind.CLOZE, text, beside, tags, sides=held)


def placed(side: Side, direction: str) -> Side:
    side.direction = direction
    return side


def filled(template: str, fields: Mapping[str, str], front: str | None = None) -> str:
    """A template with a note's fields; `front` is what stands for the front side."""
    while True:
        template, times = SECTION.subn(
            lambda found: found[3] if bool(said(fields.get(found[2], ""))) == (found[1] == "#") else "", template)
        if not times:
            break

    def field(found: re.Match[str]) -> str:
        name = found[1].strip()
        if name == "FrontSide" and front is not None:
            return front
        name = name.rpartition(":")[2].strip()  # {{type:Front}}, {{hint:Back}}
        return fields.get(name, "")

    return TOKEN.sub(field, template)


def said(html: str) -> str:
    """Whether a field says anything."""
    return re.sub(r"<(?!img)[^>]*>|&nbsp;|\s", "", html)


# The history

def first_day(collection: Collection, clock: Clock) -> date:
    """The day that the collection counts from."""
    west = collection.config.get("creationOffset")
    told = isinstance(west, int) and abs(west) <= 14 * 60
    zone = timezone(timedelta(minutes=-west)) if told else ZoneInfo(clock.zone)
    try:
        began = datetime.fromtimestamp(collection.created, UTC).astimezone(zone)
    except (OverflowError, OSError, ValueError):
        raise BadExport("The collection in this package says no day on which it began.") from None
    return (began - timedelta(hours=clock.day_start.hour, minutes=clock.day_start.minute)).date()


def sides_of(
    collection: Collection, notes: Iterable[int], begins: date, left: Counter
) -> dict[int, dict[int, Side]]:
    """The cards of these notes, by note and place: where their schedule stands, and their answers."""
    marks = ",".join("?" * len(notes := list(notes)))
    for counting in (f"SELECT count(*) FROM cards WHERE nid IN ({marks})",
                     f"SELECT count(*) FROM revlog JOIN cards ON cards.id = revlog.cid WHERE cards.nid IN ({marks})"):
        [count] = collection.database.execute(counting, notes).fetchone()
        if count > MOST_OF_A_PART:
            raise BadExport("This package holds more cards or answers on a few notes than anybody gives.")
    found: dict[int, dict[int, Side]] = {}
    by_key: dict[int, Side] = {}
    for key, note, at, kind, queue, due, interval, original, deck, data in collection.database.execute(
        "SELECT id, nid, ord, type, queue, due, ivl, odue, odid, substr(data, 1, 10000) FROM cards"
        f" WHERE nid IN ({marks}) ORDER BY id", notes,
    ):
        side = Side("", suspended=queue == SUSPENDED)
        if kind != NEW:
            side.due_day = due_day(original if deck and original else due, begins)
            side.interval_days = interval if isinstance(interval, int) and 0 <= interval <= 36_500 else 0
            side.stability, side.difficulty = known(data)
        found.setdefault(note, {})[at] = side
        by_key[key] = side
    for card, at, ease, factor, kind in collection.database.execute(
        "SELECT revlog.cid, revlog.id, revlog.ease, revlog.factor, revlog.type FROM revlog"
        f" JOIN cards ON cards.id = revlog.cid WHERE cards.nid IN ({marks}) ORDER BY revlog.id", notes,
    ):
        if kind in BY_HAND or ease == 0:
            left["by_hand"] += 1
            if kind == BY_HAND[0] and factor == 0 and (instant := instant_of(at)):
                by_key[card].seen.append(Seen(instant, None))  # forgotten there: begun anew
        elif kind == CRAMMED and factor == 0:
            left["crammed"] += 1
        elif ease not in (1, 2, 3, 4) or (instant := instant_of(at)) is None:
            left["odd"] += 1
        else:
            by_key[card].seen.append(Seen(instant, ease))
    return found


def due_day(due: Any, begins: date) -> date | None:
    """The day a card is due: counted from the collection's first, or, inside learning steps, an instant's."""
    if not isinstance(due, int):
        return None
    try:
        day = datetime.fromtimestamp(due, UTC).date() if due > 1_000_000_000 else begins + timedelta(days=due)
    except (OverflowError, OSError, ValueError):
        return None
    return day if FIRST <= day <= LAST else None


def instant_of(milliseconds: Any) -> datetime | None:
    try:
        at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, OSError, ValueError, TypeError):
        return None
    return at if FIRST <= at.date() <= LAST else None


def known(data: Any) -> tuple[float | None, float | None]:
    """FSRS's stability and difficulty of a card, where its data say them."""
    try:
        held = json.loads(data)
        stability, difficulty = float(held["s"]), float(held["d"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None, None
    return (stability, difficulty) if 0 < stability < 36_500 * 10 and 1 <= difficulty <= 10 else (None, None)
