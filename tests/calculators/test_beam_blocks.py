"""Beams over shared blocks: counts by hand for four beams, a prompt of 1,000 tokens and 200 more, blocks of 16."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.beam_blocks import BEST, SCORES, simulate
from calculators.models.beam_bounds import client_loop, solve
from calculators.models.kv_cache import KvCache, KvSequence


@pytest.mark.parametrize(("divergence", "follow", "held", "copies"), [
    (100, SCORES, 114, 3),  # each parts from the prompt on; the last owner of its part-filled block writes in place
    (0, BEST, 78, 564),  # three copies a step, none in the twelve steps that open a block: 188 * 3
])
def test_the_two_extremes_hold_and_copy(divergence: float, follow: str, held: int, copies: int):
    run = simulate(divergence=divergence, follow=follow)
    assert (run.held_blocks, run.copies) == (held, copies)
    assert sum(step.opened for step in run.steps) == 12
    assert sum(run.steps[-1].holders.values()) + 62 == held
    assert run.steps[-1].separate_blocks == 300


def test_separate_least_and_most_in_mib():
    result = solve()
    assert (result.separate_mib, result.least_mib, result.most_mib, result.unpaged_mib) == (600, 156, 228, 225)
    assert (result.separate_blocks, result.least_blocks, result.most_blocks) == (300, 78, 114)


@pytest.mark.parametrize(("place", "tokens", "blocks", "mib"), [
    (0, 1_000, 114, 228), (1, 1_050, 105, 210), (2, 1_100, 96, 192), (3, 1_150, 87, 174), (4, 1_184, 78, 156),
])
def test_the_longer_beams_share_the_less_they_hold(place: int, tokens: int, blocks: int, mib: float):
    each = solve().shared[place]
    assert (each.tokens, each.blocks, each.mib) == (tokens, blocks, mib)


def test_the_prompt_is_forked_and_three_of_four_copy_its_last_block():
    first = simulate().steps[1]
    assert first.parents == (0, 0, 0, 0) and len(first.copied) == 3 and first.copied_slots == 24
    assert first.held_blocks == 66


def test_a_full_last_block_is_never_copied():
    run = simulate(prompt_tokens=1_008, divergence=0, follow=BEST)
    assert run.steps[1].copies == 0 and run.steps[1].held_blocks == 63 + 4


def test_a_dropped_beam_gives_back_only_what_nobody_else_holds():
    step = simulate().steps[118]
    assert (step.parents, step.dropped, step.freed) == ((0, 1, 3, 3), (2,), (69,))


def test_a_fork_moves_nothing_and_the_last_holder_writes_in_place():
    cache, first = KvCache(8, 16, 100, enable_prefix_caching=False), KvSequence("a", [])
    cache.allocate(first, 24)
    second = cache.fork(first, "b")
    assert second.blocks == first.blocks and cache.free_blocks == 6
    assert cache.own_last_block(first) and not cache.own_last_block(second)
    assert first.blocks == [1, 3] and second.blocks == [1, 2] and cache.blocks[1].holders == ("a", "b")
    cache.free(first)
    cache.free(second)
    assert cache.free_blocks == 8


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.integers(1, 70), st.integers(1, 60), st.sampled_from([8, 16, 32]), st.floats(0, 100),
       st.sampled_from([SCORES, BEST]), st.integers(0, 99))
def test_every_run_lies_between_least_and_separate(beams: int, prompt: int, output: int, block: int, own: float,
                                                   follow: str, seed: int):
    run = simulate(beams=beams, prompt_tokens=prompt, output_tokens=output, block_size=block, divergence=own,
                   follow=follow, seed=seed)
    bounds = solve(beams=beams, prompt_tokens=prompt, output_tokens=output, block_size=block)
    assert bounds.least_blocks <= run.held_blocks <= bounds.most_blocks <= bounds.separate_blocks
    for before, step in zip(run.steps, run.steps[1:], strict=False):
        behind = {id for table in step.tables for id in table}
        assert step.held_blocks == prompt // block + len(behind)
        assert len({table[-1] for table in step.tables}) == beams  # nobody writes into another's block
        taken = beams if step.opened else step.copies
        assert step.held_blocks == before.held_blocks - len(step.freed) + taken


def test_the_client_loop_computes_the_unaligned_tail():
    loop = client_loop()
    assert {sent.computed_tokens for sent in loop.rounds} == set(range(1, 17))
    assert loop.computed_each == pytest.approx(8.5, abs=0.2) and loop.uncached_each == 1_100
    assert round(loop.round_ms, 1) == 0.9 and round(loop.uncached_ms) == 115
    assert loop.logprobs_allowed and not client_loop(beams=11).logprobs_allowed


def test_the_block_pool_hits_what_the_loop_says():
    cache, beams = KvCache(400, 16, 2_000, True), [list(range(100)) for _ in range(3)]
    for sent in client_loop(beams=3, prompt_tokens=100, output_tokens=40).rounds:
        for place, beam in enumerate(beams):
            beam.append(1_000 * (place + 1) + sent.round)  # each keeps its own line
            sequence = KvSequence(f"{sent.round}-{place}", list(beam))
            hits = cache.lookup(sequence)
            if sent.round > 2:
                assert len(hits) * 16 == sent.hit_tokens
            cache.allocate(sequence, len(beam) - 16 * len(hits), hits)
            cache.free(sequence)


def test_one_beam_and_one_token_are_an_edge():
    run = simulate(beams=1, prompt_tokens=1, output_tokens=1, block_size=8)
    assert (run.held_blocks, run.copies) == (1, 0)
    assert solve(beams=1).least_mib == solve(beams=1).separate_mib == 150
