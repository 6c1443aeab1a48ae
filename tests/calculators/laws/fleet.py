"""Laws of several GPUs and replicas: traffic is served or waits, lockstep waits for the slowest, nothing is lost."""
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from math import ceil
from typing import Any

from calculators.models.wide_ep import GroupStep
from tests.calculators.laws.base import at_most, falling, is_ceiling, near, rising, same


def replicas_are_enough(result: Any, given: Mapping[str, Any]) -> bool:
    """No constraint asks for more and one asks for as many; the batches of all replicas are all sequences."""
    asks = [row.asks for row in result.constraints]
    pool = result.pool
    parts = (pool.weights_gib + pool.rounding_gib + pool.buffers_gib + pool.non_torch_gib + pool.transient_gib
             + pool.charged_graphs_gib + pool.left_gib)
    return (is_ceiling(result.replicas, 1, max(asks)) and result.replicas <= result.replicas_with_spare
            and result.gpus == result.replicas_with_spare * given["gpus_per_replica"]
            and near(parts, pool.budget_gib)
            and all(near(row.batch * row.count, result.sequences) and near(row.prefill_share + row.decode_share,
                                                                           row.busy) for row in result.shares)
            and all(at_most(row.busy, given["busy_share"]) for row in result.shares if row.count >= result.replicas)
            and falling([row.busy for row in result.shares])
            and near(result.sequences * result.resident_tokens * result.kv_bytes_per_token, result.kv_gib * 2**30)
            and at_most(result.kv_tokens * (1 - 1e-9), result.replicas * result.pool_tokens * given["fill_share"]))


def arrivals_are_served_or_rejected(result: Any, given: Mapping[str, Any]) -> bool:
    """Who came was served or rejected, once; a cap is never passed, and a larger share of times is no shorter."""
    run, cap = result.run, given["max_num_queued_reqs"]
    at = [rung for rung in result.ladder if rung.mean_s is not None]
    return (0 <= sum(run.rejections) == run.rejected <= run.arrived
            and near(run.rejected_share * run.arrived, run.rejected)
            and max(run.in_system) == run.most_in_system <= (cap or run.arrived)
            and run.p50_s <= run.p99_s and run.mean_s <= run.p99_s + run.mean_s
            and rising([rung.mean_s for rung in at]) and all(at_most(rung.mean_s, rung.p99_s) for rung in at))


def sequences_are_rate_times_time(result: Any, given: Mapping[str, Any]) -> bool:
    """Little's law, and nobody is lost between replicas; their KV fits from the count named on."""
    return (near(given["rate_per_s"] * result.seconds_in_system, result.sequences)
            and all(near(row.batch * row.replicas, result.sequences) and near(row.kv_gib * row.replicas, result.kv_gib)
                    for row in result.shares)
            and all(row.fits == (row.replicas >= result.replicas_for_kv) for row in result.shares)
            and at_most(result.kv_gib, result.worst_kv_gib)
            and at_most(result.abandoned_sequences, result.sequences)
            and result.sequences <= result.p99_sequences <= result.p999_sequences)


def gauges_are_rate_times_time(result: Any, given: Mapping[str, Any]) -> bool:
    """Little's law for who runs and who waits; the parts of a request's time are its time."""
    rate = given["rate_per_s"]
    return (near(rate * (result.prefill_s + result.decode_s), result.running)
            and near(rate * result.queue_s, result.waiting)
            and near(result.front_end_s + result.queue_s + result.prefill_s, result.ttft_mean_s)
            and near(result.ttft_mean_s + result.decode_s, result.e2e_mean_s)
            and near(result.tpot_s * (given["output_tokens"] - 1), result.decode_s)
            and result.running <= result.seats and result.kv_usage <= 1 + 1e-9
            and 0 <= result.good_share <= 1 and at_most(result.goodput_per_s, rate))


def ranks_wait_for_the_slowest(step: GroupStep) -> bool:
    """What a rank computes and waits is as long for all, and with the wire, unless it is overlapped, the step."""
    both = [compute + wait for compute, wait in zip(step.compute_ms, step.waits_ms, strict=True)]
    ends = max(both) + (0 if step.overlapped else step.all_to_all_ms)
    return (all(same(one, both[0]) for one in both) and min(step.waits_ms) == 0
            and (at_most(max(ends, step.all_to_all_ms), step.step_ms) if step.overlapped else same(ends, step.step_ms))
            and all(near(busy * step.step_ms, compute) and busy <= 1 + 1e-9
                    for busy, compute in zip(step.busy, step.compute_ms, strict=True)))


def chunk_keeps_all_ranks(result: Any, given: Mapping[str, Any]) -> bool:
    """The chunk changes one rank's work alone, and everybody's step; the mean is of one such step in so many."""
    others = [place for place in range(given["ranks"]) if place != result.rank]
    every = given["every_steps"]
    return (ranks_wait_for_the_slowest(result.base) and ranks_wait_for_the_slowest(result.loaded)
            and all(result.base.compute_ms[place] == result.loaded.compute_ms[place] for place in others)
            and near(result.mean_step_ms * every, (every - 1) * result.base_ms + result.step_ms)
            and rising([chunk.step_ms for chunk in result.chunks])
            and near(result.base_tokens_per_s * result.base_ms / 1e3, given["decodes"])
            and result.users == given["ranks"] * given["decodes"])


def loads_are_moved_not_made(result: Any, given: Mapping[str, Any]) -> bool:
    """Every placement holds each expert with all of its load, in one slot more for each copy, alike on all ranks."""
    loads = given["expert_loads"]
    for each in result.placements:
        held: Counter[int] = Counter()
        for slots in each.ranks:
            for slot in slots:
                held[slot.expert] += slot.load
        sizes = {len(slots) for slots in each.ranks}
        if not (all(near(held[expert], load) for expert, load in enumerate(loads)) and set(held) == set(
                range(len(loads))) and sum(map(len, each.ranks)) == len(loads) + each.redundant
                and max(sizes) - min(sizes) <= (0 if each.redundant else 1)
                and near(max(each.loads) * each.balance, sum(loads) / given["ranks"])):
            return False
    return sum(result.copies) == len(loads) + result.placed.redundant


def halves_compute_the_whole(result: Any, given: Mapping[str, Any]) -> bool:
    """Split or not, ranks wait for each other; halves compute no less, and the gain is bounded by what overlaps."""
    whole, split = result.whole, result.split
    return (ranks_wait_for_the_slowest(whole) and ranks_wait_for_the_slowest(split)
            and (not split.overlapped or at_most(max(whole.compute_ms), max(split.compute_ms)))
            and at_most(result.whole_ms, result.bound * result.split_ms)
            and near(result.tokens_per_s * result.whole_ms, result.split_tokens_per_s * result.split_ms)
            and rising([row[1] for row in result.curve]) and rising([row[2] for row in result.curve]))


def prompts_are_prefilled_or_wait(run: Any, given: Mapping[str, Any]) -> bool:
    """On each rank the tokens that came are prefilled or still owed; no step is over its budget or out of time."""
    room, prompt = given["max_num_batched_tokens"] - given["decodes"], given["prompt_tokens"]
    owed, at_ms = [0] * given["ranks"], 0.0
    for step in run.steps:
        owed = [left + came * prompt - done for left, came, done in zip(owed, step.arrived, step.prefill, strict=True)]
        if min(owed) < 0 or max(step.prefill) > room or not near(step.starts_ms, at_ms):
            return False
        if any(ceil(left / prompt) != waiting for left, waiting in zip(owed, step.waiting, strict=True)):
            return False
        at_ms += step.step_ms
    return near(run.at_hand.mean_ms * len(run.steps), at_ms)


def slow_rank_slows_its_group(result: Any, given: Mapping[str, Any]) -> bool:
    """A group fails as often as all of its GPUs together; the sick rank is the one that does not wait."""
    steps = [step for step in (result.base, result.sick) if step]
    return (all(map(ranks_wait_for_the_slowest, steps))
            and near(result.group_mtbf_h * given["ranks"], given["gpu_mtbf_h"])
            and (not result.sick or result.sick.waits_ms[result.culprit] == min(result.sick.waits_ms))
            and near(result.lost_gpus + result.throughput_share * given["ranks"], given["ranks"])
            and (result.sick is None or at_most(result.base_ms, result.step_ms))
            and result.stuck_requests in (0, given["ranks"] * given["decodes"]))


def weights_and_kv_fill_each_gpu(result: Any, given: Mapping[str, Any]) -> bool:
    """Weights and what is left are the same on every GPU of any width; the wider, the fewer weights on each."""
    budgets = [row.weights_gb + row.free_gb for row in result.layouts]
    wide = [row for row in result.layouts if row is not result.tensor_parallel]
    experts = [row.gpus * (row.weights_gb - wide[-1].weights_gb) for row in wide]
    held = [row.kv_tokens / (row.gpus * row.free_gb) for row in wide if row.free_gb > 0]
    one = result.tensor_parallel
    return (all(same(one, budgets[0]) for one in budgets) and falling([row.weights_gb for row in wide])
            and all(at_most(one, experts[0] + 1e-6) for one in experts)
            and all(near(one, held[0]) for one in held)
            and (one.free_gb <= 0 or not held or near(one.kv_tokens / one.free_gb, held[0]))
            and all(row.kv_tokens == 0 for row in result.layouts if row.free_gb <= 0))


def parts_make_the_score(result: Any, given: Mapping[str, Any]) -> bool:
    """A score is the sum of its parts, nobody left has a better one, and a weight's leads cover all of its range."""
    left = {pod.name: pod.score for pod in result.pods if not pod.reason}
    best = max(left.values(), default=0)
    return (all(near(sum(pod.parts), pod.score) for pod in result.pods if pod.parts)
            and all(name in left and near(left[name], best) for name in result.winners)
            and bool(left) == bool(result.winners)
            and all(ruler.leads[0].start == 0 and all(one.end == later.start for one, later in pairwise(ruler.leads))
                    and all(lead.start < lead.end for lead in ruler.leads) for ruler in result.rulers if ruler.leads))


LAWS = {
    "gpu-count sizing": replicas_are_enough,
    "gpu-count queueing": arrivals_are_served_or_rejected,
    "gpu-count in-flight": sequences_are_rate_times_time,
    "gpu-count dashboard": gauges_are_rate_times_time,
    "wide-ep lockstep": chunk_keeps_all_ranks,
    "wide-ep experts": loads_are_moved_not_made,
    "wide-ep overlap": halves_compute_the_whole,
    "wide-ep prefills": prompts_are_prefilled_or_wait,
    "wide-ep sick": slow_rank_slows_its_group,
    "wide-ep width": weights_and_kv_fill_each_gpu,
    "epp pick": parts_make_the_score,
}
