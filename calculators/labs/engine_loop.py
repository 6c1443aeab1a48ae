"""The engine-loop lab: CPU and GPU lanes of the loop, what breaks their overlap, and what the processes exchange."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import (
    engine_loop_picture,
    engine_loop_processes_picture,
    engine_loop_runner_picture,
    engine_loop_trace_picture,
)
from calculators.labs.base import Ask, Group, Lab, Preset, Switch, View
from calculators.models import (
    engine_loop,
    exposed_cpu,
    mask_overlap,
    model_runner,
    placeholders,
    process_map,
    step_message,
)

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
        label="s after the read", min_value=0, max_value=1_000, initial=0.4, help_text="0: nothing comes after it",
    )
    mask_ms = forms.FloatField(label="grammar mask, m", min_value=0, max_value=1_000, initial=0.0)
    sample_ms = forms.FloatField(
        label="sampling, p, of g", min_value=0, max_value=1_000, initial=0.5, help_text="matters to reads and masks",
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
        label="s after the read", min_value=0, max_value=1_000, initial=1.2, help_text="all of s: it comes first",
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


class ProcessesForm(forms.Form):
    """What `vllm serve` is told about GPUs, ranks and front ends."""

    tensor_parallel = forms.IntegerField(label="tensor parallel", min_value=1, max_value=64, initial=4)
    pipeline_parallel = forms.IntegerField(label="pipeline parallel", min_value=1, max_value=64, initial=1)
    context_parallel = forms.IntegerField(
        label="prefill context parallel", min_value=1, max_value=64, initial=1,
        help_text="decode context parallel shares the ranks of TP",
    )
    data_parallel = forms.IntegerField(label="data parallel", min_value=1, max_value=256, initial=1)
    local_ranks = forms.IntegerField(
        label="of them here", min_value=1, max_value=256, required=False, help_text="empty: all on this node",
    )
    load_balancing = forms.ChoiceField(
        label="load balancing", choices=[(kind, kind) for kind in (process_map.INTERNAL, process_map.HYBRID,
                                                                   process_map.EXTERNAL)],
        initial=process_map.INTERNAL,
    )
    moe = Switch(label="mixture of experts", initial=False)
    api_servers = forms.IntegerField(
        label="API servers", min_value=1, max_value=64, required=False, help_text="empty: the default",
    )
    rust_front_end = Switch(label="Rust front end", initial=False)


class MessageForm(forms.Form):
    """What a step's message depends on."""

    batch = forms.IntegerField(min_value=1, max_value=65_536, initial=256)
    context_tokens = forms.IntegerField(label="context", min_value=1, max_value=1_000_000, initial=2_000)
    new_requests = forms.IntegerField(label="new in this step", min_value=0, max_value=65_536, initial=0)
    block_size = forms.IntegerField(label="block size", min_value=1, max_value=256, initial=16)
    id_chars = forms.IntegerField(label="request name", min_value=1, max_value=500, initial=50)
    steps_per_s = forms.FloatField(label="step rate", min_value=0.1, max_value=10_000, initial=200.0)

    units = {"batch": "reqs", "context_tokens": "tok", "block_size": "tok", "id_chars": "chars", "steps_per_s": "/s"}


class ExposedForm(forms.Form):
    """Kernels of a step, and what of the CPU the GPU waits for."""

    gpu_ms = forms.FloatField(label="GPU step, g", initial=5.0, **MS)
    exposed_before_ms = forms.FloatField(label="exposed before, c0", min_value=0, max_value=1_000, initial=3.5)
    exposed_after_ms = forms.FloatField(label="exposed after, c1", min_value=0, max_value=1_000, initial=0.0)

    units = {"gpu_ms": "ms", "exposed_before_ms": "ms", "exposed_after_ms": "ms"}


class PlaceholdersForm(forms.Form):
    """One request, and where its output ends."""

    prompt_tokens = forms.IntegerField(label="prompt", min_value=1, max_value=100_000, initial=100)
    max_tokens = forms.IntegerField(min_value=1, max_value=500, initial=50)
    eos_at = forms.IntegerField(
        label="end of sequence at", min_value=1, max_value=1_000, initial=2, help_text="which token of the output",
    )
    async_scheduling = Switch(label="async scheduling", initial=True)

    units = {"prompt_tokens": "tok", "max_tokens": "tok"}


class RunnerForm(forms.Form):
    """A configuration as far as it decides runner and loop, and a step's times."""

    env = forms.ChoiceField(
        label="VLLM_USE_ V2_MODEL_RUNNER", choices=[(model_runner.UNSET, "unset"), ("1", "1"), ("0", "0")],
        initial=model_runner.UNSET,
    )
    triton = Switch(label="Triton", initial=True)
    feature = forms.ChoiceField(label="feature", choices=list(model_runner.FEATURES.items()), initial="none")
    speculation = forms.ChoiceField(
        choices=[(name, name) for name in (*model_runner.OVERLAP_ON_V1, "ngram", *model_runner.NOT_ON_V2)],
        initial="none",
    )
    padded_drafts = Switch(label="padded drafts", initial=True)
    pipeline_parallel = forms.IntegerField(label="pipeline parallel", min_value=1, max_value=64, initial=1)
    executor = forms.ChoiceField(
        choices=[(name, name) for name in ("mp", "uni", "ray", "external_launcher", "custom")], initial="mp",
    )
    platform = forms.ChoiceField(
        choices=[("cuda", "CUDA"), ("rocm-deepep", "ROCm DeepEP"), ("cpu", "CPU")], initial="cuda",
    )
    pooling = Switch(label="pooling model", initial=False)
    scheduler_class = forms.ChoiceField(
        label="scheduler class", choices=[("built-in", "built in"), ("custom", "custom")], initial="built-in",
    )
    async_flag = forms.ChoiceField(
        label="async scheduling", choices=[(model_runner.DEFAULT, "not given"), (model_runner.ON, "asked for"),
                                           (model_runner.OFF, "refused")],
        initial=model_runner.DEFAULT,
    )
    sched_ms = forms.FloatField(label="schedule + launch, s", initial=1.2, **MS)
    out_ms = forms.FloatField(label="output, o", initial=1.0, **MS)
    gpu_ms = forms.FloatField(label="GPU step, g", initial=1.0, **MS)
    moved_ms = forms.FloatField(label="V2 moves of s", min_value=0, max_value=1_000, initial=0.8)
    kernels_ms = forms.FloatField(label="as kernels of", min_value=0, max_value=1_000, initial=0.05)

    units = {"sched_ms": "ms", "out_ms": "ms", "gpu_ms": "ms", "moved_ms": "ms", "kernels_ms": "ms"}


def loop_summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "s 1.2, o 1, g 5 ms, 4 steps"."""
    return (f"s {inputs['sched_ms']:g}, o {inputs['out_ms']:g}, g {inputs['gpu_ms']:g} ms, "
            f"{inputs['n_steps']:,} step{'s' * (inputs['n_steps'] != 1)}")


def mask_summary(inputs: Mapping[str, Any]) -> str:
    return f"{inputs['structured']:,} structured, k {inputs['drafts']}, forward {inputs['forward_ms']:g} ms"


def processes_summary(inputs: Mapping[str, Any]) -> str:
    return (f"TP {inputs['tensor_parallel']}, PP {inputs['pipeline_parallel']}, DP {inputs['data_parallel']}, "
            f"{inputs['load_balancing']}")


def message_summary(inputs: Mapping[str, Any]) -> str:
    return f"{inputs['batch']:,} requests of {inputs['context_tokens']:,} tokens"


def exposed_summary(inputs: Mapping[str, Any]) -> str:
    return f"g {inputs['gpu_ms']:g}, c {inputs['exposed_before_ms']:g} → {inputs['exposed_after_ms']:g} ms"


def placeholders_summary(inputs: Mapping[str, Any]) -> str:
    return f"prompt {inputs['prompt_tokens']:,}, end at {inputs['eos_at']:,} of {inputs['max_tokens']:,}"


def runner_summary(inputs: Mapping[str, Any]) -> str:
    return f"env {inputs['env']}, {model_runner.FEATURES[inputs['feature']]}, drafts {inputs['speculation']}"


def tell_events(run: placeholders.Placeholders) -> Iterator[str]:
    """A line an event: computed, known, placeholders; then what was wasted."""
    for number, step in enumerate(run.steps):
        yield f"{number:>4}  {step.event}: C {step.computed:,}, T {step.known:,}, H {step.placeholders}"
    yield run.finding


def tell_runner(result: model_runner.ModelRunner) -> Iterator[str]:
    """The same as of the others, and what the engine says."""
    yield from tell(result)
    yield result.message


def tell(result: Any) -> Iterator[str]:
    """The finding, the derivation and the verdict, for a shell."""
    yield result.finding
    yield from map(str, result.lines)
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
PROCESSES = (
    Preset("one node, TP 4", {}, "Six. Say first what -dp 2 on one GPU each makes."),
    Preset("one GPU", {"tensor_parallel": 1}, "Two: no worker process, though there is a worker."),
    Preset("TP 2, two API servers", {"tensor_parallel": 2, "api_servers": 2}, "Five serve, and a launcher watches."),
    Preset("two ranks of one GPU", {"tensor_parallel": 1, "data_parallel": 2},
           "Workers are processes again, and a coordinator tells their queues."),
    Preset("TP 2, DP 4", {"tensor_parallel": 2, "data_parallel": 4}, "One node of eight GPUs: 17."),
    Preset("experts, balanced from outside", {"tensor_parallel": 1, "data_parallel": 8, "load_balancing": "external",
                                              "moe": True},
           "One rank a command. Experts still step together, so rank 0 keeps a coordinator."),
)
MESSAGE = (
    Preset("256 decoding", {}, "2,000 tokens each: what of that travels?"),
    Preset("one request", {"batch": 1}, "The fixed part is nearly all of it."),
    Preset("1,024 of an agent", {"batch": 1_024, "context_tokens": 16_000}, "Long contexts, the same message."),
    Preset("two prompts join", {"new_requests": 2}, "New requests go along whole, and their ids twice."),
)
EXPOSED = (
    Preset("8B on an H100", {}, "1.7 times over 5 ms of kernels: 3.5 ms were exposed."),
    Preset("70B", {"gpu_ms": 20}, "The same milliseconds over 20 of kernels."),
    Preset("a very small model", {"gpu_ms": 1}, "The same over 1: small models gain most."),
    Preset("half of it hidden", {"exposed_after_ms": 1.75}, "Where some of the CPU still shows."),
)
PLACEHOLDERS = (
    Preset("end of sequence at once", {}, "The second token ends it: is a third step on its way?"),
    Preset("ended by max_tokens", {"max_tokens": 3, "eos_at": 1_000}, "A cap can be counted to. Is a row wasted?"),
    Preset("a reply of 50", {"max_tokens": 500, "eos_at": 50}, "Which share of its rows is for nothing?"),
    Preset("synchronous", {"async_scheduling": False}, "No placeholders, no waste, and a GPU that waits."),
)
RUNNER = (
    Preset("as it comes", {}, "0.33.0 without a flag: V2, overlapped."),
    Preset("suffix decoding", {"speculation": "suffix"}, "One method moves a replica to V1, and off the overlap too."),
    Preset("n-gram drafts", {"speculation": "ngram"}, "V2 looks them up on the GPU; V1 would on the CPU, and wait."),
    Preset("pinned to V1 with PP 2", {"env": "0", "pipeline_parallel": 2, "async_flag": "on"},
           "Both asked for: it raises in place of falling back."),
    Preset("no Triton", {"triton": False}, "The old runner with a warning, and still overlapped."),
    Preset("an old logits processor", {"feature": "old-processor"}, "No fall-back: it raises at its start."),
)

LOOP_GROUPS = (
    Group("", ("sched_ms", "out_ms", "gpu_ms", "n_steps", "batch", "async_scheduling", "hidden_sync", "sync_post_ms",
               "mask_ms", "sample_ms", "cuda_graphs")),
    Group("More knobs", ("launches", "launch_us", "processes", "launch_ms", "api_servers", "api_tokens_per_s"),
          folded=True),
)


def loop_view(name: str, form: type[forms.Form], presets: tuple[Preset, ...], ask: Ask, title: str = "") -> View:
    """A view of the loop: what it starts from, and what it asks."""
    return View(name, form, engine_loop.solve, title=title, picture=engine_loop_picture.picture, summary=loop_summary,
                tell=tell, presets=presets, ask=ask, groups=LOOP_GROUPS)


LAB = Lab(
    slug="engine-loop", title="The engine loop, with and without overlap", topic="engine",
    line="CPU and GPU lanes, sync and async", fragment="calculators/labs/_parts.html",
    thumbnail=engine_loop_picture.thumbnail,
    views=(
        loop_view("loop", LoopForm, LOOP, Ask(figure="async_total_ms", label="all steps, async", unit="ms")),
        loop_view("hidden-sync", HiddenSyncForm, HIDDEN_SYNC,
                  Ask(figure="async_period_ms", label="the async step", unit="ms")),
        loop_view("cpu-bound", CpuBoundForm, CPU_BOUND,
                  Ask(figure="async_busy_percent", label="GPU busy, async, steady", unit="%"),
                  "CPU-bound"),
        View("mask", MaskForm, mask_overlap.solve, title="Grammar mask", picture=engine_loop_picture.mask_picture,
             summary=mask_summary, tell=tell, presets=MASK, ask=Ask(figure="period_ms", label="the step", unit="ms"),
             groups=(
                 Group("The mask", ("structured", "batch", "drafts", "us_per_row", "threads")),
                 Group("The step", ("forward_ms", "sample_ms", "sched_ms", "output_ms", "update_ms", "send_ms")),
             )),
        View("processes", ProcessesForm, process_map.solve, picture=engine_loop_processes_picture.processes,
             summary=processes_summary, tell=tell, presets=PROCESSES,
             ask=Ask(figure="processes", label="processes that serve")),
        View("placeholders", PlaceholdersForm, placeholders.simulate, picture=engine_loop_trace_picture.picture,
             summary=placeholders_summary, tell=tell_events, presets=PLACEHOLDERS,
             predict=engine_loop_trace_picture.expected),
        View("message", MessageForm, step_message.solve, title="Message to workers",
             picture=engine_loop_processes_picture.message, summary=message_summary, tell=tell, presets=MESSAGE,
             ask=Ask(figure="ratio", label="ratio", unit="×")),
        View("runner", RunnerForm, model_runner.solve, picture=engine_loop_runner_picture.picture,
             summary=runner_summary, tell=tell_runner, presets=RUNNER,
             ask=Ask(figure="period_ms", label="a step", unit="ms"),
             groups=(
                 Group("The runner", ("env", "triton", "feature", "speculation", "padded_drafts", "pipeline_parallel",
                                      "executor")),
                 Group("The loop", ("async_flag", "platform", "pooling", "scheduler_class")),
                 Group("A step", ("sched_ms", "out_ms", "gpu_ms", "moved_ms", "kernels_ms"), folded=True),
             )),
        View("exposed", ExposedForm, exposed_cpu.solve, title="Exposed CPU",
             picture=engine_loop_processes_picture.exposed, summary=exposed_summary, tell=tell, presets=EXPOSED,
             ask=Ask(figure="speed_up", label="speed-up", unit="×")),
    ),
    notes=("Lanes are exact for their times; s, o and what a launch costs are rules. Measure yours from a trace.",),
)
