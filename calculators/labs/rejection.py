"""The rejection view of the acceptance lab: one verify step, a decision at a time."""
import re
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs.base import Expected, Group, Preset, Switch, View
from calculators.labs.read_field import ReadField
from calculators.labs.rejection_picture import picture
from calculators.models.base import Refusal
from calculators.models.rejection import LETTERS, Rejection, format_drafts, letter, parse_drafts, simulate

THREE = ("A:0.5 0.3 0.15 0.05/0.6 0.2 0.1 0.1@0.4,B:0.2 0.5 0.2 0.1/0.1 0.8 0.05 0.05@0.55,"
         "A:0.1 0.2 0.6 0.1/0.5 0.2 0.2 0.1@0.35")
CERTAIN = "A:0.5 0.3 0.15 0.05@0.4,B:0.2 0.5 0.2 0.1@0.55,A:0.1 0.2 0.6 0.1@0.35"
PADDED = "C:0.1 0.2 0.6 0.1/0.1 0.2 0.6 0.1@0.8,-:0.4 0.3 0.2 0.1@0.3,-:0.25 0.25 0.25 0.25@0.3"
NUMBER = re.compile(r"\d{1,6}(?:\.\d{0,6})?|\.\d{1,6}")


def parse_noise(text: str) -> tuple[float, ...]:
    """Read "1.2 0.4 3"; raises Refusal naming a piece that is no number above 0."""
    pieces = text.replace(",", " ").split()
    for piece in pieces:
        if not NUMBER.fullmatch(piece) or not float(piece):
            raise Refusal(f"“{piece[:20]}” can't be used: write a number above 0 for each token.")
    if len(pieces) > len(LETTERS):
        raise Refusal(f"{len(pieces)} numbers; takes at most {len(LETTERS)}.")
    return tuple(map(float, pieces))


def format_noise(noise: tuple[float, ...]) -> str:
    """The text that parse_noise reads back as the same numbers."""
    return " ".join(f"{number:.6f}".rstrip("0").rstrip(".") for number in noise)


class RejectionForm(forms.Form):
    """The drafts with both models' probabilities, the draws, and the bonus token."""

    greedy = Switch(label="greedy", initial=False, help_text="at temperature 0 a draft must be the target’s largest")
    drafts = ReadField(
        read=parse_drafts, write=format_drafts, max_length=1_500, initial=THREE,
        help_text="token : target / drafter @ uniform draw; without a drafter it was certain; - is padding",
    )
    noise = ReadField(
        read=parse_noise, write=format_noise, max_length=150, label="1 / noise", initial="0.8 1.4 1.1 2.5",
        help_text="a number a token; the largest of what is left × this replaces a refused draft",
    )
    bonus = forms.ChoiceField(label="bonus token", choices=[(name, name) for name in LETTERS], initial="D")
    tries = forms.IntegerField(min_value=0, max_value=2_000, initial=1_000, help_text="of the first draft, drawn anew")
    seed = forms.IntegerField(min_value=0, max_value=999_999, initial=42)


def expected(result: Rejection, inputs: Mapping[str, Any], step: int) -> tuple[Expected, ...]:
    """How many tokens are out for certain after a step."""
    return (Expected("out so far", len(result.steps[step].output), result.steps[step].why),)


def summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "3 drafts A B A, random"."""
    drafts = inputs["drafts"]
    names = " ".join(letter(each.token) for each in drafts)
    return f"{len(drafts)} drafts {names}, {'greedy' if inputs['greedy'] else 'random'}"


def tell(result: Rejection) -> Iterator[str]:
    """A line a decision, then what came out."""
    for step in result.steps:
        yield f"{step.step:>3}  {step.why}"
    yield result.finding


VIEW = View(
    "rejection", RejectionForm, simulate, picture=picture, predict=expected, summary=summary, tell=tell,
    title="One verify step", fragment="calculators/labs/_rejection.html",
    groups=(Group("Drafts", ("drafts",)), Group("1 / noise", ("noise",)),
            Group("Tries", ("tries", "seed"), folded=True)),
    presets=(
        Preset("three drafts", {}, "A and B pass, the third A is refused: 0.1 / 0.5 is below 0.35."),
        Preset("a drafter without probabilities", {"drafts": CERTAIN},
               "N-gram drafts count as certain: a draft is taken with the target’s own chance, and B falls."),
        Preset("greedy", {"greedy": True}, "Temperature 0: only the target’s largest passes, no draw."),
        Preset("the drafter is the target", {"drafts": THREE.replace("/0.6 0.2 0.1 0.1", "/0.5 0.3 0.15 0.05")
                                             .replace("/0.1 0.8 0.05 0.05", "/0.2 0.5 0.2 0.1")
                                             .replace("/0.5 0.2 0.2 0.1", "/0.1 0.2 0.6 0.1")},
               "Equal shares: every draft passes whatever is drawn, and the bonus comes on top."),
        Preset("padding", {"drafts": PADDED},
               "A row filled up to k: padding never passes, the target’s own draw comes in its place."),
    ),
)
