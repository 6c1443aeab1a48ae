"""The leak-rate lab: resident memory against each counter, and which suspects the slope leaves."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import leak_rate_picture
from calculators.labs.base import Ask, Group, Lab, Preset, Switch, View
from calculators.models import leak_rate
from calculators.models.leak_rate import SUSPECTS, THREE_HOURS

BOUNDED = (
    "min,requests,rss,schemas; 0,0,9000,0; 10,6000,9145,580; 20,15000,9249,1160; 40,33000,9377,2320; "
    "60,52000,9443,3480; 90,70000,9486,5220; 120,93000,9503,6960; 150,121000,9509,8700; 180,140000,9511,10440"
)
BY_TIME = (
    "min,requests,rss; 0,0,24000; 5,9000,25980; 10,12000,28050; 15,13000,29970; 20,21000,32010; 25,36000,34040; "
    "30,48000,35980; 35,50000,38030; 40,51000,39960; 45,60000,42050; 50,78000,43990; 55,90000,46010; 60,93000,48020"
)
SMALL = (
    "min,requests,rss; 0,0,6144; 60,310000,6173; 120,655000,6204; 180,905000,6226; 240,1420000,6272; "
    "300,1800000,6306; 360,2560000,6375; 420,3300000,6441; 480,4012263,6505"
)


class LeakForm(forms.Form):
    """The samples, what a request is, and the limit."""

    samples = forms.CharField(
        widget=forms.Textarea, max_length=3_600, initial=THREE_HOURS,
        help_text="a row a sample: minutes, counters since the start, resident memory (rss) in MiB",
    )
    prompt_tokens = forms.IntegerField(label="prompt", min_value=1, max_value=1_000_000, initial=500)
    output_tokens = forms.IntegerField(label="output", min_value=1, max_value=1_000_000, initial=100)
    block_size = forms.IntegerField(label="block size", min_value=1, max_value=1_024, initial=16)
    top_logprobs = forms.IntegerField(label="logprobs asked", min_value=0, max_value=100, initial=0)
    images_per_request = forms.FloatField(label="images a request", min_value=0, max_value=100, initial=0)
    queue_returns = Switch(label="queue comes back", initial=True, help_text="to 0, by the waiting gauge")
    limit_gib = forms.FloatField(label="limit", min_value=0.1, max_value=100_000, initial=32)
    rate_per_s = forms.FloatField(label="arrivals", min_value=0.001, max_value=1_000_000, initial=17)

    units = {
        "prompt_tokens": "tok", "output_tokens": "tok", "block_size": "tok", "limit_gib": "GiB", "rate_per_s": "/s",
    }


def summary(inputs: Mapping[str, Any]) -> str:
    """"500 + 100 tokens, 17/s, limit 32 GiB"."""
    return (f"{inputs['prompt_tokens']:,} + {inputs['output_tokens']:,} tokens, {inputs['rate_per_s']:g}/s, limit "
            f"{inputs['limit_gib']:g} GiB")


def tell(result: leak_rate.LeakRate) -> Iterator[str]:
    """The finding, the fit, and each suspect with what speaks against it, for a shell."""
    yield result.finding
    yield from map(str, result.lines)
    for suspect in result.suspects:
        yield f"{suspect.name}: {suspect.reason or 'left'}"
    yield from filter(None, (result.driver_verdict, result.shape_verdict, result.suspects_verdict,
                             result.hours_verdict))


GROUPS = (
    Group("Samples", ("samples",)),
    Group("A request", ("prompt_tokens", "output_tokens", "block_size", "top_logprobs", "images_per_request")),
    Group("The process", ("queue_returns", "limit_gib", "rate_per_s")),
)
PRESETS = (
    Preset("4 GiB in three hours", {}, "EngineCore of an 8B; the load comes and goes. Leak or not?"),
    Preset("schemas come and go", {"samples": BOUNDED}, "Half a GiB, and most of it early."),
    Preset("a steady climb", {"samples": BY_TIME, "limit_gib": 128},
           "400 MiB a minute on a decode instance, whatever the load."),
    Preset("a third of a GiB in 8 h", {"samples": SMALL, "rate_per_s": 139},
           "Four million requests: some hundred bytes each, the size of a few list slots."),
    Preset("with logprobs", {"top_logprobs": 20}, "The same growth where clients ask for the top 20."),
)

LAB = Lab(
    slug="leak-rate", title="Does it leak?", topic="sizing", line="Bytes a request, suspects",
    fragment="calculators/labs/_leak_rate.html", thumbnail=leak_rate_picture.thumbnail,
    views=(
        View(
            "slope", LeakForm, leak_rate.solve, picture=leak_rate_picture.picture, summary=summary, tell=tell,
            presets=PRESETS, groups=GROUPS, bulky=("points",),
            ask=Ask(figure="slope_bytes", label="bytes an event: a request, an abort, a minute", unit="bytes"),
            gist=leak_rate_picture.gist,
        ),
        View(
            "suspects", LeakForm, leak_rate.rule_out, picture=leak_rate_picture.picture, summary=summary, tell=tell,
            presets=PRESETS, groups=GROUPS, bulky=("points",), fragment="calculators/labs/_leak_rate_suspects.html",
            ask=Ask(figure="suspect", label="who keeps it", choices=tuple(SUSPECTS.items())),
        ),
    ),
    notes=("The fit is plain least squares. Object sizes are those of a 64-bit CPython 3: an int 28 B, a list slot "
           "8 B, a 32-byte digest 65 B; a suspect may miss the slope by 15%.",),
)
