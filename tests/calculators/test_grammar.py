"""A grammar's bitmask: words worked by hand, words that xgrammar 0.2.9 gave, and what rows and walks come to."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs.grammar import CALLS, DIGITS, HAND, MOODS, OK, OK_PATH
from calculators.models import grammar_cost
from calculators.models.base import Refusal
from calculators.models.byte_automaton import automaton_of
from calculators.models.grammar import (
    EOS,
    REGEX,
    STRINGS,
    Grammar,
    read_lines,
    read_path,
    read_vocabulary,
    simulate,
    word_lines,
)


def run(text: str = OK, form: str = STRINGS, vocabulary: str = HAND, path: str = OK_PATH, seed: int = 1) -> Grammar:
    return simulate(grammar=read_lines(text), form=form, vocabulary=read_vocabulary(vocabulary), path=read_path(path),
                    seed=seed)


# Each text's allowed tokens by hand; their bits summed
@pytest.mark.parametrize(("text", "allowed", "word", "signed"), [
    ("", '{ {"', "00000005", 5), ("{", '" "ok":', "00000082", 130), ('{"', "ok o", "00000018", 24),
    ('{"ok', '" ":', "00000042", 66), ('{"ok":', "true tr t false f fa true} false}", "0181CE00", 25_284_096),
    ('{"ok":t', "r", "04000000", 67_108_864), ('{"ok":fa', "lse l", "20080000", 537_395_200),
    ('{"ok":true', "}", "00200000", 2_097_152), ('{"ok":true}', "EOS", "80000000", -2_147_483_648),
])
def test_the_word_of_a_state(text: str, allowed: str, word: str, signed: int):
    result = run()
    mask = next(mask for mask in result.masks if mask.text == text)
    tokens = {result.vocabulary[number].written for number in mask.allowed}
    assert (tokens, mask.hex, mask.signed) == (set(allowed.split()), word, (signed,))


# Recorded from xgrammar 0.2.9, compile_regex and fill_next_token_bitmask, bits past the vocabulary taken as 0
@pytest.mark.parametrize(("text", "vocabulary", "path", "words"), [
    ("20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])", DIGITS, "20 2 6 -1 1 - 20",
     "00002004 000073FF 000003FF 00010400 00000007 00010400 0000300F 00040000"),
    (r"-?(0|[1-9][0-9]{0,3})(\.[0-9]+)?", DIGITS, "-1 00 .5 7", "000337FF 0006FBFF 00068BFF 000473FF 000473FF"),
    ("positive|negative|neutral", MOODS, "ne u tral", "0000003F 00040800 00020100 00100000"),
])
def test_the_words_along_a_path_are_xgrammars(text: str, vocabulary: str, path: str, words: str):
    assert [step.mask.hex for step in run(text, REGEX, vocabulary, path).steps] == words.split()


def test_two_texts_make_18_states_and_weigh_288576_bytes():
    result = run()
    assert (result.state_count, result.row_bytes, result.compiled_bytes) == (18, 16_032, 288_576)
    assert [step.text for step in result.steps[3:6]] == ['{"ok', '{"ok":', '{"ok":t']


def test_a_word_is_said_as_a_sum_of_its_bits():
    line, = word_lines(run().steps[4].mask)
    assert line.expression == "2⁹ + 2¹⁰ + 2¹¹ + 2¹⁴ + 2¹⁵ + 2¹⁶ + 2²³ + 2²⁴" and line.value == 25_284_096
    assert [line.value for line in word_lines(run().steps[8].mask)] == [2**31, -(2**31)]


def test_without_single_letters_there_is_a_dead_end():
    assert run().dead_ends == ()
    result = run(vocabulary=HAND.replace(" r u ", " "), path='{" ok ": t')
    assert result.dead_ends == ('{"ok":t',) and result.steps[-1].mask.hex == "00000000"


def test_what_is_forced_ends_at_a_choice():
    forced = [step.mask.forced for step in run().steps]
    assert forced == ['{"ok":', '"ok":', 'ok":', '":', "", "rue}", "ue}", "}", ""]


def test_a_token_may_begin_inside_a_character():
    result = run("żółw\nżaba", vocabulary="ż <0xC5> <0xBC> ó ł w a b EOS", path="<0xC5> <0xBC> ó ł w")
    assert result.steps[1].text == "<0xC5>" and result.steps[-1].text == "żółw" and result.complete


def test_more_than_32_tokens_take_two_words():
    result = run(vocabulary=f"{HAND} x0 x1 {{\"ok\"")
    assert result.steps[0].mask.words == (5, 1 << 2)


@pytest.mark.parametrize(("text", "form", "fault"), [
    ("(a", REGEX, "not closed"), ("a)", REGEX, "closes nothing"), ("*a", REGEX, "nothing to repeat"),
    ("[a", REGEX, "not closed"), ("[z-a]", REGEX, "a range runs"), ("a{3,2}", REGEX, "the smaller first"),
    ("\\q", REGEX, "is not known"), ("a\\", REGEX, "nothing follows"), ("[^ -~]", REGEX, "without a letter"),
    ("(" * 30 + "a" + ")" * 30, REGEX, "too many brackets"), ("((a{60}){60})", REGEX, "too large"),
    ("(a|b)*a(a|b){20}", REGEX, "more than 300 states"), ("[é]", REGEX, "ASCII"), ("\n", STRINGS, "lines"),
])
def test_a_grammar_that_cannot_be_read_is_refused(text: str, form: str, fault: str):
    with pytest.raises(Refusal, match=fault):
        run(text, form, path="")


@pytest.mark.parametrize(("given", "fault"), [
    ({"path": "{ ok"}, "After “{” the grammar does not take ok: it takes \", \"ok\":"), ({"path": "x"}, "is no token"),
    ({"vocabulary": "{ } a"}, "EOS is missing"), ({"vocabulary": "{ { EOS"}, "stands twice"),
    ({"vocabulary": EOS}, "2 to 64"), ({"vocabulary": f"{'a' * 30} EOS"}, "more than 24 bytes"),
    ({"path": "{ " * 41}, "takes 40"), ({"path": "EOS"}, "does not take EOS"),
])
def test_a_path_or_vocabulary_that_cannot_be_is_refused(given: dict[str, str], fault: str):
    with pytest.raises(Refusal, match=fault):
        run(**given)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab{}:\"é", min_size=1, max_size=8), min_size=1, max_size=5, unique=True), st.integers(0, 999))
def test_a_drawn_path_spells_one_of_the_texts(texts: list[str], seed: int):
    letters = sorted({letter for text in texts for letter in text})
    result = run("\n".join(texts), vocabulary=" ".join([*letters, "<0xC3>", "<0xA9>", EOS]), path="", seed=seed)
    assert result.complete and result.steps[-1].text in texts
    assert all(sum(word.bit_count() for word in mask.words) == len(mask.allowed) for mask in result.masks)


@settings(max_examples=100, deadline=None)
@given(st.text("ab()[]|?*+{},.\\^-2d9", max_size=24))
def test_any_expression_is_read_or_refused(text: str):
    try:
        automaton = automaton_of([text], True)
    except Refusal as refusal:
        assert str(refusal)
        return
    assert all(automaton.walk(0, data) == state for state, data in enumerate(automaton.reached_by))


# 4 × ⌈V / 32⌉
@pytest.mark.parametrize(("vocabulary", "row"), [
    (128_256, 16_032), (129_280, 16_160), (151_936, 18_992), (201_088, 25_136), (262_208, 32_776), (32_768, 4_096),
])
def test_bytes_of_a_row(vocabulary: int, row: int):
    result = grammar_cost.solve(vocabulary_size=vocabulary)
    assert result.row_bytes == row
    assert row in {each.row_bytes for each in result.vocabularies}


def test_the_naive_walk_and_what_compiling_leaves():
    result = grammar_cost.solve(structured=256)
    assert (round(result.naive_ms, 2), round(result.naive_step_ms / 1e3, 1)) == (10.26, 2.6)
    assert (result.uncertain_tokens, round(result.compiled_ms, 2)) == (1_283, 0.10)
    assert round(result.serial_fill_ms, 1) == 10.2
    assert (result.row_words, result.float_mask_bytes) == (4_008, 513_024)
    assert round(result.step_bytes / 1e6, 2) == 4.10
    assert (round(result.transfer_us), round(result.slow_transfer_us)) == (82, 164)
    assert round(grammar_cost.solve().naive_step_ms) == 657


@pytest.mark.parametrize(("drafts", "buffer_mb"), [(0, 16.4), (3, 65.7)])
def test_the_engines_buffer_has_a_row_for_each_draft(drafts: int, buffer_mb: float):
    assert round(grammar_cost.solve(drafts=drafts).buffer_mb, 1) == buffer_mb


def test_a_flat_table_walks_a_vocabulary_in_a_millisecond():
    assert round(grammar_cost.solve(ns_per_byte=8.2 / 4.5, bytes_per_token=4.5).naive_ms, 2) == 1.05  # measured


def test_three_drafts_make_a_hidden_mask_stall():
    result = grammar_cost.solve()
    assert (round(result.plain.period_ms, 1), round(result.drafted.period_ms, 1)) == (9.1, 11.0)
    assert result.plain.stall_ms == 0 and round(result.drafted.stall_ms, 1) == 1.9


def test_a_tool_call_is_mostly_forced():
    result = run(CALLS, REGEX, '{ } " : , {" ":" "," "} name city get_weather Paris Warsaw EOS', "")
    assert result.masks[0].forced == '{"name":"get_weather","city":"' and result.complete
