"""The wide-ep models: figures by hand from the toy's constants, vLLM's own policy, and what holds for any input."""
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models import aligned_prefills, ep_width, hot_experts, lockstep, sick_rank, two_batches
from calculators.models.base import Refusal
from calculators.models.wide_ep import EAGER, FULL, PIECEWISE, Load, alike, graph_mode, group_step

SIXTEEN = hot_experts.parse_loads(hot_experts.SIXTEEN)
README = (90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86)  # layer 0 of EPLB's published example


# Lockstep: comp = 0.42 * 128 + 0.10 * p + 4.6, all-to-all = 8 + 0.133 * 128 + 0.01 * p.

def test_a_usual_step_takes_83_ms_and_gives_1535_tokens_a_second():
    base = lockstep.solve(chunk_tokens=0)
    assert (round(base.base.compute_ms[0], 2), round(base.base.all_to_all_ms, 2)) == (58.36, 25.02)
    assert (round(base.base_ms, 2), round(base.base_busy, 3)) == (83.38, 0.700)
    assert round(base.base_tokens_per_s) == 1_535


@pytest.mark.parametrize(("tokens", "step_ms", "times", "others_busy"), [
    (512, 139.7, 1.68, 0.418), (1_024, 196.0, 2.35, 0.298), (2_048, 308.7, 3.70, 0.189), (4_096, 533.9, 6.40, 0.109),
    (8_192, 984.5, 11.8, 0.059),
])
def test_a_chunk_on_one_rank_is_everybodys_step(tokens: int, step_ms: float, times: float, others_busy: float):
    result = lockstep.solve(chunk_tokens=tokens, max_num_batched_tokens=8_320)
    assert (round(result.step_ms, 1), round(result.others_busy, 3)) == (step_ms, others_busy)
    assert round(result.times, 1 if times > 10 else 2) == times


def test_seven_ranks_lose_almost_three_gpu_seconds_to_one_chunk():
    result = lockstep.solve()
    assert (round(result.busy, 3), round(result.mean_busy, 3)) == (0.876, 0.205)
    assert round(result.lost_gpu_s, 2) == 2.87  # 7 * (468.0 - 58.4) ms
    assert result.users == 1_024


def test_the_loaded_rank_computes_eight_times_as_long_as_the_others():
    result = lockstep.solve()
    assert (round(result.rank_ms, 1), round(result.others_ms, 1)) == (468.0, 58.4)
    assert result.rank_tokens == 128 + 4_096


def test_a_chunk_every_eighth_step_leaves_three_fifths_of_the_rate():
    result = lockstep.solve(every_steps=8)
    assert (round(result.mean_step_ms, 1), round(result.throughput_share, 2)) == (139.7, 0.60)


def test_a_chunk_of_the_whole_budget_has_no_room_beside_the_decodes():
    with pytest.raises(Refusal, match="needs a budget of at least 8,320") as refused:
        lockstep.solve(chunk_tokens=8_192)
    assert refused.value.field == "max_num_batched_tokens"


@pytest.mark.parametrize(("chunk", "mode"), [(0, FULL), (384, PIECEWISE), (385, EAGER), (600, EAGER)])
def test_the_least_graph_mode_of_any_rank_is_everybodys(chunk: int, mode: str):
    # 128 decodes and the chunk against the largest captured size, 512
    assert lockstep.solve(chunk_tokens=chunk).mode == mode


def test_a_rank_that_is_not_there_is_refused():
    with pytest.raises(Refusal, match="The ranks are 0 to 7"):
        lockstep.solve(chunk_rank=8)


def test_lockstep_slips_are_named():
    said = {round(value, 1) for value, _ in lockstep.solve().slips}
    # no chunk, spread over 8, no all-to-all, the chunk alone, without its all-to-all
    assert said == {83.4, 139.7, 468.0, 409.6, 493.0}


# Hot experts: loads by vllm/distributed/eplb/policy/default.py on the same input.

@pytest.mark.parametrize(("values", "busiest", "balance", "time_share"), [
    ({"enable_eplb": False, "num_redundant_experts": 0}, 520, 0.2885, 1.00),
    ({"num_redundant_experts": 0}, 430, 0.3488, 0.83),
    ({"num_redundant_experts": 8}, 156.7, 0.9574, 0.30),
    ({"num_redundant_experts": 16}, 154.4, 0.9712, 0.30),  # 154.44; 154.5 is 150 / 0.9712
])
def test_copies_even_out_what_permuting_cannot(values: dict, busiest: float, balance: float, time_share: float):
    result = hot_experts.solve(**values)
    assert round(result.placed.max_load, 1) == busiest
    assert round(result.balancedness, 4) == balance
    assert round(result.placed.time_share, 2) == time_share


def test_eight_copies_give_the_rank_loads_of_vllms_policy():
    result = hot_experts.solve()
    assert sorted(round(load, 1) for load in result.placed.loads) == [146.7] * 4 + [150.0] * 2 + [156.7] * 2
    assert round(result.times_faster, 2) == 3.32


def test_the_published_example_comes_out_as_published():
    assert round(hot_experts.in_order(README, 4).balance, 3) == 0.783
    assert round(hot_experts.balanced(README, 8, 4).balance, 3) == 0.932


def test_two_nodes_give_the_published_slots():
    # EPLB's README and vLLM's policy on it: layer 0, 12 experts in 4 groups, 16 slots on 8 GPUs of 2 nodes
    placed = hot_experts.solve(expert_loads=README, ranks=8, num_redundant_experts=4, nodes=2, expert_groups=4).placed
    assert round(placed.balance, 3) == 0.828
    assert [[slot.expert for slot in slots] for slots in placed.ranks] == [
        [5, 6], [5, 7], [8, 4], [3, 4], [10, 9], [10, 2], [0, 1], [11, 1]]


def test_nodes_that_do_not_divide_the_groups_place_globally():
    kept = hot_experts.solve(nodes=2, expert_groups=1)
    assert not kept.keeps_to_nodes and kept.placed == hot_experts.solve().placed
    with pytest.raises(Refusal, match="16 experts don't divide into 3 groups"):
        hot_experts.solve(expert_groups=3)


@pytest.mark.parametrize(("ranks", "redundant", "balance"), [(8, 0, 0.975), (8, 32, 1.000), (32, 0, 0.663),
                                                             (32, 32, 0.998)])
def test_a_wide_group_needs_copies_where_a_node_needs_none(ranks: int, redundant: int, balance: float):
    zipf = [10**9 / (place + 1) ** 0.5 for place in range(256)]  # exponent 0.5
    assert round(hot_experts.balanced(zipf, ranks, redundant).balance, 3) == balance


def test_the_hottest_expert_bounds_what_permuting_reaches():
    result = hot_experts.solve()
    assert (result.bound, result.copies_needed) == (0.375, 3)  # 150 / 400; 400 / 150 = 2.67


def test_the_whole_step_follows_the_busiest_rank():
    result = hot_experts.solve()
    assert round(result.in_order_step_ms, 1) == 149.7  # 53.76 * (0.5 + 0.5 * 520 / 150) = 120.1, + 4.6 + 25.0
    assert (round(result.step_ms, 1), round(result.even_step_ms, 1)) == (84.6, 83.4)


def test_two_copies_on_one_rank_balance_nothing():
    assert hot_experts.solve(num_redundant_experts=16).twins == 1
    assert hot_experts.solve().twins == 0


@pytest.mark.parametrize(("ranks", "gigabytes", "tokens"), [(8, 10.2, 145.4), (32, 2.55, 36.3)])
def test_redundant_slots_cost_kv(ranks: int, gigabytes: float, tokens: float):
    # 3 * 7168 * 2048 * 58 bytes a slot, 70,272 bytes a token
    memory = hot_experts.memory_of(ranks, 32)
    assert round(memory.slot_gb, 1 if ranks == 8 else 2) == gigabytes
    assert round(memory.kv_tokens / 1e3, 1) == tokens


@pytest.mark.parametrize(("values", "field", "words"), [
    ({"num_redundant_experts": 3}, "num_redundant_experts", "16 [+] 3 slots don't divide among 8 ranks"),
    ({"enable_eplb": False}, "num_redundant_experts", "need EPLB"),
    ({"ranks": 32}, "ranks", "16 experts can't be spread over 32 ranks"),
    ({"expert_loads": (1,) * 256, "num_redundant_experts": 30}, "num_redundant_experts", "don't divide"),
])
def test_what_vllm_would_not_build_is_refused(values: dict, field: str, words: str):
    with pytest.raises(Refusal, match=words) as refused:
        hot_experts.solve(**values)
    assert refused.value.field == field


def test_loads_come_back_from_their_text():
    assert SIXTEEN == (400, 120, 80, 80, 60, 60, 60, 60, 40, 40, 40, 40, 30, 30, 30, 30)
    assert hot_experts.format_loads(SIXTEEN) == hot_experts.SIXTEEN


@pytest.mark.parametrize(("text", "words"), [
    ("400,x", "“x” is no load"), ("400", "1 experts; takes from 2 to 256"), ("0*4", "No expert has a token"),
    ("2000000,1", "is too much"), ("1*300", "is too much"), ("60*", "is no load"),
])
def test_what_is_no_load_is_said(text: str, words: str):
    with pytest.raises(Refusal, match=words):
        hot_experts.parse_loads(text)


# Two batches: whole = max(18, 0.42 d) + 4.6 + 8 + 0.133 d; split = max(2 max(18, 0.21 d) + 4.6, 16 + 0.133 d) + 1.

@pytest.mark.parametrize(("decodes", "whole_ms", "split_ms", "change"), [
    (8, 31.7, 41.6, 0.31), (32, 34.9, 41.6, 0.19), (53, 41.9, 41.6, -0.01), (64, 48.0, 41.6, -0.13),
    (96, 65.7, 45.9, -0.30), (128, 83.4, 59.4, -0.29), (256, 154.2, 113.1, -0.27),
])
def test_splitting_pays_for_large_batches_only(decodes: int, whole_ms: float, split_ms: float, change: float):
    result = two_batches.solve(decodes=decodes)
    assert (round(result.whole_ms, 1), round(result.split_ms, 1)) == (whole_ms, split_ms)
    assert round(result.change, 2) == change


def test_the_break_even_is_where_both_steps_are_equal():
    # 12.6 + 0.553 d = 41.6
    assert round(two_batches.solve().break_even, 2) == round(29 / 0.553, 2) == 52.44


def test_overlap_gives_2156_tokens_and_is_bounded_by_the_wires_share():
    result = two_batches.solve()
    assert (round(result.split_ms, 2), round(result.split_tokens_per_s)) == (59.36, 2_156)
    assert (round(result.wire_share, 2), round(result.bound, 2)) == (0.30, 1.43)  # 1 / (1 - 0.30)


def test_the_default_threshold_lets_a_losing_batch_on():
    assert two_batches.solve(decodes=32).runs_split and two_batches.solve(decodes=32).change > 0
    assert not two_batches.solve(decodes=31).runs_split


@pytest.mark.parametrize(("ranks", "us", "ms"), [
    (8, 191, 11.1), (16, 313, 18.2), (32, 428, 24.8), (64, 487, 28.2), (128, 561, 32.5), (256, 554, 32.1),
])
def test_deepeps_measured_kernels_over_58_layers(ranks: int, us: int, ms: float):
    row = next(row for row in two_batches.solve().measured if row.ranks == ranks)
    assert (row.dispatch_us + row.combine_us, round(row.step_ms, 1)) == (us, ms)


def test_at_ep32_the_measured_kernels_fill_the_nic():
    row = two_batches.solve().measured[2]
    assert (round(row.dispatch_gb_per_s, 1), round(row.combine_gb_per_s, 1)) == (47.4, 53.8)
    assert two_batches.DISPATCH_BYTES + two_batches.COMBINE_BYTES == 172_032


def test_one_rank_below_the_threshold_keeps_all_from_splitting():
    loads = [Load(128), Load(31)]
    assert not group_step(loads, overlap=True).overlapped
    assert group_step(alike(2, Load(32)), overlap=True).overlapped
    assert not group_step([Load(128, 100), Load(128)], overlap=True).overlapped  # with prefill 512 are needed


# Aligned prefills: one prompt of 1,024 a rank every 8 steps, staggered, 240 steps.

@pytest.mark.parametrize(("interval", "mean", "median", "largest", "rate", "ttft"), [
    (1, 196.0, 196.0, 196.0, 653, 196), (2, 139.7, 83.4, 196.0, 916, 238), (4, 111.5, 83.4, 196.0, 1_148, 321),
    (8, 97.5, 83.4, 196.0, 1_313, 487), (16, 97.0, 83.4, 308.7, 1_320, 931),
])
def test_an_interval_keeps_the_other_steps_short(
    interval: int, mean: float, median: float, largest: float, rate: int, ttft: int
):
    now = aligned_prefills.simulate(prefill_schedule_interval=interval).at_hand
    assert (round(now.mean_ms, 1), round(now.median_ms, 1), round(now.max_ms, 1)) == (mean, median, largest)
    assert (round(now.tokens_per_s), round(now.ttft_ms)) == (rate, ttft)


def test_every_eighth_step_is_long_at_interval_eight():
    run = aligned_prefills.simulate(prefill_schedule_interval=8)
    assert run.steps[8].prefill == (1_024,) * 8 and not any(run.steps[9].prefill)
    assert sum(step.step_ms > 100 for step in run.steps) == 30
    assert round((8 - 1) / 2 * run.base_ms) == 292


@pytest.mark.parametrize(("values", "chunks", "steps"), [
    ({"max_num_batched_tokens": 8_320}, 4, 13),  # 4 * (4 - 1) + 1
    ({}, 5, 17),  # 128 decodes leave 8,064 of the budget
    ({"decodes": 0}, 4, 4),  # nobody decodes, so nothing is held back
])
def test_a_chunked_prompt_waits_for_its_turn_at_each_chunk(values: dict, chunks: int, steps: int):
    run = aligned_prefills.simulate(prompt_tokens=32_768, prefill_schedule_interval=4, **values)
    assert (run.chunks, run.chunk_steps) == (chunks, steps)


@pytest.mark.parametrize("values", [{"decodes": 0}, {"decodes": 128}])
def test_a_prompt_takes_the_steps_that_are_said(values: dict):
    run = aligned_prefills.simulate(ranks=1, prompt_tokens=32_768, prefill_schedule_interval=4, every_steps=1_000,
                                    saturation_guard=False, arrivals="together", **values)
    taken = [step.step for step in run.steps if any(step.prefill)]
    assert (len(taken), taken[-1] + 1) == (run.chunks, run.chunk_steps)


def test_a_crowded_queue_drops_the_interval_until_it_drains():
    crowded = {"ranks": 1, "prompt_tokens": 8_000, "every_steps": 1, "prefill_schedule_interval": 8, "step_count": 40}
    guarded = aligned_prefills.simulate(**crowded)
    held = aligned_prefills.simulate(**crowded, saturation_guard=False)
    assert sum(any(step.prefill) for step in held.steps) == 5
    assert sum(any(step.prefill) for step in guarded.steps) > 25


def test_one_prompt_left_over_frees_its_rank_alone():
    """As prefill_capacity_bound in vLLM's scheduler: each rank asks whether its own release left anybody waiting."""
    run = aligned_prefills.simulate(ranks=2, prompt_tokens=3_000, every_steps=5, prefill_schedule_interval=8,
                                    step_count=17, max_num_batched_tokens=3_128)
    # A step has room for one prompt. By step 8 one has come to rank 0 since its last, at 5; two to rank 1, at 1 and 6.
    assert (run.steps[8].prefill, run.steps[8].saturated) == ((3_000, 3_000), (False, True))
    assert (run.steps[9].prefill, run.steps[9].saturated) == ((0, 3_000), (False, False))
    assert run.steps[10].waiting == (1, 0) and not any(run.steps[10].prefill)  # and the interval holds again


def test_a_prompt_that_has_begun_is_not_left_over():
    run = aligned_prefills.simulate(ranks=1, prompt_tokens=5_000, every_steps=100, prefill_schedule_interval=8,
                                    step_count=17, max_num_batched_tokens=3_128)
    assert [step.step for step in run.steps if any(step.prefill)] == [0, 8]  # 3,000, and 2,000 at the next release


def test_decodes_that_fill_the_budget_are_refused():
    with pytest.raises(Refusal, match="no prompt would ever start"):
        aligned_prefills.simulate(decodes=128, max_num_batched_tokens=128)


def test_the_same_seed_brings_the_same_arrivals():
    runs = [aligned_prefills.simulate(arrivals="poisson", seed=seed, step_count=400) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert sum(sum(step.arrived) for step in runs[0].steps) == pytest.approx(400, rel=0.15)  # 8 ranks, 1 in 8 steps


# Sick rank: step = f * 58.36 + 25.02.

@pytest.mark.parametrize(("factor", "step_ms", "lost", "busy"), [(1.2, 95.1, 0.123, 0.614), (2, 141.7, 0.412, 0.412)])
def test_one_slow_rank_slows_the_whole_group(factor: float, step_ms: float, lost: float, busy: float):
    result = sick_rank.solve(slow_factor=factor)
    assert round(result.step_ms, 1) == step_ms
    assert (round(result.lost_share, 3), round(result.others_busy, 3)) == (lost, busy)


def test_a_fifth_slower_on_one_gpu_costs_almost_four():
    result = sick_rank.solve()
    assert round(result.lost_gpus, 1) == 3.9  # 0.123 * 32
    assert min(range(32), key=result.sick.waits_ms.__getitem__) == result.culprit == 5


@pytest.mark.parametrize(("ranks", "hours", "days", "away"), [(32, 1_562, 65, 0.00016), (144, 347, 14.5, 0.00072)])
def test_a_group_fails_as_often_as_all_its_gpus(ranks: int, hours: int, days: float, away: float):
    result = sick_rank.solve(ranks=ranks)
    assert int(result.group_mtbf_h) == hours
    assert round(result.days_between, 1 if ranks == 144 else None) == days
    assert round(result.unavailable, 5) == away
    assert result.incidents_a_month == pytest.approx(ranks * 720 / 50_000)


def test_a_hung_group_is_noticed_by_the_probe_first_and_by_health_never():
    result = sick_rank.solve(sickness=sick_rank.HUNG)
    assert [row.after_s for row in result.detectors] == [20, 100, 300, 600, 1_800, None]
    assert (result.stuck_requests, result.lost_gpus, result.step_ms) == (4_096, 32, None)


def test_slow_trips_no_time_out():
    assert {row.after_s for row in sick_rank.solve().detectors} == {None}


# How wide: 138.1 - 8.8 - 19.1 - 653.9 / R gigabytes a GPU.

@pytest.mark.parametrize(("name", "weights", "free", "tokens"), [
    ("TP8", 84.1, 45.2, "0.64"), ("DP8 + EP8", 100.8, 28.5, "3.24"), ("DP16 + EP16", 60.0, 69.3, "15.8"),
    ("DP32 + EP32", 39.5, 89.8, "40.9"), ("DP64 + EP64", 29.3, 100.0, "91.1"),
])
def test_wider_groups_hold_more_than_their_share(name: str, weights: float, free: float, tokens: str):
    layout = next(layout for layout in ep_width.solve().layouts if layout.name == name)
    assert (round(layout.weights_gb, 1), round(layout.free_gb, 1)) == (weights, free)
    assert f"{layout.kv_tokens_m:.{len(tokens.partition('.')[2])}f}" == tokens


def test_twice_the_blast_radius_gives_a_tenth_more_kv_a_gpu():
    sizes = {layout.gpus: layout.tokens_a_gpu for layout in ep_width.solve().layouts[1:]}
    assert round(sizes[64] / sizes[32], 2) == 1.11


def test_another_model_is_sized_by_its_own_weights_and_latent():
    result = ep_width.solve(ep_ranks=8, expert_weights_gb=90, other_weights_gb=4, kv_bytes_per_token=100_000)
    assert result.at_hand.weights_gb == 15.25  # 4 + 90 / 8
    budget = 0.92 * 139.8 * 2**30 / 1e9 - 8.8
    assert result.kv_tokens == pytest.approx(8 * (budget - 15.25) * 1e9 / 100_000)
    assert result.tensor_parallel.weights_gb == 11.75  # 94 / 8


def test_what_does_not_fit_holds_nothing():
    result = ep_width.solve(ep_ranks=8, gpu="h100")
    assert result.kv_tokens == 0 and "does not fit" in result.finding


# What holds for any input.

@settings(max_examples=60, deadline=None)
@given(decodes=st.lists(st.integers(0, 1_024), min_size=1, max_size=16), prefill=st.integers(0, 8_192),
       slow=st.floats(1, 5), overlap=st.booleans())
def test_nobody_is_busier_than_the_step_is_long(decodes: list[int], prefill: int, slow: float, overlap: bool):
    loads = [Load(tokens) for tokens in decodes]
    loads[0] = Load(decodes[0], prefill, slow=slow)
    step = group_step(loads, overlap=overlap)
    assert all(0 < share <= 1 for share in step.busy)
    assert min(step.waits_ms) == 0
    assert graph_mode(loads) in (FULL, PIECEWISE, EAGER)


@settings(max_examples=60, deadline=None)
@given(loads=st.lists(st.integers(0, 1_000), min_size=2, max_size=64).filter(any), ranks=st.integers(1, 16),
       rounds=st.integers(0, 4))
def test_placing_loses_no_token_and_no_expert(loads: list[int], ranks: int, rounds: int):
    redundant = rounds * ranks + -len(loads) % ranks
    placement = hot_experts.balanced(loads, ranks, redundant)
    slots = [slot for slots in placement.ranks for slot in slots]
    assert len(slots) == len(loads) + redundant and {slot.expert for slot in slots} == set(range(len(loads)))
    assert sum(Fraction(slot.load).limit_denominator(10**6) for slot in slots) == pytest.approx(sum(loads))
    assert 1 / ranks - 1e-9 <= placement.balance <= 1 + 1e-9
    assert len({len(held) for held in placement.ranks}) == 1


@settings(max_examples=40, deadline=None)
@given(ranks=st.integers(1, 8), decodes=st.integers(0, 512), prompt=st.integers(1, 20_000), interval=st.integers(1, 20),
       every=st.integers(1, 20), pattern=st.sampled_from(("staggered", "together", "poisson")), guard=st.booleans())
def test_every_prompt_token_is_waiting_or_prefilled(
    ranks: int, decodes: int, prompt: int, interval: int, every: int, pattern: str, guard: bool
):
    run = aligned_prefills.simulate(
        ranks=ranks, decodes=decodes, prompt_tokens=prompt, arrivals=pattern, every_steps=every,
        prefill_schedule_interval=interval, saturation_guard=guard, step_count=40, max_num_batched_tokens=1_024,
    )
    for rank in range(ranks):
        came = sum(step.arrived[rank] for step in run.steps) * prompt
        taken = sum(step.prefill[rank] for step in run.steps)
        waiting = run.steps[-1].waiting[rank]
        assert 0 <= came - taken <= waiting * prompt
        assert waiting == 0 or came - taken > (waiting - 1) * prompt
    for before, step in zip((None, *run.steps), run.steps, strict=False):
        assert max(step.prefill) <= 1_024 - decodes
        freed = before.saturated if before else (False,) * ranks
        assert step.release or not any(took for took, free in zip(step.prefill, freed, strict=True) if not free)


def test_an_interval_of_eight_doubles_the_rate_for_three_and_a_half_steps_of_wait():
    run = aligned_prefills.simulate(prefill_schedule_interval=8)
    assert (run.short_steps, round(run.wait_ms, 1), round(run.rate_gain, 2)) == (7, 291.8, 2.01)
    off = aligned_prefills.simulate(prefill_schedule_interval=1)
    assert (off.short_steps, off.wait_ms, off.rate_gain) == (0, 0, 1)


def test_what_splitting_saves_is_what_it_does_not_add():
    assert round(two_batches.solve().saved, 2) == 0.29
    assert two_batches.solve(decodes=8).saved < 0
