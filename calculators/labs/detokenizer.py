"""The detokenizer lab: bytes to text with the offset window, and what a stop string holds back, token by token."""
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import detokenizer_picture
from calculators.labs.base import Expected, Group, Lab, Preset, Shown, Switch, View
from calculators.labs.read_field import ReadField
from calculators.models import detokenizer
from calculators.models.detokenizer import FAST, SLOW, Detokenized, Token, visible

EMOJI = "␣Hi ␣ {F0 9F 98} {80} !"
SAT = "The ␣cat ␣sat .↵ ↵Us er :␣hi"


def tokens_field(name: str, most: int, initial: str, label: str, **more: Any) -> ReadField:
    """A field of tokens, apart by spaces."""
    return ReadField(
        read=lambda text: detokenizer.read_tokens(text, most, name), write=written, initial=initial, label=label,
        **more,
    )


def written(tokens: tuple[Token, ...]) -> str:
    return " ".join(token.written for token in tokens)


def stop_field(initial: str) -> ReadField:
    """A field of stop strings, apart by bars."""
    return ReadField(
        read=detokenizer.read_stops, write=lambda stops: "|".join(map(visible, stops)), initial=initial, required=False,
        label="stop", max_length=150, widget=forms.TextInput, help_text="apart by |, ↵ or \\n a line break",
    )


class DetokenizerForm(forms.Form):
    """What came before, what comes, and how the engine is told to stop."""

    tokens = tokens_field(
        "tokens", detokenizer.MOST_TOKENS, EMOJI, "tokens", max_length=2_000,
        help_text="apart by spaces; _ a space, ↵ or \\n a break, {F0 9F} bytes, {end} a special token",
    )
    prompt = tokens_field("prompt", 50, "Say ␣hi :", "prompt tail", max_length=400, required=False,
                          widget=forms.TextInput)
    per_step = forms.IntegerField(
        label="tokens a step", min_value=1, max_value=17, initial=1, help_text="more than 1: speculation",
    )
    skip_special = Switch(label="skip special tokens", initial=True)
    detokenizer = forms.ChoiceField(
        label="way", choices=[(FAST, "fast"), (SLOW, "slow")], initial=FAST,
        help_text="fast: tokenizers’ own stream; slow: the window in Python",
    )
    stop = stop_field("")
    include_stop = Switch(label="include it", initial=False)
    min_tokens = forms.IntegerField(min_value=0, max_value=200, initial=0)


class StopForm(DetokenizerForm):
    """The same with a stop string on its way."""

    tokens = tokens_field(
        "tokens", detokenizer.MOST_TOKENS, SAT, "tokens", max_length=2_000,
        help_text="apart by spaces; _ a space, ↵ or \\n a break, {F0 9F} bytes, {end} a special token",
    )
    stop = stop_field("↵↵User:")


def summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "5 tokens, 1 a step, stop ↵↵User:"."""
    stops = "|".join(map(visible, inputs["stop"]))
    return f"{len(inputs['tokens'])} tokens, {inputs['per_step']} a step{f', stop {stops}' if stops else ''}"


def expected_window(run: Detokenized, inputs: Mapping[str, Any], at: int) -> tuple[Expected, ...]:
    """How many characters the step emits, and where the two offsets stand after it."""
    step, why = run.steps[at], detokenizer_picture.sentence(run, at)
    return (Expected("emitted", len(step.decoded), why, unit="characters"),
            Expected("prefix", step.new_prefix, "prefix_offset moves to the old read_offset, when text is emitted."),
            Expected("read", step.new_read, "read_offset moves to the last token, when text is emitted."))


def expected_stop(run: Detokenized, inputs: Mapping[str, Any], at: int) -> tuple[Expected, ...]:
    """How many characters the step sends and holds."""
    step = run.steps[at]
    return (Expected("sent", len(step.sent), detokenizer_picture.stop_sentence(run, at), unit="characters"),
            Expected("held", len(step.held), "Of what is decoded, the last are held until the end.",
                     unit="characters"))


def tell(run: Detokenized) -> Iterator[str]:
    """A line a step: what came and what was sent; then the counts."""
    for number, step in enumerate(run.steps[1:], 1):
        sent = f"“{visible(step.sent)}”" if step.sent else "nothing"
        yield f"{number:>4}  {written(step.tokens)}  sends {sent}, holds {len(step.held)}"
    yield run.finding
    yield from map(str, run.lines)


WINDOW = (
    Preset("an emoji in two tokens", {}, "Alone each is broken: say what the window emits."),
    Preset("in four single bytes", {"tokens": "␣Hi ␣ {F0} {9F} {98} {80} !"}, "A tokenizer that falls back to bytes."),
    Preset("Chinese, split", {"tokens": "{E4 BD} {A0 E5} {A5 BD} ， 世 {E7} {95} {8C}"},
           "A token may end one character and begin the next: what is whole waits as well."),
    Preset("plain text", {"tokens": "␣The ␣cat ␣sat ."}, "Every token is whole: the window moves each time."),
    Preset("the prompt ends inside a character", {"prompt": "caf {C3}", "tokens": "{A9} ␣ ok"},
           "The pending text of the prompt comes out with the first piece. Try the slow way."),
    Preset("ends on half a character", {"tokens": "␣Hi ␣ {F0 9F 98}"}, "What never gets whole is never sent."),
)
STOP = (
    Preset("a stop over four tokens", {}, "Seven characters, so six are held back."),
    Preset("stop included", {"include_stop": True}, "Nothing to hide, so nothing is held."),
    Preset("five tokens a step", {"per_step": 5}, "Speculation: the stop is complete in the middle of a step."),
    Preset("two stops in one step", {"prompt": "q", "tokens": "one ␣ ST OP ␣ EN D ␣ two", "stop": "END|STOP",
                                     "per_step": 8},
           "The one that is complete first counts; what comes after it is dropped."),
    Preset("min_tokens", {"tokens": "a X b X", "stop": "X", "min_tokens": 2}, "An early match does not count."),
    Preset("no stop", {"stop": ""}, "Nothing is held: only half characters would be."),
)
GROUPS = (
    Group("", ("prompt", "per_step", "skip_special", "detokenizer")),
    Group("Stop strings", ("stop", "include_stop", "min_tokens")),
    Group("What comes", ("tokens",)),
)


def view(name: str, form: type[forms.Form], presets: tuple[Preset, ...], picture: Callable[[Shown], Any],
         predict: Callable[..., tuple[Expected, ...]]) -> View:
    """A view of the stream: where it starts, how it is drawn, and what it lets the reader say first."""
    return View(name, form, detokenizer.simulate, picture=picture, predict=predict, presets=presets, summary=summary,
                tell=tell, groups=GROUPS, bulky=("tokens",))


LAB = Lab(
    slug="detokenizer", title="Token by token, to text", topic="engine", line="Bytes to text, half characters held",
    fragment="calculators/labs/_parts.html", thumbnail=detokenizer_picture.thumbnail,
    views=(
        view("window", DetokenizerForm, WINDOW, detokenizer_picture.window_picture, expected_window),
        view("stop", StopForm, STOP, detokenizer_picture.stop_picture, expected_stop),
    ),
    notes=("␣ a space, ↵ a line break. The API server finds a stop string; the engine learns of it by an abort.",),
)
