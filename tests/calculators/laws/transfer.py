"""Laws of moving KV and of the command: blocks are given back by all sides, a lease ends, a command reads back."""
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from calculators.labs import LABS
from calculators.models.kv_calls import Step
from calculators.models.serve_builder import served
from calculators.models.serve_flags import BY_NAME
from tests.calculators.laws.base import at_most, is_ceiling, near, rising, same
from tests.calculators.laws.memory import ledger_is_balanced

GONE, RUNNING, FINISHED = "gone", "RUNNING", "FINISHED"


def blocks_come_back(steps: tuple[Step, ...], engine: str) -> bool:
    """An engine's request takes blocks with an allocation, gives all of them back with a free, and ends once at most.

    At the end it holds none, unless it still runs.
    """
    for before, step in pairwise(steps):
        was, now = before.held_by[engine], step.held_by[engine]
        if now.held > was.held and "allocate_slots" not in step.calls:
            return False
        if now.held < was.held and not (now.held == 0 and ("free" in step.calls or now.looks == GONE)):
            return False
        if was.status.startswith(FINISHED) and now.status != was.status and now.looks != GONE:
            return False
    last = steps[-1].held_by[engine]
    calls = [call for step in steps if step.engine == engine for call in step.calls]
    return (calls.count("request_finished_all_groups") == last.status.startswith(FINISHED) or last.looks == GONE) and (
        last.held == 0 or last.status == RUNNING)


def pull_gives_back_both_sides(run: Any, given: Mapping[str, Any]) -> bool:
    """Whatever fails, P's blocks go, D's too unless it answers; what D lacks is read or reported failed, time goes on.
    """
    last, names = run.steps[-1].held_by, [step.name for step in run.steps]
    reported = any("failed_recving" in step.returned for step in run.steps)
    read = "READ" in names
    answers = names.count("first token")
    return (blocks_come_back(run.steps, "P") and blocks_come_back(run.steps, "D") and last["P"].held == 0
            and rising([step.at_ms for step in run.steps])
            and answers == (run.first_token_ms is not None) == (last["D"].status == RUNNING)
            and read + reported == (given["fault"] not in ("D dies", "abort queued"))
            and is_ceiling(run.blocks, given["block_size"], given["prompt_tokens"])
            and run.read_blocks <= run.blocks
            and (not read or given["fault"] == "stall" or all(
                step.held_by["P"].held and step.held_by["D"].held for step in run.steps if step.name == "READ")))


def sides_give_back_their_blocks(run: Any, given: Mapping[str, Any]) -> bool:
    """The request ends once with no block held; what is loaded and computed is what the cache did not hold."""
    hit = min(given["local_hit_tokens"], given["prompt_tokens"] - 1) // given["block_size"] * given["block_size"]
    left = given["prompt_tokens"] - hit - run.count
    bad = any(step.returned in ("1 block", "failed_recving", "finished_recving, 1 block bad") for step in run.steps)
    return (blocks_come_back(run.steps, "engine") and run.steps[-1].held_by["engine"].held == 0
            and run.ended == run.steps[-1].held_by["engine"].status and run.ended.startswith(FINISHED)
            and run.left_tokens == max(left, 1) and left >= 0
            and is_ceiling(run.load_blocks, given["block_size"], run.count)
            and bad == (given["fault"] in ("bad blocks", "failed")))


def links_carry_every_byte(result: Any, given: Mapping[str, Any]) -> bool:
    """The lanes' rate times the read is all bytes, ranks hold them all, and a longer chunk makes no shorter step."""
    rate = result.lanes * given["link_gb_per_s"] * given["efficiency"] * 1e6  # bytes a ms
    return (near(result.read_ms * rate, result.kv_bytes) or same(result.read_ms * rate, result.kv_bytes)) and (
        same(result.rank_bytes * given["decode_gpus"], result.kv_bytes)
        and result.lanes <= min(given["prefill_gpus"], given["decode_gpus"])
        and rising([chunk.step_ms for chunk in result.chunks])
        and all(at_most(result.decode_step_ms, chunk.step_ms) for chunk in result.chunks)
        and all(same(time * link.gb_per_s, other * result.links[0].gb_per_s) for link in result.links
                for time, other in zip(link.takes_ms, result.links[0].takes_ms, strict=True))
        and result.pays == (result.chunk.step_ms > given["gap_limit_ms"])
        and at_most(result.prefill_ms + result.read_ms, result.first_token_ms))


def nodes_keep_up(result: Any, given: Mapping[str, Any]) -> bool:
    """Whole nodes serve what comes and one fewer would not; the ratio does not depend on the rate."""
    return (all(is_ceiling(count, node, rate) or rate == 0 and count == 0 for count, node, rate in (
        (result.prefill_nodes, given["prefill_node_tokens_per_s"], result.prefill_tokens_per_s),
        (result.decode_nodes, given["decode_node_tokens_per_s"], result.decode_tokens_per_s)))
        and near(result.decode_tokens_per_s, given["rate_per_s"] * given["output_tokens"])
        and all(near(row.ratio, result.ratio) for row in result.shapes if row.present))


def beats_keep_the_lease(result: Any, given: Mapping[str, Any]) -> bool:
    """Beats come one interval apart and none after the deadline, which never goes back; P frees at the last of it."""
    beats = result.beats
    deadlines = [float(given["kv_lease_duration"]), *(beat.deadline_s for beat in beats)]
    return (all(near(later.at_s - beat.at_s, result.interval_s) for beat, later in pairwise(beats))
            and all(beat.at_s <= deadline <= beat.deadline_s for beat, deadline in zip(beats, deadlines, strict=False))
            and all(beat.moves == (beat.deadline_s > deadline) for beat, deadline in zip(beats, deadlines,
                                                                                         strict=False))
            and all(beat.at_s <= result.end_s for beat in beats)
            and at_most(result.frees_s, deadlines[-1])
            and (result.expired == (result.frees_s < result.end_s) or result.end == "dies")
            and (not result.expired or result.frees_s == deadlines[-1])
            and near(result.held_gb_s * given["rate_per_s"], result.pinned_gb))


def command_reads_back(result: Any, given: Mapping[str, Any]) -> bool:
    """Every flag is vLLM's or named unknown; what is copied, pasted in again, says the same; the fit adds up."""
    view = LABS["serve-command"].view("command")
    pasted = view.paste.read(result.command).values
    unsaid = {name: given[name] for name in ("model", "checkpoint", "gpu", "gpus", "host_gib")}  # shapes and machines
    back = view.compute(view.bind(pasted | unsaid))
    fit = result.fit
    adds_up = fit.ledger is None or ledger_is_balanced(fit.ledger) and near(
        fit.ledger.loaded_gib + fit.overhead_gib + fit.ledger.kv_gib, fit.ledger.budget_gib)
    return (adds_up and all(part.unknown or part.flag in BY_NAME for part in result.parts)
            and served(pasted["model"], pasted["checkpoint"])[1] == result.model_id
            and back is not None and said_by(back[1]) == said_by(result))


def said_by(made: Any) -> tuple[set[str], dict[str, str]]:
    """A command's variables, and each flag that is copied with the value that counts, the last one."""
    return set(made.variables), {part.flag: part.value for part in made.parts if part.copied}


def widths_share_the_node(result: Any, given: Mapping[str, Any]) -> bool:
    """Width times replicas are the GPUs, what is on one is its budget, and no narrower width than the chosen serves."""
    for plan in result.plans:
        if not (plan.width * plan.replicas == given["gpus"] and plan.users_each * plan.replicas >= given["users"]
                and near(plan.weights_gib + plan.overhead_gib + plan.kv_gib, result.budget_gib)
                and plan.sequences * given["context_tokens"] <= plan.node_tokens
                and near(plan.tokens_per_s * plan.step_ms / 1e3, given["users"])
                and (plan.why_not != "" or plan.sequences_each >= plan.users_each)):
            return False
    serving = [plan.width for plan in result.plans if not plan.why_not]
    return result.chosen == (str(min(serving)) if serving else "")


def replicas_share_the_seconds(result: Any, given: Mapping[str, Any]) -> bool:
    """Arrivals times their service are the busy seconds; fewer hits wait no shorter."""
    each = given["rate_per_s"] / given["replicas"]
    rows = sorted((result.before, result.after, *result.others), key=lambda row: -row.hit_percent)
    return (all(near(each * row.service_ms / 1e3, row.busy_share) and row.busy_share < 1
                and near(row.service_ms * given["prefill_tokens_per_s"] / 1e3, row.uncached_tokens)
                and near(given["front_end_ms"] + row.p99_wait_ms + row.service_ms, row.p99_ttft_ms)
                and 0 <= row.prefill_step_share <= 1 for row in rows)
            and rising([row.mean_wait_ms for row in rows]) and rising([row.p99_wait_ms for row in rows])
            and near(result.p99_wait_s * 1e3, result.after.p99_wait_ms))


LAWS = {
    "kv-transfer nixl": pull_gives_back_both_sides,
    "kv-transfer sides": sides_give_back_their_blocks,
    "kv-transfer split": links_carry_every_byte,
    "kv-transfer ratio": nodes_keep_up,
    "kv-transfer lease": beats_keep_the_lease,
    "serve-command command": command_reads_back,
    "serve-command plans": widths_share_the_node,
    "serve-command ttft": replicas_share_the_seconds,
}
