"""The config-diff lab: what differs between two start-ups, which of it can cost throughput, and what shows a loss."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import config_diff_picture
from calculators.labs.base import Ask, Expected, Group, Lab, Paste, Preset, View
from calculators.labs.read_field import ReadField
from calculators.models import config_diff, upgrade_evidence
from calculators.models.config_diff import LONGEST_SIDE, ConfigDiff, Picks
from calculators.models.config_text import format_settings

COMMON = ("cudagraph_mode=FULL_AND_PIECEWISE; max_num_seqs=1024; max_num_batched_tokens=8192; "
          "max_cudagraph_capture_size=512; attention_backend=FLASH_ATTN")
OLD = ("version=0.13.0; async_scheduling=False; model_runner=V1; gpu_memory_utilization=0.90; "
       f"graph_memory_estimate=False; kv_tokens=440k; {COMMON}")
NEW = ("version=0.33.0; async_scheduling=True; model_runner=V2; gpu_memory_utilization=0.92; "
       f"graph_memory_estimate=True; scheduler_reserve_full_isl=True; kv_tokens=405k; {COMMON}")
SUFFIX = NEW.replace("async_scheduling=True; model_runner=V2", "async_scheduling=False; model_runner=V1; "
                     "speculative_method=suffix")
EAGER = "version=0.33.0; enforce_eager=False; mode=VLLM_COMPILE; cudagraph_mode=FULL_AND_PIECEWISE; kv_tokens=405k"
TEMPLATE = "version=0.33.0; enable_prefix_caching=True; max_num_batched_tokens=8192; seed=0; served_model_name=chat"


class DiffForm(forms.Form):
    """Both configurations, and how much a suspect must weigh."""

    before = ReadField(
        read=config_diff.parse_side, write=format_settings, max_length=LONGEST_SIDE, initial=OLD,
        help_text="name=value; name=value, only what differs if it is long",
    )
    after = ReadField(read=config_diff.parse_side, write=format_settings, max_length=LONGEST_SIDE, initial=NEW)
    least_weight = forms.IntegerField(
        label="from weight", min_value=1, max_value=3, initial=1, help_text="3 weighs most",
    )


class EvidenceForm(forms.Form):
    """A benchmark on both sides, a bisection, and the pool on both sides."""

    noise_percent = forms.FloatField(label="scatter of a run", min_value=0.01, max_value=100, initial=2)
    runs = forms.IntegerField(label="runs on each side", min_value=1, max_value=1_000, initial=3)
    drop_percent = forms.FloatField(label="the drop", min_value=0.01, max_value=100, initial=12)
    commits = forms.IntegerField(label="commits between", min_value=1, max_value=1_000_000, initial=1_900)
    before_tokens = forms.IntegerField(label="tokens before", min_value=1, max_value=100_000_000, initial=262_144)
    after_tokens = forms.IntegerField(label="tokens after", min_value=1, max_value=100_000_000, initial=131_072)
    sequence_tokens = forms.IntegerField(label="a sequence", min_value=1, max_value=10_000_000, initial=2_048)
    weight_gb = forms.FloatField(label="weights", min_value=0.05, max_value=10_000, initial=16.06)
    kv_bytes_per_token = forms.IntegerField(label="KV a token", min_value=64, max_value=10_000_000, initial=131_072)
    tb_per_s = forms.FloatField(label="bandwidth", min_value=0.01, max_value=1_000, initial=3.35)

    units = {
        "noise_percent": "%", "drop_percent": "%", "sequence_tokens": "tok", "weight_gb": "GB",
        "kv_bytes_per_token": "B", "tb_per_s": "TB/s",
    }


def summary(inputs: Mapping[str, Any]) -> str:
    """"0.13.0, 11 settings, against 0.33.0, 12"."""
    sides = [(dict(inputs[side]).get("version", "no release"), len(inputs[side])) for side in ("before", "after")]
    return f"{sides[0][0]}, {sides[0][1]} settings, against {sides[1][0]}, {sides[1][1]}"


def evidence_summary(inputs: Mapping[str, Any]) -> str:
    return (f"{inputs['drop_percent']:g}% over {inputs['runs']:,} runs of ±{inputs['noise_percent']:g}%, pool "
            f"{inputs['before_tokens']:,} → {inputs['after_tokens']:,}")


def tell(result: ConfigDiff) -> Iterator[str]:
    """A line a change, the most suspect first, and the verdicts, for a shell."""
    yield result.finding
    for each in result.changes:
        yield f"{each.name}: {each.words} ({each.mechanism}, {each.direction} {each.weight}) {each.why}"
    yield from (result.verdict, result.cache_verdict)
    if result.moved_defaults:
        yield f"defaults that moved: {'; '.join(result.moved_defaults)}"
    yield from result.also_moved


def tell_picks(run: Picks) -> Iterator[str]:
    """What differs, then the suspects."""
    yield from (f"{each.name}: {each.words}" for each in run.asked)
    yield f"suspects: {', '.join(run.diff.suspects) or 'none'}"
    yield run.finding
    yield run.diff.verdict


def tell_evidence(result: upgrade_evidence.UpgradeEvidence) -> Iterator[str]:
    yield result.finding
    yield from map(str, result.lines)
    yield result.verdict


def expected(run: Picks, inputs: Mapping[str, Any], at: int) -> tuple[Expected, ...]:
    """For each change 1 if it is a suspect, 0 if not."""
    return tuple(Expected(each.name, int(each.name in run.diff.suspects), f"{direction(each.direction)} {each.why}",
                          unit="suspects, 1 or 0") for each in run.asked)


def direction(word: str) -> str:
    return {"hurts": "It can cost throughput.", "helps": "It helps.", "depends": "It may work either way."}[word]


PRESETS = (
    Preset("after an upgrade", {}, "The same command under 0.13 and 0.33, 12% slower. Which of six changes can cost?"),
    Preset("somebody added drafts", {"before": NEW, "after": SUFFIX},
           "The same release, and one option more: what did it take along?"),
    Preset("drafts and upgrade at once", {"after": SUFFIX},
           "Against 0.13 the fall-back can’t be seen: both wait on V1."),
    Preset("a debug flag stayed in", {
        "before": EAGER, "after": "version=0.33.0; enforce_eager=True; mode=NONE; cudagraph_mode=NONE; kv_tokens=412k",
    }, "More KV than before, and slower."),
    Preset("slow first tokens after a deploy", {
        "before": TEMPLATE,
        "after": TEMPLATE.replace("True", "False").replace("8192", "2048").replace("seed=0", "seed=7") + "-2",
    }, "Two of four reach a mechanism."),
)

DIFF = View(
    "diff", DiffForm, config_diff.solve, picture=config_diff_picture.diff, summary=summary, tell=tell, presets=PRESETS,
    ask=Ask(figure="hurting", label="changes that can cost throughput"), fragment="calculators/labs/_config_diff.html",
    groups=(Group("Before", ("before",)), Group("After", ("after",)), Group("Suspects", ("least_weight",))),
    paste=Paste(
        "From two starts",
        "Paste both, one below the other: vLLM’s line “Initializing a V1 LLM engine … with config: …” with what else "
        "the log says, vllm serve commands, flags, or name=value; a line of dashes parts them where nothing else does. "
        "They are read once and kept nowhere.",
        "… Initializing a V1 LLM engine (v0.33.0) with config: …", config_diff.read_pasted,
    ),
)

SUSPECTS = View(
    "suspects", DiffForm, config_diff.simulate, picture=config_diff_picture.picks, summary=summary, tell=tell_picks,
    predict=expected, title="pick the suspects", presets=PRESETS,
    groups=(Group("Before", ("before",)), Group("After", ("after",)), Group("Suspects", ("least_weight",))),
)

EVIDENCE = View(
    "evidence", EvidenceForm, upgrade_evidence.solve, picture=config_diff_picture.evidence, summary=evidence_summary,
    tell=tell_evidence, title="what shows a loss",
    ask=Ask(figure="errors", label="the drop, in standard errors", unit="errors"),
    presets=(
        Preset("12% over three runs", {}, "Each run scatters by 2%: is the drop real?"),
        Preset("3% over three runs", {"drop_percent": 3}, "The same benchmark and a smaller loss."),
        Preset("3% over ten", {"drop_percent": 3, "runs": 10}, "What it takes to see it."),
        Preset("a pool 8% smaller", {"drop_percent": 5, "before_tokens": 440_000, "after_tokens": 405_000},
               "Graphs inside the budget: does the pool explain 5%?"),
    ),
    groups=(
        Group("The benchmark", ("noise_percent", "runs", "drop_percent", "commits")),
        Group("The KV pool", ("before_tokens", "after_tokens", "sequence_tokens")),
        Group("The step", ("weight_gb", "kv_bytes_per_token", "tb_per_s"), folded=True),
    ),
)

LAB = Lab(
    slug="config-diff", title="Two start-ups, side by side", topic="kernels", line="Same command, slower: why",
    fragment="calculators/labs/_parts.html", thumbnail=config_diff_picture.thumbnail,
    views=(DIFF, SUSPECTS, EVIDENCE),
    notes=("What differs is exact. Which way a change works and what it weighs are rules: they say what to test alone, "
           "and a benchmark on your load decides. Defaults are those of 0.33.0 and of the releases that moved them.",),
)
