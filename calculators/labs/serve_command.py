"""The serve-command lab: a command built flag by flag, or pasted, each line explained and checked."""
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from calculators.labs import serve_command_picture, serve_command_plans_picture, serve_command_ttft_picture
from calculators.labs.base import Ask, Group, Lab, Paste, Preset, Shown, Switch, View, text_of
from calculators.labs.row_field import GpuField, ModelField
from calculators.models import deploy_ttft, parallel_plans, serve_builder
from calculators.models.catalogue import BF16, FP8, GPUS, MODELS
from calculators.models.serve_builder import BY_NAME, DRAFTERS, NIXL, NIXL_AND_HOST, knobs_for, line_of, served
from calculators.models.serve_command import DEFAULT_MODEL, read
from calculators.models.serve_flags import BY_DEST, VALUES
from calculators.models.serve_values import in_thousands
from calculators.models.shapes import shape_called
from calculators.models.startup_log import Pasted

LONGEST_MORE = 3_000
KV_TYPES = ("auto", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2", "fp8_ds_mla", "nvfp4")  # that the fit has sizes for
LEFT_OUT = ("", "left out")
USUAL_GPUS = "8"  # of the node that a pasted command is for
MACHINE = ("gpu", "host_gib", "mean_tokens")  # knobs that no command tells


class ServedField(ModelField):
    """A model of the catalogue, or the one that the checkpoint's name stands for."""

    def __init__(self, **more: Any) -> None:
        super().__init__(names={slug: model.name for slug, model in MODELS.items()} | {BY_NAME: "by its name"}, **more)

    def clean(self, value: Any) -> str:
        return value if value == BY_NAME else super().clean(value)


def count(label: str, most: int, low: int = 1, **more: Any) -> forms.IntegerField:
    """A whole number that may be left out."""
    return forms.IntegerField(label=label, min_value=low, max_value=most, required=False, **more)


def choice(label: str, values: Any, **more: Any) -> forms.ChoiceField:
    """One of a flag's values, or nothing."""
    return forms.ChoiceField(label=label, choices=[LEFT_OUT, *((value, value) for value in values)], required=False,
                             **more)


class ThreeWay(forms.TypedChoiceField):
    """On, off, or left to vLLM: True, False or None."""

    def __init__(self, label: str) -> None:
        super().__init__(label=label, choices=[LEFT_OUT, ("on", "on"), ("off", "off")], required=False,
                         empty_value=None, coerce=lambda text: text == "on")

    def prepare_value(self, value: Any) -> Any:
        return {True: "on", False: "off"}.get(value, value)


class ServeForm(forms.Form):
    """The machine, the flags that are set most, what else is on the command line, and what to expect of requests."""

    model = ServedField(initial="llama-3.1-70b")
    checkpoint = forms.CharField(
        max_length=200, required=False, initial="", help_text="id or path; empty: the model’s usual one",
    )
    gpu = GpuField(label="GPU", initial="h100")
    gpus = forms.IntegerField(label="GPUs, one node", min_value=1, max_value=64, initial=4)
    tensor_parallel_size = forms.IntegerField(label="tensor parallel", min_value=1, max_value=1_024, initial=4)
    pipeline_parallel_size = forms.IntegerField(label="pipeline", min_value=1, max_value=1_024, initial=1)
    data_parallel_size = forms.IntegerField(label="data parallel", min_value=1, max_value=1_024, initial=1)
    data_parallel_size_local = count("of it on this node", 1_024)
    enable_expert_parallel = Switch(label="expert parallel", initial=False)
    max_model_len = count("max_model_len", 10_485_760, low=-1, initial=32_768,
                          help_text="−1: as long as fits; empty: the model’s own")
    gpu_memory_utilization = forms.FloatField(
        label="utilization", min_value=0.01, max_value=1, required=False, initial=0.9,
    )
    kv_cache_dtype = choice("KV type", KV_TYPES, initial="fp8")
    quantization = choice("quantization", VALUES["quantization"], help_text="packed checkpoints say it themselves")
    enable_prefix_caching = ThreeWay("prefix caching")
    max_num_batched_tokens = count("batched tokens", 1_048_576, initial=8_192)
    max_num_seqs = count("sequences", 65_536, initial=256)
    scheduling_policy = choice("policy", BY_DEST["scheduling_policy"].choices)
    enable_chunked_prefill = ThreeWay("chunked prefill")
    long_prefill_token_threshold = count("of one prompt", 10_485_760, low=0, help_text="most tokens in a step")
    performance_mode = choice("performance mode", BY_DEST["performance_mode"].choices)
    all2all_backend = choice("all-to-all", BY_DEST["all2all_backend"].choices)
    enable_eplb = Switch(label="load balancer", initial=False)
    redundant_experts = forms.IntegerField(label="redundant experts", min_value=0, max_value=4_096, initial=0)
    enable_dbo = Switch(label="dual batch overlap", initial=False)
    enforce_eager = Switch(label="no graphs", initial=False)
    cudagraph_mode = choice("graph mode", ("NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"))
    enable_lora = Switch(label="adapters", initial=False)
    max_loras = count("in one batch", 1_024)
    max_lora_rank = forms.TypedChoiceField(
        label="largest rank", choices=[LEFT_OUT, *((rank, str(rank)) for rank in BY_DEST["max_lora_rank"].choices)],
        coerce=int, empty_value=None, required=False,
    )
    max_cpu_loras = count("on the host", 100_000)
    drafter = choice("drafter", DRAFTERS)
    draft_tokens = count("tokens a step", 64)
    draft_model = forms.CharField(label="its model", max_length=200, required=False, initial="")
    enable_auto_tool_choice = Switch(label="tool calls", initial=False)
    tool_call_parser = choice("read by", VALUES["tool-call-parser"])
    reasoning_parser = choice("reasoning", VALUES["reasoning-parser"])
    kv_connector = choice("connector", (NIXL, NIXL_AND_HOST, "LMCacheConnectorV1"),
                          help_text="MultiConnector: NIXL and a tier of 64 GiB")
    kv_role = choice("role", ("kv_producer", "kv_consumer", "kv_both"))
    kv_load_failure_policy = choice("a failed transfer", ("fail", "recompute"))
    kv_offloading_size = forms.FloatField(
        label="offload to the host", min_value=0.1, max_value=100_000, required=False,
    )
    api_server_count = count("API servers", 256, low=0)
    shutdown_timeout = count("drain for", 86_400, low=0)
    more = forms.CharField(
        label="other flags", widget=forms.Textarea, max_length=LONGEST_MORE, required=False, initial="", strip=False,
        help_text="any of the others, as on the command line",
    )
    env = forms.CharField(
        label="environment", max_length=600, required=False, initial="", help_text="NAME=value, before the command",
    )
    host_gib = forms.FloatField(label="host memory", min_value=1, max_value=100_000, initial=1_024)
    mean_tokens = forms.IntegerField(
        label="a request keeps", min_value=1, max_value=10_485_760, initial=2_000,
        help_text="on average, to judge the seats",
    )

    units = {
        "kv_offloading_size": "GiB", "shutdown_timeout": "s", "host_gib": "GiB", "mean_tokens": "tok",
        "long_prefill_token_threshold": "tok",
    }


class PlansForm(forms.Form):
    """The node, the model on it, the users, and the rules of a decode step."""

    model = ModelField(initial="llama-3.1-70b")
    weights = forms.ChoiceField(choices=[(BF16, "bf16"), (FP8, "fp8")], initial=BF16)
    gpu = GpuField(label="GPU", initial="h100")
    gpus = forms.IntegerField(label="GPUs, one node", min_value=1, max_value=16, initial=8)
    context_tokens = forms.IntegerField(label="context", min_value=16, max_value=10_485_760, initial=4_096)
    users = forms.IntegerField(min_value=1, max_value=100_000, initial=64, help_text="on the node at once")
    held_tokens = forms.IntegerField(
        label="held on average", min_value=1, max_value=10_485_760, initial=2_048,
        help_text="a sequence, in a decode step",
    )
    bandwidth_share = forms.FloatField(label="bandwidth, of peak", min_value=0.05, max_value=1, initial=0.7)
    reduce_us = forms.FloatField(label="an all-reduce", min_value=0, max_value=10_000, initial=15)

    units = {"context_tokens": "tok", "held_tokens": "tok", "reduce_us": "µs"}


class DeployForm(forms.Form):
    """The load of a replica, its hit ratio before and after, and what a prefill and a decode step take."""

    rate_per_s = forms.FloatField(
        label="arrivals", min_value=0.01, max_value=10_000, initial=6,
        help_text="Poisson, before one server a replica; prefills last exponentially long",
    )
    replicas = forms.IntegerField(min_value=1, max_value=1_000, initial=1)
    prompt_tokens = forms.IntegerField(label="prompt", min_value=1, max_value=1_000_000, initial=4_000)
    hit_percent = forms.FloatField(label="hits before", min_value=0, max_value=100, initial=75)
    hit_after_percent = forms.FloatField(label="hits after", min_value=0, max_value=100, initial=20)
    prefill_tokens_per_s = forms.FloatField(
        label="prefill, tokens", min_value=100, max_value=10_000_000, initial=25_000,
    )
    decode_ms = forms.FloatField(label="a decode step", min_value=0.1, max_value=10_000, initial=10)
    front_end_ms = forms.FloatField(label="front end", min_value=0, max_value=60_000, initial=5)

    units = {"rate_per_s": "/s", "prompt_tokens": "tok", "hit_percent": "%", "hit_after_percent": "%",
             "prefill_tokens_per_s": "/s", "decode_ms": "ms", "front_end_ms": "ms"}


def plans_summary(inputs: Mapping[str, Any]) -> str:
    return (f"{MODELS[inputs['model']].name} {inputs['weights']}, {inputs['gpus']} × {GPUS[inputs['gpu']].name}, "
            f"{inputs['users']:,} users of {inputs['context_tokens']:,}")


def deploy_summary(inputs: Mapping[str, Any]) -> str:
    return (f"{inputs['rate_per_s']:g}/s of {inputs['prompt_tokens']:,}, hits {inputs['hit_percent']:g}% to "
            f"{inputs['hit_after_percent']:g}%")


def tell_plans(result: parallel_plans.Plans) -> Iterator[str]:
    """Each plan in a line, then the choice and its command."""
    for plan in result.plans:
        but = f", but {plan.why_not}" if plan.why_not else ""
        yield (f"{plan.name}: {plan.kv_gib:,.2f} GiB of KV a GPU, {plan.sequences:,} sequences, "
               f"{plan.step_ms:.1f} ms a step{but}")
    yield from (result.verdict, result.command)


def tell_deploy(result: deploy_ttft.DeployTtft) -> Iterator[str]:
    """The finding, what the queue makes of it, and the lines."""
    yield from (result.finding, result.verdict, result.itl_verdict)
    yield from map(str, result.lines)


def summary(inputs: Mapping[str, Any]) -> str:
    """"Llama-3.1-70B, 4 × H100, TP 4, fp8 KV"."""
    shape, name = served(inputs["model"], inputs["checkpoint"])
    parts = [shape.name if shape else name.rpartition("/")[2], f"{inputs['gpus']} × {GPUS[inputs['gpu']].name}"]
    parts += [f"{short} {inputs[field]}" for short, field in (
        ("TP", "tensor_parallel_size"), ("PP", "pipeline_parallel_size"), ("DP", "data_parallel_size"),
    ) if inputs[field] > 1]
    return ", ".join([*parts, *([f"{inputs['kv_cache_dtype']} KV"] if inputs["kv_cache_dtype"] else [])])


def tell(result: serve_builder.Serve) -> Iterator[str]:
    """The command, what each line means, what the rules say, and the fit, for a shell."""
    yield result.command
    for part in result.parts:
        yield f"{part.text}: {part.meaning}"
        yield from (f"  {'REFUSED' if each.refused else 'warning'} {each.id}: {each.says}" for each in part.findings)
        yield from (f"  not copied either, {each.id}: {each.says}" for each in part.leans)
    yield from (f"{'REFUSED' if each.refused else 'warning'} {each.id}: {each.says}" for each in result.general)
    yield from result.faults
    yield f"vLLM fills in {', '.join(result.filled_in)}"
    yield result.finding
    yield from (f"{line.label} = {line.expression} = {line.value:,.2f} {line.unit}" for line in result.lines)


def without(inputs: Mapping[str, Any], dest: str) -> str:
    """The address of the same command without a flag that a knob gives."""
    name = serve_builder.TAKES_OUT.get(dest, dest)
    return LAB.address(LAB.views[0], {**inputs, name: blank(ServeForm.base_fields[name])})


def picture(shown: Shown) -> serve_command_picture.Picture:
    return serve_command_picture.picture(shown, without)


def paste(text: str) -> Pasted:
    """A pasted command as knobs; flags that no knob stands for, and unknown ones, go with the other flags."""
    command = read(text)
    if not (command.given or command.unknown or command.model):
        return Pasted({}, tuple(command.faults))
    values = {name: blank(field) for name, field in ServeForm.base_fields.items() if name not in MACHINE}
    rest = []
    for one in {one.flag.dest: one for one in command.given if one.flag.dest != "model"}.values():
        knobs = knobs_for(one)
        if in_thousands(one.flag, one.text):  # as typed, so that it can be warned of
            rest.append(f"{one.flag.name} {one.text}")
        elif knobs is not None and all(takes(name, value) for name, value in knobs.items()):
            values |= {name: text_of(ServeForm.base_fields[name], value) for name, value in knobs.items()}
        else:
            rest.append(line_of(one))
    rest += [shlex.join(one.text.split(" ", 1)) for one in command.unknown]
    values |= named(command.model or DEFAULT_MODEL) | {
        "gpus": USUAL_GPUS,
        "more": "\n".join(rest), "env": " ".join(f"{name}={shlex.quote(value)}" for name, value in command.env.items()),
    }
    faults = [*command.faults, *command.notes]
    faults += [f"{ServeForm.base_fields[name].label}: {values[name][:40]}… is too long for an address."
               for name in ("more", "env", "checkpoint") if not takes(name, values[name])]
    return Pasted(values, tuple(faults))


def blank(field: forms.Field) -> str:
    """What a knob holds when its flag is left out."""
    if isinstance(field, Switch):
        return "off"
    return str(field.min_value) if field.required and isinstance(field, forms.IntegerField) else ""


def takes(name: str, value: Any) -> bool:
    """Whether a knob can hold a value."""
    field = ServeForm.base_fields[name]
    try:
        return value in (None, "") or field.clean(text_of(field, value)) == value
    except ValidationError:
        return False


def named(checkpoint: str) -> dict[str, str]:
    """The model's knobs for a checkpoint's name."""
    shape = shape_called(checkpoint)
    slug = next((slug for slug, model in MODELS.items() if model is shape), BY_NAME)
    usual = slug != BY_NAME and checkpoint == served(slug, "")[1]
    return {"model": slug, "checkpoint": "" if usual else checkpoint}


WIDE = {
    "model": "deepseek-v3", "gpu": "h200", "gpus": 8, "tensor_parallel_size": 1, "data_parallel_size": 16,
    "data_parallel_size_local": 8, "enable_expert_parallel": True, "max_model_len": None,
    "gpu_memory_utilization": None, "kv_cache_dtype": "",
    "more": "--data-parallel-address HEAD\n--data-parallel-rpc-port 13345",
    "env": "VLLM_NIXL_SIDE_CHANNEL_HOST=10.0.0.7", "kv_connector": NIXL, "shutdown_timeout": 60,
}
BARE = {
    "tensor_parallel_size": 1, "max_model_len": None, "gpu_memory_utilization": None, "kv_cache_dtype": "",
    "max_num_batched_tokens": None, "max_num_seqs": None,
}
YARN = ('--hf-overrides \'{"max_position_embeddings":131072,"rope_parameters":{"rope_type":"yarn","rope_theta":1000000,'
        '"factor":4.0,"original_max_position_embeddings":32768}}\'')
PRESETS = (
    Preset("70B on four", {}, "A command as teams write it. Which two flags could go?"),
    Preset("an expert split too", {"enable_expert_parallel": True}, "The same with one flag too many."),
    Preset("two GPUs", {"tensor_parallel_size": 2, "gpus": 2}, "It loads, and then what?"),
    Preset("chat, 8B", BARE | {"model": "llama-3.1-8b", "gpus": 1},
           "Nothing but the model: see what vLLM fills in, and what is left of the GPU."),
    Preset("for the gap between tokens", BARE | {
        "model": "llama-3.1-8b", "gpus": 1, "max_num_batched_tokens": 2_048, "long_prefill_token_threshold": 512,
    }, "Small steps, and no prompt takes more than a quarter of one."),
    Preset("for throughput", BARE | {"model": "llama-3.1-8b", "gpus": 1, "performance_mode": "throughput"},
           "One flag doubles what a step and the running batch may hold."),
    Preset("beyond its training", BARE | {
        "model": "qwen3-32b", "gpus": 2, "tensor_parallel_size": 2, "max_model_len": 131_072, "more": YARN,
    }, "Four times the trained length by YaRN. Without the patch of the config it is refused."),
    Preset("decode, wide EP", WIDE | {
        "max_num_batched_tokens": 512, "max_num_seqs": 512, "all2all_backend": "deepep_low_latency",
        "enable_eplb": True, "redundant_experts": 32, "kv_role": "kv_consumer",
        "kv_load_failure_policy": "recompute",
    }, "R1 on two nodes of H200, the decode side. The second node runs the same with --headless and its start rank."),
    Preset("prefill, wide EP", WIDE | {
        "max_num_batched_tokens": 16_384, "max_num_seqs": None, "all2all_backend": "deepep_high_throughput",
        "kv_role": "kv_producer",
    }, "The side that fills the cache: a large budget, throughput kernels."),
    Preset("tenants with adapters", BARE | {
        "model": "llama-3.1-8b", "gpus": 1, "enable_lora": True, "max_loras": 8, "max_cpu_loras": 32,
        "max_lora_rank": 32,
    }, "Eight adapters in a batch, thirty-two on the host."),
    Preset("tools and thinking", BARE | {
        "model": "qwen3-8b", "gpus": 1, "enable_auto_tool_choice": True, "tool_call_parser": "hermes",
        "reasoning_parser": "qwen3",
    }, "Calls and thoughts are read out of the text, each by a parser."),
    Preset("drafts from the prompt", BARE | {
        "model": "llama-3.1-8b", "gpus": 1, "max_num_seqs": 64, "drafter": "ngram", "draft_tokens": 4,
    }, "An n-gram drafter; the batch is kept small, where drafts pay."),
    Preset("from an old wiki", BARE | {
        "model": "llama-3.1-8b", "gpus": 1,
        "more": "--swap-space 4 --num-scheduler-steps 8 --max-num-batched-tokens 8k --gpu-memory-utilisation 0.9",
    }, "Two flags are gone, one is misspelt, and 8k is not 8,192."),
)
GROUPS = (
    Group("Machine", ("model", "checkpoint", "gpu", "gpus")),
    Group("Split", ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel")),
    Group("Lengths and memory", ("max_model_len", "gpu_memory_utilization", "kv_cache_dtype")),
    Group("Scheduling", ("max_num_batched_tokens", "max_num_seqs", "scheduling_policy")),
    Group("More of memory", ("quantization", "enable_prefix_caching", "kv_offloading_size", "host_gib", "mean_tokens"),
          folded=True),
    Group("More of scheduling", ("enable_chunked_prefill", "long_prefill_token_threshold", "performance_mode"),
          folded=True),
    Group("Wide expert parallel", ("data_parallel_size_local", "all2all_backend", "enable_eplb", "redundant_experts",
                                   "enable_dbo"), folded=True),
    Group("Graphs", ("enforce_eager", "cudagraph_mode"), folded=True),
    Group("LoRA", ("enable_lora", "max_loras", "max_lora_rank", "max_cpu_loras"), folded=True),
    Group("Speculation", ("drafter", "draft_tokens", "draft_model"), folded=True),
    Group("Tools, reasoning", ("enable_auto_tool_choice", "tool_call_parser", "reasoning_parser"), folded=True),
    Group("KV transfer", ("kv_connector", "kv_role", "kv_load_failure_policy"), folded=True),
    Group("Serving", ("api_server_count", "shutdown_timeout"), folded=True),
    Group("Other flags", ("more", "env"), folded=True),
)

LAB = Lab(
    slug="serve-command", title="The serve command", topic="scale-out", line="Every flag, and does it start",
    fragment="calculators/labs/_serve_command.html", thumbnail=serve_command_picture.thumbnail,
    views=(
        View(
            "command", ServeForm, serve_builder.solve, picture=picture, summary=summary,
            tell=tell, presets=PRESETS, groups=GROUPS,
            ask=Ask(figure="at_once", label="requests of full length that fit at once", unit="requests"),
            paste=Paste("From a command", "Paste a vllm serve command, with its line ends, quotes and variables. It is "
                        "read once and kept nowhere.", "vllm serve ORG/MODEL --max-model-len 32K …", paste),
        ),
        View(
            "plans", PlansForm, parallel_plans.solve, title="width or replicas",
            picture=serve_command_plans_picture.picture, summary=plans_summary, tell=tell_plans,
            fragment="calculators/labs/_serve_command_plans.html",
            ask=Ask(figure="holds", label="the narrowest that serves them holds (0: none does)", unit="sequences"),
            presets=(
                Preset("70B on eight", {}, "Chat at 4K on one node: which width, and how many replicas?"),
                Preset("the same in fp8", {"weights": FP8}, "Half the weights: now two GPUs hold a replica."),
                Preset("R1 on eight H200", {"model": "deepseek-v3", "gpu": "h200"},
                       "A latent has no heads to share, so each GPU of a replica keeps all of it."),
                Preset("8B without NVLink", {"model": "llama-3.1-8b", "gpu": "l40s"},
                       "Small enough for one; what would width buy here?"),
                Preset("long documents", {"context_tokens": 100_000, "held_tokens": 60_000, "users": 12},
                       "Few users, each with a lot of KV."),
            ),
            groups=(
                Group("Node", ("model", "weights", "gpu", "gpus")),
                Group("Traffic", ("context_tokens", "users", "held_tokens")),
                Group("Rules of thumb", ("bandwidth_share", "reduce_us"), folded=True),
            ),
        ),
        View(
            "ttft", DeployForm, deploy_ttft.solve, title="after a rollout",
            picture=serve_command_ttft_picture.picture, summary=deploy_summary, tell=tell_deploy,
            fragment="calculators/labs/_serve_command_ttft.html",
            ask=Ask(figure="p99_wait_s", label="P99 wait afterwards", unit="s"),
            presets=(
                Preset("75% to 20%", {}, "A rollout moved the hit ratio; the GPUs look as before."),
                Preset("75% to 50%", {"hit_after_percent": 50}, "A milder fall."),
                Preset("a cold start", {"hit_after_percent": 0}, "Every cache empty at once, at full load."),
                Preset("two replicas", {"replicas": 2}, "The same traffic over two: half the load, and the tail?"),
            ),
            groups=(
                Group("Load", ("rate_per_s", "replicas", "prompt_tokens")),
                Group("Prefix hits", ("hit_percent", "hit_after_percent")),
                Group("The replica", ("prefill_tokens_per_s", "decode_ms", "front_end_ms")),
            ),
        ),
    ),
    notes=("Flags, choices and defaults are those of vLLM 0.33.0. The fit is the memory ledger’s: exact in weights and "
           "KV, by rule in between.",),
)
