"""The prefill-interference lab: one long prompt among decoders, its knobs and its presets."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs.base import Ask, Group, Lab, Preset, View
from calculators.labs.prefill_interference_gist import gist
from calculators.labs.prefill_interference_picture import picture, thumbnail
from calculators.labs.row_field import GpuField, ModelField
from calculators.models.catalogue import MODELS
from calculators.models.prefill_interference import Interference, solve

DENSE = ("llama-3.1-8b", "qwen3-14b", "qwen3-32b")  # each fits one GPU, and each layer of it keeps every token
SXM = ("h100", "h200", "a100", "b200")


class PrefillInterferenceForm(forms.Form):
    """The long prompt, the scheduler's knobs under vLLM's names, who decodes, who arrives, and the machine."""

    prompt_tokens = forms.IntegerField(label="long prompt, tokens", min_value=1, max_value=1_000_000, initial=114_240)
    cached_prefix_tokens = forms.IntegerField(label="of it cached", min_value=0, max_value=1_000_000, initial=0)
    max_num_batched_tokens = forms.IntegerField(label="token budget", min_value=2, max_value=131_072, initial=8_192)
    long_prefill_token_threshold = forms.IntegerField(
        label="long-prefill threshold", min_value=0, max_value=131_072, initial=0, help_text="0 is off",
    )
    decoders = forms.IntegerField(min_value=0, max_value=1_024, initial=32)
    context_tokens = forms.IntegerField(label="their context", min_value=0, max_value=200_000, initial=2_000)
    arrivals_per_s = forms.FloatField(label="arrivals", min_value=0, max_value=100, initial=5)
    arrival_prompt_tokens = forms.IntegerField(label="each", min_value=16, max_value=100_000, initial=1_000)
    output_tokens = forms.IntegerField(label="output, long one", min_value=1, max_value=100_000, initial=500)
    model = ModelField(
        names={slug: MODELS[slug].name.rpartition("-")[2] for slug in DENSE}, initial="llama-3.1-8b",
        help_text="bf16: Llama-3.1-8B, Qwen3-14B, Qwen3-32B",
    )
    gpu = GpuField(SXM, label="GPU", initial="h100")
    pool_gib = forms.FloatField(label="KV pool", min_value=0.5, max_value=4_096, initial=55)
    tflop_per_s = forms.FloatField(
        label="compute", min_value=0.1, max_value=20_000, required=False, help_text="empty: 62% of the GPU’s peak",
    )
    tb_per_s = forms.FloatField(
        label="bandwidth", min_value=0.01, max_value=100, required=False, help_text="empty: 80% of the GPU’s peak",
    )
    cpu_ms = forms.FloatField(label="CPU left, t0", min_value=0, max_value=100, initial=0.9)

    units = {
        "context_tokens": "tok", "arrivals_per_s": "/s",
        "arrival_prompt_tokens": "tok", "output_tokens": "tok", "pool_gib": "GiB", "tflop_per_s": "TF/s",
        "tb_per_s": "TB/s", "cpu_ms": "ms",
    }


def summary(inputs: Mapping[str, Any]) -> str:
    """The scene in one line: "114,240 tokens, budget 8,192, 32 decoders"."""
    threshold = inputs["long_prefill_token_threshold"]
    capped = f", threshold {threshold:,}" if threshold else ""
    return (f"{inputs['prompt_tokens']:,} tokens, budget {inputs['max_num_batched_tokens']:,}{capped}, "
            f"{inputs['decoders']:,} decoders")


def tell(result: Interference) -> Iterator[str]:
    """The finding, the derivation and the verdicts, for a shell."""
    yield result.finding
    yield from map(str, result.lines)
    yield from (result.gap_verdict, result.lockout_verdict, result.backlog_verdict)


PRESETS = (
    Preset("one long prompt", {}, "vllm serve’s defaults on an H100: budget 8,192, threshold off."),
    Preset("threshold 2,048", {"long_prefill_token_threshold": 2_048},
           "The same budget with a cap on each long prompt: arrivals get the rest of every step."),
    Preset("90% cached", {"cached_prefix_tokens": 102_816},
           "Another question about the same document: two steps, the first nearly as long as the worst before."),
    Preset("budget 2,048", {"max_num_batched_tokens": 2_048},
           "A budget for interactive use: a quarter of the gap, the same lockout."),
    Preset("A100", {"gpu": "a100", "max_num_batched_tokens": 2_048, "prompt_tokens": 60_000, "arrivals_per_s": 2},
           "What an A100 gets by default, 2,048, with half the prompt: slower products, so it locks out longer."),
    Preset("32B on an H200", {"model": "qwen3-32b", "gpu": "h200", "decoders": 16, "arrivals_per_s": 1,
                              "pool_gib": 64},
           "Four times the work a token, on the same compute: arrivals wait half a minute."),
)

LAB = Lab(
    slug="prefill-interference", title="What one long prompt does", topic="scheduling",
    line="One long prompt: gap and lockout", fragment="calculators/labs/_prefill_interference.html",
    thumbnail=thumbnail,
    views=(
        View(
            "gap", PrefillInterferenceForm, solve, picture=picture, summary=summary, tell=tell, presets=PRESETS,
            ask=Ask(figure="peak_gap_ms", label="longest gap", unit="ms"), gist=gist,
            groups=(
                Group("Machine", ("model", "gpu", "pool_gib")),
                Group("Rates", ("tflop_per_s", "tb_per_s", "cpu_ms"), folded=True),
            ),
        ),
    ),
    notes=("Chunk counts, lockout and bytes are exact. Every time rests on 62% of the peak FLOP/s and 80% of the peak "
           "bandwidth, a rule of thumb: good to some 30%, right about shape.",),
)
