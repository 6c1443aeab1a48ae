"""The comparison of two start-ups: both of the reference's pairs, each rule both ways, and the evidence by hand."""
from math import isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs.config_diff import NEW, OLD, SUFFIX
from calculators.models.base import Refusal
from calculators.models.config_diff import LONGEST_SIDE, ConfigDiff, parse_side, read_pasted, simulate, solve
from calculators.models.config_keys import DEFAULTS, DEPENDS, HELPS, HURTS, KEYS, NOTHING, key_of, number
from calculators.models.upgrade_evidence import solve as evidence


def compare(before: str, after: str, **more: int) -> ConfigDiff:
    return solve(before=parse_side(before), after=parse_side(after), **more)


def judged(result: ConfigDiff) -> dict[str, tuple[str, int]]:
    return {each.name: (each.direction, each.weight) for each in result.changes}


def test_the_upgrade_costs_by_three_changes_and_helps_by_three() -> None:
    result = compare(OLD, NEW)
    assert judged(result) == {
        "graph_memory_estimate": (HURTS, 3), "kv_tokens": (HURTS, 3), "scheduler_reserve_full_isl": (HURTS, 2),
        "async_scheduling": (HELPS, 3), "model_runner": (HELPS, 2), "gpu_memory_utilization": (HELPS, 1),
    }
    assert result.suspects == ("graph_memory_estimate", "kv_tokens", "scheduler_reserve_full_isl")
    assert result.verdict.startswith("Test first graph_memory_estimate, then scheduler_reserve_full_isl")
    assert compare(OLD, NEW, least_weight=3).hurting == 2


def test_drafts_cost_by_the_fall_back_alone() -> None:
    result = compare(NEW, SUFFIX)
    assert set(result.suspects) == {"model_runner", "async_scheduling"}
    assert judged(result)["speculative_method"] == (DEPENDS, 3)
    assert "one feature put the engine back on the old runner" in result.verdict


def test_an_upgrade_hides_the_fall_back() -> None:
    # 0.13 ran V1 without overlap as well
    assert not {"model_runner", "async_scheduling"} & set(judged(compare(OLD, SUFFIX)))


def test_eager_mode_fixes_its_own_side_alone() -> None:
    lazy, eager = "version=0.33.0; enforce_eager=False", "version=0.33.0; enforce_eager=True; cudagraph_mode=NONE"
    there, back = compare(lazy, eager), compare(eager, lazy)
    assert [(each.name, each.was, each.now) for each in there.changes if each.name == "cudagraph_mode"] == [
        ("cudagraph_mode", "FULL_AND_PIECEWISE", "NONE")]
    assert {(each.name, each.was, each.now) for each in there.changes} == {
        (each.name, each.now, each.was) for each in back.changes}


def test_equal_settings_are_not_listed_and_nothing_is_suspect() -> None:
    result = compare(NEW, NEW)
    assert (result.changes, result.suspects, result.recompiled_by) == ((), (), ())
    assert "bisect" in result.verdict and result.cache_verdict.startswith("The compile cache’s key stays")


@pytest.mark.parametrize(("name", "worse", "better"), [
    ("kv_tokens", "405k", "440,000"), ("graph_memory_estimate", "True", "False"), ("async_scheduling", "False", "True"),
    ("model_runner", "V1", "V2"), ("scheduler_reserve_full_isl", "True", "False"), ("enforce_eager", "True", "False"),
    ("enable_prefix_caching", "False", "True"), ("cudagraph_mode", "PIECEWISE", "FULL_AND_PIECEWISE"),
    ("mode", "NONE", "VLLM_COMPILE"), ("kv_cache_dtype", "auto", "fp8"), ("gpu_memory_utilization", "0.9", "0.92"),
    ("enable_chunked_prefill", "False", "True"), ("disable_custom_all_reduce", "True", "False"),
    ("enable_lora", "True", "False"), ("max_loras", "1", "8"), ("api_server_count", "1", "4"),
])
def test_each_rule_goes_both_ways(name: str, worse: str, better: str) -> None:
    assert KEYS[name].judge(better, worse).direction == HURTS
    assert KEYS[name].judge(worse, better).direction == HELPS


@pytest.mark.parametrize(("name", "before", "after", "direction"), [
    ("max_num_batched_tokens", "8192", "2048", HURTS), ("max_num_batched_tokens", "2048", "8192", DEPENDS),
    ("max_num_seqs", "1024", "256", HURTS), ("gpu_memory_utilization", "0.90", "0.9", NOTHING),
    ("served_model_name", "a", "b", NOTHING), ("port", "8000", "8001", NOTHING),
    ("model", "/m/Qwen3-8B", "q/qwen3-8b", NOTHING), ("model", "Qwen3-8B", "Qwen3-14B", DEPENDS),
    ("attention_backend", "FLASH_ATTN", "FLASHINFER", DEPENDS),
    ("some_new_thing", "1", "2", DEPENDS), ("observability_config.otlp_traces_endpoint", "None", "x", NOTHING),
    ("pass_config.fuse_norm_quant", "True", "False", DEPENDS), ("speculative_config.method", "", "ngram", DEPENDS),
    ("cudagraph_mode", "PIECEWISE", "FULL_DECODE_ONLY", DEPENDS),
    ("kv_tokens", "", "405k", DEPENDS), ("enforce_eager", "", "False", NOTHING),
])
def test_directions_are_those_of_the_rules(name: str, before: str, after: str, direction: str) -> None:
    assert key_of(name).judge(before, after).direction == direction


# As tried on 0.33.0: an engine configuration with one option more, and its hash against that without.
@pytest.mark.parametrize(("name", "moves"), [
    ("max_num_batched_tokens", True), ("max_num_seqs", True), ("max_model_len", True), ("enforce_eager", True),
    ("kv_cache_dtype", True), ("block_size", True), ("async_scheduling", True), ("dtype", True), ("max_loras", True),
    ("cudagraph_mode", True), ("cudagraph_capture_sizes", True), ("mode", True), ("custom_ops", True),
    ("enable_chunked_prefill", True), ("attention_backend", True), ("tensor_parallel_size", True),
    ("moe_backend", True), ("revision", True),
    ("pass_config.fuse_norm_quant", True), ("trust_remote_code", True), ("max_cudagraph_capture_size", True),
    ("gpu_memory_utilization", False), ("seed", False), ("enable_prefix_caching", False), ("served_model_name", False),
    ("scheduling_policy", False), ("disable_custom_all_reduce", False), ("load_format", False), ("watermark", False),
    ("long_prefill_token_threshold", False), ("kv_cache_memory_bytes", False), ("tokenizer_mode", False),
    ("structured_outputs_config.backend", False), ("scheduler_reserve_full_isl", False), ("disable_log_stats", False),
    ("prefix_caching_hash_algo", False), ("prefill_schedule_interval", False), ("num_gpu_blocks_override", False),
    ("enable_flashinfer_autotune", False), ("fast_moe_cold_start", False),
])
def test_the_compile_caches_key(name: str, moves: bool) -> None:
    assert key_of(name).recompiles is moves


def test_defaults_stand_for_what_a_release_does_not_tell() -> None:
    result = compare("version=0.19.1; kv_tokens=440k", "version=0.33.0; kv_tokens=440k")
    defaults = {each.name: each.words for each in result.changes}
    assert defaults == {"gpu_memory_utilization": "0.9 → 0.92", "graph_memory_estimate": "False → True",
                        "model_runner": "V1 → V2"}  # when reserving began is not known, so nothing is said of it
    assert all(each.by_default for each in result.changes)
    assert [moved.name for moved in DEFAULTS if moved.at((0, 33)) is None] == []
    assert result.also_moved and not compare(NEW, SUFFIX).also_moved


def test_a_paste_is_reduced_to_what_differs() -> None:
    pasted = read_pasted("vllm serve Qwen/Qwen3-8B --max-num-seqs 64\n\nvllm serve Qwen/Qwen3-8B -tp 2 --port 9000")
    assert pasted.faults == ()
    first, second = (dict(parse_side(pasted.values[side])) for side in ("before", "after"))
    assert first == {"max_num_seqs": "64", "tensor_parallel_size": "1", "port": "8000"}  # the parser's defaults
    assert second == {"tensor_parallel_size": "2", "port": "9000"}


@pytest.mark.parametrize(("text", "words"), [
    ("", "No configuration can be read in it"), ("a=1", "Only one configuration can be read in it"),
])
def test_fewer_than_two_are_said_to_be_too_few(text: str, words: str) -> None:
    pasted = read_pasted(text)
    assert pasted.values == {} and pasted.faults[-1].startswith(words)


def test_what_is_too_long_for_an_address_is_left_out_and_said() -> None:
    pasted = read_pasted("\n".join(f"setting_{n}=a{n}" for n in range(200)) + "\n---\nkv_tokens=1")
    assert len(pasted.values["before"]) <= LONGEST_SIDE
    assert "settings of the first are left out" in pasted.faults[-1]


def test_a_log_line_in_the_form_is_sent_to_the_box() -> None:
    with pytest.raises(Refusal, match="goes into the box below"):
        parse_side("Initializing a V1 LLM engine (v0.33.0) with config: model='a'")
    with pytest.raises(Refusal, match="too long for an address"):
        parse_side("a=" + "…" * 800)  # nine characters each in an address


def test_the_suspects_are_asked_by_name_alone() -> None:
    run = simulate(before=parse_side(OLD), after=parse_side(NEW))
    assert [step.judged for step in run.steps] == [False, True]
    assert [each.name for each in run.asked] == sorted(each.name for each in run.diff.changes)


@settings(max_examples=50, deadline=None)
@given(pairs=st.lists(st.tuples(st.sampled_from([*KEYS, "x", "seed"]),
                                st.sampled_from(["", "0", "1", "0.9", "440k", "True", "False", "V1", "fp8", "a b"]),
                                st.sampled_from(["", "0", "1", "0.9", "440k", "True", "False", "V2", "FULL", "auto"])),
                      min_size=1, max_size=20),
       versions=st.tuples(st.sampled_from(["", "0.10.0", "0.20.1", "0.33.0"]), st.sampled_from(["", "0.33.0", "x"])))
def test_every_change_is_counted_once(pairs: list, versions: tuple[str, str]) -> None:
    before, after = (
        [(name, values[side]) for name, *values in {pair[0]: pair for pair in pairs}.values() if values[side]]
        + ([("version", versions[side])] if versions[side] else []) for side in (0, 1)
    )
    result = solve(before=tuple(before), after=tuple(after))
    assert len({each.name for each in result.changes}) == len(result.changes)
    hurting = sum(each.direction == HURTS for each in result.changes)
    assert result.hurting == hurting == len(result.suspects)
    assert hurting + result.depending + result.helping + result.without_effect == len(result.changes)
    assert all(each.was != each.now and each.why for each in result.changes)
    swapped = solve(before=tuple(after), after=tuple(before))
    assert {each.name for each in swapped.changes} == {each.name for each in result.changes}


@pytest.mark.parametrize(("value", "expected", "digits"), [
    (evidence().error_percent, 1.6, 1),  # 2% × √(2/3)
    (evidence().errors, 7, 0),
    (evidence().bisect_steps, 11, 0),  # log2(1,900) = 10.9
    (evidence().before_tokens_per_s, 8_505, 0),  # 128 sequences of 2,048 tokens of an 8B on an H100
    (evidence().after_tokens_per_s, 6_450, 0),  # 64
    (evidence().loss_percent, -24, 0),
    (number("440k"), 440_000, 0),
    (number("1,024"), 1_024, 0),
])
def test_evidence_by_hand(value: float, expected: float, digits: int) -> None:
    assert round(value, digits) == expected


def test_a_smaller_pool_costs_less_than_its_share() -> None:
    """By hand: 214 and 197 sequences of 0.26844 GB beside 16.06 GB of weights."""
    result = evidence(before_tokens=440_000, after_tokens=405_000)
    before, after = (count / (16.06 + count * 0.268435456) for count in (214, 197))
    assert result.pool_cost_percent == pytest.approx(100 * (1 - after / before))
    assert result.shrunk_percent == pytest.approx(100 * 17 / 214)
    assert dict(result.slips)[result.shrunk_percent].startswith("That is how much the batch shrank")


def test_three_percent_over_three_runs_may_be_chance() -> None:
    small = evidence(drop_percent=3)
    assert evidence().shown and not small.shown
    assert small.runs_needed == 8 and evidence(drop_percent=3, runs=8).shown  # 2 × (3 × 2 / 3)² = 8


def test_a_drop_as_large_as_the_noise_takes_eighteen_runs_to_the_last_digit() -> None:
    for percent in (1.0, 45.688, 0.3):  # 2 × 3² = 18, whatever the floats make of 3 × 45.688 / 45.688
        result = evidence(noise_percent=percent, drop_percent=percent, runs=18)
        assert (result.runs_needed, result.shown) == (18, True)


@settings(max_examples=30, deadline=None)
@given(noise_percent=st.floats(0.01, 100), runs=st.integers(1, 1_000), drop_percent=st.floats(0.01, 100),
       commits=st.integers(1, 1_000_000), before_tokens=st.integers(1, 10**8), after_tokens=st.integers(1, 10**8),
       sequence_tokens=st.integers(1, 10**7))
def test_any_evidence_is_finite(**values: float) -> None:
    result = evidence(**values)
    assert all(isfinite(line.value) for line in result.lines)
    assert 2**result.bisect_steps >= values["commits"]
    assert (result.loss_percent > 0) == (result.after_sequences > result.before_sequences)
