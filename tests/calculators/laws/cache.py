"""Laws of the prefix cache and of beams: tokens are found or computed, blocks are held by somebody or free."""
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from calculators.models import beam_bounds
from tests.calculators.laws.base import at_most, near, same


def lookups_hit_or_compute(result: Any, given: Mapping[str, Any]) -> bool:
    """Each prompt is found in whole blocks or computed, and no windowed layer finds more than the full ones."""
    size = given["block_size"]
    return all(look.hit_tokens + look.computed_tokens == given["prompt_tokens"] and look.hit_tokens % size == 0
               and look.hit_tokens <= look.full_tokens and look.computed_tokens >= 1
               and all(first <= last < result.blocks for first, last in look.kept)
               for look in result.lookups) and result.first_hit <= result.second_hit <= result.third_hit


def prompts_hit_or_compute(run: Any, given: Mapping[str, Any]) -> bool:
    """A prompt is found or computed, and each block of the pool stands in the free queue or has a holder."""
    asked = [step for step in run.steps if step.request]
    return (all(step.hit_tokens + step.computed_tokens == step.request.prompt_tokens for step in asked)
            and all(len(set(step.free_queue)) == len(step.free_queue)
                    and {block.id for block in step.pool if not block.holders} == set(step.free_queue)
                    for step in run.steps)
            and all(len(step.pool) == given["usable_blocks"] for step in run.steps))


def blocks_are_taken_or_stay(result: Any, given: Mapping[str, Any]) -> bool:
    taken = min(given["taken_blocks"], result.pool_blocks)
    return all(each.reachable + each.stranded == each.resident == result.pool_blocks - taken
               and each.hit_tokens <= each.reachable * given["block_size"] for each in result.orders)


def tree_finds_a_rest_of_a_block_more(result: Any, given: Mapping[str, Any]) -> bool:
    """What two caches find is whole pages of what is shared; every policy takes the same pieces, each once."""
    size, page, most = given["block_size"], given["page_size"], given["prompt_tokens"] - 1
    pieces = [sorted(names) for names in result.evicted.values()]
    return (sum(each.block_hit for each in result.asked) == result.block_hit_tokens
            and sum(each.radix_hit for each in result.asked) == result.radix_hit_tokens
            and all(0 <= min(each.shared, most) - each.block_hit < size for each in result.asked)
            and all(0 <= min(each.shared, most) - each.radix_hit < page for each in result.asked)
            and all(each.block_hit % size == each.radix_hit % page == 0 for each in result.asked)
            and all(names == pieces[0] for names in pieces)
            and all(sorted(names) == sorted(each.name for each in result.asked) for names in result.queue.values()))


def pool_is_filled_by_what_was_touched(result: Any, given: Mapping[str, Any]) -> bool:
    """The unique tokens of the time that a block stays, and the prefixes found, are the pool; more salts hit less."""
    rate, unique, shared = given["requests_per_s"], given["unique_tokens"], given["shared_tokens"]
    rows = result.at_copies
    return (all(near(rate * unique * row.residence_s + row.copies * shared * row.prefix_hit, given["pool_tokens"])
                for row in rows)
            and all(at_most(later.prefix_hit, row.prefix_hit) for row, later in pairwise(rows))
            and all(near(row.token_hit_rate * (shared + unique), row.prefix_hit * shared) for row in rows)
            and at_most(result.token_hit_rate, result.unsalted_hit_rate))


def fastest_guesses_are_recovered(result: Any, given: Mapping[str, Any]) -> bool:
    """One guess of each block is right; the secret is recovered as far as the right one is the fastest."""
    told = [next(guess for guess in row if guess.right) for row in result.blocks]
    fastest = [all(guess.seen_ms <= other.seen_ms for other in row)
               for guess, row in zip(told, result.blocks, strict=True)]
    recovered = next((place for place, fast in enumerate(fastest) if not fast), len(fastest))
    return (all(sum(guess.right for guess in row) == 1 for row in result.blocks)
            and result.recovered_blocks == recovered
            and result.secret_tokens == len(result.blocks) * given["block_size"]
            and near(result.noise_ms * given["probes"]**0.5, given["noise_ms"])
            and (result.noise_ms > 0 or result.salted or recovered == len(fastest)))


def beams_hold_what_their_tables_name(run: Any, given: Mapping[str, Any]) -> bool:
    """Blocks held are those of the prompt and of some table; they grow by what is opened and copied, less the freed.

    At the end they lie between the bounds that know only the lengths.
    """
    for before, step in pairwise(run.steps):
        named = len({id for table in step.tables for id in table})
        opened = run.beams if step.opened else step.copies
        if not (run.prompt_blocks + named == step.held_blocks <= step.separate_blocks
                and step.held_blocks == before.held_blocks + opened - len(step.freed)
                and len(step.parents) == len(step.tables) == run.beams):
            return False
    bounds = beam_bounds.solve(beams=run.beams, prompt_tokens=given["prompt_tokens"],
                               output_tokens=given["output_tokens"], block_size=run.block_size)
    return bounds.least_blocks <= run.held_blocks <= bounds.most_blocks


def sharing_never_takes_more(result: Any, given: Mapping[str, Any]) -> bool:
    """Between the least and the most lie all lengths in common, the longer the fewer; none beats one beam."""
    rows = sorted(result.shared, key=lambda row: row.tokens)
    tokens = given["prompt_tokens"] + given["output_tokens"]
    each = -(-tokens // given["block_size"])
    return (all(later.blocks <= row.blocks for row, later in pairwise(rows))
            and all(result.least_blocks <= row.blocks <= result.most_blocks for row in rows)
            and each + given["beams"] - 1 <= result.least_blocks <= result.most_blocks <= result.separate_blocks
            and result.separate_blocks == each * given["beams"]
            and all(same(mib * result.separate_blocks, result.separate_mib * blocks) for mib, blocks in (
                (result.least_mib, result.least_blocks), (result.most_mib, result.most_blocks))))


def rounds_hit_or_compute(result: Any, given: Mapping[str, Any]) -> bool:
    beams, size, rounds = given["beams"], given["block_size"], result.rounds
    return (all(sent.hit_tokens + sent.computed_tokens == sent.tokens and sent.hit_tokens % size == 0
                and 1 <= sent.computed_tokens <= size for sent in rounds)
            and all(later.tokens == sent.tokens + 1 for sent, later in pairwise(rounds))
            and result.computed_tokens == beams * sum(sent.computed_tokens for sent in rounds)
            and result.uncached_tokens == beams * sum(sent.tokens for sent in rounds)
            and result.requests == 1 + beams * (given["output_tokens"] - 1))


LAWS = {
    "kv-size siblings": lookups_hit_or_compute,
    "prefix-cache lookup": prompts_hit_or_compute,
    "prefix-cache eviction": blocks_are_taken_or_stay,
    "prefix-cache radix": tree_finds_a_rest_of_a_block_more,
    "prefix-cache tenants": pool_is_filled_by_what_was_touched,
    "prefix-cache timing": fastest_guesses_are_recovered,
    "beam-blocks steps": beams_hold_what_their_tables_name,
    "beam-blocks bounds": sharing_never_takes_more,
    "beam-blocks client-loop": rounds_hit_or_compute,
}
