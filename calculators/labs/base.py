"""What a lab is: a few views, each a form, a pure function and a picture. A lab's state is its address."""
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.urls import reverse

from calculators.labs.row_field import ModelField, RowField
from calculators.models import hf_config
from calculators.models.base import Refusal
from calculators.pictures import Drawing

__all__ = ["Ask", "Expected", "Gist", "Group", "Lab", "Paste", "Preset", "Refusal", "Shown", "Switch", "View"]

SPELLED = {"Lora": "LoRA", "Ngram": "N-gram"}  # a lab's heading where its slug does not spell it
LEAST_NUMBER = 1e-12  # no knob is set that finely
LONGEST_STEP = 9  # digits; more can't be a step and may not even be an int


@dataclass(frozen=True, slots=True)
class Preset:
    """A named set of starting values; what it leaves out stays at the form's own."""

    name: str
    values: Mapping[str, Any]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Knobs that stand together under a heading, or folded away behind it."""

    heading: str
    fields: tuple[str, ...]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Paste:
    """A text that a view takes in place of knobs: what to paste, an example, and how it is read.

    `read` gives `values` of the form's fields (None empties one) and `faults`, a sentence for each line that can't be
    read. The text is reduced to knobs and kept nowhere. `name` tells the texts of one view apart.
    """

    label: str
    note: str
    example: str
    read: Callable[[str], Any]
    name: str = ""


MODEL_PASTE = Paste(
    "From a config.json", "Paste the file that lies beside a model’s weights; the model is taken from it. It is read "
    "once and kept nowhere.", '{"architectures": ["LlamaForCausalLM"], …}', hf_config.read, "config",
)


@dataclass(frozen=True, slots=True)
class Ask:
    """What a calculator asks the reader to commit before it shows its result: a figure of the result, and its unit.

    With `choices` the reader names one of them, reading it off the result, which is then not held back.
    """

    figure: str
    label: str
    unit: str = ""
    choices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """One entry of the map that a step lab lets its reader say first: what it is, and the sentence that says why.

    An entry with a `note` ("done", "not here yet") is named on the strip and not asked for. One with `decimals` takes a
    number that is right to so many of them; the others take a count.
    """

    name: str
    value: float
    why: str = ""
    note: str = ""
    decimals: int = 0
    unit: str = "tokens"


@dataclass(frozen=True, slots=True)
class Shown:
    """One computed state of a view: the cleaned inputs, the model's result, the step looked at (0 without steps).

    `said` is what the reader committed, None without: a number in the ask's unit, or of a step lab a map. `picture` is
    what the view draws of all this.
    """

    inputs: Mapping[str, Any]
    result: Any
    step: int
    last_step: int
    said: Any = None
    picture: Any = None


class Gist(NamedTuple):
    """How a result comes about in one small drawing, for the measure and for a phone."""

    wide: Drawing
    narrow: Drawing


class Switch(forms.TypedChoiceField):
    """On or off: a two-valued choice, since an unticked box sends nothing and so could never switch a default off."""

    def __init__(self, *, initial: bool, **more: Any) -> None:
        choices = [("on", "on"), ("off", "off")]
        super().__init__(choices=choices, coerce=lambda text: text == "on", initial=initial, **more)

    def prepare_value(self, value: Any) -> Any:
        return {True: "on", False: "off"}.get(value, value)


@dataclass(frozen=True)
class View:
    """A form, a model function whose parameters are the form's fields by name, and a picture of what is shown.

    A model that returns `steps` is a simulator: the view then takes `step` from the address as well, and with `predict`
    (the result, the inputs and a step: the entries of its map) lets the reader say a step before seeing it. A form's
    `units`, a dict by field, stand inside its knobs. `summary` says the inputs in one line; `tell` says the result in
    lines for a shell; `bulky` names what of a step is left out when all steps are listed. `fragment` draws the result
    in place of the lab's own template; `aside` stands under the knobs. `gist` draws in small how the asked number comes
    about, what the reader said included; None where a picture says nothing.
    """

    name: str
    form: type[forms.Form]
    solve: Callable[..., Any]
    title: str = ""
    picture: Callable[[Shown], Any] = lambda shown: None
    presets: tuple[Preset, ...] = ()
    ask: Ask | None = None
    predict: Callable[[Any, Mapping[str, Any], int], tuple[Expected, ...]] | None = None
    groups: tuple[Group, ...] = ()
    summary: Callable[[Mapping[str, Any]], str] = lambda inputs: ""
    tell: Callable[[Any], Iterable[str]] | None = None
    bulky: tuple[str, ...] = ()
    fragment: str = ""
    aside: str = ""
    gist: Callable[[Shown], Gist | None] = lambda shown: None
    paste: Paste | None = None

    @property
    def heading(self) -> str:
        """What its tab says: its title, or its name as words."""
        words = self.title or self.name.replace("-", " ")
        return words[0].upper() + words[1:]

    @cached_property
    def pastes(self) -> tuple[Paste, ...]:
        """The texts it takes in place of knobs: its own, and a config.json where it asks for a model."""
        models = any(isinstance(field, ModelField) for field in self.form.base_fields.values())
        return (*((self.paste,) if self.paste else ()), *((MODEL_PASTE,) if models else ()))

    @cached_property
    def starts(self) -> dict[str, str]:
        """What the form starts from, as its widgets would send it."""
        blank = self.form()
        return {name: text_of(field, blank.get_initial_for_field(field, name)) for name, field in blank.fields.items()}

    def starting_values(self) -> dict[str, str]:
        """A copy of what the form starts from, as its widgets would send it."""
        return dict(self.starts)

    def texts(self, values: Mapping[str, Any]) -> dict[str, str]:
        """The values that are fields of the form, in its order, each as an address holds it."""
        return {name: text_of(field, values[name]) for name, field in self.form.base_fields.items() if name in values}

    def gathered(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What was given, with the numbers that were typed for a row ("model.layers") put behind the row's slug."""
        gathered = dict(given)
        for name, field in self.form.base_fields.items():
            if not isinstance(field, RowField):
                continue
            numbers = {part.name: str(gathered.pop(f"{name}.{part.name}", "")) for part in field.rows.parts}
            if typed := {part: number for part, number in numbers.items() if number.strip()}:
                gathered[name] = field.with_numbers(str(gathered.get(name, self.starts[name])), typed)
        return gathered

    def bind(self, given: Mapping[str, Any]) -> forms.Form:
        """The form filled with its starting values and, over them, what was given (raw text or cleaned values)."""
        form = self.form(self.starting_values() | self.texts(self.gathered(given)))
        for field in form.fields.values():
            field.error_messages |= dict.fromkeys(field.error_messages | ALWAYS_SAID, what_it_takes(field))
        return form

    def compute(self, form: forms.Form) -> tuple[dict[str, Any], Any] | None:
        """The cleaned inputs and the model's result; on a fault None, with its sentence in the form's errors."""
        if not form.is_valid():
            return None
        inputs = {name: next_to_zero(form.cleaned_data[name]) for name in form.fields}
        try:
            return inputs, self.solve(**inputs)
        except Refusal as refusal:
            form.add_error(getattr(refusal, "field", None), str(refusal))
            return None

    def show(self, form: forms.Form, step: str | None = None) -> Shown | None:
        """Compute; an empty step is the first, one past the end the last. None on a fault. `drawn` adds the picture."""
        if (computed := self.compute(form)) is None:
            return None
        inputs, result = computed
        last = len(result.steps) - 1 if hasattr(result, "steps") else 0
        return Shown(inputs, result, step_within(step, last), last)

    def back_one(self, shown: Shown) -> Shown:
        """The same run, one step earlier."""
        return replace(shown, step=shown.step - 1)

    def drawn(self, shown: Shown, said: Any = None) -> Shown:
        """The same with its picture, which knows what the reader said."""
        shown = replace(shown, said=said)
        return replace(shown, picture=self.picture(shown))

    def run(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """Inputs and result for values that must hold, as a question's own must.

        Raises Refusal with every fault in one sentence, and for a name that is no field.
        """
        if unknown := set(self.gathered(values)) - set(self.form.base_fields):
            raise Refusal(f"no such input: {', '.join(sorted(unknown))}")
        form = self.bind(values)
        if (computed := self.compute(form)) is None:
            raise Refusal("; ".join(told(faults(form))))
        return computed

    def query(self, values: Mapping[str, Any], **more: Any) -> str:
        """The address's query for these values: only what differs from the starting values, to keep links short."""
        kept = {name: text for name, text in self.texts(values).items() if text != self.starts[name]}
        kept |= {name: value for name, value in more.items() if value not in (None, "")}
        return urlencode(kept, safe=":/@,!~")

    def nearest_preset(self, values: Mapping[str, Any]) -> tuple[Preset, set[str]]:
        """The preset that fewest of these values differ from, and the names of those that do."""
        texts = self.starts | self.texts(values)
        presets = self.presets or (Preset("", {}),)
        starts = [self.starts | self.texts(preset.values) for preset in presets]
        off = [{name for name, text in texts.items() if text != start[name]} for start in starts]
        best = min(range(len(presets)), key=lambda place: len(off[place]))
        return presets[best], off[best]


@dataclass(frozen=True)
class Lab:
    """A lab: its slug, its title, one line of what it shows, its views, and the template that draws the result.

    `thumbnail` makes the small drawing (216 by 64) of the labs' page from the first view's first preset.
    """

    slug: str
    title: str
    views: tuple[View, ...]
    fragment: str
    topic: str
    line: str
    notes: tuple[str, ...] = ()
    thumbnail: Callable[[Any], Any] | None = None

    @property
    def heading(self) -> str:
        """The slug as words, for the margin: "Prefill interference", "GPU count"."""
        words = self.slug.replace("-", " ").capitalize()
        return re.sub(r"\b(Cuda|Gpu|Kv|Epp|ep)\b", lambda found: found[0].upper(), SPELLED.get(words, words))

    def view(self, name: str | None) -> View:
        """The view of that name; without one, or with an unknown one, the first."""
        return next((view for view in self.views if view.name == name), self.views[0])

    def address(self, view: View, values: Mapping[str, Any], **more: Any) -> str:
        """The page's address for these values, as short as it can be; `more` are step, ask, said, …"""
        named = {} if view is self.views[0] else {"view": view.name}
        query = view.query(values, **named | more)
        return reverse("calculators:lab_page", args=[self.slug]) + (f"?{query}" if query else "")

    @cached_property
    def small_picture(self) -> Any:
        """The thumbnail, drawn once: its inputs never change."""
        view = self.views[0]
        _, result = view.run(view.presets[0].values if view.presets else {})
        return self.thumbnail(result) if self.thumbnail else None


ALWAYS_SAID = dict.fromkeys(("required", "invalid", "min_value", "max_value", "max_length", "invalid_choice"))


def what_it_takes(field: forms.Field) -> str:
    """The sentence that stands beside a field whose value can't be used."""
    if isinstance(field, forms.IntegerField):
        kind = "a number" if isinstance(field, forms.FloatField) else "a whole number"
        low, high = field.min_value, field.max_value
        takes = f"{kind} from {low:,} to {high:,}" if None not in (low, high) else kind
        return f"Takes {takes}{'' if field.required else ', or nothing'}."
    if isinstance(field, forms.ChoiceField):
        return f"Takes one of: {', '.join(str(label) for _, label in field.choices)}."
    longest = getattr(field, "max_length", None)
    return f"Takes a text of at most {longest:,} characters." if longest else "Takes a text; it can't be empty."


def faults(form: forms.Form) -> dict[str, str]:
    """A form's sentences by field; what is wrong with several fields together stands under "all"."""
    said = {name: " ".join(dict.fromkeys(errors)) for name, errors in form.errors.items()}
    return {"all" if name == NON_FIELD_ERRORS else name: sentence for name, sentence in said.items()}


def told(sentences: Mapping[str, str]) -> list[str]:
    """Faults by field as lines, each under its field's name."""
    return [sentence if name == "all" else f"{name}: {sentence}" for name, sentence in sentences.items()]


def next_to_zero(value: Any) -> Any:
    """0 for a number so small that only its quotients would show, as infinities; any other value as it is."""
    return 0.0 if isinstance(value, float) and abs(value) < LEAST_NUMBER else value


def step_within(text: str | None, last: int) -> int:
    """The step an address names, kept between the first and the last; 0 when it names none."""
    text = (text or "").strip()
    if not text.isascii() or not text.isdigit():
        return 0
    return min(int(text), last) if len(text) <= LONGEST_STEP else last


def text_of(field: forms.Field, value: Any) -> str:
    """A field's value as an address holds it: "" for nothing, a number without grouping commas and spaces, 5.0 as 5."""
    prepared = None if value is None else field.prepare_value(value)
    text = "" if prepared is None else str(prepared)
    if not isinstance(field, forms.IntegerField):
        return text
    bare = re.sub(r"[,_\s]", "", text)
    if not re.fullmatch(r"[0-9]*\.?[0-9]+|[0-9]+\.", bare):
        return text
    return bare.rstrip("0").rstrip(".") if "." in bare[1:] else bare
