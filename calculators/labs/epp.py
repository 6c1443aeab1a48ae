"""The epp lab: an endpoint picker's filters and weighted scorers over a handful of pods."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs.base import Ask, Group, Lab, Preset, Switch, View
from calculators.labs.epp_picture import gist, picture, thumbnail
from calculators.labs.read_field import ReadField
from calculators.models import epp, epp_pods

REQUESTS = (
    (epp_pods.CHAT, "chat"), (epp_pods.PREFILL_STAGE, "prefill stage"), (epp_pods.LORA, epp_pods.ADAPTER),
    (epp_pods.COLD, "cold prompt"), (epp_pods.LONG, "long prompt"),
)


class EppForm(forms.Form):
    """The scorers' weights, the request, the filters, and the pods as the picker last saw them."""

    prefix_weight = forms.FloatField(label="weight, prefix", min_value=0, max_value=epp.HEAVIEST, initial=2)
    queue_weight = forms.FloatField(label="weight, queue", min_value=0, max_value=epp.HEAVIEST, initial=1)
    kv_weight = forms.FloatField(label="weight, KV", min_value=0, max_value=epp.HEAVIEST, initial=1)
    queue_scorer = forms.ChoiceField(
        label="queue scorer", choices=[(epp.RATIO, "1 − q/8"), (epp.MIN_MAX, "min-max")], initial=epp.RATIO,
        help_text="min-max is llm-d’s: a queue among those left",
    )
    request = forms.ChoiceField(choices=REQUESTS, initial=epp_pods.CHAT)
    role_filter = Switch(label="role", initial=True)
    health_filter = Switch(label="health", initial=True)
    adapter_filter = Switch(label="adapter", initial=True)
    prompt_tokens = forms.IntegerField(label="prompt", min_value=1, max_value=1_000_000, initial=16_000)
    prefill_tokens_per_s = forms.FloatField(
        label="prefill, tokens", min_value=100, max_value=10_000_000, initial=30_000,
    )
    pods = ReadField(
        read=epp_pods.parse_pods, write=epp_pods.format_pods, max_length=1_000, initial=epp.FIVE,
        help_text="name @ role : prefix / queue / KV used, then +adapter, ! for not healthy",
    )

    units = {"prompt_tokens": "tok", "prefill_tokens_per_s": "/s"}


def summary(inputs: Mapping[str, Any]) -> str:
    """The scene in one line: "weights 2, 1, 1; filters on; chat"."""
    weights = ", ".join(f"{inputs[f'{name}_weight']:g}" for name in ("prefix", "queue", "kv"))
    off = [name for name in ("role", "health", "adapter") if not inputs[f"{name}_filter"]]
    filters = f"{epp.listed(off)} filter off" if off else "filters on"
    return f"weights {weights}; {filters}; {dict(REQUESTS)[inputs['request']]}"


def tell(result: epp.Picked) -> Iterator[str]:
    """The finding, each pod's score, and what would change the winner, for a shell."""
    yield result.finding
    for pod in result.pods:
        parts = " + ".join(f"{part:.3g}" for part in pod.parts)
        yield f"{pod.name}: {parts and parts + ' = '}{pod.says}{pod.reason and ', filtered: ' + pod.reason}"
    yield from filter(None, (result.flip_words, result.min_max_words))


LLM_D = {"prefix_weight": 3, "queue_weight": 2, "kv_weight": 2, "queue_scorer": epp.MIN_MAX}
PRESETS = (
    Preset("the five pods", {}, "One is sick, one is for prefill; of the other three the one with the prefix wins."),
    Preset("llm-d defaults", LLM_D, "Its own scorers and weights: the queue outweighs the prefix."),
    Preset("cold prompt", {"request": epp_pods.COLD}, "Nobody has the prefix: load alone decides."),
    Preset("sql-v2 adapter", {"request": epp_pods.LORA}, "The adapter as a filter: one pod is left."),
    Preset("prefill stage", {"request": epp_pods.PREFILL_STAGE},
           "The second run of a P/D request, which picks the pod that prefills."),
    Preset("long prompt", {"request": epp_pods.LONG}, "16,000 tokens: what a prefix saves in time to first token."),
    Preset("filters off", {"role_filter": False, "health_filter": False},
           "Scores alone would send it to the pod that is sick."),
    Preset("a hot prefix", {
        "pods": "decode-1@decode:1/12/0.85,decode-2@decode:0/0/0.2,decode-3@decode:0/0/0.25", "prefix_weight": 3,
    }, "Weight 3 on the prefix herds everybody to one pod, however long its queue."),
)

LAB = Lab(
    slug="epp", title="Endpoint picker: who gets the request", topic="scale-out",
    line="Filters first, then weights", fragment="calculators/labs/_epp.html", thumbnail=thumbnail,
    views=(
        View(
            "pick", EppForm, epp.solve, picture=picture, summary=summary, tell=tell, presets=PRESETS, gist=gist,
            ask=Ask(figure="best_score", label="the winner’s score"),
            groups=(
                Group("", ("prefix_weight", "queue_weight", "kv_weight", "queue_scorer", "request")),
                Group("Filters", ("role_filter", "health_filter", "adapter_filter")),
                Group("Long prompt", ("prompt_tokens", "prefill_tokens_per_s"), folded=True),
                Group("Pods", ("pods",)),
            ),
        ),
    ),
    notes=("Exact given the pods. llm-d itself has no health filter: a pod that is not Ready never enters its list; an "
           "adapter is a scorer there, not a filter. Metrics are as old as the last scrape.",),
)
