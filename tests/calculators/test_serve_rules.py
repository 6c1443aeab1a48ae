"""Every rule of serve commands, both ways; figures of the fit are from hand arithmetic on public datasheets."""
import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.models.catalogue import GPUS, MODELS
from calculators.models.serve_builder import Serve, line_of, solve
from calculators.models.serve_command import read
from calculators.models.serve_flags import BY_NAME, FLAGS
from calculators.models.serve_rules import RULES
from calculators.models.serve_words import MEANINGS

EXAMPLE = """vllm serve meta-llama/Llama-3.1-70B-Instruct \\
  --tensor-parallel-size 4 \\
  --max-model-len 32768 \\
  --gpu-memory-utilization 0.90 \\
  --max-num-batched-tokens 8192 \\
  --max-num-seqs 256 \\
  --kv-cache-dtype fp8"""
NONE = dict.fromkeys(("max_model_len", "gpu_memory_utilization", "max_num_batched_tokens", "max_num_seqs")) | {
    "kv_cache_dtype": "", "tensor_parallel_size": 1, "gpus": 8}
NIXL = '{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}'
NGRAM = "-sc.method ngram -sc.num_speculative_tokens 4"
WIDE = "-dp 16 -dpl 8 -ep"


def of(flags: str, model: str = "llama-3.1-8b", env: str = "", **knobs: object) -> Serve:
    return solve(**NONE | {"model": model, "more": flags, "env": env} | knobs)


def fired(result: Serve) -> set[str]:
    return {each.id for part in result.parts for each in part.findings} | {each.id for each in result.general} | (
        {"E39"} if any(part.unknown for part in result.parts) else set())


# A rule, a command that it fires on, and one nearly the same that it lets be: flags, model, environment, knobs.
BOTH_WAYS = [
    ("E1", ("-tp 3",), ("-tp 4",)),
    ("E2", ("-tp 16", "phi-like"), ("-tp 16", "llama-3.1-70b")),
    ("E3", ("-tp 16",), ("-tp 8",)),
    ("E3", ("-tp 16",), ("-tp 16 --distributed-executor-backend ray",)),
    ("E3", ("-dp 16",), ("-dp 16 -dpl 8",)),
    ("E4", ("-ep",), ("-ep", "qwen3-30b-a3b")),
    ("E5", ("--enable-eplb -dp 2", "qwen3-30b-a3b"), ("--enable-eplb -ep -dp 2", "qwen3-30b-a3b")),
    ("E6", ("--enable-eplb -ep", "qwen3-30b-a3b"), ("--enable-eplb -ep -tp 2", "qwen3-30b-a3b")),
    ("E7", ("--eplb-config.num_redundant_experts 2 -ep", "qwen3-30b-a3b"),
     ("--eplb-config.num_redundant_experts 2 -ep --enable-eplb -tp 2", "qwen3-30b-a3b")),
    ("E8", ("--eplb-config.num_redundant_experts 3 -ep --enable-eplb -tp 2", "qwen3-30b-a3b"),
     ("--eplb-config.num_redundant_experts 4 -ep --enable-eplb -tp 2", "qwen3-30b-a3b")),
    ("E9", ("--enable-dbo", "deepseek-v3"), ("--enable-dbo --all2all-backend nixl_ep", "deepseek-v3")),
    ("E10", ("--enable-dbo --dbo-decode-token-threshold 1",), ("--dbo-decode-token-threshold 1",)),
    ("E11", ("--eplb-config.communicator pynccl",), ("--eplb-config.communicator torch_gloo",)),
    ("E11", ("--eplb-config.communicator pynccl",),
     ("--eplb-config.communicator pynccl --eplb-config.use_async false",)),
    ("E12", ("--enable-elastic-ep",), ("--enable-eplb",)),
    ("E12", ("--enable-elastic-ep --enable-eplb -pp 2 --eplb-config.use_async false",),
     ("--enable-elastic-ep --enable-eplb --eplb-config.use_async false",)),
    ("E12", ("--enable-elastic-ep --enable-eplb --data-parallel-hybrid-lb --eplb-config.use_async false",),
     ("--enable-elastic-ep --enable-eplb --eplb-config.use_async false",)),
    ("E12", ("--enable-elastic-ep --enable-eplb",),
     ("--enable-elastic-ep --enable-eplb --eplb-config.use_async false",)),
    ("E13", ("--enable-fault-tolerance --all2all-backend nixl_ep -dp 2",),
     ("--enable-fault-tolerance --all2all-backend nixl_ep -dp 2 -dpn 0",)),
    ("E13", ("--enable-fault-tolerance --all2all-backend nixl_ep -dp 2 -dpn 0 -asc 2",),
     ("--enable-fault-tolerance --all2all-backend nixl_ep -dp 2 -dpn 0 -asc 1",)),
    ("E13", ("--enable-fault-tolerance -dp 2 -dpn 0",),
     ("--enable-fault-tolerance -dp 2 -dpn 0 --all2all-backend deepep_low_latency",)),
    ("E14", ("-dp 4 -dph -dpl 2 -dpn 0",), ("-dp 4 -dph -dpl 2",)),
    ("E14", ("-dp 4 -dpr 2 -dpn 0",), ("-dp 4 -dpr 2",)),
    ("E15", ("-dp 2 -dpe",), ("-dp 2 -dpe -dpn 1",)),
    ("E15", ("-dp 2 -dpn 2",), ("-dp 2 -dpn 1",)),
    ("E16", ("-dp 4 -dph",), ("-dp 4 -dph -dpl 2",)),
    ("E17", ("-dp 2 -dpn 0",), ("-dp 2 -dpn 0", "qwen3-30b-a3b")),
    ("E18", ("--headless -asc 1",), ("--headless",)),
    ("E18", ("--headless -dph -dpl 2",), ("-dph -dpl 2",)),
    ("E19", ("--max-num-batched-tokens 100 --max-num-seqs 101",), ("--max-num-batched-tokens 100",)),
    ("E20", ("--disable-chunked-prefill --max-num-batched-tokens 4096",), ("--max-num-batched-tokens 4096",)),
    ("E20", ("--disable-chunked-prefill --max-num-batched-tokens 4096",), ("--disable-chunked-prefill",)),
    ("E21", ("--max-num-seqs 8 --max-num-active-seqs 9",), ("--max-num-seqs 8 --max-num-active-seqs 8",)),
    ("E21", ("--long-prefill-token-threshold 131073",), ("--long-prefill-token-threshold 131072",)),
    ("E21", ("--prefill-schedule-interval 0",), ("--prefill-schedule-interval 1",)),
    ("E21", ("--watermark 1",), ("--watermark 0.99",)),
    ("E21", ("--gpu-memory-utilization 1.1",), ("--gpu-memory-utilization 1",)),
    ("E22", ("--max-model-len 131073",), ("--max-model-len 131072",)),
    ("E22", ("--max-model-len 131073",), ("--max-model-len 131073", "llama-3.1-8b",
                                          "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1")),
    ("E22", ("--max-model-len 131072 --hf-overrides '{\"rope_parameters\":{\"rope_type\":\"yarn\",\"factor\":4}}'",
             "qwen3-8b"),
     ("--max-model-len 131072 --hf-overrides '{\"max_position_embeddings\":131072}'", "qwen3-8b")),
    ("E22", ("--max-model-len 131072", "qwen3-8b"),
     ("--max-model-len 131072 --hf-overrides '{\"rope_parameters\":{\"rope_type\":\"linear\",\"factor\":4}}'",
      "qwen3-8b")),
    ("E23", ("--kv-cache-dtype int8",), ("--kv-cache-dtype fp8_e5m2",)),
    ("E23", ("--kv-cache-dtype float16",), ("--kv-cache-dtype float16 --dtype half",)),
    ("E24", ("--kv-transfer-config.kv_connector NixlConnector",), (f"--kv-transfer-config {shlex.quote(NIXL)}",)),
    ("E24", ("--kv-transfer-config '{\"kv_connector\":\"P2pNcclConnector\",\"kv_role\":\"kv_both\"}'",),
     ("--kv-transfer-config '{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\"}'",)),
    ("E25", (f"--kv-transfer-config '{NIXL}'", "llama-3.1-8b", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
     (f"--kv-transfer-config '{NIXL}' --enable-cumem-allocator", "llama-3.1-8b",
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")),
    ("E26", ("--enable-sleep-mode --kv-transfer-config.kv_connector NixlPushConnector "
             "--kv-transfer-config.kv_role kv_producer",), (f"--enable-sleep-mode --kv-transfer-config '{NIXL}'",)),
    ("E27", (f"-pcp 2 --kv-transfer-config '{NIXL}'",),
     ("-pcp 2 --kv-transfer-config.kv_connector NixlConnector --kv-transfer-config.kv_role kv_producer",)),
    ("E27", ("-dcp 2 -tp 16 --kv-transfer-config.kv_connector NixlPushConnector "
             "--kv-transfer-config.kv_role kv_producer",), (f"-dcp 16 -tp 16 --kv-transfer-config '{NIXL}'",)),
    ("E28", (f"{NGRAM} --spec-tokens 4",), ("-sc.method ngram --spec-tokens 4",)),
    ("E28", ("-sc.method ngram",), (NGRAM,)),
    ("E28", ("-sc.method mtp",), ("-sc.method mtp", "deepseek-v3")),
    ("E28", ("-sc.num_speculative_tokens 4",), (NGRAM,)),
    ("E28", ("-sc.method eagle3 -sc.num_speculative_tokens 3",),
     ("-sc.method eagle3 -sc.model org/draft -sc.num_speculative_tokens 3",)),
    ("E28", ("-sc.method eagle3 -sc.model org/draft",), (NGRAM,)),
    ("E28", (f"{NGRAM} -sc.prompt_lookup_min 5 -sc.prompt_lookup_max 4",),
     (f"{NGRAM} -sc.prompt_lookup_min 2 -sc.prompt_lookup_max 4",)),
    ("E29", ("--enable-lora --max-num-seqs 1024 -sc '{\"method\":\"ngram\",\"num_speculative_tokens\":8}'",),
     ("--enable-lora --max-num-seqs 910 -sc '{\"method\":\"ngram\",\"num_speculative_tokens\":8}'",)),
    ("E30", ("--async-scheduling -sc '{\"method\":\"suffix\",\"num_speculative_tokens\":8}'",),
     ("-sc '{\"method\":\"suffix\",\"num_speculative_tokens\":8}'",)),
    ("E31", ("--enable-lora --max-loras 4 --max-cpu-loras 3",), ("--enable-lora --max-loras 4 --max-cpu-loras 4",)),
    ("E32", ("--enable-auto-tool-choice",), ("--enable-auto-tool-choice --tool-call-parser hermes",)),
    ("E32", ("--enable-auto-tool-choice --tool-call-parser hermetic",), ("--tool-call-parser hermetic",)),
    ("E32", ("--reasoning-parser qwen9",), ("--reasoning-parser qwen3",)),
    ("E33", ("--enable-log-outputs",), ("--enable-log-outputs --enable-log-requests",)),
    ("E33", ("--enable-per-request-metrics --disable-log-stats",), ("--enable-per-request-metrics",)),
    ("E33", ("--collect-detailed-traces all",), ("--collect-detailed-traces all --otlp-traces-endpoint grpc://x",)),
    ("E33", ("--per-request-spec-decode-metrics summary",),
     ("--per-request-spec-decode-metrics summary --spec-method ngram --spec-tokens 3",)),
    ("E34", ("--structured-outputs-config '{\"backend\":\"outlines\",\"disable_any_whitespace\":true}'",),
     ("--structured-outputs-config '{\"backend\":\"xgrammar\",\"disable_any_whitespace\":true}'",)),
    ("E35", ("--attention-backend FLASHINFER -ac.backend FLASH_ATTN",), ("--attention-backend FLASHINFER",)),
    ("E36", ("--cudagraph-capture-sizes 1 2 4 --max-cudagraph-capture-size 8",),
     ("--cudagraph-capture-sizes 1 2 8 --max-cudagraph-capture-size 8",)),
    ("E37", ("-tp 4 -dcp 3", "deepseek-v3"), ("-tp 4 -dcp 2", "deepseek-v3")),
    ("E37", ("-tp 8 -dcp 2",), ("-tp 16 -dcp 2",)),
    ("E38", ("--all2all-backend moonep --enable-eplb -ep -tp 2", "qwen3-30b-a3b"),
     ("--all2all-backend moonep -ep -tp 2", "qwen3-30b-a3b")),
    ("E38", ("--all2all-backend moonep -q fp8",), ("-q fp8",)),
    ("E38", ("--all2all-backend moonep --dtype half",), ("--dtype half",)),
    ("E38", ("--all2all-backend moonep --expert-placement-strategy round_robin",),
     ("--expert-placement-strategy round_robin",)),
    ("E38", ("--enable-lora --moe-backend deep_gemm_mega_moe",), ("--moe-backend deep_gemm_mega_moe",)),
    ("E39", ("--swap-space 4",), ("--disable-log-requests",)),
    ("E40", ("--grpc --grpc-port 9",), ("--grpc",)),
    ("E15", ("-dp 4 -dpl 2 -dpr 4",), ("-dp 4 -dpl 2 -dpr 2",)),
    ("E27", (f"-tp 16 -dcp 2 --kv-transfer-config '{NIXL}'", "llama-3.1-8b"),
     (f"-tp 16 -dcp 16 --kv-transfer-config '{NIXL}'", "deepseek-v3")),
    ("E15", ("-dpn 0", "qwen3-30b-a3b"), ("-dpn 0 -dp 2", "qwen3-30b-a3b")),
    ("E23", ("--kv-cache-dtype nvfp4", "deepseek-v3"), ("--kv-cache-dtype nvfp4",)),
    ("E24", ("--kv-transfer-config.kv_role kv_both",), (f"--kv-transfer-config '{NIXL}'",)),
    ("E41", ("-dpl 2",), ("-dpl 2 -dp 2",)),
    ("E41", ("-dp 4 -dpn 0 -dpl 2",), ("-dp 4 -dpn 0 -dpl 1",)),
    ("E42", ("-dpm -dpl 2",), ("-dpm -dp 2 -dpl 2",)),
    ("E42", ("-dpm -dp 2 -dpl 2 -asc 2",), ("-dpm -dp 2 -dpl 2 -asc 1",)),
    ("E42", ("-dpm -dp 4 -dpl 3",), ("-dpm -dp 4 -dpl 2",)),
    ("E43", ("-n 2 -tp 1",), ("-n 2 -tp 2",)),
    ("E43", ("-n 2 -tp 2 -r 2",), ("-n 2 -tp 2 -r 1",)),
    ("W1", (f"--kv-offloading-size 64 --kv-transfer-config '{NIXL}'",), ("--kv-offloading-size 64",)),
    ("W2", ("--kv-transfer-config '{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}'",),
     (f"--kv-transfer-config '{NIXL}'",)),
    ("W3", (f"{WIDE} --all2all-backend deepep_low_latency", "deepseek-v3"),
     (f"{WIDE} --all2all-backend deepep_low_latency --max-num-batched-tokens 512", "deepseek-v3")),
    ("W4", (f"{WIDE} --all2all-backend deepep_high_throughput", "deepseek-v3"),
     (f"{WIDE} --all2all-backend deepep_high_throughput --kv-transfer-config.kv_role kv_producer", "deepseek-v3")),
    ("W4", ("-ep -dp 2 --all2all-backend moonep", "qwen3-30b-a3b"), ("--all2all-backend moonep",)),
    ("W5", (f"{WIDE} --all2all-backend nixl_ep --enable-dbo", "deepseek-v3"),
     (f"{WIDE} --all2all-backend nixl_ep", "deepseek-v3")),
    ("W6", (f"{WIDE} --enable-eplb", "deepseek-v3"),
     (f"{WIDE} --enable-eplb --eplb-config.num_redundant_experts 32", "deepseek-v3")),
    ("W7", ("--all2all-backend pplx",), ("--all2all-backend nixl_ep",)),
    ("W8", ("--max-loras 8",), ("--max-loras 8 --enable-lora",)),
    ("W9", ("--enable-lora --lora-modules a=/a b=/b",), ("--enable-lora --lora-modules a=/a b=/b --max-loras 2",)),
    ("W10", ("--enforce-eager",), ("--no-enforce-eager",)),
    ("W11", ("--prefill-schedule-interval 2",), ("--prefill-schedule-interval 2 -dp 2 -ep", "qwen3-30b-a3b")),
    ("W12", ("-tp 8", "deepseek-v3"), ("-dp 8 -ep", "deepseek-v3")),
    ("W13", ("--kv-transfer-config '{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\","
             "\"kv_connector_extra_config\":{\"use_layerwise\":true}}'",),
     ("--kv-transfer-config '{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\"}'",)),
    ("W14", ("--kv-cache-dtype fp8_e4m3",), ("--kv-cache-dtype bfloat16",)),
    ("W15", ("-dp 2",), ("-dp 2", "qwen3-30b-a3b")),
    ("W16", ("--kv-cache-memory-bytes 20G --gpu-memory-utilization 0.9",), ("--kv-cache-memory-bytes 20G",)),
    ("W17", ("--prefix-caching-hash-algo xxhash",), ("--prefix-caching-hash-algo sha256_cbor",)),
    ("W18", ("-tp 16 -n 2", "llama-3.1-70b"), ("-tp 8 -pp 2 -n 2", "llama-3.1-70b")),
    ("W19", ("-tp 4", "llama-3.1-8b", "", "l40s"), ("-tp 2", "llama-3.1-8b", "", "l40s")),
    ("W20", (f"{WIDE} --all2all-backend nixl_ep --enable-dbo --enable-lora", "deepseek-v3"),
     (f"{WIDE} --all2all-backend nixl_ep --enable-lora", "deepseek-v3")),
    ("W21", (f"--block-size 8 --kv-transfer-config '{NIXL}'",), (f"--block-size 16 --kv-transfer-config '{NIXL}'",)),
    ("W22", ("--max-num-batched-tokens 8k",), ("--served-model-name 8k",)),
    ("W22", ("--max-num-batched-tokens 8k",), ("--max-num-batched-tokens 8K",)),
    ("W23", ("--api-key abc",), ("--host 127.0.0.1",)),
    ("W25", ("--disable-prefix-caching --kv-offloading-size 64",), ("--kv-offloading-size 64",)),
    ("W26", ("--disable-log-stats",), ("--kv-cache-metrics",)),
    ("W27", (f"--kv-transfer-config '{NIXL}'",),
     (f"--kv-transfer-config '{NIXL}'", "llama-3.1-8b", "VLLM_NIXL_SIDE_CHANNEL_HOST=10.0.0.7")),
    ("W28", (f"--kv-transfer-config '{NIXL}'",),
     ("--kv-transfer-config '{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_consumer\","
      "\"kv_load_failure_policy\":\"recompute\"}'",)),
    ("W29", ("--spec-method ngram --spec-tokens 3",), ("--spec-method ngram --spec-tokens 3 --max-num-seqs 32",)),
    ("W30", ("--cpu-offload-gb 10",), ("--cpu-offload-gb 0",)),
    ("W31", ("",), ("--max-model-len 8192",)),
    ("W32", ("-q fp8", "gpt-oss-20b"), ("-q fp8",)),
    ("W33", ("-asc 4", "gemma-3-27b"), ("-asc 4 --language-model-only", "gemma-3-27b")),
    ("W34", ("--generation-config auto",), ("--generation-config vllm",)),
    ("W35", (f"--kv-transfer-config '{NIXL}'",), (f"--kv-transfer-config '{NIXL}' --shutdown-timeout 60",)),
    ("W36", ("-ep -tp 2", "mixtral-8x7b"), ("-ep -tp 2", "qwen3-30b-a3b")),
    ("W37", ("--disable-chunked-prefill",), ("--disable-chunked-prefill --max-num-batched-tokens 131072",)),
    ("F6", ("--kv-offloading-size 800",), ("--kv-offloading-size 700",)),
]
LATER = ("building the model", "building the model, before the weights load", "starting the engines",
         "starting the worker", "vllm serve", "the connectors’ registry", "NixlConnector", "NixlPushConnector")
RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "serve_configs.json").read_text())
ODD_HEADS = "qwen3-14b,query_heads:48,kv_heads:12"  # 12 KV heads go neither into 16 GPUs nor 16 into them


@pytest.mark.parametrize(("rule", "fires", "lets_be"), BOTH_WAYS)
def test_a_rule_fires_and_lets_be(rule: str, fires: tuple[str, ...], lets_be: tuple[str, ...]) -> None:
    for case, wanted in ((fires, True), (lets_be, False)):
        flags, model, env, gpu = (*case, *("", "llama-3.1-8b", "", "h100")[len(case):])
        model = ODD_HEADS if model == "phi-like" else model
        result = of(flags, model, env, gpu=gpu)
        assert rule == "E39" or not any(part.unknown for part in result.parts), flags
        assert (rule in fired(result)) is wanted, (flags, fired(result))


def test_the_engine_refuses_and_fills_in_as_the_rules_say() -> None:
    """Recorded by building the config of vLLM 0.33.0 for the same flags on a stubbed H100.

    What is only found later, when the model is built or an engine starts, is left out of the comparison.
    """
    for case in RECORDED:
        result = of(shlex.join(case["args"]), case["model"], case["env"])
        found = [each for part in result.parts for each in part.findings] + list(result.general)
        early = any(each.refused and each.where not in LATER for each in found) or any(
            part.unknown for part in result.parts)
        late = any(each.refused and each.where in LATER for each in found)
        assert early or late or case["starts"], case
        assert not (early and case["starts"]), (case, found)
        if case["starts"] and not late:
            tokens, seats = f"{case['tokens']:,} tokens a step", f"{case['seats']:,} sequences"
            assert tokens in result.filled_in or "--max-num-batched-tokens" in case["args"], case
            assert seats in result.filled_in or "--max-num-seqs" in case["args"], case
            graphs = f"graphs {case['graphs']}, {case['sizes']} sizes"
            assert any(words.startswith(graphs) for words in result.filled_in) or (
                case["graphs"] == "NONE" and "no graphs" in result.filled_in), case


def test_every_rule_of_the_table_is_tried() -> None:
    assert {rule.id for rule in RULES} <= {row[0] for row in BOTH_WAYS}
    assert {*(f"E{n}" for n in range(1, 41)), *(f"W{n}" for n in range(1, 38))} - {"W24"} <= {
        row[0] for row in BOTH_WAYS}


def test_a_rule_stands_beside_its_flag_and_names_its_check() -> None:
    assert all(rule.where for rule in RULES if rule.refused)
    assert all(not rule.flag or rule.flag in {flag.dest for flag in FLAGS} for rule in RULES)
    part = next(part for part in of("-ep").parts if part.dest == "enable_expert_parallel")
    assert part.refused and "there are no experts to split" in part.findings[0].says


def test_seats_far_above_the_pool_are_warned_of() -> None:
    """881 thousand tokens: 256 sequences of 2,000 fit, 4,096 of them would take nine times as many."""
    assert not solve().fit.warnings
    assert "bring preemptions" in solve(max_num_seqs=4_096).fit.warnings[0]


def test_the_example_comes_out_letter_for_letter() -> None:
    assert solve().command == EXAMPLE


# What, the inputs, and the figure: hand arithmetic, GiB of one GPU; 141.1e9 B / 4 = 32.85, 0.9 * 79.19 = 71.27.
FIT = [
    ("budget", {}, "ledger.budget_gib", 71.27), ("weights", {}, "ledger.loaded_gib", 32.85),
    ("between", {}, "overhead_gib", 4.82), ("pool", {}, "kv_gib", 33.60), ("one request", {}, "request_gib", 1.25),
    ("at once", {}, "at_once", 26.9), ("tokens", {}, "kv_tokens", 880_736), ("each of 256", {}, "tokens_each", 3_440),
    ("bf16 KV halves it", {"kv_cache_dtype": ""}, "at_once", 13.4),
    ("two GPUs, weights", {"tensor_parallel_size": 2}, "ledger.loaded_gib", 65.71),
    ("two GPUs, pool", {"tensor_parallel_size": 2}, "kv_gib", 0.42),
    ("two GPUs, one request", {"tensor_parallel_size": 2}, "request_gib", 2.50),
    ("two GPUs, bf16 KV", {"tensor_parallel_size": 2, "kv_cache_dtype": ""}, "request_gib", 5.0),
    ("two GPUs, 0.92", {"tensor_parallel_size": 2, "gpu_memory_utilization": 0.92}, "kv_gib", 2.0),
    ("1,024 seats", {"tensor_parallel_size": 2, "max_num_seqs": 1_024}, "ledger.kv_gib", -0.67),
    ("1,024 seats, 0.92", {"tensor_parallel_size": 2, "max_num_seqs": 1_024, "gpu_memory_utilization": 0.92}, "kv_gib",
     0.91),
    ("full length", {"tensor_parallel_size": 2, "kv_cache_dtype": "", "max_model_len": None}, "request_gib", 20.0),
    ("an expert slot of R1", {"model": "deepseek-v3", "gpu": "h200", "gpus": 8, "tensor_parallel_size": 1,
                              "data_parallel_size": 8, "enable_expert_parallel": True, "redundant_experts": 8,
                              "enable_eplb": True}, "ledger.loaded_gib", 92.34 + 2.56e9 / 2**30),
]


@pytest.mark.parametrize(("what", "inputs", "figure", "value"), FIT, ids=[row[0] for row in FIT])
def test_the_fit_gives_the_known_figures(what: str, inputs: dict[str, object], figure: str, value: float) -> None:
    found = solve(**inputs).fit
    for name in figure.split("."):
        found = getattr(found, name)
    assert found == pytest.approx(value, abs=0.006 * max(1, abs(value) if value > 100 else 1) + 0.02 * (value == 26.9)
                                  + 0.04 * (value == 13.4) + 0.02 * ("slot" in what))


# Weights in GB as served, bytes of KV a token in 16 bit over all GPUs, query and KV heads, longest request.
SERVED = [
    ("qwen3-0.6b", 1.19, 114_688, 40_960), ("llama-3.1-8b", 16.06, 131_072, 131_072),
    ("mistral-7b", 14.5, 131_072, 32_768), ("qwen3-8b", 16.4, 147_456, 40_960), ("qwen3-32b", 65.5, 262_144, 40_960),
    ("qwen3-30b-a3b", 61.1, 98_304, 40_960), ("llama-3.1-70b", 141.1, 327_680, 131_072),
    ("llama-3.1-405b", 410, 516_096, 131_072), ("mixtral-8x7b", 93.4, 131_072, 32_768),
    ("qwen3-235b-a22b", 470.2, 192_512, 40_960), ("deepseek-v3", 673, 70_272, 163_840),
    ("gpt-oss-120b", 65.3, 73_728, 131_072), ("gpt-oss-20b", 13.8, 49_152, 131_072),
]


@pytest.mark.parametrize(("model", "weights_gb", "kv_bytes", "longest"), SERVED)
def test_models_are_served_at_their_size(model: str, weights_gb: float, kv_bytes: int, longest: int) -> None:
    result = of("", model, gpu="b200", tensor_parallel_size=8)
    assert result.fit.weights_gb == pytest.approx(weights_gb, rel=0.006)
    assert MODELS[model].kv_bytes_per_token == kv_bytes
    assert result.fit.length == longest


def test_what_is_filled_in_is_what_the_engine_resolves() -> None:
    """Seen in the engine's own resolved config of the example, and of a plain 8B."""
    assert {"chunked prefill on", "prefix caching on", "async scheduling on", "blocks of 16",
            "graphs FULL_AND_PIECEWISE, 51 sizes up to 512"} <= set(solve().filled_in)
    assert "no graphs" in of(f"{WIDE} --all2all-backend deepep_high_throughput", "deepseek-v3").filled_in
    assert {"8,192 tokens a step", "1,024 sequences", "131,072 tokens a request", "0.92 of the GPU"} <= set(
        of("").filled_in)
    assert "256 tokens a step" in of(f"{WIDE} --all2all-backend nixl_ep", "deepseek-v3").filled_in


def test_words_are_only_of_flags_that_exist() -> None:
    assert set(MEANINGS) <= {flag.dest for flag in FLAGS}
    assert len(MEANINGS) > 100


def test_a_refused_line_is_not_copied_and_the_rest_is() -> None:
    result = solve(enable_expert_parallel=True, more="--swap-space 4 --seed 7")
    assert result.command == f"{EXAMPLE} \\\n  --seed 7"
    assert [part.flag for part in result.left_out] == ["--enable-expert-parallel", "--swap-space"]


def test_what_leans_on_a_refused_line_is_not_copied_either() -> None:
    result = solve(model="llama-3.1-8b", enable_eplb=True, redundant_experts=70)  # a dense model: no experts to move
    balancer, copies = (part for part in result.parts if part.flag in ("--enable-eplb", "--eplb-config"))
    assert balancer.refused and not copies.refused
    assert copies.leans[0].says == "70 redundant experts without --enable-eplb: nothing would place them."
    assert "eplb" not in result.command and result.left_out == (balancer, copies)


KNOBS = st.fixed_dictionaries({}, optional={
    "model": st.sampled_from([*MODELS, "named"]), "checkpoint": st.sampled_from(["org/m", "./a b", "it's", "$HOME/m"]),
    "gpu": st.sampled_from(list(GPUS)), "tensor_parallel_size": st.integers(1, 1_024),
    "pipeline_parallel_size": st.integers(1, 1_024), "data_parallel_size": st.integers(1, 1_024),
    "enable_expert_parallel": st.booleans(), "max_model_len": st.none() | st.integers(-1, 10_485_760),
    "gpu_memory_utilization": st.none() | st.floats(0.01, 1), "enable_prefix_caching": st.none() | st.booleans(),
    "kv_offloading_size": st.none() | st.floats(0.1, 1e5), "max_num_batched_tokens": st.none() | st.integers(1, 2**20),
    "max_num_seqs": st.none() | st.integers(1, 65_536), "redundant_experts": st.integers(0, 4_096),
    "enable_eplb": st.booleans(), "cudagraph_mode": st.sampled_from(["", "PIECEWISE"]),
    "enable_lora": st.booleans(), "max_lora_rank": st.sampled_from([None, 8, 512]),
    "drafter": st.sampled_from(["", "ngram", "eagle3"]), "draft_tokens": st.none() | st.integers(1, 64),
    "draft_model": st.sampled_from(["", "org/draft", "o'draft"]),
    "kv_connector": st.sampled_from(["", "NixlConnector", "MultiConnector"]),
    "kv_role": st.sampled_from(["", "kv_producer", "kv_consumer"]),
})


@settings(max_examples=40, deadline=None)
@given(KNOBS)
def test_the_text_of_a_command_reads_back_as_the_same_values(knobs: dict[str, object]) -> None:
    knobs = {"checkpoint": "org/m"} | knobs
    result = solve(**knobs)
    text = " \\\n".join(["vllm serve " + shlex.quote(result.model_id), *(part.text for part in result.parts)])
    back = read(text)
    assert not back.sentences and back.model == result.model_id
    assert [line_of(one) for one in back.given] == [part.text for part in result.parts]
    assert all(f"{one.flag.name}" in BY_NAME for one in back.given)


FLAG_TEXT = st.lists(st.sampled_from([
    *(flag.name for flag in FLAGS), "1", "0", "-1", "8k", "{}", "None", "'{\"a\":null}'", "x", "true", "1e308", "[1]",
    "--kv-transfer-config.kv_connector_extra_config '{\"connectors\":[1,null]}'", "--eplb-config.communicator pynccl",
    "--hf-overrides '{\"max_position_embeddings\":true,\"rope_parameters\":[]}'", "-sc '{\"method\":3}'", "-sc '[1]'",
    "-cc.cudagraph_mode 7", "--cudagraph-capture-sizes -1 0 1", "--block-size 0", "-dcp 0", "-tp -4", "-n 0",
]), max_size=12).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(FLAG_TEXT, st.sampled_from([*MODELS, ODD_HEADS]), st.text(max_size=20))
def test_no_flags_break_the_rules(flags: str, model: str, env: str) -> None:
    result = of(flags, model, env)
    assert result.command.count("\n") == sum(part.copied for part in result.parts)
    assert result.fit.at_once >= 0 and all(line.value == line.value for line in result.lines)
