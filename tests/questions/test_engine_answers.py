"""Answers of the engine questions, against derivations of their own."""
import pytest

from questions import loading
from questions.content import QuestionFile
from questions.figures import Ran
from questions.runs import play
from questions.services import run_lab


def question(slug: str) -> QuestionFile:
    return loading.read_file(loading.FOLDER / "engine" / f"{slug}.md")[0]


def runs_of(slug: str) -> dict[str, Ran]:
    """Every run of a question, with the file's own values."""
    return play(question(slug).runs, {}, run_lab)


def test_processes_agree_with_the_architecture_page_but_for_one_gpu():
    # docs.vllm.ai, Architecture Overview: API servers + ranks + GPUs, and one more for several ranks.
    ran = runs_of("process-map")
    said = {"one": 1 + 1 + 1, "four": 1 + 1 + 4, "pair": 2 + 2 + 2 + 1, "wide": 4 + 4 + 8 + 1}
    counted = {name: ran[name].result.processes for name in said}
    assert counted == said | {"one": 2}
    assert len(ran["wide"].result.roles) == 5


def test_a_speed_up_of_1_7_leaves_at_least_3_5_ms_exposed():
    # By hand: 5 x 1.7 - 5 = 3.5; with 1 ms still exposed 1.7 x 6 - 5 = 5.2; over 20 ms of kernels 23.5 / 20.
    ran = runs_of("v1-speedup-source")
    assert ran["small"].result.speed_up == pytest.approx(1.7)
    assert ran["still"].result.speed_up == pytest.approx(1.7)
    assert ran["large"].result.speed_up == pytest.approx(23.5 / 20)
    assert round(25 / 16, 2) == 1.56  # runner V2's published tokens/s, in thousands


def test_one_late_end_of_sequence_wastes_one_row_and_a_cap_none():
    # By hand: 1 / (L + 1) of the sampled rows, the prefill's own included; four steps 1.2 + 4 x 5 + 1 and 4 x 7.2.
    ran = runs_of("async-scheduling")
    for name, tokens in (("brief", 10), ("reply", 50), ("long", 400)):
        assert ran[name].result.sampled_rows == tokens + 1
        assert ran[name].result.waste_percent == pytest.approx(100 / (tokens + 1))
    assert ran["capped"].result.wasted_rows == ran["waits"].result.wasted_rows == 0
    assert ran["loop"].result.overlapped.total_ms == pytest.approx(22.2)
    assert ran["loop"].result.sync.total_ms == pytest.approx(28.8)


def test_the_events_shown_are_those_around_the_end():
    events = [step.event for step in runs_of("async-scheduling")["reply"].result.steps[-3:]]
    assert events == ["step 51 scheduled", "step 50 returns", "step 51 returns"]


def test_overlap_leaves_the_longer_lane_in_charge():
    # By hand: 3.1 + 2.0 ms of CPU over 2.6 of GPU; 64 tokens in 7.7 ms; 500 launches of 6 us are 3 ms.
    ran = runs_of("cpu-bound-server")
    small, eager = ran["small"].result, ran["eager"].result
    assert small.async_busy_percent == pytest.approx(100 * 2.6 / 5.1)
    assert small.sync.tokens_per_s == pytest.approx(64 / 7.7e-3)
    assert small.gain == pytest.approx(7.7 / 5.1)
    assert eager.overlapped.period_ms == pytest.approx(3.1 + 3.0 + 2.0)
    assert ran["faster"].result.overlapped.period_ms == small.overlapped.period_ms
    # A step reads the weights and 64 contexts of 1,024 tokens, 2 x 28 layers x 8 heads x 128 x 2 bytes each.
    assert ran["floor"].result.here.step_ms == pytest.approx((1.192 + 64 * 1024 * 114_688 / 1e9) / 3.35, rel=1e-3)


def test_a_read_costs_what_follows_it_and_one_of_logits_a_whole_turn():
    # By hand: 5 + 1.2, 5 + 0.4, 5 + 0; 4.5 + 0.4 + 1.0 + 1.2 for the logits, and 1.6 + 5 + 1.0 for the tokens.
    ran = runs_of("hidden-sync")
    periods = {name: ran[name].result.async_period_ms for name in ran}
    assert periods == pytest.approx(
        {"clean": 5.0, "end": 5.0, "late": 5.4, "start": 6.2, "logits": 7.1, "tokens": 7.6},
    )


def test_a_steps_message_is_within_6_percent_of_pickles_of_the_real_classes():
    # Recorded with vLLM 0.33.0: SchedulerOutput of decoding requests with names of 50 characters, pickled.
    ran = runs_of("worker-state-diffs")
    sizes = {size.requests: size.diff_bytes for size in ran["known"].result.sizes}
    for requests, recorded in ((64, 5_062), (256, 17_480), (1_024, 69_291)):
        assert sizes[requests] == pytest.approx(recorded, rel=0.06)
    # 256 new requests of 2,000 tokens, ids and blocks once; one new request, ids twice.
    assert ran["known"].result.full_bytes == pytest.approx(2_190_324, rel=0.06)
    assert ran["joined"].result.new_bytes == pytest.approx(16_676, rel=0.06)
    assert ran["known"].result.lines[0].value == 50 + 17
    assert ran["deep"].result.message_bytes == ran["known"].result.message_bytes


def test_what_stays_on_the_cpu_sets_the_new_runners_step():
    # By hand: max(1 + 0.05, 1.2 - 0.8 + 1) against max(1, 2.2); waiting, 0.4 + 1.05 + 1 and on the old one 3.2.
    ran = runs_of("model-runner-v2")
    assert ran["moved"].result.period_ms == pytest.approx(1.4)
    assert ran["moved"].result.old_period_ms == pytest.approx(2.2)
    assert ran["waits"].result.period_ms == pytest.approx(2.45)
    assert ran["suffix"].result.period_ms == pytest.approx(3.2)
    assert 1_024 * 131_072 * 4 == 512 * 2**20
    assert 1_024 * 2**20 * 4 == 4 * 2**30


def test_the_outcomes_told_are_those_of_the_rules():
    # Read in config/vllm.py of 0.33.0: use_v2_model_runner and what it calls.
    ran = runs_of("model-runner-v2")
    outcomes = {name: run.result.outcome for name, run in ran.items()}
    assert outcomes == {
        "moved": "V2 async", "waits": "V2 sync", "suffix": "V1 sync", "ngram": "V2 async", "vocabulary": "V1 async",
        "overlap": "V1 async", "processor": "refused", "no_triton": "V1 async", "forced": "refused",
        "pinned": "refused", "watermark": "V2 async", "overlap_pinned": "V2 async",
    }


def test_eight_of_fourteen_characters_are_out_when_the_emoji_is_whole():
    # By hand: "The cat says " and the emoji are 14 code points; the stop's 7 less 1 are held.
    ran = runs_of("stream-detokenize")
    whole = ran["reply"].result.steps[-5]
    assert whole.decoded == "\N{GRINNING FACE}" and len("The cat says ") + 1 == 14
    assert (whole.sent_in_all, len(whole.held)) == (8, 6)
    assert ran["included"].result.steps[-5].sent_in_all == 14
    assert ran["longer"].result.steps[-5].sent_in_all == 7
    assert len("The cat says ") + 2 - 6 == 9  # each token alone: two replacement characters for the emoji
    assert ran["reply"].result.sent_text == "The cat says \N{GRINNING FACE}!"
    assert 6 / 4 == 1.5


def test_the_gpu_leads_up_to_58_users_and_the_measured_shares_are_as_told():
    # By hand: 546 / (4.92 + 2,048 x 131,072 B), then (3,350 / that - 16.06) over the same context's bytes.
    ran = runs_of("laptop-or-datacenter")
    context = 2_048 * 131_072 / 1e9
    laptop = 546 / (4.92 + context)
    assert ran["even"].result.most_users == int((3_350 / laptop - 16.06) / context) == 58
    assert ran["no_kv"].result.most_users == 52
    assert ran["both"].result.most_users == 58
    assert ran["sparse"].result.laptop_tokens_per_s == pytest.approx(546 / 2.7)
    # The input embedding, 128,256 x 4,096: 2 bytes in bf16, 4.5 bits in the 4-bit file.
    rows = 128_256 * 4_096 / 1e9
    unread, unread_in_4_bits = 2 * rows, 4.5 / 8 * rows
    assert unread / 16.06 == pytest.approx(1 / 16, abs=0.005)
    assert unread_in_4_bits / 4.92 == pytest.approx(1 / 16, abs=0.005)
    read = 546 / (4.92 - unread_in_4_bits + context)
    assert (3_350 / read - (16.06 - unread)) / (3_350 / laptop - 16.06) == pytest.approx(1 - 1 / 20, abs=0.005)
    # Published runs: 20.9 and 46.2 tokens/s of decode, 225 and 500 of prompt.
    assert 20.9 / ran["mini"].result.laptop_tokens_per_s == pytest.approx(0.86, abs=0.005)
    assert 46.2 / ran["older"].result.laptop_tokens_per_s == pytest.approx(0.57, abs=0.005)
    assert (round(4_096 / 225), round(4_096 / 500, 1)) == (18, 8.2)


def test_the_wrong_ways_offered_are_the_labs_own():
    ran = runs_of("laptop-or-datacenter")
    slips = [round(value, 1) for value, _ in ran["even"].result.slips]
    assert slips == [52, 6.1, 2.0]
