"""Capture sizes: every recorded list of vLLM 0.33.0, the default lists by GPU, and what a batch is padded to."""
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models import capture_sizes_trace
from calculators.models.base import Refusal
from calculators.models.capture_sizes import capture_sizes, padded_size

RECORD = json.loads((Path(__file__).parents[1] / "golden" / "cudagraph_sizes.json").read_text())
H100 = capture_sizes(max_num_seqs=1_024, max_num_batched_tokens=8_192)


@pytest.mark.parametrize("case", RECORD["cases"], ids=lambda case: str(case["max_num_seqs"]))
def test_every_recorded_list_and_padding(case: dict):
    assert capture_sizes_trace.first_difference(case) is None


def test_the_record_is_recognised_and_a_difference_is_named():
    assert capture_sizes_trace.recognise(RECORD) and not capture_sizes_trace.recognise({"cases": [{}]})
    changed = json.loads(json.dumps(RECORD["cases"][5]))
    changed["expect"]["padded_size"]["9"] = 12
    assert capture_sizes_trace.first_difference(changed) == "padded_size.9: ours 16, theirs 12"


@pytest.mark.parametrize(("seqs", "tokens", "blackwell", "cap", "count"), [  # VllmConfig._set_cudagraph_sizes, by hand
    (1_024, 8_192, False, 512, 51), (1_024, 16_384, True, 1_024, 83), (256, 2_048, False, 512, 51),
    (64, 8_192, False, 128, 19), (100, 8_192, False, 200, 29), (1, 8_192, False, 2, 2),
])
def test_the_default_lists(seqs: int, tokens: int, blackwell: bool, cap: int, count: int):
    sizes = capture_sizes(max_num_seqs=seqs, max_num_batched_tokens=tokens, datacenter_blackwell=blackwell)
    assert (sizes[-1], len(sizes)) == (cap, count)


@pytest.mark.parametrize(("tokens", "size"), [  # the next of 1, 2, 4, every 8 below 256, every 16 above
    (3, 4), (5, 8), (9, 16), (17, 24), (129, 136), (257, 272), (500, 512), (512, 512), (513, None),
])
def test_a_batch_runs_at_the_next_captured_size(tokens: int, size: int | None):
    assert padded_size(H100, tokens) == size


@pytest.mark.parametrize(("numbers", "rows", "percent"), [  # 875 of 33,771 and 1,920 of 100,352 rows, by hand
    (range(1, 257), 3.42, 2.6), (range(257, 513), 7.5, 1.9),
])
def test_a_mean_batch_wastes_a_few_rows(numbers: range, rows: float, percent: float):
    sizes = [padded_size(H100, n) for n in numbers]
    empty = sum(sizes) - sum(numbers)
    assert (round(empty / 256, 2), round(100 * empty / sum(sizes), 1)) == (rows, percent)


def test_drafts_bring_the_sizes_of_whole_requests_within_the_cap():
    sizes = capture_sizes(max_num_seqs=256, max_num_batched_tokens=8_192, num_speculative_tokens=3)
    assert sizes[-1] == 512 == 4 * 128  # 128 sequences with three drafts each
    assert {4, 8, 16, 32, 64, 96} <= set(sizes)


def test_a_cap_of_ones_own_adds_nothing_off_the_grid():
    sizes = capture_sizes(max_num_seqs=100, max_num_batched_tokens=8_192, user_max_capture_size=110)
    assert sizes[-1] == 104 and 100 not in sizes


def test_sizes_and_cap_that_contradict_each_other_are_refused_in_the_engines_words():
    with pytest.raises(Refusal, match=r"max_cudagraph_capture_size\(=128\) should be consistent"):
        capture_sizes(max_num_seqs=256, max_num_batched_tokens=8_192, user_capture_sizes=(1, 64),
                      user_max_capture_size=128)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 4_096), st.integers(1, 20_000), st.integers(0, 16), st.booleans(),
       st.sampled_from(("balanced", "interactivity")))
def test_the_list_ascends_within_the_cap_and_the_step(seqs: int, tokens: int, drafts: int, blackwell: bool, mode: str):
    sizes = capture_sizes(max_num_seqs=seqs, max_num_batched_tokens=tokens, num_speculative_tokens=drafts,
                          datacenter_blackwell=blackwell, performance_mode=mode)
    assert sizes[0] == 1 and list(sizes) == sorted(set(sizes))
    assert sizes[-1] <= min(tokens, 2 * seqs * (1 + drafts), 1_024 if blackwell else 512)
    for size in sizes:
        assert padded_size(sizes, size) == size
    assert padded_size(sizes, sizes[-1] + 1) is None
