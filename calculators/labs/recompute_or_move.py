"""The recompute-or-move lab: both costs of KV that is missing, against the size of a copy."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs.base import Ask, Group, Lab, Preset, View
from calculators.labs.recompute_or_move_gist import gist
from calculators.labs.recompute_or_move_picture import picture, thumbnail
from calculators.labs.row_field import GpuField, ModelField
from calculators.models.recompute_or_move import GPUS, MODELS, RecomputeOrMove, solve


class RecomputeOrMoveForm(forms.Form):
    """The request whose KV is missing, how it would be copied, and the machine."""

    tokens = forms.IntegerField(label="request", min_value=1, max_value=1_000_000, initial=2_000)
    hit_fraction = forms.FloatField(
        label="still cached", min_value=0, max_value=0.99, initial=0, help_text="a share, 0 to 0.99",
    )
    link_gb_per_s = forms.FloatField(
        label="link, one way", min_value=0.1, max_value=1_000, initial=25,
        help_text="PCIe Gen4 x16 some 25, Gen5 some 55",
    )
    overhead_us = forms.FloatField(label="each copy costs", min_value=0, max_value=1_000, initial=10)
    trips = forms.TypedChoiceField(label="trips", choices=[(1, "in"), (2, "out and in")], coerce=int, initial=1)
    block_size = forms.IntegerField(min_value=1, max_value=256, initial=16)
    layers_per_copy = forms.IntegerField(label="layers", min_value=1, max_value=128, initial=1)
    k_and_v = forms.ChoiceField(
        label="K and V", choices=[("apart", "apart"), ("together", "together")], initial="apart",
        help_text="a latent (MLA) is one either way",
    )
    model = ModelField(
        MODELS, initial="llama-3.1-8b",
    )
    gpu = GpuField(label="GPU", initial="h100")
    tensor_parallel_size = forms.TypedChoiceField(
        label="GPUs (TP)", choices=[(n, str(n)) for n in (1, 2, 4, 8)], coerce=int, initial=1,
    )
    tflop_per_s = forms.FloatField(
        label="compute", min_value=0.1, max_value=20_000, required=False, help_text="empty: 62% of the GPU’s peak",
    )

    units = {
        "tokens": "tok", "link_gb_per_s": "GB/s", "overhead_us": "µs", "block_size": "tok", "tflop_per_s": "TF/s",
    }


def summary(inputs: Mapping[str, Any]) -> str:
    """The scene in one line: "2,000 tokens of Llama-3.1-8B on an H100, 25 GB/s, 10 µs a copy"."""
    ranks = inputs["tensor_parallel_size"]
    where = GPUS[inputs["gpu"]].name if ranks == 1 else f"{ranks} × {GPUS[inputs['gpu']].name}"
    cached = f", {inputs['hit_fraction']:.0%} cached" if inputs["hit_fraction"] else ""
    return (f"{inputs['tokens']:,} tokens of {MODELS[inputs['model']].name}{cached}, {where}, "
            f"{inputs['link_gb_per_s']:g} GB/s, {inputs['overhead_us']:g} µs a copy")


def tell(result: RecomputeOrMove) -> Iterator[str]:
    """The finding, the derivation and the verdicts, for a shell."""
    yield result.finding
    yield from map(str, result.lines)
    yield from (result.copy_verdict, result.link_verdict, result.choice_verdict)


A_BLOCK = {"layers_per_copy": 32, "k_and_v": "together"}

PRESETS = (
    Preset("a layer at a time", {}, "As the old swap did it: K and V of one layer of one block, 32 KiB a copy."),
    Preset("a block at a time", A_BLOCK, "All layers of a block in one copy, 2 MiB: the same link now wins."),
    Preset("97% cached", A_BLOCK | {"hit_fraction": 0.97}, "A prompt resume: 60 tokens are missing."),
    Preset("out and in", {"trips": 2}, "The classic swap pays the link twice: it needs 10 GB/s."),
    Preset("7B of 2023 on an A100", {"model": "llama-2-7b", "gpu": "a100", "trips": 2},
           "Four times the KV and a third of the compute: both ways need 15 GB/s."),
    Preset("70B on four", {"model": "llama-3.1-70b", "tensor_parallel_size": 4, "link_gb_per_s": 55,
                           "layers_per_copy": 80, "k_and_v": "together"},
           "Nine times the compute a token for 2.5 times the KV: a block at a time, moving wins by far."),
)

LAB = Lab(
    slug="recompute-or-move", title="Recompute the KV, or move it", topic="scheduling",
    line="Two costs, and where they meet", fragment="calculators/labs/_recompute_or_move.html",
    thumbnail=thumbnail,
    views=(
        View(
            "costs", RecomputeOrMoveForm, solve, picture=picture, summary=summary, tell=tell, presets=PRESETS,
            ask=Ask(figure="break_even_gb_per_s", label="break-even, one way", unit="GB/s"), gist=gist,
            groups=(
                Group("One copy holds", ("block_size", "layers_per_copy", "k_and_v")),
                Group("Machine", ("model", "gpu", "tensor_parallel_size", "tflop_per_s")),
            ),
        ),
    ),
    notes=("Bytes and counts are exact. Compute at 62% of the peak, what a link reaches and 5 to 10 µs for a launched "
           "copy are rules of thumb. Of several GPUs each moves its own heads over its own link.",),
)
