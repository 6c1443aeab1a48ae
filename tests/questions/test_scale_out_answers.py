"""Answers of the scale-out questions, against derivations of their own."""
import pytest

from questions import loading
from questions.figures import Ran
from questions.runs import play
from questions.services import run_lab


def played(bank: loading.Bank, slug: str) -> dict[str, Ran]:
    """The runs of a question with its file's own values."""
    return play(bank.questions[slug].runs, {}, run_lab)


def test_a_group_that_ends_just_after_a_check_runs_fifteen_empty_steps():
    # Ranks compare at step 1 of a wave and at every multiple of 16: work that ends in step 17 is noticed in step 32.
    interval = 16
    ends_after = interval + 1
    noticed = next(step for step in range(ends_after + 1, 3 * interval) if step % interval == 0)
    assert noticed - ends_after == 15


def test_pieces_of_a_chunk_add_what_the_whole_chunk_adds(real_bank: loading.Bank):
    chunk, cut = (played(real_bank, "lockstep")[name].result for name in ("chunk", "cut"))
    assert 8 * (cut.step_ms - cut.base_ms) == pytest.approx(chunk.step_ms - chunk.base_ms)


def test_thirty_redundant_experts_do_not_divide_among_eight_ranks():
    assert (256 + 30, (256 + 30) % 8) == (286, 6)
    assert [(256 + redundant) % 8 for redundant in (24, 32)] == [0, 0]


def test_a_rank_of_thirty_two_sends_all_its_experts_in_half_a_second():
    # (256 + 32) / 32 slots of three 7,168 x 2,048 matrices in 58 layers, one byte each, over 400 Gb/s.
    sent_gb = (256 + 32) / 32 * 3 * 7_168 * 2_048 * 58 / 1e9
    assert (round(sent_gb, 1), round(sent_gb / 50, 2)) == (23.0, 0.46)


def test_copies_that_stay_within_a_node_balance_less(real_bank: loading.Bank):
    # vLLM 0.33.0's own policy on the same loads: 0.9577 with one group on one node, 0.7872 with 8 groups on 4 nodes.
    ran = played(real_bank, "hot-experts")
    assert ran["fed"].result.balancedness == pytest.approx(0.9577, abs=5e-5)
    assert ran["kept"].result.balancedness == pytest.approx(0.7872, abs=5e-5)


def test_no_permutation_balances_better_than_the_hottest_with_the_lightest(real_bank: loading.Bank):
    # Sixteen experts, two a rank: whoever shares the hottest one's rank adds at least the lightest one's load.
    default = played(real_bank, "hot-experts")["default"]
    loads = default.inputs["expert_loads"]
    assert default.result.placed.max_load == loads[0] + loads[-1] == 430
    assert default.result.balancedness == pytest.approx(sum(loads) / 8 / 430)


def test_two_half_batches_break_even_where_a_line_meets_twice_the_weights(real_bank: loading.Bank):
    # 0.42 d + 0.133 d + 4.6 + 8 = 2 * 18 + 4.6 + 1, so d = (36 + 1 - 8) / 0.553.
    ran = played(real_bank, "two-batches")
    assert ran["large"].result.break_even == pytest.approx(29 / 0.553, abs=0.01)
    assert ran["idle"].result.split_ms == ran["edge"].result.split_ms == pytest.approx(41.6)


def test_a_rank_of_forty_beside_one_of_112_has_an_empty_second_half():
    # The runner splits at the largest rank's tokens; the second half starts at half of them.
    assert 112 / 2 > 40 >= 32 > 20


def test_one_long_step_in_eight_and_two_prompts_at_every_sixteenth(real_bank: loading.Bank):
    # 83.384 ms without prefill, and 0.11 ms for each prefill token of the fullest rank.
    run = played(real_bank, "aligned-prefills")["aligned"].result
    assert run.at_hand.mean_ms == pytest.approx((7 * 83.384 + 83.384 + 0.11 * 1_024) / 8)
    assert run.intervals[4].max_ms == pytest.approx(83.384 + 0.11 * 2_048)
    assert run.wait_ms == pytest.approx(3.5 * 83.384)


def test_five_chunks_at_every_fourth_step_take_seventeen_steps(real_bank: loading.Bank):
    # 8,192 - 128 tokens are left a step: 32,768 / 8,064 is a little over 4.
    long = played(real_bank, "aligned-prefills")["long"].result
    assert (long.chunks, long.chunk_steps) == (5, 4 * (5 - 1) + 1)


def test_a_quarter_of_the_kv_crosses_each_400_gb_nic(real_bank: loading.Bank):
    # 80 layers, K and V of 8 heads of 128, two bytes each; 400 Gb/s are 50 GB/s, of which a read reaches 80%.
    split = played(real_bank, "split-prefill-decode")["split"].result
    token_bytes = 80 * 2 * 8 * 128 * 2
    assert token_bytes == 327_680
    assert split.read_ms == pytest.approx(8_192 * token_bytes / 4 / (400 / 8 * 0.8) / 1e6)


def test_mfu_moves_the_prefill_by_a_quarter_up_and_a_sixth_down():
    assert (1 + 1 / 4, pytest.approx(1 - 1 / 6)) == (50 / 40, 50 / 60)


@pytest.mark.parametrize(("prompt_tokens", "every"), [(6_144, 5.5), (8_192, 3.5), (9_216, 2.8)])
def test_cut_to_512_tokens_a_prompt_a_second_is_in_every_third_to_sixth_step(
        real_bank: loading.Bank, prompt_tokens: int, every: float):
    # A chunk is 2 x 70.55 G x 512 FLOPs at half of 4 x 989 T; what it leaves goes to steps of 141.1 GB / 13.4 TB/s.
    split = played(real_bank, "split-prefill-decode")["split"].result
    chunk_ms, decode_ms = 2 * 70.55e9 * 512 / (4 * 989e12 * 0.5) * 1e3, 141.1 / (4 * 3.35)
    assert (split.chunks[1].step_ms, split.decode_step_ms) == pytest.approx((chunk_ms, decode_ms), rel=0.005)
    chunks = prompt_tokens / 512
    assert 1 + (1_000 - chunks * chunk_ms) / decode_ms / chunks == pytest.approx(every, abs=0.1)


def test_the_connector_offers_whole_blocks_beyond_the_local_hit(real_bank: loading.Bank):
    # 4,024 tokens are 251 whole blocks of 16, which hold 4,016; 1,024 of them are here.
    ran = played(real_bank, "connector-sides")
    sides = ran["sides"].result
    assert (sides.count, sides.load_blocks, sides.left_tokens) == (251 * 16 - 1_024, 187, 4_096 - 4_016)
    assert (sides.message_bytes, sides.asking_ms) == (187 * 4, 20 * 0.5)
    assert ran["bad"].result.steps[23].held_by["engine"].computed == 1_024 + 50 * 16


def test_p_frees_twenty_seconds_after_the_last_beat_of_a_d_that_died(real_bank: loading.Bank):
    # Beats at 0, 5, 10, 15 and 20 s; the last one is worth 30 * 2 // 3 s.
    ran = played(real_bank, "nixl-pull")
    assert ran["lease"].result.frees_s == ran["died"].result.lease.frees_s == 22 // 5 * 5 + 20 == 40
    assert ran["lease"].result.slips[3][0] == 22 // 5 * 5 + 30


def test_a_read_takes_about_a_hundredth_of_the_bandwidth_of_an_h100(real_bank: loading.Bank):
    flow = played(real_bank, "nixl-pull")["flow"].result
    assert flow.rank_gb / flow.read_ms * 1e3 / 3_350 == pytest.approx(0.012, abs=0.0005)


def test_one_overloaded_pod_more_turns_the_winner_round(real_bank: loading.Bank):
    # Weights 3, 2, 2. Among queues of 6, 2 and 1 decode-1 is worth 0; with one of 16 it is worth 10 / 15.
    ran = played(real_bank, "endpoint-picker")
    assert (ran["shipped"].result.winner, ran["joined"].result.winner) == ("decode-4", "decode-1")
    assert ran["shipped"].result.best_score == pytest.approx(2 * 1 + 2 * 0.8)
    assert ran["joined"].result.best_score == pytest.approx(3 * 0.9 + 2 * 10 / 15 + 2 * 0.28)
    assert ran["pick"].result.min_max_terms == pytest.approx((0, 0.8, 1))


def test_without_a_filter_on_roles_the_prefill_pod_takes_the_chat(real_bank: loading.Bank):
    # 3 * 0.9 + 2 * 1, its queue being the shortest, + 2 * (1 - 0.1).
    bare = played(real_bank, "endpoint-picker")["bare"].result
    assert (bare.winner, bare.best_score) == ("prefill-1", pytest.approx(6.5))


def test_an_endpoint_wins_by_hand(real_bank: loading.Bank):
    pick = played(real_bank, "endpoint-picker")["pick"].result
    assert pick.best_score == pytest.approx(2 * 0.9 + (1 - 6 / 8) + (1 - 0.72))
    assert pick.lead == pytest.approx(2.33 - 1.675)


def test_the_published_training_run_lost_a_gpu_every_50_700_hours():
    # 16,384 GPUs over 54 days, 419 unexpected interruptions.
    hours = 16_384 * 54 * 24 / 419
    assert hours == pytest.approx(50_700, rel=0.001)


def test_twice_the_ranks_keep_eleven_per_cent_more_kv_on_each_gpu(real_bank: loading.Bank):
    ran = played(real_bank, "sick-rank")
    wide, narrow = (ran[name].result.at_hand.tokens_a_gpu for name in ("ep64", "ep32"))
    assert wide / narrow == pytest.approx(1.114, abs=5e-4)


def test_a_slow_ranks_spread_is_its_extra_compute(real_bank: loading.Bank):
    slow = played(real_bank, "sick-rank")["slow"].result
    assert slow.others_wait_ms == pytest.approx(0.2 * 58.36)
    assert slow.lost_gpus == pytest.approx((1 - 83.384 / (1.2 * 58.36 + 25.024)) * 32)
    assert slow.slips[2][0] == pytest.approx(32 / 6)


def test_a_probe_of_one_token_notices_within_twenty_seconds(real_bank: loading.Bank):
    # Three failures 5 s apart, the last of which runs into its time-out of 5 s.
    hung = played(real_bank, "sick-rank")["hung"].result
    assert hung.detectors[0].after_s == 3 * 5 + 5
    assert [detector.after_s for detector in hung.detectors[1:5]] == [100, 300, 600, 1_800]
