"""Recorded KV-cache sizings of vLLM, replayed: size the same pool and name the first difference."""
from collections.abc import Iterator
from typing import Any

from calculators.models import kv_blocks
from calculators.models.catalogue import CHUNKED_LOCAL, FULL, LINEAR, MLA, SLIDING
from calculators.models.kv_blocks import Cache, Pool
from calculators.models.scheduler_trace import difference_between

Json = Any
ELEMENT_BYTES = {"bf16": 2, "fp8": 1, "bfloat16": 2, "float16": 2, "float32": 4}
STATE_BLOCKS = {"none": 1, "align": 2}
SPECS = {
    FULL: "FullAttentionSpec", SLIDING: "SlidingWindowSpec", CHUNKED_LOCAL: "ChunkedLocalAttentionSpec",
    MLA: "MLAAttentionSpec", LINEAR: "MambaSpec",
}
INPUTS = {
    "model", "tensor_parallel_size", "kv_cache_dtype", "block_size", "max_model_len", "max_num_batched_tokens",
    "async_scheduling", "available_bytes", "disable_hybrid_kv_cache_manager", "num_gpu_blocks_override",
    "mamba_cache_mode", "ssm_state_dtype",
}
NO_MEMORY = (
    "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine "
    "(this flag also controls CPU memory reservation on the CPU backend, despite its name)."
)


class NotModelled(str):
    """Why a case is not computed at all; it neither passes nor fails."""


def recognise(document: Json) -> bool:
    """Whether the document holds recorded KV-cache sizings."""
    if not isinstance(document, dict) or not isinstance(document.get("models"), dict):
        return False
    listed = document.get("cases")
    return isinstance(listed, list) and bool(listed) and "available_bytes" in listed[0].get("case", {})


def cases(document: Json, name: str) -> Iterator[tuple[str, str | None]]:
    """Each case by its place and its inputs, with its first difference or None, or why it is not modelled."""
    for place, recorded in enumerate(document["cases"], 1):
        case = recorded["case"]
        title = (f"{name} {place}: {case['model']} TP {case['tensor_parallel_size']} {case['kv_cache_dtype']} "
                 f"{case['max_model_len']}")
        yield title, first_difference(recorded, document["models"][case["model"]])


def first_difference(recorded: Json, model: Json) -> str | None:
    """Where our sizing and the record differ first: "num_gpu_blocks: ours 500, theirs 501"; None if nowhere."""
    case, theirs = recorded["case"], dict(recorded["expect"])
    if reason := why_not(case, model):
        return NotModelled(reason)
    cache = cache_of(case, model)
    pool = kv_blocks.pool(cache, case["available_bytes"], case["max_model_len"], case.get("num_gpu_blocks_override"))
    if "error" in theirs:
        theirs["error"] = theirs["error"].partition(" See https://")[0]
    return difference_between(recorded_form(cache, pool, case), theirs, "")


def why_not(case: Json, model: Json) -> str:
    """Why a case can't be computed, "" when it can."""
    kinds = set(model["layer_kinds"])
    if unknown := set(case) - INPUTS:
        return f"the setting {', '.join(sorted(unknown))}"
    if unknown := kinds - set(SPECS):
        return f"layers of the kind {', '.join(sorted(unknown))}"
    if case["kv_cache_dtype"] not in ELEMENT_BYTES:
        return f"a KV cache in {case['kv_cache_dtype']}"
    if MLA in kinds and len(kinds) > 1:
        return "latent layers beside others"
    if LINEAR not in kinds:
        return ""
    if "linear_conv_kernel_dim" not in model:
        return "a state of another make than a gated delta net's"
    if case.get("disable_hybrid_kv_cache_manager"):
        return "linear attention without the hybrid manager"
    if case.get("mamba_cache_mode", "none") not in STATE_BLOCKS:
        return f"mamba_cache_mode {case['mamba_cache_mode']}"
    return ""


def cache_of(case: Json, model: Json) -> Cache:
    """One GPU's cache for a case's inputs."""
    kinds, ranks = tuple(model["layer_kinds"]), case["tensor_parallel_size"]
    heads = max(1, model["num_key_value_heads"] // ranks)
    sides = 1 if MLA in kinds else 2  # K and V
    return Cache(
        kinds=kinds, token_bytes=sides * heads * model["head_dim"] * ELEMENT_BYTES[case["kv_cache_dtype"]],
        window=model.get("sliding_window") or 0, block_size=case["block_size"],
        in_flight_tokens=case["max_num_batched_tokens"] * (2 if case["async_scheduling"] else 1),
        state_bytes=state_bytes(case, model) if LINEAR in kinds else 0,
        state_blocks=STATE_BLOCKS[case.get("mamba_cache_mode", "none")],
        hybrid=not case.get("disable_hybrid_kv_cache_manager", False),
    )


def state_bytes(case: Json, model: Json) -> int:
    """Bytes that a gated delta net layer keeps a request on one GPU: the convolution's last inputs and the state."""
    ranks = case["tensor_parallel_size"]
    keys = model["linear_num_key_heads"] * model["linear_key_head_dim"]
    values = model["linear_num_value_heads"] * model["linear_value_head_dim"]
    convolution = (model["linear_conv_kernel_dim"] - 1) * (2 * keys + values) // ranks * ELEMENT_BYTES["bf16"]
    state = model["linear_num_value_heads"] // ranks * model["linear_key_head_dim"] * model["linear_value_head_dim"]
    return convolution + state * ELEMENT_BYTES[case.get("ssm_state_dtype", "bfloat16")]


def recorded_form(cache: Cache, pool: Pool, case: Json) -> dict[str, Json]:
    """The sizing as a recorded case has it, down to the fields that only some cases have."""
    form: dict[str, Json] = {}
    if LINEAR in cache.kinds:
        form |= {"state_bytes": cache.state_bytes, "attention_block_size": cache.attention_block_size}
    form |= {
        "page_size_bytes_per_layer": {SPECS[kind]: cache.page_bytes for kind in dict.fromkeys(cache.kinds)},
        "groups": [
            {"kind": SPECS[group.kind], "num_layers": group.layers, "block_size": group.block_size,
             "page_size_bytes": group.page_bytes, "blocks_per_max_len_request": group.blocks}
            for group in pool.groups
        ],
        "bytes_per_block": pool.bytes_per_block, "request_bytes": pool.request_bytes,
        "layer_sum_request_bytes": pool.layer_sum_bytes, "ok": pool.fits,
    }
    if pool.bytes_per_token is not None:
        form["bytes_per_token"] = pool.bytes_per_token
    if not pool.fits:
        form["error"] = error(pool, case["max_model_len"])
        return form | ({"estimated_max_model_len": pool.longest} if pool.longest else {})
    return form | {
        "num_gpu_blocks": pool.num_blocks, "kv_cache_size_tokens": pool.size_tokens,
        "max_concurrency": pool.max_concurrency,
        "log": f"KV cache size: {pool.size_tokens:,} tokens, Maximum concurrency for {case['max_model_len']:,} tokens "
               f"per request: {pool.max_concurrency:.2f}x",
    }


def error(pool: Pool, max_model_len: int) -> str:
    """The engine's own words when not one request of that length fits."""
    if pool.usable_bytes <= 0:
        return NO_MEMORY
    estimate = (f"Based on the available memory, the estimated maximum model length is {pool.longest}. "
                if pool.longest else "")
    return (f"To serve at least one request with the model's max seq len ({max_model_len}), ({gib(pool.request_bytes)} "
            "GiB KV cache is needed, which is larger than the available KV cache memory "
            f"({gib(pool.usable_bytes)} GiB). {estimate}Try increasing `gpu_memory_utilization` (which also controls "
            "CPU memory on the CPU backend) or decreasing `max_model_len` when initializing the engine.")


def gib(size: int) -> float:
    """A size in GiB to two decimals, as the engine rounds it."""
    return round(size / 2**30, 2)
