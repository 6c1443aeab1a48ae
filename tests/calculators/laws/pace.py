"""Laws of time and rates: the rooflines, and what a batch is held up by."""
from collections.abc import Mapping
from typing import Any

from tests.calculators.laws.base import at_most, falling, is_floor, near, rising, same


def lowest_ceiling_binds(result: Any, given: Mapping[str, Any]) -> bool:
    """The batch reached fits the pool and the flag, and one sequence more breaks one of them."""
    named = {"KV": result.kv_ceiling, "ridge": result.ridge, "flag": result.flag}
    return (is_floor(result.kv_ceiling, result.sequence_blocks, result.pool_blocks)
            and is_floor(result.pool_blocks, given["block_size"] * result.token_bytes, result.pool_bytes)
            and result.pool_tokens == result.pool_blocks * given["block_size"]
            and result.lowest == min(named.values()) == {key.lower(): value for key, value in named.items()}[
                result.binds.lower()]
            and result.reached == min(result.kv_ceiling, result.flag)
            and all(near(point.tokens_per_s * point.step_ms / 1e3, point.batch) for point in result.sweep)
            and rising([point.tokens_per_s for point in result.sweep])
            and falling([row.kv_ceiling for row in result.contexts]))


def copies_cover_the_kv(result: Any, given: Mapping[str, Any]) -> bool:
    """Copies of any size hold all of it and none is empty; at the break-even the link takes as long as the products."""
    return (all((row.count - 1) * row.bytes < result.kv_bytes <= row.count * row.bytes for row in result.sizes)
            and (result.copies - 1) * result.copy_bytes < result.kv_bytes <= result.copies * result.copy_bytes
            and near(result.overhead_ms + result.wire_ms, result.move_ms)
            and near(result.kv_bytes / result.break_even_gb_per_s / 1e6, result.linear_ms)
            and near(result.kv_bytes / result.context_gb_per_s / 1e6, result.recompute_ms)
            and at_most(result.copy_gb_per_s, given["link_gb_per_s"])
            and (result.winner == "move") == (result.move_ms < result.recompute_ms))


def longer_side_binds(result: Any, given: Mapping[str, Any]) -> bool:
    """A step is the longer of its sides, and they change places at the ridge."""
    rows = result.at_batches
    for row in rows:
        if not (same(row.step_ms, max(row.memory_ms, row.compute_ms)) and near(row.tokens_per_s * row.step_ms / 1e3,
                                                                               row.sequences)):
            return False
        if result.ridge_batch and row.sequences > result.ridge_batch and not at_most(row.memory_ms, row.compute_ms):
            return False
        past = result.ridge_batch and row.sequences >= result.ridge_batch
        if not past and not at_most(row.compute_ms, row.memory_ms):
            return False
    reading_grows = given["context_tokens"] * given["kv_bytes_per_token"] > 0
    return (rising([row.memory_ms for row in rows])
            and (reading_grows or same(rows[0].memory_ms, rows[-1].memory_ms))
            and all(at_most(row.tokens_per_s, result.saturation_tokens_per_s) for row in rows if reading_grows)
            and all(at_most(bare.step_ms, row.step_ms) for bare, row in zip(result.without_context, rows, strict=True)))


def gpu_is_ahead_up_to_its_most_users(result: Any, given: Mapping[str, Any]) -> bool:
    return (all(same(row.total, row.per_user * row.sequences) for row in result.shared)
            and all(row.ahead == at_most(result.laptop_tokens_per_s, row.per_user)
                    or same(row.per_user, result.laptop_tokens_per_s) for row in result.shared)
            and all(row.ahead == (row.sequences <= result.most_users)
                    or same(row.per_user, result.laptop_tokens_per_s) for row in result.shared)
            and falling([row.per_user for row in result.shared]) and rising([row.total for row in result.shared]))


def fewer_bits_read_less(result: Any, given: Mapping[str, Any]) -> bool:
    """A gain times the time that it makes is the time of bf16; the weights saved hold the tokens that are named."""
    bf16 = result.formats[0]
    return (all(at_most(row.read_gb, bf16.read_gb) and at_most(row.kv8_ms, row.kv16_ms) for row in result.formats)
            and all(near(row.kv16_ms * row.kv16_gain, bf16.kv16_ms) and near(row.kv8_ms * row.kv8_gain, bf16.kv16_ms)
                    and near(row.prefill_ms * row.prefill_gain, bf16.prefill_ms) for row in result.formats)
            and min(result.formats, key=lambda row: row.kv16_ms).name == result.best
            and all(rising([rows[place].kv16_ms for _, rows in result.by_batch])
                    for place in range(len(result.formats))))


LAWS = {
    "batch-ceilings ceilings": lowest_ceiling_binds,
    "recompute-or-move costs": copies_cover_the_kv,
    "roofline ridge": longer_side_binds,
    "roofline laptop": gpu_is_ahead_up_to_its_most_users,
    "roofline formats": fewer_bits_read_less,
}
