"""The KV pool of one GPU: what vLLM's memory budget leaves after weights, buffers, one dummy step and CUDA graphs."""
from dataclasses import dataclass, field
from math import ceil

from calculators.models.batch_defaults import batch_defaults
from calculators.models.catalogue import BF16, BITS, FP8, FULL, MLA, Gpu, Model

GIB, MIB = 2**30, 2**20
SMALL_BUFFERS_GIB = 0.05
GRAPH_GIB_PER_LAYER, GRAPH_TP_GIB_PER_LAYER = 0.027, 0.021
NON_TORCH_STAGES_GIB = 0.1  # in a pipeline without tensor parallelism
LOGIT_BYTES = 14  # bf16, an fp32 copy, a top-k-masked copy and its softmax
LOGIT_BYTES_UNFUSED = 6  # bf16 and an fp32 copy; the filter works in a buffer for each multiprocessor


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What a release of vLLM charges to its budget, from version `since` on; the next in ENGINES takes over.

    `non_torch_gib` grows in the profile on one GPU, `non_torch_tp_gib` with NCCL's buffers on NVLink; both were read
    off public start-up logs. `runner` 2 keeps penalty counts on the GPU; before 0.29 it estimated no graphs.
    `filter_buffers`: the sampler's filter takes 4 bytes a word of the vocabulary for each multiprocessor.
    """

    name: str
    since: tuple[int, int]
    runner: int
    utilization: float
    logit_bytes: float
    filter_buffers: bool
    graphs_charged: bool
    non_torch_gib: float
    non_torch_tp_gib: float


ENGINES: dict[str, Engine] = {
    "0.33": Engine(name="0.29 to 0.33", since=(0, 29), runner=2, utilization=0.92, logit_bytes=LOGIT_BYTES,
                   filter_buffers=False, graphs_charged=True, non_torch_gib=0.25, non_torch_tp_gib=2.1),
    "0.23": Engine(name="0.23 to 0.28", since=(0, 23), runner=2, utilization=0.92, logit_bytes=LOGIT_BYTES,
                   filter_buffers=False, graphs_charged=False, non_torch_gib=0.25, non_torch_tp_gib=2.1),
    "0.21": Engine(name="0.21 and 0.22", since=(0, 21), runner=1, utilization=0.92, logit_bytes=LOGIT_BYTES,
                   filter_buffers=True, graphs_charged=True, non_torch_gib=0.25, non_torch_tp_gib=2.1),
    "0.18": Engine(name="0.18 to 0.20", since=(0, 18), runner=1, utilization=0.9, logit_bytes=LOGIT_BYTES,
                   filter_buffers=True, graphs_charged=False, non_torch_gib=0.25, non_torch_tp_gib=2.1),
    "0.17": Engine(name="0.17", since=(0, 17), runner=1, utilization=0.9, logit_bytes=LOGIT_BYTES,
                   filter_buffers=True, graphs_charged=False, non_torch_gib=0.13, non_torch_tp_gib=2.1),
    "0.15": Engine(name="0.15 and 0.16", since=(0, 15), runner=1, utilization=0.9, logit_bytes=38,
                   filter_buffers=False, graphs_charged=False, non_torch_gib=0.13, non_torch_tp_gib=2.1),
    "0.11": Engine(name="0.11 to 0.14", since=(0, 11), runner=1, utilization=0.9, logit_bytes=38,
                   filter_buffers=False, graphs_charged=False, non_torch_gib=0.13, non_torch_tp_gib=0.55),
}
NEWEST = "0.33"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One GPU of an engine that starts. What is None follows from a rule; a number was measured and stands for it.

    Sizes are in GiB. `form` is the weights' format. `baseline_gib` is in use before the engine's first snapshot: CUDA's
    context, BLAS handles, NCCL's first buffers. `consumed_gib` stands for weights, buffers and non-torch growth in one,
    as the newer summary line prints them.
    """

    model: Model
    visible_gib: float
    multiprocessors: int
    tokens: int
    seats: int
    engine: Engine = field(default_factory=lambda: ENGINES[NEWEST])
    utilization: float | None = None
    form: str = BF16
    weight_bytes: float | None = None
    tensor: int = 1
    stages: int = 1
    max_model_len: int = 0
    penalty_buffer: bool = True
    ngram_table: bool = False
    charge_graphs: bool | None = None
    flashinfer_sampler: bool = True
    workspace_gib: float = 0.0
    logit_bytes: float | None = None
    baseline_gib: float | None = None
    other_gib: float = 0.0
    weights_gib: float | None = None
    consumed_gib: float | None = None
    transient_gib: float | None = None
    non_torch_gib: float | None = None
    graphs_gib: float | None = None

    @property
    def budget_gib(self) -> float:
        """What the engine may take of the GPU, of all its memory and not of what is free."""
        share = self.engine.utilization if self.utilization is None else self.utilization
        return ceil(round(self.visible_gib * GIB * share, 3)) / GIB

    @property
    def baseline(self) -> float:
        """GiB in use before the snapshot: measured, or a rule of thumb."""
        if self.baseline_gib is not None:
            return self.baseline_gib
        return 1.5 if self.tensor * self.stages > 1 else 0.6

    @property
    def free_gib(self) -> float:
        """What the first snapshot finds free."""
        return self.visible_gib - self.baseline - self.other_gib

    @property
    def graphs_charged(self) -> bool:
        """Whether the estimate of CUDA graphs comes off the budget."""
        return self.engine.graphs_charged if self.charge_graphs is None else self.charge_graphs


@dataclass(frozen=True, slots=True)
class KvPool:
    """The terms of the budget on one GPU and what is left for KV; all in GiB.

    The transient peak is the larger of the forward pass and the sampler, and the experts' workspace on top.
    """

    budget_gib: float
    weights_gib: float
    rounding_gib: float
    penalty_gib: float
    masks_gib: float
    rope_gib: float
    ngram_gib: float
    small_gib: float
    non_torch_gib: float
    forward_gib: float
    sampler_gib: float
    experts_gib: float
    transient_gib: float
    graphs_gib: float
    charged_graphs_gib: float

    @property
    def buffers_gib(self) -> float:
        """What is allocated once and kept."""
        return self.penalty_gib + self.masks_gib + self.rope_gib + self.ngram_gib + self.small_gib

    @property
    def left_gib(self) -> float:
        """What is left for KV; negative where the weights don't fit."""
        weights = self.weights_gib + self.rounding_gib
        used = weights + self.buffers_gib + self.non_torch_gib + self.transient_gib + self.charged_graphs_gib
        return self.budget_gib - used


def charge(setup: Setup) -> KvPool:
    """Every term of the budget on one GPU: sizes are exact; what no log gave of the rest is a rule of thumb.

    Source: vllm 0.33.0, v1/worker/gpu_worker.py, Worker.determine_available_memory; v1/worker/utils.py, request_memory;
    v1/worker/gpu/sample/penalties.py; v1/worker/gpu/states.py.
    """
    model, seats, vocabulary = setup.model, setup.seats, setup.model.vocabulary
    together, weights = setup.consumed_gib, loaded_bytes(setup) / GIB
    loaded = setup.weights_gib is None and together is None  # a measured load has its padding and the RoPE table in it
    kept = together is None
    newer = kept and setup.engine.runner == 2
    forward, sampler, experts = forward_bytes(setup), sampler_bytes(setup), expert_bytes(setup)
    peak = (max(forward, sampler) + experts) / GIB
    small = SMALL_BUFFERS_GIB if setup.transient_gib is None or newer else 0.0  # an older peak has them in it
    graphs = graphs_of(setup)
    return KvPool(
        budget_gib=setup.budget_gib,
        weights_gib=together if together is not None else weights if setup.weights_gib is None else setup.weights_gib,
        rounding_gib=rounding_bytes(model, setup.form, setup.tensor, setup.stages) / GIB if loaded else 0.0,
        penalty_gib=seats * vocabulary * 4 / GIB if newer and setup.penalty_buffer else 0.0,
        masks_gib=2 * seats * ceil(vocabulary / 32) * 4 / GIB if newer else 0.0,
        rope_gib=model.longest_context * (model.rope or model.head_dim) * 2 / GIB if loaded else 0.0,
        ngram_gib=seats * setup.max_model_len * 4 / GIB if kept and setup.ngram_table else 0.0,
        small_gib=(small if kept else 0.0) + (setup.workspace_gib if kept else 0.0),
        non_torch_gib=non_torch_of(setup) if kept else 0.0,
        forward_gib=forward / GIB, sampler_gib=sampler / GIB, experts_gib=experts / GIB,
        transient_gib=peak if setup.transient_gib is None else setup.transient_gib,
        graphs_gib=graphs, charged_graphs_gib=graphs if setup.graphs_charged else 0.0,
    )


def loaded_bytes(setup: Setup) -> float:
    """Bytes of weights on one GPU; of a pipeline on the last stage, which has the head and no embedding."""
    model = setup.model
    whole = model.weight_bytes(setup.form) if setup.weight_bytes is None else setup.weight_bytes
    if setup.stages == 1:
        return whole / setup.tensor
    table = 2 * model.vocabulary * model.hidden
    return ((whole - table * (1 if model.tied else 2)) / setup.stages + table) / setup.tensor


def forward_bytes(setup: Setup) -> float:
    """Activations of one dummy step; those of experts are their workspace's."""
    share = 0 if setup.model.experts else 3 * setup.model.ffn / setup.tensor
    return setup.tokens * 2 * (4 * setup.model.hidden + share)


def sampler_bytes(setup: Setup) -> float:
    """The sampler over a full batch, and the hidden states that are still held; every rank has all the logits."""
    rows, vocabulary = min(setup.seats, setup.tokens), setup.model.vocabulary
    filtering = setup.multiprocessors * vocabulary * 4 if setup.engine.filter_buffers or unfused(setup) else 0
    return rows * vocabulary * logit_bytes(setup) + filtering + (setup.tokens + rows) * setup.model.hidden * 2


def logit_bytes(setup: Setup) -> float:
    """What the sampler holds for each logit."""
    if setup.logit_bytes is not None:
        return setup.logit_bytes
    return LOGIT_BYTES_UNFUSED if unfused(setup) else setup.engine.logit_bytes


def unfused(setup: Setup) -> bool:
    """Whether the newer runner samples without FlashInfer."""
    return setup.engine.runner == 2 and not setup.flashinfer_sampler


def expert_bytes(setup: Setup) -> float:
    """The workspace of a mixture of experts, on top of either; 0 of a dense model."""
    model, share = setup.model, setup.model.ffn / setup.tensor
    wide = max(share, model.hidden) + max(2 * share, model.hidden)
    return setup.tokens * model.experts_per_token * 2 * wide


def non_torch_of(setup: Setup) -> float:
    """GiB that CUDA and NCCL take during the profile."""
    if setup.non_torch_gib is not None:
        return setup.non_torch_gib
    if setup.tensor > 1:
        return setup.engine.non_torch_tp_gib
    return NON_TORCH_STAGES_GIB if setup.stages > 1 else setup.engine.non_torch_gib


def graphs_of(setup: Setup) -> float:
    """GiB that CUDA graphs are expected to take."""
    if setup.graphs_gib is not None:
        return setup.graphs_gib
    each = GRAPH_TP_GIB_PER_LAYER if setup.tensor > 1 else GRAPH_GIB_PER_LAYER
    return each * setup.model.layers / setup.stages


def rounding_bytes(model: Model, form: str, tensor: int, stages: int) -> float:
    """What torch's allocator adds to the linear weights of a dense model, in bytes on one GPU.

    A large tensor takes whole segments of 2 MiB; what remains of the last is used again only above 1 MiB.
    """
    if model.experts or form not in (BF16, FP8) or not {FULL, MLA}.issuperset(model.pattern) or model.latent:
        return 0.0
    heads = (model.query_heads + 2 * max(model.kv_heads, tensor)) // tensor * model.head_dim
    shapes = (heads, model.query_heads // tensor * model.head_dim, 2 * model.ffn // tensor, model.ffn // tensor)
    each = BITS[form] / 8
    return model.layers / stages * sum(padding(rows * model.hidden * each) for rows in shapes)


def padding(size: float) -> float:
    """Bytes of its last segment that a tensor keeps from others."""
    rest = -size % (2 * MIB)
    return rest if size >= 10 * MIB and rest <= MIB else 0.0


def step_budget(gpu: Gpu) -> int:
    """The --max-num-batched-tokens that `vllm serve` takes on this GPU."""
    return seated(gpu)[0]


def seated(gpu: Gpu, max_model_len: int = 131_072, tokens: int | None = None,
           seats: int | None = None) -> tuple[int, int]:
    """Tokens of a step and sequences of `vllm serve` on this GPU, what is given as it is."""
    return batch_defaults(device_name=gpu.name, device_memory_gib=gpu.visible_gib, max_model_len=max_model_len,
                          max_num_batched_tokens=tokens, max_num_seqs=seats)


def pool_of(model: Model, gpu: Gpu, *, gpus: int, weight_bytes: float, max_num_seqs: int) -> KvPool:
    """The pool of one of `gpus` GPUs that share a replica by tensor parallelism, as `vllm serve` starts on it.

    Good to about half a GiB.
    """
    return charge(Setup(
        model=model, visible_gib=gpu.visible_gib, multiprocessors=gpu.multiprocessors, tokens=step_budget(gpu),
        seats=max_num_seqs, weight_bytes=weight_bytes, tensor=gpus,
    ))


def kv_bytes_on_each(model: Model, gpus: int, value_bytes: float) -> float:
    """Bytes of KV that each of `gpus` GPUs keeps of a token, if every layer keeps every token.

    KV heads are split, never below one head a GPU; a latent is whole on each.
    """
    if model.latent:
        return model.layers * model.kv_values * value_bytes
    return model.layers * 2 * max(model.kv_heads / gpus, 1) * model.head_dim * value_bytes
