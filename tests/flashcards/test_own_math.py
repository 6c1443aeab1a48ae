"""Formulas on a person's own cards: drawn on the card, by their source in a line, as written in a form and a file."""
import sqlite3
import zipfile
from importlib import import_module
from io import BytesIO
from pathlib import Path

import pytest
from django.apps import apps
from django.test import Client
from django.utils import timezone

from accounts.models import User
from accounts.rows import Taken
from flashcards import own_cards
from flashcards.models import Card
from flashcards.own_desk import sides_of
from flashcards.own_forms import FORMS
from flashcards.transfer import anki_out, everything, incoming, reading, tables
from questions import own
from questions.models import Note, SearchDocument
from tests.flashcards.conftest import NOON

SQUARE = "<math><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>"
TWO = "<mrow><mrow><mn>2</mn></mrow></mrow>"
FRONT, BACK = "What is $x^2$ of\n\n\\[\\frac{a}{b}\n< c\\]\n\nat $5 and $10?", r"\(x_1 * y_1 * z\) or `$z$` [1]"
LINE = r"What is x^2 of \frac{a}{b} < c at $5 and $10?"


def add(user: User, kind: str, **typed: str) -> Note:
    form = FORMS[kind](typed)
    assert form.is_valid(), form.errors
    return own_cards.save(user, form.note_fields(), NOON)


@pytest.fixture
def note(ada: User) -> Note:
    return add(ada, "basic", front=FRONT, back=BACK)


@pytest.mark.parametrize(("text", "html"), [
    ("so $x^2$", f"<p>so {SQUARE}</p>"), (r"so \(x^2\)", f"<p>so {SQUARE}</p>"),
    ("**$x^2$**", f"<p><strong>{SQUARE}</strong></p>"), ("- $x^2$", f"<ul>\n<li>{SQUARE}</li>\n</ul>"),
    ("$$\nx^2\n$$", "<p>" + SQUARE.replace("<math>", '<math display="block">') + "</p>"),
    (r"see \[x^2\]", "<p>see " + SQUARE.replace("<math>", '<math display="block">') + "</p>"),
    ("$5 and $10", "<p>$5 and $10</p>"), (r"\$x^2\$", "<p>$x^2$</p>"), (r"\\(x\\)", r"<p>\(x\)</p>"),
    (r"see \(x", "<p>see (x</p>"), ("`$x^2$`", '<p><code class="nowrap">$x^2$</code></p>'),
    ("    $x^2$", "<pre><code>$x^2$\n</code></pre>"), ("$x^2$ is 5", f"<p>{SQUARE} is 5</p>"),
    (r"$\foo$ *so*", r"<p><code>$\foo$</code> <em>so</em></p>"),
])
def test_a_formula_is_drawn_where_it_stands(text: str, html: str):
    assert own.html_of(text) == html


@pytest.mark.parametrize(("text", "line"), [
    (FRONT, LINE), (r"\(a_1 * b * c < d\)", "a_1 * b * c < d"), ("$$\na\n\\\\\nb\n$$", r"a \\ b"),
    (r"{{c1::\(x^2\)}} and $y$", "x^2 and y"), ("`$x$` is code", "$x$ is code"), ("$[[x]]$", "[x]]"),
])
def test_a_card_is_known_by_the_source_of_its_formulas(text: str, line: str):
    assert own.line_of(text) == line


@pytest.mark.parametrize(("text", "front", "back"), [
    (r"{{c1::\(x^2\)}} is", "<p><strong>[…]</strong> is</p>", f"<p><strong>{SQUARE}</strong> is</p>"),
    (r"{{c1::$x^2$::a square}}", "<p><strong>[a square]</strong></p>", f"<p><strong>{SQUARE}</strong></p>"),
    (r"\({{c1::x^2}}\)",
     '<p><math><mrow><mrow><mo stretchy="false">[</mo><mi>…</mi><mo stretchy="false">]</mo></mrow></mrow></math></p>',
     f"<p>{SQUARE}</p>"),
    (r"$x^{{c1::2::n}}$",
     '<p><math><mrow><msup><mi>x</mi><mrow><mo stretchy="false">[</mo><mi>n</mi><mo stretchy="false">]</mo></mrow>'
     "</msup></mrow></math></p>", f"<p>{SQUARE}</p>"),
    (r"{{c1::\(x^{{2}}\)}}", "<p><strong>[…]</strong></p>",
     f"<p><strong>{SQUARE.replace('<mn>2</mn>', TWO)}</strong></p>"),
    ("{{c1::US$}} or {{c2::A$}}", "<p><strong>[…]</strong> or A$</p>", "<p><strong>US$</strong> or A$</p>"),
    (r"$x^{{c2::2}}$ {{c1::a}}", f"<p>{SQUARE} <strong>[…]</strong></p>", f"<p>{SQUARE} <strong>a</strong></p>"),
])
def test_a_gap_is_left_out_of_a_formula_and_a_formula_out_of_a_gap(text: str, front: str, back: str):
    assert tuple(map(own.html_of, own.cloze_sides(text, 1))) == (front, back)


def test_braces_of_a_formula_end_no_gap(ada: User, tmp_path: Path):
    front = r"{{c1::\(\frac{1}{2^{n}}\)}} is {{c2::$x_{y_{z}}$}} and \(a^{b^{ {{c3::c}} }}\)"
    note = add(ada, "cloze", front=front, back="")
    assert own.cloze_numbers(note.front) == [1, 2, 3]
    assert own.cloze_sides(note.front, 1)[0] == r"**[…]** is $x_{y_{z}}$ and \(a^{b^{ c }}\)"
    [[text, _]] = fields_in(anki_out.without_schedule(ada, NOON), tmp_path).values()  # where two braces end a gap
    assert text == r"<p>{{c1::\(\frac{1}{2^{n} }\)}} is {{c2::\(x_{y_{z} }\)}} and \(a^{b^{ {{c3::c}} } }\)</p>"


def test_a_gap_in_a_line_is_open():
    assert own.asked_line(r"\(L = {{c1::\lambda W}}\), {{c2::$x$::hint}}(y)") == "L = […], [hint](y)"
    assert own.line_of(own.cloze_sides(r"\(L = {{c1::\lambda W}}\)", 1)[0]) == "L = […]"


def test_it_is_drawn_on_the_card_and_its_page_and_edited_as_it_was_typed(as_ada: Client, note: Note):
    assert note.ask == LINE
    page = as_ada.get(f"/numbers/{note.slug}/").content.decode()
    assert "<title>" + LINE.replace("<", "&lt;") in page and SQUARE in page
    review = as_ada.get("/review/").content.decode()
    assert SQUARE in review and "<mfrac>" in review
    assert "<h1 class" in review and ": What is x^2 of" in review
    form = as_ada.get(f"/my-cards/{note.pk}/").content.decode()
    assert "What is $x^2$ of\n\n\\[\\frac{a}{b}\n&lt; c\\]" in form and "Math in" in form
    assert LINE.replace("<", "&lt;") in as_ada.get("/my-cards/").content.decode()
    found = SearchDocument.objects.get(note=note)
    assert found.title == LINE


def test_signs_in_a_formula_are_no_raw_html_and_no_link(ada: User):
    assert add(ada, "basic", front="$a <b> c$ and $[x](y)$", back="x").ask == "a <b> c and [x](y)"
    assert not FORMS["basic"]({"front": "$5 <b>c</b>", "back": "x"}).is_valid()


def test_a_number_asks_with_a_formula(as_ada: Client, ada: User):
    note = add(ada, "number", front=r"What is $x^2$ of `x` $=3$?", value="9", tolerance="0", back="$x^2$")
    assert (note.front, note.ask) == (r"What is $x^2$ of `x` $=3$?", "What is x^2 of `x` =3?")
    page = as_ada.get(f"/numbers/{note.slug}/").content.decode()
    assert page.count(SQUARE) == 2 and "What is $x^2$" not in page
    assert "What is $x^2$ of" in as_ada.get(f"/my-cards/{note.pk}/").content.decode()
    assert not FORMS["number"]({"front": "[$[run.x]]$", "value": "1", "tolerance": "0"}).is_valid()
    plain = add(ada, "number", front="What is 3 `x`, for $5?", value="9", tolerance="0")
    assert (plain.front, plain.ask) == ("", "What is 3 `x`, for $5?")


def fields_in(package: bytes, folder: Path) -> dict[str, list[str]]:
    """What each note of a package holds, by its guid."""
    with zipfile.ZipFile(BytesIO(package)) as packed:
        database = sqlite3.connect(packed.extract("collection.anki2", folder))
    held = {guid: fields.split("\x1f") for guid, fields in database.execute("SELECT guid, flds FROM notes")}
    database.close()
    return held


def bring(user: User, body: bytes, name: str) -> Taken:
    taken = Taken()
    with reading.read(body, name, user, taken) as found:
        list(incoming.put(user, found.notes, found.clock, timezone.now(), taken))
    return taken


def test_out_to_anki_and_in_again_changes_nothing(ada: User, eve: User, note: Note, tmp_path: Path):
    gap = add(ada, "cloze", front=r"\(x < {{c1::y^2}}\), {{c2::$z_1$::a sign}}", back="$$z$$")
    package = anki_out.with_schedule(ada, NOON)
    held = fields_in(package, tmp_path)
    front, back, _ = held[note.guid]
    assert r"\(x^2\)" in front and "\\[\\frac{a}{b}\n&lt; c\\]" in front and "$5 and $10" in front
    assert r"\(x_1 * y_1 * z\)" in back and "$z$</code>" in back
    assert held[gap.guid] == [r"<p>\(x &lt; {{c1::y^2}}\), {{c2::\(z_1\)::a sign}}</p>", r"<p>\[z\]</p>"]

    before = [(one.guid, one.front, one.back, one.ask) for one in Note.objects.filter(owner=ada).order_by("pk")]
    assert bring(ada, package, "out.apkg").new == {}
    assert [(one.guid, one.front, one.back, one.ask) for one in Note.objects.filter(owner=ada).order_by("pk")] == before

    bring(eve, package, "out.apkg")
    there = {one.guid: one for one in Note.objects.filter(owner=eve)}
    assert {one.guid: one.ask for one in there.values()} == {guid: ask for guid, _, _, ask in before}
    assert there[note.guid].front == FRONT.replace("$x^2$", r"\(x^2\)")
    for one in (note, gap):
        mine, theirs = (Card.objects.filter(note=n).order_by("direction") for n in (one, there[one.guid]))
        drawn = [[[own.html_of(side) for side in sides_of(card)] for card in cards] for cards in (mine, theirs)]
        assert drawn[0] == drawn[1]
    again = fields_in(anki_out.without_schedule(eve, NOON), tmp_path)
    assert {guid: again[guid] for guid in there} == {guid: held[guid] for guid in there}


def test_tables_text_and_json_hold_it_as_written(ada: User, eve: User, note: Note):
    taken = Taken()
    [from_table] = tables.from_csv(tables.cards_csv(ada, NOON), eve, taken)
    [from_text] = tables.from_markdown(tables.markdown(ada, NOON), eve, taken)
    assert (from_table.front, from_table.back) == (from_text.front, from_text.back) == (FRONT, BACK)
    everything.put(eve, everything.read(everything.written(ada, NOON)), NOON)
    theirs = Note.objects.get(owner=eve)
    assert (theirs.guid, theirs.front, theirs.back, theirs.ask) == (note.guid, FRONT, BACK, LINE)


def test_a_note_of_anki_comes_in_as_it_is_written(eve: User):
    bring(eve, b"#separator:tab\n#html:true\nso \\(x_1\\)&nbsp;is\t\\[a &lt; b<br>c\\]\n", "notes.txt")
    note = Note.objects.get(owner=eve)
    assert (note.front, note.back, note.ask) == (r"so \(x_1\) is", "\\[a < b\nc\\]", "so x_1 is")


# What Anki's field came in as until formulas were read, each sign escaped, and what it comes in as now.
@pytest.mark.parametrize(("was", "now"), [
    (r"\\(x\_1\\) of \[1\]", r"\(x_1\) of \[1]"), (r"`\(x\) a[1]`", r"`\(x\) a[1]`"),
    (r"$x\_1$ for $5", "$x_1$ for $5"),
    ("\\\\\\[a \\< b \\\\\\\\\\\nc\\\\\\]", "\\[a < b \\\\\nc\\]"), (r"{{c1::\\(x^2\\)}}", r"{{c1::\(x^2\)}}"),
])
def test_notes_that_came_from_anki_before_get_their_formulas(ada: User, was: str, now: str):
    read = import_module("questions.migrations.0007_formulas").read_formulas
    brought = Note.objects.create(owner=ada, slug="a", guid="AnK1guid#~", kind="basic", ask="?", front=was, back=was)
    typed = Note.objects.create(owner=ada, slug="b", guid="0" * 32, kind="basic", ask="$x$", front="$x$", back=was)
    number = Note.objects.create(owner=ada, slug="c", guid="1" * 32, kind="number", ask="$x$ of `y`", value=1)
    read(apps, None)
    for note in (brought, typed, number):
        note.refresh_from_db()
    assert (brought.front, brought.back) == (now, now)
    assert brought.ask == ("?" if was == now else own.line_of(now))
    assert (typed.front, typed.back, typed.ask) == ("$x$", was, "x")
    assert (number.front, number.ask) == ("$x$ of `y`", "x of `y`")
