"""What each setting of a start-up configuration reaches, and which way a change of it moves throughput."""
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

POOL, KERNELS, GRAPHS, SCHEDULING = "KV pool", "kernels", "graphs", "scheduling"
FRONT_END, START_UP, COSMETIC, UNKNOWN = "front end", "start-up", "cosmetic", "not known here"
MECHANISMS = (POOL, KERNELS, GRAPHS, SCHEDULING, FRONT_END, START_UP)
HURTS, HELPS, DEPENDS, NOTHING = "hurts", "helps", "depends", "nothing"
ABSENT = ""
OFF = ("", "False", "None", "0", "off", "absent")
COSTS_TO_COMPARE = "A/B it alone: set the new version to the old value."
NUMBER = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)\s*([kKM]?)")


class Judged(NamedTuple):
    """Which way a change moves throughput, how much it may weigh (1 to 3), and why."""

    direction: str
    weight: int
    why: str


@dataclass(frozen=True, slots=True)
class Key:
    """A setting: the mechanism it reaches, and the rule for its change.

    `recompiles` says that it moves the compile cache's key, as tried on 0.33.0 with one setting at a time.
    """

    mechanism: str
    judge: Callable[[str, str], Judged]
    recompiles: bool = False


def number(text: str) -> float | None:
    """440000.0 of "440k" and "440,000"; None of no number."""
    found = NUMBER.fullmatch(text.replace(",", "").replace("_", ""))
    return float(found[1]) * {"": 1, "k": 1e3, "K": 1e3, "M": 1e6}[found[2]] if found else None


def grows(weight: int, up: str, down: str, good: bool = True, other: str = HURTS) -> Callable[[str, str], Judged]:
    """More of it helps (or, with `good` off, costs); less is `other`. Without two numbers nothing can be said."""

    def judge(before: str, after: str) -> Judged:
        was, now = number(before), number(after)
        if was is None or now is None:
            return Judged(DEPENDS, weight, "It stands in one of the two alone; find what the other resolved it to.")
        if was == now:
            return Judged(NOTHING, 0, "The same number, written in two ways.")
        better = HELPS if good else DEPENDS
        return Judged(better, weight, up) if now > was else Judged(other, weight, down)

    return judge


def switch(weight: int, on: str, off: str, good: bool = True) -> Callable[[str, str], Judged]:
    """On helps and off hurts, or the other way round with `good` off; absent counts as off."""

    def judge(before: str, after: str) -> Judged:
        was, now = before not in OFF, after not in OFF
        if was == now:
            return Judged(NOTHING, 0, "Off on both sides." if not now else "On on both sides.")
        return Judged(HELPS if now == good else HURTS, weight, on if now else off)

    return judge


def ladder(weight: int, steps: tuple[tuple[str, ...], ...], up: str, down: str) -> Callable[[str, str], Judged]:
    """A choice whose values stand in an order, the best last; those of one step, and unknown ones, either way."""
    height = {value: place for place, values in enumerate(steps) for value in values}

    def judge(before: str, after: str) -> Judged:
        was, now = height.get(before), height.get(after)
        if was is None or now is None or was == now:
            return Judged(DEPENDS, weight, f"Neither of the two is always better. {COSTS_TO_COMPARE}")
        return Judged(HELPS, weight, up) if now > was else Judged(HURTS, weight, down)

    return judge


def either(weight: int, why: str) -> Callable[[str, str], Judged]:
    """It matters, and which way is for a measurement to say."""
    return lambda before, after: Judged(DEPENDS, weight, why)


def fp8_kv(before: str, after: str) -> Judged:
    """FP8 KV against any other."""
    was, now = before.startswith("fp8"), after.startswith("fp8")
    if was == now:
        return Judged(DEPENDS, 2, "Another KV format: compare kernels and accuracy.")
    if now:
        return Judged(HELPS, 3, "Half the bytes a token: twice the pool, and less to read. Check accuracy.")
    return Judged(HURTS, 3, "Twice the bytes a token: half the pool, and more to read.")


def path(before: str, after: str) -> Judged:
    """A model by its last name: another place is nothing, another model voids the comparison."""
    was, now = (text.rstrip("/").rpartition("/")[2].lower() for text in (before, after))
    if was == now:
        return Judged(NOTHING, 0, "The same name in another place.")
    return Judged(DEPENDS, 3, "Another model: nothing else can be compared before this is settled.")


cosmetic = Key(COSMETIC, lambda before, after: Judged(NOTHING, 0, "It reaches no mechanism."))

KEYS: dict[str, Key] = {
    "kv_tokens": Key(POOL, grows(3, "More tokens of KV: more sequences run at once.",
                                 "Fewer tokens of KV: fewer sequences run at once, and preemption begins earlier.")),
    "available_kv_gib": Key(POOL, grows(3, "More memory for KV.", "Less memory for KV: ask what took it.")),
    "graph_memory_estimate": Key(POOL, switch(3, "Memory of CUDA graphs is taken out of the budget: the pool shrinks.",
                                              "Graphs are outside the budget again: the pool grows, and may overrun.",
                                              good=False)),
    "gpu_memory_utilization": Key(POOL, grows(1, "A larger budget, of which the pool gets all.",
                                              "A smaller budget, and the pool alone pays for it.")),
    "kv_cache_memory_bytes": Key(POOL, grows(3, "A larger pool, as set by hand.", "A smaller pool, as set by hand.")),
    "num_gpu_blocks_override": Key(POOL, either(3, "The number of blocks is set by hand, whatever fits.")),
    "kv_cache_dtype": Key(POOL, fp8_kv, recompiles=True),
    "enable_prefix_caching": Key(POOL, switch(3, "Shared prefixes are computed once.",
                                              "Every prompt is computed in full: each shared prefix again.")),
    "prefix_caching_hash_algo": Key(FRONT_END, either(1, "What a block’s hash costs the CPU.")),
    "block_size": Key(POOL, either(1, "How much the last block wastes, and which prefixes can be shared."),
                      recompiles=True),
    "max_model_len": Key(POOL, grows(1, "Longer requests are let in; each may hold more of the pool.",
                                     "Long requests are refused; the pool is as large.", good=False, other=DEPENDS),
                         recompiles=True),
    "kv_transfer_config": Key(POOL, either(2, "A connector moves KV: look at its own hit rate and waits.")),
    "kv_offloading_size": Key(POOL, either(2, "A second tier of KV in main memory.")),
    "quantization": Key(KERNELS, either(3, "Other weights: bytes read in decode and products in prefill change."),
                        recompiles=True),
    "dtype": Key(KERNELS, either(2, "Other products, and other kernels for them."), recompiles=True),
    "attention_backend": Key(KERNELS, either(2, f"Another attention kernel. {COSTS_TO_COMPARE}"), recompiles=True),
    "moe_backend": Key(KERNELS, either(2, f"Another kernel for the experts. {COSTS_TO_COMPARE}"), recompiles=True),
    "mode": Key(KERNELS, ladder(3, (("NONE",), ("DYNAMO_TRACE_ONCE", "STOCK_TORCH_COMPILE"), ("VLLM_COMPILE",)),
                                "The model is compiled further.", "Compiled less: more and slower kernels."),
                recompiles=True),
    "custom_ops": Key(KERNELS, either(1, "Which ops are left to the compiler."), recompiles=True),
    "splitting_ops": Key(KERNELS, either(1, "Where the compiled graph is cut."), recompiles=True),
    "backend": Key(KERNELS, either(2, "Another compiler."), recompiles=True),
    "compile_sizes": Key(KERNELS, either(1, "Sizes compiled for on their own."), recompiles=True),
    "enforce_eager": Key(GRAPHS, switch(3, "Neither compiled nor captured: each kernel is launched by the CPU.",
                                        "Compiled and captured again.", good=False), recompiles=True),
    "optimization_level": Key(GRAPHS, grows(3, "Compiled and captured further.", "Compiled and captured less."),
                              recompiles=True),
    "cudagraph_mode": Key(GRAPHS, ladder(
        3, (("NONE",), ("PIECEWISE", "FULL", "FULL_DECODE_ONLY"), ("FULL_AND_PIECEWISE",)),
        "More of a step is replayed; it costs memory and a longer capture.",
        "Less of a step is replayed: the CPU launches more."), recompiles=True),
    "max_cudagraph_capture_size": Key(GRAPHS, grows(2, "Larger batches are replayed too, for memory and capture time.",
                                                    "Batches above it run without graphs.", good=False),
                                      recompiles=True),
    "cudagraph_capture_sizes": Key(GRAPHS, either(2, "Other sizes to pad to: look at the largest, and the gaps."),
                                   recompiles=True),
    "cudagraph_specialize_lora": Key(GRAPHS, either(1, "Whether steps without adapters have graphs of their own."),
                                     recompiles=True),
    "async_scheduling": Key(SCHEDULING, switch(3, "The next step is scheduled while this one runs.",
                                               "Each step waits for the CPU: scheduling and output are exposed."),
                            recompiles=True),
    "model_runner": Key(SCHEDULING, ladder(2, (("V1",), ("V2",)),
                                           "Inputs are prepared on the GPU: less CPU in each step.",
                                           "The old runner, more CPU in each step. A warning says why.")),
    "scheduler_reserve_full_isl": Key(SCHEDULING, switch(
        2, "A prompt is let in when all of it fits: fewer at once, and less thrashing.",
        "Prompts are let in piece by piece: more at once, and more preemption.", good=False)),
    "max_num_seqs": Key(SCHEDULING, grows(2, "More seats; it helps where seats were what was short.",
                                          "Fewer seats: a smaller batch where nothing else binds.", good=False),
                        recompiles=True),
    "max_num_batched_tokens": Key(SCHEDULING, grows(
        2, "Larger steps: prefills end sooner, gaps between tokens grow, and the activation peak takes from the pool.",
        "Smaller steps: prompts take more of them; gaps between tokens shrink.", good=False), recompiles=True),
    "enable_chunked_prefill": Key(SCHEDULING, switch(2, "Prompts share steps with decodes.",
                                                     "A prompt takes a step of its own, and decodes wait."),
                                  recompiles=True),
    "long_prefill_token_threshold": Key(SCHEDULING, either(1, "How much of a step one long prompt may take.")),
    "scheduling_policy": Key(SCHEDULING, either(1, "Who goes first, and who is preempted.")),
    "policy": Key(SCHEDULING, either(1, "Who goes first, and who is preempted.")),
    "max_num_partial_prefills": Key(SCHEDULING, either(1, "How many prompts are computed in pieces at once.")),
    "prefill_schedule_interval": Key(SCHEDULING, either(2, "Prefills wait for their turn among steps.")),
    "watermark": Key(SCHEDULING, either(1, "Blocks that admission leaves free.")),
    "speculative_config": Key(SCHEDULING, either(3, "Drafts, or none: rows of a step change, and a method may put the "
                                                    "engine back on the old runner."), recompiles=True),
    "speculative_method": Key(SCHEDULING, either(3, "Another way to draft; some mean the old runner."),
                              recompiles=True),
    "num_speculative_tokens": Key(SCHEDULING, either(3, "More or fewer rows for each sequence of a step."),
                                  recompiles=True),
    "enable_lora": Key(KERNELS, switch(2, "Adapter kernels in every layer, and slots out of the pool.",
                                       "No adapters: their kernels and slots are gone.", good=False), recompiles=True),
    "max_loras": Key(SCHEDULING, grows(2, "More adapters run together; each slot is taken from the pool.",
                                       "Fewer adapters run together: tenants take turns."), recompiles=True),
    "max_lora_rank": Key(POOL, grows(1, "Larger slots for adapters, taken from the pool.", "Smaller slots.", good=False,
                                     other=HELPS), recompiles=True),
    "tensor_parallel_size": Key(KERNELS, either(3, "Other shares of the weights, other all-reduces: another set-up."),
                                recompiles=True),
    "pipeline_parallel_size": Key(KERNELS, either(3, "Other stages: another set-up."), recompiles=True),
    "data_parallel_size": Key(SCHEDULING, either(3, "Another number of engines."), recompiles=True),
    "enable_expert_parallel": Key(KERNELS, either(3, "Experts are spread another way."), recompiles=True),
    "decode_context_parallel_size": Key(KERNELS, either(3, "KV is spread another way."), recompiles=True),
    "disable_custom_all_reduce": Key(KERNELS, switch(2, "All-reduces go through NCCL: small ones take longer.",
                                                     "Small all-reduces have their own kernel.", good=False)),
    "use_async_output_proc": cosmetic,
    "api_server_count": Key(FRONT_END, grows(1, "More processes to tokenise and stream.",
                                             "Fewer processes to tokenise and stream.")),
    "disable_log_stats": Key(FRONT_END, switch(1, "No statistics: a little less CPU.", "Statistics again.")),
    "structured_outputs_config.backend": Key(FRONT_END, either(1, "Another compiler of grammars.")),
    "graphs_gib": Key(GRAPHS, grows(1, "Graphs hold more memory.", "Graphs hold less.", good=False, other=HELPS)),
    "load_format": Key(START_UP, either(1, "How weights are read at the start.")),
    "safetensors_load_strategy": Key(START_UP, either(1, "How weights are read at the start.")),
    "enable_flashinfer_autotune": Key(START_UP, either(1, "Kernels tuned at the start, or not: a longer start, perhaps "
                                                          "better kernels.")),
    "fast_moe_cold_start": Key(START_UP, either(1, "How experts are compiled at the start.")),
    "revision": Key(START_UP, either(2, "Another revision of the model."), recompiles=True),
    "trust_remote_code": Key(COSMETIC, cosmetic.judge, recompiles=True),
    "model": Key(KERNELS, path, recompiles=True),
    "VLLM_ATTENTION_BACKEND": Key(KERNELS, either(2, "0.33.0 has no such variable: it is ignored. Write "
                                                     "--attention-backend.")),
    "VLLM_USE_V1": Key(COSMETIC, lambda before, after: Judged(NOTHING, 0, "0.33.0 has one engine; it is ignored.")),
    "VLLM_USE_V2_MODEL_RUNNER": Key(SCHEDULING, either(2, "It pins the model runner.")),
    "VLLM_DISABLE_COMPILE_CACHE": Key(START_UP, switch(1, "Compiled anew at each start.", "The compile cache is used.",
                                                       good=False)),
}
NAMES_ONLY = {
    "tokenizer", "tokenizer_revision", "tokenizer_mode", "skip_tokenizer_init", "served_model_name", "download_dir",
    "seed", "device_config", "debug_dump_path", "cache_dir", "local_cache_dir", "host", "port", "api_key", "root_path",
    "uvicorn_log_level", "enable_log_requests", "disable_log_requests", "override_neuron_config", "config_format",
    "pooler_config", "num_scheduler_steps", "multi_step_stream_outputs", "compile_cache_save_format", "subparser",
    "chat_template", "tool_call_parser", "reasoning_parser", "enable_auto_tool_choice", "log_config_file", "name",
    "cudagraph_num_of_warmups", "cudagraph_copy_inputs", "enable_return_routed_experts", "ssl_certfile", "ssl_keyfile",
}
ONLY_TOLD = ("observability_config.", "aux_output_config.", "structured_outputs_config.", "decoding_config.",
             "pooler_config.", "generation_config")
COMPILED = ("pass_config.", "inductor_compile_config.", "inductor_passes", "dynamic_shapes_config.", "ir_op_priority.",
            "use_inductor", "compile_ranges")
BY_PREFIX = (
    ("speculative_config.", KEYS["speculative_config"]),
    ("kv_transfer_config.", KEYS["kv_transfer_config"]),
    ("static_all_moe_layers", Key(START_UP, either(1, "How experts are compiled at the start."))),
)
FUSED = Key(KERNELS, either(1, "What the compiler fuses or how it compiles."), recompiles=True)
STRANGE = Key(UNKNOWN, either(1, "This setting is not known here; A/B it if nothing else explains the loss."))


def key_of(name: str) -> Key:
    """What a setting reaches, by its name or what its name begins with."""
    if name in KEYS:
        return KEYS[name]
    if name in NAMES_ONLY or name.startswith(ONLY_TOLD):
        return cosmetic
    if name.startswith(COMPILED):
        return FUSED
    return next((key for prefix, key in BY_PREFIX if name.startswith(prefix)), STRANGE)


@dataclass(frozen=True, slots=True)
class Moved:
    """A default that moved: it was `was` through release `until` and is `now` from `since` on.

    Between the two it is not known here.
    """

    name: str
    was: str
    until: tuple[int, int]
    now: str
    since: tuple[int, int]

    def at(self, version: tuple[int, int]) -> str | None:
        """The default of a release; None where it is not known."""
        return self.was if version <= self.until else self.now if version >= self.since else None


# What else is another by 0.33.0 than it was, by which release isn't known here; all of it goes by GPU or library.
ALSO_MOVED: tuple[str, ...] = (
    "max_num_batched_tokens and max_num_seqs go by three classes of GPU: 16,384 tokens from 160 GiB of memory on.",
    "Graphs are captured up to 1,024 on data-centre Blackwell, 512 elsewhere.",
    "VLLM_ATTENTION_BACKEND is gone: --attention-backend. Blackwell takes FlashInfer first, Hopper FlashAttention 3.",
    "Compiled ahead of time where torch is 2.10 or newer: another start-up.",
    "One API server for each data-parallel rank: logs and metrics change.",
    "Blocks are hashed by SHA-256, and prefixes are cached without being asked.",
    "No cascade attention any more: batches that share one long prefix.",
)

# Read in 0.33.0; the releases are those of the changes that moved them.
DEFAULTS: tuple[Moved, ...] = (
    Moved("cudagraph_mode", "PIECEWISE", (0, 10), "FULL_AND_PIECEWISE", (0, 11)),
    Moved("async_scheduling", "False", (0, 13), "True", (0, 14)),
    Moved("gpu_memory_utilization", "0.9", (0, 20), "0.92", (0, 21)),
    Moved("graph_memory_estimate", "False", (0, 20), "True", (0, 21)),
    Moved("model_runner", "V1", (0, 22), "V2", (0, 33)),
    Moved("scheduler_reserve_full_isl", "False", (0, 13), "True", (0, 33)),
)
