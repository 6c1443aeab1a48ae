"""Laws of launches, captured sizes, backends and configurations."""
from collections.abc import Mapping
from math import sqrt
from typing import Any

from calculators.models import config_diff
from tests.calculators.laws.base import at_most, is_floor, near


def all_kernels_run_whichever_way(result: Any, given: Mapping[str, Any]) -> bool:
    """Each way brings the GPU the same kernels, and its step is no shorter than either side and no longer than both."""
    for way in result.ways:
        launches = list(result.timeline(way.name))
        if not (sum(launch.kernels for launch in launches) == result.kernels and len(launches) == way.launches
                and near(way.busy_percent * way.step_ms, 100 * result.kernel_ms)
                and at_most(max(way.cpu_ms, result.kernel_ms), way.step_ms)
                and at_most(way.step_ms, way.cpu_ms + result.kernel_ms)
                and near(way.speed_up * way.step_ms, result.eager.step_ms)):
            return False
    return True


def runs_at(tokens: int, sizes: tuple[int, ...]) -> int | None:
    """The smallest of the sizes that holds so many tokens."""
    return min((size for size in sizes if size >= tokens), default=None)


def padding_is_to_the_next_size(result: Any, given: Mapping[str, Any]) -> bool:
    """A batch runs in the smallest size captured that holds it; the mean is over all batches between the sizes."""
    for row in result.compared:
        whole, part = runs_at(row.tokens, result.decode_sizes), runs_at(row.tokens, result.sizes)
        graph = "full" if whole else "piecewise" if part else "none"
        if row.size != (whole or part) or row.graph != graph or not at_most(row.step_ms, row.padded_step_ms):
            return False
    gaps = [later - size for size, later in zip((0, *result.sizes), result.sizes, strict=False)]
    empty = sum(gap * (gap - 1) // 2 for gap in gaps)
    return (near(result.mean_rows * result.sizes[-1], empty) and all(
                size % (1 + given["num_speculative_tokens"]) == 0 and size <= result.sizes[-1]
                for size in result.decode_sizes)
            and result.worst[1] == runs_at(result.worst[0], result.sizes)
            and all(row.graph != "piecewise" or row.size is not None for row in result.compared))


def steps_run_in_what_was_captured(result: Any, given: Mapping[str, Any]) -> bool:
    """A graph is one that the mode captures, the next size up; the choice in hand is what is in force."""
    here = next(choice for choice in result.choices if choice.present)
    for ran in result.steps_run:
        if ran.graph != "none" and not ran.tokens <= ran.size <= result.sizes[-1]:
            return False
        if ran.graph == "piecewise" and (ran.size != runs_at(ran.tokens, result.sizes) or not result.piecewise_graphs):
            return False
        if ran.graph == "full" and (ran.launches != 1 or not result.full_graphs):
            return False
    return (here.mode == result.mode and here.graphs == result.graphs
            and result.piecewise_graphs in (0, len(result.sizes) * (given["layers"] + 1))
            and all(ran.launches <= result.eager_launches + given["layers"] + 1 for ran in result.steps_run))


def first_without_a_reason_is_chosen(result: Any, given: Mapping[str, Any]) -> bool:
    """One is chosen, nothing speaks against it, and unless it was forced something does against all before it."""
    chosen = [row for row in result.candidates if row.chosen]
    before = result.candidates[:result.candidates.index(chosen[0])]
    return (len(chosen) == 1 and chosen[0].name == result.backend and not chosen[0].reasons
            and (bool(given["backend"]) or all(row.reasons for row in before))
            and (not given["backend"] or result.backend == given["backend"]))


def the_way_back_is_the_same_difference(result: Any, given: Mapping[str, Any]) -> bool:
    """Every change is one and is judged once; seen from the other side the same ones differ, and none from itself."""
    weight = given["least_weight"]
    back = config_diff.solve(before=given["after"], after=given["before"], least_weight=weight)
    still = config_diff.solve(before=given["after"], after=given["after"], least_weight=weight)
    names = [change.name for change in result.changes]
    counted = result.depending + result.helping + result.without_effect
    return (len(names) == len(set(names)) and all(change.was != change.now for change in result.changes)
            and {(one.name, one.was, one.now) for one in result.changes} == {
                (one.name, one.now, one.was) for one in back.changes}
            and not still.changes and set(result.suspects) <= set(names)
            and counted + sum(one.direction == "hurts" for one in result.changes) == len(names))


def picks_are_of_the_difference(result: Any, given: Mapping[str, Any]) -> bool:
    asked = [change.name for change in result.asked]
    return (the_way_back_is_the_same_difference(result.diff, given) and asked == sorted(set(asked))
            and set(asked) <= {change.name for change in result.diff.changes})


def evidence_grows_with_runs(result: Any, given: Mapping[str, Any]) -> bool:
    """The error falls with the root of the runs; those needed are just enough; halving finds one commit of all."""
    noise, drop = given["noise_percent"], given["drop_percent"]

    def shows(runs: int) -> bool:
        return at_most(3 * noise * sqrt(2 / runs), drop)

    return (all(near(row.error_percent**2 * row.runs_each, 2 * noise**2) and near(row.errors * row.error_percent, drop)
                for row in result.by_runs)
            and result.shown == (given["runs"] >= result.runs_needed)
            and shows(result.runs_needed) and (result.runs_needed == 1 or not at_most(
                3 * noise * sqrt(2 / (result.runs_needed - 1)), drop * (1 - 1e-9)))
            and 2**result.bisect_steps >= given["commits"] and (
                not result.bisect_steps or 2**(result.bisect_steps - 1) < given["commits"])
            and all(count == 1 or is_floor(count, given["sequence_tokens"], pool) for count, pool in (
                (result.before_sequences, given["before_tokens"]), (result.after_sequences, given["after_tokens"])))
            and near(result.before_tokens_per_s * (1 + result.loss_percent / 100), result.after_tokens_per_s))


LAWS = {
    "cuda-graphs launches": all_kernels_run_whichever_way,
    "cuda-graphs padding": padding_is_to_the_next_size,
    "cuda-graphs modes": steps_run_in_what_was_captured,
    "attention-backends selector": first_without_a_reason_is_chosen,
    "config-diff diff": the_way_back_is_the_same_difference,
    "config-diff suspects": picks_are_of_the_difference,
    "config-diff evidence": evidence_grows_with_runs,
}
