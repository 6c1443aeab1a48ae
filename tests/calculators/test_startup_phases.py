"""The five phases of a start: which one ends each of the runs that are told apart by hand."""
import pytest

from calculators.models.memory_ledger import solve as ledger
from calculators.models.startup_phases import DONE, FAILED, PHASES, UNREACHED, solve

RUNS = [  # 70B bf16 on H100s; the phase by hand
    ({"tensor_parallel_size": 1}, "3", "torch.OutOfMemoryError"),
    ({"tensor_parallel_size": 1, "data_parallel_size": 2}, "3", "torch.OutOfMemoryError"),
    ({"other_gib": 8}, "2", "(69.69/79.19 GiB) on startup is less than desired GPU memory utilization (0.92, 72.85"),
    ({"gpu_memory_utilization": 0.85}, "4", "No available memory for the cache blocks"),
    ({}, "4", "To serve at least one request with the model's max seq len (131072), (20.0 GiB"),
    ({"max_model_len": 4_096}, "0", "init engine"),
    ({"max_model_len": 16_384}, "4", "(2.5 GiB KV cache is needed"),
    ({"max_model_len": 16_384, "max_num_seqs": 256, "max_num_batched_tokens": 2_048}, "0", "init engine"),
    ({"gpu_memory_utilization": 0.99}, "2", "on startup is less than desired"),
    ({"max_model_len": 4_096, "graphs_actual_gib": 8}, "5", "capture_model"),
    ({"model": "qwen3-14b", "tensor_parallel_size": 16}, "1", "must be divisible by tensor parallel size (16)"),
]


@pytest.mark.parametrize(("run", "phase", "last"), RUNS)
def test_which_phase_ends_it(run: dict, phase: str, last: str):
    start = solve(**run)
    assert start.fails == phase and last in start.log[-1]
    states = [check.state for check in start.checks]
    assert states.count(FAILED) == (phase not in "01")
    assert states == sorted(states, key=[DONE, FAILED, UNREACHED].index)


def test_graphs_below_their_estimate_give_room_to_the_block_tables():
    # by hand: 79.19 − 72.855 − 1.5 in use − 5.0 of block tables = −0.165 GiB; graphs of 0 leave 0.672 of the budget
    start = solve(model="mistral-7b-v0.1", tensor_parallel_size=4, max_model_len=10_485_760,
                  max_num_batched_tokens=131_072, graphs_actual_gib=0)
    last = start.checks[-1]
    assert (start.fails, last.state, last.asked_gib) == ("0", DONE, 0)
    assert round(start.head_room_gib, 3) == -0.165 and round(last.has_gib, 3) == 0.507


def test_gb_against_gib_and_total_against_usable():  # by hand
    start = solve()
    assert (round(start.weight_gb, 1), start.card_gb) == (141.1, 160)
    assert (round(start.cards_gib, 1), round(start.budgets_gib, 1)) == (158.4, 145.7)
    assert (round(start.loaded_gib, 2), round(start.bare_gib, 2), start.request_gib) == (65.71, 13.48, 20.0)
    assert "13.48 GiB of each GPU are left by the weights alone" in start.never_verdict


def test_at_16384_it_could_and_the_levers_say_so():
    assert solve(max_model_len=16_384).never_verdict.startswith("It could")


def test_the_log_holds_a_line_for_each_phase_that_passed():
    assert [line.partition(" ")[0] for line in solve(max_model_len=4_096).log] == [
        "Initializing", "Using", "Loading", "Model", "Available", "GPU", "Graph", "init",
    ]


def test_every_wrong_phase_is_spoken_against():
    for run, phase, _ in RUNS:
        assert {choice for choice, _ in solve(**run).slips} == set(PHASES) - {phase}


def test_the_phases_and_the_ledger_agree():
    for run, _, _ in RUNS:
        same = {name: value for name, value in run.items() if name != "data_parallel_size"}
        given = {"model": "llama-3.1-70b", "tensor_parallel_size": 2} | same
        assert ledger(**given).outcome == solve(**run).outcome
