"""Packages of Anki's, brought in: both forms as Anki 26.09 wrote them, and what no program should have written.

tests/golden/anki holds one collection exported twice on 29 November 2026 by `anki_side.py make`, with support for older
versions and without: five notes, of which six cards were answered five times each and one has never been.
"""
import io
import json
import sqlite3
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest
import zstandard

from accounts.models import User
from accounts.rows import BadExport, Taken
from flashcards import services
from flashcards.models import Card, Review, State
from flashcards.transfer import anki_file, anki_in, anki_out, incoming, reading
from flashcards.transfer.anki_html import markdown_of
from questions.models import Note
from tests.drillapp.commands import ROOT
from tests.flashcards.conftest import NOON, write_questions
from tests.flashcards.test_numbers import write_notes

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "anki"
BOTH = pytest.mark.parametrize("name", ["legacy.apkg", "newer.apkg"])
MADE = date(2026, 11, 29)
DAY = timedelta(days=1)


def bring(user: User, body: bytes, name: str = "x.apkg") -> Taken:
    taken = Taken()
    with reading.read(body, name, user, taken) as found:
        list(incoming.put(user, found.notes, found.clock, NOON, taken))
    return taken


def repacked(name: str, change: Callable[[dict[str, bytes]], None]) -> bytes:
    with zipfile.ZipFile(GOLDEN / name) as package:
        files = {item: package.read(item) for item in package.namelist()}
    change(files)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for item, body in files.items():
            package.writestr(item, body)
    return out.getvalue()


def with_sql(statements: str) -> bytes:
    """The older form of the package, its collection changed."""
    def change(files: dict[str, bytes]) -> None:
        database = sqlite3.connect(":memory:")
        database.deserialize(files["collection.anki21"])
        database.executescript(statements)
        files["collection.anki21"] = database.serialize()

    return repacked("legacy.apkg", change)


# What Anki wrote

@BOTH
def test_notes_come_in_with_their_history_and_their_days(ada: User, name: str) -> None:
    taken = bring(ada, (GOLDEN / name).read_bytes())
    assert taken.new == {"notes": 5, "cards": 7, "reviews": 30}
    assert {note.ask: (note.kind, note.reverse) for note in Note.objects.filter(owner=ada)} == {
        "What is prefill? In a line.": ("basic", False), "KV": ("basic", True), "put aside": ("basic", False),
        "Blocks hold 16 tokens of one layer": ("cloze", False), "never begun": ("basic", False),
    }
    stands = {(card.note.ask, card.direction): card for card in ada.cards.select_related("note")}
    due = [stands[key].due_day for key in (
        ("What is prefill? In a line.", "forward"), ("KV", "forward"), ("KV", "reverse"),
        ("Blocks hold 16 tokens of one layer", "c1"), ("Blocks hold 16 tokens of one layer", "c2"))]
    assert due == [MADE + ahead * DAY for ahead in range(5)]  # as Anki had set them
    assert {card.answers for key, card in stands.items() if key[0] != "never begun"} == {5}
    assert stands["put aside", "forward"].suspended
    assert (stands["never begun", "forward"].state, stands["never begun", "forward"].log_length) == (State.NEW, 0)
    ratings = list(stands["KV", "forward"].reviews.order_by("ordinal").values_list("kind", "rating"))
    assert ratings == [("import", rating) for rating in (1, 3, 3, 2, 4)]
    days = list(stands["KV", "forward"].reviews.order_by("ordinal").values_list("study_day", flat=True))
    assert days == [MADE - ago * DAY for ago in (30, 30, 28, 20, 8)]


@BOTH
def test_state_is_what_the_log_replays_to(ada: User, name: str) -> None:
    bring(ada, (GOLDEN / name).read_bytes())
    assert {services.rebuild_card(card, write=False) for card in ada.cards.all()} == {""}


@BOTH
def test_the_same_package_again_adds_nothing(ada: User, name: str) -> None:
    body = (GOLDEN / name).read_bytes()
    bring(ada, body)
    before = (Note.objects.count(), Card.objects.count(), Review.objects.count())
    taken = bring(ada, body)
    assert (taken.new, taken.known) == ({}, {"notes": 5})
    assert (Note.objects.count(), Card.objects.count(), Review.objects.count()) == before


@BOTH
def test_what_is_left_out_is_said(ada: User, name: str) -> None:
    assert bring(ada, (GOLDEN / name).read_bytes()).left_out == [
        "4 pictures or sounds: cards here are words.",  # one of each, behind one card and in front of the other
        "1 row of Anki’s log that hold no answer (a due day set by hand, a card moved).",
    ]


def test_what_came_along_is_no_action_to_take_back(ada: User) -> None:
    bring(ada, (GOLDEN / "legacy.apkg").read_bytes())
    assert services.last_action(ada).kind == Review.Kind.SUSPEND
    services.undo(ada, services.last_action(ada).pk, now=NOON)
    assert services.last_action(ada) is None


def test_the_words_are_markdown(ada: User) -> None:
    bring(ada, (GOLDEN / "legacy.apkg").read_bytes())
    note = Note.objects.get(ask__startswith="What is")
    assert (note.front, note.back) == (
        "What is **prefill**?\\\nIn a line.", "All prompt tokens at once & *compute-bound*")
    assert note.tags == ["kv::cache", "vllm"]


# Other courses of a history

def test_a_card_that_was_forgotten_is_new_again(ada: User) -> None:
    bring(ada, with_sql("UPDATE cards SET type = 0, queue = 0, due = 5 WHERE ord = 1"))
    card = ada.cards.get(direction="reverse")
    assert (card.state, card.stability, card.answers, card.log_length) == (State.NEW, None, 5, 6)
    assert services.rebuild_card(card, write=False) == ""


def test_forgetting_in_the_midst_begins_anew_there(ada: User) -> None:
    bring(ada, with_sql("""
        INSERT INTO revlog SELECT max(id) - 1000 * 86400 * 8 + 500, cid, -1, 0, 0, 0, 0, 0, 4 FROM revlog
        WHERE cid = (SELECT id FROM cards ORDER BY id LIMIT 1)"""))
    kinds = list(ada.cards.get(note__ask__startswith="What").reviews.order_by("ordinal").values_list("kind", flat=True))
    assert kinds.count("reset") == 1
    assert kinds[-1] == "import"


def test_a_schedule_without_answers_brings_its_memory_where_it_says_one(ada: User) -> None:
    data = json.dumps({"s": 12.5, "d": 4.25, "dr": 0.9})
    bring(ada, with_sql(f"DELETE FROM revlog; UPDATE cards SET data = '{data}' WHERE ord = 1;"
                        " UPDATE cards SET data = '' WHERE ord = 0"))
    known = ada.cards.get(direction="reverse")
    assert (known.state, known.stability, known.difficulty, known.answers) == (State.REVIEW, 12.5, 4.25, 0)
    assert known.due_day == MADE + 2 * DAY
    assert services.rebuild_card(known, write=False) == ""
    assert ada.cards.get(note__ask="KV", direction="forward").state == State.NEW


def test_days_are_those_of_the_collections_own_hour(ada: User) -> None:
    """An answer at 05:00 UTC belongs to the day before where days start at 6."""
    at = 1_795_928_400_000  # 2026-11-29 05:00 UTC
    for hour, day in ((4, date(2026, 11, 29)), (6, date(2026, 11, 28))):
        bring(ada, with_sql(f"""
            UPDATE col SET conf = json_set(conf, '$.rollover', {hour}); UPDATE notes SET guid = guid || {hour};
            DELETE FROM revlog; INSERT INTO revlog SELECT {at}, id, -1, 3, 8, 2, 2500, 4000, 0 FROM cards LIMIT 1"""))
        assert Review.objects.filter(kind="import").latest("pk").study_day == day


def test_two_templates_that_are_no_mirror_are_two_cards(ada: User) -> None:
    """The second template of the older form asks something else."""
    body = with_sql("UPDATE notes SET flds = 'KV' || char(31) || 'key and value' WHERE flds LIKE 'KV%'")
    assert bring(ada, body).new["cards"] == 7
    turned = with_sql("""UPDATE notes SET guid = guid || 'x';
        UPDATE col SET models = replace(models, '"qfmt":"{{Back}}"', '"qfmt":"Say it: {{Back}}"')""")
    taken = bring(ada, turned)
    assert taken.new["notes"] == 6
    assert Note.objects.filter(front__startswith="Say it: key", guid__endswith="x~1").exists()


def test_our_own_package_comes_home_and_adds_nothing_of_the_bank(ada: User, eve: User) -> None:
    write_questions(2)
    write_notes(2)
    taken = bring(eve, anki_out.with_schedule(ada, NOON))
    assert taken.new == {}
    assert taken.left_out == ["4 notes of the bank, which is here: they keep the history that they have here."]


# What no program should have written

PLEASE = f"{anki_file.PLEASE_UPDATE}, then import the .colpkg/.apkg file again."


def only_decoy(files: dict[str, bytes]) -> None:
    del files["collection.anki21b"]


def no_collection(files: dict[str, bytes]) -> None:
    for name in list(files):
        if name.startswith("collection"):
            del files[name]


def later_form(files: dict[str, bytes]) -> None:
    files["meta"] = b"\x08\x09"


def not_packed(files: dict[str, bytes]) -> None:
    files["collection.anki21b"] = b"not zstd at all"


def no_database(files: dict[str, bytes]) -> None:
    files["collection.anki21b"] = zstandard.compress(b"SQLite format 3\0" + b"\xff" * 5000)


def bomb(files: dict[str, bytes]) -> None:
    files["collection.anki21b"] = zstandard.compress(b"\0" * 5_000_000)


@pytest.mark.parametrize(("change", "words"), [
    (only_decoy, "asks to update"), (no_collection, "There is no collection"), (later_form, "a later form"),
    (not_packed, "is damaged"), (no_database, "is damaged"), (bomb, "larger than 1 GiB"),
])
def test_a_package_that_can_not_be_read_says_so(
    ada: User, change: Callable, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anki_file, "MOST_BYTES", 2**20)
    with pytest.raises(BadExport, match=words):
        bring(ada, repacked("newer.apkg", change))
    assert not Note.objects.exists()


@pytest.mark.parametrize(("sql", "words"), [
    ("UPDATE col SET ver = 19", "schema 19"),
    ("UPDATE col SET models = '{'", "note types"),
    ("UPDATE col SET models = '[]'", "note types"),
    ("UPDATE col SET models = '{\"1\": {\"name\": 5}}'", "note types"),
    ("DELETE FROM col", "none of Anki’s"),
    ("DROP TABLE revlog", "none of Anki’s"),
    ("ALTER TABLE notes RENAME TO n; CREATE VIEW notes AS SELECT * FROM n", "none of Anki’s"),
    ("UPDATE col SET crt = 99999999999999", "no day"),
])
def test_a_collection_that_is_none_says_so(ada: User, sql: str, words: str) -> None:
    with pytest.raises(BadExport, match=words):
        bring(ada, with_sql(sql))


@pytest.mark.parametrize("sql", [
    "UPDATE cards SET due = 99999999999999999", "UPDATE cards SET due = 'x', ivl = 'y', data = '{'",
    "UPDATE cards SET data = '[1]'", "UPDATE revlog SET id = id + 1000000000000000", "UPDATE revlog SET ease = 9",
    "UPDATE notes SET flds = ''", "UPDATE notes SET mid = 7", "UPDATE notes SET flds = x'ff00'",
    "UPDATE notes SET tags = char(0) || 'a'", "UPDATE notes SET guid = ''", "DELETE FROM cards",
    "UPDATE notes SET flds = '{{c1::' || replace(hex(zeroblob(500)), '00', '{{c2::') ",
    "UPDATE notes SET flds = replace(hex(zeroblob(500)), '00', '<b><ul><li>') || char(31) || '</i></div>'",
    "UPDATE col SET conf = '{\"rollover\": 99, \"creationOffset\": 99999}'",
])
def test_odd_matter_in_a_collection_breaks_nothing(ada: User, sql: str) -> None:
    bring(ada, with_sql(sql))
    assert {services.rebuild_card(card, write=False) for card in ada.cards.all()} <= {""}


@pytest.mark.parametrize("body", [b"PK", b"PK\x03\x04" + b"\0" * 100, b"PK\x05\x06" + b"\0" * 18])
def test_half_an_archive_is_no_package(ada: User, body: bytes) -> None:
    with pytest.raises(BadExport):
        bring(ada, body)


# What would fill memory or disk

OPENED = """
import resource, sys
from accounts.rows import BadExport
from flashcards.transfer import anki_file
anki_file.MOST_BYTES = 2**25
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    with anki_file.opened(sys.stdin.buffer.read()) as collection:
        for row in collection.database.execute("SELECT flds FROM notes"):
            pass
except BadExport as fault:
    print(fault)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def opened_apart(body: bytes) -> tuple[str, int]:
    """Why a package is refused by a process of its own, and by how many MiB that grew; a collection may be 32 MiB."""
    done = subprocess.run([sys.executable, "-c", OPENED], input=body, capture_output=True, cwd=ROOT, check=True)
    *words, grown = done.stdout.decode().splitlines()
    return " ".join(words), int(grown)


def zstd_of_zeros(gib: int) -> bytes:
    """A frame of nothing but blocks of 128 KiB that each say one byte once: RFC 8878, 3.1.1.2."""
    block = (2**17 << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    last = (1 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"
    return b"\x28\xb5\x2f\xfd\x00\x38" + block * (gib * 2**13) + last


def packed(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, body in files.items():
            package.writestr(name.replace("_", "."), body)
    return out.getvalue()


def test_a_package_of_kilobytes_that_says_ten_gibibytes_is_refused_in_little_memory() -> None:
    body = packed(collection_anki21b=zstd_of_zeros(10))
    assert len(body) < 20_000
    words, grown = opened_apart(body)
    assert "larger than 1 GiB" in words
    assert grown < 64


def test_a_package_that_unpacks_to_too_much_by_the_zip_itself_is_refused_in_little_memory() -> None:
    words, grown = opened_apart(packed(collection_anki21=bytes(2**28)))
    assert "larger than 1 GiB" in words
    assert grown < 64


def test_a_package_in_a_package_is_no_collection() -> None:
    words, _ = opened_apart(packed(collection_anki21=packed(collection_anki2=bytes(2**24))))
    assert words == "The collection in this package is damaged."


def test_a_text_that_would_fill_the_memory_is_refused() -> None:
    long = with_sql("UPDATE notes SET flds = CAST(zeroblob(30000000) AS TEXT) WHERE id = (SELECT min(id) FROM notes)")
    words, grown = opened_apart(long)
    assert "a text of more than 16 MiB" in words
    assert grown < 64


def test_many_long_notes_are_left_out_in_little_memory(ada: User) -> None:
    long = with_sql("UPDATE notes SET flds = replace(hex(zeroblob(1000000)), '0', 'x')")
    tracemalloc.start()
    taken = bring(ada, long)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert any("longer than 20,000 characters" in words for words in taken.left_out)
    assert most < 10 * 2**20  # five notes of 2 MB


def test_a_package_of_too_many_files_is_refused_before_they_are_listed(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anki_file, "MOST_FILES", 30)
    with pytest.raises(BadExport, match="more than 30 files"):
        bring(ada, packed(**{f"{at}": b"" for at in range(31)}))


def test_more_answers_than_anybody_gives_are_refused(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anki_in, "MOST_OF_A_PART", 20)
    with pytest.raises(BadExport, match="than anybody gives"):
        bring(ada, (GOLDEN / "newer.apkg").read_bytes())
    assert not Note.objects.exists()


@pytest.mark.parametrize(("html", "text"), [
    ("a <b>b</b> <i>c</i>", "a **b** *c*"),
    ("2*3*4 _x_ [y](z) `q`", r"2\*3\*4 \_x\_ \[y](z) \`q\`"),
    ("<div>one</div><div>two</div>", "one\\\ntwo"),
    ("one<br><br>two", "one\n\ntwo"),
    ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
    ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
    ('<a href="https://a.b/c">here</a>', "[here](https://a.b/c)"),
    ('<a href="javascript:alert(1)">here</a>', "here"),
    ("<script>alert(1)</script><style>b{}</style>x", "x"),
    ("&lt;script&gt; &amp;amp;", r"\<script\> &amp;"),
    ("x <img src=a.png> [sound:b.mp3]", "x"),
    ("<code>a_b*c</code>", "`a_b*c`"),
    ("<pre>a\n  b</pre>", "```\na\n  b\n```"),
    ("a&nbsp;b", "a b"),
    ("# no heading", r"\# no heading"),
    ("{{c1::a_b::hint}}", r"{{c1::a\_b::hint}}"),
    (r"\(x^2\) and \[a_1 * b\]", r"\(x^2\) and \[a_1 * b\]"), (r"$a_1$ costs $5, $6", r"$a_1$ costs $5, $6"),
    (r"$a \(b_1\) c$ d_1", r"$a \(b_1\) c$ d\_1"),
    (r"[$]x_1[/$] [$$]y[/$$]", r"\(x_1\) \[y\]"), (r"\[a &lt; b \\<br>c\]", "\\[a < b \\\\\nc\\]"),
    (r"<b>\(x\)</b>: \(<i>y</i>&nbsp;z\)", r"**\(x\)**: \(y z\)"),
    (r"<div>\(a</div><div>b\)</div>", "\\\\(a\\\nb\\\\)"),
    (r"<code>\(x\)</code> \(y", r"`\(x\)` \\(y"), (r"{{c1::\(x_1\)}} {{c2::a_1}}", r"{{c1::\(x_1\)}} {{c2::a\_1}}"),
    ('<a href="https://a.b/c">see [1]</a> [1]', r"[see \[1&#93;](https://a.b/c) \[1]"),
    ("<b></b><b> x </b>", " **x** ".strip()),
    ("", ""),
])
def test_html_becomes_markdown_that_says_the_same(html: str, text: str) -> None:
    assert markdown_of(html)[0] == text
