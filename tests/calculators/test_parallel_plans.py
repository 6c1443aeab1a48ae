"""Widths and replicas on one node: figures by hand from shapes and datasheets, 6.23 GiB between weights and KV by rule.
"""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.catalogue import GPUS, MODELS
from calculators.models.parallel_plans import Plan, solve

# width: weights, KV (GiB of a GPU), tokens of a replica and of the node, sequences on the node, step ms, tokens/s
TABLE = {
    2: (65.71, 0.91, 5_968, 23_872, 4, 34.3, 1_864),
    4: (32.85, 33.77, 442_576, 885_152, 216, 19.5, 3_281),
    8: (16.43, 50.19, 1_315_792, 1_315_792, 321, 12.1, 5_290),
}


def plan(width: int, **inputs: object) -> Plan:
    return next(each for each in solve(**inputs).plans if each.width == width)


@pytest.mark.parametrize("width", TABLE)
def test_70b_on_eight_h100(width: int) -> None:
    found = plan(width)
    weights, kv, replica, node, sequences, step, rate = TABLE[width]
    assert (found.replica_tokens, found.node_tokens, found.sequences) == (replica, node, sequences)
    assert found.overhead_gib == pytest.approx(6.23, abs=0.006)
    assert (found.weights_gib, found.kv_gib) == pytest.approx((weights, kv), abs=0.006)
    assert found.step_ms == pytest.approx(step, abs=0.05) and found.tokens_per_s == pytest.approx(rate, abs=1)


def test_the_narrowest_that_holds_the_users_is_chosen() -> None:
    assert (solve().chosen, solve().holds) == ("4", TABLE[4][4])
    assert solve(users=4).chosen == "2"
    assert solve(users=217).chosen == "8"
    assert (solve(users=400).chosen, solve(users=400).holds) == ("", 0) and "No width" in solve(users=400).verdict
    assert solve(weights="fp8").chosen == "2"
    assert "--tensor-parallel-size 4" in solve().command and "--max-model-len 4096" in solve().command


def test_what_another_width_holds_is_named_as_a_slip() -> None:
    slips = dict(solve().slips)
    assert slips[TABLE[2][4]] == "That is what TP 2 × 4 would hold: a replica holds 1 of its 16 users."
    assert "wider than it need be" in slips[TABLE[8][4]]
    assert slips[TABLE[4][4] / 2] == "That is one replica; the node has 2."


def test_only_a_bf16_checkpoint_is_told_to_quantise() -> None:  # a packed one refuses another method than its own
    assert "--quantization fp8_per_tensor" in solve(weights="fp8").command
    assert "--quantization" not in solve(model="deepseek-v3", weights="fp8", gpu="h200").command


def test_what_a_width_costs_is_said() -> None:
    assert plan(8, model="deepseek-v3", gpu="h200").warnings == ("the latent KV is kept 8 times",)
    assert plan(8, model="qwen3-30b-a3b").warnings == ("4 KV heads, so each is kept 2 times",)
    assert plan(2, gpu="l40s").warnings == ("all-reduces over PCIe",)
    assert plan(1).why_not == "nothing is left for KV"
    assert [each.width for each in solve(model="qwen3-14b", gpus=16).plans] == [1, 2, 4, 8]  # 40 heads


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(list(MODELS)), st.sampled_from(list(GPUS)), st.integers(1, 16), st.integers(16, 200_000),
       st.integers(1, 5_000))
def test_replicas_share_the_node_and_a_chosen_plan_holds_the_users(
    model: str, gpu: str, gpus: int, context_tokens: int, users: int
) -> None:
    result = solve(model=model, gpu=gpu, gpus=gpus, context_tokens=context_tokens, users=users)
    for each in result.plans:
        assert each.width * each.replicas == gpus and each.step_ms > 0
        assert each.sequences * context_tokens <= each.node_tokens
        assert each.why_not or each.sequences >= users
    assert result.chosen in {str(each.width) for each in result.plans if not each.why_not} | {""}
