"""The glossary: its file, its faults, and where a term is linked."""
import re

import pytest

from questions import glossary
from questions.glossary import Linked, Term, parse_terms, term_faults


def link(html: str) -> str:
    """The HTML with its links written as [text](term)."""
    return re.sub(r'<a class="term" href="/glossary/#([^"]+)">(.*?)</a>', r"[\2](\1)", Linked("/glossary/")(html))


def test_the_banks_terms_have_no_fault():
    terms = glossary.read_terms()
    assert list(term_faults(terms)) == []
    assert len(terms) >= 70


def test_a_term_is_linked_where_it_comes_first_and_once():
    assert link("<p>A KV block, another KV block.</p><p>Prefill.</p>") == (
        "<p>A [KV block](kv-block), another KV block.</p><p>[Prefill](prefill).</p>")


def test_two_texts_of_one_page_share_what_was_linked():
    linked = Linked("/glossary/")
    assert 'class="term"' in linked("<p>prefill</p>")
    assert linked("<p>prefill</p>") == "<p>prefill</p>"


@pytest.mark.parametrize("html", [
    "<p><code>prefill</code></p>", "<h3>Prefill</h3>", '<p><a href="/x">prefill</a></p>', "<pre>prefill</pre>",
    "<table><tr><th>prefill</th></tr></table>", '<p title="prefill">x</p>', "<p>prefills_per_s and pre-prefill</p>",
])  # fmt: skip
def test_code_headings_links_and_parts_of_words_stay(html: str):
    assert link(html) == html


def test_other_names_plurals_and_the_longest_name_count():
    assert link("<p>KV blocks, time to first token, draft tokens</p>") == (
        "<p>[KV blocks](kv-block), [time to first token](ttft), [draft tokens](draft-token)</p>")
    assert link("<p>chunked prefill</p>") == "<p>[chunked prefill](chunked-prefill)</p>"


@pytest.mark.parametrize("apostrophe", "'’")
def test_either_apostrophe_names_the_term(apostrophe: str):
    law = f"Little{apostrophe}s law"
    assert link(f"<p>by {law}</p>") == f"<p>by [{law}](littles-law)</p>"


def test_capitals_alone_are_an_abbreviation():
    assert link("<p>at TP 4, tp 4</p>") == "<p>at [TP](tensor-parallelism) 4, tp 4</p>"


def test_the_linked_text_is_the_same_without_its_links():
    html = "<p>Prefill &amp; decode: a CUDA graph &lt;b&gt;, the KV pool.</p>"
    assert re.sub(r"</?a\b[^>]*>", "", Linked("/glossary/")(html)) == html


def term(**more: object) -> Term:
    return Term(**{"slug": "loaf", "name": "loaf", "text": "Bread in one piece. It is cut when cold."} | more)


@pytest.mark.parametrize(("terms", "fault"), [
    ([term(slug="A loaf")], "It is no slug"),
    ([term(), term(name="bun")], "The slug is taken"),
    ([term(text="Bread in one piece.")], "It has 1 sentences; 2 are asked for."),
    ([term(text="Bread. " + "It is cut when cold, " * 25 + "or not.")], "420 at most"),
    ([term(), term(slug="bun", also=("Loaf",))], "“Loaf” is loaf already."),
    ([term(also=(" ",))], "One of its names is empty."),
])  # fmt: skip
def test_a_fault_is_said(terms: list[Term], fault: str):
    assert any(fault in sentence for sentence in term_faults(terms))


def test_terms_that_can_be_shown_have_none():
    assert list(term_faults([term(), term(slug="bun", name="bun")])) == []


@pytest.mark.parametrize(("text", "sentence"), [
    ('[[term]]\nslug = "a"\nname = "a"', "It has no text."),
    ('[[term]]\nslug = "a"\nname = "a"\ntext = "b"\nfaults = 1', "There is no such key: faults."),
    ("[[term", "Expected"),
])  # fmt: skip
def test_a_file_that_is_no_glossary_is_refused(text: str, sentence: str):
    with pytest.raises(ValueError, match=sentence):
        parse_terms(text)
