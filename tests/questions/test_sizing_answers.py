"""Answers of the sizing questions, against derivations of their own; plain numbers of their prose are redone here."""
from collections.abc import Mapping
from math import ceil
from statistics import correlation, linear_regression, mean

import pytest

from questions import loading
from questions.content import QuestionFile
from questions.figures import Ran
from questions.models import Question, Topic
from questions.runs import draw, play
from questions.services import Posed, judge, posed_with, run_lab

GIB, MIB = 2**30, 2**20
# Llama-3.1-8B and 70B by their config.json: layers, hidden size, KV heads, head size, vocabulary, parameters.
EIGHT = (32, 4_096, 8, 128, 128_256, 8_030_261_248)
SEVENTY = (80, 8_192, 8, 128, 128_256, 70_553_706_496)


def question(slug: str) -> QuestionFile:
    return loading.read_file(loading.FOLDER / "sizing" / f"{slug}.md")[0]


def played(slug: str) -> Mapping[str, Ran]:
    """The runs of a question with its file's own values."""
    return play(question(slug).runs, {}, run_lab)


def drawn(slug: str, seed: int) -> Mapping[str, Ran]:
    """The runs of a question with values drawn."""
    asked = question(slug)
    return draw(asked.runs, asked.keep, seed, run_lab)[1]


def posed(slug: str) -> Posed:
    asked = question(slug)
    row = Question(slug=slug)
    loading.write_row(row, asked, Topic(slug="sizing"))
    return posed_with(row, {}, play(asked.runs, {}, run_lab))


def token_bytes(model: tuple[int, ...], on_each: int = 8) -> int:
    """Bytes of KV of a token in bf16, with so many KV heads on a GPU."""
    return 2 * model[0] * on_each * model[3] * 2


@pytest.mark.parametrize("slug", [
    "refuses-to-start", "host-memory-growth", "in-flight", "kv-concurrency", "parallelism-choice", "quantize-what",
])
def test_the_right_option_begins_with_the_number_asked_for(slug: str):
    asked = question(slug)
    right = [option["text"] for option in asked.options if option.get("right")]
    assert len(asked.options) == 4
    assert right[0].startswith(f"[[{asked.check['figure']}")


@pytest.mark.parametrize(("slug", "typed"), [("three-flags", "13.48"), ("refuses-to-start", "14.3")])
def test_slips_of_what_the_lab_asks_say_nothing_of_another_number(slug: str, typed: str):
    # These check a number beside the one that their view asks for: the KV, the phase.
    judgement = judge(posed(slug), typed)
    assert not judgement.within and judgement.slip == ""


def test_the_lab_asks_for_what_the_question_does_and_names_another_width():
    assert judge(posed("parallelism-choice"), "4").slip.startswith("That is what TP 2 × 4 would hold")


def test_tokens_a_second_are_told_from_sequences():
    assert judge(posed("in-flight"), "25,000").slip.startswith("That is tokens per second.")


@pytest.mark.parametrize("seed", range(5))
def test_what_is_neither_weights_nor_kv_adds_up(seed: int):
    ledger = drawn("memory-ledger", seed)["ledger"].result
    parts = (ledger.slack_gib, ledger.buffers_gib, ledger.growth_gib, ledger.peak_gib, ledger.graph_gib)
    assert sum(parts) == pytest.approx(ledger.missing_gib)


@pytest.mark.parametrize("seed", range(5))
def test_a_ledger_without_graphs_and_a_plan_without_spare_are_refused(seed: int):
    ledger, plan = drawn("memory-ledger", seed)["ledger"].result, drawn("gpu-count", seed)["plan"].result
    pair = drawn("three-flags", seed)["pair"].result
    for slug, right, left_out in (
        ("memory-ledger", ledger.kv_gib, ledger.graph_gib), ("gpu-count", plan.gpus, plan.gpus - 2 * plan.for_time),
        ("three-flags", pair.short_gib, pair.graph_gib),
    ):
        assert left_out > right * question(slug).check["tolerance"]


def test_the_ledgers_buffers_and_peak_by_hand():
    ledger = played("memory-ledger")["ledger"].result
    seats, steps, (_, hidden, _, _, words, _) = 1_024, 8_192, EIGHT
    assert ledger.penalty_gib == seats * words * 4 / GIB
    assert ledger.sampler_gib == (seats * words * 14 + (steps + seats) * hidden * 2) / GIB
    assert f"{178.35 - 176.17:.2f}" == "2.18"  # the public log from a B200


def test_a_70b_lacks_a_request_less_what_is_left():
    ran = played("three-flags")
    pair, few = ran["pair"].result, ran["few"].result
    each = token_bytes(SEVENTY, on_each=4)
    assert pair.request_gib == 131_072 * each / GIB == 20
    assert pair.short_gib == pytest.approx(20 + 16 * each / GIB - pair.kv_gib)
    # A quarter of the step: hidden states that are held under the sampler, then the forward pass down to the sampler.
    assert pair.levers[1].gain_gib == pytest.approx((8_192 - 2_048) * 8_192 * 2 / GIB)
    at_2048 = (256 * 128_256 * 14 + (2_048 + 256) * 8_192 * 2) / GIB
    assert few.levers[1].gain_gib == pytest.approx(few.forward_gib - at_2048)


def test_two_stages_keep_the_bytes_of_two_ranks():
    layers, _, heads, size, _, _ = SEVENTY
    assert 2 * (layers // 2) * heads * size * 2 == token_bytes(SEVENTY, on_each=4)


def test_no_utilization_can_start_the_pair():
    start = played("refuses-to-start")["start"].result
    weights = 2 * SEVENTY[-1]
    both = weights / GIB
    assert start.bare_gib == pytest.approx(79.19 - both / 2)
    assert start.bare_gib < start.request_gib
    assert f"{80 - both / 2:.1f}" == "14.3" and f"{2 * 79.19 - both:.1f}" == "27.0"  # two of the options
    assert round(both) == 131 and round(start.budgets_gib / 2 - both / 2) == 7 and round(160 - weights / 1e9) == 19


def test_host_memory_follows_requests_by_another_fit():
    fit = played("host-memory-growth")["fit"].result
    minutes, requests, resident, aborts = zip(*fit.points, strict=True)
    grown = [mib * MIB for mib in resident]
    assert fit.slope_bytes == pytest.approx(linear_regression(requests, grown).slope)
    by = [correlation(column, grown) ** 2 for column in (minutes, requests, aborts)]
    assert [each.r_squared for each in fit.fits] == pytest.approx(by)
    assert max(by) == by[1]
    assert fit.error_bytes / fit.slope_bytes == pytest.approx(0.002, abs=0.0005)
    assert round(linear_regression(minutes, grown).slope / 1e6) == 24


def test_growth_goes_by_requests_and_not_by_minutes():
    at = {point[0]: point for point in played("host-memory-growth")["fit"].result.points}
    busy = [late - early for early, late in zip(at[60], at[90], strict=True)]
    quiet = [late - early for early, late in zip(at[90], at[120], strict=True)]
    assert busy[1:3] == [20_400, 493] and quiet[1:3] == [9_600, 215]
    assert busy[2] / busy[1] == pytest.approx(quiet[2] / quiet[1], rel=0.1)
    # 600 tokens with a list slot of 8 B and an int of 28 to 32; 37 full blocks with a slot and a digest object of 65 B.
    assert (600 * (8 + 28), 600 * (8 + 32), 600 // 16 * (8 + 65)) == (21_600, 24_000, 2_701)


def test_as_many_are_in_flight_as_a_count_finds():
    flight = played("in-flight")["flight"].result
    began = [number / 50 for number in range(50 * 100)]  # evenly, for 100 s, each for 500 × 40 ms
    counts = [sum(start <= now < start + 500 * 0.040 for start in began) for now in (40.001, 60.001, 80.001)]
    assert mean(counts) == flight.sequences == 1_000
    assert flight.abandoned_sequences == 25 * 20 + 25 * 5


@pytest.mark.parametrize("seed", range(5))
def test_replicas_counted_up_one_by_one(seed: int):
    plan = drawn("gpu-count", seed)["plan"]
    given, found = plan.inputs, plan.result
    rate = given["users"] / given["think_s"]
    stay = given["ttft_s"] + (given["output_tokens"] - 1) * given["ms_per_token"] / 1e3
    prefill = rate * given["prompt_tokens"] * (1 - given["hit_percent"] / 100) / (
        2 * 1_979e12 * 0.45 / (2 * SEVENTY[-1]))
    held = given["prompt_tokens"] + given["output_tokens"] / 2

    def busy(replicas: int) -> float:
        read = 72.66e9 + rate * stay / replicas * held * token_bytes(SEVENTY) / 2
        return prefill / replicas + read / (2 * 3.35e12 * 0.7) / (given["ms_per_token"] / 1e3)

    replicas = next(count for count in range(1, 200) if busy(count) <= 0.85)
    assert found.for_time == replicas
    assert found.gpus == 2 * ceil(round(replicas * 1.1, 9))


def test_sequences_of_three_kinds_of_cache_by_hand():
    ran = played("kv-concurrency")
    fit, latent, windowed = (ran[name].result for name in ("fit", "latent", "windowed"))
    blocks = int(ran["ledger"].result.kv_gib * GIB) // (16 * token_bytes(EIGHT))
    assert fit.sequences == blocks // (2_048 // 16) == 217
    assert latent.gpu_token_bytes == 61 * (512 + 64) * 2
    # Ten full layers in a group of their own; 52 windowed ones in six, of 65 blocks each, or with tokens in flight 513.
    page = 10 * 16 * 2 * 16 * 128 * 2
    assert windowed.sequence_bytes == (512 + 6 * 65) * page
    assert windowed.admission_bytes == (512 + 6 * 513) * page
    assert 0.25 < windowed.sequence_bytes / windowed.unwindowed_bytes < 0.3


def test_what_tensor_parallelism_sends_and_reads():
    node = played("parallelism-choice")["node"].result
    layers, hidden, _, _, words, parameters = SEVENTY
    reduces, chunk = 2 * layers, 8_192 * hidden * 2
    assert reduces == 160 and round(chunk / 1e6) == 134 and f"{reduces * chunk / 1e9:.1f}" == "21.5"
    read = 2 * (parameters - words * hidden)
    assert round(read / 1e9) == 139
    step = (read + 32 * 2_048 * token_bytes(SEVENTY)) / (4 * 3.35e12 * 0.7) + reduces * 15e-6
    assert node.plans[2].step_ms == pytest.approx(step * 1e3)
    wide = 2 * 405_853_388_800 / GIB  # a 405B in bf16, against eight cards
    assert round(wide) == 756 and wide > 8 * 79.19
    assert round(410.06e9 / 8 / GIB) == 48


@pytest.mark.parametrize("seed", range(5))
def test_gains_of_fp8_by_hand(seed: int):
    busy = drawn("quantize-what", seed)["busy"]
    _, hidden, _, _, words, parameters = EIGHT
    table = words * hidden
    kv = busy.inputs["batch"] * busy.inputs["context_tokens"] * token_bytes(EIGHT)
    wide, narrow = 2 * (parameters - table), parameters - 2 * table + 2 * table
    assert busy.result.fp8_gain == pytest.approx((wide + kv) / (narrow + kv))
    assert busy.result.kv8_gain == pytest.approx((wide + kv) / (wide + kv / 2))
    assert kv < 54.4 * GIB  # it fits the pool that a bf16 8B leaves
    assert token_bytes(EIGHT) == 128 * 1_024
    assert 2 * table / parameters == pytest.approx(1 / 8, rel=0.06)
