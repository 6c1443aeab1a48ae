"""The KV pool of one GPU: what vLLM's memory budget leaves after weights, buffers, one dummy step and CUDA graphs."""
from dataclasses import dataclass
from math import ceil

from calculators.models.catalogue import Gpu, Model

GIB = 2**30
UTILIZATION = 0.92
SMALL_BUFFERS_GIB = 0.05
NON_TORCH_GIB = {1: 0.25}  # growth in the profile on one GPU
NON_TORCH_TP_GIB = 2.1  # with NCCL's buffers, on NVLink
GRAPH_GIB_PER_LAYER = {1: 0.027}
GRAPH_TP_GIB_PER_LAYER = 0.021
SAMPLER_BYTES = 14  # a logit: bf16, an fp32 copy, a top-k-masked copy and its softmax


@dataclass(frozen=True, slots=True)
class KvPool:
    """The terms of the budget on one GPU and what is left for KV; all in GiB."""

    budget_gib: float
    weights_gib: float
    buffers_gib: float
    non_torch_gib: float
    transient_gib: float
    graphs_gib: float

    @property
    def left_gib(self) -> float:
        """What is left for KV; negative where the weights don't fit."""
        used = self.weights_gib + self.buffers_gib + self.non_torch_gib + self.transient_gib + self.graphs_gib
        return self.budget_gib - used


def step_budget(gpu: Gpu) -> int:
    """The --max-num-batched-tokens that `vllm serve` takes on this GPU.

    Source: vllm 0.33.0, engine/arg_utils.py, EngineArgs.get_batch_defaults.
    """
    if gpu.visible_gib >= 160:
        return 16_384
    return 8_192 if gpu.visible_gib >= 70 and gpu.name != "A100" else 2_048


def pool_of(model: Model, gpu: Gpu, *, gpus: int, weight_bytes: float, max_num_seqs: int) -> KvPool:
    """The pool of one of `gpus` GPUs that share a replica by tensor parallelism.

    Buffers: penalty counts, two bitmasks and the RoPE table. Transient: the larger of the forward pass and the sampler;
    a mixture of experts adds its workspace. Budget and sizes are exact, non-torch growth, transient and graphs are
    rules of thumb: good to about half a GiB.
    Source: vllm 0.33.0, v1/worker/gpu_worker.py, Worker.determine_available_memory; v1/worker/utils.py, request_memory.
    """
    tokens, seats, vocabulary = step_budget(gpu), max_num_seqs, model.vocabulary
    masks = 2 * seats * ceil(vocabulary / 32) * 4
    buffers = seats * vocabulary * 4 + masks + model.longest_context * (model.rope or model.head_dim) * 2
    sampler = seats * vocabulary * SAMPLER_BYTES + (tokens + seats) * model.hidden * 2
    share = model.ffn / gpus
    forward = tokens * 2 * (4 * model.hidden + (0 if model.experts else 3 * share))
    workspace = tokens * model.experts_per_token * 2 * (max(share, model.hidden) + max(2 * share, model.hidden))
    return KvPool(
        budget_gib=ceil(gpu.visible_gib * GIB * UTILIZATION) / GIB,
        weights_gib=weight_bytes / gpus / GIB,
        buffers_gib=buffers / GIB + SMALL_BUFFERS_GIB,
        non_torch_gib=NON_TORCH_GIB.get(gpus, NON_TORCH_TP_GIB),
        transient_gib=(max(sampler, forward) + workspace) / GIB,
        graphs_gib=GRAPH_GIB_PER_LAYER.get(gpus, GRAPH_TP_GIB_PER_LAYER) * model.layers,
    )


def kv_bytes_on_each(model: Model, gpus: int, value_bytes: float) -> float:
    """Bytes of KV that each of `gpus` GPUs keeps of a token, if every layer keeps every token.

    KV heads are split, never below one head a GPU; a latent is whole on each.
    """
    if model.latent:
        return model.layers * model.kv_values * value_bytes
    return model.layers * 2 * max(model.kv_heads / gpus, 1) * model.head_dim * value_bytes
