"""Answers of the kernels questions, against derivations of their own and the plain arithmetic in their prose."""
from math import log

import pytest

from calculators.models.capture_sizes import capture_sizes
from questions import loading
from questions.content import QuestionFile
from questions.figures import Ran
from questions.runs import play
from questions.services import run_lab

H100_FLOP, H100_BYTES = 989e12, 3.35e12
PARAMETERS, WEIGHTS, KV_BYTES = 8.03e9, 16.06e9, 131_072  # of the 8B; KV: 2 * 32 layers * 8 heads * 128 * 2 bytes


def question(slug: str) -> QuestionFile:
    return loading.read_file(loading.FOLDER / "kernels" / f"{slug}.md")[0]


def runs_of(slug: str) -> dict[str, Ran]:
    """Every run of a question, with the file's own values."""
    return play(question(slug).runs, {}, run_lab)


def test_32_layers_make_33_pieces_of_51_sizes_and_51_full_graphs():
    # By hand: 1, 2, 4; 8 to 248 by 8; 256 to 512 by 16.
    sizes = [1, 2, 4, *range(8, 256, 8), *range(256, 513, 16)]
    ran = runs_of("piecewise-graphs")
    assert ran["default"].result.graphs == 33 * len(sizes) + len(sizes) == 1_734
    assert ran["default"].result.piecewise_launches == 33 + 32 * 3
    assert (ran["drafts"].result.mode, ran["plain"].result.mode) == ("PIECEWISE", "FULL_DECODE_ONLY")
    assert ran["uniform"].result.mode == "FULL_AND_PIECEWISE"
    assert round(5.98 / 4.07, 1) == 1.5  # what moved the default, in requests/s


def test_empty_rows_cost_nothing_while_reading_takes_longer():
    ran = runs_of("graph-padding")
    read_ms = (WEIGHTS + 129 * 1_024 * KV_BYTES) / H100_BYTES * 1e3
    multiply_ms = 2 * PARAMETERS * 136 / H100_FLOP * 1e3
    assert ran["pad"].result.batch.padded_step_ms == pytest.approx(max(read_ms, multiply_ms), rel=1e-3)
    assert multiply_ms < read_ms and ran["pad"].result.batch.cost_ms == 0
    assert ran["bound"].result.batch.cost_ms == pytest.approx(2 * PARAMETERS * 6 / 312e12 * 1e3, rel=1e-3)


def test_the_prose_of_padding_adds_up():
    ran = runs_of("graph-padding")
    assert round(16 / 9 - 1, 2) == 0.78
    assert 512 // (1 + 3) == 128 and ran["drafts"].result.batch.graph == "none"
    assert 200 - 9 == 191 and 200 in ran["pad"].result.sizes
    assert round(245_840 / 769_888, 1) == 0.3
    assert len(ran["pod"].result.sizes) == 8


def test_eight_ranks_wait_for_launches_and_one_gpu_does_not():
    # By hand: 392 kernels, 6 us each; 33 pieces of 8 us and 96 eager operations of 6; bytes of a rank over bandwidth.
    ran = runs_of("launch-bound")
    split, one = ran["split"].result, ran["one"].result
    assert split.eager.cpu_ms == pytest.approx(392 * 6e-3)
    assert split.piecewise.cpu_ms == pytest.approx(33 * 8e-3 + 96 * 6e-3)
    assert split.gpu_ms == pytest.approx(WEIGHTS / 8 / H100_BYTES * 1e3, rel=1e-3)
    assert split.gpu_ms < split.piecewise.cpu_ms < split.eager.cpu_ms
    assert one.gpu_ms == pytest.approx(WEIGHTS / H100_BYTES * 1e3, rel=1e-3) and one.gpu_ms > one.eager.cpu_ms
    assert ran["slow"].result.eager.cpu_ms == pytest.approx(328 * 15e-3)


def test_intensity_ends_at_one_sequences_flops_over_its_own_kv():
    ran = runs_of("roofline-ridge")
    attention = 4 * 32 * 4_096 * 2_048
    limit = (2 * PARAMETERS + attention) / (2_048 * KV_BYTES)
    assert ran["long"].result.limit_intensity == pytest.approx(limit) and limit < H100_FLOP / H100_BYTES
    assert attention / (2_048 * KV_BYTES) == 4  # attention's own share of it, at any context
    linear = 2 * PARAMETERS * 512 / H100_FLOP * 1e3
    reads = 512 * 2_048 * KV_BYTES / H100_BYTES * 1e3
    assert ran["crowd"].result.per_kernel_ms == pytest.approx(linear + reads, rel=1e-3)
    assert 256 / 8 == 32  # experts over those a token takes


def test_the_wait_after_a_rollout_is_service_over_idle_time_by_a_logarithm():
    ran = runs_of("ttft-after-deploy")
    service, busy = 4_000 * 0.8 / 25_000, 6 * 4_000 * 0.8 / 25_000
    assert ran["deploy"].result.p99_wait_s == pytest.approx(service / (1 - busy) * log(100 * busy))
    assert ran["two"].result.after.busy_share == pytest.approx(busy / 2)


def test_a_pool_8_percent_smaller_costs_2_percent():
    ran = runs_of("slower-after-upgrade")
    pace = {count: count / (WEIGHTS + count * 2_048 * KV_BYTES) for count in (440_000 // 2_048, 405_000 // 2_048)}
    before, after = pace.values()
    assert ran["evidence"].result.pool_cost_percent == pytest.approx(100 * (1 - after / before))
    assert ran["evidence"].result.errors == pytest.approx(12 / (2 * (2 / 3) ** 0.5))
    assert len(ran["diff"].result.moved_defaults) == 5
    assert ran["diff"].result.hurting == ran["diff"].result.helping == 3
    assert not ran["small"].result.shown


def test_two_flags_leave_one_backend_and_taking_one_away_leaves_a_better():
    # As read in vllm 0.33.0, platforms/cuda.py and v1/attention/backends/mla: 16 bits alone, blocks of 64, Blackwell.
    ran = runs_of("attention-backends")
    passed = {each.name: each.reasons for each in ran["after"].result.candidates if not each.chosen}
    assert passed == {
        "FLASH_ATTN_MLA": ("kv_cache_dtype not supported",), "FLASHMLA": ("block_size not supported",),
        "FLASHINFER_MLA": ("block_size not supported", "compute capability not supported"),
    }
    assert [ran[name].result.chosen for name in ("before", "after", "freed")] == [
        "FLASH_ATTN_MLA", "TRITON_MLA", "FLASHMLA",
    ]
    assert "precluded higher-priority backend(s) FLASHMLA" in ran["after"].result.warning


def test_a_start_meets_90_seconds_with_both_changes_alone():
    # By hand: 15 + 141.1 / rate + compilation + 5 + 51 * 0.392 + 5.
    ran = runs_of("cold-start")
    fixed = 15 + 5 + 51 * 0.392 + 5
    said = {"cold": 141.1 + 60, "disk": 141.1 / 6 + 60, "cache": 141.1 + 5, "both": 141.1 / 6 + 5}
    assert {name: ran[name].result.total_s for name in said} == pytest.approx(
        {name: fixed + rest for name, rest in said.items()},
    )
    assert [name for name in said if ran[name].result.meets] == ["both"]
    assert len(capture_sizes(max_num_seqs=64, max_num_batched_tokens=8_192)) == ran["fewer"].inputs["capture_sizes"]


def test_what_queue_and_prefill_leave_of_ttft_is_the_front_end():
    front = runs_of("metrics-that-matter")["front"].result
    means = [timing.mean_s for timing in front.timings]
    assert front.front_end_s == pytest.approx(means[0] - means[1] - means[2])
    assert front.front_end_s == pytest.approx(0.092 / (1 - 0.92))  # one server, memoryless, 92% busy
    assert front.timings[1].read_p99_s == pytest.approx(0.99 * 0.3, rel=1e-3)
    assert 12 / 3 == 4  # ms a token of a step that brings three
