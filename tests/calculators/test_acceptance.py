"""Acceptance from counters: four scrapes worked by hand, and pasted /metrics texts."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs.acceptance import FOUR
from calculators.labs.acceptance_picture import share_text
from calculators.models.acceptance import Acceptance, format_scrapes, parse_scrapes, solve
from calculators.models.base import Refusal
from calculators.models.metrics_text import read


def run(text: str = FOUR, plain: float = 11.0, spec: float = 16.0) -> Acceptance:
    return solve(scrapes=parse_scrapes(text), plain_step_ms=plain, spec_step_ms=spec)


# Differences and quotients by hand: window, dD, dDT, dA, rate, length, unconditional, conditional, cut, generated − A
@pytest.mark.parametrize(
    ("place", "drafts", "drafted", "accepted", "rate", "length", "all_of", "came", "cut", "inferred"), [
        (0, 24_000, 72_000, 37_200, "51.67%", "2.550", ".7625 .5000 .2875", ".763 .656 .575", 1_100, 24_900),
        (2, 24_000, 72_000, 36_000, "50.00%", "2.500", ".7400 .4800 .2800", ".740 .649 .583", 600, 25_400),
    ])
def test_windows_of_four_scrapes(place: int, drafts: int, drafted: int, accepted: int, rate: str, length: str,
                                 all_of: str, came: str, cut: int, inferred: int) -> None:
    window = run().windows[place]
    assert (window.drafts, window.draft_tokens, window.accepted) == (drafts, drafted, accepted)
    assert (window.percent, f"{window.mean_length:.3f}") == (rate, length)
    assert " ".join(f"{share:.4f}"[1:] for share in window.unconditional) == all_of
    assert " ".join(share_text(share, 3)[1:] for share in window.conditional) == came
    assert (window.cut, window.inferred_steps) == (cut, inferred)


def test_the_ledger_of_the_first_window() -> None:
    window = run().window
    assert (window.counted_tokens, window.generation_tokens, window.cut_per_request) == (63_200, 62_100, 0.55)


def test_a_restart_gives_a_plausible_number_from_garbage() -> None:
    window = run().windows[1]
    assert not window.valid and window.rate == 0 and "process start differs" in window.fault
    assert (window.accepted, window.draft_tokens, window.percent) == (-44_296, -86_400, "51.27%")


def test_one_share_for_all_positions_is_no_law() -> None:
    result = run()
    assert round(result.constant_share, 3) == 0.704  # 1 + a + a² + a³ = 2.55
    assert "fall from 0.763 to 0.575" in result.share_verdict


@pytest.mark.parametrize(("positions", "words"), [
    ("70:49:34", "the real ones lie near it"), ("50:40:38", "the real ones run from 0.500 to 0.950"),
])
def test_chances_that_do_not_fall_are_not_said_to(positions: str, words: str) -> None:
    accepted = sum(map(int, positions.split(":")))
    text = f"0/0/0/0:0:0/0/0@1,100/300/{accepted}/{positions}/300/1@1"
    assert words in run(text).share_verdict


def test_speed_up_needs_both_step_times() -> None:
    result = run()
    assert (round(result.ms_per_token, 1), round(result.speed_up, 2)) == (6.3, 1.75)
    assert run(spec=29).speed_up < 1


@pytest.mark.parametrize(("text", "fault"), [
    ("10/30/15/8:5:2/26/1@100,34/102/14/8:4:2/88/3@100", "accepted, position 2 fell"),
    ("10/30/15/8:5:2/26/1@100,34/102/52/25:16:9/88/3@100", "don't sum"),
    ("10/30/15/8:5:2/26/1@100,10/30/15/8:5:2/26/1@100", "no drafts"),
    ("10/30/15/8:5:2/26/1@100,12/36/21/9:8:4/40/1@100", "more accepted than could be"),
])
def test_a_window_that_means_nothing_says_why(text: str, fault: str) -> None:
    with pytest.raises(Refusal, match=fault):
        run(text)


def test_a_good_window_is_found_beyond_a_bad_one() -> None:
    text = ",".join(FOUR.split(",")[1:])
    assert run(text).window.name == "S1–S2" and run(text).mean_length == 2.5


@pytest.mark.parametrize("text", ["", "1/2/3", "1/2/3/4/5/6", "1/2/3/4:5/5/6@1", "x", "1/2/3/4:/5/6@7,1/2/3/4/5/6@7"])
def test_scrapes_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(Refusal):
        parse_scrapes(text)


def metrics(drafts: int, tokens: int, accepted: int, positions: tuple[int, ...], generated: int, finished: int,
            start: float | None = None, engine: int = 0) -> str:
    label = f'engine="{engine}",model_name="m"'
    lines = [
        "# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.",
        f"vllm:spec_decode_num_drafts_total{{{label}}} {drafts}.0",
        f"vllm:spec_decode_num_drafts_created{{{label}}} 1.7e+09",
        f"vllm:spec_decode_num_draft_tokens_total{{{label}}} {tokens}.0",
        f"vllm:spec_decode_num_accepted_tokens_total{{{label}}} {accepted}.0",
        *(f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{label},position="{at}"}} {count}.0'
          for at, count in enumerate(positions)),
        f"vllm:generation_tokens_total{{{label}}} {generated}.0",
        f'vllm:request_success_total{{{label},finished_reason="stop"}} {finished - 1}.0',
        f'vllm:request_success_total{{{label},finished_reason="length"}} 1.0',
        "vllm:num_requests_running{} 3.0",
    ]
    return "\n".join(lines + ([f"process_start_time_seconds {start}"] if start else []))


FIRST = (10_000, 30_000, 15_000, (7_500, 4_800, 2_700), 26_000, 1_000)
SECOND = (34_000, 102_000, 52_200, (25_800, 16_800, 9_600), 88_100, 3_000)


def test_two_pasted_metrics_texts_become_two_scrapes() -> None:
    pasted = read(metrics(*FIRST, start=100.0) + "\n" + metrics(*SECOND, start=100.0))
    assert pasted.faults == ()
    assert pasted.values["scrapes"] == ",".join(FOUR.split(",")[:2])


def test_engines_are_summed_and_their_making_stands_in_for_the_start() -> None:
    both = [metrics(*counts) + "\n" + metrics(*counts, engine=1) for counts in (FIRST, SECOND)]
    scrapes = parse_scrapes(read("\n".join(both)).values["scrapes"])
    assert [(each.drafts, each.start) for each in scrapes] == [(20_000, 1.7e9), (68_000, 1.7e9)]


@pytest.mark.parametrize(("text", "fault"), [
    ("", "No counter"), ("hello\nworld", "No counter"), (metrics(*FIRST), "Only one /metrics text"),
    (metrics(*FIRST).replace("generation_tokens", "gone"), "Text 1 has no vllm:generation_tokens"),
    ("vllm:spec_decode_num_drafts_total{} NaN", "Line 1"), ("vllm:spec_decode_num_drafts_total", "Line 1"),
    (metrics(*FIRST).replace('position="2"', 'position="12"'), "Text 1 has 13 positions"),
    (metrics(*FIRST).replace('position="2"', 'place="2"'), "positions without a number"),
    ("\n".join(["vllm:generation_tokens_total{} 1"] * 9), "9 texts"),
])
def test_what_cannot_be_read_is_said(text: str, fault: str) -> None:
    pasted = read(text)
    assert pasted.values == {} and any(fault in each for each in pasted.faults)


def test_a_line_that_is_no_sample_is_said_and_left_aside() -> None:
    text = f"$ curl :8000/metrics\n{metrics(*FIRST)}\nhello there\n{metrics(*SECOND)}"
    pasted = read(text)
    assert [fault[:9] for fault in pasted.faults] == ["Line 1: “", "Line 14: "]
    assert all("left aside" in fault for fault in pasted.faults)
    assert pasted.values["scrapes"] == read(f"{metrics(*FIRST)}\n{metrics(*SECOND)}").values["scrapes"]


def test_many_bad_lines_are_said_as_a_few_and_a_count() -> None:
    faults = read("what? \n" * 100).faults
    assert len(faults) == 13 and faults[-1] == "And 89 more lines like these."


def test_labels_may_hold_braces_and_quotes() -> None:
    texts = [metrics(*counts).replace('"m"', r'"a}b\" {c"') for counts in (FIRST, SECOND)]
    assert read("\n".join(texts)).values["scrapes"].startswith("10000/30000/15000/7500:4800:2700")


@pytest.mark.parametrize("made", ["1.8e+09", ""])
def test_a_restart_of_one_engine_among_two_is_a_restart(made: str) -> None:
    """Engine 1 starts anew and counts little, engine 0 more: the sums grow, and the window means nothing."""
    little = (20, 60, 30, (15, 10, 5), 60, 2)
    after = [metrics(*[90_000 if count == 34_000 else count for count in SECOND]),
             metrics(*little, engine=1).replace("1.7e+09", made or "1.7e+09")]
    texts = [metrics(*FIRST), metrics(*FIRST, engine=1), *after]
    text = "\n".join(line for each in texts for line in each.splitlines() if made or "_created" not in line)
    before, later = parse_scrapes(read(text).values["scrapes"])
    assert later.drafts > before.drafts and later.start > before.start


@pytest.mark.parametrize("line", [
    "vllm:generation_tokens{" + 'a="b" ' * 5_000, "vllm:generation_tokens{" + 'a="' * 5_000, "x " * 5_000,
])
def test_no_line_takes_more_than_one_pass(line: str) -> None:
    assert read(line).values == {}  # a pattern that tries every split of these would never end


LINES = "\n".join([metrics(*FIRST, start=100.0), metrics(*SECOND, engine=1)]).splitlines()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(LINES) | st.sampled_from(LINES).map(lambda line: line[:-4]) | st.text(max_size=20),
                max_size=60))
def test_any_paste_gives_scrapes_or_says_why_not(lines: list[str]) -> None:
    pasted = read("\n".join(lines))
    assert pasted.values or pasted.faults
    assert not pasted.values or len(parse_scrapes(pasted.values["scrapes"])) >= 2


GROWTH = st.tuples(st.integers(1, 10**6), st.lists(st.floats(0, 1), min_size=1, max_size=5), st.integers(0, 10**5))


@settings(max_examples=60, deadline=None)
@given(GROWTH, st.floats(0.1, 10_000), st.floats(0.1, 10_000))
def test_positions_sum_to_the_accepted_and_length_stays_within_k(growth: tuple, plain: float, spec: float) -> None:
    drafts, falls, finished = growth
    survive = [drafts]
    for share in falls:
        survive.append(int(survive[-1] * share))
    accepted = sum(survive[1:])
    later = (f"{drafts}/{drafts * len(falls)}/{accepted}/{':'.join(map(str, survive[1:]))}/{drafts + accepted}/"
             f"{finished}@5")
    zero = f"0/0/0/{':'.join('0' * len(falls))}/0/0@5"
    result = run(f"{zero},{later}", plain, spec)
    assert format_scrapes(parse_scrapes(f"{zero},{later}")) == f"{zero},{later}"
    assert 1 <= result.mean_length <= 1 + len(falls)
    assert result.mean_length == pytest.approx(1 + sum(result.window.unconditional))
    powers = sum(result.constant_share**power for power in range(len(falls) + 1))
    assert powers == pytest.approx(result.mean_length)
