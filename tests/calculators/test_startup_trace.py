"""Start-up logs replayed: public ledgers of vLLM 0.19.0, and what is said of logs that can't be predicted."""
import json
from pathlib import Path

import pytest

from calculators.models import startup_trace
from calculators.models.kv_sizing_trace import NotModelled
from calculators.models.shapes import FURTHER, shape_called
from calculators.models.startup_trace import Told, replayed, summary

RECORD = json.loads((Path(__file__).parents[1] / "golden" / "vllm_logs.json").read_text())
GRANITE = RECORD["cases"][1]


def changed(case: dict, logged: dict | None = None, **more: object) -> dict:
    return case | more | {"logged": case["logged"] | (logged or {})}


@pytest.mark.parametrize("case", RECORD["cases"], ids=lambda case: case["model"])
def test_a_public_log_is_predicted(case: dict):
    told = replayed(case)
    assert isinstance(told, Told) and told.foreseen and not told.failed
    assert abs(told.measured) < 0.0005  # the rounding of the log
    assert abs(told.blind) < 0.005


# More public ledgers of the same sweep (github.com/jgchn/llm-d-planner, accuracy/results/v0.19.0): model, GPUs, the
# weights' format, the KV's, and logged: weights, peak, non-torch in GiB, tokens. All at 0.95 and 8,192 on H100s.
SWEEP = [
    ("codellama/CodeLlama-7b-hf", 1, None, "auto", 12.56, 0.77, 0.25, 126_256),
    ("meta-llama/Llama-3.1-8B-Instruct", 1, None, "fp8", 14.99, 1.89, 0.25, 952_032),
    ("meta-llama/Llama-3.1-8B-Instruct", 1, "fp8", "auto", 8.49, 1.89, 0.25, 529_248),
    ("meta-llama/Llama-3.1-8B-Instruct", 4, None, "auto", 3.77, 1.89, 2.13, 2_209_792),
    ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", 1, "gptq_marlin", "auto", 5.38, 1.89, 0.25, 554_704),
    ("RedHatAI/Llama-3.3-70B-Instruct-fp8-dynamic", 2, "compressed-tensors", "auto", 33.88, 1.96, 2.10, 244_304),
    ("moonshotai/Kimi-Dev-72B", 2, None, "auto", 67.82, 2.29, 2.09, 19_776),  # a tight fit: 3 GiB are left
    ("Qwen/Qwen2.5-72B-Instruct", 2, None, "auto", 67.80, 2.29, 2.09, 19_920),
    ("Qwen/Qwen3-30B-A3B", 1, None, "auto", 56.88, 2.68, 0.27, 168_288),
    ("Qwen/Qwen3-8B", 1, None, "auto", 15.27, 2.21, 0.25, 418_688),
]


@pytest.mark.parametrize(("model", "tp", "quantization", "kv", "weights", "peak", "growth", "tokens"), SWEEP)
def test_the_sweep_is_predicted(model: str, tp: int, quantization: str | None, kv: str, weights: float, peak: float,
                                growth: float, tokens: int):
    shape = shape_called(model)
    arch = {"layers": shape.layers, "kv_heads": shape.kv_heads, "head_dim": shape.head_dim}
    logged = {"total_gib": 79.19, "weights_gib": weights, "activation_peak_gib": peak, "non_torch_gib": growth,
              "kv_tokens": tokens}
    told = replayed(GRANITE | {"model": model, "tp": tp, "quantization": quantization, "kv_cache_dtype": kv,
                               "arch": arch, "logged": logged})
    assert abs(told.measured) <= 0.005 and abs(told.blind) <= 0.005 and told.foreseen


def test_the_summary_gives_median_and_90th_percentile():
    lines = list(summary([replayed(case) for case in RECORD["cases"]]))
    assert lines[0].startswith("blind: 5 of 5 logs, median error 0.11%")
    assert lines[1].startswith("measured: 5 of 5 logs, median error 0.0")
    assert lines[2] == "start or refusal foreseen: 5 of 5; not modelled: 0"


PAIR = GRANITE | {
    "vllm_version": "0.33.0", "model": "meta-llama/Llama-3.1-70B-Instruct", "tp": 2, "gpu_memory_utilization": 0.92,
    "max_model_len": 131_072, "arch": {"layers": 80, "kv_heads": 8, "head_dim": 128},
}


@pytest.mark.parametrize(("case", "foreseen"), [
    (PAIR | {"logged": {"total_gib": 79.19, "error": "To serve at least one request with the model's max seq len"}},
     "not one request of full length fits"),
    (PAIR | {"gpu_memory_utilization": 0.85, "error": "No available memory for the cache blocks.",
             "logged": {"total_gib": 79.19}}, "nothing is left for KV"),
    (PAIR | {"logged": {"total_gib": 79.19, "free_at_start_gib": 69.7, "outcome": "refused"}},
     "too little is free at the start"),
    (PAIR | {"tp": 1, "logged": {"total_gib": 79.19, "status": "failed"}}, "out of memory while it loads"),
    (PAIR | {"tp": 3, "logged": {"total_gib": 79.19, "status": "failed"}}, "the heads can’t be split so"),
])
def test_a_refusal_is_foreseen(case: dict, foreseen: str):
    told = replayed(case)
    assert told.foreseen is True and foreseen in told.words


@pytest.mark.parametrize(("field", "value", "started"), [
    ("started", False, False), ("started", True, True), ("refused", True, False), ("outcome", "started", True),
    ("outcome", "kv check failed", False), ("status", "ok", True), ("error", "anything", False),
    ("message", "torch.OutOfMemoryError: CUDA out of memory", False), ("message", "see the thread", None),
    ("note", "error bars are small", None),
])
def test_how_a_log_says_that_it_started(field: str, value: object, started: bool | None):
    case = GRANITE | {"logged": {"total_gib": 79.19}, field: value}
    assert startup_trace.has_started(case, case["logged"]) == started
    assert isinstance(replayed(case), Told)


def test_a_start_that_was_not_foreseen_fails():
    told = replayed(PAIR | {"logged": {"total_gib": 79.19, "kv_tokens": 200_000}})
    assert told.foreseen is False and told.failed


@pytest.mark.parametrize(("change", "reason"), [
    ({"model": "someone/unheard-of"}, "no shape known of someone/unheard-of"),
    ({"quantization": "bitsandbytes"}, "weights in bitsandbytes"),
    ({"dtype": "float32"}, "weights in float32"),
    ({"arch": {"layers": 40, "kv_heads": 8, "head_dim": 96}}, "no shape known"),
])
def test_what_is_not_predicted_blind_is_still_measured(change: dict, reason: str):
    told = replayed(changed(GRANITE, **change))
    assert told.blind is None and reason in told.words and told.measured is not None


@pytest.mark.parametrize(("case", "reason"), [
    (changed(GRANITE, model="google/gemma-2-27b-it"), "layers of several kinds"),
    (changed(GRANITE, arch=GRANITE["arch"] | {"sliding_window": 4_096}), "layers of several kinds"),
    (changed(GRANITE, vllm_version="0.6.4"), "older than the rules"),
    (changed(GRANITE, kv_cache_dtype="turboquant_4bit"), "a KV cache in turboquant_4bit"),
    (changed(GRANITE, speculative_config={"method": "eagle"}), "the setting speculative_config"),
    (changed(GRANITE, gpu="a card of one’s own", logged={"total_gib": None}), "a GPU called"),
    (changed(GRANITE, arch={"attention": "mla", "layers": 27}), "a shape that isn't given"),
])
def test_what_cannot_be_predicted_says_why(case: dict, reason: str):
    told = replayed(case)
    assert isinstance(told, NotModelled) and reason in told


def test_a_stage_that_does_not_sample_is_not_taken_for_the_last():
    case = changed(GRANITE, model="meta-llama/Llama-3.1-8B-Instruct", pp=2,
                   arch={"layers": 32, "kv_heads": 8, "head_dim": 128},
                   logged={"weights_gib": 7.51, "activation_peak_gib": 1.1, "non_torch_gib": 0.07, "non_kv_gib": 8.69,
                           "kv_tokens": 1_075_312, "free_at_start_gib": 77.76})
    told = replayed(case)  # the same sweep
    assert told.measured is None and "does not sample" in told.words and abs(told.blind) < 0.005


def test_the_dense_shapes_add_up_to_their_published_parameters():  # each model's card
    published = {"Llama-3.2-1B": 1_235_814_400, "Qwen2.5-7B": 7_615_616_512, "Qwen2.5-72B": 72_706_203_648,
                 "phi-4": 14_659_507_200, "Mistral-Nemo-2407": 12_247_782_400, "Qwen3-4B": 4_022_468_096}
    assert {model.name: model.parameters for model in FURTHER if model.name in published} == published


@pytest.mark.parametrize(("name", "shape"), [
    ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", "Llama-3.1-8B"), ("Qwen/Qwen3-8B-FP8", "Qwen3-8B"),
    ("meta-llama/Llama-3.3-70B-Instruct", "Llama-3.1-70B"), ("microsoft/phi-4", "phi-4"),
    ("mistralai/Mistral-7B-Instruct-v0.3", "Mistral-7B-v0.3"),
    ("deepseek-ai/DeepSeek-V2-Lite-Chat", "DeepSeek-V2-Lite"),
])
def test_a_logs_name_finds_its_shape(name: str, shape: str):
    assert shape_called(name).name == shape


@pytest.mark.parametrize("name", [
    "Qwen/Qwen3-VL-8B-Instruct", "google/gemma-3-4b-it", "meta-llama/Llama-3.2-11B-Vision",
])
def test_an_unknown_name_finds_none(name: str):
    assert shape_called(name) is None


def test_the_kind_is_recognised():
    assert startup_trace.recognise(RECORD)
    assert not startup_trace.recognise({"cases": [[1]]}) and not startup_trace.recognise({"cases": []})
