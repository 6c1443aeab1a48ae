"""What a lab's page shows for one address: the knobs, the strip, the result, and the addresses that lead on from it."""
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from calculators.labs.base import Group, Lab, Preset, Shown, View, faults
from calculators.labs.commit import Scored, Slot, Verdict, judge, score, slots, weigh
from calculators.labs.row_field import RowField
from calculators.models import quantity
from calculators.models.base import Refusal
from calculators.models.catalogue_rows import OWN, split

SAID = "said_"  # what precedes a request's name in the address of a predicted step


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a row of the catalogue, to be typed in place of the row's own; `typed` is empty where it is not."""

    name: str
    label: str
    typed: str
    unit: str


@dataclass(frozen=True, slots=True)
class Knob:
    """One field of the form as the margin shows it; `off` says that it differs from the preset next to it.

    A row of the catalogue has `numbers` that can be typed instead, and `row` says the row's own.
    """

    name: str
    label: str
    value: str
    unit: str
    help: str
    fault: str
    off: bool
    choices: tuple[tuple[str, str], ...]
    wide: bool
    longest: int | None = None  # characters of a text
    numbers: tuple[Number, ...] = ()
    row: str = ""

    @property
    def changed(self) -> bool:
        """Whether a number of the row is typed."""
        return any(number.typed for number in self.numbers)


@dataclass(frozen=True, slots=True)
class Knobs:
    """A group of knobs; `open` when it is folded and holds a knob off its preset or at fault."""

    heading: str
    folded: bool
    open: bool
    knobs: tuple[Knob, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A preset as a link."""

    name: str
    address: str
    note: str
    current: bool


@dataclass(frozen=True, slots=True)
class Stage:
    """One state of a lab's page. `shown` is None while the result is held until the reader commits a number."""

    lab: Lab
    view: View
    knobs: tuple[Knobs, ...]
    faults: dict[str, str]
    shown: Shown | None
    instead: str  # the preset that is shown because a knob can't be used, "" when none had to be
    summary: str
    presets: tuple[Link, ...]
    views: tuple[Link, ...]
    here: str
    reset: str
    full: str
    back: str
    step: str
    end: str
    slots: tuple[Slot, ...]
    scored: tuple[Scored, ...]
    score: tuple[int, int]
    verdict: Verdict | None
    typed: str
    said_fault: str
    asks_first: bool
    hidden: tuple[tuple[str, str], ...]

    @property
    def fragment(self) -> str:
        """The template that draws the result."""
        return self.view.fragment or self.lab.fragment

    @property
    def stepping(self) -> bool:
        """Whether there are steps to go through."""
        return self.shown is not None and hasattr(self.shown.result, "steps")

    @property
    def next_step(self) -> int:
        return self.shown.step + 1

    @property
    def unreadable(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.slots if slot.fault)

    @property
    def takes(self) -> str:
        """What the strip's fields take, in words."""
        if any(slot.decimals for slot in self.slots):
            return "a number such as 12 or 28.8"
        return "a whole number such as 12 or 1,024"

    @property
    def right_now(self) -> int:
        """How many entries of the step just predicted were right."""
        return sum(entry.right for entry in self.scored)


def stage_of(lab: Lab, given: Mapping[str, str]) -> Stage:
    """The stage for what an address gives; a fault in a knob shows the first preset's result instead."""
    view = lab.view(given.get("view"))
    form = view.bind(given)
    shown, instead = shown_for(view, form, given.get("step"))
    values = form.data if instead else shown.inputs
    typed, asks_first = given.get("said", "").strip(), view.ask is not None and given.get("ask") == "1"
    said, verdict, said_fault = read_said(view, shown.result, typed)
    shown, next_slots, scored = read_map(view, shown, given)
    said_map = {entry.name: entry.said for entry in scored}
    before = right_so_far(given.get("score", ""))
    now = (before[0] + sum(entry.right for entry in scored), before[1] + len(scored))
    kept = {"ask": "1" if asks_first else None, "said": typed if view.ask else None}

    def at(step: int, **more: str | None) -> str:
        return lab.address(view, shown.inputs, step=step or None, **kept | more)

    held = asks_first and verdict is None and not view.ask.choices
    ahead = shown.step < shown.last_step
    told = not held and not (ahead and view.predict)
    return Stage(
        lab=lab, view=view, knobs=knobs_of(view, form, values), faults=faults(form), instead=instead,
        shown=None if held else view.drawn(shown, said_map or said),
        summary=view.summary(shown.inputs),
        presets=tuple(preset_link(lab, view, preset, values, told) for preset in view.presets),
        views=tuple(Link(other.heading, lab.address(other, {}), "", other is view) for other in lab.views),
        here=at(shown.step, score=written(before), **{f"{SAID}{name}": str(told) for name, told in said_map.items()}),
        reset=lab.address(view, {}),
        full=at(shown.step),
        back=at(shown.step - 1, score=written(now)) if shown.step else "",
        step=at(shown.step + 1, score=written(now)) if ahead else "",
        end=at(shown.last_step, score=written(now)) if ahead else "",
        slots=next_slots, scored=scored, score=now, verdict=verdict, typed=typed, said_fault=said_fault,
        asks_first=asks_first, hidden=hidden_fields(lab, view, shown.inputs),
    )


def shown_for(view: View, form: forms.Form, step: str | None) -> tuple[Shown, str]:
    """What the form's values show and "", or on a fault what the first preset shows and its name."""
    if shown := view.show(form, step):
        return shown, ""
    preset = view.presets[0] if view.presets else Preset("starting values", {})
    return view.show(view.bind(preset.values), step), preset.name


def read_said(view: View, result: Any, text: str) -> tuple[float | str | None, Verdict | None, str]:
    """What a calculator's reader committed (a number in the ask's unit, or a choice), its verdict, or what is wrong."""
    if view.ask is None or not text:
        return None, None, ""
    if view.ask.choices:
        if text not in dict(view.ask.choices):
            return None, None, f"Takes one of: {', '.join(label for _, label in view.ask.choices)}."
        return text, judge(view.ask, result, text), ""
    try:
        said = quantity.read(text, view.ask.unit).value
    except Refusal as refusal:
        return None, None, str(refusal)
    return said, weigh(view.ask, result, said), ""


def read_map(view: View, shown: Shown, given: Mapping[str, str]) -> tuple[Shown, tuple[Slot, ...], tuple[Scored, ...]]:
    """What the strip asks for next, and the score of the step just predicted.

    While an entry can't be read the step is not shown: the stage stays one before it.
    """
    if view.predict is None:
        return shown, (), ()
    said = {name.removeprefix(SAID): text for name, text in given.items() if name.startswith(SAID)}
    scored: tuple[Scored, ...] = ()
    if said and shown.step > 0:
        entries = view.predict(shown.result, shown.inputs, shown.step)
        asked = slots(entries, said)
        if any(slot.fault for slot in asked):
            return view.back_one(shown), asked, ()
        scored = score(entries, said)
    ahead = view.predict(shown.result, shown.inputs, shown.step + 1) if shown.step < shown.last_step else ()
    return shown, slots(ahead, {}), scored


def right_so_far(text: str) -> tuple[int, int]:
    """The running score an address carries, "5-7": right, and asked."""
    found = re.fullmatch(r"([0-9]{1,5})-([0-9]{1,5})", text)
    right, asked = (int(found[1]), int(found[2])) if found else (0, 0)
    return (right, asked) if right <= asked else (0, 0)


def written(score: tuple[int, int]) -> str | None:
    return f"{score[0]}-{score[1]}" if score[1] else None


def knobs_of(view: View, form: forms.Form, values: Mapping[str, Any]) -> tuple[Knobs, ...]:
    """The form's fields in the view's groups; fields that no group names stand first."""
    _, off = view.nearest_preset(values)
    grouped = {name for group in view.groups for name in group.fields}
    rest = Group("", tuple(name for name in form.fields if name not in grouped))
    groups = [group for group in (rest, *view.groups) if group.fields]
    made = [(group, tuple(knob_of(view, form, name, name in off) for name in group.fields)) for group in groups]
    return tuple(
        Knobs(group.heading, group.folded, any(knob.off or knob.fault for knob in knobs), knobs)
        for group, knobs in made
    )


def knob_of(view: View, form: forms.Form, name: str, off: bool) -> Knob:
    """One field as a knob, its number with the thousands apart."""
    field = form.fields[name]
    value = str(form.data.get(name, ""))
    if isinstance(field, forms.IntegerField) and value.isascii() and value.isdigit() and len(value) < 20:
        value = f"{int(value):,}"
    longest = getattr(field, "max_length", None)
    if isinstance(field.widget, forms.Textarea) and field.strip:  # where it is not stripped, spaces count
        spaced = re.sub(r",(?=\S)", ", ", value)  # so that a long list breaks between its parts
        value = spaced if longest is None or len(spaced) <= longest else value
    choices = tuple((str(key), str(label)) for key, label in getattr(field, "choices", ()))
    numbers, row = (), ""
    if isinstance(field, RowField):
        value, choices, numbers, row = row_of(name, field, value, choices)
    return Knob(
        name=name, label=str(field.label or name), value=value, unit=getattr(form, "units", {}).get(name, ""),
        help=str(field.help_text), fault=faults(form).get(name, ""), off=off,
        choices=choices, wide=isinstance(field.widget, forms.Textarea), longest=longest, numbers=numbers, row=row,
    )


def row_of(
    name: str, field: RowField, text: str, choices: tuple[tuple[str, str], ...]
) -> tuple[str, tuple[tuple[str, str], ...], tuple[Number, ...], str]:
    """A row's slug, the choices with it among them, its numbers as typed, and what its own are."""
    slug, typed = split(text)
    numbers = tuple(Number(f"{name}.{part.name}", part.label, typed.get(part.name, ""), part.unit)
                    for part in field.rows.parts)
    row = dict.get(field.rows, slug)
    if slug == OWN:
        says = "Every number is one’s own; empty them, or Reset, for a listed one."
        return slug, (*choices, (OWN, "one’s own")), numbers, says
    if row is None:
        return slug, choices, numbers, ""
    if slug not in dict(choices):
        choices = (*choices, (slug, row.name))
    own = ", ".join(part.say(getattr(row, part.name)) for part in field.rows.parts if getattr(row, part.name))
    return slug, choices, numbers, f"{row.name}: {own}. From {row.source}."


def preset_link(lab: Lab, view: View, preset: Preset, values: Mapping[str, Any], told: bool) -> Link:
    """The preset's address; its note, which may tell what comes out, waits until that is told, unless it asks."""
    current = view.texts(view.starts | preset.values) == view.texts(view.starts | dict(values))
    note = preset.note if told or "?" in preset.note else ""
    return Link(preset.name, lab.address(view, preset.values), note, current)


def hidden_fields(lab: Lab, view: View, inputs: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What a form of the strip sends along so that the knobs stay as they are."""
    named = () if view is lab.views[0] else (("view", view.name),)
    return named + tuple((name, text) for name, text in view.texts(inputs).items() if text != view.starts[name])
