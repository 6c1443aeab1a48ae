"""The batch-ceilings lab: KV pool, compute ridge and flag over one batch."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs.base import Ask, Group, Lab, Preset, View
from calculators.labs.batch_ceilings_gist import gist
from calculators.labs.batch_ceilings_picture import picture, thumbnail
from calculators.labs.row_field import GpuField, ModelField
from calculators.models.batch_ceilings import GPUS, MODELS, BatchCeilings, solve


class BatchCeilingsForm(forms.Form):
    """The sequences, vLLM's flag, the pool, and what a step costs."""

    context_tokens = forms.IntegerField(
        label="tokens each", min_value=1, max_value=1_000_000, initial=2_048, help_text="prompt and output, in the end",
    )
    max_num_seqs = forms.IntegerField(
        label="max_num_seqs", min_value=1, max_value=65_536, required=False, help_text="empty: the GPU’s default",
    )
    pool_gib = forms.FloatField(
        label="KV pool", min_value=0.1, max_value=8_192, required=False, initial=55,
        help_text="empty: what the weights leave",
    )
    model = ModelField(
        MODELS, initial="llama-3.1-8b",
    )
    gpu = GpuField(label="GPU", initial="h100")
    tensor_parallel_size = forms.TypedChoiceField(
        label="GPUs (TP)", choices=[(n, str(n)) for n in (1, 2, 4, 8)], coerce=int, initial=1,
    )
    weight_bits = forms.TypedChoiceField(
        label="weights", choices=[(16, "16-bit"), (8, "8-bit"), (4, "4-bit")], coerce=int, initial=16,
    )
    products = forms.ChoiceField(label="products in", choices=[("bf16", "BF16"), ("fp8", "FP8")], initial="bf16")
    kv_bits = forms.TypedChoiceField(label="KV", choices=[(16, "16-bit"), (8, "8-bit")], coerce=int, initial=16)
    block_size = forms.IntegerField(min_value=1, max_value=256, initial=16)
    gpu_memory_utilization = forms.FloatField(
        label="gpu_memory_utilization", min_value=0.1, max_value=1, initial=0.92,
    )
    other_gib = forms.FloatField(
        label="besides weights, KV", min_value=0, max_value=500, initial=3.5, help_text="on each GPU",
    )
    tflop_per_s = forms.FloatField(
        label="compute", min_value=0.1, max_value=20_000, required=False, help_text="empty: the datasheet’s, dense",
    )
    tb_per_s = forms.FloatField(
        label="bandwidth", min_value=0.01, max_value=100, required=False, help_text="empty: the datasheet’s",
    )

    units = {
        "context_tokens": "tok", "pool_gib": "GiB", "block_size": "tok", "other_gib": "GiB", "tflop_per_s": "TF/s",
        "tb_per_s": "TB/s",
    }


def summary(inputs: Mapping[str, Any]) -> str:
    """The scene in one line: "2,048 tokens each, Llama-3.1-8B on one H100, pool 55 GiB"."""
    gpus, card = inputs["tensor_parallel_size"], GPUS[inputs["gpu"]].name
    pool = f", pool {inputs['pool_gib']:g} GiB" if inputs["pool_gib"] else ""
    where = f"{gpus} × {card}" if gpus > 1 else f"one {card}"
    return f"{inputs['context_tokens']:,} tokens each, {MODELS[inputs['model']].name} on {where}{pool}"


def tell(result: BatchCeilings) -> Iterator[str]:
    """The finding, the derivation and the verdicts, for a shell."""
    yield result.finding
    yield from map(str, result.lines)
    yield from (result.binds_verdict, result.flag_verdict)


PRESETS = (
    Preset("2,048 tokens", {}, "Chat turns of some pages: the pool is full long before the flag."),
    Preset("256 tokens", {"context_tokens": 256},
           "Short replies: the pool would hold 1,760, and the flag lets in 3.5 times the ridge."),
    Preset("FP8 KV", {"kv_bits": 8}, "Half the bytes a token: the pool doubles and the ridge takes over."),
    Preset("two GPUs", {"tensor_parallel_size": 2, "pool_gib": None},
           "The weights are split too, so the pool more than doubles; the ridge stays."),
    Preset("A100", {"gpu": "a100", "context_tokens": 256},
           "Its default flag is 256, and its ridge lies at 153: the flag is past the ridge all the same."),
    Preset("70B on four", {"model": "llama-3.1-70b", "tensor_parallel_size": 4, "pool_gib": None,
                           "context_tokens": 4_096},
           "Nine times the weights, the same ridge."),
)

LAB = Lab(
    slug="batch-ceilings", title="Three ceilings on the batch", topic="scheduling",
    line="KV pool, ridge, flag: which binds", fragment="calculators/labs/_batch_ceilings.html", thumbnail=thumbnail,
    views=(
        View(
            "ceilings", BatchCeilingsForm, solve, picture=picture, summary=summary, tell=tell, presets=PRESETS,
            ask=Ask(figure="lowest", label="lowest ceiling", unit="seqs"), gist=gist,
            groups=(
                Group("Machine", ("model", "gpu", "tensor_parallel_size")),
                Group("Formats, rates, memory", (
                    "weight_bits", "products", "kv_bits", "block_size", "gpu_memory_utilization", "other_gib",
                    "tflop_per_s", "tb_per_s",
                ), folded=True),
            ),
        ),
    ),
    notes=("The KV ceiling is exact for equal lengths and holds on average for mixed ones. Times and ridge are at "
           "datasheet rates; at 62% of the FLOP/s and 80% of the bandwidth the ridge lies a fifth lower.",),
)
