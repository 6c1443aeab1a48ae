"""Answers of the sampling questions, against derivations of their own."""
import pytest

from questions import loading
from questions.content import QuestionFile
from questions.figures import Ran
from questions.grading import judge_number
from questions.runs import draw, play
from questions.services import run_lab


def question(slug: str) -> QuestionFile:
    return loading.read_file(loading.FOLDER / "sampling" / f"{slug}.md")[0]


def runs_of(slug: str) -> dict[str, Ran]:
    """Every run of a question, with the file's own values."""
    return play(question(slug).runs, {}, run_lab)


def test_min_p_before_top_p_leaves_two_tokens_and_after_it_three():
    # By hand: squares of the six sum to 0.2688; the bar is 0.01764 of them, so A, B, C stay; 0.2340 / 0.2536 > 0.9.
    six = {"A": 0.42, "B": 0.24, "C": 0.14, "D": 0.1, "E": 0.06, "F": 0.04}
    squares = {name: share**2 for name, share in six.items()}
    assert [name for name, square in squares.items() if square >= squares["A"] / 10] == ["A", "B", "C"]
    request = runs_of("sampling-order")["request"].result
    two, three, four = (sum(list(squares.values())[:count]) for count in (2, 3, 4))
    assert request.left.top_two_share == pytest.approx(two / three, abs=1e-5) and two / three > 0.9
    assert request.right.top_two_share == pytest.approx(two / four, abs=1e-5) and two / four < 0.9
    assert request.left.probability_of_largest == pytest.approx(squares["A"] / two, abs=1e-5)
    assert [chain.kept_count for chain in request.known] == [2, 3, 4]


def test_a_bias_goes_through_the_repetition_penalty():
    # By hand: (2 + 1) / 1.25 - 2 x 0.5 - 0.3, and 2 / 1.25 - 2 x 0.5 - 0.3 + 1; C in the prompt alone: -0.5 x 1.25.
    ran = runs_of("sampling-order")
    assert ran["bias"].result.logits["A"] == pytest.approx(1.1)
    assert ran["bias_last"].result.logits["A"] == pytest.approx(1.3)
    assert ran["penalties"].result.logits == pytest.approx({"A": 0.3, "B": 0.4, "C": -0.625, "D": 1.0})


def test_every_setting_of_the_drafter_comes_to_the_same_tokens():
    # By hand: 37 output tokens, the first from the prefill; a step gives what it accepted and one more.
    ran = runs_of("ngram-drafter")
    for name in ("five", "two", "one", "older", "older_five", "longer"):
        totals = ran[name].result.totals
        assert totals.steps + totals.accepted == ran["five"].result.plain_steps == 36
    assert [step.accepted for step in ran["five"].result.steps if step.match.n] == [4, 4, 5, 1]
    one = ran["one"].result
    assert one.steps[10].match.at >= len(one.prompt)


def test_two_drops_make_a_believable_rate():
    # By hand: 24,000 drafts and 37,200 accepted of 72,000; over the restart 7,904 - 52,200 of 15,600 - 102,000.
    ran = runs_of("acceptance-metrics")
    scraped = ran["scraped"].result
    assert scraped.mean_length == pytest.approx(1 + 37_200 / 24_000)
    assert scraped.windows[1].raw_rate == pytest.approx(44_296 / 86_400)
    assert scraped.windows[0].cut == 2_000 + 24_000 + 37_200 - 62_100
    assert scraped.speed_up == pytest.approx(2.55 * 11 / 16)
    assert ran["busy"].result.speed_up == pytest.approx(2.55 * 14 / 45)
    assert not ran["hidden"].result.windows[0].valid and ran["hidden"].result.windows[0].drafts > 0


@pytest.mark.parametrize("seed", range(8))
def test_every_drawn_set_of_scrapes_has_its_restart_in_the_middle(seed: int):
    document = question("acceptance-metrics")
    _, ran, _ = draw(document.runs, document.keep, seed, run_lab)
    assert [window.valid for window in ran["scraped"].result.windows] == [True, False, True]
    assert all(0 < window.cut_per_request < 1 for window in ran["scraped"].result.windows[::2])


def test_the_word_after_the_colon_is_the_sum_of_its_eight_bits():
    # By hand: true tr t are bits 9 to 11, false f fa 14 to 16, true} and false} 23 and 24; EOS is bit 31, the sign.
    ran = runs_of("grammar-mask")
    steps = ran["hand"].result.steps
    assert (steps[4].text, steps[4].mask.bits) == ('{"ok":', 8)
    assert int(steps[4].mask.hex, 16) == sum(2**bit for bit in (9, 10, 11, 14, 15, 16, 23, 24)) == 25_284_096
    assert steps[8].mask.signed == (-(2**31),)
    assert ran["dead"].result.steps[-1].mask.hex == "00000000"


def test_a_row_is_16_kilobytes_and_ten_milliseconds_of_walking():
    # By hand: 128,256 / 32 = 4,008 words; 128,256 x 4 x 20 ns; 1,024 x 4 rows for three drafts.
    ran = runs_of("grammar-mask")
    assert ran["cost"].result.row_bytes == 4 * 4_008
    assert ran["cost"].result.naive_ms == pytest.approx(128_256 * 80 / 1e6)
    assert ran["drafts"].result.buffer_mb == pytest.approx(4 * 1_024 * 16_032 / 1e6)


def test_three_drafts_bring_the_mask_out_from_under_the_forward():
    # By hand: 256 rows x 40 us = 10.24 ms, with 0.3 of update, 0.2 of sending and 0.3 of sampling 11.04; two drafts
    # make 192 rows, 7.68 ms, and 8.48 lies under 8.8 + 0.3.
    ran = runs_of("mask-overlap")
    assert ran["stalls"].result.period_ms == pytest.approx(11.04)
    assert ran["two"].result.period_ms == ran["free"].result.period_ms == pytest.approx(9.1)
    assert ran["odd"].result.period_ms == pytest.approx(10 + 0.3 + 0.2 + 0.3)
    assert ran["small"].result.period_ms == pytest.approx(64 * 0.04 + 0.8)
    for batch, forward_ms in ((64, ran["free"].inputs["forward_ms"]), (256, ran["many"].inputs["forward_ms"])):
        assert round((15.01e9 + batch * 1_024 * 131_072) / 2.68e9, 1) == forward_ms  # weights and KV, read at 2.68 TB/s


def test_neither_a_loop_that_waits_nor_the_chain_alone_passes_for_the_step_with_drafts():
    # By hand: waiting, 0.3 + max(8.8, 10.24 + 0.2) + 0.3 + 0.3 = 11.34 ms; the chain is 0.3 + 10.24 + 0.2 = 10.74 ms.
    stalls = runs_of("mask-overlap")["stalls"].result
    assert (stalls.sync_period_ms, stalls.chain_ms) == pytest.approx((11.34, 10.74))
    check = question("mask-overlap").check
    taken = [judge_number(typed, stalls.period_ms, check["unit"], check["tolerance"], stalls.slips).within
             for typed in ("11", "11.34", "10.74")]
    assert taken == [True, False, False]


def test_drafts_lose_where_six_rows_of_products_outweigh_the_reads():
    # By hand: b = (E - kc) W/BW / (2P(1 + k)/F - (E - kc) ctx KV/BW), with E = (1 - 0.7^6) / 0.3.
    ran = runs_of("draft-tokens-budget")
    expected = (1 - 0.7**6) / 0.3 - 5 * 0.05
    bandwidth, flops = 3.35e12 * 0.8, 989e12 * 0.6
    products_s, kv_s = 2 * 7.505e9 * 6 / flops, expected * 512 * 131_072 / bandwidth
    batch = ran["batch"].result
    assert batch.break_even == pytest.approx(expected * 15.01e9 / bandwidth / (products_s - kv_s), abs=1)
    assert batch.losing_context == pytest.approx(512 * products_s / kv_s)
    assert (batch.budget_sequences, ran["seven"].result.budget_sequences) == (8_192 // 6, 8_192 // 8)
    assert 1_024 * 8 == 8_192 and ran["long"].result.break_even == 0
    row = ran["rows"].result.steps[3].rows[2]
    assert row.after == row.advanced - row.rejected == row.before + 1 + row.accepted


def test_the_best_draft_adds_just_more_than_its_cost_times_the_speed_up():
    # By hand: E(8) = (1 - 0.8^9) / 0.2 = 4.329 over 1.4; the eighth draft adds 0.168 tokens, the ninth 0.134.
    ran = runs_of("speculative-speedup")
    length = ran["length"].result
    assert length.best_k == 8 and length.best_speed_up == pytest.approx((1 - 0.8**9) / 0.2 / 1.4)
    assert 0.8**8 > 0.05 * length.best_speed_up > 0.8**9
    assert 1 + 0.8 * 5 == 5 and length.here.accepted_share == pytest.approx(((1 - 0.8**6) / 0.2 - 1) / 5)
    assert ran["dear"].result.best_k == 4 and ran["products"].result.best_k == 0


def test_one_slot_makes_eight_tenants_five_times_as_slow():
    # By hand: (15.01 + 8 x 1,000 x 131,072 B + one adapter of 16 x 81,920 x 32 x 2 B) / 2.68 TB/s, 8 x 300 times;
    # against 300 steps with 64 sequences and eight adapters.
    ran = runs_of("many-adapters")
    adapter = 16 * 81_920 * 32 * 2
    alone_s = (15.01e9 + 8 * 1_000 * 131_072 + adapter) / 2.68e12
    shared_s = (15.01e9 + 64 * 1_000 * 131_072 + 8 * adapter) / 2.68e12
    assert ran["one"].result.makespan_s == pytest.approx(8 * 300 * alone_s)
    assert ran["all"].result.makespan_s == pytest.approx(300 * shared_s)
    assert ran["wide"].result.all_slots_bytes == 8 * 8 * ran["one"].result.slot_bytes
    assert ran["disk"].result.served.disk_loads > ran["memory"].result.served.disk_loads == 24


def test_the_same_five_terms_come_to_256_and_to_258():
    # By hand: bf16 has 8 significant bits, so steps of 2 at 256 and of 0.125 from 16 to 32; halves round to even.
    assert [2.0 ** (exponent - 7) for exponent in (8, 4)] == [2, 0.125]
    ran = runs_of("same-seed-different-text")
    sums = {name: ran[name].result.sum for name in ("alone", "full", "fixed", "single")}
    assert sums == {"alone": 256 + 2, "full": 256, "fixed": 256, "single": 1}
    assert (ran["alone"].result.winner, ran["full"].result.winner) == ("A", "B")
    assert [way.sum for way in ran["single"].result.ways[:2]] == [1, 0]
    assert ran["alone"].result.agree_share == pytest.approx(0.999**500)
    assert 992 + 8 == 1_000
