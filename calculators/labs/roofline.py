"""The roofline lab: which of reading and multiplying sets a step, a laptop against it, and what formats change."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import roofline_picture
from calculators.labs.base import Ask, Group, Lab, Preset, Switch, View
from calculators.labs.row_field import GpuField, ModelField
from calculators.models import laptop, roofline, weight_formats
from calculators.models.catalogue import FULL, GPUS, MODELS

DENSE = MODELS.only(lambda model: set(model.pattern) == {FULL} and not model.experts)
SHARE = {"min_value": 0.05, "max_value": 1}


class RidgeForm(forms.Form):
    """A GPU's rates, a model's sizes, and the step that is looked at."""

    gpu = GpuField(label="GPU", initial="h100")
    params_b = forms.FloatField(label="parameters", min_value=0.01, max_value=10_000, initial=8.03)
    tflop_per_s = forms.FloatField(
        label="peak, dense", min_value=1, max_value=100_000, required=False, help_text="empty: its bf16 peak",
    )
    tb_per_s = forms.FloatField(
        label="bandwidth", min_value=0.01, max_value=100, required=False, help_text="empty: its own",
    )
    bytes_per_weight = forms.FloatField(label="bytes a weight", min_value=0.25, max_value=4, initial=2.0)
    context_tokens = forms.IntegerField(label="context", min_value=0, max_value=2_000_000, initial=0)
    batch = forms.IntegerField(min_value=1, max_value=65_536, initial=64)
    prefill_tokens = forms.IntegerField(label="prefill", min_value=1, max_value=2_000_000, initial=8_192)
    active_params_b = forms.FloatField(
        label="active parameters", min_value=0.01, max_value=10_000, required=False, help_text="empty: all of them",
    )
    kv_bytes_per_token = forms.IntegerField(label="KV a token", min_value=64, max_value=10_000_000, initial=131_072)
    layers = forms.IntegerField(min_value=1, max_value=1_000, initial=32)
    hidden = forms.IntegerField(label="hidden, in attention", min_value=16, max_value=100_000, initial=4_096)
    tensor_parallel = forms.IntegerField(label="tensor parallel", min_value=1, max_value=64, initial=1)
    compute_share = forms.FloatField(label="FLOP/s reached", initial=1.0, help_text="0.6 to 0.75 of the peak", **SHARE)
    bandwidth_share = forms.FloatField(label="bandwidth reached", initial=1.0, help_text="0.75 to 0.9", **SHARE)

    units = {
        "tflop_per_s": "TF/s", "tb_per_s": "TB/s", "params_b": "B", "active_params_b": "B", "kv_bytes_per_token": "B",
        "context_tokens": "tok", "batch": "seqs", "prefill_tokens": "tok",
    }


class LaptopForm(forms.Form):
    """Two devices as bandwidth and bytes, and who asks for what."""

    laptop_gb_per_s = forms.FloatField(label="bandwidth", min_value=1, max_value=10_000, initial=546)
    laptop_gb = forms.FloatField(label="weights", min_value=0.05, max_value=10_000, initial=4.92)
    laptop_tflop_per_s = forms.FloatField(label="products", min_value=0.1, max_value=1_000, initial=15)
    laptop_share = forms.FloatField(label="of its bound", initial=1.0, help_text="60 to 80% in practice", **SHARE)
    laptop_reads_kv = Switch(label="reads its KV", initial=True)
    gpu = GpuField(label="GPU", initial="h100")
    gpu_gb = forms.FloatField(label="weights", min_value=0.05, max_value=10_000, initial=16.06)
    gpu_share = forms.FloatField(label="of its bound", initial=1.0, **SHARE)
    gpu_compute_share = forms.FloatField(label="of its peak", initial=0.5, **SHARE)
    users = forms.IntegerField(min_value=1, max_value=65_536, initial=1)
    context_tokens = forms.IntegerField(label="context", min_value=1, max_value=2_000_000, initial=2_048)
    kv_bytes_per_token = forms.IntegerField(label="KV a token", min_value=64, max_value=10_000_000, initial=131_072)
    params_b = forms.FloatField(label="parameters", min_value=0.01, max_value=10_000, initial=8.03)
    prompt_tokens = forms.IntegerField(label="prompt", min_value=1, max_value=2_000_000, initial=4_096)

    units = {
        "laptop_gb_per_s": "GB/s", "laptop_gb": "GB", "laptop_tflop_per_s": "TF/s", "gpu_gb": "GB",
        "context_tokens": "tok", "kv_bytes_per_token": "B", "params_b": "B", "prompt_tokens": "tok",
    }


class FormatsForm(forms.Form):
    """A model on one GPU, and the step that is looked at."""

    model = ModelField(DENSE, initial="llama-3.1-8b")
    gpu = GpuField(label="GPU", initial="h100")
    batch = forms.IntegerField(min_value=1, max_value=65_536, initial=1)
    context_tokens = forms.IntegerField(label="context", min_value=0, max_value=2_000_000, initial=2_048)
    prefill_tokens = forms.IntegerField(label="prefill", min_value=1, max_value=2_000_000, initial=8_192)

    units = {"batch": "seqs", "context_tokens": "tok", "prefill_tokens": "tok"}


def ridge_summary(inputs: Mapping[str, Any]) -> str:
    return (f"{GPUS[inputs['gpu']].name}, {inputs['params_b']:g}B at {inputs['bytes_per_weight']:g} bytes, context "
            f"{inputs['context_tokens']:,}")


def laptop_summary(inputs: Mapping[str, Any]) -> str:
    return (f"{inputs['laptop_gb_per_s']:g} GB/s and {inputs['laptop_gb']:g} GB against {GPUS[inputs['gpu']].name}, "
            f"{inputs['users']:,} user{'s' * (inputs['users'] != 1)}")


def formats_summary(inputs: Mapping[str, Any]) -> str:
    return f"{MODELS[inputs['model']].name} on {GPUS[inputs['gpu']].name}, batch {inputs['batch']:,}"


def tell(result: Any) -> Iterator[str]:
    """The finding, the derivation and the verdict, for a shell."""
    yield result.finding
    yield from map(str, result.lines)
    yield result.verdict


RIDGE = (
    Preset("8B bf16 on an H100", {}, "Without a context: say the batch at which decode turns compute-bound."),
    Preset("contexts of 2,048", {"context_tokens": 2_048}, "The same with KV to read: it never does."),
    Preset("fp8 weights and products", {"bytes_per_weight": 1, "tflop_per_s": 1_979}, "Both double: the ridge stays."),
    Preset("int4, weights alone", {"bytes_per_weight": 0.5}, "A quarter of the bytes, the same products."),
    Preset("8B on an H200", {"gpu": "h200"}, "More bandwidth and the same products: a smaller batch fills it."),
)
LAPTOP = (
    Preset("M4 Max against an H100", {}, "4-bit on 546 GB/s, bf16 on 3,350: up to how many users does the GPU lead?"),
    Preset("a team of 64", {"users": 64}, "Each gets about what the laptop gives, and all together 61 times as much."),
    Preset("contexts of 8,192", {"context_tokens": 8_192}, "KV weighs on the shared GPU first."),
    Preset("a laptop at 70%", {"laptop_share": 0.7}, "What is reached in practice, on that side alone."),
    Preset("a Mac mini M4", {"laptop_gb_per_s": 120}, "120 GB/s: a bound of 24 tokens/s, and 20.9 were measured."),
)
FORMATS = (
    Preset("8B, one user", {}, "Weights are nearly all that is read."),
    Preset("8B, 256 users", {"batch": 256}, "KV is most of what is read: the ranking flips."),
    Preset("8B on a B200", {"gpu": "b200"}, "Units for fp4: a prefill gains fourfold."),
    Preset("short contexts, 512 users", {"batch": 512, "context_tokens": 256}, "Past the ridge products count."),
)

LAB = Lab(
    slug="roofline", title="Roofline: what holds a step back", topic="kernels", line="Bytes, products and the ridge",
    fragment="calculators/labs/_parts.html", thumbnail=roofline_picture.thumbnail,
    views=(
        View("ridge", RidgeForm, roofline.solve, picture=roofline_picture.ridge_picture, summary=ridge_summary,
             tell=tell, presets=RIDGE, ask=Ask(figure="ridge_batch", label="compute-bound from (0: never)"),
             groups=(
                 Group("", ("gpu", "tflop_per_s", "tb_per_s", "params_b", "bytes_per_weight", "context_tokens", "batch",
                            "prefill_tokens")),
                 Group("More knobs", ("active_params_b", "kv_bytes_per_token", "layers", "hidden", "tensor_parallel",
                                      "compute_share", "bandwidth_share"), folded=True),
             )),
        View("laptop", LaptopForm, laptop.solve, picture=roofline_picture.laptop_picture, summary=laptop_summary,
             tell=tell, presets=LAPTOP, ask=Ask(figure="most_users", label="the GPU leads up to", unit="users"),
             groups=(
                 Group("The laptop", ("laptop_gb_per_s", "laptop_gb", "laptop_tflop_per_s", "laptop_share",
                                      "laptop_reads_kv")),
                 Group("The shared GPU", ("gpu", "gpu_gb", "gpu_share", "gpu_compute_share", "users")),
                 Group("The work", ("context_tokens", "kv_bytes_per_token", "params_b", "prompt_tokens")),
             )),
        View("formats", FormatsForm, weight_formats.solve, picture=roofline_picture.formats_picture,
             summary=formats_summary, tell=tell, presets=FORMATS,
             ask=Ask(figure="fp8_gain", label="gain of fp8 weights", unit="×")),
    ),
    notes=("Bounds at the rates given. What is reached, 60 to 75% of products and 75 to 90% of bandwidth, is a rule of "
           "thumb.",),
)
