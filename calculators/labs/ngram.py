"""The n-gram lab: drafts looked up in the text itself, step by step."""
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from django import forms

from calculators.labs.base import Expected, Group, Lab, Preset, Switch, View
from calculators.labs.ngram_picture import picture, sentence, thumbnail
from calculators.labs.read_field import ReadField
from calculators.models.base import Refusal
from calculators.models.ngram import EARLIEST, LATEST, MOST_OUTPUT, MOST_PROMPT, Ngram, simulate

CODE = ("def load ( uid ) : NL user = db . get ( uid ) NL if user is None : NL raise Missing ( uid ) NL log ( user ) "
        "NL return user NL")
RENAME = f"Rename user to account in : NL {CODE} Answer : NL"
RENAMED = f"{CODE.replace('user', 'account')} EOS"
CHAT = "Why is the sky blue ? Answer in two sentences ."
CHATTED = ("Sunlight holds every colour , and air scatters short waves far more than long ones . So from all sides "
           "mostly that part reaches your eyes , which we see as blue EOS")
QUOTE = ("Context : The warranty covers parts and labour for twenty four months from the date of purchase . It does "
         "not cover damage by water or by drops . Question : What does it cover ? Quote the sentence . Answer :")
QUOTED = ("The manual says : The warranty covers parts and labour for twenty four months from the date of purchase . "
          "It does not cover damage by water or by drops . EOS")


def words_of(text: str, most: int) -> tuple[str, ...]:
    """A text as tokens, one a word; raises Refusal for more than `most`."""
    words = tuple(text.split())
    if len(words) > most:
        raise Refusal(f"{len(words):,} words; the lab follows at most {most}.")
    return words


class NgramForm(forms.Form):
    """The drafter's settings under vLLM's names, and the text, a word a token."""

    num_speculative_tokens = forms.IntegerField(label="drafts a step, k", min_value=1, max_value=16, initial=5)
    prompt_lookup_min = forms.IntegerField(
        min_value=1, max_value=16, initial=5, help_text="with neither set both are 5; with one set the other equals it",
    )
    prompt_lookup_max = forms.IntegerField(min_value=1, max_value=16, initial=5)
    place = forms.ChoiceField(
        label="of several", choices=[(LATEST, "the latest"), (EARLIEST, "the earliest")], initial=LATEST,
        help_text="the current runner takes the latest, the older one the earliest",
    )
    pad = Switch(label="fill up to k", initial=True, help_text="the current runner does, with the last token")
    prompt = ReadField(
        read=partial(words_of, most=MOST_PROMPT), write=" ".join, max_length=1_600, initial=RENAME,
        help_text="a word is a token, NL a line’s end",
    )
    output = ReadField(
        read=partial(words_of, most=MOST_OUTPUT), write=" ".join, max_length=1_600, initial=RENAMED,
        help_text="what the target decodes",
    )
    max_model_len = forms.IntegerField(
        min_value=2, max_value=1_000_000, initial=4_096, help_text="no draft goes past it",
    )
    max_num_seqs = forms.IntegerField(min_value=1, max_value=65_536, initial=1_024)

    units = {"num_speculative_tokens": "tok", "prompt_lookup_min": "tok", "prompt_lookup_max": "tok",
             "max_model_len": "tok"}


def expected(result: Ngram, inputs: Mapping[str, Any], step: int) -> tuple[Expected, ...]:
    """What a step's match is long, and how many drafts it accepts."""
    now = result.steps[step]
    return (Expected("match", now.match.n, sentence(now)), Expected("accepted", now.accepted))


def summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "k 5, matches of 2 to 5, the latest"."""
    low, high = inputs["prompt_lookup_min"], inputs["prompt_lookup_max"]
    return f"k {inputs['num_speculative_tokens']}, matches of {low} to {high}, the {inputs['place']}"


def tell(result: Ngram) -> Iterator[str]:
    """A line a step, then the totals of this setting and of the others."""
    for step in result.steps:
        yield f"{step.step:>4}  {sentence(step)}"
    for total in result.others:
        yield (f"({total.min_n},{total.max_n}): {total.steps} steps, {total.matches} matches, {total.accepted} "
               f"accepted of {total.matched_drafted} matched ({total.matched_rate:.0%}) and {total.drafted} verified "
               f"({total.rate:.1%}), {total.tokens_per_step:.2f} tokens a step")
    yield result.finding


PRESETS = (
    Preset("rename, defaults", {}, "Each rename breaks the match, and five tokens must agree before the next."),
    Preset("rename, min 2", {"prompt_lookup_min": 2}, "Locks on again after two tokens: 16 steps."),
    Preset("rename, min 1", {"prompt_lookup_min": 1},
           "Fewest steps, 13, at the lowest rate of accepted matches: 37%."),
    Preset("the older runner", {"prompt_lookup_min": 1, "place": EARLIEST, "pad": False},
           "Earliest match, no filler: 14 steps, and a step without a match drafts nothing."),
    Preset("open chat", {"prompt": CHAT, "output": CHATTED},
           "Nothing repeats: every draft is filler, and all of it is verified for nothing."),
    Preset("a quoted answer", {"prompt": QUOTE, "output": QUOTED, "prompt_lookup_min": 2},
           "A quotation is one long match: five drafts accepted in most steps."),
)

LAB = Lab(
    slug="ngram", title="Drafts from the text itself", topic="sampling", line="Prompt lookup, token by token",
    fragment="calculators/labs/_ngram.html", thumbnail=thumbnail,
    views=(
        View(
            "steps", NgramForm, simulate, picture=picture, predict=expected, summary=summary, tell=tell, title="Steps",
            presets=PRESETS,
            groups=(Group("Prompt", ("prompt",)), Group("Output", ("output",)),
                    Group("Engine", ("max_model_len", "max_num_seqs"), folded=True)),
        ),
    ),
    notes=("Counts are exact for a greedy target. What a step costs is another matter: each draft is one more row to "
           "compute, free while the step is bound by memory.",),
)
