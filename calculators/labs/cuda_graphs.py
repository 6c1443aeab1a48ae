"""The cuda-graphs lab: launches against kernels, padding to a captured size, and what each mode captures and runs."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import cuda_graphs_modes_picture, cuda_graphs_padding_picture, cuda_graphs_picture
from calculators.labs.base import Ask, Group, Lab, Preset, Switch, View
from calculators.labs.row_field import GpuField, ModelField
from calculators.models import graph_modes, graph_padding, launch_bound
from calculators.models.capture_sizes import BALANCED, INTERACTIVITY
from calculators.models.catalogue import GPUS

BITS = [(16, "BF16"), (8, "FP8"), (4, "4-bit")]


class KernelForm(forms.Form):
    """A layer's kernels."""

    kernels_per_layer = forms.IntegerField(label="kernels a layer", min_value=1, max_value=48, initial=12,
                                           help_text="some 10, with all-reduces 12")
    kernels_outside = forms.IntegerField(label="outside", min_value=0, max_value=500, initial=8)
    eager_ops = forms.IntegerField(label="eager ops a layer", min_value=0, max_value=48, initial=3,
                                   help_text="around attention, when in pieces")


class LaunchForm(KernelForm):
    """The model and the machine, its kernels, and what a launch costs."""

    model = ModelField(launch_bound.MODELS, initial="llama-3.1-8b")
    gpu = GpuField(label="GPU", initial="b200")
    weight_bits = forms.TypedChoiceField(label="weights", choices=BITS, coerce=int, initial=8)
    tensor_parallel_size = forms.TypedChoiceField(
        label="GPUs (TP)", choices=[(n, str(n)) for n in (1, 2, 4, 8)], coerce=int, initial=1,
    )
    sequences = forms.IntegerField(min_value=1, max_value=4_096, initial=1)
    context_tokens = forms.IntegerField(label="context", min_value=0, max_value=131_072, initial=0,
                                        help_text="KV that each sequence reads")
    launch_us = forms.FloatField(label="launch, eager", min_value=0.5, max_value=100, initial=6,
                                 help_text="5 to 15 through PyTorch")
    piece_us = forms.FloatField(label="launch, piece", min_value=0.5, max_value=160, initial=8)
    full_us = forms.FloatField(label="launch, full", min_value=0.5, max_value=500, initial=10)
    floor_us = forms.FloatField(label="shortest kernel", min_value=0.1, max_value=20, initial=1.5)
    layers = forms.IntegerField(min_value=1, max_value=160, required=False, help_text="empty: the model’s")
    kernel_ms = forms.FloatField(label="all kernels", min_value=0.001, max_value=1_000, required=False,
                                 help_text="empty: at the roofline")

    units = {"context_tokens": "tok", "launch_us": "µs", "piece_us": "µs", "full_us": "µs", "floor_us": "µs",
             "kernel_ms": "ms"}


class PaddingForm(forms.Form):
    """The batch, the machine, and the limits that the sizes follow from."""

    sequences = forms.IntegerField(label="sequences, n", min_value=1, max_value=16_384, initial=9)
    context_tokens = forms.IntegerField(label="context", min_value=0, max_value=131_072, initial=1_024)
    num_speculative_tokens = forms.IntegerField(label="drafts", min_value=0, max_value=16, initial=0)
    gpu = GpuField(label="GPU", initial="h100")
    model = ModelField(launch_bound.MODELS, initial="llama-3.1-8b")
    weight_bits = forms.TypedChoiceField(label="weights", choices=BITS, coerce=int, initial=16)
    max_num_seqs = forms.IntegerField(min_value=1, max_value=16_384, required=False,
                                      help_text="empty: what vllm serve takes")
    max_num_batched_tokens = forms.IntegerField(label="token budget", min_value=1, max_value=131_072, required=False,
                                                help_text="empty: what vllm serve takes")
    performance_mode = forms.ChoiceField(
        label="performance mode", choices=[(BALANCED, "balanced"), (INTERACTIVITY, "interactivity"),
                                           ("throughput", "throughput")], initial=BALANCED,
    )
    max_cudagraph_capture_size = forms.IntegerField(label="largest size", min_value=1, max_value=16_384, required=False,
                                                    help_text="empty: by the rule")
    cudagraph_capture_sizes = forms.CharField(label="sizes", max_length=400, required=False,
                                              help_text="of your own, apart by spaces; empty: by the rule")

    units = {"context_tokens": "tok", "max_num_batched_tokens": "tok"}


class ModesForm(KernelForm):
    """The mode asked for, what the backend allows, the model's kernels, and the steps."""

    cudagraph_mode = forms.ChoiceField(
        label="mode", choices=[(mode, mode.replace("_", " ").lower()) for mode in graph_modes.MODES],
        initial="FULL_AND_PIECEWISE",
    )
    support = forms.ChoiceField(label="backend captures", choices=list(graph_modes.SUPPORT.items()), initial="ALWAYS",
                                help_text="the least of the model’s backends")
    compiled = Switch(label="cut at attention", initial=True, help_text="off: not compiled in pieces")
    num_speculative_tokens = forms.IntegerField(label="drafts", min_value=0, max_value=16, initial=0)
    layers = forms.IntegerField(min_value=1, max_value=160, initial=32)
    kernels_per_layer = forms.IntegerField(label="kernels a layer", min_value=1, max_value=48, initial=10)
    sequences = forms.IntegerField(label="decoding", min_value=1, max_value=16_384, initial=64)
    chunk_tokens = forms.IntegerField(label="chunk, mixed step", min_value=1, max_value=131_072, initial=256)
    max_num_seqs = forms.IntegerField(min_value=1, max_value=16_384, initial=1_024)
    max_num_batched_tokens = forms.IntegerField(label="token budget", min_value=2, max_value=131_072, initial=8_192)
    datacenter_blackwell = Switch(label="Blackwell", initial=False, help_text="on: sizes up to 1,024")

    units = {"sequences": "seqs", "chunk_tokens": "tok", "max_num_batched_tokens": "tok"}


def launch_summary(inputs: Mapping[str, Any]) -> str:
    """"Llama-3.1-8B in FP8 on a B200, 6 µs a launch"."""
    ranks = inputs["tensor_parallel_size"]
    where = f"{ranks} × {GPUS[inputs['gpu']].name}" if ranks > 1 else GPUS[inputs["gpu"]].name
    return (f"{launch_bound.MODELS[inputs['model']].name} in {dict(BITS)[inputs['weight_bits']]}, {where}, "
            f"{inputs['launch_us']:g} µs a launch")


def padding_summary(inputs: Mapping[str, Any]) -> str:
    return (f"{inputs['sequences']:,} sequences of {inputs['context_tokens']:,} tokens, "
            f"{inputs['num_speculative_tokens']} drafts, {GPUS[inputs['gpu']].name}")


def modes_summary(inputs: Mapping[str, Any]) -> str:
    return f"{inputs['cudagraph_mode']}, {inputs['layers']} layers, backend: {graph_modes.SUPPORT[inputs['support']]}"


def tell(result: Any) -> Iterator[str]:
    """The finding, the derivation and the verdict, for a shell."""
    yield result.finding
    yield from map(str, result.lines)
    yield result.verdict


CASE_NOTES = {
    "8B BF16, H100": "Kernels of 15 µs: the GPU never waits for a launch.",
    "8B FP8, B200": "A faster GPU and half the bytes: kernels shorter than their launches.",
    "8B BF16 TP 8, H100": "An eighth of the work in each kernel, and two all-reduces a layer more.",
    "0.6B BF16, H100": "Kernels at their floor: fusion is what helps after graphs.",
    "70B BF16 TP 4, H100": "A large model hides 968 launches even on four GPUs.",
}
# The lab opens where launches matter; the others follow in the order of the table.
ORDER = sorted(CASE_NOTES, key=lambda name: name != "8B FP8, B200")
LAUNCHES = View(
    "launches", LaunchForm, launch_bound.solve, picture=cuda_graphs_picture.picture, summary=launch_summary, tell=tell,
    ask=Ask(figure="piecewise_ms", label="the step in pieces", unit="ms"),
    presets=(
        *(Preset(name, cuda_graphs_picture.CASES[name], CASE_NOTES[name]) for name in ORDER),
        Preset("8B BF16, a slow CPU", cuda_graphs_picture.CASES["8B BF16, H100"] | {"launch_us": 15},
               "15 µs a launch: 4.92 ms of launches against 4.79 of kernels."),
        Preset("8B FP8, 64 sequences", {"sequences": 64, "context_tokens": 2_048},
               "The KV of 64 sequences makes the same kernels long: no longer launch-bound."),
    ),
    groups=(
        Group("", ("model", "gpu", "weight_bits", "tensor_parallel_size", "sequences", "context_tokens")),
        Group("Kernels", ("layers", "kernels_per_layer", "kernels_outside", "kernel_ms", "floor_us")),
        Group("Launches", ("launch_us", "piece_us", "full_us", "eager_ops")),
    ),
)
PADDING = View(
    "padding", PaddingForm, graph_padding.solve, picture=cuda_graphs_padding_picture.picture, summary=padding_summary,
    tell=tell, ask=Ask(figure="size", label="the size that runs", unit="tokens"),
    presets=(
        Preset("9 on an H100", {}, "The worst rounding there is, and what does it cost?"),
        Preset("129 on an H100", {"sequences": 129}, "Just above a size."),
        Preset("513 on an H100", {"sequences": 513}, "max_num_seqs is 1,024, and no graph is this large."),
        Preset("900 on a B200", {"sequences": 900, "gpu": "b200"}, "Data-centre Blackwell captures up to 1,024."),
        Preset("129 with three drafts", {"sequences": 129, "num_speculative_tokens": 3},
               "Four rows a request: the cap of 512 holds 128 requests."),
        Preset("250 on an A100, no context", {"sequences": 250, "gpu": "a100", "context_tokens": 0},
               "Past the ridge of 153: here an empty row does cost."),
        Preset("a decode pod of 40 to 64", {"sequences": 50, "max_num_seqs": 64,
                                            "cudagraph_capture_sizes": "40 48 56 64"},
               "Four sizes in place of 19: less memory, a faster start."),
    ),
    groups=(
        Group("", ("sequences", "context_tokens", "num_speculative_tokens")),
        Group("Machine", ("gpu", "model", "weight_bits")),
        Group("Limits", ("max_num_seqs", "max_num_batched_tokens", "performance_mode", "max_cudagraph_capture_size",
                         "cudagraph_capture_sizes")),
    ),
)
MODES = View(
    "modes", ModesForm, graph_modes.solve, picture=cuda_graphs_modes_picture.picture, summary=modes_summary, tell=tell,
    ask=Ask(figure="graphs", label="graphs captured"),
    presets=(
        Preset("8B, the default", {}, "-O2: full graphs for decode, pieces for mixed batches."),
        Preset("8B, PIECEWISE", {"cudagraph_mode": "PIECEWISE"}, "-O1, and pooling models."),
        Preset("70B", {"layers": 80, "kernels_per_layer": 12}, "80 layers: 81 pieces for each size."),
        Preset("a backend never captured", {"support": "NEVER"}, "Attention runs eagerly between the pieces."),
        Preset("drafts, one token each", {"support": "UNIFORM_SINGLE_TOKEN_DECODE", "num_speculative_tokens": 3},
               "A decode step is four tokens a request, and the backend takes one."),
        Preset("no torch.compile", {"compiled": False}, "Full graphs work without it; pieces do not."),
        Preset("a short chunk, Blackwell", {"datacenter_blackwell": True, "chunk_tokens": 900},
               "964 tokens still fit: 1,024 is the largest size there."),
    ),
    groups=(
        Group("", ("cudagraph_mode", "support", "compiled", "num_speculative_tokens")),
        Group("Model", ("layers", "kernels_per_layer", "kernels_outside", "eager_ops")),
        Group("Steps", ("sequences", "chunk_tokens", "max_num_seqs", "max_num_batched_tokens", "datacenter_blackwell")),
    ),
)

LAB = Lab(
    slug="cuda-graphs", title="CUDA graphs: launches against kernels", topic="kernels",
    line="Launch by launch, in pieces, or whole", fragment="calculators/labs/_cuda_graphs.html",
    thumbnail=cuda_graphs_picture.thumbnail, views=(LAUNCHES, PADDING, MODES),
    notes=("Sizes, graphs and modes are exact. Kernels a layer, the cost of a launch and 0.1 to 0.3 s to capture a "
           "size are rules of thumb; kernel times are the roofline’s, at the datasheet’s peaks.",),
)
