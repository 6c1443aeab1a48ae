"""The sampling lab: which tokens a request can get, stage by stage, and why one seed may give two texts."""
from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any

from django import forms

from calculators.labs import sum_order
from calculators.labs.base import Expected, Group, Lab, Preset, Switch, View
from calculators.labs.read_field import ReadField
from calculators.labs.sampling_picture import picture, thumbnail
from calculators.models.sampling import NAMES, Sampling, format_tokens, in_words, parse_tokens, simulate, spaced

SIX = "A:0.42,B:0.24,C:0.14,D:0.1,E:0.06,F:0.04"
ORDERS = [(order, f"{name}: {spaced(order)}") for order, name in NAMES.items()] + [
    (order, spaced(order)) for order in map("".join, permutations("Tmkp")) if order not in NAMES]


class SamplingForm(forms.Form):
    """The request's sampling settings under vLLM's names, the tokens, and the two orders."""

    temperature = forms.FloatField(min_value=0, max_value=10, initial=0.5, help_text="0 is greedy")
    min_p = forms.FloatField(min_value=0, max_value=1, initial=0.1, help_text="a share of the largest; 0 is off")
    top_k = forms.IntegerField(min_value=0, max_value=100, initial=4, help_text="0 is off")
    top_p = forms.FloatField(min_value=0.01, max_value=1, initial=0.9, help_text="1 is off")
    left_order = forms.ChoiceField(label="left", choices=ORDERS, initial="Tmkp")
    right_order = forms.ChoiceField(
        label="right", choices=ORDERS, initial="Tkpm", help_text="T temperature, m min-p, k top-k, p top-p",
    )
    tokens = ReadField(
        read=parse_tokens, write=format_tokens, max_length=600, initial=SIX,
        help_text="name : value, then /uses in the output, +P in the prompt, !bias or !off",
    )
    given_as = forms.ChoiceField(
        label="values are", choices=[("probabilities", "probabilities"), ("logits", "logits")],
        initial="probabilities", help_text="probabilities count as logits ln p, and are shared out to 1",
    )
    repetition_penalty = forms.FloatField(label="repetition", min_value=0.1, max_value=10, initial=1,
                                          help_text="of prompt and output; 1 is off")
    frequency_penalty = forms.FloatField(label="frequency", min_value=-2, max_value=2, initial=0,
                                         help_text="times the uses in the output")
    presence_penalty = forms.FloatField(label="presence", min_value=-2, max_value=2, initial=0,
                                        help_text="once for any use in the output")
    bias_first = Switch(label="bias before penalties", initial=True, help_text="on in vLLM; they don't commute")
    draws = forms.IntegerField(min_value=0, max_value=2_000, initial=1_000, help_text="from the left order")
    seed = forms.IntegerField(min_value=0, max_value=999_999, initial=42, help_text="moves the draws, never the set")


def expected(result: Sampling, inputs: Mapping[str, Any], step: int) -> tuple[Expected, ...]:
    """How many tokens each order has left after a step."""
    chains = (result.left, result.right) if result.left.order != result.right.order else (result.left,)
    return tuple(
        Expected(f"{chain.name} keeps", len(stage.kept), f"{stage.title}, {stage.why}: {in_words(stage.kept)}.")
        for chain in chains for stage in (chain.stages[step],)
    )


def summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "6 tokens, temperature 0.5, min-p 0.1, top-k 4, top-p 0.9"."""
    return (f"{len(inputs['tokens'])} tokens, temperature {inputs['temperature']:g}, min-p {inputs['min_p']:g}, "
            f"top-k {inputs['top_k']}, top-p {inputs['top_p']:g}")


def tell(result: Sampling) -> Iterator[str]:
    """Each stage of each order with what it leaves, then what can be sampled."""
    for chain in (result.left, result.right):
        for stage in chain.stages:
            shares = "  ".join(f"{name} {stage.shares[name]:.4f}" for name in stage.kept)
            yield f"{chain.name:14}{stage.title:22}{shares}"
    yield result.finding


PENALTIES = "A:2/2+P,B:1.5/1,C:-0.5+P,D:1"
OFF = {"temperature": 1, "min_p": 0, "top_k": 0, "top_p": 1}

PRESETS = (
    Preset("six tokens", {}, "Min-p first or last: how many does each leave? Then set the right order to llama.cpp."),
    Preset("hot, top-k before top-p",
           {"temperature": 2, "min_p": 0, "top_k": 4, "top_p": 0.8, "right_order": "Tpkm"},
           "Temperature 2, no min-p: does it matter that top-k comes before top-p?"),
    Preset("a penalty moves the greedy token",
           OFF | {"temperature": 0, "tokens": PENALTIES, "given_as": "logits", "repetition_penalty": 1.25,
                  "frequency_penalty": 0.5, "presence_penalty": 0.3},
           "A is the largest as given. Which is it after the penalties, and does temperature 0 take it?"),
    Preset("a tie at the k-th",
           OFF | {"top_k": 2, "tokens": "A:2,B:1,C:1,D:1,E:0", "given_as": "logits"},
           "Top-k 2, and three tie for the second place: how many stay?"),
    Preset("bias and repetition",
           OFF | {"tokens": "A:2/2!1,B:1,C:0.5", "given_as": "logits", "repetition_penalty": 1.25,
                  "frequency_penalty": 0.5, "presence_penalty": 0.3},
           "A has a bias and was used. Switch the bias to after the penalties: where does A end?"),
    Preset("a grammar rules out the favourite",
           {"temperature": 0.7, "min_p": 0.05, "top_k": 20, "top_p": 0.95,
            "tokens": "A:0.42!off,B:0.24,C:0.14,D:0.1,E:0.06,F:0.04"},
           "The mask comes before everything; min-p is then a share of B."),
)

LAB = Lab(
    slug="sampling", title="Six tokens, two orders", topic="sampling",
    line="What each sampler stage leaves", fragment="calculators/labs/_sampling.html", thumbnail=thumbnail,
    views=(
        View(
            "order", SamplingForm, simulate, picture=picture, predict=expected, summary=summary, tell=tell,
            presets=PRESETS, title="Order",
            groups=(
                Group("Tokens", ("tokens", "given_as")),
                Group("Penalties", ("repetition_penalty", "frequency_penalty", "presence_penalty", "bias_first"),
                      folded=True),
                Group("Draws", ("draws", "seed"), folded=True),
            ),
        ),
        sum_order.VIEW,
    ),
    notes=("Mask, bias and penalties come before all four stages. vLLM’s order is read in its source, those of "
           "Transformers and llama.cpp are as documented.",),
)
