"""Laws of choosing tokens: chances are shared out whole, drafts hold or are wasted, adapters take turns."""
import math
import re
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

from tests.calculators.laws.base import at_most, falling, is_floor, near, rising, same
from tests.calculators.laws.engine import mask_keeps_its_lanes


def shares_make_one(run: Any, given: Mapping[str, Any]) -> bool:
    """After each stage what is left is shared out whole, but for figures cut to six places."""
    chains = (run.left, run.right, *run.known)
    return all(abs(sum(stage.shares.values()) - 1) < 1e-4 for chain in chains for stage in chain.stages)


def every_value_is_added_once(result: Any, given: Mapping[str, Any]) -> bool:
    """Whichever way the sum is cut, its chunks are the values in a row, and the larger logit wins."""
    values = tuple(given["values"])
    return (all(tuple(value for chunk in way.chunks for value in chunk.values) == values
                and len(way.chunks) <= way.splits and (way.winner == "A") == (way.sum >= given["rival"])
                for way in result.ways)
            and math.isclose(result.exact, math.fsum(values), rel_tol=1e-12, abs_tol=1e-9)
            and result.distinct == len({way.sum for way in result.ways})
            and (not result.half_tokens or near((1 - result.flip_fraction)**result.half_tokens, 0.5)))


def drafts_hold_or_are_wasted(run: Any, given: Mapping[str, Any]) -> bool:
    """A draft is accepted or not, and what the steps emit is the output, once."""
    totals = run.totals
    emitted = [word for step in run.steps for word in step.emitted]
    return (totals.accepted + totals.wasted == totals.drafted and totals.emitted <= totals.steps + totals.accepted
            and tuple(emitted) == tuple(run.output)
            and all(len(step.emitted) <= step.accepted + 1 and step.accepted <= len(step.draft) for step in run.steps)
            and sum(step.accepted for step in run.steps) == totals.accepted)


def windows_lie_between_scrapes(result: Any, given: Mapping[str, Any]) -> bool:
    """Windows are what the counters rose by; each position holds of those that held before it."""
    scrapes = given["scrapes"]
    rose = [(later.drafts - one.drafts, later.accepted - one.accepted) for one, later in pairwise(scrapes)]
    for window, (drafts, accepted) in zip(result.windows, rose, strict=True):
        if window.valid and not (
                window.drafts == drafts and window.accepted == accepted <= window.draft_tokens
                and near(sum(window.unconditional), accepted / drafts)
                and all(map(near, accumulate(window.conditional, mul), window.unconditional))
                and falling(window.unconditional)
                and window.generation_tokens + window.cut == window.finished + drafts + accepted):
            return False
    chance, k = result.constant_share, result.positions
    return near(sum(chance**power for power in range(k + 1)), result.mean_length) or not 0 < chance < 1


def tries_follow_the_target(run: Any, given: Mapping[str, Any]) -> bool:
    """Each try ends in a token, as often as the target alone would give it; a draft kept is a draft, in a row."""
    tries, drafts = given["tries"], given["drafts"]
    kept = [draft.token for draft in drafts[:run.num_accepted]]
    if not (sum(run.tried.values()) == tries and list(run.output[:len(kept)]) == kept
            and len(run.output) <= run.num_accepted + 1 <= len(drafts) + 1
            and 1 <= run.expected_tokens <= len(drafts) + 1):
        return False
    if given["greedy"] or not drafts or not tries:
        return True
    chances = dict(zip(run.vocabulary, drafts[0].target, strict=True))
    whole = sum(chances.values())
    return all(abs(run.tried[token] / tries - share / whole) <= 6 * math.sqrt(share / tries) + 1 / tries
               for token, share in chances.items())


def masks_allow_what_the_texts_begin_with(run: Any, given: Mapping[str, Any]) -> bool:
    """A bit is set for each token allowed; of a list of texts, those that go on with one; the path's end is a text."""
    for mask in run.masks:
        if sum(word.bit_count() for word in mask.words) != len(mask.allowed):
            return False
    data = {token.written: token.data for token in run.vocabulary if not token.ends}
    text = b"".join(data.get(step.token, b"") for step in run.steps)
    if given["form"] != "strings":
        return not run.complete or any(re.fullmatch(each, text.decode(errors="replace")) for each in given["grammar"])
    texts = [each.encode() for each in given["grammar"]]
    for mask in run.masks:
        begun = run.automaton.reached_by[mask.state]
        goes_on = {number for number, token in enumerate(run.vocabulary) if not token.ends
                   and any(each.startswith(begun + token.data) for each in texts)}
        if goes_on != {number for number in mask.allowed if not run.vocabulary[number].ends}:
            return False
    return run.complete == (text in texts)


def rows_of_bits_hold_the_vocabulary(result: Any, given: Mapping[str, Any]) -> bool:
    """A row is whole words and none of them is spare; drafts cost whole rows."""
    return (0 <= result.row_bytes * 8 - given["vocabulary_size"] < 32 and result.row_bytes % 4 == 0
            and all(0 <= row.row_bytes * 8 - row.tokens < 32 for row in result.vocabularies)
            and result.step_bytes == result.rows * result.row_bytes
            and result.drafted.rows == result.plain.rows * (1 + result.drafts_drawn)
            and near(result.transfer_us * given["link_gb_per_s"] * 1e3, result.step_bytes)
            and all(mask_keeps_its_lanes(run, {"forward_ms": given["forward_ms"], "sample_ms": 0.3})
                    for run in (result.plain, result.drafted)))


def drafts_yield_no_more_than_they_are(result: Any, given: Mapping[str, Any]) -> bool:
    """A step yields one token to one and each draft; drafts pay less the larger the batch, and never past that."""
    k, rows = given["num_speculative_tokens"], result.at_batches
    return (1 <= result.expected_tokens <= k + 1
            and all(row.tokens == row.sequences * (k + 1) and at_most(row.plain_ms, row.verify_ms)
                    and near(row.speed_up * row.spec_ms, result.expected_tokens * row.plain_ms) for row in rows)
            and is_floor(result.budget_sequences, k + 1, given["max_num_batched_tokens"])
            and rising([row.plain_ms for row in rows]) and rising([row.verify_ms for row in rows])
            and falling([row.best_k for row in rows]))


def lengths_add_what_still_holds(result: Any, given: Mapping[str, Any]) -> bool:
    """Each draft adds the chance that all up to it hold, and no length beats the best."""
    rows = result.at_lengths
    return (all(near(later.expected_tokens - row.expected_tokens, later.adds) and later.adds <= row.adds + 1e-12
                for row, later in pairwise(rows))
            and all(near(row.speed_up * row.paid, row.expected_tokens) for row in rows)
            and all(near(row.accepted_share * row.k + 1, row.expected_tokens) for row in rows)
            and all(at_most(row.speed_up, result.best_speed_up) for row in rows)
            and result.thrifty_k <= result.best_k and at_most(result.thrifty_speed_up, result.best_speed_up)
            and (result.ceiling is None or all(row.expected_tokens <= result.ceiling + 1e-6 for row in rows)))


def rows_fill_the_budget(run: Any, given: Mapping[str, Any]) -> bool:
    """Steps keep to the budget, a pointer goes on where it stood, and what was sampled is what was asked for."""
    budget = given["max_num_batched_tokens"]
    stood: Counter[str] = Counter()
    sampled: Counter[str] = Counter()
    for step in run.steps:
        for row in step.rows:
            if row.before != stood[row.id] or row.before + row.given - row.rejected != row.after:
                return False
            stood[row.id] = row.after
            sampled[row.id] += row.sampled
    return (all(step.used + step.left == budget for step in run.steps)
            and sum(step.used for step in run.steps) == run.tokens_computed
            and run.tokens_computed - run.tokens_rejected == sum(stood.values())
            and all(sampled[request.id] == request.max_tokens for request in given["requests"]))


def every_token_is_decoded_once(result: Any, given: Mapping[str, Any]) -> bool:
    """Rate times time, and batch times steps, are all tokens asked for; no more adapters run than have a slot."""
    for served in (result.served, result.in_one_batch):
        tokens = sum(tenant.requests for tenant in served.tenants) * given["output_tokens"]
        if not (near(served.tokens_per_s * served.makespan_s, tokens) and served.most_adapters <= served.max_loras
                and near(served.mean_batch * served.decode_steps, tokens)
                and near(max(tenant.done_s for tenant in served.tenants), served.makespan_s)
                and all(tenant.first_wait_s - 1e-9 <= tenant.longest_wait_s <= tenant.done_s + 1e-9
                        and tenant.mean_wait_s <= tenant.longest_wait_s + 1e-9 for tenant in served.tenants)):
            return False
    return (result.slot_bytes * given["max_loras"] == result.all_slots_bytes
            and result.adapter_bytes <= result.slot_bytes
            and rising([row.all_bytes for row in result.by_rank]))


def every_request_is_let_in(run: Any, given: Mapping[str, Any]) -> bool:
    """Each request is admitted and finished once; no step runs more of them, or of adapters, than it may."""
    admitted = [name for step in run.steps for name in step.admitted]
    return (len(admitted) == len(set(admitted)) == sum(len(step.finished) for step in run.steps)
            and len(admitted) == len(given["requests"])
            and all(sum(step.running.values()) <= given["max_num_seqs"]
                    and sum(count > 0 for count in step.running.values()) <= given["max_loras"] for step in run.steps)
            and all(same(step.adapters, sum(count > 0 for count in step.running.values())) for step in run.steps))


LAWS = {
    "sampling order": shares_make_one,
    "sampling determinism": every_value_is_added_once,
    "ngram steps": drafts_hold_or_are_wasted,
    "acceptance windows": windows_lie_between_scrapes,
    "acceptance rejection": tries_follow_the_target,
    "grammar states": masks_allow_what_the_texts_begin_with,
    "grammar cost": rows_of_bits_hold_the_vocabulary,
    "speculation batch": drafts_yield_no_more_than_they_are,
    "speculation length": lengths_add_what_still_holds,
    "speculation rows": rows_fill_the_budget,
    "lora tenants": every_token_is_decoded_once,
    "lora steps": every_request_is_let_in,
}
