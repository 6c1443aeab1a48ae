"""A package for Anki: a deck a topic, notes of stable guids, and, if wanted, the person's schedule and answers."""
import json
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from hashlib import sha256
from html import escape
from io import BytesIO
from pathlib import Path
from zoneinfo import ZoneInfo

import genanki
from django.conf import settings

from accounts.models import Profile, User
from calculators.models.base import Refusal
from flashcards.models import Attempt, Card, Direction, Review, State
from flashcards.study_day import start_of, study_day
from questions import own
from questions.access import notes_for, published
from questions.export import key_of
from questions.figures import BadFigure
from questions.formulas import CUT, cut, in_tex_marks, is_whole
from questions.models import Note, Question
from questions.services import Posed, inline, pose, value_with_unit

CSS = """.card { max-width: 40em; margin: 1em auto; font: 18px/1.5 sans-serif; text-align: left; }
.card table { border-collapse: collapse; } .card td, .card th { padding: 0.2em 0.8em 0.2em 0; text-align: left; }
.card .num { text-align: right; } .small { color: #777; font-size: 80%; } .cloze { font-weight: bold; }"""
REST = "{{FrontSide}}<hr id=answer>"
QUESTION = genanki.Model(
    1_704_201_001, "drillapp question", css=CSS,
    fields=[{"name": name} for name in ("Title", "Ask", "Answer", "About")],
    templates=[{"name": "question", "qfmt": "<b>{{Title}}</b><br>{{Ask}}<p class=small>{{About}}</p>",
                "afmt": REST + "{{Answer}}"}])
NUMBER = genanki.Model(
    1_704_201_002, "drillapp number", css=CSS,
    fields=[{"name": name} for name in ("Ask", "Value", "Reverse", "From")],
    templates=[
        {"name": "meaning to number", "qfmt": "{{Ask}}", "afmt": REST + "<b>{{Value}}</b><p class=small>{{From}}</p>"},
        {"name": "number to meaning", "qfmt": "{{#Reverse}}{{Reverse}}{{/Reverse}}",
         "afmt": REST + "{{Ask}}<p class=small>{{From}}</p>"},
    ])
WORDS = genanki.Model(
    1_704_201_003, "drillapp own card", css=CSS,
    fields=[{"name": name} for name in ("Front", "Back", "Both ways")],
    templates=[
        {"name": "front to back", "qfmt": "{{Front}}", "afmt": REST + "{{Back}}"},
        {"name": "back to front", "qfmt": "{{#Both ways}}{{Back}}{{/Both ways}}", "afmt": REST + "{{Front}}"},
    ])
CLOZE = genanki.Model(
    1_704_201_004, "drillapp own cloze", css=CSS, model_type=genanki.Model.CLOZE,
    fields=[{"name": name} for name in ("Text", "Beside")],
    templates=[{"name": "cloze", "qfmt": "{{cloze:Text}}", "afmt": "{{cloze:Text}}<hr id=answer>{{Beside}}"}])
GAP_OR_BRACE = re.compile(rf"(?P<gap>{own.CLOZE.pattern})|\}}(?=\}})", own.CLOZE.flags)
OWN_DECK = "My cards"
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # no page shows them, and \x1f parts Anki's fields
EASE = 2500  # permille; Anki's first, which FSRS does not use
RELEARNT, REVIEWED, LEARNT = 2, 1, 0  # Anki's kinds of an answer

Place = tuple[str, int]  # a card in a package: its note's guid, and its ordinal there


def guid_of(item: Question | Note) -> str:
    """What the note is known by in every package, so that a second import adds nothing."""
    if isinstance(item, Question):
        return genanki.guid_for("drillapp", "question", item.slug)
    return key_of(item) if item.owner_id else genanki.guid_for("drillapp", "number", item.slug)


def without_schedule(user: User, now: datetime) -> bytes:
    """The package with all cards new."""
    return package(user, now, scheduled=False)


def with_schedule(user: User, now: datetime) -> bytes:
    """The package with the person's due days, intervals, FSRS's memory and every answer."""
    return package(user, now, scheduled=True)


def package(user: User, now: datetime, *, scheduled: bool) -> bytes:
    """The bytes of an .apkg file."""
    decks: dict[str, genanki.Deck] = {}
    for topic, note in notes_of(user):
        name = f"drillapp::{topic}"
        decks.setdefault(name, genanki.Deck(number_of(name), name)).add_note(note)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.apkg"
        genanki.Package(list(decks.values())).write_to_file(str(path), now.timestamp())
        with zipfile.ZipFile(path) as made:
            collection = Path(made.extract("collection.anki2", folder))
        database = sqlite3.connect(collection)
        with database:
            set_clock(database, user.profile, now, scheduled)
            if scheduled:
                write_schedule(database, user, now)
        database.close()
        out = BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.write(collection, "collection.anki2")
            packed.writestr("media", "{}")
        return out.getvalue()


def number_of(name: str) -> int:
    """The same number for a name each time, of the kind that Anki numbers decks by."""
    return 2**30 + int.from_bytes(sha256(name.encode()).digest()[:4], "big") % 2**30


def notes_of(user: User) -> Iterator[tuple[str, genanki.Note]]:
    """Each note with its deck: the questions and numbers of the bank by topic, and the person's own."""
    for question in published():
        try:
            fields = question_fields(pose(question))
        except (Refusal, BadFigure):
            continue  # an edit that no lab can follow; its own page says so
        yield question.topic.title, made(QUESTION, fields, question, [question.kind, question.level])
    for note in notes_for(user):
        deck = note.topic.title if note.topic else OWN_DECK
        match note.kind:
            case Note.Kind.CLOZE:
                yield deck, made(CLOZE, [cloze_html(note.front), html_of(note.back)], note, note.tags)
            case Note.Kind.BASIC:
                sides = [html_of(note.front), html_of(note.back), "yes" if note.reverse else ""]
                yield deck, made(WORDS, sides, note, note.tags)
            case _:
                value = escape(value_with_unit(note))
                reverse = f"<b>{value}</b> {inline(note.cue)}" if note.reverse else ""
                words = html_of if note.owner_id else inline
                fields = [words(note.front or note.ask), value, reverse, words(note.origin)]
                yield deck, made(NUMBER, list(map(at_home, fields)), note, note.tags)


def made(model: genanki.Model, fields: list[str], item: Question | Note, tags: list[str]) -> genanki.Note:
    held = [re.sub(r"[\s\"]+", "_", CONTROL.sub("", tag)) for tag in tags]
    # "[sound:" would be a file to play
    first, *rest = (CONTROL.sub("", str(one)).replace("[sound:", "&#91;sound:") for one in fields)
    note = genanki.Note(model=model, fields=[first or " ", *rest], guid=guid_of(item), tags=held)
    if model is CLOZE:  # genanki overlooks a gap in a gap
        note.cards = [genanki.Card(number - 1) for number in own.cloze_numbers(item.front)]
    return note


def html_of(text: str) -> str:
    """A side of an own card as safe HTML, its formulas in the marks that Anki knows."""
    return own.html_with(text, lambda formula: escape(in_tex_marks(formula), quote=False))


def cloze_html(text: str) -> str:
    """A text with gaps as safe HTML that still has them: each gap's Markdown is left as it is, escaped."""
    bare, formulas = cut(text)
    bare = bare.replace("\ue006", "").replace("\ue007", "")
    written = [apart(in_tex_marks(one)) if is_whole(one) else one.written for one in formulas]
    text = CUT.sub(lambda sign: written[int(sign[1])], bare)
    kept: list[str] = []

    def cut_gap(match: re.Match[str]) -> str:
        kept.append(f"{{{{c{match[1]}::{match[2]}{f'::{match[3]}' if match[3] else ''}}}}}")
        return f"\ue006{len(kept) - 1}\ue007"

    while own.CLOZE.search(text):
        text = own.CLOZE.sub(cut_gap, text)
    html = html_of(text)
    while "\ue006" in html:
        html = re.sub("\ue006(\\d+)\ue007", lambda found: escape(kept[int(found[1])], quote=False), html)
    return html


def apart(tex: str) -> str:
    """A formula with a space between braces that close: in Anki two of them end a gap."""
    return GAP_OR_BRACE.sub(lambda found: found[0] if found["gap"] else "} ", tex)


def question_fields(posed: Posed) -> list[str]:
    """Title, ask, answer and what it is about, as HTML without a link that only the site could follow."""
    parts = [("Said aloud", posed.said_aloud_html), ("How it comes about", "".join(map(derived, posed.derivation))),
             ("The catch", posed.catch_html), ("What I would measure", posed.measure_html)]
    rubric = "".join(f"<li>{point['html']}</li>" for point in posed.rubric)
    answer = "".join(f"<h4>{name}</h4>{html}" for name, html in parts if html)
    question = posed.question
    about = f"{question.kind}, {question.level}, {question.minutes} min"
    answer = f"{answer}<h4>Rubric</h4><ul>{rubric}</ul>"
    return [escape(question.title), at_home(posed.ask_html), at_home(answer), about]


def derived(piece: str | tuple) -> str:
    """A piece of a derivation as HTML."""
    if isinstance(piece, str):
        return piece
    rows = (
        f"<tr><td>{escape(line.label)}</td><td>{escape(line.expression)}{' =' if line.expression else ''}</td>"
        f"<td class=num>{escape(line.figure)}</td><td>{escape(line.unit)}</td></tr>" for line in piece)
    return f"<table>{''.join(rows)}</table>"


def at_home(html: str) -> str:
    """The same HTML with links of the site whole, and without those to a place on its page."""
    html = re.sub(r"<sup><a class=\"source-mark\".*?</a></sup>", "", html)
    return re.sub(r'href="/(?!/)', f'href="{settings.SITE_URL}/', html)


# The schedule

def set_clock(database: sqlite3.Connection, profile: Profile, now: datetime, scheduled: bool) -> None:
    """Let the collection's days be the person's: they start when theirs do, on the clock of their zone."""
    first = first_day(profile.user, study_day(now, profile.zone, profile.day_start)) if scheduled else (
        study_day(now, profile.zone, profile.day_start))
    began = start_of(first, profile.zone, profile.day_start)
    west = -int(began.astimezone(ZoneInfo(profile.zone)).utcoffset().total_seconds() // 60)
    here = -int(now.astimezone(ZoneInfo(profile.zone)).utcoffset().total_seconds() // 60)
    [held] = database.execute("SELECT conf FROM col").fetchone()
    conf = json.loads(held) | {
        "rollover": profile.day_start.hour, "creationOffset": west, "localOffset": here, "schedVer": 2, "fsrs": True}
    database.execute("UPDATE col SET crt = ?, conf = ?", (int(began.timestamp()), json.dumps(conf)))


def first_day(user: User, today: date) -> date:
    """The day that the collection counts from: none of the person's cards is due before it."""
    due = Card.objects.filter(user=user, due_day__isnull=False).order_by("due_day").values_list("due_day", flat=True)
    return min(due.first() or today, today)


def place_of(card: Card) -> Place:
    """Where in a package a card stands."""
    gap = card.direction not in Direction.values
    return guid_of(card.item), int(card.direction[1:]) - 1 if gap else int(card.direction == Direction.REVERSE)


def places(user: User) -> Iterator[tuple[Place, Card]]:
    """Where in the package each card begun stands."""
    begun = Card.objects.filter(user=user).exclude(state=State.NEW).select_related("question", "note")
    for card in begun:
        yield place_of(card), card


def write_schedule(database: sqlite3.Connection, user: User, now: datetime) -> None:
    """Give the package's cards the due days, the memory and the answers of the person's."""
    profile = user.profile
    first = first_day(user, study_day(now, profile.zone, profile.day_start))
    keys = {(guid, ordinal): key for guid, ordinal, key in database.execute(
        "SELECT notes.guid, cards.ord, cards.id FROM cards JOIN notes ON notes.id = cards.nid")}
    held = {keys[place]: card for place, card in places(user) if place in keys}
    for key, card in held.items():
        due = card.due_day or study_day(card.due_at, profile.zone, profile.day_start)
        known = {"s": round(card.stability, 4), "d": round(card.difficulty, 3), "dr": profile.desired_retention,
                 "lrt": int(card.last_at.timestamp())}
        database.execute(
            "UPDATE cards SET type = 2, queue = ?, due = ?, ivl = ?, factor = ?, reps = ?, lapses = ?, data = ?"
            " WHERE id = ?",
            (-1 if card.suspended else 2, (due - first).days, max((due - card.last_day).days, 1), EASE, card.answers,
             card.lapses, json.dumps(known), key))
    out_of_drill = Card.objects.filter(user=user, state=State.NEW, suspended=True).select_related("question", "note")
    for card in out_of_drill:
        if (key := keys.get(place_of(card))) is not None:
            database.execute("UPDATE cards SET queue = -1 WHERE id = ?", (key,))
    write_answers(database, user, {card.pk: key for key, card in held.items()})


def write_answers(database: sqlite3.Connection, user: User, keys: Mapping[int, int]) -> None:
    """Every answer that stands, as what it counts as now; an answer's key is its instant, so two never share one."""
    took = dict(Attempt.objects.filter(card__user=user, kind=Attempt.Kind.GRADE).values_list("pk", "seconds"))
    answered = Review.objects.filter(card__user=user).answers().order_by("at", "pk")
    last_interval: dict[int, int] = {}
    taken = 0
    for row in answered.values(
            "card", "at", "rated", "was", "study_day", "due_day", "difficulty", "attempt"):
        if (key := keys.get(row["card"])) is None:
            continue
        taken = max(round(row["at"].timestamp() * 1000), taken + 1)
        interval = max((row["due_day"] - row["study_day"]).days, 1) if row["due_day"] else -600
        factor = round((row["difficulty"] - 1) / 9 * 1000) + 100 if row["difficulty"] else 0
        kind = {State.REVIEW: REVIEWED, State.RELEARNING: RELEARNT}.get(row["was"], LEARNT)
        database.execute(
            "INSERT INTO revlog VALUES (?, ?, -1, ?, ?, ?, ?, ?, ?)",
            (taken, key, row["rated"], interval, last_interval.get(key, 0), factor,
             min(took.get(row["attempt"], 0), 600) * 1000, kind))
        last_interval[key] = interval
