"""What the rules of a serve command look at: its settings with the engine's defaults filled in, the model, the machine.
"""
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from calculators.models.base import Refusal
from calculators.models.batch_defaults import batch_defaults
from calculators.models.capture_sizes import capture_sizes
from calculators.models.catalogue import Gpu, Model
from calculators.models.serve_flags import BY_DEST
from calculators.models.serve_values import AUTO

LOW_LATENCY = ("deepep_low_latency", "nixl_ep")  # all-to-alls whose buffers are of a fixed size
LOW_LATENCY_BATCH = 256  # tokens with them, and so at most as many sequences
DEFAULT_BLOCK = 16
LONGEST = 10_485_760
PACKED = re.compile(r"fp8|awq|gptq|int4|w4a16|w8a8|nvfp4|mxfp4|gpt-oss", re.IGNORECASE)
MULTIMODAL = ("Gemma-3", "Llama-4")
EPLB = {"num_redundant_experts": 0, "use_async": True, "communicator": None}
SHORTHAND = {"spec_method": "method", "spec_model": "model", "spec_tokens": "num_speculative_tokens"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A command on its machine. `values` are the flags given, by the engine's names; `texts` what was typed for them.

    `model` is None where the catalogue has no such shape. `gpus` are those of one node.
    """

    values: Mapping[str, Any]
    model: Model | None
    gpu: Gpu
    gpus: int = 8
    host_gib: float = 1_024
    model_id: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        """A setting: as given, else the parser's default."""
        value = self.values.get(name)
        return BY_DEST[name].default if value is None else value

    def given(self, *names: str) -> bool:
        """Whether one of these flags is in the command."""
        return any(name in self.values for name in names)

    def size(self, name: str) -> int:
        """A count of at least 1; one that can't be is taken as 1."""
        value = self.get(name)
        return value if isinstance(value, int) and value > 0 else 1

    @property
    def tp(self) -> int:
        return self.size("tensor_parallel_size")

    @property
    def pp(self) -> int:
        return self.size("pipeline_parallel_size")

    @property
    def dp(self) -> int:
        return self.size("data_parallel_size")

    @property
    def dcp(self) -> int:
        return self.size("decode_context_parallel_size")

    @property
    def pcp(self) -> int:
        return self.size("prefill_context_parallel_size")

    @property
    def nodes(self) -> int:
        return self.size("nnodes")

    @property
    def world(self) -> int:
        """GPUs of one replica."""
        return self.tp * self.pp * self.pcp

    @property
    def local_dp(self) -> int:
        """Data-parallel ranks that this node runs."""
        local = self.values.get("data_parallel_size_local")
        if self.external_lb:
            return 1
        if isinstance(local, int) and local > 0:
            return local
        return max(self.dp * self.world // self.nodes // self.world, 1)

    @property
    def local_gpus(self) -> int:
        """GPUs that the command takes on this node."""
        return self.local_dp * max(self.world // (1 if self.dp > 1 else self.nodes), 1)

    @property
    def expert_parallel(self) -> bool:
        return bool(self.get("enable_expert_parallel"))

    @property
    def ep(self) -> int:
        """GPUs that share the experts whole; 1 where each expert is split."""
        return self.tp * self.pcp * self.dp if self.expert_parallel else 1

    @property
    def dense(self) -> bool:
        return self.model is not None and not self.model.experts

    @property
    def moe(self) -> bool:
        return self.model is not None and self.model.experts > 0

    @property
    def latent(self) -> bool:
        return self.model is not None and self.model.latent > 0

    @property
    def all2all(self) -> str:
        return self.get("all2all_backend")

    @property
    def eplb(self) -> Mapping[str, Any]:
        return EPLB | as_dict(self.values.get("eplb_config"))

    @property
    def redundant(self) -> int:
        count = self.eplb["num_redundant_experts"]
        return count if isinstance(count, int) and not isinstance(count, bool) else 0

    @property
    def kv(self) -> Mapping[str, Any]:
        """The KV transfer settings, {} without."""
        return as_dict(self.values.get("kv_transfer_config"))

    @property
    def connectors(self) -> tuple[str, ...]:
        """The connector's name, and the names of those inside a MultiConnector."""
        extra = as_dict(self.kv.get("kv_connector_extra_config"))
        inner = extra.get("connectors") if isinstance(extra.get("connectors"), list) else []
        names = [self.kv.get("kv_connector"), *(as_dict(one).get("kv_connector") for one in inner)]
        return tuple(name for name in names if isinstance(name, str))

    @property
    def nixl(self) -> bool:
        return any(name.startswith("Nixl") for name in self.connectors)

    @property
    def role(self) -> str:
        return str(self.kv.get("kv_role") or "")

    @property
    def external_lb(self) -> bool:
        return bool(self.get("data_parallel_external_lb")) or self.given("data_parallel_rank")

    @property
    def hybrid_lb(self) -> bool:
        return bool(self.get("data_parallel_hybrid_lb"))

    @property
    def spec(self) -> Mapping[str, Any]:
        """The settings of speculative decoding, {} without; the short flags are a spelling of the same."""
        held = as_dict(self.values.get("speculative_config"))
        short = {key: self.values[name] for name, key in SHORTHAND.items() if self.values.get(name) is not None}
        return {**held, **short}

    @property
    def drafts(self) -> int:
        """Draft tokens a step, 0 without speculation."""
        count = self.spec.get("num_speculative_tokens")
        return count if isinstance(count, int) and count > 0 else 0

    @property
    def lora(self) -> bool:
        return bool(self.get("enable_lora"))

    @property
    def chunked(self) -> bool:
        return self.get("enable_chunked_prefill") is not False

    @property
    def prefix_caching(self) -> bool:
        return self.get("enable_prefix_caching") is not False

    @property
    def eager(self) -> bool:
        return bool(self.get("enforce_eager"))

    @property
    def own_length(self) -> int:
        """The longest context that the model's config derives, 0 where it isn't known; linear and dynamic RoPE scaling
        stretch it, YaRN's factor doesn't.
        """
        patch = as_dict(self.values.get("hf_overrides"))
        asked, rope = patch.get("max_position_embeddings"), as_dict(patch.get("rope_parameters"))
        own = asked if isinstance(asked, int) and asked > 0 else self.model.longest_context if self.model else 0
        factor = rope.get("factor")
        stretched = rope.get("rope_type") in ("linear", "dynamic") and isinstance(factor, int | float) and factor > 0
        return int(own * min(factor, LONGEST)) if stretched else own

    @property
    def length(self) -> int:
        """--max-model-len as it is taken, or the model's own; what fits is not looked at."""
        asked = self.values.get("max_model_len")
        return asked if asked and asked > 0 else self.own_length or LONGEST

    @property
    def fits_length(self) -> bool:
        """Whether the length is left to what fits."""
        return self.values.get("max_model_len") == AUTO

    @property
    def low_latency(self) -> bool:
        return self.all2all in LOW_LATENCY and self.expert_parallel and self.dp > 1

    @property
    def batch(self) -> tuple[int, int]:
        """Tokens of a step, and sequences at once, as the engine completes them."""
        tokens, seats = (self.values.get(name) for name in ("max_num_batched_tokens", "max_num_seqs"))
        tokens, seats = (count if count and count > 0 else None for count in (tokens, seats))
        if self.low_latency and tokens is None:
            tokens = LOW_LATENCY_BATCH * (2 if self.get("performance_mode") == "throughput" else 1)
        return batch_defaults(
            device_name=self.gpu.name, device_memory_gib=self.gpu.visible_gib, max_model_len=self.length,
            enable_chunked_prefill=self.chunked, performance_mode=self.get("performance_mode"),
            max_num_batched_tokens=tokens, max_num_seqs=seats,
        )

    @property
    def tokens(self) -> int:
        return self.batch[0]

    @property
    def seats(self) -> int:
        return self.batch[1]

    @property
    def utilization(self) -> float:
        return self.get("gpu_memory_utilization")

    @property
    def kv_dtype(self) -> str:
        return self.get("kv_cache_dtype")

    @property
    def plans_ahead(self) -> bool:
        """Whether a step is scheduled while the last one runs; the suffix drafter can't."""
        asked = self.get("async_scheduling")
        return self.spec.get("method") != "suffix" if asked is None else bool(asked)

    @property
    def launches_transfers(self) -> bool:
        """Whether the all-to-all can't be captured, so that vLLM switches CUDA graphs off."""
        if self.all2all == "moonep":
            return self.dp > 1 or (self.expert_parallel and self.pcp > 1)
        return self.all2all == "deepep_high_throughput" and self.dp > 1 and not self.dense

    @property
    def layer_by_layer(self) -> bool:
        """Whether LMCache moves the KV of each layer by itself."""
        extra = as_dict(self.kv.get("kv_connector_extra_config"))
        return any(name.startswith("LMCache") for name in self.connectors) and bool(extra.get("use_layerwise"))

    @property
    def graph_mode(self) -> str:
        """The mode of CUDA graphs that is asked for, "NONE" without."""
        named = as_dict(self.values.get("compilation_config")).get("cudagraph_mode")
        level = self.get("optimization_level")
        if self.eager or level == 0 or self.launches_transfers:
            return "NONE"
        if isinstance(named, str):
            return named.upper()
        return "PIECEWISE" if level == 1 or self.layer_by_layer else "FULL_AND_PIECEWISE"

    @property
    def graph_sizes(self) -> tuple[int, ...]:
        """The batch sizes that are captured, () without graphs or where one's own contradict each other."""
        if self.graph_mode == "NONE":
            return ()
        own, most = self.values.get("cudagraph_capture_sizes"), self.values.get("max_cudagraph_capture_size")
        try:
            return capture_sizes(
                max_num_seqs=self.seats, max_num_batched_tokens=self.tokens, num_speculative_tokens=self.drafts,
                datacenter_blackwell=self.gpu.name == "B200", performance_mode=self.get("performance_mode"),
                user_capture_sizes=tuple(own) if own else None, user_max_capture_size=most,
            )
        except Refusal:
            return ()

    @property
    def packed(self) -> bool:
        """Whether the checkpoint is published quantised, by the catalogue or by its name."""
        return bool(self.model and self.model.native_bytes) or bool(PACKED.search(self.model_id))

    @property
    def multimodal(self) -> bool:
        return bool(self.model and self.model.name.startswith(MULTIMODAL)) and not self.get("language_model_only")

    @property
    def block_size(self) -> int:
        value = self.values.get("block_size")
        return value if value and value > 0 else DEFAULT_BLOCK


def as_dict(value: Any) -> dict[str, Any]:
    """The value where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}
