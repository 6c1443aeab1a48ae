"""The memory-ledger lab: where a GPU's memory goes, which phase stops a start, and what a cold start waits for."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import memory_ledger_gist, memory_ledger_picture, memory_ledger_start_picture
from calculators.labs.base import Ask, Group, Lab, Paste, Preset, Switch, View
from calculators.labs.row_field import GpuField, ModelField
from calculators.models import cold_start, memory_ledger, startup_log, startup_phases
from calculators.models.catalogue import BF16, FP8, GPUS, INT4, MODELS, NATIVE, NVFP4
from calculators.models.kv_pool import ENGINES, NEWEST

FORMATS = [(BF16, "bf16"), (FP8, "fp8"), (INT4, "int4"), (NVFP4, "nvfp4"), (NATIVE, "as published")]
LARGEST_GIB = 1_000


def logged(label: str, **more: Any) -> forms.FloatField:
    """A size in GiB that a log gives; empty where it follows from the rules."""
    return forms.FloatField(label=label, min_value=0, max_value=LARGEST_GIB, required=False, **more)


class LedgerForm(forms.Form):
    """The model on its GPU, the flags, what the release charges, the rules of thumb, and what a log measured."""

    model = ModelField(initial="llama-3.1-8b")
    weights = forms.ChoiceField(choices=FORMATS, initial=BF16)
    gpu = GpuField(label="GPU", initial="h100")
    tensor_parallel_size = forms.TypedChoiceField(
        label="tensor parallel", choices=[(n, str(n)) for n in (1, 2, 4, 8, 16)], coerce=int, initial=1,
    )
    gpu_memory_utilization = forms.FloatField(
        label="utilization, u", min_value=0.01, max_value=1, initial=0.92, required=False,
        help_text="of all memory, not of what is free; empty: the release’s own",
    )
    max_num_batched_tokens = forms.IntegerField(
        label="batched tokens, T", min_value=1, max_value=131_072, initial=8_192, required=False,
    )
    max_num_seqs = forms.IntegerField(
        label="sequences, S", min_value=1, max_value=65_536, initial=1_024, required=False,
        help_text="empty T or S: what vllm serve takes on this GPU",
    )
    max_model_len = forms.IntegerField(
        label="max_model_len", min_value=1, max_value=10_485_760, initial=131_072, required=False,
        help_text="empty: the model’s own",
    )
    kv_cache_dtype = forms.ChoiceField(label="KV format", choices=FORMATS[:2] + FORMATS[3:4], initial=BF16)
    version = forms.ChoiceField(
        label="vLLM", choices=[(slug, engine.name) for slug, engine in ENGINES.items()], initial=NEWEST,
        help_text="which sampler, and whether graphs are charged",
    )
    penalty_buffer = Switch(label="penalty buffer", initial=True, help_text="kept whether or not anyone uses penalties")
    ngram_table = Switch(label="n-gram table", initial=False)
    estimate_graphs = Switch(label="charge graphs", initial=True)
    flashinfer_sampler = Switch(label="FlashInfer sampler", initial=True)
    flashinfer_workspace = Switch(label="FlashInfer workspace", initial=False)
    visible_gib = forms.FloatField(
        label="GPU, visible", min_value=1, max_value=LARGEST_GIB, required=False, help_text="empty: the GPU’s usual",
    )
    baseline_gib = logged("baseline", help_text="empty: 0.6, or 1.5 with NCCL")
    other_gib = forms.FloatField(label="others hold", min_value=0, max_value=LARGEST_GIB, initial=0)
    non_torch_gib = logged("non-torch", help_text="empty: 0.25, or 2.1 among several GPUs")
    logit_bytes = forms.FloatField(
        label="bytes a logit", min_value=2, max_value=100, required=False, help_text="empty: 14 in this release",
    )
    graphs_gib = logged("CUDA graphs", help_text="empty: 0.027 a layer")
    weights_gib = logged("weights, loaded")
    consumed_gib = logged("consumed", help_text="weights, buffers and non-torch in one")
    activation_gib = logged("activation peak")
    available_gib = logged("available for KV", help_text="then the least certain rule is solved for")
    graphs_actual_gib = logged("graphs, actual")
    spike_gib = forms.FloatField(
        label="a spike of", min_value=0, max_value=LARGEST_GIB, initial=0, help_text="after the start",
    )

    units = {
        "visible_gib": "GiB", "baseline_gib": "GiB",
        "other_gib": "GiB", "non_torch_gib": "GiB", "graphs_gib": "GiB", "weights_gib": "GiB", "consumed_gib": "GiB",
        "activation_gib": "GiB", "available_gib": "GiB", "graphs_actual_gib": "GiB", "spike_gib": "GiB",
        "logit_bytes": "B",
    }


class PhasesForm(forms.Form):
    """What was run: the model, the GPUs, the flags of the budget, and who else is on the GPU."""

    model = ModelField(initial="llama-3.1-70b")
    weights = forms.ChoiceField(choices=FORMATS, initial=BF16)
    gpu = GpuField(label="GPU", initial="h100")
    tensor_parallel_size = forms.TypedChoiceField(
        label="tensor parallel", choices=[(n, str(n)) for n in (1, 2, 4, 8, 16)], coerce=int, initial=2,
    )
    data_parallel_size = forms.IntegerField(
        label="data parallel", min_value=1, max_value=64, initial=1, help_text="each rank holds all the weights",
    )
    gpu_memory_utilization = forms.FloatField(label="utilization", min_value=0.01, max_value=1, initial=0.92)
    max_model_len = forms.IntegerField(min_value=1, max_value=10_485_760, initial=131_072)
    max_num_seqs = forms.IntegerField(label="sequences", min_value=1, max_value=65_536, initial=1_024)
    max_num_batched_tokens = forms.IntegerField(label="batched tokens", min_value=1, max_value=131_072, initial=8_192)
    other_gib = forms.FloatField(label="others hold", min_value=0, max_value=LARGEST_GIB, initial=0)
    graphs_actual_gib = logged("graphs, actual", help_text="empty: as estimated")

    units = {"other_gib": "GiB", "graphs_actual_gib": "GiB"}


class ColdStartForm(forms.Form):
    """How much is read and how fast, what is compiled and captured, and how long a start may take."""

    weight_gb = forms.FloatField(label="weights", min_value=0.1, max_value=10_000, initial=141.1)
    read_gb_per_s = forms.FloatField(label="read at", min_value=0.01, max_value=1_000, initial=1)
    rate_of = forms.ChoiceField(
        label="the rate is", choices=[(cold_start.NODE, "shared"), (cold_start.RANK, "each rank’s")],
        initial=cold_start.NODE,
    )
    tensor_parallel_size = forms.IntegerField(label="ranks", min_value=1, max_value=64, initial=4)
    compile_cache = Switch(label="compile cache", initial=False)
    cold_compile_s = forms.FloatField(label="compile, cold", min_value=0, max_value=3_600, initial=60)
    warm_compile_s = forms.FloatField(label="compile, cached", min_value=0, max_value=3_600, initial=5)
    level = forms.ChoiceField(
        label="optimisation", choices=[(level, f"-{level}") for level in (cold_start.O2, cold_start.O1, cold_start.O0)],
        initial=cold_start.O2, help_text="-O1 captures no full graphs, -O0 none",
    )
    capture_sizes = forms.IntegerField(label="capture sizes", min_value=0, max_value=1_024, initial=51)
    capture_s_per_size = forms.FloatField(label="each takes", min_value=0, max_value=60, initial=0.392)
    init_s = forms.FloatField(label="processes, NCCL", min_value=0, max_value=3_600, initial=15)
    profile_s = forms.FloatField(label="profile, KV plan", min_value=0, max_value=3_600, initial=5)
    warm_up_s = forms.FloatField(label="warm-up", min_value=0, max_value=3_600, initial=5)
    target_s = forms.FloatField(label="allowed", min_value=1, max_value=36_000, initial=90)

    units = {
        "weight_gb": "GB", "read_gb_per_s": "GB/s", "cold_compile_s": "s", "warm_compile_s": "s",
        "capture_s_per_size": "s", "init_s": "s", "profile_s": "s", "warm_up_s": "s", "target_s": "s",
    }


def phases_summary(inputs: Mapping[str, Any]) -> str:
    """"Llama-3.1-70B bf16, 2 × H100, 131,072 tokens"."""
    cards = inputs["tensor_parallel_size"] * inputs["data_parallel_size"]
    return (f"{MODELS[inputs['model']].name} {inputs['weights']}, {cards:,} × {GPUS[inputs['gpu']].name}, "
            f"{inputs['max_model_len']:,} tokens")


def cold_start_summary(inputs: Mapping[str, Any]) -> str:
    """"141.1 GB at 1 GB/s, compiled cold"."""
    compiled = "not compiled" if inputs["level"] == cold_start.O0 else (
        "compiled before" if inputs["compile_cache"] else "compiled cold")
    return f"{inputs['weight_gb']:g} GB at {inputs['read_gb_per_s']:g} GB/s, {compiled}"


def tell_phases(result: startup_phases.StartUp) -> Iterator[str]:
    """The log, then the phase that ends it and what there is to say."""
    yield from result.log
    yield result.finding
    yield from filter(None, (result.never_verdict, result.fix_verdict))


def tell_cold_start(result: cold_start.ColdStart) -> Iterator[str]:
    """The finding, the phases, and the same with each thing changed."""
    yield result.finding
    for line in result.lines:
        yield f"{line.label} = {f'{line.expression} = ' if line.expression else ''}{line.figure} s"
    yield from (f"{change.name}: {change.seconds:,.1f} s" for change in result.changes)
    yield from (result.change_verdict, result.engine_verdict)


def summary(inputs: Mapping[str, Any]) -> str:
    """"Llama-3.1-8B bf16, H100, u 0.92"."""
    split = f" × {inputs['tensor_parallel_size']}" if inputs["tensor_parallel_size"] > 1 else ""
    share = inputs["gpu_memory_utilization"]
    own = ENGINES[inputs["version"]].utilization
    return (f"{MODELS[inputs['model']].name} {inputs['weights']}, {GPUS[inputs['gpu']].name}{split}, "
            f"u {own if share is None else share:g}")


def tell(result: memory_ledger.Ledger) -> Iterator[str]:
    """The finding, the ledger, what it comes to and what each flag would change, for a shell."""
    yield result.finding
    for term in result.terms:
        yield f"{term.label} = {f'{term.expression} = ' if term.expression else ''}{term.gib:.2f} GiB ({term.says})"
    yield from filter(None, (result.outcome_verdict, result.message, result.fix_verdict, result.sampler_verdict,
                             result.late_verdict))
    for lever in result.levers:
        yield f"{lever.flag}: {lever.gain_gib:+.2f} GiB of KV, {lever.ends}"


SEVENTY = {"model": "llama-3.1-70b", "tensor_parallel_size": 2}

LEDGER = View(
    "ledger", LedgerForm, memory_ledger.solve, picture=memory_ledger_picture.picture, summary=summary, tell=tell,
    ask=Ask(figure="kv_gib", label="GiB of KV", unit="GiB"), fragment="calculators/labs/_memory_ledger.html",
    paste=Paste("From a log", "Paste vLLM’s start-up lines; what it measured replaces the rules here. They are read "
                "once and kept nowhere.", "Available KV cache memory: …", startup_log.read),
    gist=memory_ledger_gist.ledger,
    presets=(
        Preset("8B on an H100", {}, "Plain vllm serve. Ten of 79 GiB are neither weights nor KV: name them."),
        Preset("70B on two", SEVENTY,
               "Loads for minutes, then refuses. Make it start without touching the weights: which flags are dead?"),
        Preset("70B in fp8 on two", SEVENTY | {"weights": FP8}, "Half the weights come back as KV."),
        Preset("a third instance’s 8 GiB", SEVENTY | {"other_gib": 8},
               "The budget is a share of the whole GPU; what others hold is only looked at once."),
        Preset("8B under 0.19", {"version": "0.18", "gpu_memory_utilization": 0.95, "max_model_len": 8_192},
               "A public log has 58.11 GiB: no penalty buffer, and graphs outside the budget."),
        Preset("30B-A3B", {"model": "qwen3-30b-a3b", "max_model_len": 40_960},
               "Experts bring a workspace on top of the larger of forward pass and sampler."),
        Preset("0.98 of it", {"gpu_memory_utilization": 0.98, "spike_gib": 1.5},
               "4.75 GiB more KV, and less than a GiB for every spike that the profile doesn’t see."),
    ),
    groups=(
        Group("", ("model", "weights", "gpu", "tensor_parallel_size", "gpu_memory_utilization",
                   "max_num_batched_tokens", "max_num_seqs", "max_model_len")),
        Group("Engine", ("version", "kv_cache_dtype", "penalty_buffer", "ngram_table", "estimate_graphs",
                         "flashinfer_sampler", "flashinfer_workspace"), folded=True),
        Group("Rules of thumb", ("baseline_gib", "other_gib", "non_torch_gib", "graphs_gib", "logit_bytes"),
              folded=True),
        Group("Measured", ("visible_gib", "weights_gib", "consumed_gib", "activation_gib", "available_gib",
                           "graphs_actual_gib"), folded=True),
        Group("After the start", ("spike_gib",), folded=True),
    ),
)

PHASES = View(
    "phases", PhasesForm, startup_phases.solve, picture=memory_ledger_start_picture.phases, summary=phases_summary,
    tell=tell_phases, fragment="calculators/labs/_memory_ledger_phases.html",
    ask=Ask(figure="fails", label="the phase that ends it", choices=tuple(startup_phases.PHASES.items())),
    presets=(
        Preset("70B on two", {}, "141 GB on 160 GB of GPUs. Read the log, then name the phase."),
        Preset("no -tp", {"tensor_parallel_size": 1}, "The same on one GPU."),
        Preset("data parallel 2", {"tensor_parallel_size": 1, "data_parallel_size": 2}, "Two GPUs, used otherwise."),
        Preset("a neighbour with 8 GiB", {"other_gib": 8}, "Another process is on the GPUs."),
        Preset("utilization 0.85", {"gpu_memory_utilization": 0.85}, "A smaller budget: which message now?"),
        Preset("16,384 tokens", {"max_model_len": 16_384}, "Shorter requests, everything else by default."),
        Preset("16,384, smaller batch", {
            "max_model_len": 16_384, "max_num_seqs": 256, "max_num_batched_tokens": 2_048,
        }, "The same with a smaller sampler and a smaller step."),
        Preset("4,096 tokens", {"max_model_len": 4_096}, "How much shorter must it be?"),
    ),
    groups=(
        Group("", ("model", "weights", "gpu", "tensor_parallel_size", "data_parallel_size")),
        Group("Flags", ("gpu_memory_utilization", "max_model_len", "max_num_seqs", "max_num_batched_tokens")),
        Group("On the GPU", ("other_gib", "graphs_actual_gib")),
    ),
)

COLD_START = View(
    "cold-start", ColdStartForm, cold_start.solve, title="cold start",
    picture=memory_ledger_start_picture.cold_start, summary=cold_start_summary, tell=tell_cold_start,
    fragment="calculators/labs/_memory_ledger_cold_start.html",
    ask=Ask(figure="total_s", label="to the first token", unit="s"), gist=memory_ledger_gist.cold_start,
    presets=(
        Preset("70B, all cold", {}, "Four minutes, and 90 s allowed: choose two changes."),
        Preset("NVMe and compile cache", {"read_gb_per_s": 6, "compile_cache": True},
               "Now the capture is nearly the largest, and it can’t be kept."),
        Preset("8B from the page cache", {"weight_gb": 16.06, "read_gb_per_s": 20, "tensor_parallel_size": 1},
               "A restart on the same node: compilation is what is left."),
        Preset("four local disks", {"read_gb_per_s": 2, "rate_of": cold_start.RANK}, "Each rank reads its own shard."),
        Preset("no compilation", {"level": cold_start.O0},
               "Starts sooner, and every decode step pays for it afterwards."),
    ),
    groups=(
        Group("Weights", ("weight_gb", "read_gb_per_s", "rate_of", "tensor_parallel_size")),
        Group("Compilation and capture", ("compile_cache", "cold_compile_s", "warm_compile_s", "level", "capture_sizes",
                                          "capture_s_per_size")),
        Group("The rest", ("init_s", "profile_s", "warm_up_s", "target_s")),
    ),
)

LAB = Lab(
    slug="memory-ledger", title="The memory ledger", topic="sizing", line="Beyond weights and KV",
    fragment="calculators/labs/_memory_ledger.html", thumbnail=memory_ledger_picture.thumbnail,
    views=(LEDGER, PHASES, COLD_START),
    notes=("Sizes and the budget are exact. Non-torch growth, peak and graphs are rules, read off public start-up "
           "logs: good to half a GiB on one GPU, to one among several. Logged figures make the ledger exact.",),
)
