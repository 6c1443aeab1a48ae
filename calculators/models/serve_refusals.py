"""What vLLM 0.33.0 refuses of a serve command: checks of its front end, its config classes, its model builder."""
from calculators.models.serve_flags import VALUES
from calculators.models.serve_rule import Rule
from calculators.models.serve_scene import LOW_LATENCY, SHORTHAND, Scene

NEED_A_MODEL = ("eagle", "eagle3", "draft_model", "medusa")
OVERLAPPING = ("deepep_low_latency", "deepep_high_throughput", "nixl_ep")  # all-to-alls that --enable-dbo works with


def lb_modes(s: Scene) -> int:
    """How many ways of balancing the load between ranks are asked for."""
    several = bool(s.get("data_parallel_multi_port_external_lb"))
    hybrid = s.hybrid_lb or (s.given("data_parallel_start_rank") and not several)
    return several + hybrid + s.external_lb


def rank_missing(s: Scene) -> bool:
    return bool(s.get("data_parallel_external_lb")) and not s.given("data_parallel_rank") and not (
        s.nodes > 1 and s.dp > 1)


def rank_outside(s: Scene, name: str) -> bool:
    rank = s.values.get(name)
    return rank is not None and not 0 <= rank < s.dp


def capture_clash(s: Scene) -> bool:
    """Whether one's own capture sizes and one's own largest contradict each other."""
    sizes, most = s.values.get("cudagraph_capture_sizes"), s.values.get("max_cudagraph_capture_size")
    return bool(sizes and most and s.graph_mode != "NONE" and not s.graph_sizes)


def too_many_slices(s: Scene) -> bool:
    """Whether the KV would be split by position among GPUs that hold no copies."""
    return s.dcp > 1 and s.model is not None and not s.latent and s.dcp > s.tp // s.model.kv_heads


def said_twice(s: Scene) -> bool:
    """Whether a short flag of speculation and the JSON name the same key."""
    held = s.values.get("speculative_config")
    return isinstance(held, dict) and any(s.given(name) and key in held for name, key in SHORTHAND.items())


def lookup(s: Scene) -> tuple[int, int]:
    """Shortest and longest match of an n-gram drafter."""
    low, high = s.spec.get("prompt_lookup_min"), s.spec.get("prompt_lookup_max")
    both = [held if isinstance(held, int) else None for held in (low, high)]
    given = next((held for held in both if held is not None), 5)
    return tuple(given if held is None else held for held in both)


def nixl_cannot_sleep(s: Scene) -> bool:
    backends = (s.kv.get("kv_connector_extra_config") or {}).get("backends")
    return "NixlPushConnector" in s.connectors or ("NixlConnector" in s.connectors and backends not in (None, ["UCX"]))


def tool_parser_unknown(s: Scene) -> bool:
    named = s.values.get("tool_call_parser")
    return bool(s.get("enable_auto_tool_choice") and named and not s.given("tool_parser_plugin")
                and named not in VALUES["tool-call-parser"])


def reasoning_parser_unknown(s: Scene) -> bool:
    named = s.values.get("reasoning_parser")
    return bool(named and not s.given("reasoning_parser_plugin") and named not in VALUES["reasoning-parser"])


def connector_unknown(s: Scene) -> bool:
    return any(name not in VALUES["kv-connector"] for name in s.connectors) and not s.kv.get("kv_connector_module_path")


def float16_clash(s: Scene) -> bool:
    """Whether KV and model are in different 16-bit formats; the catalogue's checkpoints are in bfloat16."""
    own = {"half": "float16", "auto": "bfloat16", "float": "float32"}.get(s.get("dtype"), s.get("dtype"))
    return s.kv_dtype in ("float16", "bfloat16") and s.kv_dtype != own


REFUSALS: tuple[Rule, ...] = (
    Rule("E1", "tensor_parallel_size", "ModelConfig", lambda s: s.model and s.model.query_heads % s.tp,
         "{s.model.name} has {s.model.query_heads} query heads; {s.tp} GPUs can’t share them evenly."),
    Rule("E2", "tensor_parallel_size", "building the model",
         lambda s: s.model and not s.latent and s.model.kv_heads % s.tp and s.tp % s.model.kv_heads,
         "{s.model.kv_heads} KV heads can neither be shared evenly by {s.tp} GPUs nor each be kept on as many."),
    Rule("E3", "tensor_parallel_size", "ParallelConfig",
         lambda s: s.world > s.gpus and s.nodes == 1
         and s.get("distributed_executor_backend") not in ("ray", "external_launcher"),
         "One replica takes {s.world} GPUs and this node has {s.gpus}. More nodes need --nnodes, or Ray."),
    Rule("E3", "data_parallel_size", "starting the engines",
         lambda s: s.nodes == 1 and s.world <= s.gpus < s.local_dp * s.world and s.get("data_parallel_backend") != "ray"
         and not s.given("distributed_executor_backend"),
         "{s.local_dp} ranks of {s.world} take more than the {s.gpus} GPUs of this node; say with "
         "--data-parallel-size-local how many run here."),
    Rule("E4", "enable_expert_parallel", "ModelConfig", lambda s: s.expert_parallel and s.dense,
         "{s.model.name} is dense, there are no experts to split. At start vLLM says: “Number of experts … must be "
         "greater than 0”."),
    Rule("E5", "enable_eplb", "ParallelConfig", lambda s: s.get("enable_eplb") and not s.expert_parallel,
         "The load balancer moves whole experts, so it needs --enable-expert-parallel."),
    Rule("E6", "enable_eplb", "ParallelConfig",
         lambda s: s.get("enable_eplb") and s.expert_parallel and s.tp * s.pcp * s.dp <= 1,
         "Experts are balanced between GPUs, and there is one: tensor, prefill-context or data parallelism must be "
         "above 1."),
    Rule("E7", "eplb_config", "ParallelConfig", lambda s: s.redundant != 0 and not s.get("enable_eplb"),
         "{s.redundant} redundant experts without --enable-eplb: nothing would place them."),
    Rule("E8", "eplb_config", "building the model, before the weights load",
         lambda s: s.moe and s.expert_parallel and (s.model.experts + s.redundant) % s.ep,
         "{s.model.experts} experts and {s.redundant} redundant ones can’t be dealt evenly to {s.ep} GPUs. The config "
         "takes it; the start fails later."),
    Rule("E9", "enable_dbo", "VllmConfig", lambda s: s.get("enable_dbo") and s.all2all not in OVERLAPPING,
         "Two micro-batches overlap only over deepep_low_latency, deepep_high_throughput or nixl_ep; "
         "--all2all-backend is {s.all2all}."),
    Rule("E10", "enable_dbo", "ParallelConfig",
         lambda s: s.get("enable_dbo")
         and min(s.get("dbo_decode_token_threshold"), s.get("dbo_prefill_token_threshold")) < 2,
         "A batch below 2 tokens can’t be split in two: both --dbo thresholds must be 2 or more."),
    Rule("E11", "eplb_config", "EPLBConfig",
         lambda s: s.eplb["use_async"] and s.eplb["communicator"] in ("torch_nccl", "pynccl"),
         "Asynchronous balancing moves weights on a stream of its own, which {s.eplb[communicator]} can’t share; take "
         "torch_gloo or nixl, or leave it out."),
    Rule("E12", "enable_elastic_ep", "ParallelConfig",
         lambda s: s.get("enable_elastic_ep") and not s.get("enable_eplb"),
         "Elastic expert parallelism re-deals the experts, so it needs --enable-eplb."),
    Rule("E12", "enable_elastic_ep", "ParallelConfig", lambda s: s.get("enable_elastic_ep") and s.pp > 1,
         "Elastic expert parallelism does not go with a pipeline."),
    Rule("E12", "enable_elastic_ep", "ParallelConfig", lambda s: s.get("enable_elastic_ep") and s.hybrid_lb,
         "Elastic expert parallelism does not go with the hybrid load balancer."),
    Rule("E13", "enable_fault_tolerance", "EngineArgs",
         lambda s: s.get("enable_fault_tolerance") and not s.external_lb,
         "Fault tolerance needs the external load balancer: --data-parallel-external-lb, or a rank."),
    Rule("E13", "enable_fault_tolerance", "ParallelConfig",
         lambda s: s.get("enable_fault_tolerance") and (s.values.get("api_server_count") or 1) > 1,
         "Fault tolerance needs a single API server."),
    Rule("E13", "enable_fault_tolerance", "starting the worker",
         lambda s: s.get("enable_fault_tolerance") and s.all2all not in LOW_LATENCY,
         "Fault tolerance works over deepep_low_latency or nixl_ep; the config takes {s.all2all}, the worker fails."),
    Rule("E14", "data_parallel_hybrid_lb", "vllm serve", lambda s: lb_modes(s) > 1,
         "Only one may balance the load: hybrid (or a start rank), external (or a rank), or one port a rank."),
    Rule("E15", "data_parallel_external_lb", "EngineArgs", rank_missing,
         "An external load balancer sends to one rank a process, so each needs --data-parallel-rank."),
    Rule("E15", "data_parallel_rank", "ParallelConfig", lambda s: rank_outside(s, "data_parallel_rank"),
         "Rank {v[data_parallel_rank]} is outside the {s.dp} ranks, which count from 0."),
    Rule("E15", "data_parallel_start_rank", "ParallelConfig",
         lambda s: s.given("data_parallel_size_local") and rank_outside(s, "data_parallel_start_rank"),
         "Rank {v[data_parallel_start_rank]} is outside the {s.dp} ranks, which count from 0."),
    Rule("E15", "data_parallel_rank", "ParallelConfig", lambda s: s.external_lb and s.dp == 1,
         "A rank, or an external load balancer, is for data parallelism: --data-parallel-size must be above 1."),
    Rule("E16", "data_parallel_hybrid_lb", "EngineArgs",
         lambda s: s.hybrid_lb and not s.external_lb and not s.given("data_parallel_size_local") and s.nodes == 1,
         "The hybrid load balancer serves this node’s ranks, so it needs --data-parallel-size-local."),
    Rule("E17", "data_parallel_size", "EngineArgs", lambda s: s.dense and s.dp > 1 and s.external_lb,
         "{s.model.name} is dense: its ranks have nothing to do in step. Behind an external balancer run independent "
         "servers."),
    Rule("E18", "headless", "vllm serve",
         lambda s: s.get("headless") and (s.values.get("api_server_count") or 0) > 0,
         "A headless node starts no API servers, so --api-server-count can’t be above 0."),
    Rule("E18", "headless", "vllm serve", lambda s: s.get("headless") and s.hybrid_lb,
         "A headless node has no front end that the hybrid balancer could use."),
    Rule("E19", "max_num_batched_tokens", "SchedulerConfig", lambda s: s.tokens < s.seats,
         "A step of {s.tokens:,} tokens can’t serve {s.seats:,} sequences; each takes at least one."),
    Rule("E20", "max_num_batched_tokens", "SchedulerConfig",
         lambda s: not s.chunked and s.given("max_num_batched_tokens") and s.tokens < s.length,
         "Without chunked prefill a step must take a whole prompt: {s.tokens:,} tokens are fewer than {s.length:,}."),
    Rule("E21", "max_num_active_seqs", "SchedulerConfig",
         lambda s: (s.values.get("max_num_active_seqs") or 0) > s.seats,
         "Of {s.seats:,} seats {v[max_num_active_seqs]:,} can’t be active."),
    Rule("E21", "long_prefill_token_threshold", "SchedulerConfig",
         lambda s: s.get("long_prefill_token_threshold") > s.length,
         "No prompt reaches the threshold: the longest request has {s.length:,} tokens."),
    Rule("E21", "prefill_schedule_interval", "SchedulerConfig", lambda s: s.get("prefill_schedule_interval") < 1,
         "Prefills start every so many steps, at least every one."),
    Rule("E21", "watermark", "SchedulerConfig", lambda s: not 0 <= s.get("watermark") < 1,
         "The watermark is a share of the KV pool, from 0 to below 1."),
    Rule("E21", "gpu_memory_utilization", "CacheConfig", lambda s: not 0 < s.utilization <= 1,
         "It is a share of the GPU’s memory, above 0 and up to 1."),
    Rule("E22", "max_model_len", "ModelConfig",
         lambda s: s.own_length and s.length > s.own_length and s.env.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN") != "1",
         "The model’s config derives {s.own_length:,} at most. Raise max_position_embeddings with RoPE scaling in "
         "--hf-overrides (YaRN’s factor alone raises nothing), or set VLLM_ALLOW_LONG_MAX_MODEL_LEN=1."),
    Rule("E23", "kv_cache_dtype", "CacheConfig", lambda s: s.kv_dtype not in VALUES["kv-cache-dtype"],
         "{s.kv_dtype} is no format of the KV cache."),
    Rule("E23", "kv_cache_dtype", "VllmConfig", float16_clash,
         "The model computes in another 16-bit format; auto takes the right one."),
    Rule("E23", "kv_cache_dtype", "VllmConfig", lambda s: s.latent and s.kv_dtype in ("nvfp4", "nvfp4_4over6"),
         "The latent KV of {s.model.name} has no nvfp4 form here; take fp8, or auto."),
    Rule("E24", "kv_transfer_config", "KVTransferConfig", lambda s: s.kv.get("kv_connector") and not s.role,
         "A connector needs its kv_role: kv_producer, kv_consumer or kv_both."),
    Rule("E24", "kv_transfer_config", "the connectors’ registry", connector_unknown,
         "No connector of that name is in this release; a class of your own needs kv_connector_module_path."),
    Rule("E24", "kv_transfer_config", "VllmConfig", lambda s: s.role and not s.connectors,
         "A role without a kv_connector: nothing would move the KV."),
    Rule("E25", "kv_transfer_config", "VllmConfig",
         lambda s: s.connectors and "expandable_segments:True" in s.env.get("PYTORCH_CUDA_ALLOC_CONF", "")
         and not s.get("enable_cumem_allocator") and not s.get("enable_sleep_mode"),
         "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True may move pages that the connector has registered; unset it, "
         "or add --enable-cumem-allocator."),
    Rule("E26", "enable_sleep_mode", "VllmConfig", lambda s: s.get("enable_sleep_mode") and nixl_cannot_sleep(s),
         "This connector can’t follow when memory is given up and taken back."),
    Rule("E27", "prefill_context_parallel_size", "NixlConnector",
         lambda s: s.nixl and s.role in ("kv_consumer", "kv_both") and s.pcp > 1,
         "A NIXL consumer takes no prefill context parallelism."),
    Rule("E27", "decode_context_parallel_size", "NixlPushConnector",
         lambda s: "NixlPushConnector" in s.connectors and s.dcp > 1,
         "NixlPushConnector takes no decode context parallelism."),
    Rule("E27", "decode_context_parallel_size", "NixlConnector", lambda s: s.nixl and s.dcp not in (1, s.tp * s.pcp),
         "With NIXL the KV is split by position over all {s.tp} GPUs of tensor parallelism, or not at all."),
    Rule("E28", "speculative_config", "EngineArgs", said_twice,
         "--spec-method, --spec-model and --spec-tokens stand for keys of --speculative-config; one is said both "
         "ways."),
    Rule("E28", "speculative_config", "SpeculativeConfig",
         lambda s: s.spec and not s.spec.get("model") and s.spec.get("method") in (None, *NEED_A_MODEL),
         "Nothing says who drafts: it needs a model, or a method that does without one."),
    Rule("E28", "speculative_config", "SpeculativeConfig",
         lambda s: s.spec.get("method") in NEED_A_MODEL and s.spec.get("num_speculative_tokens") is None,
         "Give num_speculative_tokens; only a checkpoint that was trained with its drafter tells it."),
    Rule("E28", "speculative_config", "SpeculativeConfig",
         lambda s: s.spec.get("method") == "ngram" and lookup(s)[0] > lookup(s)[1],
         "The shortest match, prompt_lookup_min, is above the longest."),
    Rule("E28", "speculative_config", "SpeculativeConfig",
         lambda s: s.spec.get("method") == "ngram" and s.spec.get("num_speculative_tokens") is None,
         "An n-gram drafter has no model to tell how many tokens to draft; give num_speculative_tokens."),
    Rule("E28", "speculative_config", "SpeculativeConfig",
         lambda s: s.spec.get("method") == "mtp" and s.model and not s.latent,
         "{s.model.name} was not trained with modules that draft (MTP)."),
    Rule("E29", "max_num_batched_tokens", "VllmConfig",
         lambda s: s.lora and s.drafts and s.tokens < s.seats * (s.drafts + 1),
         "With adapters a step must hold all drafts of all sequences: {s.seats:,} × ({s.drafts} + 1) tokens are more "
         "than {s.tokens:,}."),
    Rule("E30", "async_scheduling", "VllmConfig",
         lambda s: s.get("async_scheduling") and s.spec.get("method") == "suffix",
         "The suffix drafter runs on the older runner, which can’t schedule ahead; leave the flag out."),
    Rule("E31", "max_cpu_loras", "LoRAConfig",
         lambda s: s.lora and s.values.get("max_cpu_loras") is not None
         and s.values["max_cpu_loras"] < s.get("max_loras"),
         "The host must keep at least the {v[max_loras]} adapters that a batch may use."),
    Rule("E32", "enable_auto_tool_choice", "vllm serve",
         lambda s: s.get("enable_auto_tool_choice") and not s.values.get("tool_call_parser"),
         "Calls must be read out of the model’s text, so it needs --tool-call-parser."),
    Rule("E32", "tool_call_parser", "vllm serve", tool_parser_unknown,
         "No tool parser is called {v[tool_call_parser]}."),
    Rule("E32", "reasoning_parser", "vllm serve", reasoning_parser_unknown,
         "No reasoning parser is called {v[reasoning_parser]}."),
    Rule("E33", "enable_log_outputs", "vllm serve",
         lambda s: s.get("enable_log_outputs") and not s.get("enable_log_requests"),
         "Replies are logged beside their requests: it needs --enable-log-requests."),
    Rule("E33", "enable_per_request_metrics", "vllm serve",
         lambda s: s.get("enable_per_request_metrics") and s.get("disable_log_stats"),
         "Timings come from the engine’s statistics, which --disable-log-stats switches off."),
    Rule("E33", "collect_detailed_traces", "ObservabilityConfig",
         lambda s: s.values.get("collect_detailed_traces") and not s.values.get("otlp_traces_endpoint"),
         "Traces need a place to go: --otlp-traces-endpoint."),
    Rule("E33", "per_request_spec_decode_metrics", "VllmConfig",
         lambda s: s.get("per_request_spec_decode_metrics") != "none" and not s.spec,
         "There are no drafts to report on without --speculative-config."),
    Rule("E34", "structured_outputs_config", "StructuredOutputsConfig",
         lambda s: (so := s.get("structured_outputs_config") or {}).get("disable_any_whitespace")
         and so.get("backend") not in ("xgrammar", "guidance"),
         "Only the backends xgrammar and guidance, named as such, can forbid free white space."),
    Rule("E35", "attention_backend", "EngineArgs",
         lambda s: s.values.get("attention_backend") and (s.get("attention_config") or {}).get("backend"),
         "The backend is given twice, here and in --attention-config."),
    Rule("E36", "max_cudagraph_capture_size", "VllmConfig", capture_clash,
         "It must be the largest of --cudagraph-capture-sizes that a step can hold."),
    Rule("E37", "decode_context_parallel_size", "ParallelConfig", lambda s: s.pcp == 1 and s.tp % s.dcp,
         "It splits the {s.tp} GPUs of tensor parallelism, so it must divide them."),
    Rule("E37", "decode_context_parallel_size", "ModelConfig", too_many_slices,
         "{s.tp} GPUs share {s.model.kv_heads} KV heads, so there are no copies of the KV to split by position."),
    Rule("E38", "all2all_backend", "VllmConfig", lambda s: s.all2all == "moonep" and s.get("enable_eplb"),
         "moonep copies experts in a way that the load balancer can’t follow."),
    Rule("E38", "all2all_backend", "VllmConfig",
         lambda s: s.all2all == "moonep" and (s.values.get("quantization") or s.packed),
         "moonep takes unquantised weights only."),
    Rule("E38", "all2all_backend", "VllmConfig",
         lambda s: s.all2all == "moonep" and s.get("dtype") not in ("auto", "bfloat16"), "moonep takes bfloat16 only."),
    Rule("E38", "all2all_backend", "VllmConfig",
         lambda s: s.all2all == "moonep" and s.get("expert_placement_strategy") != "linear",
         "moonep takes the linear placement only."),
    Rule("E38", "moe_backend", "LoRAConfig", lambda s: s.lora and s.get("moe_backend") == "deep_gemm_mega_moe",
         "Adapters don’t run on deep_gemm_mega_moe."),
    Rule("E40", "grpc_port", "vllm serve", lambda s: s.get("grpc") and s.given("grpc_port"),
         "--grpc serves gRPC on --port; --grpc-port belongs to the other front end."),
    Rule("E41", "data_parallel_size_local", "ParallelConfig",
         lambda s: not s.external_lb and (s.values.get("data_parallel_size_local") or 0) > s.dp,
         "Of {s.dp} ranks {v[data_parallel_size_local]} can’t run here."),
    Rule("E41", "data_parallel_size_local", "EngineArgs",
         lambda s: s.external_lb and s.values.get("data_parallel_size_local") not in (None, 1),
         "Behind an external load balancer each process is one rank; leave it out."),
    Rule("E42", "data_parallel_multi_port_external_lb", "vllm serve",
         lambda s: s.get("data_parallel_multi_port_external_lb") and s.dp < 2,
         "One port a rank needs ranks: --data-parallel-size must be above 1."),
    Rule("E42", "data_parallel_multi_port_external_lb", "vllm serve",
         lambda s: s.get("data_parallel_multi_port_external_lb") and s.values.get("api_server_count") not in (None, 1),
         "Each rank has one API server of its own; leave --api-server-count out."),
    Rule("E42", "data_parallel_multi_port_external_lb", "vllm serve",
         lambda s: s.get("data_parallel_multi_port_external_lb")
         and ((s.values.get("data_parallel_size_local") or 0) < 2 or s.dp % s.get("data_parallel_size_local")),
         "Say with --data-parallel-size-local how many ranks, two or more, run on each node; they must divide all."),
    Rule("E43", "nnodes", "EngineArgs", lambda s: s.nodes > 1 and s.world * s.dp % s.nodes,
         "{s.nodes} nodes can’t share {s.world} × {s.dp} GPUs evenly."),
    Rule("E43", "node_rank", "EngineArgs", lambda s: s.nodes > 1 and not 0 <= s.get("node_rank") < s.nodes,
         "Nodes count from 0 to one below {s.nodes}."),
)
