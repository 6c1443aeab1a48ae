"""Answers of the KV cache questions, against derivations of their own."""
import pytest

from questions import loading
from questions.content import QuestionFile
from questions.figures import Ran
from questions.runs import play
from questions.services import run_lab


def question(slug: str) -> QuestionFile:
    return loading.read_file(loading.FOLDER / "kv-cache" / f"{slug}.md")[0]


def runs_of(slug: str) -> dict[str, Ran]:
    """Every run of a question, with the file's own values."""
    return play(question(slug).runs, {}, run_lab)


def test_five_prompts_compute_167_tokens():
    # By hand: 64 tokens are four blocks of 16; a whole repeat hits floor(63 / 16) = 3, a token more floor(64 / 16) = 4.
    ran = runs_of("block-identity")
    steps = ran["five"].result.steps[1:]
    assert ran["five"].result.computed_tokens == 64 + (64 - 48) + (65 - 64) + (70 - 48) + 64
    assert [len(step.new_blocks) for step in steps] == [4, 1, 1, 2, 4]
    assert [len(step.copies) for step in steps] == [0, 1, 0, 0, 0]
    assert steps[3].agree == 62 - 48
    assert 64 + 16 + 1 + 22 + (16 + 16) == 135  # as if r5 computed its first block and the one with its last token
    assert 50_000 * 26.1e-6 > 1  # s of prefill on the 8B, beside milliseconds of hashing
    assert [step.hit_tokens for step in ran["salts"].result.steps[1:]] == [0, 0, 0, 64]
    assert ran["turns"].result.steps[2].hit_tokens == (70 + 26 - 1) // 16 * 16 == 80
    assert ran["logprobs"].result.steps[2].hit_tokens == 0


def test_a_head_of_each_prompt_strands_all_but_what_was_taken():
    # By hand: 220 x 127 blocks of 2 MiB are left; LRU with heads in front takes 128 blocks and 92 heads, 36 are behind.
    ran = runs_of("eviction-order")
    pool = ran["pool"].result
    assert pool.stranded_mib == 220 * 127 * 2
    assert [order.stranded for order in pool.orders] == [0, 128 - 92, 220 * 127, 0]
    assert pool.orders[3].hit_tokens == 220 * 127 * 16
    assert ran["one"].result.orders[0].hit_tokens == 32_768 - 16
    assert ran["demo"].result.stranded == 5
    assert ran["again"].result.steps[3].hit_tokens == 80


def test_blocks_lose_at_most_their_size_less_one():
    # By hand: 15 / 2,048, 127 / 2,048; of 31 shared tokens a block of 16 keeps 16. 15 x 26.1 us is 0.39 ms.
    ran = runs_of("radix-or-hash")
    assert ran["chat"].result.most_points == 100 * 15 / 2_048
    assert ran["coarse"].result.most_points == 100 * 127 / 2_048
    assert ran["paged"].result.points_apart == 0
    assert (ran["short"].result.block_hit_tokens, ran["short"].result.radix_hit_tokens) == (16, 31)
    assert 15 * 26.1e-3 < 0.5


def test_four_beams_share_all_but_their_last_blocks():
    # By hand: 75 blocks each of 2 MiB; 74 + 4 at least, 62 + 4 x 13 at most, 1,800 tokens of 128 KiB without blocks.
    ran = runs_of("beam-sharing")
    ends = ran["ends"].result
    assert (ends.least_mib, ends.most_mib, ends.separate_mib) == (78 * 2, 114 * 2, 4 * 75 * 2)
    assert ends.unpaged_mib == 1_800 / 8
    assert ran["apart"].result.copies == 3  # the prompt's last block, in part filled; the last holder writes in place
    assert ran["best"].result.copies == 3 * (200 - 12)
    assert (ran["apart"].result.held_blocks, ran["best"].result.held_blocks) == (114, 78)
    assert ran["loop"].result.requests == 1 + 4 * 199
    assert ran["wide"].result.logprobs == 32


def test_last_blocks_leave_half_a_block_less_half_a_token():
    # By hand: 1,760 x 7.5 tokens; 7.5 of 2,048 and of 256; 63.5 of 256 in blocks of 128, which hit 128 of 200 tokens.
    ran = runs_of("paging-waste")
    assert ran["short"].result.expected_tokens == 1_760 * 7.5
    assert ran["long"].result.expected_share == 7.5 / 2_048
    assert ran["large"].result.expected_share == 63.5 / 256
    assert ran["large"].result.hit_tokens == 128
    assert ran["half"].result.expected_tokens == ran["short"].result.expected_tokens
    assert round(1_056 / 256) == 4
    assert 8 * 16 == 128


def test_eight_bits_halve_the_kv_term_alone():
    # By hand: 16.06e9 / 2.68e12 s of weights, 103 x 4,352 x 65,536 / 2.68e12 s of KV, 0.9 ms of CPU.
    ran = runs_of("fp8-kv")
    weights, kv = 16.06e9 / 2.68e9, 103 * 4_352 * 65_536 / 2.68e9
    assert ran["full"].result.after_ms == pytest.approx(weights + kv + 0.9, rel=1e-3)
    assert ran["full"].result.before_ms == pytest.approx(weights + 2 * kv + 0.9, rel=1e-3)
    assert ran["wide"].result.doubled_sequences > ran["wide"].result.ridge
    short = 32 * 512 * 131_072 / 2.68e9
    assert 2 * (weights + short + 0.9) / (weights + 2 * short + 0.9) > 1.8  # doubled in bf16
    assert ran["packed"].result.token_bytes == 61 * 656
    assert ran["four"].result.after.token_bytes == 36 * 1_024


def test_eight_gpus_keep_a_latent_eight_times():
    # By hand: 61 x 576 x 2 B a token and GPU; the 70B has 2 x 80 x 128 x 2 B for one head, at TP 8 as at TP 16.
    ran = runs_of("mla-and-gqa")
    assert ran["latent"].result.node_request_gib == 61 * 576 * 2 * 32_768 * 8 / 2**30
    assert ran["grouped"].result.gpu_token_bytes == ran["sixteen"].result.gpu_token_bytes == 2 * 80 * 128 * 2
    assert ran["sixteen"].result.replicas == 2
    assert ran["half"].result.token_bytes == 61 * 576
    assert ran["single"].result.token_bytes == 2 * 32 * 32 * 128 * 2
    assert round(1 - 656 / 1_152, 2) == 0.43
    flops = 128 * 2 * (576 + 512)  # of all heads for one cached token of 576 values in two bytes
    assert round(flops / 1_152, -1) == 240
    assert round(flops / 8 / 1_152) == 30
    assert 8 * 2 * (128 + 128) / (2 * 128 * 2) == 8  # eight query heads to one K and V of 128 values
    more = more_on_a_data_parallel_rank()
    assert round(more) == 16
    assert [round(8 * (pool - more) / pool) for pool in (38, 40, 42, 44)] == [5, 5, 5, 5]  # times TP 8's requests


def more_on_a_data_parallel_rank() -> float:
    """GiB of DeepSeek-V3 beside routed experts that TP 8 splits and a data-parallel rank keeps whole, by its config."""
    heads = 1_536 * 128 * 192 + 512 * 128 * 256 + 128 * 128 * 7_168  # q_b, kv_b and o of a layer; a byte a weight
    absorbed = 2 * 512 * 128 * 256  # kv_b once more in bf16, as decode multiplies with it
    shared, dense = 58 * 3 * 7_168 * 2_048, 3 * 3 * 7_168 * 18_432
    embeddings = 2 * 2 * 129_280 * 7_168  # in and out, bf16
    return 7 / 8 * (61 * (heads + absorbed) + shared + dense + embeddings) / 2**30


def test_windows_and_full_layers_take_seven_groups():
    # By hand: 8,192 B a layer and token; ten layers a block of 1.25 MiB; 2,048 + 6 x 65 blocks at 32K; 64 in a row.
    ran = runs_of("hybrid-cache")
    windows = ran["windows"].result
    assert windows.decode_gib == (2_048 + 6 * 65) * 1.25 / 1_024
    assert windows.all_full_bytes == 62 * 8_192 * 32_768
    assert (len(windows.groups), windows.hit_blocks, windows.padding_layers) == (7, 64, 8)
    assert windows.window_prefill_blocks == -(-(1_023 + 2 * 8_192) // 16) + 1
    sparse, dense = ran["sparse"].result, ran["dense"].result
    assert (sparse.first_hit, sparse.second_hit, dense.first_hit) == (0, 4_096, 4_096)
    assert ran["states"].result.block_size == 2 * 1_024 // 2 == 1_024
    near = run_lab("kv-size", "hybrid", {"model": "gemma-3-27b", "full_layers": 13, "window_layers": 12}).result
    assert (len(near.groups), near.group_size) == (2, 13)  # 13 < 1.5 x 12


def test_copies_of_a_prefix_fill_the_pool_at_300_salts():
    # By hand: 450,560 / 1,500 copies; 1,500 x 26.1 us; (3 x 1 / 0.4176)^2 looks; the rates solve the fixed point.
    ran = runs_of("shared-cache-privacy")
    many = ran["many"].result
    assert many.cliff_copies == 450_560 / 1_500
    assert many.saved_when_hit_ms == pytest.approx(39.15)
    touched = 10 * 500 * many.residence_s + 1_000 * 1_500 * many.prefix_hit
    assert touched == pytest.approx(450_560)
    assert ran["few"].result.token_hit_rate == pytest.approx(0.75, abs=1e-4)
    assert ran["grouped"].result.copies == 50
    assert ran["noisy"].result.probes_needed == pytest.approx(100 * ran["probe"].result.probes_needed, rel=0.02)
