"""The detokenizer against recorded streams of vLLM 0.33.0, and against two traces worked out by hand."""
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.models import detokenizer, detokenizer_trace
from calculators.models.base import Refusal
from calculators.models.detokenizer import END, SLOW, Token, read_stops, read_tokens, simulate, text_of

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "detokenizer.json").read_text())
CASES = list(detokenizer_trace.cases(RECORDED, "detokenizer"))
EMOJI = "_Hi _ {F0 9F 98} {80} !"
SAT = "The _cat _sat .↵ ↵Us er :_hi"


def run(tokens: str, prompt: str = "Say _hi :", stop: str = "", **more: object) -> detokenizer.Detokenized:
    return simulate(prompt=read_tokens(prompt, 50, "prompt"), tokens=read_tokens(tokens, 200, "tokens"),
                    stop=read_stops(stop), **more)


@pytest.mark.parametrize(("name", "difference"), CASES, ids=[name for name, _ in CASES])
def test_every_recorded_stream_is_the_same(name: str, difference: str | None):
    assert difference is None


def test_a_changed_record_is_told_where():
    case = json.loads(json.dumps(RECORDED["cases"][0]))
    case["expect"]["deltas"][1] = "x"
    [(_, difference)] = detokenizer_trace.cases({"vocab": RECORDED["vocab"], "cases": [case]}, "one")
    assert difference.startswith("deltas: ours [")


@pytest.mark.parametrize("way", ["fast", "slow"])
def test_an_emoji_comes_out_when_it_is_whole(way: str):
    # By hand: prompt of 3 tokens, offsets after each token.
    steps = run(EMOJI, detokenizer=way).steps
    assert (steps[0].new_prefix, steps[0].new_read) == (0, 3)
    assert [(step.decoded, step.new_prefix, step.new_read) for step in steps[1:]] == [
        (" Hi", 3, 4), (" ", 4, 5), ("", 4, 5), ("😀", 5, 7), ("!", 7, 8),
    ]
    assert [(step.prefix_text, step.new_text) for step in steps[1:]] == [
        ("Say hi:", "Say hi: Hi"), (" Hi", " Hi "), (" ", " \N{REPLACEMENT CHARACTER}"), (" ", " 😀"), ("😀", "😀!"),
    ]


def test_alone_an_emoji_is_two_broken_characters_and_four_from_single_bytes():
    assert run(EMOJI).alone_broken == 2 and run(EMOJI).window_broken == 0
    assert run("_Hi _ {F0} {9F} {98} {80} !").alone_broken == 4


def test_six_of_a_stop_of_seven_are_held():
    stopped = run(SAT, stop="↵↵User:")
    assert [step.sent for step in stopped.steps[1:]] == ["", "T", "he c", "at", " sa", "t.", ""]
    assert (stopped.holdback, stopped.sent_text, len(stopped.sent_text)) == (6, "The cat sat.", 12)
    assert stopped.steps[-1].cut == "\n\nUser: hi"
    assert run(EMOJI, stop="END").holdback == 2
    assert run(EMOJI, stop="END", include_stop=True).holdback == 0


def test_a_thousand_tokens_from_the_start_are_half_a_million_decodes():
    assert detokenizer.whole_decodes(1_000) == 500_500


def test_only_the_fast_way_gives_back_what_the_prompt_had_begun():
    broken = {"prompt": "caf {C3}", "tokens": "{A9} _ ok"}
    assert run(**broken).sent_text == "café ok"
    assert run(**broken, detokenizer=SLOW).sent_text == " ok"


def test_the_slow_way_counts_characters():
    # vllm 0.33.0, detokenize_incrementally: one broken character before, two whole ones after.
    assert run("{C3 A9 78}", prompt="", detokenizer=SLOW).sent_text == "éx"
    assert run("{A9 78}", prompt="{C3}", detokenizer=SLOW).sent_text == "x"
    assert run("{A9 78}", prompt="{C3}").sent_text == "éx"


def test_half_a_character_at_the_end_is_never_sent():
    ended = run("_Hi {F0 9F 98}")
    assert ended.sent_text == " Hi" and ended.output_tokens == 2 and ended.steps[-1].pending_bytes == 3


TOKEN = st.binary(min_size=1, max_size=6).map(Token) | st.sampled_from(
    ["Hi", " ", "\n", "é", "😀", "_", ",", "a,b", "{", "\\n", "␣", "�"]).map(lambda text: Token(text.encode()))


@given(tokens=st.lists(TOKEN | st.just(Token(END, special=True)), min_size=1, max_size=12))
def test_tokens_are_read_back_as_they_are_written(tokens: list[Token]):
    text = " ".join(token.written for token in tokens)
    assert read_tokens(text, 200, "tokens") == tuple(tokens)


@given(prompt=st.lists(TOKEN, max_size=5), tokens=st.lists(TOKEN, min_size=1, max_size=15), per_step=st.integers(1, 5),
       stop=st.lists(st.sampled_from(["i", "Hi", "\n", " H"]), max_size=2), include=st.booleans())
def test_what_is_sent_is_the_text_and_no_stop(prompt: list[Token], tokens: list[Token], per_step: int, stop: list[str],
                                              include: bool):
    streamed = simulate(prompt=tuple(prompt), tokens=tuple(tokens), per_step=per_step, stop=tuple(stop),
                        include_stop=include)
    assert "".join(step.sent for step in streamed.steps) == streamed.sent_text == streamed.steps[-1].text
    if not include:
        assert not any(string in streamed.sent_text for string in stop)
    assert all(len(step.held) <= streamed.holdback for step in streamed.steps)
    if not stop and not text_of(prompt, True).endswith("\N{REPLACEMENT CHARACTER}"):
        whole = text_of([*prompt, *tokens], True)
        assert whole.startswith(text_of(prompt, True) + streamed.sent_text)


@pytest.mark.parametrize(("text", "sentence"), [
    ("{F}", "holds no bytes"), ("a,b", "comma"), ("{F0", "is no token"), ("x" * 33, "is no token"),
    ("a " * 201, "at most"),
])
def test_what_is_no_token_is_refused_in_words(text: str, sentence: str):
    with pytest.raises(Refusal, match=sentence):
        read_tokens(text, 200, "tokens")


def test_too_many_stops_are_refused():
    with pytest.raises(Refusal, match="up to 4"):
        read_stops("a|b|c|d|e")
