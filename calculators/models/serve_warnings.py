"""What vLLM 0.33.0 takes of a serve command though it is pointless or harmful."""
from collections.abc import Callable

from calculators.models.kv_pool import GIB
from calculators.models.serve_flags import BY_DEST, VALUES
from calculators.models.serve_refusals import OVERLAPPING
from calculators.models.serve_rule import Rule, Test
from calculators.models.serve_scene import Scene
from calculators.models.serve_values import BINARY, DECIMAL, SUFFIXED, in_thousands

MANY_SEATS = 128  # sequences from which checking drafts costs compute
SPREAD_LATENT = 4  # copies of a latent cache that are worth a word
SHORT_CHAT = 131_072
PCIE_BYTES_PER_S = 64e9


def decimal_suffix(s: Scene) -> str:
    """The first size typed with a small letter, "" without."""
    return next((text for name, text in s.texts.items() if in_thousands(BY_DEST[name], text)), "")


def meant_binary(text: str) -> str:
    """"8k is 8,000, 8K would be 8,192"."""
    figure, suffix = SUFFIXED.fullmatch(text).groups()
    capital = suffix.upper()
    return (f"{text} is {float(figure) * DECIMAL[suffix]:,.0f}, {figure}{capital} would be "
            f"{float(figure) * BINARY[capital]:,.0f}")


def warning(id: str, flag: str, fires: Test, says: str, number: Callable[[Scene], str] = lambda scene: "") -> Rule:
    return Rule(id, flag, "", fires, says, refused=False, number=number)


def adapters(s: Scene) -> int:
    """Adapters that the command lets in."""
    return max(len(s.values.get("lora_modules") or ()), s.values.get("max_cpu_loras") or 0)


def aligns_nothing(s: Scene) -> bool:
    return s.get("prefill_schedule_interval") > 1 and (
        s.role in ("kv_consumer", "kv_producer") or s.dense or s.dp == 1)


def offloads(s: Scene) -> bool:
    return s.given("kv_offloading_size") or "OffloadingConnector" in s.connectors


def without_fp8_scales(s: Scene) -> bool:
    return str(s.kv_dtype).startswith("fp8") and s.kv_dtype in VALUES["kv-cache-dtype"]


WARNINGS: tuple[Rule, ...] = (
    warning("W1", "kv_offloading_size", lambda s: s.given("kv_offloading_size") and s.connectors,
            "It silently replaces the connector of --kv-transfer-config and makes its role kv_both: a NIXL instance "
            "then moves nothing. Put both into a MultiConnector."),
    warning("W2", "kv_transfer_config", lambda s: s.nixl and s.role == "kv_both",
            "kv_both is on its way out for NIXL; name the role, kv_producer or kv_consumer."),
    warning("W3", "all2all_backend", lambda s: s.low_latency and not s.given("max_num_batched_tokens"),
            "With {s.all2all} the defaults fall to {s.tokens} tokens and {s.seats} sequences, and graphs end at 256: "
            "its buffers are of a fixed size."),
    warning("W4", "all2all_backend",
            lambda s: s.launches_transfers and s.role != "kv_producer",
            "{s.all2all} switches CUDA graphs off; on what decodes, each step then waits for its launches."),
    warning("W5", "enable_dbo", lambda s: s.get("enable_dbo") and s.all2all in OVERLAPPING,
            "Two micro-batches run on the older model runner, without adapters, drafts, pipeline or images, and pay "
            "only above a batch size."),
    warning("W6", "enable_eplb", lambda s: s.get("enable_eplb") and s.expert_parallel and not s.redundant,
            "Without redundant experts the balancer only swaps places: a hot expert stays hot."),
    warning("W7", "all2all_backend", lambda s: s.all2all in ("pplx", "naive"),
            "{s.all2all} was removed; vLLM falls back to allgather_reducescatter."),
    warning("W8", "max_loras",
            lambda s: not s.lora and s.given("max_loras", "max_lora_rank", "max_cpu_loras", "lora_modules",
                                             "fully_sharded_loras"),
            "Without --enable-lora what is said of adapters is ignored."),
    warning("W9", "enable_lora", lambda s: s.lora and s.get("max_loras") == 1 and adapters(s) > 1,
            "{n} adapters and --max-loras 1: a batch serves one of them, the others wait their turn.",
            lambda s: f"{adapters(s):,}"),
    warning("W10", "enforce_eager", lambda s: s.eager,
            "Every kernel is launched by itself; a small decode step then waits for the CPU."),
    warning("W11", "prefill_schedule_interval", aligns_nothing,
            "There are no ranks to keep in step here; it only spaces out prefills, TTFT for ITL."),
    warning("W12", "tensor_parallel_size", lambda s: s.latent and s.tp >= SPREAD_LATENT,
            "The latent KV has no heads to share: each of the {s.tp} GPUs keeps all of it. Data parallelism with "
            "--enable-expert-parallel keeps it once a rank."),
    warning("W13", "kv_transfer_config",
            lambda s: s.layer_by_layer,
            "Layer by layer LMCache needs piecewise graphs, and the hybrid cache manager is switched off."),
    warning("W14", "kv_cache_dtype", without_fp8_scales,
            "fp8 KV is lossy and its scales default to 1. Check accuracy on your own long prompts before this goes "
            "out."),
    warning("W15", "data_parallel_size", lambda s: s.dense and s.dp > 1,
            "Ranks of a dense model are replicas behind one port: no lockstep, no shared KV, prefix hits split by "
            "{s.dp}."),
    warning("W16", "kv_cache_memory_bytes",
            lambda s: s.given("kv_cache_memory_bytes") and s.given("gpu_memory_utilization"),
            "It fixes the pool, so --gpu-memory-utilization is ignored."),
    warning("W17", "prefix_caching_hash_algo", lambda s: str(s.get("prefix_caching_hash_algo")).startswith("xxhash"),
            "xxhash does not resist made-up collisions; among tenants who don’t trust each other take sha256 and a "
            "cache salt."),
    warning("W18", "tensor_parallel_size", lambda s: s.nodes > 1 and s.tp > s.gpus,
            "Tensor parallelism crosses nodes: two all-reduces a layer on the slow link. Split by pipeline, or by data "
            "and experts."),
    warning("W19", "tensor_parallel_size",
            lambda s: s.tp > (2 if s.gpu.name == "L40S" else 1) and not s.gpu.nvlink_gb_per_s,
            "{s.gpu.name} has no NVLink: each all-reduce goes over PCIe."),
    warning("W20", "enable_dbo", lambda s: s.get("enable_dbo") and (s.lora or s.spec),
            "With two micro-batches adapters and drafts fall out."),
    warning("W21", "block_size", lambda s: s.nixl and s.block_size < 16,
            "Blocks of {s.block_size} tokens make more descriptors a request for NIXL to post."),
    warning("W22", "", decimal_suffix, "A small letter counts in thousands: {n}.",
            lambda s: meant_binary(decimal_suffix(s))),
    warning("W23", "api_key", lambda s: s.given("api_key"),
            "The key guards /v1 and a few paths beside it; health, metrics, scaling and sleep stay open. Keep the port "
            "inside."),
    warning("W25", "enable_prefix_caching", lambda s: not s.prefix_caching and offloads(s),
            "The offload tier is found by the same hashes; without prefix caching nothing comes back from it."),
    warning("W26", "disable_log_stats", lambda s: s.get("disable_log_stats"),
            "No statistics and no engine metrics: in production you are blind."),
    warning("W26", "kv_cache_metrics", lambda s: s.get("kv_cache_metrics") and s.get("disable_log_stats"),
            "Without statistics this metric is silently absent."),
    warning("W27", "kv_transfer_config", lambda s: s.nixl and not s.env.get("VLLM_NIXL_SIDE_CHANNEL_HOST"),
            "Without VLLM_NIXL_SIDE_CHANNEL_HOST the instance advertises localhost; the other side must be on this "
            "machine."),
    warning("W28", "kv_transfer_config",
            lambda s: s.role == "kv_consumer" and s.connectors and not s.kv.get("kv_load_failure_policy"),
            "A failed transfer fails the request; kv_load_failure_policy recompute computes the prompt here instead."),
    warning("W29", "speculative_config",
            lambda s: s.spec.get("method") in ("ngram", "eagle", "eagle3") and s.seats > MANY_SEATS,
            "With up to {s.seats:,} sequences a step, checking drafts becomes compute-bound and can lose."),
    warning("W30", "cpu_offload_gb", lambda s: s.get("cpu_offload_gb") > 0,
            "These weights cross PCIe each step: {n} at best.",
            lambda s: f"{s.get('cpu_offload_gb') * GIB / PCIE_BYTES_PER_S * 1e3:,.0f} ms"),
    warning("W31", "max_model_len", lambda s: not s.given("max_model_len") and s.own_length >= SHORT_CHAT,
            "Left out, the length is {s.own_length:,}. For short chat that only raises what the start demands; a "
            "request takes memory by its own length."),
    warning("W32", "quantization", lambda s: s.values.get("quantization") and s.packed,
            "The checkpoint is quantised already and says so itself; leave it out."),
    warning("W33", "api_server_count", lambda s: s.multimodal and (s.values.get("api_server_count") or 1) > 1,
            "Each API server keeps a processor cache of its own for images: host memory times "
            "{v[api_server_count]}."),
    warning("W34", "generation_config", lambda s: s.values.get("generation_config") == "auto",
            "The checkpoint’s temperature and top-p become defaults; a benchmark against other engines then differs."),
    warning("W35", "shutdown_timeout",
            lambda s: s.get("shutdown_timeout") == 0 and (s.connectors or s.external_lb or s.hybrid_lb),
            "Behind a router a rollout drops what is in flight; give --shutdown-timeout the seconds to drain."),
    warning("W36", "enable_expert_parallel",
            lambda s: s.moe and s.expert_parallel and s.model.experts <= 16 and s.ep <= 4,
            "{s.model.experts} experts on {s.ep} GPUs: the all-to-all costs latency and saves no memory."),
    warning("W37", "enable_chunked_prefill", lambda s: not s.chunked and not s.given("max_num_batched_tokens"),
            "The budget becomes {s.tokens:,} tokens: a huge step to profile, and whole prompts block decodes."),
    warning("E12", "enable_elastic_ep",
            lambda s: s.get("enable_elastic_ep") and s.eplb["use_async"] and s.get("enable_eplb"),
            "Asynchronous balancing needs the NIXL package here; without it the start is refused."),
    warning("F6", "kv_offloading_size",
            lambda s: (s.values.get("kv_offloading_size") or 0) > 0.7 * s.host_gib,
            "More than 0.7 of the host’s {s.host_gib:,g} GiB: leave the rest to loading weights and to the front end."),
)
