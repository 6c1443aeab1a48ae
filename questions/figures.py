"""Figures in prose: `[[run.path|format]]` finds a value in a lab's run and says it in words."""
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from calculators.models.quantity import say

FIGURE = re.compile(r"\[\[(?P<path>[^\[\]|]*)(?:\|(?P<format>[^\[\]|]*))?\]\]")
PATH = re.compile(r"[a-z][a-z0-9_]*(\.[A-Za-z0-9][A-Za-z0-9_]*|\.-?[0-9]+)+")
FORMAT = re.compile(r",?0(\.0{1,6})?|g[1-9]|%0(\.0{1,6})?|size|span|label")
FORMATS = "0, 0.0, ,0, g3, %0, size, span or label"


class BadFigure(ValueError):
    """A figure that can't be resolved or shown; the message is a sentence for the author."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a lab: its inputs and its result by name, and how the lab's form words the inputs that are choices."""

    inputs: Mapping[str, Any]
    result: Any
    labels: Mapping[str, str] = field(default_factory=dict)


def resolve(path: str, ran: Mapping[str, Ran]) -> Any:
    """The value at a dotted path: a run, then an input or an attribute of its result, then names and indexes.

    Where both bear the name it is the input.
    Raises BadFigure when there is none.
    """
    if not PATH.fullmatch(path):
        raise BadFigure(f"“{path}” is no path; it takes a run and names with points between, such as flight.sequences.")
    run, first, *rest = path.split(".")
    if run not in ran:
        raise BadFigure(f"“{path}”: there is no run “{run}”.")
    inputs = ran[run].inputs
    value = inputs[first] if first in inputs else step_into(ran[run].result, first, path)
    for name in rest:
        value = step_into(value, name, path)
    return value


def step_into(value: Any, name: str, path: str) -> Any:
    """One name or index further. Only data is reached: no private name, no method."""
    if isinstance(value, Mapping):
        found = value.get(name, value.get(int(name)) if name.isdecimal() else None)
        missing = f"only {', '.join(map(str, value))}" if value else "it is empty"
    elif isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        index = int(name) if re.fullmatch(r"-?[0-9]+", name) else None
        found = value[index] if index is not None and -len(value) <= index < len(value) else None
        missing = f"it has {len(value)} entries"
    else:
        found = None
        if is_dataclass(value) or hasattr(value, "_fields"):
            found = getattr(value, name, None)
        missing = f"{type(value).__name__} has no such figure"
    if found is None or callable(found):
        raise BadFigure(f"“{path}” stops at “{name}”: {missing}.")
    return found


def show(figure: str, ran: Mapping[str, Ran]) -> str:
    """What stands in the text for a figure as written.

    Raises BadFigure when it can't be resolved or its format does not suit the value.
    """
    found = FIGURE.fullmatch(figure)
    if not found:
        raise BadFigure(f"“{figure}” is no figure; it is written [[run.path|format]].")
    path, form = found["path"].strip(), (found["format"] or "").strip()
    if form and not FORMAT.fullmatch(form):
        raise BadFigure(f"“{figure}”: “{form}” is no format; there are {FORMATS}.")
    value = resolve(path, ran)
    if form == "label":
        run, _, name = path.partition(".")
        if name not in ran[run].labels:
            raise BadFigure(f"“{figure}”: only an input that is a choice has a label.")
        return ran[run].labels[name]
    try:
        return worded(value, form, path.rpartition(".")[2])
    except BadFigure as fault:
        raise BadFigure(f"“{figure}”: {fault}") from None


def worded(value: Any, form: str, name: str) -> str:
    """A value in words: a tuple as "1, 2", a map as "{A: 1, D: 2,045}"."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {worded(item, form, name)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return ", ".join(worded(item, form, name) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        text = number_worded(value, form, name)
        return text.replace("-", "−") if form else text  # without a format it may be part of a command
    if isinstance(value, str):
        if form:
            raise BadFigure("a word takes no format.")
        return value
    raise BadFigure(f"a {type(value).__name__} can't be shown; name one of its figures.")


def number_worded(value: float, form: str, name: str) -> str:
    """A number in one of the formats; without one a whole number, grouped by thousands."""
    if not math.isfinite(value):
        raise BadFigure("it is no finite number.")
    if not form:
        if isinstance(value, float):  # even 6.0: the next draw may give 6.7
            raise BadFigure(f"a fraction takes a format ({FORMATS}).")
        return f"{value:,}"
    if form in SPOKEN:
        return SPOKEN[form](value, name)
    if form[0] == "g":
        return significant(value, int(form[1]))
    decimals = len(form.partition(".")[2])
    if form[0] == "%":
        return f"{value * 100:.{decimals}f}%"
    return f"{value:{',' if form[0] == ',' else ''}.{decimals}f}"


def significant(value: float, digits: int) -> str:
    """A number rounded to significant figures and written out: to two of them 984.29 is 980, and 0.0625 is 0.063."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = max(digits - 1 - math.floor(math.log10(abs(rounded))), 0)
    return f"{rounded:,.{decimals}f}"


def size(value: float, name: str) -> str:
    """Bytes in the largest binary unit that keeps the number at 1 or more."""
    if not name.endswith("bytes"):
        raise BadFigure("size takes a figure whose name ends in bytes.")
    power = min(max(math.floor(math.log2(abs(value)) / 10), 0), 4) if value else 0
    return say(value / 1024**power, ("bytes", "KiB", "MiB", "GiB", "TiB")[power])


def span(value: float, name: str) -> str:
    """A time in ms below a second, else in s."""
    if not name.endswith(("_ms", "_s")):
        raise BadFigure("span takes a figure whose name ends in _ms or _s.")
    in_ms = value if name.endswith("_ms") else value * 1e3
    return say(in_ms, "ms") if abs(in_ms) < 999.5 else say(in_ms / 1e3, "s")


SPOKEN: dict[str, Callable[[float, str], str]] = {"size": size, "span": span}
