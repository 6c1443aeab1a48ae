"""Start-up lines of vLLM, read: what the engine measured and was told, as the ledger's inputs."""
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from calculators.models.catalogue import BF16, FP8, MODELS
from calculators.models.kv_pool import ENGINES
from calculators.models.shapes import shape_called
from calculators.models.startup_trace import Unknown, engine_of, format_of

LONGEST_LINE = 20_000
MOST_FAULTS = 12  # that are listed
NUMBER = r"(-?[0-9]{1,9}(?:\.[0-9]{1,12})?)"
SIZE = rf"{NUMBER} ?Gi?B"
COUNT = r"([0-9]{1,9})"
MEASURED = ("visible_gib", "baseline_gib", "non_torch_gib", "graphs_gib", "weights_gib", "consumed_gib",
            "activation_gib", "available_gib", "graphs_actual_gib")
NOTHING = "No start-up line of vLLM is in it. It takes lines such as “Available KV cache memory: 54.40 GiB”."
# Leads that also stand in lines without their figure.
LOOSE = ("max_num_seqs", "max_num_batched_tokens", "--gpu-memory-utilization=", "quantization=", "kv_cache_dtype=",
         "with config: model=")
BUILT_IN = ("None", "auto", "")


class Pasted(NamedTuple):
    """What a pasted text comes down to: inputs by name, and a sentence for each line that can't be read or taken."""

    values: dict[str, Any]
    faults: tuple[str, ...]


class Form(NamedTuple):
    """One form that a line takes: the words it is known by, the figures in it, and the names they go by."""

    lead: str
    figures: re.Pattern[str]
    names: tuple[str, ...]
    takes: Callable[[str], Any] = float


def form(lead: str, figures: str, *names: str, takes: Callable[[str], Any] = float) -> Form:
    return Form(lead, re.compile(figures), names, takes)


def whole(text: str) -> int:
    """A whole number, its thousands apart or not; 0 of commas alone."""
    return int(text.replace(",", "") or 0)


FORMS = (
    form("LLM engine (v", r"LLM engine \(v([0-9][^)]*)\)", "version", takes=str),
    form("vLLM API server version", r"API server version v?([0-9][0-9.]*[0-9])", "version", takes=str),
    form("with config: model=", r"with config: model='([^']+)'", "model", takes=str),
    form("max_seq_len=", rf"max_seq_len={COUNT}", "max_model_len", takes=whole),
    form("tensor_parallel_size=", rf"tensor_parallel_size={COUNT}", "tensor", takes=whole),
    form("pipeline_parallel_size=", rf"pipeline_parallel_size={COUNT}", "stages", takes=whole),
    form("dtype=torch.", r"\bdtype=torch\.([a-z0-9]+)", "dtype", takes=str),
    form("quantization=", r"\bquantization='?([A-Za-z0-9_-]+)'?", "quantization", takes=str),
    form("kv_cache_dtype=", r"\bkv_cache_dtype='?([A-Za-z0-9_]+)'?", "kv_cache_dtype", takes=str),
    form("'gpu_memory_utilization':", rf"'gpu_memory_utilization': {NUMBER}", "utilization"),
    form("--gpu-memory-utilization=", rf"current --gpu-memory-utilization={NUMBER} is", "utilization"),
    form("x gpu_memory_utilization (", rf"total_gpu_memory \({SIZE}\) x gpu_memory_utilization \({NUMBER}\)",
         "total", "utilization"),
    form("max_num_batched_tokens", rf"max_num_batched_tokens(?:=|'?: | to ){COUNT}", "tokens", takes=whole),
    form("max_num_seqs", rf"max_num_seqs(?:=|'?: | to ){COUNT}", "seats", takes=whole),
    form("init memory snapshot", rf"free_memory={SIZE}, total_memory={SIZE}", "free", "total"),
    form("Model loading took", rf"Model loading took {SIZE}", "weights"),
    form("Loading model weights took", rf"Loading model weights took {SIZE}", "weights"),
    form("torch peak memory increase",
         rf"torch peak memory increase: {SIZE}; non-torch forward increase memory: {SIZE}; weights memory: {SIZE}",
         "peak", "growth", "weights"),
    form("model weights take",
         rf"model weights take {SIZE}; non_torch_memory takes {SIZE}; PyTorch activation peak memory takes {SIZE}; "
         rf"the rest of the memory reserved for KV Cache is {SIZE}", "weights", "growth", "peak", "available"),
    form("Available KV cache memory", rf"Available KV cache memory: {SIZE}", "available"),
    form("Maximum concurrency for", r"Maximum concurrency for ([0-9,]{1,12}) tokens", "max_model_len", takes=whole),
    form("Estimated CUDA graph memory", rf"Estimated CUDA graph memory: {SIZE}", "graphs"),
    form("CUDA graph pool memory", rf"CUDA graph pool memory: {SIZE} \(actual\), {SIZE} \(estimated\)",
         "graphs_actual", "graphs"),
    form("Graph capturing finished", rf"Graph capturing finished in .* took {SIZE}", "graphs_actual"),
    form("on startup. Desired GPU memory utilization", rf"\({NUMBER}/{NUMBER} GiB\) on startup\. .*is \({NUMBER}, ",
         "free", "total", "utilization"),
    form("on startup is less than desired",
         rf"\({NUMBER}/{NUMBER} GiB\) on startup is less than desired GPU memory utilization \({NUMBER}, ",
         "free", "total", "utilization"),
    form("for consumed memory", rf"Actual usage is {SIZE} for consumed memory .*?, {SIZE} for peak activation, and "
         rf"{SIZE} for CUDAGraph memory", "consumed", "peak_and_graphs", "graphs_actual"),
    form("GiB for weight, ", rf"Actual usage is {SIZE} for weight, {SIZE} for peak activation, {SIZE} for non-torch "
         rf"memory, and {SIZE} for CUDAGraph memory", "weights", "peak", "growth", "graphs_actual"),
    form("kv cache memory in use is", rf"kv cache memory in use is {SIZE}", "available"),
    form("larger than the available KV cache memory",
         rf"max seq len \({COUNT}\).*available KV cache memory \({NUMBER} GiB\)", "max_model_len", "available",
         takes=lambda text: whole(text) if "." not in text else float(text)),
)
ANY_LEAD = re.compile("|".join(re.escape(each.lead) for each in FORMS))


def read(text: str) -> Pasted:
    """The inputs that start-up lines give; measured sizes that they don't give are emptied."""
    found, faults = figures_of(text)
    if not found:
        return Pasted({}, (*faults[:MOST_FAULTS], NOTHING))
    values: dict[str, Any] = dict.fromkeys(MEASURED) | sizes_of(found)
    values |= settings_of(found, faults)
    more = [f"And {len(faults) - MOST_FAULTS:,} lines more."] if len(faults) > MOST_FAULTS else []
    return Pasted(values, (*faults[:MOST_FAULTS], *more))


def figures_of(text: str) -> tuple[dict[str, Any], list[str]]:
    """The figures by name, the first of each, the least memory available; and a sentence for each that can't be read.
    """
    found: dict[str, Any] = {}
    faults: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line or not ANY_LEAD.search(line):
            continue
        for each in FORMS:
            if each.lead not in line:
                continue
            matched = each.figures.search(line[:LONGEST_LINE])
            if matched is None:
                if each.lead not in LOOSE:
                    faults.append(f"Line {number}: no figure can be read after “{each.lead.strip(' (=,')}”.")
                continue
            for name, figure in zip(each.names, matched.groups(), strict=True):
                value = each.takes(figure)
                if name == "available" and name in found and found[name] != value:
                    faults.append(f"Line {number}: another rank has {value:g} GiB for KV; the least counts.")
                    found[name] = min(found[name], value)
                found.setdefault(name, value)
    return found, faults


def sizes_of(found: dict[str, Any]) -> dict[str, float]:
    """The ledger's measured inputs."""
    sizes = {
        "visible_gib": found.get("total"), "weights_gib": found.get("weights"), "non_torch_gib": found.get("growth"),
        "activation_gib": found.get("peak"), "available_gib": found.get("available"),
        "graphs_gib": found.get("graphs"), "graphs_actual_gib": found.get("graphs_actual"),
    }
    if found.get("free") is not None and found.get("total") is not None:
        sizes["baseline_gib"] = round(max(found["total"] - found["free"], 0.0), 2)
    if found.get("weights") is None:  # else the growth beside the weights is solved for
        sizes["consumed_gib"] = found.get("consumed")
    if found.get("peak_and_graphs") is not None and found.get("graphs") is not None:
        sizes["activation_gib"] = round(max(found["peak_and_graphs"] - found["graphs"], 0.0), 2)
    if (available := sizes["available_gib"]) is not None and available < 0:
        sizes["available_gib"] = None  # the rules stand where nothing was left
    return {name: size for name, size in sizes.items() if size is not None and size >= 0}


def settings_of(found: dict[str, Any], faults: list[str]) -> dict[str, Any]:
    """The ledger's settings; what its form doesn't have is added to the faults."""
    values: dict[str, Any] = {}
    for name, knob in (("utilization", "gpu_memory_utilization"), ("tokens", "max_num_batched_tokens"),
                       ("seats", "max_num_seqs"), ("max_model_len", "max_model_len"),
                       ("tensor", "tensor_parallel_size")):
        if found.get(name):
            values[knob] = found[name]
    if found.get("stages", 1) > 1:
        faults.append(f"A pipeline of {found['stages']:,} stages is not on this form; the figures are those of one.")
    if "version" in found:
        try:
            engine = engine_of({"vllm_version": found["version"]})
            values["version"] = next(slug for slug, other in ENGINES.items() if other is engine)
            values.setdefault("gpu_memory_utilization", engine.utilization)
        except Unknown as why:
            faults.append(f"{why}.")
    if "model" in found:
        named(found, values, faults)
    if (kv := found.get("kv_cache_dtype", "auto")) not in BUILT_IN:
        if kv.startswith("fp8"):
            values["kv_cache_dtype"] = FP8
        else:
            faults.append(f"A KV cache in {kv} is not on this form.")
    elif "kv_cache_dtype" in found:
        values["kv_cache_dtype"] = BF16
    return values


def named(found: dict[str, Any], values: dict[str, Any], faults: list[str]) -> None:
    """Add the model and its format, or the sentence that says why not."""
    shape = shape_called(found["model"])
    slug = next((slug for slug, model in MODELS.items() if model is shape), None)
    if slug is None:
        faults.append(f"The catalogue has no {found['model']}; set the nearest model. Its weights are as measured.")
        return
    values["model"] = slug
    scheme = found.get("quantization", "None")
    form = format_of({"model": found["model"], "dtype": found.get("dtype"),
                      "quantization": None if scheme in BUILT_IN else scheme})
    if form:
        values["weights"] = form
    else:
        faults.append(f"Weights in {scheme if scheme not in BUILT_IN else found.get('dtype')} are not on this form; "
                      "what was measured stands.")
