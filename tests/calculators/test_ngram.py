"""Drafts by prompt lookup: recorded look-ups of the engine, the worked rename, and what holds for any text."""
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs.ngram import RENAME, RENAMED
from calculators.models import ngram_trace
from calculators.models.base import Refusal
from calculators.models.ngram import EARLIEST, LATEST, Match, Ngram, find, simulate

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "ngram.json").read_text())


def run(prompt: str = RENAME, output: str = RENAMED, min_n: int = 5, max_n: int = 5, **changed: object) -> Ngram:
    usual = {"num_speculative_tokens": 5, "place": LATEST, "pad": True, "max_model_len": 4096, "max_num_seqs": 1024}
    return simulate(prompt=tuple(prompt.split()), output=tuple(output.split()), prompt_lookup_min=min_n,
                    prompt_lookup_max=max_n, **usual | changed)


@pytest.mark.parametrize(("name", "difference"), list(ngram_trace.cases(RECORDED, "ngram")))
def test_every_recorded_draft_comes_out(name: str, difference: str | None) -> None:
    assert difference is None, name


def test_a_changed_record_is_named() -> None:
    case = RECORDED["cases"][0] | {"expect": [4]}
    assert ngram_trace.first_difference(case) == "draft: ours [4, 1], theirs [4]"


def test_the_rename_is_46_and_37_tokens() -> None:
    assert (len(RENAME.split()), len(RENAMED.split())) == (46, 37)
    assert run().plain_steps == 36  # the prefill gives the first


# A simulation of the same text on paper: min, max, steps, matches, drafted by matches, accepted, rates
@pytest.mark.parametrize(
    ("low", "steps", "matches", "matched", "accepted", "matched_rate", "a_step", "verified", "rate"), [
        (5, 22, 4, 20, 14, "70%", "1.64", 110, "12.7%"),
        (2, 16, 8, 40, 20, "50%", "2.25", 80, "25.0%"),
        (1, 13, 13, 62, 23, "37%", "2.77", 65, "35.4%"),
    ])
def test_a_short_match_takes_fewer_steps_at_a_lower_rate(low: int, steps: int, matches: int, matched: int,
                                                         accepted: int, matched_rate: str, a_step: str, verified: int,
                                                         rate: str) -> None:
    total = run(min_n=low).totals
    assert (total.steps, total.matches, total.matched_drafted, total.accepted) == (steps, matches, matched, accepted)
    assert (f"{total.matched_rate:.0%}", f"{total.tokens_per_step:.2f}") == (matched_rate, a_step)
    assert (total.drafted, f"{total.rate:.1%}") == (verified, rate)
    assert total.steps + total.accepted == 36


@pytest.mark.parametrize(("low", "steps", "accepted"), [(5, 22, 14), (2, 16, 20), (1, 14, 22)])
def test_the_older_runner_takes_the_earliest(low: int, steps: int, accepted: int) -> None:
    total = run(min_n=low, place=EARLIEST, pad=False).totals
    assert (total.steps, total.accepted, total.drafted) == (steps, accepted, total.matched_drafted)


def test_the_default_locks_on_after_five_tokens_and_loses_it_at_the_rename() -> None:
    steps = run().steps
    assert [step.emitted for step in steps[1:3]] == [("load",), ("(",)]
    assert steps[3].draft == ("uid", ")", ":", "NL", "user")
    assert (steps[3].accepted, steps[3].emitted[-1]) == (4, "account")
    assert [step.match.n for step in steps[4:9]] == [0] * 5


def test_the_latest_and_the_earliest_place_differ() -> None:
    text = list("abxabyab")
    assert find(text, 2, 2, LATEST) == Match(2, 3) and find(text, 2, 2, EARLIEST) == Match(2, 0)


def test_filler_repeats_the_last_token_and_may_be_right() -> None:
    steps = run("p q", "a a a a b", 5, 5).steps
    assert steps[1].draft == ("a",) * 5 and steps[1].filler == 5
    assert steps[1].emitted == ("a", "a", "a", "b")
    assert run("p q", "a a a a b", 5, 5, pad=False).totals.drafted == 0


def test_no_draft_passes_the_models_length() -> None:
    assert run("a b c a b", "c a b", 1, 5, max_model_len=8).steps[1].draft == ("a", "b")


def test_the_table_of_tokens_takes_half_a_gib_at_a_long_context() -> None:
    assert run(max_model_len=131_072).history_bytes == 512 * 2**20  # 1024 × 131,072 × 4 B


def test_min_above_max_and_a_text_too_long_are_refused() -> None:
    with pytest.raises(Refusal, match="min is 6 and max 5"):
        run(min_n=6)
    with pytest.raises(Refusal, match="83 tokens; the model's length is 80"):
        run(max_model_len=80)


WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=40).map(" ".join)


@settings(max_examples=100, deadline=None)
@given(WORDS, WORDS, st.integers(1, 4), st.integers(0, 4), st.integers(1, 6), st.sampled_from((LATEST, EARLIEST)),
       st.booleans())
def test_every_token_comes_out_once(prompt: str, output: str, low: int, more: int, k: int, place: str,
                                    pad: bool) -> None:
    result = run(prompt, output, low, low + more, num_speculative_tokens=k, place=place, pad=pad)
    assert sum((step.emitted for step in result.steps), ()) == tuple(output.split())
    for step in result.steps:
        assert step.accepted <= len(step.draft) <= k and len(step.emitted) - step.accepted in (0, 1)
    assert sum(result.accepted_by_position) == result.totals.accepted
    ended_in_draft = len(result.steps[-1].emitted) == result.steps[-1].accepted
    assert result.totals.steps + result.totals.accepted - ended_in_draft == result.plain_steps
