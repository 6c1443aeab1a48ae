"""The scheduler lab's second view: the token budget as a dial between the decoders' gap and the prefill's rate."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs.base import Ask, Group, Preset, View
from calculators.labs.budget_dial_gist import gist
from calculators.labs.budget_dial_picture import picture
from calculators.labs.prefill_interference import DENSE, SXM
from calculators.labs.row_field import GpuField, ModelField
from calculators.models.budget_dial import Dial, solve
from calculators.models.catalogue import MODELS


class BudgetDialForm(forms.Form):
    """The promise, who decodes and what arrives, the budget in hand, and the machine."""

    itl_target_ms = forms.FloatField(label="ITL target", min_value=1, max_value=5_000, initial=50)
    longest_prompt_tokens = forms.IntegerField(label="longest prompt", min_value=1, max_value=1_000_000, initial=8_192)
    decoders = forms.IntegerField(min_value=0, max_value=1_024, initial=32)
    context_tokens = forms.IntegerField(label="their context", min_value=0, max_value=200_000, initial=2_000)
    max_num_batched_tokens = forms.IntegerField(label="budget now", min_value=2, max_value=131_072, initial=8_192)
    model = ModelField(
        names={slug: MODELS[slug].name.rpartition("-")[2] for slug in DENSE}, initial="llama-3.1-8b",
        help_text="bf16: Llama-3.1-8B, Qwen3-14B, Qwen3-32B",
    )
    gpu = GpuField(SXM, label="GPU", initial="h100")
    cpu_ms = forms.FloatField(label="CPU left, t0", min_value=0, max_value=100, initial=0.9)

    units = {
        "itl_target_ms": "ms", "longest_prompt_tokens": "tok", "context_tokens": "tok",
        "max_num_batched_tokens": "tok", "cpu_ms": "ms",
    }


def summary(inputs: Mapping[str, Any]) -> str:
    """The scene in one line: "50 ms, prompts to 8,192, 32 decoders"."""
    return (f"{inputs['itl_target_ms']:g} ms, prompts to {inputs['longest_prompt_tokens']:,}, "
            f"{inputs['decoders']:,} decoders")


def tell(result: Dial) -> Iterator[str]:
    """The finding, the derivation and a line a budget, for a shell."""
    yield result.finding
    yield from map(str, result.lines)
    for at in result.settings:
        yield (f"{at.budget:>7,}: {at.short_gap_ms:,.1f}, {at.gap_ms:,.1f} and {at.far_gap_ms:,.1f} ms, "
               f"{at.prefill_tokens_per_s:,.0f} tokens/s")


PRESETS = (
    Preset("chat, 50 ms", {}, "vllm serve’s default on an H100, 8,192, against a gap of 50 ms."),
    Preset("documents of 32K", {"longest_prompt_tokens": 32_768},
           "The same promise, prompts four times as long: over a third less budget, for the attention to them."),
    Preset("coding, 20 ms", {"itl_target_ms": 20, "longest_prompt_tokens": 16_384, "decoders": 16},
           "A tight promise takes it down towards the knee, where a step costs its weights whatever it computes."),
    Preset("batch job", {"itl_target_ms": 1_000, "decoders": 256, "context_tokens": 1_000,
                         "longest_prompt_tokens": 4_096, "max_num_batched_tokens": 16_384},
           "Nobody watches the gap, and from 4,096 on the rate moves by a tenth."),
    Preset("A100, 100 ms", {"gpu": "a100", "itl_target_ms": 100, "max_num_batched_tokens": 2_048},
           "Slower products: 2,048, the default there, breaks a promise twice as wide."),
)

VIEW = View(
    "budget", BudgetDialForm, solve, title="Budget", picture=picture, summary=summary, tell=tell, presets=PRESETS,
    ask=Ask(figure="largest_budget", label="largest budget", unit="tokens"), gist=gist,
    groups=(Group("Machine", ("model", "gpu", "cpu_ms")),),
    fragment="calculators/labs/_budget_dial.html",
)
