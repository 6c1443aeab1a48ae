"""What each flag of a serve command means, in half a line: our words for those that the builder offers."""
from dataclasses import replace
from typing import Any

from calculators.models.serve_flags import BY_DEST, SWITCH, Flag
from calculators.models.serve_scene import Scene
from calculators.models.serve_values import AUTO, written

MEANINGS: dict[str, str] = {
    "model": "what to load",
    "served_model_name": "the name that clients ask for",
    "dtype": "format of weights and activations",
    "max_model_len": "longest prompt and output together",
    "quantization": "weights in another format than the checkpoint’s",
    "hf_overrides": "patches the checkpoint’s config.json",
    "trust_remote_code": "runs model code from the hub",
    "tokenizer_mode": "which family of tokenizer",
    "generation_config": "where sampling defaults come from; vllm takes neutral ones",
    "override_generation_config": "changes sampling defaults one by one",
    "enforce_eager": "no CUDA graphs, no compilation",
    "max_logprobs": "most logprobs that a request may ask for",
    "seed": "seed of the engine",
    "load_format": "how the weights are read",
    "language_model_only": "leaves out what reads images and sound",
    "limit_mm_per_prompt": "most images, videos or sounds in a prompt",
    "enable_sleep_mode": "gives GPU memory up on request",
    "tensor_parallel_size": "GPUs that share every layer",
    "pipeline_parallel_size": "stages that share the layers",
    "data_parallel_size": "ranks with attention, and KV, of their own",
    "data_parallel_size_local": "ranks that run on this node",
    "data_parallel_start_rank": "first rank of this further node",
    "data_parallel_rank": "this process’s rank, behind an external balancer",
    "data_parallel_address": "the head node",
    "data_parallel_rpc_port": "port of the head node",
    "data_parallel_backend": "who starts the ranks",
    "data_parallel_hybrid_lb": "each node balances its own ranks",
    "data_parallel_external_lb": "a balancer outside picks the rank",
    "data_parallel_multi_port_external_lb": "a balancer outside, one port a rank",
    "enable_expert_parallel": "each GPU holds whole experts, not a slice of every one",
    "all2all_backend": "how tokens travel to experts and back",
    "enable_eplb": "copies and moves hot experts while serving",
    "eplb_config": "settings of that load balancer",
    "expert_placement_strategy": "which expert lies where at first",
    "enable_dbo": "overlaps one half batch’s transfer with the other’s compute",
    "dbo_decode_token_threshold": "smallest decode batch that is halved",
    "dbo_prefill_token_threshold": "smallest prefill batch that is halved",
    "dp_sync_interval": "steps between asking all ranks whether they are done",
    "decode_context_parallel_size": "GPUs that share the KV by position",
    "prefill_context_parallel_size": "GPUs that share a prompt",
    "enable_elastic_ep": "ranks may come and go",
    "elastic_ep_max_dp_size": "most ranks that it may grow to",
    "enable_fault_tolerance": "goes on when a rank is lost; experimental",
    "fault_tolerance_config": "how long it waits for one",
    "nnodes": "nodes of one replica, without Ray",
    "node_rank": "this node’s number",
    "master_addr": "the first node",
    "master_port": "port of the first node",
    "distributed_executor_backend": "who starts the workers",
    "distributed_timeout_seconds": "how long a collective may take",
    "cpu_distributed_timeout_seconds": "the same for those on the CPU",
    "disable_custom_all_reduce": "all-reduces by NCCL alone",
    "headless": "engines only, no front end on this node",
    "api_server_count": "front-end processes",
    "gpu_memory_utilization": "share of the GPU that vLLM may use",
    "kv_cache_memory_bytes": "the KV pool by size, not by share",
    "kv_cache_dtype": "format of the KV cache",
    "block_size": "tokens of a KV block",
    "num_gpu_blocks_override": "the number of blocks; for tests",
    "enable_prefix_caching": "reuses the KV of equal beginnings",
    "prefix_caching_hash_algo": "hash by which blocks are found again",
    "disable_hybrid_kv_cache_manager": "every layer keeps every token, windows or not",
    "kv_offloading_size": "GiB of host memory as a second tier for KV",
    "kv_offloading_backend": "who runs that tier",
    "cpu_offload_gb": "GiB of weights kept in host memory, a GPU",
    "offload_backend": "how they come back",
    "max_num_batched_tokens": "tokens in one step",
    "max_num_seqs": "sequences in one step",
    "enable_chunked_prefill": "long prompts in several steps",
    "long_prefill_token_threshold": "most tokens of one prompt in a step",
    "long_prefill_token_threshold_adaptive": "scales that threshold",
    "scheduling_policy": "who is next",
    "prefill_schedule_interval": "prefills start only every so many steps",
    "async_scheduling": "plans a step while the last one runs",
    "max_num_active_seqs": "sequences before new ones are turned away",
    "max_num_queued_reqs": "waiting requests before new ones get 503",
    "max_num_queued_tokens": "waiting tokens before new requests get 503",
    "scheduler_reserve_full_isl": "lets a request in only if its whole prompt fits",
    "watermark": "share of the KV pool that stays free when one is let in",
    "stream_interval": "tokens in one streamed piece",
    "performance_mode": "throughput doubles the batch defaults, interactivity captures every small size",
    "compilation_config": "compilation and CUDA graphs",
    "optimization_level": "how much is compiled and captured",
    "cudagraph_capture_sizes": "batch sizes that graphs are captured for",
    "max_cudagraph_capture_size": "largest batch with a graph",
    "attention_backend": "kernels of attention",
    "attention_config": "settings of attention",
    "moe_backend": "kernels of the experts",
    "enable_lora": "serves adapters",
    "lora_modules": "adapters that are loaded at the start",
    "max_loras": "adapters in one batch",
    "max_lora_rank": "largest rank, the buffers’ size",
    "max_cpu_loras": "adapters kept in host memory",
    "fully_sharded_loras": "splits both factors of an adapter over the GPUs",
    "speculative_config": "drafts tokens ahead and checks them in one step",
    "spec_method": "who drafts",
    "spec_model": "the drafting model",
    "spec_tokens": "tokens drafted a step",
    "structured_outputs_config": "who keeps replies to a grammar",
    "reasoning_parser": "splits thinking from the answer",
    "enable_auto_tool_choice": "the model may choose to call tools",
    "tool_call_parser": "reads calls out of the model’s text",
    "chat_template": "a template in place of the tokenizer’s",
    "kv_transfer_config": "sends KV to or fetches it from elsewhere",
    "kv_events_config": "tells a router which blocks are cached",
    "host": "address to listen on",
    "port": "port to listen on",
    "api_key": "the key that clients must send",
    "disable_log_stats": "no statistics, no engine metrics",
    "aggregate_engine_logging": "one line for all ranks",
    "enable_log_requests": "logs prompts",
    "enable_log_outputs": "logs replies",
    "max_log_len": "most characters of a logged prompt",
    "uvicorn_log_level": "how much the web server logs",
    "disable_uvicorn_access_log": "no line a request",
    "kv_cache_metrics": "how long blocks live, as histograms",
    "kv_cache_metrics_sample": "share of blocks that are watched",
    "cudagraph_metrics": "what batches are padded to",
    "enable_mfu_metrics": "FLOP and bytes a step, estimated",
    "enable_logging_iteration_details": "a line a step",
    "enable_per_request_metrics": "timings in the reply",
    "per_request_spec_decode_metrics": "drafts taken, in the reply",
    "otlp_traces_endpoint": "where traces go",
    "collect_detailed_traces": "traces of modules, at a cost",
    "enable_request_id_headers": "request ids in the reply’s headers",
    "enable_prompt_tokens_details": "says how much of a prompt was cached",
    "shutdown_timeout": "seconds to finish what is running when stopped",
}
# What a default of None becomes, where that is the same everywhere.
FILLED_IN = {
    "block_size": "16", "enable_prefix_caching": "on", "enable_chunked_prefill": "on", "async_scheduling": "on",
    "disable_hybrid_kv_cache_manager": "as the model needs", "quantization": "as the checkpoint is",
    "data_parallel_rpc_port": "29550", "data_parallel_size_local": "all of them", "attention_backend": "chosen by GPU",
    "max_cpu_loras": "as many as a batch may use", "enable_lora": "off", "host": "all addresses",
}
BY_SCENE = {
    "max_num_batched_tokens": "by GPU: 8,192 on an H100", "max_num_seqs": "by GPU: 1,024 on an H100",
    "max_model_len": "the model’s own", "api_server_count": "as many as ranks",
}
SHARES = {2: "half", 4: "a quarter", 8: "an eighth", 16: "a sixteenth"}


def meaning(flag: Flag, value: Any, scene: Scene) -> str:
    """What a flag with that value does here, and what holds without it."""
    says = MEANINGS.get(flag.dest) or f"a setting of vLLM’s {flag.section} options"
    if flag.dest == "tensor_parallel_size" and value in SHARES:
        return f"{SHARES[value]} of every layer on each GPU"
    if flag.dest == "kv_cache_dtype" and str(value).startswith("fp8"):
        return "one byte for each KV element instead of two"
    if flag.dest == "max_model_len" and value == AUTO:
        return "as long as one request still fits"
    if value is False and flag.kind == SWITCH:
        return f"switched off: {says}"
    otherwise = default_of(flag, scene)
    if otherwise == said(value):
        return f"{says}; the default here, so it may go"
    return f"{says}; left out, {otherwise}" if otherwise else says


def default_of(flag: Flag, scene: Scene) -> str:
    """What holds where the flag is left out, "" where nothing does."""
    if flag.dest == "max_num_batched_tokens":
        return f"{without(scene, 'max_num_batched_tokens').tokens:,}"
    if flag.dest == "max_num_seqs":
        return f"{without(scene, 'max_num_seqs').seats:,}"
    if flag.dest == "max_model_len":
        return f"{scene.own_length:,}" if scene.own_length else "the model’s own"
    if flag.dest == "api_server_count":
        return f"{1 if scene.external_lb else scene.local_dp if scene.hybrid_lb else scene.dp}"
    return own_default(flag)


def own_default(flag: Flag) -> str:
    """What holds without the flag on any machine, "" where nothing does."""
    if flag.dest in FILLED_IN:
        return FILLED_IN[flag.dest]
    return "" if flag.default in (None, "", False) or isinstance(flag.default, dict | list) else said(flag.default)


def without(scene: Scene, name: str) -> Scene:
    """The scene with one flag left out."""
    return replace(scene, values={other: value for other, value in scene.values.items() if other != name})


def said(value: Any) -> str:
    """A value as a sentence says it: "8,192", "0.92", "on"."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else written(value)


def glossary() -> tuple[tuple[str, str, str], ...]:
    """Each flag that there is a word for: its name, the word, and what holds without it."""
    return tuple((BY_DEST[dest].name, says, BY_SCENE.get(dest) or own_default(BY_DEST[dest]) or "–")
                 for dest, says in MEANINGS.items())


def filled_in(scene: Scene) -> tuple[str, ...]:
    """What vLLM settles by itself: prefill, caching, scheduling, blocks, graphs, batch, length."""
    return tuple(filter(None, (
        f"chunked prefill {said(scene.chunked)}", f"prefix caching {said(scene.prefix_caching)}",
        f"async scheduling {said(scene.plans_ahead)}", f"blocks of {scene.block_size}", graphs(scene),
        "" if scene.given("max_num_batched_tokens") else f"{scene.tokens:,} tokens a step",
        "" if scene.given("max_num_seqs") else f"{scene.seats:,} sequences",
        "" if scene.given("max_model_len") or not scene.own_length else f"{scene.own_length:,} tokens a request",
        "" if scene.given("gpu_memory_utilization") else f"{scene.utilization:g} of the GPU",
        "sampling defaults of the checkpoint" if not scene.given("generation_config") else "",
    )))


def graphs(scene: Scene) -> str:
    """"graphs FULL_AND_PIECEWISE, 51 sizes up to 512"."""
    if not scene.graph_sizes:
        return "no graphs"
    return f"graphs {scene.graph_mode}, {len(scene.graph_sizes)} sizes up to {scene.graph_sizes[-1]:,}"
