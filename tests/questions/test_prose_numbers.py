"""Every number in the prose is a figure, or sourced, or a card's; the others are redone, here or beside their topic's
answers, or are rules of thumb with a reason to stand."""
import ast
import inspect
from collections.abc import Callable, Mapping
from math import ceil, log

import pytest

from calculators.models.catalogue import BF16, BITS, INT4, MODELS, NVFP4
from calculators.models.epp import QUEUE_AT_ZERO
from calculators.models.sick_rank import PROBE_S
from calculators.models.speculation import LONGER
from calculators.models.step_time import Machine
from questions import loading
from tests.questions import test_engine_answers as engine
from tests.questions import test_kernels_answers as kernels
from tests.questions import test_kv_cache_answers as kv_cache
from tests.questions import test_sampling_answers as sampling
from tests.questions import test_scale_out_answers as scale_out
from tests.questions import test_sizing_answers as sizing
from tests.questions.prose_numbers import Loose, loose_numbers, numbers_of

H100_FLOP, H100_BYTES = 989e12, 3.35e12
DEEPSEEK, LLAMA_70B, GEMMA = MODELS["deepseek-v3"], MODELS["llama-3.1-70b"], MODELS["gemma-3-27b"]
STEP_TIME = "How far the step-time rule says that its times may be off."
# Numbers as written, with their units, and the test that works them out.
BY_TEST: dict[str, tuple[Callable[..., None], str]] = {
    "worker-state-diffs": (engine.test_a_steps_message_is_within_6_percent_of_pickles_of_the_real_classes, "17 bytes"),
    "model-runner-v2": (engine.test_what_stays_on_the_cpu_sets_the_new_runners_step, "4 bytes, 4 GiB"),
    "laptop-or-datacenter": (
        engine.test_the_gpu_leads_up_to_58_users_and_the_measured_shares_are_as_told, "225, 500 tokens, 18 s, 8.2 s"),
    "block-identity": (kv_cache.test_five_prompts_compute_167_tokens, "4, 135"),
    "mla-and-gqa": (
        kv_cache.test_eight_gpus_keep_a_latent_eight_times,
        "32, 128, 576, 240 FLOPs, 240, 30, 1,152, 8, 16 GiB"),
    "hybrid-cache": (
        kv_cache.test_windows_and_full_layers_take_seven_groups, "2 MiB, 2 KiB, 1,024 tokens, 12, 13, 13 layers"),
    "paging-waste": (kv_cache.test_last_blocks_leave_half_a_block_less_half_a_token, "128 tokens"),
    "memory-ledger": (sizing.test_the_ledgers_buffers_and_peak_by_hand, "4 bytes"),
    "refuses-to-start": (
        sizing.test_no_utilization_can_start_the_pair, "80, 80 GB, 160, 131, 7, 19 GB, 14.3 GiB, 27.0 GiB"),
    "host-memory-growth": (
        sizing.test_growth_goes_by_requests_and_not_by_minutes,
        "600 tokens, 60, 90, 120, 493 MiB, 215, 20,400, 9,600 requests"),
    "parallelism-choice": (
        sizing.test_what_tensor_parallelism_sends_and_reads,
        "160, 134 MB, 8,192 tokens, 139 GB, 21.5 GB, 756 GiB, 48 GiB"),
    "quantize-what": (sizing.test_gains_of_fp8_by_hand, "128"),
    "mask-overlap": (sampling.test_three_drafts_bring_the_mask_out_from_under_the_forward, "1,024 tokens"),
    "same-seed-different-text": (sampling.test_the_same_five_terms_come_to_256_and_to_258, "0.125, 256, 1,000"),
    "graph-padding": (kernels.test_the_prose_of_padding_adds_up, "128 requests"),
    "roofline-ridge": (kernels.test_intensity_ends_at_one_sequences_flops_over_its_own_kv, "4 FLOP, 4"),
    "metrics-that-matter": (kernels.test_what_queue_and_prefill_leave_of_ttft_is_the_front_end, "4 ms"),
    "hot-experts": (
        scale_out.test_a_rank_of_thirty_two_sends_all_its_experts_in_half_a_second, "23.0 GB, 0.46 s, 50 GB/s"),
    "split-prefill-decode": (scale_out.test_mfu_moves_the_prefill_by_a_quarter_up_and_a_sixth_down, "40%, 60%"),
}
# Numbers as written, with their units, and their arithmetic.
BY_HAND: dict[str, dict[str, float]] = {
    "stream-detokenize": {
        "1,000 tokens": 2 * 500_500 / 1_001,  # the lab's 500,500 tokens are those of n (n + 1) / 2
        "9": 8 + 1,  # a wrong option's: one token of the emoji twice
    },
    "laptop-or-datacenter": {"16": 2 * 8},  # bits of bf16
    "model-runner-v2": {"1,000,000": 4 * 2**30 / (1_024 * 4)},
    "preemption-victim": {"159": 64 + 96 - 1, "10 blocks": ceil(159 / 16), "30": 3 * ceil(159 / 16)},
    "recompute-or-move": {
        "320 KiB": 80 * 2 * 8 * 128 * 2 / 1_024, "62%": 100 * Machine().flop_per_s / H100_FLOP,
    },
    "long-prompt-fairness": {"1,170": 8_192 / 7, "1,536": 6 * 256, "125": 32_000 / 256},
    "overload-queueing": {"100": 1 / (1 - 0.99), "4.6×": log(100), "100×": 1 / (1 - 0.99)},
    "budget-dial": {"100": 1 / (1 - 0.99)},
    "radix-or-hash": {"100": 1 / 0.01, "15 tokens": 16 - 1},  # points; a block less the last
    "fp8-kv": {
        "62%": 100 * Machine().flop_per_s / H100_FLOP, "80%": 100 * Machine().bytes_per_s / H100_BYTES,
        "16": 8 / (BITS[NVFP4] - 4),  # values that share a scale of eight bits
    },
    "mla-and-gqa": {
        "192": 128 + 64, "80 layers": LLAMA_70B.layers, "80": LLAMA_70B.layers, "512": DEEPSEEK.latent,
        "64": DEEPSEEK.rope, "2 bytes": 16 / 8,
    },
    "hybrid-cache": {
        "16": GEMMA.kv_heads, "128": GEMMA.head_dim, "2 bytes": 16 / 8,
    },
    "three-flags": {"80 GB": 160 / 2},  # on the label of each of two cards
    "host-memory-growth": {"21": 20 + 1, "0.2%": 100 * 0.002},
    "kv-concurrency": {"2 bytes": 16 / 8},
    "parallelism-choice": {"80 layers": sizing.SEVENTY[0]},
    "quantize-what": {
        "20": 16 + 4,  # bits that a group adds: a scale of 16 and a zero point of 4
        "4": BITS[INT4] - 20 / 128, "8": 16 * (BITS[NVFP4] - 4), "16": BITS[BF16], "200": 4 * 100_000 / 2_000,
        "2K": 4 * 100_000 / 200,
    },
    "draft-tokens-budget": {"4": LONGER},
    "grammar-mask": {"32": 4 * 8, "31": 4 * 8 - 1, "4": 32 / 8},
    "same-seed-different-text": {"258": 256 + 2, "16": 2**4, "32": 2**5},  # bf16 steps by 1/8 between these
    "roofline-ridge": {"32×": 256 / 8},
    "ttft-after-deploy": {"100": 1 / (1 - 0.99)},
    "hot-experts": {
        "16 experts": 8 * 2, "286": 256 + 30, "30": 286 - 256, "24": 280 - 256, "32": 288 - 256,  # both divide by 8
    },
    "aligned-prefills": {"100 steps": 1 / (1 - 0.99)},
    "endpoint-picker": {"8": QUEUE_AT_ZERO},
    "nixl-pull": {"1%": 100 * 40 / 3_350},  # 40 GB/s of an H100's 3,350
    "sick-rank": {"11%": 100 * (1.114 - 1), "5 s": PROBE_S},
}
# Rules of thumb that no source is named for, and why they may stand.
RULES: dict[str, dict[str, str]] = {
    "fp8-kv": {"30%": STEP_TIME}, "budget-dial": {"30%": STEP_TIME}, "long-replies": {"30%": STEP_TIME},
    "overload-queueing": {
        "70%": "The mean wait of M/M/1 is 0.7 / 0.3 services there, the two that the prose says.",
        "80%": "The mean wait of M/M/1 is 0.8 / 0.2 services there, the four that the prose says.",
    },
    "recompute-or-move": {
        "5 µs": "The least that the lab's launches are drawn with.", "10 µs": "The most that they are drawn with.",
    },
}


@pytest.fixture(scope="module")
def loose_by_slug(real_bank: loading.Bank) -> dict[str, list[Loose]]:
    """The numbers of every question that are neither sourced nor the value of a card that it leans on."""
    found = {}
    for slug, document in real_bank.questions.items():
        cards = [real_bank.notes[name] for name in loading.read_cards().get(slug, ())]
        found[slug] = list(loose_numbers(document, [(card.value, card.unit) for card in cards]))
    return found


def accounted(slug: str) -> list[Loose]:
    """The numbers of a question that stand in the tables above."""
    texts = [*BY_TEST.get(slug, (None, ""))[1].split(", "), *BY_HAND.get(slug, ()), *RULES.get(slug, ())]
    return [as_number(text) for text in texts if text]


def as_number(text: str) -> Loose:
    """A number of the tables, such as "320 KiB", read as one of the prose is."""
    return Loose(*next(numbers_of(text)))


def test_every_number_in_the_prose_is_accounted_for(loose_by_slug: Mapping[str, list[Loose]]):
    loose = [
        f"{slug}, {one.where}: {one.written} {one.unit} in “{one.sentence}”"
        for slug, numbers in loose_by_slug.items() for one in numbers
        if not any(known.amount.vouches_for(one.amount) for known in accounted(slug))
    ]
    assert loose == []


def test_no_number_is_accounted_for_that_the_prose_no_longer_has(loose_by_slug: Mapping[str, list[Loose]]):
    gone = [
        f"{slug}: {known.written} {known.unit}" for slug in BY_TEST.keys() | BY_HAND.keys() | RULES.keys()
        for known in accounted(slug) if not any(known.amount.vouches_for(one.amount) for one in loose_by_slug[slug])
    ]
    assert gone == []


@pytest.mark.parametrize("slug", BY_HAND)
def test_the_arithmetic_comes_to_what_is_written(slug: str):
    for text, worked_out in BY_HAND[slug].items():
        number = as_number(text)
        worked_out = worked_out / 1_000 if number.written[-1] == "K" else worked_out
        digits = number.written.rstrip("K")
        assert abs(worked_out - float(digits.replace(",", ""))) <= last_place(digits) / 2, text


@pytest.mark.parametrize("slug", BY_TEST)
def test_the_test_that_is_named_works_the_numbers_out(slug: str):
    test, texts = BY_TEST[slug]
    assert {as_number(text).value for text in texts.split(", ")} <= numbers_in_source(test)


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


SOURCE = {"id": "doc", "url": "https://example.org", "date": "2026"}


@pytest.mark.parametrize(
    ("prose", "loose"),
    [
        ("It takes 37 ms.", ["37"]), ("It takes 37 ms[^doc].", []), ("It takes [[lab.ranks]] ms.", []),
        ("Since 0.21 `--flag 37` of an H100 serves Llama-3.1-8B in W8A8 at TP 4, in 16 bits, P99.", []),
        ("Three of 3 ranks wait for 4; 3 GiB are held.", ["4", "3"]),
        ("37 ms[^doc]. So 37 ms, which is 0.037 s and no 37 GiB.", ["37"]),
        ("37 of 90 tokens[^doc]. So 37 of them, not 37%, and 90 tokens, not 90 blocks.", ["37", "90"]),
        ("It reaches 37% as a rule.", ["37"]), ("From 5 to 10 µs[^doc].", []),
        ("10 µs[^doc]. From 5 to 10 µs.", ["5"]),
        ("0.37 s and 1,037 tokens and 2.5× as many, at 73.7k.", ["0.37", "1,037", "2.5", "73.7k"]),
        ("Four hundred of twenty-one thousand at the 21st.", ["400", "21", "1,000"]),
        ("| 37 | rows |", ["37"]), ("In August 2026 it was 100%, of a few hundred.", []), ("At 62% of 48 GB.", ["62"]),
    ],
)
def test_what_counts_as_a_loose_number(prose: str, loose: list[str]):
    document = loading.QuestionFile("topic", "slug", said_aloud=prose, sources=[SOURCE])
    assert [one.written for one in loose_numbers(document, [(48, "GB")])] == loose


def test_a_source_in_another_part_stands_behind_a_number_with_the_same_unit_alone():
    document = loading.QuestionFile(
        "topic", "slug", said_aloud="37 of 90 ms[^doc].", catch="So 37, within 90 ms.", sources=[SOURCE])
    assert [one.written for one in loose_numbers(document)] == ["37"]
