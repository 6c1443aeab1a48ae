"""A serve command built from knobs: its lines, each explained and checked, and whether it fits."""
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from calculators.models.base import Line, Refusal
from calculators.models.catalogue import GPUS, MODELS, Model
from calculators.models.catalogue_rows import OWN
from calculators.models.serve_command import Command, Given, Unknown, read
from calculators.models.serve_fit import Fit, fit
from calculators.models.serve_flags import BY_DEST, SEVERAL, Flag
from calculators.models.serve_rule import Finding
from calculators.models.serve_rules import findings
from calculators.models.serve_scene import Scene
from calculators.models.serve_values import written
from calculators.models.serve_words import filled_in, meaning
from calculators.models.shapes import shape_called
from calculators.models.shell_words import split

BY_NAME = "named"  # the model is the one that the checkpoint's name stands for
ANY = "ORG/MODEL"  # what a shape of one's own is called
LINE_END = re.compile(r"\\?\s*\n")
# What people serve of the catalogue's models, where that is not the checkpoint that its numbers are of.
CHECKPOINTS = {
    "llama-3.1-8b": "meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-70b": "meta-llama/Llama-3.1-70B-Instruct",
    "llama-3.1-405b": "meta-llama/Llama-3.1-405B-Instruct-FP8", "mistral-7b": "mistralai/Mistral-7B-Instruct-v0.3",
    "mixtral-8x7b": "mistralai/Mixtral-8x7B-Instruct-v0.1", "deepseek-v3": "deepseek-ai/DeepSeek-R1-0528",
}
NGRAM, EAGLE3, MTP, DRAFT, SUFFIX = "ngram", "eagle3", "mtp", "draft_model", "suffix"
NIXL, NIXL_AND_HOST = "NixlConnector", "MultiConnector"
HOST_TIER_BYTES = 64 * 2**30
# Knobs that stand for one flag by its name, in the order in which the command says them.
PLAIN = (
    "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "data_parallel_size_local",
    "enable_expert_parallel", "max_model_len", "gpu_memory_utilization", "max_num_batched_tokens", "max_num_seqs",
    "kv_cache_dtype", "quantization", "enable_prefix_caching", "kv_offloading_size", "enable_chunked_prefill",
    "long_prefill_token_threshold", "scheduling_policy", "performance_mode", "all2all_backend", "enable_eplb",
    "enable_dbo", "enforce_eager", "enable_lora", "max_loras", "max_lora_rank", "max_cpu_loras",
    "enable_auto_tool_choice", "tool_call_parser", "reasoning_parser", "api_server_count", "shutdown_timeout",
)
# Knobs that always hold something; at the parser's default they say nothing.
ALWAYS = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
THREE_WAY = ("enable_prefix_caching", "enable_chunked_prefill")  # on, off, or left to vLLM
# Flags whose JSON some knobs make up, and after which flag they are said.
MADE_UP = {"eplb_config": "enable_eplb", "compilation_config": "enforce_eager", "speculative_config": "max_cpu_loras",
           "kv_transfer_config": "reasoning_parser"}
DRAFTERS = (NGRAM, EAGLE3, MTP, DRAFT, SUFFIX)


@dataclass(frozen=True, slots=True)
class Part:
    """One line of the command: the flag and its value as written, what it means, and what the rules say of it.

    `by_knob` says that a knob gives it. An `unknown` one is refused by the parser; its meaning says why. `leans` are
    the refusals that come of leaving out the refused lines.
    """

    flag: str
    value: str
    meaning: str
    findings: tuple[Finding, ...] = ()
    dest: str = ""
    by_knob: bool = False
    unknown: bool = False
    near: str = ""
    leans: tuple[Finding, ...] = ()

    @property
    def refused(self) -> bool:
        return self.unknown or any(one.refused for one in self.findings)

    @property
    def copied(self) -> bool:
        return not self.refused and not self.leans

    @property
    def text(self) -> str:
        return f"{self.flag} {self.value}".rstrip()


@dataclass(frozen=True, slots=True)
class Serve:
    """The command line by line, what vLLM fills in, what the rules say of the rest, and the fit.

    `command` is the text to copy: without the lines that would be refused, or then would be. `refusals` and `warnings`
    count the rules that fire. `at_once` are requests of full length that fit at once. `memory_share`, `step_tokens`,
    `step_sequences` and `batch_adapters` are settings as vLLM completes them.
    """

    model_id: str
    model_meaning: str
    variables: tuple[str, ...]
    parts: tuple[Part, ...]
    general: tuple[Finding, ...]
    faults: tuple[str, ...]
    command: str
    filled_in: tuple[str, ...]
    memory_share: float
    step_tokens: int
    step_sequences: int
    batch_adapters: int
    fit: Fit
    at_once: float
    refusals: int
    warnings: int
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def left_out(self) -> tuple[Part, ...]:
        """The lines that are not copied."""
        return tuple(part for part in self.parts if not part.copied)


def solve(*, model: str = "llama-3.1-70b", checkpoint: str = "", gpu: str = "h100", gpus: int = 4,
          tensor_parallel_size: int = 4, pipeline_parallel_size: int = 1, data_parallel_size: int = 1,
          data_parallel_size_local: int | None = None, enable_expert_parallel: bool = False,
          max_model_len: int | None = 32_768, gpu_memory_utilization: float | None = 0.9, kv_cache_dtype: str = "fp8",
          quantization: str = "", enable_prefix_caching: bool | None = None, kv_offloading_size: float | None = None,
          max_num_batched_tokens: int | None = 8_192, max_num_seqs: int | None = 256, scheduling_policy: str = "",
          enable_chunked_prefill: bool | None = None, long_prefill_token_threshold: int | None = None,
          performance_mode: str = "", enforce_eager: bool = False, cudagraph_mode: str = "", all2all_backend: str = "",
          enable_eplb: bool = False, redundant_experts: int = 0, enable_dbo: bool = False, enable_lora: bool = False,
          max_loras: int | None = None, max_lora_rank: int | None = None, max_cpu_loras: int | None = None,
          drafter: str = "", draft_tokens: int | None = None, draft_model: str = "",
          enable_auto_tool_choice: bool = False, tool_call_parser: str = "", reasoning_parser: str = "",
          kv_connector: str = "", kv_role: str = "", kv_load_failure_policy: str = "",
          api_server_count: int | None = None, shutdown_timeout: int | None = None, more: str = "", env: str = "",
          host_gib: float = 1_024, mean_tokens: int = 2_000) -> Serve:
    """Build the command that the knobs make, with `more` flags as typed after them and `env` before it.

    Every line is explained; refusals and warnings stand beside the flag that they are about. The fit is that of the
    memory ledger. A knob left empty leaves its flag out.
    """
    knobs = locals()
    shape, name = served(model, checkpoint)
    command = read(f"vllm serve {shlex.quote(name)} {LINE_END.sub(' ', more)}")
    by_knobs = list(given_by(knobs))
    command.given[:0] = by_knobs
    command.env, strays = environment(env)
    command.faults += strays
    scene = scene_of(command, shape, gpu, gpus, host_gib, name)
    return judged(command, scene, mean_tokens, len(by_knobs))


def served(model: str, checkpoint: str) -> tuple[Model | None, str]:
    """The shape that is served, None of a name without a known one, and the checkpoint's name."""
    name, slug = checkpoint.strip(), model.partition(",")[0]
    if not name and slug == BY_NAME:
        raise Refusal("Say which checkpoint, as an id on the hub or a path.", "checkpoint")
    if model == BY_NAME:
        return shape_called(name), name
    return MODELS[model], name or (ANY if slug == OWN else CHECKPOINTS.get(slug) or MODELS[slug].source)


def scene_of(command: Command, shape: Model | None, gpu: str, gpus: int, host_gib: float, name: str) -> Scene:
    """What the rules look at."""
    return Scene(
        values=command.values, model=shape, gpu=GPUS[gpu], gpus=gpus, host_gib=host_gib, model_id=name, env=command.env,
        texts={one.flag.dest: one.text for one in command.given},
    )


def environment(text: str) -> tuple[dict[str, str], list[str]]:
    """The variables set before the command, and a sentence for each word that sets none."""
    words, faults = split(text)
    named = {word.text.partition("=")[0]: word.text.partition("=")[2] for word in words if is_setting(word.text)}
    strays = [f"“{word.text[:60]}” sets no variable; write NAME=value." for word in words if not is_setting(word.text)]
    return named, [*faults, *strays]


def is_setting(text: str) -> bool:
    return "=" in text and text.partition("=")[0].isidentifier() and text.isascii()


def given_by(knobs: Mapping[str, Any]) -> Iterator[Given]:
    """The flags that the knobs give, in the command's order."""
    made = {"eplb_config": redundant(knobs), "compilation_config": graphs(knobs),
            "speculative_config": drafting(knobs), "kv_transfer_config": transfer(knobs)}
    for name in PLAIN:
        value = knobs[name]
        flag = BY_DEST[name]
        left_out = value in (None, "") or (value is False and name not in THREE_WAY)
        if not left_out and not (name in ALWAYS and value == flag.default):
            yield Given(flag, flag.name, value)
        for dest, after in MADE_UP.items():
            if after == name and made[dest]:
                yield Given(BY_DEST[dest], BY_DEST[dest].name, made[dest])


def redundant(knobs: Mapping[str, Any]) -> dict[str, Any]:
    count = knobs["redundant_experts"]
    return {"num_redundant_experts": count} if count else {}


def graphs(knobs: Mapping[str, Any]) -> dict[str, Any]:
    mode = knobs["cudagraph_mode"]
    return {"cudagraph_mode": mode} if mode else {}


def drafting(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of speculative decoding."""
    if not knobs["drafter"]:
        return {}
    made = {"method": knobs["drafter"], "model": knobs["draft_model"].strip() or None,
            "num_speculative_tokens": knobs["draft_tokens"]}
    return {key: value for key, value in made.items() if value is not None}


def transfer(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a KV connector; NIXL with a tier in host memory is two connectors in one."""
    name = knobs["kv_connector"]
    made = {"kv_connector": name, "kv_role": knobs["kv_role"],
            "kv_load_failure_policy": knobs["kv_load_failure_policy"]}
    if name == NIXL_AND_HOST:
        nixl = {"kv_connector": NIXL, "kv_role": knobs["kv_role"]}
        tier = {"kv_connector": "OffloadingConnector", "kv_role": "kv_both",
                "kv_connector_extra_config": {"cpu_bytes_to_use": HOST_TIER_BYTES}}
        made["kv_connector_extra_config"] = {
            "connectors": [{key: value for key, value in nixl.items() if value}, tier]}
    return {key: value for key, value in made.items() if value} if name else {}


def value_text(flag: Flag, value: Any) -> str:
    """A flag's value as the command writes it; a share with two decimals at least."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, float) and flag.dest == "gpu_memory_utilization" and round(value, 2) == value:
        return f"{value:.2f}"
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if flag.many == SEVERAL:
        return " ".join(written(one) for one in value)
    return written(value)


def name_of(one: Given) -> str:
    """The flag's long name, or that which switches it off."""
    return one.flag.negative if one.value is False else one.flag.name


def judged(command: Command, scene: Scene, mean_tokens: int, by_knobs: int) -> Serve:
    """The command with what the rules say of it; the first `by_knobs` flags are those of knobs."""
    found = list(findings(scene))
    here = {one.flag.dest for one in command.given}
    last = {one.flag.dest: at for at, one in enumerate(command.given)}
    parts = [
        Part(name_of(one), value_text(one.flag, one.value), meaning(one.flag, one.value, scene),
             tuple(each for each in found if each.flag == one.flag.dest and last[one.flag.dest] == at), one.flag.dest,
             by_knob=at < by_knobs)
        for at, one in enumerate(command.given)
    ]
    leaning = leans(command, scene, {at for at, part in enumerate(parts) if part.refused})
    parts = [replace(part, leans=tuple(leaning.get(at, ()))) for at, part in enumerate(parts)]
    parts += [unknown_part(one) for one in command.unknown]
    general = tuple(each for each in found if each.flag not in here)
    fitting = fit(scene, mean_tokens)
    twice = tuple(f"{one.flag.name} is said by a knob and among the other flags; the last one counts."
                  for at, one in enumerate(command.given[:by_knobs]) if last[one.flag.dest] != at)
    refusals = sum(each.refused for each in found) + len(command.unknown)
    made = Serve(
        model_id=scene.model_id, model_meaning=model_meaning(scene, fitting),
        variables=tuple(f"{name}={shlex.quote(value)}" for name, value in command.env.items()), parts=tuple(parts),
        general=general, faults=(*command.faults, *command.notes, *twice), command="", filled_in=filled_in(scene),
        memory_share=scene.utilization, step_tokens=scene.tokens, step_sequences=scene.seats,
        batch_adapters=scene.get("max_loras"), fit=fitting, at_once=fitting.at_once, refusals=refusals,
        warnings=sum(not each.refused for each in found), finding="", lines=fitting.lines, slips=fitting.slips,
    )
    return replace(made, command=text_of(made), finding=finding(made))


def leans(command: Command, scene: Scene, refused: set[int]) -> dict[int, list[Finding]]:
    """Why flags are refused once those at the `refused` places are left out, by place; of one given twice the last."""
    left, found = dict(enumerate(command.given)), {}
    while refused:
        left = {at: one for at, one in left.items() if at not in refused}
        last = {one.flag.dest: at for at, one in left.items()}
        rest = replace(scene, values={one.flag.dest: one.value for one in left.values()},
                       texts={one.flag.dest: one.text for one in left.values()})
        refused = set()
        for each in findings(rest):
            if each.refused and (at := last.get(each.flag)) is not None:
                found.setdefault(at, []).append(each)
                refused.add(at)
    return found


def unknown_part(one: Unknown) -> Part:
    """What the parser refuses, as a line of its own."""
    words = one.text.split(" ", 1)
    return Part(words[0], words[1] if len(words) > 1 else "", one.why, unknown=True, near=one.near)


def text_of(made: Serve) -> str:
    """The command as a shell takes it, a flag a line, without what would be refused."""
    start = " ".join((*made.variables, "vllm serve", written(made.model_id)))
    return " \\\n  ".join([start, *(part.text for part in made.parts if part.copied)])


def model_meaning(scene: Scene, fitting: Fit) -> str:
    """What is loaded: its size and format."""
    if scene.model is None:
        return "what to load; its shape is not known here, so memory and heads are not checked"
    if not fitting.weights_gb:
        return f"what to load, {scene.model.name}"
    return f"what to load, {fitting.weights_gb:,.1f} GB of weights"


def finding(made: Serve) -> str:
    """The whole result in a sentence."""
    rules = f"{plural(made.refusals, 'refusal')}, {plural(made.warnings, 'warning').lower()}"
    if made.fit.ledger is None:
        return f"{rules}. Memory is not modelled: {made.fit.reason}."
    if not made.fit.starts:
        return f"{rules}. {made.fit.ledger.outcome_verdict[:1].upper()}{made.fit.ledger.outcome_verdict[1:]}."
    return f"{rules}. {made.fit.kv_gib:,.2f} GiB of KV hold {made.at_once:,.1f} requests of {made.fit.length:,} tokens."


def plural(count: int, word: str) -> str:
    return f"{count or 'No'} {word}{'s' * (count != 1)}"


def knobs_for(one: Given) -> dict[str, Any] | None:
    """The knobs that stand for a flag with its value, None where none do."""
    if one.flag.dest in PLAIN:
        return {one.flag.dest: one.value}
    take_apart = TAKEN_APART.get(one.flag.dest)
    return take_apart(one.value) if take_apart else None


def line_of(one: Given) -> str:
    """A flag with its value, as one line of a command."""
    return f"{name_of(one)} {value_text(one.flag, one.value)}".rstrip()


def eplb_knobs(value: Any) -> dict[str, Any] | None:
    return {"redundant_experts": value["num_redundant_experts"]} if keys(value) == {"num_redundant_experts"} else None


def graph_knobs(value: Any) -> dict[str, Any] | None:
    return {"cudagraph_mode": value["cudagraph_mode"]} if keys(value) == {"cudagraph_mode"} else None


def draft_knobs(value: Any) -> dict[str, Any] | None:
    if "method" not in keys(value) or not keys(value) <= {"method", "model", "num_speculative_tokens"}:
        return None
    return {"drafter": value["method"], "draft_model": value.get("model", ""),
            "draft_tokens": value.get("num_speculative_tokens")}


def transfer_knobs(value: Any) -> dict[str, Any] | None:
    names = {"kv_connector", "kv_role", "kv_load_failure_policy"}
    if "kv_connector" not in keys(value):
        return None
    knobs = {name: value.get(name, "") for name in names}
    return knobs if json.dumps(transfer(knobs), sort_keys=True) == json.dumps(value, sort_keys=True) else None


def keys(value: Any) -> set[str]:
    return set(value) if isinstance(value, dict) else set()


# The knob that takes a flag out when it is emptied, where that is not its own name.
TAKES_OUT = {"eplb_config": "redundant_experts", "compilation_config": "cudagraph_mode",
             "speculative_config": "drafter", "kv_transfer_config": "kv_connector"}
TAKEN_APART = {"eplb_config": eplb_knobs, "compilation_config": graph_knobs, "speculative_config": draft_knobs,
               "kv_transfer_config": transfer_knobs}
