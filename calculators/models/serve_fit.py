"""Whether a serve command fits: the checks of a start in their order, on one GPU, through the memory ledger."""
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from calculators.models.base import Line, Refusal
from calculators.models.catalogue import BF16, BITS, FP8, INT4, NATIVE, NVFP4, Model
from calculators.models.kv_pool import ENGINES, GIB, NEWEST, Setup
from calculators.models.kv_token import FP8_DS_MLA, cache_of
from calculators.models.memory_ledger import LENGTH, Ledger, charged, ledger_of, shifted
from calculators.models.quantity import say
from calculators.models.serve_scene import Scene

KV_FORMS = {
    "auto": BF16, "bfloat16": BF16, "float16": BF16, "fp8": FP8, "fp8_e4m3": FP8, "fp8_e5m2": FP8, "fp8_inc": FP8,
    "fp8_ds_mla": FP8_DS_MLA, "nvfp4": NVFP4,
}
PACKED_FORMS = ((r"fp8|w8a8|int8", FP8), (r"awq|gptq|int4|w4a16", INT4), (r"nvfp4", NVFP4))
FEW_AT_ONCE = 1.5
SEATS_OVER = 4  # times the pool that the seats' requests may take before it is worth a word
SLIP_APART = 0.05


class NotModelled(ValueError):
    """Why no figure is given."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The checks of the start. `ledger` is None where the command can't be modelled, and `reason` says why.

    `at_once` counts requests of full length; `overhead_gib` is all between weights and KV. `uncounted` names what the
    ledger leaves out.
    """

    ledger: Ledger | None = None
    reason: str = ""
    weights_gb: float = 0.0
    weights_over: int = 1
    overhead_gib: float = 0.0
    length: int = 0
    request_gib: float = 0.0
    kv_tokens: int = 0
    at_once: float = 0.0
    tokens_each: int = 0
    replicas: int = 1
    warnings: tuple[str, ...] = ()
    uncounted: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()

    @property
    def starts(self) -> bool:
        return self.ledger is not None and self.ledger.starts

    @property
    def kv_gib(self) -> float:
        return max(self.ledger.kv_gib, 0.0) if self.ledger else 0.0


def fit(scene: Scene, mean_tokens: int) -> Fit:
    """The fit of a command whose requests keep `mean_tokens` tokens on average."""
    try:
        ledger = ledger_for(scene)
    except NotModelled as why:
        return Fit(reason=str(why))
    overhead = ledger.budget_gib - ledger.loaded_gib - ledger.kv_gib
    at_once = ledger.concurrency
    made = Fit(
        ledger=ledger, weights_gb=whole_weights(scene) / 1e9, weights_over=scene.tp * scene.pp, overhead_gib=overhead,
        length=length_of(scene, ledger), request_gib=ledger.request_gib, kv_tokens=ledger.kv_tokens, at_once=at_once,
        tokens_each=ledger.kv_tokens // scene.seats, replicas=scene.dp, uncounted=tuple(uncounted(scene)),
        warnings=tuple(warnings(scene, ledger, mean_tokens)),
    )
    return replace(made, lines=tuple(lines(scene, made)), slips=slips(scene, made))


def ledger_for(scene: Scene) -> Ledger:
    """The ledger of one GPU; with a length that is left to what fits, the longest one that does."""
    ledger = ledger_at(scene, scene.length)
    if scene.fits_length and ledger.outcome == LENGTH and ledger.longest_tokens:
        return ledger_at(scene, ledger.longest_tokens)
    return ledger


def ledger_at(scene: Scene, length: int) -> Ledger:
    """The ledger of one GPU for requests of that length. Raises NotModelled with the reason."""
    model = scene.model
    if model is None:
        raise NotModelled("the catalogue has no such shape")
    if scene.dcp > 1 or scene.pcp > 1:
        raise NotModelled("KV that is split by position is not in the ledger")
    if scene.kv_dtype not in KV_FORMS:
        raise NotModelled(f"KV in {scene.kv_dtype} has no size here")
    if scene.get("cpu_offload_gb") > 0:
        raise NotModelled("weights in host memory are not in the ledger")
    if model.query_heads % scene.tp or scene.pp > model.layers:
        raise NotModelled("it can’t be split so")
    if scene.tokens < scene.seats:
        raise NotModelled("the batch is refused before memory is looked at")
    if not 0 < scene.utilization <= 1:
        raise NotModelled("the utilization is no share")
    setup = Setup(
        model=model, visible_gib=scene.gpu.visible_gib, multiprocessors=scene.gpu.multiprocessors, tokens=scene.tokens,
        seats=scene.seats, engine=ENGINES[NEWEST], utilization=scene.utilization, form=form_of(scene),
        weight_bytes=weight_bytes(scene), tensor=scene.tp, stages=scene.pp, max_model_len=length,
        graphs_gib=0.0 if scene.graph_mode == "NONE" else None,
        non_torch_gib=ENGINES[NEWEST].non_torch_tp_gib if scene.dp > 1 and scene.expert_parallel else None,
    )
    try:
        cache = cache_of(replace(model, layers=-(-model.layers // scene.pp)), KV_FORMS[scene.kv_dtype], scene.tp,
                         in_flight_tokens=2 * scene.tokens, block_size=scene.block_size)
    except Refusal as why:
        raise NotModelled(str(why).rstrip(".")) from None
    made = charged(setup, cache, length)
    if fixed := scene.values.get("kv_cache_memory_bytes"):
        made = shifted(made, fixed / GIB - made.charged.left_gib)
    return ledger_of(made)


def form_of(scene: Scene) -> str:
    """The format of the weights: the checkpoint's by its name, or what --quantization makes of it."""
    name = scene.model_id.lower()
    for pattern, form in PACKED_FORMS:
        if re.search(pattern, name):
            return form
    if scene.model.native_bytes:
        return NATIVE
    scheme = scene.values.get("quantization")
    if not scheme:
        if scene.get("dtype") in ("float", "float32"):
            raise NotModelled("weights in float32 are not in the ledger")
        return BF16
    if scheme.startswith(("fp8", "int8", "mxfp8")):
        return FP8
    if scheme.startswith("nvfp4"):
        return NVFP4
    raise NotModelled(f"weights in {scheme} have no size here")


def whole_weights(scene: Scene) -> float:
    """Bytes of the whole checkpoint as loaded."""
    return scene.model.weight_bytes(form_of(scene))


def expert_weight_bytes(model: Model, form: str) -> float:
    """Bytes of one routed expert over all its layers, its scales included."""
    bits = BITS.get(form) or 8 * model.native_bytes / model.parameters
    return model.expert_parameters / model.experts * bits / 8


def weight_bytes(scene: Scene) -> float:
    """Bytes of weights that the ledger is to split by tensor parallelism.

    With expert parallelism a GPU holds its share of the experts whole and of the redundant ones, and a slice of the
    rest; the ledger divides by the slices, so it is given as many times that.
    """
    whole = whole_weights(scene)
    if scene.ep == 1 or not scene.moe:
        return whole
    each = expert_weight_bytes(scene.model, form_of(scene))
    held = (scene.model.experts + scene.redundant) / scene.ep * each
    rest = max(whole - scene.model.experts * each, 0.0)
    return held * scene.tp + rest


def length_of(scene: Scene, ledger: Ledger) -> int:
    """The longest request: as asked, or what fits."""
    return min(scene.length, ledger.longest_tokens) if scene.fits_length and ledger.longest_tokens else scene.length


def uncounted(scene: Scene) -> Iterator[str]:
    """What takes memory and is not in the ledger."""
    if scene.lora:
        yield f"buffers of {scene.get('max_loras')} adapters of rank {scene.get('max_lora_rank')}"
    if scene.spec.get("method") not in (None, "ngram", "suffix"):
        yield "the drafter’s weights and its KV"
    if scene.get("enable_dbo"):
        yield "workspaces of two micro-batches"
    if scene.moe and scene.ep > 1 and scene.dp > 1:
        yield "buffers of the all-to-all"


def warnings(scene: Scene, ledger: Ledger, mean_tokens: int) -> Iterator[str]:
    """What fits and is still tight."""
    if not ledger.starts:
        return
    if ledger.concurrency < FEW_AT_ONCE:
        yield f"Only {ledger.concurrency:.2f} requests of full length fit at once."
    if scene.given("max_num_seqs") and scene.seats * mean_tokens > SEATS_OVER * ledger.kv_tokens:
        yield (f"{scene.seats:,} sequences of {mean_tokens:,} tokens would take {scene.seats * mean_tokens:,}; the "
               f"pool holds {ledger.kv_tokens:,}, so most seats only bring preemptions.")
    if scene.local_gpus > scene.gpus:
        yield f"The command takes {scene.local_gpus} GPUs on this node, which has {scene.gpus}."


def lines(scene: Scene, made: Fit) -> Iterator[Line]:
    """The five checks in the order of a start, numbers filled in."""
    ledger = made.ledger
    yield Line("free memory at start", f"{scene.utilization:.2f} × {ledger.total_gib:,.2f}", ledger.budget_gib,
               "GiB must be free")
    yield Line("weights load", weights_expression(scene, made), ledger.loaded_gib,
               f"GiB, {'under' if ledger.loaded_gib < ledger.budget_gib else 'over'} {ledger.budget_gib:,.2f}")
    if scene.given("kv_cache_memory_bytes"):
        yield Line("the pool is given", "--kv-cache-memory-bytes", ledger.kv_gib, "GiB of KV")
    else:
        taken = f"{ledger.loaded_gib:,.2f} − {made.overhead_gib:,.2f}"
        yield Line("something is left", f"{ledger.budget_gib:,.2f} − {taken}", ledger.kv_gib, "GiB of KV")
    yield Line("one request fits", request_expression(scene, made), made.request_gib,
               f"GiB, {'under' if made.request_gib < ledger.kv_gib else 'over'} {ledger.kv_gib:,.2f}")
    yield Line("so many at once", f"{made.kv_gib:,.2f} / {made.request_gib:,.2f}", made.at_once, "requests", total=True)
    if made.kv_tokens:
        yield Line(f"with {scene.seats:,} running", f"{made.kv_tokens:,} / {scene.seats:,}", made.tokens_each,
                   "tokens each")


def weights_expression(scene: Scene, made: Fit) -> str:
    if scene.moe and scene.ep > 1:
        held = (scene.model.experts + scene.redundant) / scene.ep
        return f"{held:g} of {scene.model.experts} experts, and the rest"
    over = f" / {made.weights_over}" if made.weights_over > 1 else ""
    return f"{made.weights_gb:,.1f}e9 B{over}"


def request_expression(scene: Scene, made: Fit) -> str:
    if not made.ledger.token_bytes:
        return f"{made.length:,} tokens, windows cut off"
    if scene.latent:
        return f"{made.length:,} × {made.ledger.token_bytes:,} B"
    shared = min(scene.tp, scene.model.kv_heads) * scene.pp
    over = f" / {shared}" if shared > 1 else ""
    return f"{made.length:,} × {made.ledger.token_bytes * shared:,}{over} B"


def slips(scene: Scene, made: Fit) -> tuple[tuple[float, str], ...]:
    """The number of requests that people reach, and what each leaves out; none near the right one."""
    ledger, one = made.ledger, made.request_gib
    if not one or not made.at_once:
        return ()
    split = min(scene.tp, scene.model.kv_heads) if not scene.latent else 1
    found = (
        ((ledger.budget_gib - ledger.loaded_gib) / one,
         f"That leaves out peak, buffers, non-torch growth and graphs, {say(made.overhead_gib, 'GiB')} in all."),
        ((ledger.total_gib - ledger.loaded_gib - made.overhead_gib) / one,
         "That takes the whole GPU. The budget is only a share of it."),
        (made.at_once / split if split > 1 else 0,
         f"That puts a request’s whole KV on one GPU; the {split} share its KV heads."),
        (made.at_once * split if split > 1 else 0, f"That takes the pools of all {split} GPUs for shared KV already."),
        (made.at_once / 2 if scene.kv_dtype.startswith("fp8") else made.at_once * 2,
         "That counts the KV in 16 bit, and it is fp8." if scene.kv_dtype.startswith("fp8")
         else "That counts the KV in 8 bit, and it is 16."),
    )
    return tuple((value, sentence) for value, sentence in found
                 if value > 0 and abs(value - made.at_once) > SLIP_APART * made.at_once)
