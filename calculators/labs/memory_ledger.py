"""The memory-ledger lab: where a GPU's memory goes, which phase stops a start, and what a cold start waits for."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import memory_ledger_picture
from calculators.labs.base import Ask, Group, Lab, Preset, Switch, View
from calculators.models import memory_ledger
from calculators.models.catalogue import BF16, FP8, GPUS, INT4, MODELS, NATIVE, NVFP4
from calculators.models.kv_pool import ENGINES, NEWEST

FORMATS = [(BF16, "bf16"), (FP8, "fp8"), (INT4, "int4"), (NVFP4, "nvfp4"), (NATIVE, "as published")]
LARGEST_GIB = 1_000


def logged(label: str, **more: Any) -> forms.FloatField:
    """A size in GiB that a log gives; empty where it follows from the rules."""
    return forms.FloatField(label=label, min_value=0, max_value=LARGEST_GIB, required=False, **more)


class LedgerForm(forms.Form):
    """The model on its GPU, the flags, what the release charges, the rules of thumb, and what a log measured."""

    model = forms.ChoiceField(choices=[(slug, model.name) for slug, model in MODELS.items()], initial="llama-3.1-8b")
    weights = forms.ChoiceField(choices=FORMATS, initial=BF16)
    gpu = forms.ChoiceField(label="GPU", choices=[(slug, gpu.name) for slug, gpu in GPUS.items()], initial="h100")
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

LAB = Lab(
    slug="memory-ledger", title="The memory ledger", topic="sizing", line="Beyond weights and KV",
    fragment="calculators/labs/_memory_ledger.html", thumbnail=memory_ledger_picture.thumbnail, views=(LEDGER,),
    notes=("Sizes and the budget are exact. Non-torch growth, peak and graphs are rules, read off public start-up "
           "logs: good to half a GiB on one GPU, to one among several. Logged figures make the ledger exact.",),
)
