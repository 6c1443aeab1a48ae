"""Tables as an author types them."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from questions.toml_lines import read_lines, write_lines

texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)
plain = st.one_of(texts, st.integers(-(2**62), 2**62), st.booleans(), st.floats(allow_nan=False, allow_infinity=False))
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


@given(st.dictionaries(texts, values, max_size=4))
def test_what_is_written_reads_the_same(table: dict[str, object]):
    assert read_lines(write_lines(table)) == table


@given(st.lists(st.dictionaries(texts, values, max_size=3), min_size=1, max_size=3))
def test_an_array_of_tables_reads_the_same(tables: list[dict[str, object]]):
    assert read_lines(write_lines(tables)) == tables


def test_lines_are_what_a_file_would_hold():
    table = {"requests": "A:24/8@0", "one.peak_gap_ms": {"from": 15}, "decoders": [16, 24], "tail": True}
    assert write_lines(table) == (
        'requests = "A:24/8@0"\n"one.peak_gap_ms" = {from = 15}\ndecoders = [16, 24]\ntail = true'
    )


NOT_HELD = {
    "two in a line": "a = 1, b = 2", "no value": "a", "one key twice": "[a]\nb = 1\n[a]", "an array left open": "[{a",
    "nan": "a = nan", "infinity": "a = -inf", "NUL": 'a = "\\u0000"', "NUL in a key": '"\\u0000" = 1',
    "a time of day": "a = 07:32:00", "too many digits": f"a = {'9' * 5000}", "too deep": f"a = {'[' * 5000}",
}


@pytest.mark.parametrize("name", NOT_HELD)
def test_what_no_row_can_hold_is_said_in_a_sentence(name: str):
    with pytest.raises(ValueError, match=r"^(Not TOML|It takes).*\.$"):
        read_lines(NOT_HELD[name])


def test_a_date_is_kept_as_a_text():
    assert read_lines("seen = 2026-11-29") == {"seen": "2026-11-29"}
