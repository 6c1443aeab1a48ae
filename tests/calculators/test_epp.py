"""The epp model: figures worked by hand for five pods, and what holds for any pods."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.epp import FIVE, MIN_MAX, OTHERS, RATIO, Picked, solve, total
from calculators.models.epp_pods import CHAT, COLD, LONG, LORA, PREFILL_STAGE, Pod, format_pods, parse_pods

START = solve()
LLM_D = {"prefix_weight": 3.0, "queue_weight": 2.0, "kv_weight": 2.0, "queue_scorer": MIN_MAX}


def scores(result: Picked) -> dict[str, float]:
    return {name: round(score, 3) for name, score in result.scores.items()}


def pods(text: str) -> tuple[Pod, ...]:
    return parse_pods(text)


def test_five_pods_score_as_by_hand():
    # decode-1: 1.80 + 0.250 + 0.28; decode-2: 0.20 + 0.750 + 0.65; decode-3: 1.80 + 1 + 0.95; decode-4: 0.875 + 0.80
    assert scores(START) == {"decode-1": 2.33, "decode-2": 1.6, "decode-3": 3.75, "decode-4": 1.675, "prefill-1": 3.7}
    assert [pod.says for pod in START.pods] == ["2.33", "1.60", "3.75", "1.68", "3.70"]


def test_a_score_never_rescues_a_filtered_pod():
    assert (START.winner, START.best_score) == ("decode-1", pytest.approx(2.33))
    assert {pod.name: pod.reason for pod in START.higher} == {"decode-3": "not healthy", "prefill-1": "role is prefill"}


@pytest.mark.parametrize(("values", "figures", "winner"), [
    # survivors decode-1 / -2 / -4, worked by hand; queues 6, 2, 1 are 0, 0.8, 1 by min-max
    ((2, 1, 1, RATIO), (2.33, 1.60, 1.675), "decode-1"),
    ((2, 1, 1, MIN_MAX), (2.08, 1.65, 1.80), "decode-1"),
    ((3, 2, 2, RATIO), (3.76, 3.10, 3.35), "decode-1"),
    ((3, 2, 2, MIN_MAX), (3.26, 3.20, 3.60), "decode-4"),
    ((0, 1, 1, RATIO), (0.53, 1.40, 1.675), "decode-4"),
    ((1, 1, 1, RATIO), (1.43, 1.50, 1.675), "decode-4"),
    ((1, 2, 1, RATIO), (1.68, 2.25, 2.55), "decode-4"),
    ((2, 1, 3, RATIO), (2.89, 2.90, 3.275), "decode-4"),
])
def test_weights_decide_among_those_that_are_left(values: tuple, figures: tuple[float, ...], winner: str):
    prefix, queue, kv, scorer = values
    result = solve(prefix_weight=prefix, queue_weight=queue, kv_weight=kv, queue_scorer=scorer)
    assert [round(pod.score, 3) for pod in result.survivors] == list(figures)
    assert result.winner == winner
    row = next(row for row in START.other_weights if row.scores == pytest.approx(figures, abs=1e-9))
    assert row.winner == winner


def test_the_winner_flips_where_the_lines_cross():
    # decode-1 against decode-4: 0.9 wP = 0.625 wQ + 0.52 wK
    assert round(START.prefix_flip, 3) == 1.272  # (0.625 + 0.52) / 0.9
    assert round(START.queue_flip, 3) == 2.048  # (1.80 - 0.52) / 0.625
    assert round(START.kv_flip, 2) == 2.26  # (1.80 - 0.625) / 0.52
    assert {ruler.rival for ruler in START.rulers} == {"decode-4"}


def test_llm_ds_own_scorers_and_weights_pick_another():
    result = solve(**LLM_D)
    assert (result.winner, round(result.best_score, 2)) == ("decode-4", 3.60)
    assert [round(term, 2) for term in result.min_max_terms] == [0, 0.8, 1]


@pytest.mark.parametrize(("off", "winner", "score"), [
    (("role_filter", "health_filter"), "decode-3", 3.75),
    (("health_filter",), "decode-3", 3.75),
    (("role_filter",), "prefill-1", 3.70),
])
def test_without_filters_the_highest_score_takes_it(off: tuple[str, ...], winner: str, score: float):
    result = solve(**dict.fromkeys(off, False))
    assert (result.winner, round(result.best_score, 2)) == (winner, score)


@pytest.mark.parametrize(("request_type", "left", "score"), [
    (LORA, ["decode-2"], 1.60), (PREFILL_STAGE, ["prefill-1"], 3.70),
    (COLD, ["decode-1", "decode-2", "decode-4"], 1.675),
])
def test_the_request_decides_who_is_left(request_type: str, left: list[str], score: float):
    result = solve(request=request_type)
    assert [pod.name for pod in result.survivors] == left
    assert round(result.best_score, 3) == score


def test_a_cold_prompt_is_decided_by_load():
    assert [round(pod.score, 3) for pod in solve(request=COLD).survivors] == [0.53, 1.4, 1.675]


def test_a_prefix_saves_its_share_of_the_prefill():
    first, second, *_ = solve(request=LONG).pods
    assert round(first.prefill_ms, 1) == 53.3  # 0.1 * 16,000 / 30,000 s
    assert round(second.prefill_ms, 1) == 480.0


def test_nobody_left_is_an_error_and_no_fallback():
    result = solve(pods=pods("a@prefill:0.5/0/0.1"))
    assert (result.winners, result.best_score, result.rulers) == ((), 0.0, ())
    assert result.finding.startswith("Nobody is left: the client gets an error")


def test_a_tie_is_said():
    result = solve(pods=pods("a:0.5/2/0.5,b:0.5/2/0.5,c:0/9/0.9"))
    assert result.winners == ("a", "b")
    assert result.finding == "a and b tie at 2.25; one of them, drawn at random, takes the request."  # 1 + 0.75 + 0.5


def test_a_queue_past_eight_is_worth_nothing_and_never_less():
    first, second = solve(pods=pods("a:0/8/0,b:0/800/0")).pods
    assert first.parts == second.parts == (0, 0, 1)


def test_equal_queues_are_worth_one_by_min_max():
    assert solve(pods=pods("a:0/7/0,b:0/7/0"), queue_scorer=MIN_MAX).min_max_terms == (1, 1)


def test_another_pod_changes_the_others_scores_by_min_max_only():
    two, three = pods("a:0/2/0,b:0/6/0"), pods("a:0/2/0,b:0/6/0,c:0/10/0")
    for scorer, same in ((RATIO, True), (MIN_MAX, False)):
        before, after = (solve(pods=each, queue_scorer=scorer).scores["b"] for each in (two, three))
        assert (before == after) is same


def test_a_pod_without_a_role_decodes_and_does_not_prefill():
    unlabelled = pods("a:0.5/0/0")
    assert solve(pods=unlabelled, request=CHAT).winner == "a"
    assert solve(pods=unlabelled, request=PREFILL_STAGE).pods[0].reason == "no role"


def test_known_slips_are_named():
    said = {round(value, 3) for value, _ in START.slips}
    # others left, filtered, no weights, KV used instead of free, the winner's by min-max
    assert said == {1.6, 1.675, 3.75, 3.7, 1.43, 2.77, 2.08}


def test_pods_come_back_from_their_text():
    assert format_pods(parse_pods(FIVE)) == FIVE
    assert parse_pods(FIVE)[1] == Pod("decode-2", "decode", 0.1, 2, 0.35, ("sql-v2",))


@pytest.mark.parametrize(("text", "words"), [
    ("decode-1", "“decode-1” is no pod"),
    ("a:0.5/1/0.5,a:0.5/1/0.5", "a stands there twice"),
    ("a@both:0.5/1/0.5", "a role is decode or prefill"),
    ("a:1.5/1/0.5", "are shares, from 0 to 1"),
    ("a:0.5/99999/0.5", "a queue is at most 10,000"),
    (",".join(f"p{number}:0/0/0" for number in range(13)), "13 pods; takes from 1 to 12"),
    (" , ", "0 pods"),
])
def test_what_is_no_pod_is_said(text: str, words: str):
    with pytest.raises(Refusal, match=words):
        parse_pods(text)


SHARES = st.integers(0, 100).map(lambda percent: percent / 100)
PODS = st.lists(
    st.builds(lambda role, prefix, queue, kv, adapter, healthy: (role, prefix, queue, kv, adapter, healthy),
              st.sampled_from(("decode", "prefill", "")), SHARES, st.integers(0, 20), SHARES,
              st.sampled_from(((), ("sql-v2",))), st.booleans()),
    min_size=1, max_size=12,
).map(lambda rows: tuple(Pod(f"p{place}", *row) for place, row in enumerate(rows)))
WEIGHT = st.floats(0, 5)


@settings(max_examples=150, deadline=None)
@given(pods=PODS, request=st.sampled_from((CHAT, PREFILL_STAGE, LORA, COLD, LONG)), prefix_weight=WEIGHT,
       queue_weight=WEIGHT, kv_weight=WEIGHT, queue_scorer=st.sampled_from((RATIO, MIN_MAX)),
       role_filter=st.booleans(), health_filter=st.booleans(), adapter_filter=st.booleans())
def test_any_pods_are_picked_from_or_nobody_is_left(**values: object):
    result = solve(**values)
    weights = (values["prefix_weight"], values["queue_weight"], values["kv_weight"])
    assert parse_pods(format_pods(values["pods"])) == values["pods"]
    assert len(result.pods) == len(values["pods"])
    for pod in result.pods:
        assert 0 <= pod.score <= sum(weights) + 1e-9
    assert (not result.winners) == (not result.survivors)
    if not result.winners:
        return
    assert all(pod.score <= result.best_score for pod in result.survivors)
    assert len(result.other_weights) in (len(OTHERS), len(OTHERS) + 1)
    by_name = {pod.name: pod for pod in result.survivors}
    for place, ruler in enumerate(result.rulers):
        assert ruler.leads[0].start == 0 and ruler.leads[-1].end == 5
        assert all(before.end == after.start for before, after in zip(ruler.leads, ruler.leads[1:], strict=False))
        for lead in ruler.leads:
            middle = [*weights]
            middle[place] = (lead.start + lead.end) / 2
            best = max(total(pod.terms, middle) for pod in result.survivors)
            assert total(by_name[lead.leader].terms, middle) == pytest.approx(best, abs=1e-6)


def test_the_lead_is_over_the_next_one_and_nobody_leads_alone():
    assert solve().lead == pytest.approx(2.33 - 1.675)
    assert solve(request=LORA).lead == 0
