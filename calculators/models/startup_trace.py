"""Public start-up logs of vLLM, replayed: the KV tokens that the ledger predicts against those that were logged."""
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from calculators.models.catalogue import BF16, FP8, FULL, GPUS, INT4, MLA, Gpu, Model
from calculators.models.kv_blocks import Cache
from calculators.models.kv_pool import ENGINES, Engine, Setup, sampler_bytes, seated
from calculators.models.kv_sizing_trace import ELEMENT_BYTES, NotModelled
from calculators.models.memory_ledger import OUTCOMES, STARTS, Scene, charged, shifted, spread
from calculators.models.shapes import shape_called

Json = Any
NEAR = 0.005  # of the logged tokens, when the log's own weights and peak are given
LAST_STAGE = 0.9  # of the sampler's peak: less, and the figures are those of a stage that does not sample
TOKENS_FROM_GROUPS = (0, 20)  # up to here the log divides the blocks by the layer groups
GIB = 2**30
# Settings that change nothing here, and those that do and are read.
SAID = {
    "id", "source", "vllm_version", "model", "arch", "gpu", "gpus", "tp", "pp", "dp", "dtype", "quantization",
    "kv_cache_dtype", "max_model_len", "gpu_memory_utilization", "block_size", "max_num_batched_tokens", "max_num_seqs",
    "prefix_caching", "enable_prefix_caching", "enforce_eager", "logged", "async_scheduling", "enable_chunked_prefill",
    "chunked_prefill", "expect", "kind", "seed", "node",
}
SHAPE = {"layers", "kv_heads", "head_dim", "attention", "kv_lora_rank", "qk_rope_head_dim", "hidden", "heads",
         "query_heads", "vocabulary", "vocab", "ffn", "parameters"}
WHOLE = (None, "", "full", "gqa", "mha", "mqa", "dense", "mla")
MIXED = re.compile(
    r"gemma-?[2-9]|gpt-oss|llama-4|mamba|jamba|zamba|bamba|nemotron-?(h|nano|3)|granite-?4|falcon-?h|qwen3-next|"
    r"qwen3\.[5-9]|kimi-linear|minimax|command-?(r7b|a)|cohere2|olmo-?3|exaone-?4|ministral|phi-?3-small|phi-4-mini-flash|lfm|"
    r"deepseek-v(3\.2|4)|hunyuan|step-?3|mimo"
)
VARIANT = re.compile(r"nvl|40gb|gb200|gh200|mig")  # of a GPU, with another memory than the catalogue's
# How a log says how its start ended: the names of such fields, those that only failures have, and what they say.
OUTCOME = re.compile(r"err|refus|fail|exception|outcome|status|reason|verdict|result|start(ed|s)\b|message|exit")
FAILURE = re.compile(r"err|refus|fail|exception")
REFUSED = re.compile(
    r"refus|fail|crash|abort|err|no available memory|to serve at least one|less than desired|out ?of ?memory|divisible"
)
STARTED = {"ok", "started", "starts", "start", "success", "running", "ready"}
# Fields that tell of a log and change nothing.
INFORMS = re.compile(
    r"source|note|url|link|date|time|commit|comment|licen|host|driver|cuda|torch|title|issue|repo|file|log|architecture|"
    r"backend|hardware|revision|reported"
)
INT4_QUANTISERS = {"gptq_marlin", "awq_marlin", "gptq", "awq", "auto_gptq", "auto_awq"}


@dataclass(frozen=True, slots=True)
class Told:
    """What a log's replay has to say: the errors of both predictions as fractions, and whether the end was foreseen."""

    words: str
    blind: float | None
    measured: float | None
    foreseen: bool | None

    @property
    def failed(self) -> bool:
        """Whether the end was not foreseen, or the ledger is wrong though its terms were given."""
        return self.foreseen is False or (self.measured is not None and abs(self.measured) > NEAR)

    def __str__(self) -> str:
        return self.words


class Unknown(Exception):
    """Why a log can't be predicted."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """What the ledger says of one log, or why it says nothing."""

    tokens: int | None
    scene: Scene | None
    why_not: str = ""

    def error(self, logged: int | None) -> float | None:
        """Its tokens against the logged ones, as a fraction."""
        return self.tokens / logged - 1 if self.tokens is not None and logged else None

    def said(self, logged: int | None) -> str:
        """"476,000 tokens, −0.02%", or why there are none."""
        if self.tokens is None:
            return f"not modelled ({self.why_not})"
        error = self.error(logged)
        return f"{self.tokens:,} tokens" + ("" if error is None else f", {error:+.2%}".replace("-", "−"))


def recognise(document: Json) -> bool:
    """Whether the document holds start-up logs."""
    listed = document.get("cases") if isinstance(document, dict) else None
    return isinstance(listed, list) and bool(listed) and isinstance(listed[0], dict) and "logged" in listed[0]


def cases(document: Json, name: str) -> Iterator[tuple[str, Told | NotModelled]]:
    """Each log by its name with both predictions: blind, and with what the log measured."""
    for place, case in enumerate(document["cases"], 1):
        yield str(case.get("id") or f"{name} {place}"), replayed(case)


def summary(told: Sequence[Told | NotModelled]) -> Iterator[str]:
    """Median and 90th percentile of both predictions' errors, and how many ends were foreseen."""
    known = [each for each in told if isinstance(each, Told)]
    for name, errors in (("blind", [each.blind for each in known]), ("measured", [each.measured for each in known])):
        sizes = sorted(abs(error) for error in errors if error is not None)
        if sizes:
            ninth = sizes[max(-(-9 * len(sizes) // 10) - 1, 0)]
            yield (f"{name}: {len(sizes)} of {len(told)} logs, median error {median(sizes):.2%}, 90th percentile "
                   f"{ninth:.2%}")
    ends = [each.foreseen for each in known if each.foreseen is not None]
    yield f"start or refusal foreseen: {sum(ends)} of {len(ends)}; not modelled: {len(told) - len(known)}"


def replayed(case: Json) -> Told | NotModelled:
    """Both predictions of one log beside what it says."""
    logged = case.get("logged") or {}
    measured, blind = predicted(case, logged, True), predicted(case, logged, False)
    best = measured if measured.scene else blind
    if best.scene is None:
        return NotModelled(f"{blind.why_not}; {measured.why_not}" if measured.why_not != blind.why_not else
                           blind.why_not)
    tokens = logged.get("kv_tokens")
    started = has_started(case, logged)
    outcome = best.scene.outcome
    foreseen = None if started is None else (outcome == STARTS) == started
    ends = {None: "no end logged", True: "as it did", False: "which it did not"}[foreseen]
    near = "" if is_sure(best.scene) else ", too close to be sure"
    held = f"logged {tokens:,} tokens; " if tokens else ""
    words = (f"{held}blind {blind.said(tokens)}; measured {measured.said(tokens)}; foreseen: "
             f"{OUTCOMES[outcome]}{near}, {ends}")
    return Told(words, blind.error(tokens), measured.error(tokens), foreseen)


def is_sure(scene: Scene) -> bool:
    """Whether the end stays the same within the uncertainty of the rules."""
    by = spread(scene)
    return len({shifted(scene, shift).outcome == STARTS for shift in (-by, 0.0, by)}) == 1


def has_started(case: Json, logged: Json) -> bool | None:
    """Whether the log is of an engine that started; None where it doesn't say."""
    if logged.get("kv_tokens"):
        return True
    for place in (logged, case, case.get("expect") or {}):
        for key, value in place.items():
            if OUTCOME.search(key) and (told := start_told(key, value)) is not None:
                return told
    available = logged.get("available_kv_gib")
    return False if available is not None and available <= 0 else None


def start_told(key: str, value: Json) -> bool | None:
    """What one field says of the start; None where that can't be read."""
    if isinstance(value, bool):
        return value != bool(FAILURE.search(key))
    text = value.strip().lower() if isinstance(value, str) else ""
    if text in STARTED:
        return True
    return False if text and (FAILURE.search(key) or REFUSED.search(text)) else None


def predicted(case: Json, logged: Json, measured: bool) -> Predicted:
    """The ledger of one log, from its flags alone or with the weights, the peak and the growth that it printed."""
    try:
        scene = scene_of(case, logged, measured)
    except Unknown as why:
        return Predicted(None, None, str(why))
    if scene.charged.left_gib <= 0:
        return Predicted(None, scene, "no memory is left for KV")
    return Predicted(tokens_logged(scene, version_of(case)), scene)


def tokens_logged(scene: Scene, version: tuple[int, int]) -> int:
    """The tokens as that release logs them."""
    pool, cache = scene.pool, scene.cache
    if len(pool.groups) == 1:
        return pool.num_blocks * cache.attention_block_size
    return pool.num_blocks // len(pool.groups) * cache.attention_block_size if version <= TOKENS_FROM_GROUPS else (
        pool.size_tokens
    )


def scene_of(case: Json, logged: Json, measured: bool) -> Scene:
    """The scene of a log; raises Unknown with the reason where it can't be predicted."""
    engine, shape = engine_of(case), shape_of(case)
    card, total = card_of(case, logged)
    cache = cache_of_case(case, shape)
    tensor, stages = case.get("tp") or 1, case.get("pp") or 1
    length = positive(case.get("max_model_len")) or (shape.longest_context if shape else 1)
    tokens, seats = seated(card, length, case.get("max_num_batched_tokens"), case.get("max_num_seqs"))
    free = logged.get("free_at_start_gib")
    if not measured:
        refuse_blind(case, shape, card)
    given = measured_terms(logged) if measured else {}
    setup = Setup(
        model=shape or nobody(case), visible_gib=total, multiprocessors=card.multiprocessors, tokens=tokens,
        seats=seats, engine=engine, utilization=case.get("gpu_memory_utilization"), form=format_of(case) or BF16,
        tensor=tensor, stages=stages, max_model_len=length,
        charge_graphs=False if case.get("enforce_eager") else None,
        baseline_gib=None if free is None else max(total - free, 0.0), **given,
    )
    if measured and stages > 1:
        refuse_stage(setup, shape)
    return charged(setup, cache, length)


def measured_terms(logged: Json) -> dict[str, float | None]:
    """What the log printed of the ledger, in GiB; a sum that it printed is rounded once and stands for its parts."""
    weights, peak = logged.get("weights_gib") or logged.get("load_gib"), logged.get("activation_peak_gib")
    if weights is None or peak is None:
        raise Unknown("no weights and peak logged")
    terms = {"weights_gib": weights, "transient_gib": peak, "non_torch_gib": logged.get("non_torch_gib"),
             "graphs_gib": logged.get("cuda_graph_estimated_gib")}
    if logged.get("non_kv_gib") is not None:
        terms["consumed_gib"] = logged["non_kv_gib"] - peak
    return terms


def engine_of(case: Json) -> Engine:
    """What the log's release charges."""
    version = version_of(case)
    for engine in ENGINES.values():
        if version >= engine.since:
            return engine
    raise Unknown(f"vLLM {case.get('vllm_version')} is older than the rules")


def version_of(case: Json) -> tuple[int, int]:
    """Major and minor of the release; raises Unknown for a text that begins otherwise."""
    found = re.match(r"v?(\d+)\.(\d+)", str(case.get("vllm_version") or ""))
    if not found:
        raise Unknown("the release is not named")
    return int(found[1]), int(found[2])


def shape_of(case: Json) -> Model | None:
    """The known shape of the log's model where it agrees with the log's own figures, else None."""
    shape, arch = shape_called(str(case.get("model") or "")), case.get("arch") or {}
    if shape is None:
        return None
    same = arch.get("layers") in (None, shape.layers)
    if not shape.latent:
        same = same and arch.get("kv_heads") in (None, shape.kv_heads) and (
            arch.get("head_dim") in (None, shape.head_dim)
        )
    return shape if same else None


def nobody(case: Json) -> Model:
    """A stand-in for a model of which only the KV's shape is known; its weights and peak are given."""
    arch = case["arch"]
    heads = arch.get("query_heads") or arch.get("heads") or case.get("tp") or 1
    return Model(name=str(case.get("model")), source=str(case.get("model")), parameters=0, layers=arch["layers"],
                 query_heads=heads, kv_heads=arch.get("kv_heads") or 1, head_dim=arch.get("head_dim") or 0, hidden=0,
                 ffn=0, vocabulary=0, longest_context=0)


def card_of(case: Json, logged: Json) -> tuple[Gpu, float]:
    """The catalogue's GPU of that name, and the memory that the log saw in all."""
    name = str(case.get("gpu") or "")
    like = [gpu for gpu in GPUS.values() if bare(gpu.name) in bare(name)]
    card = max(like, key=lambda gpu: len(gpu.name), default=None)
    printed = re.search(r"([0-9]+(?:\.[0-9]+)?) GiB", name)
    total = logged.get("total_gib") or (float(printed[1]) if printed else None)
    if card is None and total is not None:
        card = replace(GPUS["l40s"], name=name, visible_gib=total)
    if card is None or (total is None and VARIANT.search(bare(name))):
        raise Unknown(f"a GPU called {name}")
    return card, total or card.visible_gib


def bare(name: str) -> str:
    """A name's letters and digits alone, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def cache_of_case(case: Json, shape: Model | None) -> Cache:
    """One GPU's cache from the log's own figures; raises Unknown for what isn't sized here."""
    arch, name = dict(case.get("arch") or {}), str(case.get("model") or "").lower()
    told = {key for key in case if OUTCOME.search(key) or INFORMS.search(key)}
    if unread := sorted(key for key in set(case) - SAID - told if case[key]):
        raise Unknown(f"the setting {', '.join(unread)}")
    mixed = set(arch) - SHAPE or arch.get("attention") not in WHOLE or MIXED.search(name)
    size = ELEMENT_BYTES.get(kv_type(case))
    if size is None:
        raise Unknown(f"a KV cache in {case.get('kv_cache_dtype')}")
    tensor, stages, block = case.get("tp") or 1, case.get("pp") or 1, case.get("block_size") or 16
    budget = case.get("max_num_batched_tokens") or 8_192
    if mixed:
        return mixed_cache(case, shape, size, block, budget)
    if not arch.get("layers") or arch["layers"] % stages:
        raise Unknown("layers that the stages don't divide" if arch.get("layers") else "a shape that isn't given")
    kinds = (MLA if arch.get("attention") == "mla" else FULL,) * (arch["layers"] // stages)
    if arch.get("attention") == "mla" and arch.get("kv_lora_rank") and arch.get("qk_rope_head_dim"):
        each = (arch["kv_lora_rank"] + arch["qk_rope_head_dim"]) * size
    elif arch.get("kv_heads") and arch.get("head_dim"):
        each = 2 * max(1, arch["kv_heads"] // tensor) * arch["head_dim"] * size
    else:
        raise Unknown("a shape that isn't given")
    return Cache(kinds=kinds, token_bytes=each, block_size=block, in_flight_tokens=2 * budget)


def mixed_cache(case: Json, shape: Model | None, size: int, block: int, budget: int) -> Cache:
    """The cache of a model whose layers differ, where its pattern is known and the release's way of counting too."""
    version = version_of(case)
    if shape is None or set(shape.pattern) == {FULL} or (case.get("pp") or 1) > 1:
        raise Unknown("layers of several kinds")
    if TOKENS_FROM_GROUPS < version < (0, 33):
        raise Unknown("how this release counts the tokens of several layer kinds")
    each = 2 * max(1, shape.kv_heads // (case.get("tp") or 1)) * shape.head_dim * size
    return Cache(kinds=shape.kinds, token_bytes=each, window=shape.window, block_size=block,
                 in_flight_tokens=2 * budget)


def kv_type(case: Json) -> str:
    """The KV's element type: its own, or with auto the model's."""
    named = str(case.get("kv_cache_dtype") or "auto")
    if named == "auto":
        return str(case.get("dtype") or "bfloat16").removeprefix("torch.")
    return FP8 if named.startswith("fp8_e") else named


def format_of(case: Json) -> str:
    """The weights' format as the catalogue names it; "" for one it has no size for."""
    scheme, name = str(case.get("quantization") or "").lower(), str(case.get("model") or "").lower()
    if not scheme or scheme == "none":
        return BF16 if str(case.get("dtype") or "bfloat16").removeprefix("torch.") in ("bfloat16", "float16") else ""
    if scheme in INT4_QUANTISERS or "w4a16" in name:
        return INT4
    if scheme == "fp8" or (scheme == "compressed-tensors" and re.search(r"w8a8|fp8", name)):
        return FP8
    return ""


def refuse_blind(case: Json, shape: Model | None, card: Gpu) -> None:
    """Raise Unknown for a log whose weights or peak follow from no rule here."""
    if shape is None:
        raise Unknown(f"no shape known of {case.get('model')}")
    if set(shape.pattern) - {FULL, MLA}:
        raise Unknown("weights and peak of a model with several layer kinds")
    form = format_of(case)
    if not form:
        raise Unknown(f"weights in {case.get('quantization') or case.get('dtype')}")
    if shape.experts and (form != BF16 or (case.get("pp") or 1) > 1 or (case.get("dp") or 1) > 1):
        raise Unknown("experts that are quantised or spread")
    if (case.get("tp") or 1) > 1 and not card.nvlink_gb_per_s:
        raise Unknown("NCCL's buffers without NVLink")


def refuse_stage(setup: Setup, shape: Model | None) -> None:
    """Raise Unknown for figures of a pipeline stage that isn't the one that decides the blocks."""
    if shape is None:
        raise Unknown("stages of a pipeline of which one is logged")
    if setup.transient_gib is not None and setup.transient_gib * GIB < LAST_STAGE * sampler_bytes(setup):
        raise Unknown("the figures are those of a stage that does not sample; the last one decides")


def positive(number: Json) -> int | None:
    """The number if it is one above 0."""
    return number if isinstance(number, int) and number > 0 else None
