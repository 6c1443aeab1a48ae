"""How wide to spread the experts of a model like DeepSeek-V3: what each layout leaves for KV, on a GPU and in all."""
from collections.abc import Iterator
from dataclasses import dataclass, replace

from calculators.models.base import Line
from calculators.models.catalogue import GPUS
from calculators.models.quantity import say
from calculators.models.wide_ep import KV_BYTES_PER_TOKEN, MODEL, SLOT_BYTES

EXPERT_GB = MODEL.experts * SLOT_BYTES / 1e9
OTHER_GB = 19.1  # attention, dense layers, shared experts, embeddings, scales
WIDTHS = (8, 16, 32, 64)
TENSOR_PARALLEL = 8


@dataclass(frozen=True, slots=True)
class Weights:
    """All experts and all else in GB, and the bytes of one token's latent over all layers."""

    experts_gb: float = EXPERT_GB
    other_gb: float = OTHER_GB
    kv_bytes: int = KV_BYTES_PER_TOKEN


@dataclass(frozen=True, slots=True)
class Layout:
    """Weights and what is left for KV on one GPU in GB, and the tokens that the whole group holds."""

    name: str
    gpus: int
    weights_gb: float
    free_gb: float
    kv_tokens: float
    present: bool = False

    @property
    def kv_tokens_m(self) -> float:
        return self.kv_tokens / 1e6

    @property
    def tokens_a_gpu(self) -> float:
        return self.kv_tokens / self.gpus


@dataclass(frozen=True, slots=True)
class EpWidth:
    """The width at hand beside tensor parallelism and other widths."""

    layouts: tuple[Layout, ...]
    at_hand: Layout
    tensor_parallel: Layout
    lines: tuple[Line, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()

    @property
    def kv_tokens(self) -> float:
        return self.at_hand.kv_tokens

    @property
    def finding(self) -> str:
        """What the group holds, beside eight ways of tensor parallelism."""
        now = self.at_hand
        if now.free_gb <= 0:
            return f"{now.name} does not fit: {now.weights_gb:.1f} GB of weights on each GPU."
        words = f"{now.name} holds {now.kv_tokens / 1e6:.3g} M tokens, {say(now.free_gb, 'GB')} on each GPU"
        one = self.tensor_parallel
        beside = f"; TP8, every latent on all eight, {one.kv_tokens / 1e6:.2f} M" if one.free_gb > 0 else ""
        return f"{words}{beside}."


def solve(*, ep_ranks: int = 32, gpu: str = "h200", gpu_memory_utilization: float = 0.92,
          other_memory_gb: float = 8.8, expert_weights_gb: float | None = None, other_weights_gb: float | None = None,
          kv_bytes_per_token: int | None = None) -> EpWidth:
    """Experts split over the ranks, all else on each; each rank keeps the latents of its own requests.

    What is not given of the model is DeepSeek-V3's.

    free = utilisation * GPU - other - 19.1 - 653.9 / R; tokens = R * free / 70,272 B. Under tensor parallelism all else
    is split as well and every latent stands on all eight.
    """
    model = Weights(EXPERT_GB if expert_weights_gb is None else expert_weights_gb,
                    OTHER_GB if other_weights_gb is None else other_weights_gb,
                    kv_bytes_per_token or KV_BYTES_PER_TOKEN)
    budget = gpu_memory_utilization * GPUS[gpu].visible_gib * 2**30 / 1e9 - other_memory_gb

    def spread(ranks: int) -> Layout:
        weights = model.other_gb + model.experts_gb / ranks
        return Layout(f"DP{ranks} + EP{ranks}", ranks, weights, budget - weights,
                      max(ranks * (budget - weights) * 1e9 / model.kv_bytes, 0), ranks == ep_ranks)

    split = (model.other_gb + model.experts_gb) / TENSOR_PARALLEL
    tensor = Layout(f"TP{TENSOR_PARALLEL}", TENSOR_PARALLEL, split, budget - split,
                    max((budget - split) * 1e9 / model.kv_bytes, 0))
    wide = tuple(spread(ranks) for ranks in sorted({*WIDTHS, ep_ranks}))
    now = next(layout for layout in wide if layout.present)
    result = EpWidth((tensor, *wide), now, tensor)
    return replace(result, lines=tuple(lines_of(result, model, budget, other_memory_gb)),
                   slips=tuple(slips_of(result, model)))


def lines_of(result: EpWidth, model: Weights, budget: float, other_gb: float) -> Iterator[Line]:
    """Each GPU's memory, then the group's tokens."""
    now = result.at_hand
    yield Line("a GPU gives vLLM", "", budget + other_gb, "GB")
    yield Line("its experts", f"{model.experts_gb:.1f} / {now.gpus}", now.weights_gb - model.other_gb, "GB")
    yield Line("all other weights", "", model.other_gb, "GB")
    yield Line("activations, graphs, …", "", other_gb, "GB")
    yield Line("left for KV", f"{budget + other_gb:.1f} − {now.weights_gb:.1f} − {other_gb:g}", now.free_gb, "GB",
               total=True)
    yield Line("tokens of the group", f"{now.gpus} × {now.free_gb:.1f}e9 / {model.kv_bytes:,}",
               now.kv_tokens / 1e6, "million")


def slips_of(result: EpWidth, model: Weights) -> Iterator[tuple[float, str]]:
    """The wrong numbers of tokens that people reach, and what each is."""
    now = result.at_hand
    if now.free_gb > 0:
        yield now.tokens_a_gpu, "That is one GPU’s. Each rank keeps the latents of its own requests, so they add up."
        yield (now.gpus * (now.free_gb + model.other_gb) * 1e9 / model.kv_bytes,
               "That leaves out the weights that stand on every GPU.")
    if result.tensor_parallel.free_gb > 0:
        yield result.tensor_parallel.kv_tokens, "That is TP8, which keeps every latent eight times."
