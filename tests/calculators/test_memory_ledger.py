"""The memory ledger against the arithmetic by hand, vLLM's own checks and public start-up logs."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.catalogue import FP8, GPUS, MODELS
from calculators.models.kv_pool import ENGINES
from calculators.models.memory_ledger import (
    CONFIG,
    FREE,
    LENGTH,
    LOAD,
    MEASURED,
    NEVER,
    NONE,
    RESULT,
    STARTS,
    Ledger,
    solve,
)

PAIR = {"model": "llama-3.1-70b", "tensor_parallel_size": 2}  # 70B bf16 on two H100, all else default

# Llama-3.1-8B bf16 on one H100, vllm serve's defaults, each line by hand to two decimals.
LINES = {
    "total_gib": 79.19, "budget_gib": 72.85, "slack_gib": 6.34, "loaded_gib": 14.96, "penalty_gib": 0.49,
    "buffers_gib": 0.60, "growth_gib": 0.25, "forward_gib": 0.91, "sampler_gib": 1.78, "peak_gib": 1.78,
    "graph_gib": 0.86, "kv_gib": 54.40, "kv_blocks": 27_852, "kv_tokens": 445_632, "concurrency": 3.40,
    "token_bytes": 131_072, "missing_gib": 9.83, "block_table_gib": 0.0625, "request_gib": 16.0,
}


@pytest.mark.parametrize(("line", "value"), LINES.items())
def test_each_line_of_an_8b_on_an_h100(line: str, value: float):
    assert getattr(solve(), line) == pytest.approx(value, abs=0.0051 if isinstance(value, float) else 0)


@pytest.mark.parametrize(("tokens", "forward"), [(2_048, 0.23), (8_192, 0.91), (16_384, 1.81)])  # by hand
def test_the_forward_pass_by_token_budget(tokens: int, forward: float):
    assert solve(max_num_batched_tokens=tokens).forward_gib == pytest.approx(forward, abs=0.005)


def test_only_above_some_16_700_tokens_does_the_forward_pass_win():
    assert "up to 16,702 tokens" in solve().sampler_verdict
    # By hand: 1,024 × 128,256 × 14 B are 1.71 GiB.
    assert "1,024 × 128,256 logits of 14 B are 1.71 GiB of them" in solve().sampler_verdict
    below, above = (solve(max_num_batched_tokens=tokens) for tokens in (16_701, 16_702))
    assert below.forward_gib < below.sampler_gib and above.forward_gib >= above.sampler_gib


# 70B bf16 on two H100: utilization, budget, KV and tokens on each GPU by hand, and the check that stops it.
BY_UTILIZATION = [
    (0.85, 67.31, -4.63, 0, NONE), (0.90, 71.27, -0.67, 0, NONE), (0.92, 72.85, 0.91, 5_968, LENGTH),
    (0.95, 75.23, 3.29, 21_536, LENGTH), (0.98, 77.61, 5.66, 37_104, LENGTH),
]


@pytest.mark.parametrize(("share", "budget", "kv", "tokens", "outcome"), BY_UTILIZATION)
def test_utilization_alone_never_starts_the_pair(share: float, budget: float, kv: float, tokens: int, outcome: str):
    ledger = solve(**PAIR, gpu_memory_utilization=share)
    assert (ledger.budget_gib, ledger.kv_gib) == (pytest.approx(budget, abs=0.006), pytest.approx(kv, abs=0.006))
    assert (ledger.kv_tokens, ledger.outcome) == (tokens, outcome)


def test_the_pair_says_what_the_engine_says():
    ledger = solve(**PAIR)
    assert "max seq len (131072), (20.0 GiB KV cache is needed" in ledger.message
    assert "memory (0.91 GiB). Based on the available memory, the estimated maximum model length is 5952." in (
        ledger.message
    )
    assert ledger.longest_tokens == 5_952  # one block less than the pool, for the null block
    assert "Short by 19.09 GiB. No utilization can help" in ledger.fix_verdict and "13.48 GiB" in ledger.fix_verdict


# What was run, by hand: which check ends it, and the KV on each GPU where there is one.
RUNS = [
    ({"model": "llama-3.1-70b"}, LOAD, None), (PAIR | {"other_gib": 8}, FREE, None),
    (PAIR | {"gpu_memory_utilization": 0.85}, NONE, -4.63), (PAIR, LENGTH, 0.91),
    (PAIR | {"max_model_len": 4_096}, STARTS, 0.91), (PAIR | {"max_model_len": 16_384}, LENGTH, 0.91),
    (PAIR | {"max_model_len": 16_384, "max_num_seqs": 256, "max_num_batched_tokens": 2_048}, STARTS, 2.69),
    (PAIR | {"max_num_seqs": 256}, LENGTH, 2.00), (PAIR | {"weights": FP8}, STARTS, 32.8),
    (PAIR | {"gpu_memory_utilization": 0.99}, FREE, None),
    ({"model": "qwen3-14b", "tensor_parallel_size": 16}, CONFIG, None),
]


@pytest.mark.parametrize(("run", "outcome", "kv"), RUNS)
def test_how_a_start_ends(run: dict, outcome: str, kv: float | None):
    ledger = solve(**run)
    assert ledger.outcome == outcome
    assert kv is None or ledger.kv_gib == pytest.approx(kv, abs=0.02)
    assert bool(ledger.message) == (outcome != STARTS)


def test_at_4096_tokens_the_pair_starts_with_little_room():
    ledger = solve(**PAIR, max_model_len=4_096)
    assert round(ledger.concurrency, 2) == 1.46 and ledger.request_gib == 0.625


def test_in_fp8_the_pair_starts_at_full_length():
    ledger = solve(**PAIR, weights=FP8)
    assert ledger.kv_tokens == pytest.approx(214_900, rel=0.001) and round(ledger.concurrency, 2) == 1.64


def test_what_each_flag_gains_the_pair():  # by hand: batched tokens 0.09, sequences 1.09, both 1.09 + 0.69
    gains = {lever.flag: lever.gain_gib for lever in solve(**PAIR).levers}
    assert gains["--max-num-batched-tokens 2048"] == pytest.approx(0.09, abs=0.006)
    assert gains["--max-num-seqs 256"] == pytest.approx(1.09, abs=0.006)
    assert gains["--max-num-seqs 256 --max-num-batched-tokens 2048"] == pytest.approx(1.09 + 0.69, abs=0.01)


def test_the_head_room_at_98_percent_by_hand():  # 1.58 − 0.6 − block tables
    assert solve(gpu_memory_utilization=0.98).head_room_gib == pytest.approx(1.58 - 0.6 - 0.0625, abs=0.005)
    assert "A spike of 1.5 GiB does not fit." in solve(gpu_memory_utilization=0.98, spike_gib=1.5).late_verdict


def test_what_a_request_lacks_by_hand():  # 20.0 and a null block of 2.5 MiB, less 0.91; an 8B lacks nothing
    assert solve(**PAIR).short_gib == pytest.approx(20 + 2.5 / 1_024 - 0.9124, abs=1e-4)
    assert solve().short_gib == 0


def test_all_logprobs_of_a_step_by_hand():  # 8,192 tokens × 128,256 scores of 4 B with ids of 8 B, or 4 B on runner 1
    assert solve().all_logprobs_gib * 2**30 == 8_192 * 128_256 * 12
    assert solve(version="0.21").all_logprobs_gib * 2**30 == 8_192 * 128_256 * 8


def test_an_n_gram_table_takes_half_a_gib():  # 1,024 × 131,072 × 4 B
    assert solve().kv_gib - solve(ngram_table=True).kv_gib == pytest.approx(0.5)


# Public logs of vLLM 0.19.0 on one H100, utilization 0.95, length 8,192: weights, peak, KV in GiB and tokens, logged.
LOGGED = [
    ("llama-3.1-8b", 14.99, 1.89, 58.11, 476_016), ("qwen3-8b", 15.27, 2.21, 57.50, 418_688),
    ("qwen3-30b-a3b", 56.88, 2.68, 15.41, 168_288),
]


@pytest.mark.parametrize(("model", "weights", "peak", "kv", "tokens"), LOGGED)
def test_the_rules_of_019_against_public_logs(model: str, weights: float, peak: float, kv: float, tokens: int):
    run = {"model": model, "version": "0.18", "gpu_memory_utilization": 0.95, "max_model_len": 8_192}
    blind = solve(**run)
    assert blind.kv_gib == pytest.approx(kv, abs=0.02) and blind.kv_tokens == pytest.approx(tokens, rel=0.002)
    measured = solve(**run, weights_gib=weights, activation_gib=peak, non_torch_gib=0.25)
    assert measured.kv_gib == pytest.approx(kv, abs=0.025)
    told = solve(**run, available_gib=kv)
    assert told.kv_gib == pytest.approx(kv, abs=1e-9) and told.spread_words == ""


def test_a_public_log_of_0_31_on_an_a100():  # 8B, all defaults: 56.21 GiB of KV, 460,496 tokens, 3.51 at full length
    defaults = {"max_num_batched_tokens": None, "max_num_seqs": None, "max_model_len": None}
    ledger = solve(gpu="a100", visible_gib=79.25, **defaults)
    assert ledger.kv_gib == pytest.approx(56.21, abs=0.05) and ledger.kv_tokens == pytest.approx(460_496, rel=0.001)
    assert round(ledger.concurrency, 2) == 3.51 and ledger.budget_gib == pytest.approx(72.91, abs=0.005)
    # Logged: 15.26 GiB of weights, buffers and growth, and 1.44 of peak and graphs' estimate in one.
    assert ledger.loaded_gib + ledger.buffers_gib + ledger.growth_gib == pytest.approx(15.26, abs=0.2)
    assert ledger.peak_gib + ledger.graph_gib == pytest.approx(1.44, abs=0.2)


def test_the_newer_runner_reserved_graphs_with_029():
    older, newer = solve(version="0.23"), solve(version="0.33")
    assert older.penalty_gib == newer.penalty_gib > 0
    assert older.kv_gib - newer.kv_gib == pytest.approx(newer.graph_gib)


def test_graphs_came_off_the_budget_with_021():
    older, newer = (solve(version=version, gpu_memory_utilization=0.92) for version in ("0.18", "0.21"))
    assert older.kv_gib - newer.kv_gib == pytest.approx(newer.graph_gib)
    assert solve(estimate_graphs=False).kv_gib - solve().kv_gib == pytest.approx(solve().graph_gib)


def test_available_memory_solves_for_the_least_certain_rule():
    ledger = solve(available_gib=54.0)
    assert ledger.kv_gib == pytest.approx(54.0)
    assert ledger.growth_gib == pytest.approx(solve().growth_gib + 0.40, abs=0.01)
    assert next(term for term in ledger.terms if term.label == "non-torch growth").expression == (
        "what the log leaves over"
    )
    all_given = {"weights_gib": 14.99, "non_torch_gib": 0.25, "activation_gib": 1.8, "graphs_gib": 0.9}
    with pytest.raises(Refusal, match="leave 54.3. GiB for KV, not 40.00"):
        solve(**all_given, available_gib=40.0)


def test_a_larger_gpu_takes_larger_defaults():
    given = {"max_num_batched_tokens": None, "max_num_seqs": None, "max_model_len": None}
    assert solve(gpu="b200", **given).forward_gib == pytest.approx(2 * solve(**given).forward_gib)
    assert solve(gpu="l4", model="qwen3-0.6b", **given).sampler_gib < solve(model="qwen3-0.6b", **given).sampler_gib


@given(
    model=st.sampled_from(sorted(MODELS)), gpu=st.sampled_from(sorted(GPUS)), version=st.sampled_from(list(ENGINES)),
    tensor_parallel_size=st.sampled_from([1, 2, 4, 8, 16]), gpu_memory_utilization=st.floats(0.01, 1),
    max_num_batched_tokens=st.none() | st.integers(1, 131_072), max_num_seqs=st.none() | st.integers(1, 65_536),
    max_model_len=st.none() | st.integers(1, 10_485_760), estimate_graphs=st.booleans(), ngram_table=st.booleans(),
    weights_gib=st.none() | st.floats(0, 900), available_gib=st.none() | st.floats(0, 900),
)
@settings(max_examples=150, deadline=None)
def test_the_terms_always_add_up_to_the_gpu(**values: object):
    try:
        ledger: Ledger = solve(**values)
    except Refusal as refusal:
        assert str(refusal)
        return
    terms = {known: sum(term.gib for term in ledger.terms if term.known == known) for known in
             {term.known for term in ledger.terms}}
    charged = sum(gib for known, gib in terms.items() if known in (MEASURED, "estimated", RESULT))
    assert charged == pytest.approx(ledger.budget_gib, abs=1e-6)
    assert ledger.budget_gib + ledger.slack_gib == pytest.approx(ledger.total_gib)
    assert terms[NEVER] >= 0
    assert ledger.starts == (not ledger.message) or ledger.outcome == STARTS
    if ledger.starts:
        assert ledger.request_gib <= ledger.kv_gib and ledger.longest_tokens >= 1


@pytest.mark.parametrize(("gpus", "weights", "kv", "tokens", "longest"), [  # 70B bf16 on 2, 4 and 8 H100s, by hand
    (2, 65.71, 0.91, 5_968, 0.05), (4, 32.85, 33.77, 442_576, 3.4), (8, 16.43, 50.19, 1_315_792, 10.0),
])
def test_wider_tensor_parallelism_by_hand(gpus: int, weights: float, kv: float, tokens: int, longest: float):
    ledger = solve(model="llama-3.1-70b", tensor_parallel_size=gpus)
    assert (round(ledger.loaded_gib, 2), round(ledger.kv_gib, 2), ledger.kv_tokens) == (weights, kv, tokens)
    assert ledger.concurrency == pytest.approx(longest, abs=0.05)


def test_a_quarter_of_the_sequences_makes_the_forward_pass_the_peak():  # by hand, to two decimals
    ledger = solve(**PAIR, max_num_seqs=256)
    assert (round(ledger.sampler_gib, 2), round(ledger.forward_gib, 2)) == (0.56, 1.16)
    assert ledger.peak_gib == ledger.forward_gib and ledger.buffers_gib == pytest.approx(0.16 + 0.05, abs=0.01)


def test_fp8_kv_alone_halves_the_need_and_still_fails():
    ledger = solve(**PAIR, kv_cache_dtype=FP8)
    assert ledger.request_gib == 10.0 and ledger.outcome == LENGTH
