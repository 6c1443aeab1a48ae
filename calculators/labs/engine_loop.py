"""The engine-loop lab: CPU and GPU lanes of the loop, what breaks their overlap, and what the processes exchange."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import engine_loop_picture
from calculators.labs.base import Ask, Group, Lab, Preset, Switch, View
from calculators.models import engine_loop, mask_overlap

HIDDEN = [
    (engine_loop.NONE, "none"), (engine_loop.BEFORE, "of the inputs"), (engine_loop.AFTER, "of the logits"),
    (engine_loop.READ_BACK, "of the tokens"),
]
MS = {"min_value": 0.01, "max_value": 1_000}


class LoopForm(forms.Form):
    """The parts of a step, and what stands between them."""

    sched_ms = forms.FloatField(label="schedule + launch, s", initial=1.2, **MS)
    out_ms = forms.FloatField(label="output, o", initial=1.0, **MS)
    gpu_ms = forms.FloatField(label="GPU step, g", initial=5.0, **MS)
    n_steps = forms.IntegerField(label="steps", min_value=1, max_value=200, initial=4)
    batch = forms.IntegerField(min_value=1, max_value=4_096, initial=64)
    async_scheduling = Switch(label="async scheduling", initial=True, help_text="which loop the verdict is about")
    hidden_sync = forms.ChoiceField(label="sync read", choices=HIDDEN, initial=engine_loop.NONE)
    sync_post_ms = forms.FloatField(
        label="of s after the read", min_value=0, max_value=1_000, initial=0.4, help_text="0: nothing comes after it",
    )
    mask_ms = forms.FloatField(label="grammar mask, m", min_value=0, max_value=1_000, initial=0.0)
    sample_ms = forms.FloatField(
        label="of g, sampling, p", min_value=0, max_value=1_000, initial=0.5, help_text="matters to reads and masks",
    )
    cuda_graphs = Switch(label="CUDA graphs", initial=True, help_text="off adds each kernel’s launch to s")
    launches = forms.IntegerField(label="kernels a step", min_value=1, max_value=20_000, initial=328)
    launch_us = forms.FloatField(label="a launch", min_value=0.1, max_value=100, initial=6.0)
    processes = forms.ChoiceField(
        label="worker", choices=[(engine_loop.ONE, "in the engine"), (engine_loop.SEPARATE, "apart")],
        initial=engine_loop.ONE, help_text="one GPU shares the engine’s process",
    )
    launch_ms = forms.FloatField(label="of s, in the worker", min_value=0, max_value=1_000, initial=0.6)
    api_servers = forms.IntegerField(label="API servers", min_value=1, max_value=64, initial=1)
    api_tokens_per_s = forms.FloatField(
        label="each passes on", min_value=100, max_value=10_000_000, initial=20_000, help_text="a guess; measure yours",
    )

    units = {
        "sched_ms": "ms", "out_ms": "ms", "gpu_ms": "ms", "batch": "seqs", "sync_post_ms": "ms", "mask_ms": "ms",
        "sample_ms": "ms", "launch_us": "µs", "launch_ms": "ms", "api_tokens_per_s": "tok/s",
    }


class HiddenSyncForm(LoopForm):
    """The same with a read that blocks at the start of input preparation."""

    hidden_sync = forms.ChoiceField(label="sync read", choices=HIDDEN, initial=engine_loop.BEFORE)
    sync_post_ms = forms.FloatField(
        label="of s after the read", min_value=0, max_value=1_000, initial=1.2, help_text="all of s: it comes first",
    )


class CpuBoundForm(LoopForm):
    """The same with a small model: the CPU needs more than the GPU."""

    gpu_ms = forms.FloatField(label="GPU step, g", initial=1.0, **MS)
    async_scheduling = Switch(label="async scheduling", initial=False, help_text="which loop the verdict is about")


class MaskForm(forms.Form):
    """Who asks for a grammar, what a row costs, and the parts of the step around it."""

    structured = forms.IntegerField(label="structured requests", min_value=0, max_value=1_024, initial=64)
    batch = forms.IntegerField(min_value=1, max_value=4_096, initial=64)
    drafts = forms.IntegerField(label="drafts a request, k", min_value=0, max_value=16, initial=0)
    us_per_row = forms.FloatField(label="fill, a row", min_value=0.1, max_value=100_000, initial=40.0)
    threads = forms.IntegerField(
        label="fill threads", min_value=1, max_value=8, initial=8, help_text="half of the CPUs, 8 at most; 1: serial",
    )
    forward_ms = forms.FloatField(label="forward", initial=8.8, **MS)
    sample_ms = forms.FloatField(label="sampling", min_value=0, max_value=1_000, initial=0.3)
    sched_ms = forms.FloatField(label="schedule + launch", initial=0.3, **MS)
    output_ms = forms.FloatField(label="tokens to the CPU", min_value=0, max_value=1_000, initial=0.0)
    update_ms = forms.FloatField(label="update", initial=0.3, **MS)
    send_ms = forms.FloatField(label="send and apply", min_value=0, max_value=1_000, initial=0.2)

    units = {
        "batch": "seqs", "us_per_row": "µs", "forward_ms": "ms", "sample_ms": "ms", "sched_ms": "ms", "output_ms": "ms",
        "update_ms": "ms", "send_ms": "ms",
    }


def loop_summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "s 1.2, o 1, g 5 ms, 4 steps"."""
    return (f"s {inputs['sched_ms']:g}, o {inputs['out_ms']:g}, g {inputs['gpu_ms']:g} ms, "
            f"{inputs['n_steps']:,} step{'s' * (inputs['n_steps'] != 1)}")


def mask_summary(inputs: Mapping[str, Any]) -> str:
    return f"{inputs['structured']:,} structured, k {inputs['drafts']}, forward {inputs['forward_ms']:g} ms"


def tell(result: Any) -> Iterator[str]:
    """The finding, the derivation and the verdict, for a shell."""
    yield result.finding
    for line in result.lines:
        yield f"{line.label} = {f'{line.expression} = ' if line.expression else ''}{line.figure} {line.unit}"
    yield result.verdict


LOOP = (
    Preset("8B on an H100", {}, "A GPU step of 5 ms and 2.2 ms of CPU: all of it can hide."),
    Preset("70B, tensor parallel", {"gpu_ms": 20, "processes": engine_loop.SEPARATE},
           "The same milliseconds of CPU over a step four times as long: 1.11×."),
    Preset("where overlap doubles", {"gpu_ms": 2.2}, "s + o equals g: the most that overlap can ever give."),
    Preset("a grammar, cheap mask", {"mask_ms": 2}, "Output and mask take 3 ms and hide under a forward of 4.5."),
    Preset("a grammar, dear mask", {"mask_ms": 5}, "Output and mask take 6 ms: the CPU sets the pace, with all of it."),
)
HIDDEN_SYNC = (
    Preset("at the start", {}, "A hook before the forward reads one scalar: the whole of s is exposed."),
    Preset("a third from the end", {"sync_post_ms": 0.4}, "The read waits as long, and costs a third as much."),
    Preset("at the very end", {"sync_post_ms": 0}, "Nothing is left to do after the read, so it costs nothing."),
    Preset("logits read on the CPU", {"hidden_sync": engine_loop.AFTER, "sync_post_ms": 0.4},
           "A logits processor that calls .item(): it waits for its own forward."),
    Preset("tokens read back", {"hidden_sync": engine_loop.READ_BACK}, "Async in name alone."),
)
CPU_BOUND = (
    Preset("0.6B on an H100", {}, "Kernels of 1 ms and 2.2 ms of CPU: how far does overlap get?"),
    Preset("an 8B, not overlapped", {"gpu_ms": 5.0}, "2.2 ms of 7.2 are exposed: 1.44× is the most to gain."),
    Preset("the same on a GPU twice as fast", {"gpu_ms": 2.5}, "Twice the GPU gives 1.53×, and 2× where it overlaps."),
    Preset("no CUDA graphs", {"cuda_graphs": False, "async_scheduling": True},
           "328 launches of 6 µs: overlap can’t hide what is longer than the kernels."),
    Preset("one API server too few", {"gpu_ms": 5.0, "batch": 256, "async_scheduling": True},
           "The engine makes 51,200 tokens/s and one API server passes on 20,000."),
)
MASK = (
    Preset("64 structured, 40 µs a row", {}, "The usual schema: the mask hides."),
    Preset("three drafts each", {"drafts": 3}, "Four rows a request, filled one after the other."),
    Preset("256 structured", {"structured": 256, "batch": 256, "forward_ms": 18.4},
           "Past 128 requests threads share the work, while nothing speculates."),
    Preset("a small model", {"forward_ms": 1.15}, "Qwen3-0.6B: the model got faster, the mask did not."),
    Preset("one in 64", {"structured": 1, "us_per_row": 10_260},
           "A single request with a naive mask of 10 ms holds all of the batch."),
)

LOOP_GROUPS = (
    Group("", ("sched_ms", "out_ms", "gpu_ms", "n_steps", "batch", "async_scheduling", "hidden_sync", "sync_post_ms",
               "mask_ms", "sample_ms", "cuda_graphs")),
    Group("More knobs", ("launches", "launch_us", "processes", "launch_ms", "api_servers", "api_tokens_per_s"),
          folded=True),
)


def loop_view(name: str, form: type[forms.Form], presets: tuple[Preset, ...], ask: Ask) -> View:
    """A view of the loop: what it starts from, and what it asks."""
    return View(name, form, engine_loop.solve, picture=engine_loop_picture.picture, summary=loop_summary, tell=tell,
                presets=presets, ask=ask, groups=LOOP_GROUPS)


LAB = Lab(
    slug="engine-loop", title="The engine loop, with and without overlap", topic="engine",
    line="CPU and GPU lanes, sync and async", fragment="calculators/labs/_engine_loop.html",
    thumbnail=engine_loop_picture.thumbnail,
    views=(
        loop_view("loop", LoopForm, LOOP, Ask(figure="async_total_ms", label="all steps, async", unit="ms")),
        loop_view("hidden-sync", HiddenSyncForm, HIDDEN_SYNC,
                  Ask(figure="async_period_ms", label="the async step", unit="ms")),
        loop_view("cpu-bound", CpuBoundForm, CPU_BOUND,
                  Ask(figure="async_busy_percent", label="GPU busy, async", unit="%")),
        View("mask", MaskForm, mask_overlap.solve, picture=engine_loop_picture.mask_picture, summary=mask_summary,
             tell=tell, presets=MASK, ask=Ask(figure="period_ms", label="the step", unit="ms"),
             groups=(
                 Group("The mask", ("structured", "batch", "drafts", "us_per_row", "threads")),
                 Group("The step", ("forward_ms", "sample_ms", "sched_ms", "output_ms", "update_ms", "send_ms")),
             )),
    ),
    notes=("Lanes are exact for their times; s, o and what a launch costs are rules. Measure yours from a trace.",),
)
