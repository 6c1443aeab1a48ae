"""The beam-blocks lab: beams that share blocks step by step, the least and the most they hold, and what vLLM does."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import beam_bounds_picture
from calculators.labs.base import Ask, Expected, Group, Lab, Preset, View
from calculators.labs.beam_blocks_picture import picture, sentence, thumbnail
from calculators.labs.prefix_cache import tell
from calculators.models import beam_bounds
from calculators.models.beam_blocks import BEST, SCORES, BeamRun, simulate


class BeamsForm(forms.Form):
    """The beams, the prompt and the blocks."""

    beams = forms.IntegerField(label="beams, W", min_value=1, max_value=10, initial=4)
    prompt_tokens = forms.IntegerField(label="prompt", min_value=1, max_value=100_000, initial=1_000)
    output_tokens = forms.IntegerField(label="steps", min_value=1, max_value=240, initial=200)
    block_size = forms.IntegerField(label="block size", min_value=8, max_value=1_024, initial=16)
    kv_kib_per_token = forms.FloatField(label="KV per token", min_value=0.1, max_value=10_000, initial=128,
                                        help_text="8B, GQA, bf16")

    units = {"prompt_tokens": "tok", "block_size": "tok", "kv_kib_per_token": "KiB"}


class StepsForm(BeamsForm):
    """The same, and how the beams part."""

    divergence = forms.FloatField(label="own lines", min_value=0, max_value=100, initial=93,
                                  help_text="steps in which each beam keeps its own line")
    follow = forms.ChoiceField(label="in the others", choices=[(SCORES, "scores"), (BEST, "best beam")], initial=SCORES,
                               help_text="seeded scores, or all from the best")
    seed = forms.IntegerField(min_value=0, max_value=999_999, initial=24)

    units = BeamsForm.units | {"divergence": "%"}


class BoundsForm(BeamsForm):
    """The beams at the end of decoding."""

    output_tokens = forms.IntegerField(label="generated", min_value=1, max_value=100_000, initial=200)
    beams = forms.IntegerField(label="beams, W", min_value=1, max_value=1_000, initial=4)
    block_size = forms.IntegerField(label="block size", min_value=1, max_value=1_024, initial=16)

    units = BeamsForm.units | {"output_tokens": "tok"}


class LoopForm(forms.Form):
    """The beams, and the cost of a token."""

    beams = forms.IntegerField(label="beams, W", min_value=1, max_value=1_000, initial=4)
    prompt_tokens = forms.IntegerField(label="prompt", min_value=1, max_value=100_000, initial=1_000)
    output_tokens = forms.IntegerField(label="generated", min_value=2, max_value=10_000, initial=200)
    block_size = forms.IntegerField(label="block size", min_value=1, max_value=1_024, initial=16)
    us_per_token = forms.FloatField(label="prefill of a token", min_value=0.01, max_value=100_000, initial=26.1,
                                    help_text="8B on one H100")

    units = {"prompt_tokens": "tok", "output_tokens": "tok", "block_size": "tok", "us_per_token": "µs"}


def expected(run: BeamRun, inputs: Mapping[str, Any], step: int) -> tuple[Expected, ...]:
    """How many blocks are held after a step, and how many it copies."""
    now = run.steps[step]
    return (Expected("held", now.held_blocks, sentence(now), unit="blocks"),
            Expected("copied", now.copies, unit="blocks"))


def summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "4 beams, 1,000 + 200 tokens, blocks of 16"."""
    return (f"{inputs['beams']} beams, {inputs['prompt_tokens']:,} + {inputs['output_tokens']:,} tokens, blocks of "
            f"{inputs['block_size']}")


def tell_steps(run: BeamRun) -> Iterator[str]:
    """A line a step, then the end."""
    for step in run.steps:
        yield f"{step.step:>4}  {step.held_blocks:,} blocks held, {step.copies} copied. {sentence(step)}"
    yield run.finding


LAB = Lab(
    slug="beam-blocks", title="Beams and blocks: fork, prune, copy on write", topic="kv-cache",
    line="Beams that share blocks", fragment="calculators/labs/_beam_blocks.html", thumbnail=thumbnail,
    views=(
        View(
            "steps", StepsForm, simulate, title="Step by step", picture=picture, predict=expected, summary=summary,
            tell=tell_steps, bulky=("tables", "freed"),
            presets=(
                Preset("seeded scores", {}, "In 93% of the steps all go on; in the others some fork, some fall out."),
                Preset("every beam keeps its line", {"divergence": 100},
                       "Apart from the prompt on: 114 blocks, 3 copies in all."),
                Preset("always from the best", {"divergence": 0, "follow": BEST},
                       "Re-forked at each step: 78 blocks, 564 copies."),
                Preset("scores alone", {"divergence": 0},
                       "Usual beam search: lines die out, so that all soon share but the last blocks."),
            ),
            groups=(Group("", ("beams", "prompt_tokens", "output_tokens", "block_size", "kv_kib_per_token")),
                    Group("How they part", ("divergence", "follow", "seed"))),
        ),
        View(
            "bounds", BoundsForm, beam_bounds.solve, title="Least and most", picture=beam_bounds_picture.bounds,
            summary=summary, tell=tell, ask=Ask(figure="least_mib", label="held at least", unit="MiB"),
            fragment="calculators/labs/_parts.html",
            presets=(
                Preset("four beams, 1,000 + 200", {}, "600 MiB apart, 156 to 228 shared."),
                Preset("ten beams, a 4K prompt", {"beams": 10, "prompt_tokens": 4_096, "output_tokens": 128},
                       "The longer the prompt, the more of it is shared."),
                Preset("70B in bf16", {"kv_kib_per_token": 320}, "The same blocks, two and a half times the bytes."),
                Preset("four samples of one prompt", {"prompt_tokens": 1_008, "output_tokens": 512},
                       "Parallel samples never share an output: the most is what they hold."),
            ),
        ),
        View(
            "client-loop", LoopForm, beam_bounds.client_loop, title="As vLLM does", picture=beam_bounds_picture.loop,
            summary=summary, tell=tell, fragment="calculators/labs/_parts.html",
            ask=Ask(figure="computed_each", label="a beam computes each round", unit="tokens"),
            presets=(
                Preset("four beams, 1,000 + 200", {}, "8.6 tokens instead of 1,100: 0.9 ms a round instead of 115."),
                Preset("blocks of 128", {"block_size": 128}, "A coarse grain computes 64 tokens again for one."),
                Preset("sixteen beams", {"beams": 16}, "32 log-probabilities a token: --max-logprobs must be raised."),
            ),
        ),
    ),
    notes=("Blocks, copies and tokens are exact for the scheme. vLLM 0.33.0 has no beams in the engine: the first view "
           "shows what sharing by reference count does, the last what is done instead.",),
)
