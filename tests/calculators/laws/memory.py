"""Laws of memory: what a GPU holds adds up, and a pool gives no more blocks than it has."""
import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from calculators.models.catalogue import MODELS
from tests.calculators.laws.base import GIB, at_most, falling, is_floor, near, rising, same


def ledger_is_balanced(result: Any) -> bool:
    """The parts and KV are the budget, the budget and what is not charged the card; nothing that starts is short."""
    parts = {term.label: term.gib for term in result.terms}
    charged = sum(parts.get(name, 0) for name in ("consumed", "weights", "persistent buffers", "non-torch growth",
                                                  "activation peak", "CUDA graphs", "KV pool"))
    return (near(charged, result.budget_gib) and near(result.budget_gib + result.slack_gib, result.total_gib)
            and result.kv_low_gib <= result.kv_gib <= result.kv_high_gib and pool_is_in_the_budget(result)
            and (not result.starts or result.short_gib == 0 and result.concurrency >= 1 - 1e-9)
            and (result.starts or result.message != ""))


def pool_is_in_the_budget(ledger: Any) -> bool:
    """The tokens of the pool are no more than its bytes hold, nor are those of the longest request."""
    if ledger.token_bytes is None:
        return True
    held = max(ledger.kv_gib, 0) * GIB
    return at_most(ledger.kv_tokens * ledger.token_bytes, held) and ledger.longest_tokens <= max(ledger.kv_tokens, 0)


def ranks_hold_the_model(result: Any, given: Mapping[str, Any]) -> bool:
    """What was measured stands, else the ranks together hold at least the weights."""
    if given["weights_gib"] is not None or given["consumed_gib"] is not None:
        return True
    whole = MODELS[given["model"]].weight_bytes(given["weights"])
    return at_most(whole, result.loaded_gib * GIB * given["tensor_parallel_size"])


def ledger_keeps_its_laws(result: Any, given: Mapping[str, Any]) -> bool:
    return ledger_is_balanced(result) and ranks_hold_the_model(result, given)


def first_failure_ends_the_start(result: Any, given: Mapping[str, Any]) -> bool:
    """Checks pass while what is asked is there; the first that fails is the last."""
    states = [check.state for check in result.checks]
    failed = [place for place, state in enumerate(states) if state == "failed"]
    passed = [check for check in result.checks if check.state == "passed"]
    whole = result.loaded_gib * GIB * given["tensor_parallel_size"] / 1e9
    return (len(failed) <= 1 and all(state == "passed" for state in states[:failed[0] if failed else None])
            or result.fails == "1") and (
        (result.fails == "0") == (not failed and result.fails != "1")
        and all(at_most(check.asked_gib, check.has_gib) for check in passed)
        and all(result.checks[place].asked_gib > result.checks[place].has_gib for place in failed)
        and at_most(result.weight_gb, whole)
        and near(result.cards_gib, result.total_gib * given["tensor_parallel_size"] * given["data_parallel_size"]))


def phases_add_up(result: Any, given: Mapping[str, Any]) -> bool:
    """The phases are the start; what is kept or left out makes none longer."""
    seconds = {phase.name: phase.seconds for phase in result.phases}
    before = seconds["processes, NCCL"] + seconds["weights"]
    ranks = given["tensor_parallel_size"]
    return (near(sum(seconds.values()), result.total_s) and near(before + result.engine_s, result.total_s)
            and near(result.each_rank_gb * ranks, given["weight_gb"])
            and near(seconds["weights"] * given["read_gb_per_s"] * (ranks if given["rate_of"] == "rank" else 1),
                     given["weight_gb"])
            and result.largest_s == max(seconds.values()) and result.meets == (result.total_s <= given["target_s"])
            and all(near(sum(phase.seconds for phase in change.phases), change.seconds) for change in result.changes))


def sequences_fill_the_pool(result: Any, given: Mapping[str, Any]) -> bool:
    """Blocks are a sequence's or left over, and the GPUs together keep at least a token's bytes."""
    kept = result.gpu_token_bytes * given["tensor_parallel_size"]
    return (result.sequences * result.sequence_blocks + result.left_blocks == result.pool_blocks
            and 0 <= result.left_blocks < result.sequence_blocks
            and result.pool_blocks * result.block_bytes <= result.pool_bytes
            and kept >= result.token_bytes and result.layer_token_bytes <= result.token_bytes
            and result.sequence_blocks <= result.admission_blocks
            and sum(group.blocks for group in result.groups) == result.admission_blocks
            and result.lowest == min(result.sequences, result.ridge, result.flag)
            and falling([row.sequences for row in result.contexts]) and -1e-9 <= result.waste_share < 1)


def bursts_fit_at_every_fall(result: Any, given: Mapping[str, Any]) -> bool:
    """Who runs fits the pool at each length; who went would not have; nobody is counted twice."""
    burst, usable = result.burst, result.pool_blocks - 1  # block 0 is nobody's
    falls = burst.falls
    last = math.ceil(result.final_context / given["block_size"])
    return (burst.admitted + burst.waiting == given["requests"]
            and burst.survivors + burst.preemptions == burst.admitted == falls[0].running
            and all(fall.running * fall.blocks_each <= usable for fall in falls)
            and all((after.running + 1) * after.blocks_each > usable and before.running > after.running
                    and before.step < after.step for before, after in pairwise(falls))
            and burst.survivors * last <= usable
            and is_floor(result.held, result.mean_context if given["staggered"] else result.final_context,
                         result.pool_tokens)
            and all(near(row.tokens_per_s * row.itl_ms / 1e3, row.sequences) for row in result.batches))


def formats_share_one_pool(result: Any, given: Mapping[str, Any]) -> bool:
    """Every format's tokens fill the same bytes to the last block, and only what is read of KV shrinks."""
    pool, size = int(given["pool_gib"] * GIB), given["block_size"]
    rows = result.formats
    return (all(is_floor(row.pool_tokens // size, row.token_bytes * size, pool) for row in rows)
            and all(near(row.products_ms + row.kv_ms + row.cpu_ms, row.itl_ms) for row in rows)
            and all(same(row.kv_ms * rows[0].token_bytes, rows[0].kv_ms * row.token_bytes) for row in rows)
            and near(result.after_ms + result.saved_ms, result.before_ms)
            and result.equal_itl_sequences >= given["sequences"])


def slots_are_filled_or_empty(result: Any, given: Mapping[str, Any]) -> bool:
    return result.blocks * given["block_size"] == result.tokens + result.wasted_tokens


def layers_have_a_slot_each(result: Any, given: Mapping[str, Any]) -> bool:
    """Groups hold every layer once and are equally wide; blocks hold what the layers need, decoding or not."""
    layers = result.full_layers + result.window_layers + result.state_layers
    rows = result.contexts
    return (sum(group.layers for group in result.groups) == layers
            and all(group.layers + group.padding == result.group_size for group in result.groups)
            and sum(group.padding for group in result.groups) == result.padding_layers
            and sum(group.decode_blocks for group in result.groups) == result.decode_blocks
            and result.full_bytes + result.window_bytes + result.state_bytes == result.needed_bytes
            and all(row.needed_bytes <= min(row.decode_bytes, row.all_full_bytes) for row in rows)
            and all(row.decode_bytes <= row.prefill_bytes for row in rows)
            and all(near(row.needed_bytes * row.saved, row.all_full_bytes) for row in rows)
            and rising([row.needed_bytes for row in rows]) and rising([row.decode_blocks for row in rows]))


def line_goes_through_the_middle(result: Any, given: Mapping[str, Any]) -> bool:
    """What the line leaves over adds up to nothing, beside the driver as well; nothing explains more than all."""
    rss = [row[result.columns.index("rss")] for row in result.points]
    events = [row[result.columns.index(result.driver)] for row in result.points]
    left = [mib * 2**20 - result.intercept_gib * GIB - result.slope_bytes * count
            for mib, count in zip(rss, events, strict=True)]
    spread, reach = max(rss) * 2**20, max(max(map(abs, events)), 1.0)
    still = max(events) == min(events)
    beside = sum(rest * count for rest, count in zip(left, events, strict=True))
    return (abs(sum(left)) <= 1e-6 * len(left) * max(spread, 1.0)
            and (still or abs(beside) <= 1e-6 * len(left) * max(spread, 1.0) * reach)
            and all(-1e-9 <= fit.r_squared <= 1 + 1e-9 and fit.error_bytes >= 0 for fit in result.fits)
            and near(result.growth_gib * 1024, rss[-1] - rss[0])
            and (result.suspect in ("", "none") or any(each.slug == result.suspect and each.survives
                                                       for each in result.suspects)))


LAWS = {
    "memory-ledger ledger": ledger_keeps_its_laws,
    "memory-ledger phases": first_failure_ends_the_start,
    "memory-ledger cold-start": phases_add_up,
    "kv-size concurrency": sequences_fill_the_pool,
    "kv-size long-replies": bursts_fit_at_every_fall,
    "kv-size fp8": formats_share_one_pool,
    "kv-size paging": slots_are_filled_or_empty,
    "kv-size hybrid": layers_have_a_slot_each,
    "leak-rate slope": line_goes_through_the_middle,
    "leak-rate suspects": line_goes_through_the_middle,
}
