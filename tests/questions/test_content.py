"""The question file: read, written, fingerprinted, and what loading decides."""
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from questions.content import Act, BadFile, QuestionFile, decide, digest, dump, parse
from tests.questions.bakery import document

FILE = """+++
title = "Loaves"
kind = "size"
level = "senior"
minutes = 3
check = {figure = "oven.loaves", unit = "loaves"}

[runs.oven]
lab = "bakery"
values = {flour_g = 3000}

[[sources]]
id = "book"
url = "https://example.org"
date = 2020-05-01
+++
How many?

With a second paragraph.

## Said aloud
Six.
## The catch
Flour varies.

### A smaller heading
More of it.
## What I would measure
Loaves.
"""


def test_a_file_is_read_part_by_part():
    read = parse(FILE, "baking", "loaves")
    assert (read.topic, read.slug, read.minutes) == ("baking", "loaves", 3)
    assert read.ask == "How many?\n\nWith a second paragraph."
    assert read.catch == "Flour varies.\n\n### A smaller heading\nMore of it."
    assert read.derivation == ""
    assert read.sources == [{"id": "book", "url": "https://example.org", "date": "2020-05-01"}]


def test_what_is_written_reads_back_the_same():
    assert parse(dump(document()), "baking", "loaves") == document()


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=40).map(str.strip)
entries = st.lists(st.fixed_dictionaries({"text": texts}), max_size=3)
values = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), texts)
names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)


@given(
    st.builds(
        QuestionFile, topic=st.just("t"), slug=st.just("s"), title=texts, minutes=st.integers(0, 60),
        draft=st.booleans(), next=st.lists(texts, max_size=3), hints=entries,
        keep=st.dictionaries(names, values, max_size=3),
        runs=st.dictionaries(names, st.fixed_dictionaries({"lab": names, "values": st.dictionaries(names, values)}),
                             max_size=3),
        ask=texts, said_aloud=texts, catch=texts,
    ).filter(lambda one: not any(text.startswith("## ") for text in (one.ask, one.said_aloud, one.catch)))
)
def test_any_question_reads_back_the_same(question: QuestionFile):
    back = parse(dump(question), "t", "s")
    assert back == question
    assert digest(back) == digest(question)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("no front matter", "begins with its front matter"),
        (FILE.replace("+++\nHow", "How"), "begins with its front matter"),
        (FILE.replace('title = "Loaves"', 'title = "Loaves'), "Not TOML"),
        (FILE.replace('title = "Loaves"', 'titel = "Loaves"'), "titel: There is no such key."),
        (FILE.replace("minutes = 3", 'minutes = "3"'), "minutes: It takes a whole number."),
        (FILE.replace("minutes = 3", "minutes = true"), "minutes: It takes a whole number."),
        (FILE.replace("## The catch", "## The snag"), "There is no part “The snag”"),
        (FILE.replace("## The catch", "## Said aloud"), "The part “Said aloud” stands there twice."),
    ],
)
def test_a_text_that_is_no_question_is_refused_with_its_fault(text: str, fault: str):
    with pytest.raises(BadFile) as bad:
        parse(text, "baking", "loaves")
    assert fault in str(bad.value)


@pytest.mark.parametrize("flour", ["nan", "-inf", "12:30:00", '"\\u0000"'])
def test_what_no_row_can_hold_is_refused_by_its_key(flour: str):
    with pytest.raises(BadFile) as refused:
        parse(FILE.replace("{flour_g = 3000}", f"{{flour_g = {flour}}}"), "baking", "loaves")
    assert [fault.where for fault in refused.value.faults] == ["runs"]


def test_all_faults_of_a_file_come_at_once():
    with pytest.raises(BadFile) as bad:
        text = FILE.replace("title", "titel").replace("minutes = 3", 'minutes = "3"').replace("The catch", "Snag")
        parse(text, "baking", "loaves")
    assert [fault.where for fault in bad.value.faults] == ["titel", "minutes", "body"]


def test_the_fingerprint_is_of_the_meaning_and_not_of_the_bytes():
    rewritten = FILE.replace("\n", "\r\n")
    rewritten = rewritten.replace("How many?", "\r\n  How many?").replace("flour_g = 3000", "flour_g = 3000.0")
    rewritten = rewritten.replace("date = 2020-05-01", 'date = "2020-05-01"   # when I read it')
    assert digest(parse(rewritten, "baking", "loaves")) == digest(parse(FILE, "baking", "loaves"))


def test_fields_at_their_default_leave_the_fingerprint_alone():
    spelled_out = FILE.replace("minutes = 3", "minutes = 3\ndraft = false\nhints = []\nkeep = {}")
    spelled_out = spelled_out.replace('lab = "bakery"', 'lab = "bakery"\nshown = false\nview = ""')
    assert digest(parse(spelled_out, "baking", "loaves")) == digest(parse(FILE, "baking", "loaves"))


@pytest.mark.parametrize("name", [name for name in asdict(document()) if name not in ("topic", "slug")])
def test_a_change_of_any_field_changes_the_fingerprint(name: str):
    changed = {str: "other", int: 7, bool: True, list: [{"text": "other"}], dict: {"other": {"lab": "x"}}}
    other = replace(document(), **{name: changed[type(getattr(document(), name))]})
    assert digest(other) != digest(document())


def test_an_input_that_is_false_or_zero_is_content():
    runs = {"oven": {"lab": "bakery", "values": {"flour_g": 0}}}
    assert digest(document(runs=runs)) != digest(document(runs={"oven": {"lab": "bakery", "values": {}}}))


@pytest.mark.parametrize(
    ("file", "row", "loaded", "act"),
    [
        ("new", None, "", Act.CREATE),
        ("same", "same", "same", Act.NOTHING),
        ("changed", "loaded", "loaded", Act.UPDATE),
        ("loaded", "edited", "loaded", Act.KEEP_EDIT),
        ("edited", "edited", "loaded", Act.CAME_HOME),
        ("changed", "edited", "loaded", Act.CONFLICT),
        (None, "loaded", "loaded", Act.RETIRE),
        (None, "edited", "loaded", Act.RETIRE),
        (None, "made", "", Act.KEEP_OWN),
        ("made", "made", "", Act.CAME_HOME),
        ("other", "made", "", Act.CONFLICT),
    ],
)
def test_the_table_of_file_and_row(file: str | None, row: str | None, loaded: str, act: Act):
    assert decide(file, row, loaded) == act
