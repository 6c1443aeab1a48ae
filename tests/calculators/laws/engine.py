"""Laws of the engine's loop, its text, and its scheduler: lanes, processes, rows, tokens and blocks."""
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from calculators.models.engine_loop import AFTER, CPU, GPU, WORKER, Mode
from tests.calculators.laws.base import at_most, is_ceiling, near, rising


def lanes_do_one_thing_at_a_time(run: Mode, gpu_ms: float, scheduled_before: str = "forward") -> bool:
    """No lane is in two places, the GPU does each step's work and no more, and a step goes forward in time.

    `scheduled_before` is the GPU's piece before which scheduling begins at the latest.
    """
    for lane in (CPU, WORKER, GPU):
        spans = sorted((span.start_ms, span.end_ms) for span in run.spans if span.lane == lane)
        if any(later[0] < span[1] - 1e-8 for span, later in pairwise(spans)):
            return False
    last = max(span.number for span in run.spans)
    on_gpu = [span for span in run.spans if span.lane == GPU]
    busy = sum(span.end_ms - span.start_ms for span in on_gpu)
    starts = {(span.what, span.number): span.start_ms for span in reversed(run.spans)}
    ends = {span.number: span.end_ms for span in on_gpu}
    forward = all(starts.get(("schedule", step), 0) <= starts.get((scheduled_before, step), run.total_ms)
                  and ends.get(step, 0) <= starts.get(("output", step), run.total_ms) + 1e-8
                  for step in range(1, last + 1))
    return (forward and near(busy, last * gpu_ms) and near(run.total_ms * run.busy_percent, 100 * busy)
            and at_most(busy, run.total_ms + 1e-6) and at_most(gpu_ms, run.period_ms + 1e-8))


def settles_to_its_period(run: Mode) -> bool:
    """A long run's own outputs come at the pace that is said of it."""
    ends = [span.end_ms for span in run.spans if span.what == "output"]
    quarter = len(ends) // 4
    return quarter < 4 or near((ends[3 * quarter] - ends[quarter]) / (2 * quarter), run.period_ms)


def loop_keeps_its_lanes(result: Any, given: Mapping[str, Any]) -> bool:
    before = "sample" if given["hidden_sync"] == AFTER else "forward"
    return (all(lanes_do_one_thing_at_a_time(run, given["gpu_ms"], before) for run in (result.sync, result.overlapped))
            and settles_to_its_period(result.sync)
            and result.tokens_per_s <= given["api_servers"] * given["api_tokens_per_s"] * (1 + 1e-9))


def mask_keeps_its_lanes(result: Any, given: Mapping[str, Any]) -> bool:
    gpu_ms = given["forward_ms"] + given["sample_ms"]
    return (all(lanes_do_one_thing_at_a_time(run, gpu_ms) for run in (result.sync, result.overlapped))
            and at_most(result.overlapped.total_ms, result.sync.total_ms + 1e-6))


def processes_are_somebody(result: Any, given: Mapping[str, Any]) -> bool:
    """Every process has a role, and every GPU one worker or, alone, the EngineCore."""
    count = {role.name: role.count for role in result.roles}
    return (sum(count.values()) == result.with_launcher == result.processes + count["launcher"]
            and (count["GPU worker"] == result.gpus or count["GPU worker"] == 0 and result.gpus == 1)
            and result.gpus % count["EngineCore"] == 0)


def rows_give_tokens_or_nothing(run: Any, given: Mapping[str, Any]) -> bool:
    return run.outputs + run.wasted_rows == run.sampled_rows


def messages_grow_by_request(result: Any, given: Mapping[str, Any]) -> bool:
    """Each further request adds as much as the last one did, and each of a request's blocks is told once."""
    sizes = [(size.requests, size.diff_bytes, size.full_bytes) for size in result.sizes]
    slopes = [((b[1] - a[1]) / (b[0] - a[0]), (b[2] - a[2]) / (b[0] - a[0])) for a, b in pairwise(sizes)]
    return (all(near(one, slopes[0][0]) and near(other, slopes[0][1]) for one, other in slopes)
            and slopes[0][0] >= given["id_chars"] and near(slopes[0][1] * given["batch"], result.full_bytes)
            and near(result.message_bytes * result.ratio, result.full_bytes)
            and near(result.block_ids * given["block_size"], given["batch"]))


def one_rule_decides(result: Any, given: Mapping[str, Any]) -> bool:
    """Rules pass up to the one that decides; a loop that overlaps keeps a step more in flight than it has stages."""
    for rules in (result.runner_rules, result.loop_rules):
        fell = [rule.fell for rule in rules]
        decides = fell.index("decides")
        if fell != ["passed"] * decides + ["decides"] + ["not reached"] * (len(fell) - decides - 1):
            return False
    gpu_ms = given["gpu_ms"] + (given["kernels_ms"] if result.runner == "V2" else 0)
    return (result.queue_depth == given["pipeline_parallel"] + result.overlaps
            and at_most(gpu_ms, result.period_ms + 1e-8)
            and at_most(result.period_ms, gpu_ms + given["sched_ms"] + given["out_ms"] + 1e-8))


def what_is_hidden_is_saved(result: Any, given: Mapping[str, Any]) -> bool:
    """The same milliseconds go off every step, however long its kernels."""
    saved = given["exposed_before_ms"] - given["exposed_after_ms"]
    return (all(near(row.old_step_ms - row.new_step_ms, saved) and near(row.new_step_ms * row.speed_up, row.old_step_ms)
                for row in result.at_steps) and near(result.old_step_ms - result.new_step_ms, saved)
            and at_most(result.speed_up, result.most_speed_up))


def text_is_sent_once(run: Any, given: Mapping[str, Any]) -> bool:
    """What is sent piece by piece is what all bytes together begin with, up to a stop string."""
    if "".join(step.sent for step in run.steps) != run.sent_text:
        return False
    said = [token for token in run.sequence[run.prompt_length:] if not (token.special and given["skip_special"])]
    try:
        b"".join(token.data for token in run.sequence[:run.prompt_length]).decode()
        whole = b"".join(token.data for token in said).decode()
    except UnicodeDecodeError:  # how broken bytes are read is the decoder's own
        return True
    return whole.startswith(run.sent_text) and (not run.stop_string or run.stop_string in whole)


def tokens_are_computed_once(run: Any, given: Mapping[str, Any]) -> bool:
    """Steps keep within the budget, their tokens are those of the run, and every block is used or free."""
    steps = [sum(step.tokens.values()) for step in run.steps]
    finished = [name for step in run.steps for name in step.finished]
    return (max(steps, default=0) <= given["max_num_batched_tokens"] and sum(steps) == run.tokens_computed
            and all(step.after.free + step.after.used == given["usable_blocks"] for step in run.steps)
            and all(len({id for blocks in step.after_schedule.blocks.values() for id in blocks})
                    + step.after_schedule.free == given["usable_blocks"] for step in run.steps)
            and all(len(step.after.running) <= given["max_num_seqs"] for step in run.steps)
            and len(finished) == len(set(finished)))


def budgets_keep_the_target(result: Any, given: Mapping[str, Any]) -> bool:
    """Up to the largest budget every gap is within the target and past it none; steps cover the prompt."""
    target, beside = given["itl_target_ms"], given["decoders"]
    rows = sorted(result.settings, key=lambda row: row.budget)
    return (all(row.fits == (row.budget <= result.largest_budget) == (row.gap_ms <= target) for row in rows)
            and rising([row.gap_ms for row in rows])
            and all(at_most(row.short_gap_ms, row.gap_ms) and at_most(row.gap_ms, row.far_gap_ms) for row in rows)
            and all((row.prompt_steps - 1) * (row.budget - beside) < given["longest_prompt_tokens"]
                    <= row.prompt_steps * (row.budget - beside) for row in rows)
            and result.far_budget <= result.largest_budget <= result.short_budget)


def chunks_pay_the_whole_triangle(result: Any, given: Mapping[str, Any]) -> bool:
    """However the prompt is cut, its attention is that of all its pairs, and its gaps are its time."""
    prefill, prompt, cached = result.prefill, given["prompt_tokens"], given["cached_prefix_tokens"]
    pairs = (prompt * (prompt + 1) - cached * (cached + 1)) / 2
    lifted = given["long_prefill_token_threshold"] and not given["decoders"]  # while the prompt is alone
    attention_ms = pairs * result.attention_flop_per_pair / result.effective_tflop_per_s / 1e9
    ends = [0.0, *prefill.ends_s]
    return (near(sum(prefill.attentions_ms), attention_ms) and near(sum(prefill.gaps_ms) / 1e3, prefill.takes_s)
            and all(near((end - start) * 1e3, gap) for (start, end), gap in zip(pairwise(ends), prefill.gaps_ms,
                                                                                 strict=True))
            and (lifted or is_ceiling(prefill.chunks, prefill.full_chunk, prompt - cached))
            and all(near(wait.at_s + wait.ttft_s, wait.first_token_s) for wait in result.backlog.waits)
            and at_most(result.base_gap_ms, result.peak_gap_ms))


LAWS = {
    "engine-loop loop": loop_keeps_its_lanes,
    "engine-loop hidden-sync": loop_keeps_its_lanes,
    "engine-loop cpu-bound": loop_keeps_its_lanes,
    "engine-loop mask": mask_keeps_its_lanes,
    "engine-loop processes": processes_are_somebody,
    "engine-loop placeholders": rows_give_tokens_or_nothing,
    "engine-loop message": messages_grow_by_request,
    "engine-loop runner": one_rule_decides,
    "engine-loop exposed": what_is_hidden_is_saved,
    "detokenizer window": text_is_sent_once,
    "detokenizer stop": text_is_sent_once,
    "scheduler steps": tokens_are_computed_once,
    "scheduler budget": budgets_keep_the_target,
    "prefill-interference gap": chunks_pay_the_whole_triangle,
}
