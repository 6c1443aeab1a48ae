"""Which model runner a configuration gets, and whether it overlaps: the engine's rules in their order."""
from dataclasses import dataclass

from calculators.models.base import Line, Refusal
from calculators.models.engine_loop import Times, pace

UNSET, V1, V2, REFUSED = "unset", "V1", "V2", "refused"
DEFAULT, ON, OFF = "default", "on", "off"
OVERLAP_ON_V1 = ("none", "eagle", "eagle3", "mtp", "draft_model", "dflash", "dspark", "ngram_gpu")
NOT_ON_V2 = ("suffix", "custom_class")
FEATURES = {
    "none": "nothing unusual", "hisparse": "HiSparse", "watermark": "watermarking",
    "parallel-drafting": "parallel drafting", "vocabulary": "another vocabulary",
    "dbo": "dual-batch overlap", "dbo-lora": "DBO with LoRA", "replayssm": "Triton ReplaySSM",
    "old-processor": "old processor", "context-parallel": "context parallel",
    "diffusion": "diffusion model", "batch-sharded": "sharded sampling",
}
V2_ONLY = {"context-parallel": "prefill context parallel", "diffusion": "diffusion models",
           "batch-sharded": "batch-sharded sampling"}
OUTCOMES = {
    "V2 async": "V2, overlapped", "V2 sync": "V2, waiting", "V1 async": "V1, overlapped", "V1 sync": "V1, waiting",
    REFUSED: "does not start",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule in its turn: what it asks, and how it fell: "passed", "decides" or "not reached"."""

    asks: str
    fell: str
    says: str = ""


@dataclass(frozen=True, slots=True)
class ModelRunner:
    """The runner, the loop and the queue's depth; `message` is what the engine logs or raises with."""

    outcome: str
    runner: str
    overlaps: bool
    queue_depth: int
    message: str
    runner_rules: tuple[Rule, ...]
    loop_rules: tuple[Rule, ...]
    period_ms: float
    old_period_ms: float
    new_period_ms: float
    gain: float
    finding: str
    verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def outcome_words(self) -> str:
        return OUTCOMES[self.outcome]


def solve(*, env: str = UNSET, triton: bool = True, feature: str = "none", speculation: str = "none",
          padded_drafts: bool = True, pipeline_parallel: int = 1, executor: str = "mp", platform: str = "cuda",
          pooling: bool = False, scheduler_class: str = "built-in", async_flag: str = DEFAULT, sched_ms: float = 1.2,
          out_ms: float = 1.0, gpu_ms: float = 1.0, moved_ms: float = 0.8, kernels_ms: float = 0.05) -> ModelRunner:
    """Decide the model runner, then the loop, as the engine does at its start; then time a step of both runners.

    V2 moves `moved_ms` of the CPU's preparation to the GPU as `kernels_ms` of kernels; both are illustrations.
    Source: vllm 0.33.0, config/vllm.py, use_v2_model_runner, __post_init__ and
    _get_v2_model_runner_unsupported_features; platforms/cpu.py, check_and_update_config.
    Raises Refusal for what names drafts without speculation, and for moving more than there is.
    """
    if speculation == "none" and feature in ("parallel-drafting", "vocabulary"):
        raise Refusal(f"“{FEATURES[feature]}” needs a way to speculate; takes one beside “speculation”.", "speculation")
    if moved_ms > sched_ms:
        raise Refusal(f"More is moved than there is: takes at most {sched_ms:g} ms.", "moved_ms")
    unsupported = not_on_v2(feature, speculation, pipeline_parallel, executor, env)
    runner, runner_rules, message = runner_of(env, triton, feature, unsupported)
    faults = refusals(runner, triton, feature, speculation, unsupported, message)
    overlaps, loop_rules, said = loop_of(runner, speculation, padded_drafts, pipeline_parallel, executor, platform,
                                         pooling, scheduler_class, async_flag)
    if said.startswith("refused"):
        faults.append(said.removeprefix("refused: "))
    outcome = REFUSED if faults else f"{runner} {'async' if overlaps else 'sync'}"
    depth = (pipeline_parallel + 1 if runner == V2 else 2) if overlaps else pipeline_parallel
    old = pace(Times(sched_ms, out_ms, gpu_ms, 0), overlaps)
    new = pace(Times(sched_ms - moved_ms, out_ms, gpu_ms + kernels_ms, 0), overlaps)
    return ModelRunner(
        outcome=outcome, runner=runner, overlaps=overlaps, queue_depth=depth,
        message=faults[0] if faults else message or said, runner_rules=runner_rules, loop_rules=loop_rules,
        period_ms=new if runner == V2 else old, old_period_ms=old, new_period_ms=new, gain=old / new,
        finding=f"{OUTCOMES[outcome]}: {old:.4g} ms a step on V1, {new:.4g} on V2.",
        verdict=verdict(outcome, runner, overlaps, depth),
        lines=(
            Line("V1, a step", period_words(gpu_ms, sched_ms, out_ms, overlaps), old, "ms"),
            Line("V2, a step", period_words(gpu_ms + kernels_ms, sched_ms - moved_ms, out_ms, overlaps), new, "ms"),
            Line("gain", f"{old:.4g} / {new:.4g}", old / new, "×"),
            Line("steps in flight", f"{pipeline_parallel} + 1" if overlaps and runner == V2 else "", depth, "steps"),
        ),
        slips=tuple((value, sentence) for value, sentence in (
            (old if runner == V2 else new, "That is the other runner’s step."),
            (gpu_ms, "That is the GPU’s step; the CPU sets the pace."),
        ) if abs(value / (new if runner == V2 else old) - 1) > 0.01),
    )


def not_on_v2(feature: str, speculation: str, pipeline_parallel: int, executor: str, env: str) -> list[str]:
    """What V2 does not support yet, in the engine's words."""
    unsupported = []
    if executor == "external_launcher" and pipeline_parallel > 1:
        unsupported.append("pipeline parallelism with external_launcher")
    if speculation in NOT_ON_V2:
        unsupported.append(f"speculative method '{speculation}'")
    if feature == "parallel-drafting" and speculation not in ("dflash", "dspark"):
        unsupported.append("parallel drafting for EAGLE speculative decoding")
    if feature == "vocabulary":
        unsupported.append("heterogeneous-vocabulary draft models")
    if feature in ("dbo", "dbo-lora") and env == UNSET:
        unsupported.append("dual batch overlap")
    elif feature == "dbo-lora":
        unsupported.append("dual batch overlap with LoRA")
    return unsupported


def runner_of(env: str, triton: bool, feature: str, unsupported: list[str]) -> tuple[str, tuple[Rule, ...], str]:
    """The runner, the rules in their order, and what is logged or, with HiSparse on V1, raised."""
    names = ", ".join(unsupported)
    forced = FEATURES[feature] if feature in ("hisparse", "watermark") else ""
    rules = (
        ("HiSparse or watermarking is configured", bool(forced), V2, f"{forced} needs V2."),
        ("VLLM_USE_V2_MODEL_RUNNER is set", env != UNSET, V2 if env == "1" else V1, f"It is {env}."),
        ("there is no Triton", not triton, V1, "Model Runner V2 requires Triton; using the V1 model runner instead."),
        ("V2 lacks a feature in use", bool(unsupported), V1,
         f"Model Runner V2 does not yet support {names}; using the V1 model runner instead."),
        ("else", True, V2, "Using V2 Model Runner"),
    )
    made, runner, says = decided(rules)
    if feature == "hisparse" and env == "0":
        says = "HiSparse requires Model Runner V2; remove VLLM_USE_V2_MODEL_RUNNER=0."
    return runner, made, says


def decided(rules: tuple[tuple[str, bool, str, str], ...]) -> tuple[tuple[Rule, ...], str, str]:
    """The rules with how each fell, and what the first that holds decides and says."""
    first = next(place for place, rule in enumerate(rules) if rule[1])
    made = tuple(
        Rule(asks, "decides" if place == first else "passed" if place < first else "not reached",
             f"{outcome}. {says}" if place == first else "")
        for place, (asks, _, outcome, says) in enumerate(rules)
    )
    return made, rules[first][2], rules[first][3]


def refusals(runner: str, triton: bool, feature: str, speculation: str, unsupported: list[str],
             message: str) -> list[str]:
    """Why this runner will not start with this configuration, in the engine's words; empty when it does."""
    if message.startswith("HiSparse requires"):
        return [message]
    if runner == V2:
        faults = [f"Model Runner V2 does not yet support: {', '.join(unsupported)}"] if unsupported else []
        faults += [] if triton else ["Model Runner V2 requires Triton."]
        faults += ["Triton ReplaySSM requires Model Runner V1"] if feature == "replayssm" else []
        return faults + (["V1-interface plugins are not supported by the V2 model runner."]
                         if feature == "old-processor" else [])
    lacks = [V2_ONLY[feature]] if feature in V2_ONLY else []
    lacks += ["dspark speculative decoding"] if speculation == "dspark" else []
    return [f"Model Runner V1 does not support: {', '.join(lacks)}"] if lacks else []


def loop_of(runner: str, speculation: str, padded: bool, stages: int, executor: str, platform: str, pooling: bool,
            scheduler_class: str, flag: str) -> tuple[bool, tuple[Rule, ...], str]:
    """Whether the loop overlaps, the rules in their order, and what is said; "refused: …" where async was asked for."""
    incompatible = ""
    if runner == V1:
        if speculation not in OVERLAP_ON_V1:
            incompatible = f"{speculation}-based speculative decoding"
        elif speculation != "none" and not padded:
            incompatible = "disable_padded_drafter_batch=True"
        elif stages > 1:
            incompatible = "pipeline parallelism"
    rocm = platform == "rocm-deepep"
    told = f"Async scheduling is not supported by the V1 model runner with {incompatible}."
    raised = ""
    if flag == ON:
        raised = next((words for holds, words in (
            (rocm, "Async scheduling is not compatible with ROCm DeepEP high-throughput DBO."),
            (incompatible, told), (executor == "custom", f"`{executor}` does not support async scheduling yet."),
        ) if holds), "")
    rules = (
        ("--no-async-scheduling is given", flag == OFF, OFF, ""),
        ("the model pools", pooling and flag == DEFAULT, OFF, "It is slower there, so off unless asked for."),
        ("the executor does not claim it", executor == "custom", OFF, "The base class says no."),
        ("ROCm, DBO and deepep_high_throughput", rocm, OFF, "That combination can corrupt what is generated."),
        ("the V1 runner can’t, with what is in use", bool(incompatible), OFF, f"V1 can’t with {incompatible}."),
        ("the platform is a CPU", platform == "cpu", OFF, "Whatever was asked for."),
        ("the scheduler class extends Scheduler, not AsyncScheduler", scheduler_class == "custom", OFF,
         "It keeps the old behaviour, with a warning."),
        ("else", True, ON, ""),
    )
    made, outcome, says = decided(rules)
    return outcome == ON and not raised, made, f"refused: {raised}" if raised else says


def period_words(gpu: float, schedule: float, output: float, overlaps: bool) -> str:
    if overlaps:
        return f"max({gpu:.4g}, {schedule:.4g} + {output:.4g})"
    return f"{schedule:.4g} + {gpu:.4g} + {output:.4g}"


def verdict(outcome: str, runner: str, overlaps: bool, depth: int) -> str:
    if outcome == REFUSED:
        return "It raises at its start, which is better than a replica that runs and is not what you think."
    if runner == V1:
        return ("Back on the old runner with one warning in the log. Pin VLLM_USE_V2_MODEL_RUNNER=1, so that a drift "
                "fails loudly." + ("" if overlaps else " And nothing overlaps."))
    if not overlaps:
        return "The new runner, and a loop that waits."
    return f"The new runner, {depth} steps in flight."
