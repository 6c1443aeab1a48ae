"""Prefix caching: hits, block tables and queues.

Figures of the five requests, of salts and of the eight blocks are worked by hand from the rules (hit = block *
min(leading blocks in the map, floor((n - 1) / block))); the queues were compared with vLLM 0.33.0's own scheduler and
block pool over random runs.
"""
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.eviction_order import EACH_HEAD, EACH_TAIL, LRU_HEAD, LRU_TAIL, ORDERS
from calculators.models.eviction_order import solve as evict
from calculators.models.kv_cache import KvCache, KvSequence
from calculators.models.prefix_cache import PrefixRun, Prompt, format_prompts, parse_prompts, simulate

FIVE = "r1:64,r2:64=r1,r3:65=r1:64,r4:70=r1:62,r5:64=r1*3"


def run(text: str, **more: int | bool) -> PrefixRun:
    return simulate(**{"requests": parse_prompts(text), "block_size": 16, "usable_blocks": 63} | more)


@pytest.mark.parametrize(("place", "hit", "computed", "new", "says"), [
    (1, 0, 64, 4, "The map is empty"),
    (2, 48, 16, 1, "computed again into block 5, same key, a copy"),
    (3, 64, 1, 1, "All 4 full blocks hit; 1 token after them"),
    (4, 48, 22, 2, "14 of block 4’s 16 tokens agree; the key does not"),
    (5, 0, 64, 4, "15 of block 1’s 16 tokens agree; the key does not"),
])
def test_five_requests_hit_what_the_rule_gives(place: int, hit: int, computed: int, new: int, says: str):
    step = run(FIVE).steps[place]
    assert (step.hit_tokens, step.computed_tokens, len(step.new_blocks)) == (hit, computed, new)
    assert says in step.says


def test_the_wrong_sums_of_five_requests_are_known():
    # By hand: with no last-token rule 64 + 0 + 1 + 22 + 64, with only the tokens that differ 64 + 0 + 1 + 8 + 1.
    made = run(FIVE)
    assert made.computed_tokens == 64 + 16 + 1 + 22 + 64
    assert [value for value, _ in made.slips] == [151, 74, 160]


def test_a_fully_cached_prompt_gets_a_second_copy_of_its_last_block():
    step = run(FIVE).steps[2]
    assert step.copies == (5,) and step.blocks == (1, 2, 3, 5)
    assert [probe.outcome for probe in step.probes] == ["hit", "hit", "hit", "last"]
    third = run(FIVE).steps[3]
    assert third.hit_blocks == (1, 2, 3, 4)  # a lookup takes the copy that came first


def test_a_key_names_the_whole_beginning():
    first, changed = run(FIVE).steps[1], run(FIVE).steps[5]
    assert [probe.key for probe in first.probes] == [probe.key for probe in run(FIVE).steps[2].probes]
    assert not {probe.key for probe in first.probes} & {probe.key for probe in changed.probes}


def test_the_queue_after_r4_has_no_key_first_and_heads_last():
    step = run(FIVE).steps[4]
    assert step.free_queue == (7, *range(8, 64), 5, 4, 6, 3, 2, 1)


@pytest.mark.parametrize(("text", "hits"), [
    ("r1:65,r2:65=r1~A,r3:65=r1~B,r4:65=r1~A", [0, 0, 0, 64]),
    ("t1:420/140,t2:600/200=t1", [0, 544]),  # 560 tokens, of which 559 have KV: 34 blocks
    ("a:16,b:17=a:16", [0, 16]),
    ("a:15,b:15=a", [0, 0]),
])
def test_salts_answers_and_short_prompts(text: str, hits: list[int]):
    assert [step.hit_tokens for step in run(text).steps[1:]] == hits


def test_the_last_sampled_token_leaves_its_block_out_of_the_map():
    step = run("t1:420/140,t2:600/200=t1").steps[2]
    assert "Block 35 holds t1’s tokens, but a sampled one among them has no KV" in step.says


def test_prompt_logprobs_skip_reads_and_not_writes():
    result = run(FIVE, prompt_logprobs=True)
    assert result.hit_tokens == 0
    assert len([block for block in result.steps[2].pool if block.cached]) == 8


def test_requests_of_one_step_hit_each_other():
    result = run("g1:1000,g2:1000=g1", in_one_step=True, usable_blocks=511)
    assert [step.hit_tokens for step in result.steps] == [0, 0, 992, 0]
    assert len(result.steps[-1].free_queue) == 511


def test_a_taker_of_three_blocks_leaves_eighty_tokens():
    result = run("A:128,N:48,A2:128=A", usable_blocks=8)
    assert result.steps[2].lost == ("A·8", "A·7", "A·6") and result.steps[3].hit_tokens == 80


def test_a_block_behind_a_hole_is_stranded_until_the_hole_is_filled():
    cache, first = KvCache(8, 16, 1_000, True), KvSequence("a", list(range(64)))
    cache.allocate(first, 64)
    cache.free(first)
    cache.queue.move_to_end(1, last=False)  # the head is taken first, as an order of victims might
    other = KvSequence("b", [900])
    cache.allocate(other, 1)
    assert other.blocks == [1] and cache.unreachable() == [2, 3, 4]
    again = KvSequence("c", list(range(64)))
    assert cache.lookup(again) == []
    cache.allocate(again, 64)
    assert cache.unreachable() == []


def test_too_little_room_is_refused_in_words():
    with pytest.raises(Refusal, match="r1 needs 4 blocks and there is no room for them: 3 of 3 are free"):
        run("r1:64", usable_blocks=3)
    with pytest.raises(Refusal, match="r1 needs one more block for its output"):
        run("r1:64/2", usable_blocks=4)


@pytest.mark.parametrize(("text", "says"), [
    ("", "No request"), ("r1", "can't be read"), ("r1:0", "1 to 10,000"), ("r1:4,r1:4", "Two requests"),
    ("r1:4=r2", "r2 has to come before"), ("r1:4*5", "lies past"), ("r1:10000,r2:10000", "at most 12,000"),
    (",".join(f"r{n}:1" for n in range(13)), "the picture holds 12"),
])
def test_what_can_not_be_followed_is_refused(text: str, says: str):
    with pytest.raises(Refusal, match=says):
        parse_prompts(text)


PROMPTS = st.builds(
    Prompt, id=st.just("r"), prompt_tokens=st.integers(1, 80), output_tokens=st.integers(1, 12),
    like=st.sampled_from(["", "r0"]), shared=st.none() | st.integers(0, 90), unlike=st.just(0) | st.integers(1, 80),
    salt=st.sampled_from(["", "A"]),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(PROMPTS, min_size=1, max_size=6), st.sampled_from([1, 3, 16]), st.booleans(), st.booleans())
def test_every_run_keeps_its_blocks_and_never_strands_any(made: list[Prompt], block_size: int, skip: bool, once: bool):
    requests = tuple(
        replace(each, id=f"r{place}", like=each.like if place else "", unlike=min(each.unlike, each.prompt_tokens),
                shared=each.shared if place and each.like else None)
        for place, each in enumerate(made)
    )
    assert parse_prompts(format_prompts(requests)) == requests
    result = simulate(requests=requests, block_size=block_size, usable_blocks=600, prompt_logprobs=skip,
                      in_one_step=once)
    for step in result.steps:
        assert step.stranded == ()  # the tail goes first, so a parent never goes before its child
        if step.request:
            assert step.hit_tokens + step.computed_tokens == step.request.prompt_tokens
            assert step.hit_tokens == block_size * min(
                0 if skip else step.matching, (step.request.prompt_tokens - 1) // block_size)
    assert len(result.steps[-1].free_queue) == 600


# pool, order: resident, reachable, stranded, hit by resends
@pytest.mark.parametrize(("pool", "order", "figures"), [
    ((1, 8, 3), LRU_TAIL, (5, 5, 0, 80)),
    ((1, 8, 3), LRU_HEAD, (5, 0, 5, 0)),
    ((11, 8, 11), LRU_TAIL, (77, 77, 0, 9 * 112 + 80)),
    ((11, 8, 11), LRU_HEAD, (77, 72, 5, 9 * 112)),
    ((11, 8, 11), EACH_HEAD, (77, 0, 77, 0)),
    ((11, 8, 11), EACH_TAIL, (77, 77, 0, 11 * 112)),
    ((1, 2_048, 1), LRU_HEAD, (2_047, 0, 2_047, 0)),
    ((1, 2_048, 1), LRU_TAIL, (2_047, 2_047, 0, 32_752)),
    ((220, 128, 220), EACH_HEAD, (27_940, 0, 27_940, 0)),
    ((220, 128, 220), EACH_TAIL, (27_940, 27_940, 0, 220 * 2_032)),
    ((220, 128, 220), LRU_HEAD, (27_940, 27_904, 36, 218 * 2_032)),
    ((220, 128, 220), LRU_TAIL, (27_940, 27_940, 0, 218 * 2_032 + 36 * 16)),
])
def test_what_each_order_leaves(pool: tuple[int, int, int], order: str, figures: tuple[int, ...]):
    chains, blocks, taken = pool
    result = evict(chains=chains, chain_blocks=blocks, taken_blocks=taken, order=order)
    assert (result.resident, result.reachable, result.stranded, result.hit_tokens) == figures


def test_stranded_bytes_of_the_large_pools():
    one = evict(chain_blocks=2_048, taken_blocks=1, order=LRU_HEAD)
    assert round(one.stranded_bytes / 2**30, 3) == 3.998 and one.pool_bytes == 4 * 2**30
    pool = evict(chains=220, chain_blocks=128, taken_blocks=220, order=EACH_HEAD)
    assert pool.pool_bytes == 55 * 2**30 and pool.freed_bytes == 440 * 2**20
    assert round(pool.stranded_bytes / 2**30, 1) == 54.6
    kept = evict(chains=220, chain_blocks=128, taken_blocks=220, order=EACH_TAIL)
    assert round(kept.hit_rate * 100, 1) == 99.2
    nothing = evict(chains=220, chain_blocks=128, taken_blocks=0)
    assert nothing.hit_rate == kept.hit_rate  # the last-token rule loses as much anyway


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 36), st.sampled_from(sorted(ORDERS)))
def test_the_arithmetic_is_what_the_block_pool_does(chains: int, blocks: int, taken: int, order: str):
    taken = min(taken, chains * blocks)
    cache = KvCache(chains * blocks, 4, 10_000, True)
    old = [KvSequence(f"c{chain}", list(range(1_000 * chain, 1_000 * chain + 4 * blocks))) for chain in range(chains)]
    place = {}
    for chain, each in enumerate(old):
        cache.allocate(each, 4 * blocks)
        place |= {id: (chain, at) for at, id in enumerate(each.blocks)}
        cache.free(each)
    by = {LRU_TAIL: lambda c, p: (c, -p), LRU_HEAD: lambda c, p: (c, p), EACH_HEAD: lambda c, p: (p, c),
          EACH_TAIL: lambda c, p: (-p, c)}[order]
    ordered = sorted(cache.queue, key=lambda id: by(*place[id]))
    if order == LRU_TAIL:
        assert list(cache.queue) == ordered
    for id in ordered:
        cache.queue.move_to_end(id)
    if taken:
        cache.allocate(KvSequence("n", [-1 - n for n in range(4 * taken)]), 4 * taken)
    result = evict(chains=chains, chain_blocks=blocks, taken_blocks=taken, block_size=4, order=order)
    assert result.stranded == len(cache.unreachable())
    assert result.hit_tokens == sum(4 * len(cache.lookup(KvSequence("again", each.tokens))) for each in old)


def test_more_than_the_pool_can_not_be_taken():
    with pytest.raises(Refusal, match="takes 9 blocks; the pool has 8"):
        evict(taken_blocks=9)
