"""The acceptance lab: drafts accepted, from counters between scrapes, and one verify step from within."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import rejection
from calculators.labs.acceptance_picture import picture, shares, thumbnail
from calculators.labs.base import Ask, Group, Lab, Paste, Preset, View
from calculators.labs.read_field import ReadField
from calculators.models import metrics_text
from calculators.models.acceptance import Acceptance, format_scrapes, parse_scrapes, solve

FOUR = ("10000/30000/15000/7500:4800:2700/26000/1000@100,34000/102000/52200/25800:16800:9600/88100/3000@100,"
        "5200/15600/7904/3900:2548:1456/13300/400@1300,29200/87600/43904/21660:14068:8176/74700/2400@1300")
HIDDEN = ("5200/15600/7904/3900:2548:1456/13300/400@100,34000/102000/52200/25800:16800:9600/88100/3000@450,"
          "58000/174000/88200/43800:28320:16080/149500/5000@450")
NGRAM = "0/0/0/0:0:0:0:0/0/0@100,22/110/14/4:3:3:3:1/37/1@100"


class AcceptanceForm(forms.Form):
    """Scrapes of the counters, and what a step takes with drafts and without."""

    scrapes = ReadField(
        read=parse_scrapes, write=format_scrapes, max_length=2_000, initial=FOUR,
        help_text="drafts / draft tokens / accepted / by position / generation tokens / finished @ process start",
    )
    plain_step_ms = forms.FloatField(label="a plain step", min_value=0.1, max_value=10_000, initial=11)
    spec_step_ms = forms.FloatField(
        label="a step with drafts", min_value=0.1, max_value=10_000, initial=16, help_text="both at the same load",
    )

    units = {"plain_step_ms": "ms", "spec_step_ms": "ms"}


def summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "4 scrapes, 3 positions"."""
    scrapes = inputs["scrapes"]
    return f"{len(scrapes)} scrapes, {len(scrapes[0].per_position)} positions"


def tell(result: Acceptance) -> Iterator[str]:
    """A line a window, then the derivation and the verdict."""
    for window in result.windows:
        told = (f"{window.percent}, {window.mean_length:.3f} tokens a step, by position "
                f"{shares(window.unconditional, 4)}, of those that came so far {shares(window.conditional)}, "
                f"{window.cut:,} cut")
        yield f"{window.name}: {told if window.valid else window.fault}"
    yield from map(str, result.lines)
    yield from (result.finding, result.verdict)


PRESETS = (
    Preset("four scrapes, one restart", {},
           "Between S1 and S2 the process restarted: the raw quotient is 51.27%, and means nothing."),
    Preset("a reset that hides", {"scrapes": HIDDEN},
           "All counters grew, yet the process is another: only its start tells."),
    Preset("dear drafts", {"spec_step_ms": 29},
           "The same acceptance at a load where a step with drafts takes 29 ms: it loses."),
    Preset("n-gram with filler", {"scrapes": NGRAM, "plain_step_ms": 7, "spec_step_ms": 7.4},
           "The rename of the ngram lab: 12.7% of drafted, for most of what is drafted is filler."),
)

LAB = Lab(
    slug="acceptance", title="What the draft counters say", topic="sampling", line="Acceptance between two scrapes",
    fragment="calculators/labs/_acceptance.html", thumbnail=thumbnail,
    views=(
        View(
            "windows", AcceptanceForm, solve, picture=picture, summary=summary, tell=tell, presets=PRESETS,
            title="Windows", ask=Ask(figure="mean_length", label="mean length, first valid window", unit="tokens"),
            groups=(Group("Scrapes", ("scrapes",)), Group("Step times", ("plain_step_ms", "spec_step_ms"))),
            paste=Paste("From /metrics", "Paste two /metrics texts of vLLM, before and after, one below the other; "
                        "they are read once and kept nowhere.", "vllm:spec_decode_num_drafts_total{…} 10000",
                        metrics_text.read),
        ),
        rejection.VIEW,
    ),
    notes=("Finished requests stand in for first tokens: at a window’s ends the ledger is off by those in flight.",),
)
