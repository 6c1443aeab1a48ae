"""The package for Anki: what lies in it, and what Anki makes of it, where ANKI_PYTHON names an interpreter with it."""
import json
import os
import re
import sqlite3
import subprocess
import tempfile
import zipfile
from datetime import date, datetime, timedelta
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from accounts.rows import Taken
from flashcards import own_cards, services
from flashcards.models import Card, Rating, Review
from flashcards.own_desk import sides_of
from flashcards.own_forms import FORMS
from flashcards.study_day import study_day
from flashcards.transfer import anki_out, incoming, reading
from questions import own
from questions.models import Note
from tests.flashcards.conftest import NOON, write_questions
from tests.flashcards.test_numbers import write_notes

DAY = timedelta(days=1)
JOINED = "FROM cards c JOIN notes n ON n.id = c.nid"
SIDE = Path(__file__).with_name("anki_side.py")
OWN = (
    ("basic", {"front": "What is **prefill** < decode?", "back": "All `prompt` tokens", "reverse": "on"}),
    ("cloze", {"front": "Blocks hold {{c1::16 < 32::how many}} tokens of {{c3::**one**}} layer", "back": "vLLM"}),
    ("number", {"front": "Layers of an 8B", "value": "32", "tolerance": "0", "back": "config.json"}),
)


def live(user: User, now: datetime) -> None:
    """A bank of two questions and two numbers, three own cards, and answers of the last weeks."""
    write_questions(2)
    write_notes(2)
    Note.objects.filter(slug="n2").update(reverse=False, cue="")
    for kind, typed in OWN:
        form = FORMS[kind](typed)
        assert form.is_valid(), form.errors
        own_cards.save(user, form.note_fields(), now)
    services.ensure_cards(user)
    for at, card in enumerate(Card.objects.filter(user=user).order_by("pk")[:7]):
        for ago, rating in ((30, Rating.HARD), (21, Rating.AGAIN), (20, Rating.GOOD), (9, Rating.EASY)):
            card.refresh_from_db()
            services.answer_card(card, rating, ordinal=card.next_ordinal, now=now - ago * DAY + timedelta(minutes=at))
    card.refresh_from_db()
    services.set_suspended(card, True, ordinal=card.next_ordinal, now=now)


def inside(package: bytes) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    with zipfile.ZipFile(BytesIO(package)) as files:
        assert sorted(files.namelist()) == ["collection.anki2", "media"]
        database.deserialize(files.read("collection.anki2"))
    return database


def test_every_note_is_there_with_a_card_for_each_side(ada: User) -> None:
    live(ada, NOON)
    database = inside(anki_out.without_schedule(ada, NOON))
    cards = dict(database.execute(f"SELECT n.guid, group_concat(c.ord) {JOINED} GROUP BY 1"))
    assert sorted(cards.values()) == ["0", "0", "0", "0", "0,1", "0,1", "0,2"]
    assert database.execute("SELECT count(*) FROM cards WHERE type != 0 OR queue != 0").fetchone() == (0,)
    assert database.execute("SELECT count(*) FROM revlog").fetchone() == (0,)
    decks = json.loads(database.execute("SELECT decks FROM col").fetchone()[0])
    assert {deck["name"] for deck in decks.values()} == {
        "Default", "drillapp::Scheduling", "drillapp::KV cache", "drillapp::My cards"}


def test_guids_and_decks_are_the_same_every_time_and_for_everyone(ada: User, eve: User) -> None:
    write_questions(2)
    write_notes(2)
    held = [
        set(inside(anki_out.without_schedule(user, now)).execute(f"SELECT n.guid, c.did {JOINED}"))
        for user, now in ((ada, NOON), (ada, NOON + DAY), (eve, NOON))
    ]
    assert held[0] == held[1] == held[2]
    assert len(held[0]) == 4


def test_the_schedule_is_the_persons(ada: User) -> None:
    live(ada, NOON)
    database = inside(anki_out.with_schedule(ada, NOON))
    [began] = database.execute("SELECT crt FROM col").fetchone()
    first = datetime.fromtimestamp(began, tz=NOON.tzinfo).date()
    found = {
        (guid, at): (first + due * DAY, interval, reps, lapses, json.loads(data))
        for guid, at, due, interval, reps, lapses, data in database.execute(
            f"SELECT n.guid, c.ord, c.due, c.ivl, c.reps, c.lapses, c.data {JOINED} WHERE c.type = 2")
    }
    for card in Card.objects.filter(user=ada, answers__gt=0).select_related("question", "note"):
        due, interval, reps, lapses, data = found.pop(anki_out.place_of(card))
        assert (due, interval, reps, lapses) == (
            card.due_day, (card.due_day - card.last_day).days, card.answers, card.lapses)
        assert data["s"] == pytest.approx(card.stability, abs=1e-4)
        assert data["d"] == pytest.approx(card.difficulty, abs=1e-3)
    assert found == {}
    assert database.execute("SELECT count(*), count(DISTINCT id) FROM revlog").fetchone() == (28, 28)
    assert database.execute("SELECT count(*) FROM cards WHERE queue = -1").fetchone() == (1,)


def test_a_changed_grade_is_what_it_counts_as_and_a_removed_one_is_gone(card: Card, ada: User) -> None:
    services.answer_card(card, Rating.AGAIN, ordinal=1, now=NOON)
    card.refresh_from_db()
    services.answer_card(card, Rating.GOOD, ordinal=2, now=NOON + DAY)
    first, second = Review.objects.order_by("pk")
    card.refresh_from_db()
    services.amend(card, first.pk, Rating.EASY, ordinal=3, now=NOON + 2 * DAY)
    card.refresh_from_db()
    services.remove(card, second.pk, ordinal=4, now=NOON + 2 * DAY)
    assert inside(anki_out.with_schedule(ada, NOON + 2 * DAY)).execute("SELECT ease FROM revlog").fetchall() == [(4,)]


def test_nothing_of_anybody_elses_is_in_it(ada: User, eve: User) -> None:
    live(ada, NOON)
    database = inside(anki_out.with_schedule(eve, NOON))
    assert database.execute("SELECT count(*) FROM notes").fetchone() == (4,)
    assert database.execute("SELECT count(*) FROM revlog").fetchone() == (0,)


def test_gaps_survive_as_html(ada: User) -> None:
    assert anki_out.cloze_html("Say {{c1::a < b::h}} and {{c2::x {{c3::y}}}} **now**") == (
        "<p>Say {{c1::a &lt; b::h}} and {{c2::x {{c3::y}}}} <strong>now</strong></p>")


def test_own_cards_go_round(ada: User, eve: User) -> None:
    """Out as a package and in again, by another person, whose cards then have the same due days and answers."""
    live(ada, NOON)
    taken = Taken()
    with reading.read(anki_out.with_schedule(ada, NOON), "x.apkg", eve, taken) as found:
        list(incoming.put(eve, found.notes, found.clock, NOON, taken))
    assert taken.new["notes"] == 3
    mine = {note.guid: note for note in Note.objects.filter(owner=ada)}
    for note in Note.objects.filter(owner=eve):
        assert note.guid in mine
    assert sorted(Review.objects.filter(card__user=eve).values_list("study_day", "rating")) == sorted(
        Review.objects.filter(card__user=ada, card__note__owner=ada, kind="answer").values_list("study_day", "rating"))


# What Anki makes of it

needs_anki = pytest.mark.skipif(not os.environ.get("ANKI_PYTHON"), reason="ANKI_PYTHON names no interpreter with Anki")


def anki(*arguments: str) -> Any:
    run = subprocess.run(
        [os.environ["ANKI_PYTHON"], str(SIDE), *arguments], capture_output=True, text=True, check=True, timeout=120,
        env={"PATH": os.environ["PATH"], "TZ": "UTC"})
    return json.loads(run.stdout)


@needs_anki
@pytest.mark.anki
def test_anki_takes_it_with_the_right_notes_and_days_and_once(ada: User, tmp_path: Path) -> None:
    now = timezone.now()
    live(ada, now)
    (tmp_path / "out.apkg").write_bytes(anki_out.with_schedule(ada, now))
    told = anki("bring_in", str(tmp_path / "out.apkg"))
    assert told["imports"] == [
        {"new": 7, "duplicate": 0, "found": 7, "conflicting": 0, "updated": 0},
        {"new": 0, "duplicate": 7, "found": 7, "conflicting": 0, "updated": 0},
    ]
    assert told["integrity"]
    today = study_day(now, "UTC", ada.profile.day_start)
    there = {(card["guid"], card["ord"]): card for card in told["cards"]}
    assert len(there) == 10
    for card in Card.objects.filter(user=ada).select_related("question", "note"):
        found = there[anki_out.place_of(card)]
        assert found["in_days"] == (card.due_day and (card.due_day - today).days)
        assert (found["queue"] == -1, found["reps"], found["lapses"]) == (card.suspended, card.answers, card.lapses)
        assert found["log"] == [2, 1, 3, 4] * bool(card.answers)
        if card.stability:
            assert found["stability"] == pytest.approx(card.stability, rel=1e-3)
            assert found["difficulty"] == pytest.approx(card.difficulty, abs=0.01)
    gap = next(card for card in told["cards"] if "[how many]" in card["question"])
    assert "16 &lt; 32" in gap["answer"]
    assert "<strong>one</strong>" in gap["answer"] or "**one**" in gap["answer"]


ODD = {  # front: back
    "<b>not bold</b> & <script>alert(1)</script> &lt;": "</div>{{Front}} {{#Back}} <!-- no -->",
    "bell \x07, escape \x1b, unit \x1f, record \x1e, vertical \x0b, delete \x7f": "next \x85, line \u2028, zero \u200b",
    "emoji 🧮👩🏽‍🔬🇩🇪": "שלום مرحبا 日本語",
    "nothing behind": "",
    "long": "0123456789abcde " * 4_096,  # 64 KiB
    "\\(a_1 * b_2 * c < d\\)": "[[not.a|figure]] [^none] [sound:no.mp3]",
    "{{c1::a {{c2::b } c}} }} and {{c3::{x}}} tail": "beside",
    "{{c1::}}{{c2::x::}} empty": "",
    r"\(x < {{c1::y^2::h}}\), {{c2::$z_1$}} and $5": "$$\nz\n$$ or $6",
}


def text_of(html: str) -> str:
    """What a page shows, without white space, the signs that no page shows, and stars and braces that mark nothing."""
    bare = unescape(re.sub(r"<style>.*?</style>|<[^>]*>", "", html, flags=re.DOTALL)).replace("…", "...")
    return re.sub(r"[\s*{}\x00-\x1f\x7f]", "", bare)


@needs_anki
@pytest.mark.anki
def test_odd_cards_say_in_anki_what_they_say_here(ada: User, tmp_path: Path) -> None:
    for front, back in ODD.items():
        kind = Note.Kind.CLOZE if own.cloze_numbers(front) else Note.Kind.BASIC
        own_cards.save(ada, own_cards.fields_of_words(kind, front, back, ["odd::tag"]), NOON)
    (tmp_path / "out.apkg").write_bytes(anki_out.with_schedule(ada, NOON))
    told = anki("bring_in", str(tmp_path / "out.apkg"))
    assert told["integrity"], told["what"]
    there = {(card["guid"], card["ord"]): card for card in told["cards"]}
    cards = Card.objects.filter(user=ada).select_related("note")
    assert len(there) == len(cards)
    for card in cards:
        found = there[anki_out.place_of(card)]
        front, back = (text_of(anki_out.html_of(side)) for side in sides_of(card))
        assert text_of(found["question"]) == front
        assert text_of(found["answer"]) == (back if card.note.kind == Note.Kind.CLOZE else front + back)


@needs_anki
@pytest.mark.anki
@pytest.mark.parametrize("form", ["legacy", "newer"])
def test_one_written_by_anki_comes_in_with_its_history(ada: User, form: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.apkg"
        told = anki("make", str(path), form)
        taken = Taken()
        with reading.read(path.read_bytes(), path.name, ada, taken) as found:
            list(incoming.put(ada, found.notes, found.clock, timezone.now(), taken))
    assert taken.new == {"notes": 5, "cards": 7, "reviews": 30}
    today: date = study_day(timezone.now(), "UTC", found.clock.day_start)
    begun = Card.objects.filter(user=ada, due_day__isnull=False)
    assert sorted((card.due_day - today).days for card in begun) == sorted(told["in_days"].values())
    assert {note.guid for note in Note.objects.filter(owner=ada)} == set(told["guids"].values())
