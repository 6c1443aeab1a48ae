"""The engine loop against tables worked out by hand for the loop of vLLM 0.33.0, to their digits."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.models import (
    engine_loop,
    exposed_cpu,
    mask_overlap,
    model_runner,
    placeholders,
    process_map,
    step_message,
)
from calculators.models.base import Refusal
from calculators.models.engine_loop import (
    AFTER,
    BEFORE,
    CPU,
    GPU,
    NONE,
    READ_BACK,
    SEPARATE,
    Times,
    closed_form,
    follow,
)


@pytest.mark.parametrize(("gpu_ms", "waiting", "overlapped", "waiting_busy", "overlapped_busy"), [
    (5.0, 7.2, 5.0, 69.4, 100), (20.0, 22.2, 20.0, 90.1, 100), (2.2, 4.4, 2.2, 50, 100), (1.0, 3.2, 2.2, 31.2, 45.5),
])
def test_settled_periods_come_out(gpu_ms: float, waiting: float, overlapped: float, waiting_busy: float,
                                        overlapped_busy: float):
    loop = engine_loop.solve(gpu_ms=gpu_ms)
    assert (loop.sync.period_ms, loop.overlapped.period_ms) == (waiting, overlapped)
    assert round(loop.sync.steady_busy_percent, 1) == waiting_busy
    assert round(loop.overlapped.steady_busy_percent, 1) == overlapped_busy


def test_four_steps_take_28_8_ms_and_22_2_overlapped():
    loop = engine_loop.solve()
    assert (loop.sync.total_ms, round(loop.sync.busy_percent, 1)) == (28.8, 69.4)
    assert (loop.overlapped.total_ms, round(loop.overlapped.busy_percent, 1)) == (22.2, 90.1)
    assert round(loop.gain, 2) == 1.44


@pytest.mark.parametrize(("hidden", "post", "period", "busy", "total"), [
    (NONE, 0.4, 5.0, 100, 22.2), (BEFORE, 0, 5.0, 100, 22.2), (BEFORE, 0.4, 5.4, 92.6, 23.4),
    (BEFORE, 0.8, 5.8, 86.2, 24.6), (BEFORE, 1.2, 6.2, 80.6, 25.8), (READ_BACK, 0.4, 7.2, 69.4, 28.8),
    (AFTER, 0, 6.7, 74.6, None), (AFTER, 0.4, 6.7, 74.6, None), (AFTER, 1.2, 6.7, 74.6, None),
])
def test_a_read_costs_what_is_left_to_do_after_it(hidden: str, post: float, period: float, busy: float,
                                                  total: float | None):
    loop = engine_loop.solve(hidden_sync=hidden, sync_post_ms=post)
    assert (loop.async_period_ms, round(loop.async_busy_percent, 1)) == (period, busy)
    assert total is None or loop.async_total_ms == total


@pytest.mark.parametrize(("mask_ms", "period"), [(2, 5.0), (5, 7.2)])
def test_a_mask_hides_until_the_cpu_does_everything_itself(mask_ms: float, period: float):
    assert engine_loop.solve(mask_ms=mask_ms).async_period_ms == period


def test_with_a_worker_process_half_of_the_round_sets_the_pace():
    # By hand: 0.6 + 0.6, 1.0 and 1.0 ms give 1.6 in place of 2.2.
    assert engine_loop.solve(gpu_ms=1.0, processes=SEPARATE).async_period_ms == 1.6
    assert engine_loop.solve(gpu_ms=1.0).async_period_ms == 2.2


def test_half_of_input_preparation_on_the_gpu_gives_1_57():
    # By hand: s 1.2 to 0.4, g 1.0 to 1.05, async: 2.2 to 1.4 ms.
    old, new = engine_loop.solve(gpu_ms=1.0), engine_loop.solve(gpu_ms=1.05, sched_ms=0.4)
    assert (old.async_period_ms, new.async_period_ms) == (2.2, 1.4)
    assert round(old.async_period_ms / new.async_period_ms, 2) == 1.57


def test_a_gpu_twice_as_fast_gives_1_53_when_the_loop_waits():
    slow, fast = engine_loop.solve(), engine_loop.solve(gpu_ms=2.5)
    assert (slow.sync.period_ms, fast.sync.period_ms) == (7.2, 4.7)
    assert round(slow.sync.period_ms / fast.sync.period_ms, 2) == 1.53
    assert slow.async_period_ms / fast.async_period_ms == 2


def test_what_mending_the_cpu_can_give_is_bounded():
    waiting = engine_loop.solve(async_scheduling=False)
    assert round(waiting.most_gain, 2) == 1.44 and round(waiting.exposed_cpu_ms, 1) == 2.2
    small = engine_loop.solve(gpu_ms=1.0, async_scheduling=False)
    assert (round(small.most_gain, 1), round(small.gain, 2)) == (3.2, 1.45)


@pytest.mark.parametrize(("values", "binds"), [
    ({}, "gpu"), ({"async_scheduling": False}, "between"), ({"cuda_graphs": False, "gpu_ms": 1.0}, "inside"),
    ({"batch": 256}, "front"),
])
def test_the_verdict_names_what_binds(values: dict, binds: str):
    assert engine_loop.solve(**values).binds == binds


@pytest.mark.parametrize(("values", "field"), [
    ({"sample_ms": 6}, "sample_ms"), ({"hidden_sync": BEFORE, "sync_post_ms": 2}, "sync_post_ms"),
    ({"processes": SEPARATE, "launch_ms": 2}, "launch_ms"), ({"processes": SEPARATE, "mask_ms": 1}, "processes"),
])
def test_parts_longer_than_the_whole_are_refused(values: dict, field: str):
    with pytest.raises(Refusal) as refused:
        engine_loop.solve(**values)
    assert refused.value.field == field


PART = st.sampled_from([0.1, 0.4, 1.0, 1.2, 2.0, 5.0, 7.3])
SHARE = st.sampled_from([0.0, 0.3, 0.5, 1.0])


@st.composite
def any_times(draw: st.DrawFn) -> Times:
    s, o, g, p = draw(PART), draw(PART), draw(PART), draw(SHARE)
    mask, hidden = draw(st.sampled_from([0.0, 0.5, 2.0, 6.0])), draw(st.sampled_from([NONE, BEFORE, AFTER, READ_BACK]))
    apart = not mask and hidden == NONE and draw(st.booleans())
    return Times(s, o, g * (1 - p), g * p, mask, hidden, s * draw(SHARE), s * draw(SHARE) if apart else None)


@given(times=any_times(), overlap=st.booleans())
def test_the_lanes_settle_to_the_closed_form(times: Times, overlap: bool):
    period = closed_form(times, overlap)
    if period is not None:
        ends = [span.end_ms for span in follow(times, overlap, 128) if span.what == "output"]
        assert (ends[96] - ends[32]) / 64 == pytest.approx(period)


@given(times=any_times(), overlap=st.booleans(), steps=st.integers(1, 20))
def test_a_lane_does_one_thing_at_a_time_and_all_of_it(times: Times, overlap: bool, steps: int):
    spans = follow(times, overlap, steps)
    for lane in {span.lane for span in spans}:
        own = sorted((span for span in spans if span.lane == lane), key=lambda span: span.start_ms)
        assert all(earlier.end_ms <= later.start_ms + 1e-6 for earlier, later in zip(own, own[1:], strict=False))
    gpu = sum(span.end_ms - span.start_ms for span in spans if span.lane == GPU)
    assert gpu == pytest.approx(steps * times.gpu)
    cpu = sum(span.end_ms - span.start_ms for span in spans if span.lane == CPU and span.what != "wait")
    assert cpu == pytest.approx(steps * (times.cpu + times.mask - (times.launch or 0)))


@pytest.mark.parametrize(("requests", "drafts", "forward", "fill", "stall"), [
    (16, 0, 6.40, 0.64, 0), (64, 0, 8.81, 2.56, 0), (128, 0, 12.01, 5.12, 0), (256, 0, 18.42, 1.28, 0),
    (64, 3, 8.81, 10.24, 1.43), (256, 3, 18.42, 40.96, 22.54),
])
def test_forward_and_fill_come_out_by_batch(requests: int, drafts: int, forward: float, fill: float,
                                                      stall: float):
    case = mask_overlap.case(requests, drafts, 40, 8)
    assert (round(case.forward_ms, 2), round(case.fill_ms, 2)) == (forward, fill)
    assert case.stall_ms == pytest.approx(stall, abs=0.01)


def test_a_naive_mask_stalls_648_ms_and_a_small_model_shows_the_usual_one():
    naive = mask_overlap.case(64, 0, 10_260, 8)
    assert (round(naive.fill_ms), round(naive.stall_ms)) == (657, 648)
    assert round(mask_overlap.forward_time_ms("qwen3-0.6b", 64, 256), 2) == 1.15
    assert mask_overlap.solve(forward_ms=1.15).binds == "mask"


def test_one_thread_fills_ten_milliseconds_of_256_rows():
    assert mask_overlap.fill_time_ms(256, 0, 40, threads=1) == 10.24


def test_a_step_takes_9_1_ms_and_11_0_with_three_drafts():
    assert mask_overlap.solve().period_ms == pytest.approx(9.1)
    drafting = mask_overlap.solve(drafts=3)
    assert round(drafting.period_ms, 1) == 11.0 and drafting.binds == "mask"


def test_without_structured_requests_there_is_no_mask():
    plain = mask_overlap.solve(structured=0)
    assert plain.fill_ms == 0 and plain.period_ms == pytest.approx(9.1)
    with pytest.raises(Refusal, match="more than the batch"):
        mask_overlap.solve(structured=65)


@pytest.mark.parametrize(("values", "serving", "launched"), [
    ({"tensor_parallel": 1}, 2, 2), ({"tensor_parallel": 2}, 4, 4), ({}, 6, 6),
    ({"tensor_parallel": 2, "api_servers": 2}, 5, 6), ({"tensor_parallel": 1, "data_parallel": 2}, 7, 8),
    ({"tensor_parallel": 2, "data_parallel": 4}, 17, 18),
])
def test_processes_are_counted_as_the_launch_code_starts_them(values: dict, serving: int, launched: int):
    # vllm 0.33.0, entrypoints/cli/serve.py; its documentation gives the 6 and the 17.
    made = process_map.solve(**values)
    assert (made.processes, made.with_launcher) == (serving, launched)
    assert sum(role.count for role in made.roles) == launched


def test_a_rank_balanced_from_outside_keeps_a_coordinator_for_experts_alone():
    # vllm 0.33.0, engine/arg_utils.py: dense ranks raise behind an external balancer; hybrid with one rank is one too.
    outside = {"tensor_parallel": 1, "data_parallel": 8, "load_balancing": "external"}
    assert process_map.solve(**outside, moe=True).processes == 4
    with pytest.raises(Refusal, match="dense"):
        process_map.solve(**outside)
    one_of_eight = {**outside, "load_balancing": "hybrid", "local_ranks": 1}
    assert process_map.solve(**one_of_eight).processes == 3
    assert process_map.solve(**one_of_eight, moe=True).processes == 4
    with pytest.raises(Refusal, match="Hybrid"):
        process_map.solve(data_parallel=8, load_balancing="hybrid")


def test_the_rust_front_end_has_a_parent():
    assert process_map.solve(tensor_parallel=1, rust_front_end=True).with_launcher == 3


@pytest.mark.parametrize(("kernels", "ratio"), [(5, 1.70), (20, 1.18), (1, 4.5)])
def test_the_same_milliseconds_over_other_kernels(kernels: float, ratio: float):
    assert exposed_cpu.solve(gpu_ms=kernels).speed_up == pytest.approx(ratio, abs=0.006)


def test_v0_left_41_percent_of_its_step_exposed():
    before = exposed_cpu.solve()
    assert before.old_step_ms == 8.5 and round(before.old_exposed_percent) == 41


def test_a_message_is_119_times_smaller_than_everything():
    message = step_message.solve()
    assert (message.diff_bytes, round(message.ratio)) == (18_052, 119)
    assert message.block_ids == 16
    assert step_message.solve(new_requests=1).new_bytes == 16_800


@pytest.mark.parametrize(("requests", "measured", "everything"), [
    (64, 5_000, 541_000), (256, 17_300, 2_160_000), (1_024, 68_800, 8_600_000),
])
def test_the_fit_stays_by_the_pickles_that_were_measured(requests: int, measured: float, everything: float):
    size = next(size for size in step_message.solve().sizes if size.requests == requests)
    assert size.diff_bytes == pytest.approx(measured, rel=0.06)
    assert size.full_bytes == pytest.approx(everything, rel=0.01)


def test_a_request_under_async_scheduling_is_traced_by_its_counts():
    # vllm 0.33.0, AsyncScheduler: prompt 100, end of sequence as the second token.
    steps = placeholders.simulate().steps
    assert [(step.event, step.computed, step.known, step.placeholders) for step in steps[1:]] == [
        ("step 1 scheduled", 100, 100, 1), ("step 2 scheduled", 101, 100, 2), ("step 1 returns", 101, 101, 1),
        ("step 3 scheduled", 102, 101, 2), ("step 2 returns", 102, 102, 1), ("step 3 returns", 102, 102, 1),
    ]
    assert [step.need for step in steps[1:5]] == [1, 1, 1, 1]


@pytest.mark.parametrize(("outputs", "percent"), [(10, 9.1), (50, 2.0), (100, 1.0), (500, 0.2)])
def test_a_late_end_wastes_one_row(outputs: int, percent: float):
    run = placeholders.simulate(eos_at=outputs, max_tokens=501)
    assert run.wasted_rows == 1
    assert round(run.waste_percent, 1) == round(placeholders.waste_percent(outputs), 1) == percent


@given(prompt=st.integers(1, 50), cap=st.integers(1, 30), eos=st.integers(1, 40), overlap=st.booleans())
def test_rows_are_tokens_and_waste(prompt: int, cap: int, eos: int, overlap: bool):
    run = placeholders.simulate(prompt_tokens=prompt, max_tokens=cap, eos_at=eos, async_scheduling=overlap)
    assert run.outputs == min(cap, eos) and run.steps[-1].known == prompt + run.outputs
    assert run.wasted_rows == (1 if overlap and eos < cap else 0)
    assert all(step.computed <= step.known + step.placeholders for step in run.steps)


@pytest.mark.parametrize(("values", "outcome"), [
    ({}, "V2 async"), ({"env": "0"}, "V1 async"), ({"triton": False}, "V1 async"),
    ({"triton": False, "env": "1"}, "refused"), ({"speculation": "suffix"}, "V1 sync"),
    ({"speculation": "custom_class"}, "V1 sync"), ({"speculation": "suffix", "env": "1"}, "refused"),
    ({"speculation": "ngram"}, "V2 async"), ({"speculation": "ngram", "env": "0"}, "V1 sync"),
    ({"speculation": "eagle", "env": "0"}, "V1 async"),
    ({"speculation": "eagle", "env": "0", "padded_drafts": False}, "V1 sync"),
    ({"pipeline_parallel": 2}, "V2 async"), ({"pipeline_parallel": 2, "env": "0"}, "V1 sync"),
    ({"pipeline_parallel": 2, "env": "0", "async_flag": "on"}, "refused"),
    ({"pipeline_parallel": 2, "executor": "external_launcher"}, "V1 sync"),
    ({"executor": "external_launcher"}, "V2 async"),
    ({"speculation": "eagle", "feature": "parallel-drafting"}, "V1 async"),
    ({"speculation": "dflash", "feature": "parallel-drafting"}, "V2 async"),
    ({"speculation": "draft_model", "feature": "vocabulary"}, "V1 async"),
    ({"feature": "dbo"}, "V1 async"), ({"feature": "dbo", "env": "1"}, "V2 async"),
    ({"feature": "dbo-lora", "env": "1"}, "refused"), ({"feature": "hisparse"}, "V2 async"),
    ({"feature": "hisparse", "env": "0"}, "refused"), ({"feature": "watermark", "env": "0"}, "V2 async"),
    ({"feature": "replayssm"}, "refused"), ({"feature": "old-processor"}, "refused"),
    ({"feature": "old-processor", "env": "0"}, "V1 async"), ({"feature": "context-parallel", "env": "0"}, "refused"),
    ({"speculation": "dspark", "env": "0"}, "refused"), ({"async_flag": "off"}, "V2 sync"),
    ({"pooling": True}, "V2 sync"),
    ({"pooling": True, "async_flag": "on"}, "V2 async"), ({"executor": "custom"}, "V2 sync"),
    ({"executor": "custom", "async_flag": "on"}, "refused"), ({"platform": "cpu", "async_flag": "on"}, "V2 sync"),
    ({"platform": "rocm-deepep"}, "V2 sync"), ({"platform": "rocm-deepep", "async_flag": "on"}, "refused"),
    ({"scheduler_class": "custom"}, "V2 sync"),
])
def test_the_rules_decide_runner_and_loop_in_their_order(values: dict, outcome: str):
    # vllm 0.33.0, config/vllm.py, read rule by rule.
    assert model_runner.solve(**values).outcome == outcome


@pytest.mark.parametrize(("values", "says"), [
    ({"feature": "dbo"}, "does not yet support dual batch overlap; using the V1"),
    ({"feature": "dbo-lora"}, "does not yet support dual batch overlap; using the V1"),
    ({"feature": "dbo-lora", "env": "1"}, "does not yet support: dual batch overlap with LoRA"),
    ({"triton": False, "env": "1"}, "Model Runner V2 requires Triton."),
    ({"feature": "replayssm"}, "Triton ReplaySSM requires Model Runner V1"),
])
def test_the_message_is_the_engines(values: dict, says: str):
    # vllm 0.33.0, config/vllm.py and v1/worker/gpu_worker.py.
    assert says in model_runner.solve(**values).message


def test_the_new_runner_keeps_one_step_more_than_stages_in_flight():
    assert model_runner.solve(pipeline_parallel=4).queue_depth == 5
    assert model_runner.solve().gain == pytest.approx(2.2 / 1.4)
    with pytest.raises(Refusal, match="speculate"):
        model_runner.solve(feature="vocabulary")
