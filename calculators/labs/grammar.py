"""The grammar lab: from a grammar to the bits of a mask, token by token, and what the mask costs."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import grammar_picture
from calculators.labs.base import Ask, Expected, Group, Lab, Preset, View
from calculators.labs.read_field import ReadField
from calculators.models import grammar_cost
from calculators.models.grammar import (
    REGEX,
    STRINGS,
    Grammar,
    Token,
    read_lines,
    read_path,
    read_vocabulary,
    simulate,
)

HAND = '{ " {" ok o k ": "ok": : true tr t ue e false f fa al als lse se } e} true} false} ␣ r u a l s EOS'
OK = '{"ok":true}\n{"ok":false}'
OK_PATH = '{ " ok ": t r ue }'
DIGITS = "0 1 2 3 4 5 6 7 8 9 - . 10 20 00 .5 -1 1.5 EOS"
MOODS = "p n ne pos neg neu itive ative tral a e g i l o r s t u v EOS"
TOOL = '{ } " : , {" ":" "," "} name city get _weather get_weather Paris Par is War saw Warsaw EOS'
CALLS = r'\{"name":"get_weather","city":"(Paris|Warsaw)"\}'


def written(tokens: tuple[Token, ...]) -> str:
    return " ".join(token.written for token in tokens)


def text_field(read: Any, write: Any, initial: str, most: int, help_text: str, **more: Any) -> ReadField:
    """A text in which every space and comma counts."""
    return ReadField(read=read, write=write, initial=initial, max_length=most, help_text=help_text, strip=False, **more)


class StatesForm(forms.Form):
    """A grammar, a vocabulary small enough to see, and a path of tokens."""

    grammar = text_field(read_lines, "\n".join, OK, 240, "a line each: any of them may be taken")
    form = forms.ChoiceField(label="lines are", choices=[(STRINGS, "texts"), (REGEX, "expressions")], initial=STRINGS,
                             help_text="expressions: ( ) [ ] | ? * + {m,n} . \\d \\w")
    path = text_field(read_path, " ".join, OK_PATH, 200, "tokens apart by spaces; empty: drawn", required=False)
    seed = forms.IntegerField(label="draw", min_value=0, max_value=1_000_000, initial=1,
                              help_text="for an empty path")
    vocabulary = text_field(
        read_vocabulary, written, HAND, 400,
        "apart by spaces, the first is bit 0; ␣ a space, ↵ a break, <0x9F> a byte, EOS the end",
    )
    vocabulary_size = forms.IntegerField(label="a real vocabulary", min_value=2, max_value=1_000_000, initial=128_256)


class CostForm(forms.Form):
    """A real vocabulary, what walking it takes, who asks for it, and the step around it."""

    vocabulary_size = forms.IntegerField(label="vocabulary, V", min_value=2, max_value=1_000_000, initial=128_256)
    bytes_per_token = forms.FloatField(label="bytes a token", min_value=0.1, max_value=100, initial=4.0)
    ns_per_byte = forms.FloatField(label="a byte", min_value=0.01, max_value=100_000, initial=20.0,
                                   help_text="one transition of a pushdown automaton; 2 of a flat table")
    uncertain_percent = forms.FloatField(label="left to check", min_value=0, max_value=100, initial=1.0,
                                         help_text="tokens that compiling can’t settle")
    lookup_us = forms.FloatField(label="a lookup", min_value=0, max_value=100_000, initial=0.0)
    states = forms.IntegerField(label="states compiled", min_value=1, max_value=10_000_000, initial=18)
    structured = forms.IntegerField(label="structured requests", min_value=1, max_value=1_024, initial=64)
    drafts = forms.IntegerField(label="drafts a request, k", min_value=0, max_value=16, initial=0)
    us_per_row = forms.FloatField(label="filling a row", min_value=0.1, max_value=100_000, initial=40.0,
                                  help_text="in practice")
    forward_ms = forms.FloatField(label="forward", min_value=0.01, max_value=10_000, initial=8.8)
    max_num_seqs = forms.IntegerField(min_value=1, max_value=65_536, initial=1_024)
    link_gb_per_s = forms.FloatField(label="to the GPU", min_value=0.1, max_value=10_000, initial=50.0)

    units = {
        "ns_per_byte": "ns", "uncertain_percent": "%", "lookup_us": "µs", "us_per_row": "µs",
        "forward_ms": "ms", "link_gb_per_s": "GB/s",
    }


def expected(result: Grammar, inputs: Mapping[str, Any], step: int) -> tuple[Expected, ...]:
    """How many tokens a step's mask allows, and how many bytes the grammar forces from there."""
    now = result.steps[step]
    forced = len(result.automaton.forced(now.mask.state))
    return (Expected("allowed", len(now.mask.allowed), grammar_picture.expected_why(result, now)),
            Expected("forced", forced, f"Without a choice from there: “{now.mask.forced}”." if forced else
                     "There is a choice at once, or the end.", unit="bytes"))


def states_summary(inputs: Mapping[str, Any]) -> str:
    return f"{len(inputs['grammar'])} line{'s' * (len(inputs['grammar']) != 1)}, {len(inputs['vocabulary'])} tokens"


def cost_summary(inputs: Mapping[str, Any]) -> str:
    return (f"V {inputs['vocabulary_size']:,}, {inputs['structured']:,} requests, {inputs['drafts']} drafts, "
            f"{inputs['us_per_row']:g} µs a row")


def tell_states(result: Grammar) -> Iterator[str]:
    """A line a step: the text, the word, the tokens; then what it weighs."""
    for step in result.steps:
        could = " ".join(result.vocabulary[number].written for number in step.mask.allowed)
        yield f"{step.step:>4}  {step.text or 'nothing yet'}  {step.mask.hex}  {could or 'no token'}"
    yield from map(str, result.lines)
    yield from (result.finding, result.verdict)


def tell_cost(result: grammar_cost.GrammarCost) -> Iterator[str]:
    """The finding, the derivation and the verdict."""
    yield result.finding
    yield from map(str, result.lines)
    yield result.verdict


STATES = (
    Preset("an answer, true or false", {}, "Follow the path; before the colon’s state say how many tokens live."),
    Preset("without single letters", {"vocabulary": HAND.replace(" r u ", " "), "path": '{" ok ": t'},
           "The same without r and u: a dead end, and the mask is all zeros."),
    Preset("a drawn path", {"path": "", "seed": 4}, "Each allowed token as likely: other tokens, one of two texts."),
    Preset("one of three labels", {"grammar": "positive\nnegative\nneutral", "vocabulary": MOODS, "path": "ne u tral"},
           "A classifier’s answer: after ne two ways are left."),
    Preset("a number", {"grammar": r"-?(0|[1-9][0-9]{0,3})(\.[0-9]+)?", "form": REGEX, "vocabulary": DIGITS,
                        "path": "-1 00 .5 7"}, "A token may cross from the whole part into the fraction: .5."),
    Preset("a date", {"grammar": "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])", "form": REGEX,
                      "vocabulary": DIGITS, "path": "20 2 6 -1 1 - 20"}, "-1 begins a month, and only three of them."),
    Preset("a tool call", {"grammar": CALLS, "form": REGEX, "vocabulary": TOOL, "path": "", "seed": 2},
           "Nearly every byte is forced: what is left is the spelling, and once the city."),
)
COST = (
    Preset("Llama 3, 64 requests", {}, "Say what one naive row takes. Then 64 of them, in every step."),
    Preset("256 requests", {"structured": 256}, "4.1 MB of masks a step; the fill goes to threads."),
    Preset("with three drafts", {"drafts": 3}, "Four rows a request, filled one after the other: the step stalls."),
    Preset("a small model", {"forward_ms": 1.15, "vocabulary_size": 151_936},
           "Qwen3-0.6B: the forward got faster, the mask did not."),
    Preset("a flat table in C", {"ns_per_byte": 1.82, "bytes_per_token": 4.5},
           "8.2 ns a token, measured on one server core: a millisecond a row."),
    Preset("a vocabulary of 262,208", {"vocabulary_size": 262_208}, "Gemma 3: twice the bits, twice the walk."),
)

LAB = Lab(
    slug="grammar", title="From a grammar to 32 bits", topic="sampling", line="A bit a token, and its price",
    fragment="calculators/labs/_parts.html", thumbnail=grammar_picture.thumbnail,
    views=(
        View("states", StatesForm, simulate, title="state by state", picture=grammar_picture.states_picture,
             predict=expected, summary=states_summary, tell=tell_states, presets=STATES,
             bulky=("vocabulary", "automaton", "masks"),
             groups=(Group("", ("grammar", "form")), Group("Path", ("path", "seed")),
                     Group("Vocabulary", ("vocabulary", "vocabulary_size"), folded=True))),
        View("cost", CostForm, grammar_cost.solve, title="what it costs", picture=grammar_picture.cost_picture,
             summary=cost_summary, tell=tell_cost, presets=COST, bulky=("plain", "drafted"),
             ask=Ask(figure="naive_ms", label="a naive row", unit="ms"),
             groups=(
                 Group("A row", ("vocabulary_size", "bytes_per_token", "ns_per_byte", "uncertain_percent", "lookup_us",
                                 "states")),
                 Group("Engine", ("structured", "drafts", "us_per_row", "forward_ms")),
                 Group("Buffer and copy", ("max_num_seqs", "link_gb_per_s"), folded=True),
             )),
    ),
    notes=("The words are exact; 20 ns a byte and 40 µs a row are rules of thumb.",
           "To say first: how many tokens are allowed, and how many bytes the grammar forces from there."),
)
