"""What a lab is: a few views, each a form, a pure function and a picture. A lab's state is its address."""
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django import forms

from calculators.models.base import Refusal

__all__ = ["Ask", "Lab", "Preset", "Refusal", "Shown", "View"]


@dataclass(frozen=True, slots=True)
class Preset:
    """A named set of starting values; what it leaves out stays at the form's own."""

    name: str
    values: Mapping[str, Any]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a calculator asks the reader to commit before it shows its result: an attribute of the result, and its unit."""

    figure: str
    label: str
    unit: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One computed state of a view: the cleaned inputs, the model's result, the step looked at (0 without steps), the picture."""

    inputs: Mapping[str, Any]
    result: Any
    step: int
    last_step: int
    picture: Any


@dataclass(frozen=True, slots=True)
class View:
    """A form, a model function whose parameters are the form's fields by name, and a picture of its result.

    A model that returns `steps` is a simulator: the view then takes `step` from the address as well.
    """

    name: str
    form: type[forms.Form]
    solve: Callable[..., Any]
    title: str = ""
    picture: Callable[[Any, int], Any] = lambda result, step: None
    presets: tuple[Preset, ...] = ()
    ask: Ask | None = None

    def starting_values(self) -> dict[str, str]:
        """What the form starts from, as its widgets would send it."""
        blank = self.form()
        return {name: text_of(blank, name, blank.get_initial_for_field(item, name)) for name, item in blank.fields.items()}

    def bind(self, given: Mapping[str, Any]) -> forms.Form:
        """The form filled with its starting values and, over them, what was given (raw text or cleaned values)."""
        blank = self.form()
        texts = {name: text_of(blank, name, value) for name, value in given.items() if name in blank.fields}
        return self.form(self.starting_values() | texts)

    def compute(self, form: forms.Form) -> tuple[dict[str, Any], Any] | None:
        """The cleaned inputs and the model's result; on a fault None, with its sentence in the form's errors."""
        if not form.is_valid():
            return None
        inputs = {name: form.cleaned_data[name] for name in form.fields}
        try:
            return inputs, self.solve(**inputs)
        except Refusal as refusal:
            form.add_error(getattr(refusal, "field", None), str(refusal))
            return None

    def show(self, form: forms.Form, step: str | None = None) -> Shown | None:
        """Compute and draw; an empty step is the first, one past the end the last. None on a fault."""
        if (computed := self.compute(form)) is None:
            return None
        inputs, result = computed
        last = len(result.steps) - 1 if hasattr(result, "steps") else 0
        at = min(max(int(step), 0), last) if step and step.isdecimal() else 0
        return Shown(inputs, result, at, last, self.picture(result, at))

    def run(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """Inputs and result for values that must hold, as a question's own must.

        Raises Refusal with every fault in one sentence, and for a name that is no field.
        """
        if unknown := set(values) - set(self.form.base_fields):
            raise Refusal(f"no such input: {', '.join(sorted(unknown))}")
        form = self.bind(values)
        if (computed := self.compute(form)) is None:
            raise Refusal("; ".join(f"{name}: {' '.join(errors)}" for name, errors in form.errors.items()))
        return computed

    def query(self, values: Mapping[str, Any], **more: Any) -> str:
        """The address's query for these values: only what differs from the starting values, so that links stay short."""
        starts, blank = self.starting_values(), self.form()
        texts = {name: text_of(blank, name, value) for name, value in values.items() if name in starts}
        kept = {name: text for name, text in texts.items() if text != starts[name]}
        return urlencode(kept | {name: value for name, value in more.items() if value not in (None, "")})


def text_of(form: forms.Form, name: str, value: Any) -> str:
    """A field's value as its widget would send it ('' for nothing)."""
    if value is None:
        return ""
    prepared = form.fields[name].prepare_value(value)
    return str(prepared if prepared is not None else "")


@dataclass(frozen=True, slots=True)
class Lab:
    """A lab: its slug, its title, one line of what it shows, its views, and the template that draws the result."""

    slug: str
    title: str
    views: tuple[View, ...]
    fragment: str
    topic: str
    line: str
    notes: tuple[str, ...] = field(default=())

    def view(self, name: str | None) -> View:
        """The view of that name; without one, or with an unknown one, the first."""
        return next((view for view in self.views if view.name == name), self.views[0])
