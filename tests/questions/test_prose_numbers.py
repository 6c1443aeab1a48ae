"""Every number in the prose is a figure, a given of the question or sourced; the others are redone, here or beside
their topic's answers."""
import ast
import inspect
from collections.abc import Callable, Mapping
from math import ceil, log

import pytest

from calculators.models.step_time import Machine
from questions import loading
from questions.figures import Ran
from questions.runs import play
from questions.services import run_lab
from tests.questions import test_engine_answers as engine
from tests.questions import test_kernels_answers as kernels
from tests.questions import test_kv_cache_answers as kv_cache
from tests.questions import test_sampling_answers as sampling
from tests.questions import test_scale_out_answers as scale_out
from tests.questions import test_sizing_answers as sizing
from tests.questions.prose_numbers import Loose, loose_numbers

H100_FLOP, H100_BYTES = 989e12, 3.35e12
# Numbers as written, and the test that works them out.
BY_TEST: dict[str, tuple[Callable[..., None], str]] = {
    "worker-state-diffs": (engine.test_a_steps_message_is_within_6_percent_of_pickles_of_the_real_classes, "17"),
    "model-runner-v2": (engine.test_what_stays_on_the_cpu_sets_the_new_runners_step, "4 512"),
    "laptop-or-datacenter": (
        engine.test_the_gpu_leads_up_to_58_users_and_the_measured_shares_are_as_told, "225 500 18 8.2"),
    "stream-detokenize": (engine.test_eight_of_fourteen_characters_are_out_when_the_emoji_is_whole, "1.5"),
    "block-identity": (kv_cache.test_five_prompts_compute_167_tokens, "119"),
    "mla-and-gqa": (kv_cache.test_eight_gpus_keep_a_latent_eight_times, "32 128 576 240 30"),
    "hybrid-cache": (kv_cache.test_windows_and_full_layers_take_seven_groups, "2"),
    "memory-ledger": (sizing.test_the_ledgers_buffers_and_peak_by_hand, "4"),
    "refuses-to-start": (sizing.test_no_utilization_can_start_the_pair, "80 160 131 19 14.3 27.0"),
    "host-memory-growth": (
        sizing.test_growth_goes_by_requests_and_not_by_minutes, "600 60 90 120 493 215 20,400 9,600"),
    "parallelism-choice": (sizing.test_what_tensor_parallelism_sends_and_reads, "160 134 8,192 139 21.5 756 48"),
    "quantize-what": (sizing.test_gains_of_fp8_by_hand, "128"),
    "same-seed-different-text": (sampling.test_the_same_five_terms_come_to_256_and_to_258, "0.125"),
    "graph-padding": (kernels.test_the_prose_of_padding_adds_up, "128"),
    "roofline-ridge": (kernels.test_intensity_ends_at_one_sequences_flops_over_its_own_kv, "4"),
    "metrics-that-matter": (kernels.test_what_queue_and_prefill_leave_of_ttft_is_the_front_end, "4"),
    "hot-experts": (scale_out.test_a_rank_of_thirty_two_sends_all_its_experts_in_half_a_second, "23.0 0.46"),
}
# Numbers as written, and their arithmetic.
BY_HAND: dict[str, dict[str, float]] = {
    "stream-detokenize": {"1,000": 2 * 500_500 / 1_001},  # the lab's 500,500 tokens are those of n (n + 1) / 2
    "laptop-or-datacenter": {"16": 2 * 8},  # bits of bf16
    "preemption-victim": {"159": 64 + 96 - 1, "30": 3 * ceil(159 / 16)},
    "recompute-or-move": {"320": 80 * 2 * 8 * 128 * 2 / 1_024},  # KiB a token of the 70B
    "long-prompt-fairness": {"1,170": 8_192 / 7, "1,536": 6 * 256, "125": 32_000 / 256},
    "overload-queueing": {"100": 1 / (1 - 0.99), "4.6": log(100)},
    "radix-or-hash": {"100": 1 / 0.01},  # points
    "fp8-kv": {"62": 100 * Machine().flop_per_s / H100_FLOP, "80": 100 * Machine().bytes_per_s / H100_BYTES},
    "mla-and-gqa": {"192": 128 + 64},
    "hybrid-cache": {"13": 25 - 12, "25": 12 + 13},
    "three-flags": {"80": 160 / 2},  # GB on the label of each of two cards
    "refuses-to-start": {"141": 2 * sizing.SEVENTY[-1] / 1e9},
    "host-memory-growth": {"21": 20 + 1, "0.2": 100 * 0.002},
    "kv-concurrency": {"2": 16 / 8},  # bytes of bf16
    "parallelism-choice": {"80": sizing.SEVENTY[0]},
    "quantize-what": {"20": 16 + 4},  # bits that a group adds: a scale of 16 and a zero point of 4
    "grammar-mask": {"32": 4 * 8, "31": 4 * 8 - 1},
    "same-seed-different-text": {"258": 256 + 2},
    "ttft-after-deploy": {"100": 1 / (1 - 0.99)},
    "hot-experts": {"286": 256 + 30, "30": 286 - 256, "24": 280 - 256},  # 280 divides by 8
    "aligned-prefills": {"16": 2 * 8},  # the last of the doubling intervals
    "split-prefill-decode": {"400": 50 * 8},  # Gb/s
    "nixl-pull": {"1": 100 * 40 / 3_350},  # 40 GB/s of an H100's 3,350
    "sick-rank": {"11": 100 * (1.114 - 1)},
}


@pytest.fixture(scope="module")
def loose_by_slug(real_bank: loading.Bank) -> dict[str, list[Loose]]:
    """The numbers of every question that stand for themselves."""
    return {
        slug: list(loose_numbers(document, play(document.runs, {}, run_lab)))
        for slug, document in real_bank.questions.items()
    }


def redone(slug: str) -> set[float]:
    """The numbers of a question that a test works out."""
    numbers = [*BY_TEST.get(slug, (None, ""))[1].split(), *BY_HAND.get(slug, {})]
    return {float(number.replace(",", "")) for number in numbers}


def test_every_number_in_the_prose_is_accounted_for(loose_by_slug: Mapping[str, list[Loose]]):
    loose = [
        f"{slug}, {one.where}: {one.written} {one.unit} in “{one.sentence}”"
        for slug, numbers in loose_by_slug.items() for one in numbers if one.value not in redone(slug)
    ]
    assert loose == []


def test_no_number_is_redone_that_the_prose_no_longer_has(loose_by_slug: Mapping[str, list[Loose]]):
    for slug in BY_TEST.keys() | BY_HAND.keys():
        assert redone(slug) <= {one.value for one in loose_by_slug[slug]}, slug


@pytest.mark.parametrize("slug", BY_HAND)
def test_the_arithmetic_comes_to_what_is_written(slug: str):
    for written, worked_out in BY_HAND[slug].items():
        assert abs(worked_out - float(written.replace(",", ""))) <= last_place(written) / 2, written


@pytest.mark.parametrize("slug", BY_TEST)
def test_the_test_that_is_named_works_the_numbers_out(slug: str):
    test, written = BY_TEST[slug]
    worked_out = numbers_in_source(test)
    assert {float(number.replace(",", "")) for number in written.split()} <= worked_out


def last_place(written: str) -> float:
    """What the last digit that says something stands for: 0.01 for 0.46, 10 for 1,170."""
    decimals = len(written.partition(".")[2])
    digits = written.replace(",", "")
    return 10.0**-decimals if decimals else 10.0 ** (len(digits) - len(digits.rstrip("0")))


def numbers_in_source(test: Callable[..., None]) -> set[float]:
    """Every number that stands in a test, those in quotes included."""
    found = set()
    for node in ast.walk(ast.parse(inspect.getsource(test))):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str)):
            try:
                found.add(float(node.value))
            except ValueError:
                continue
    return found


RAN = {"lab": Ran(inputs={"ranks": 48, "hit_percent": 60}, result=None)}
SOURCE = {"id": "doc", "url": "https://example.org", "date": "2026"}


@pytest.mark.parametrize(
    ("prose", "loose"),
    [
        ("It takes 37 ms.", ["37"]), ("It takes 37 ms[^doc].", []), ("It takes [[lab.ranks]] ms.", []),
        ("Since 0.21 `--flag 37` of an H100 serves Llama-3.1-8B in W8A8 at TP 4, P99.", []),
        ("Three of 4 ranks wait; 5 GiB are held.", ["5"]), ("All 48 ranks hit 60%.", []), ("48 GiB.", []),
        ("37 of them, 37 ms[^doc].", []), ("37 ms. So 37 ms[^doc].", []), ("It reaches 37% as a rule.", []),
        ("0.37 s and 1,037 tokens and 2.5× as many, at 73.7k.", ["0.37", "1,037", "2.5", "73.7"]),
        ("| 37 | rows |", ["37"]), ("In August 2026 it was 100%.", []),
    ],
)
def test_what_counts_as_a_loose_number(real_bank: loading.Bank, prose: str, loose: list[str]):
    document = loading.QuestionFile("topic", "slug", said_aloud=prose, runs={"lab": {"lab": "x"}}, sources=[SOURCE])
    assert [one.written for one in loose_numbers(document, RAN)] == loose
