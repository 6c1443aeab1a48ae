"""A lab's answer as plain data, the same for `/labs/SLUG.json` and for `manage.py lab`."""
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from calculators.labs.base import View, faults, step_within


def answer(view: View, given: Mapping[str, Any], step: str | None = None) -> dict[str, Any]:
    """Inputs, result and faults ({field: sentence}); the result is None on a fault.

    A step's bulky parts are left out where all steps are listed; `step` names one that is given whole.
    """
    form = view.bind(given)
    computed = view.compute(form)
    inputs = plain_data(computed[0]) if computed else dict(form.data)
    told: dict[str, Any] = {"inputs": inputs, "result": None, "faults": faults(form)}
    if computed:
        result = computed[1]
        told["result"] = plain_data(result, without=view.bulky)
        if step and hasattr(result, "steps"):
            told["step"] = plain_data(result.steps[step_within(step, len(result.steps) - 1)])
    return told


def plain_data(value: Any, without: tuple[str, ...] = ()) -> Any:
    """Records as mappings of their fields and properties, tuples as lists, bytes in hexadecimal; the rest stays."""
    if is_record(value):
        return {name: plain_data(getattr(value, name), without) for name in names_of(value) if name not in without}
    if isinstance(value, Mapping):
        return {str(key): plain_data(item, without) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(item, without) for item in value]
    if isinstance(value, bytes):
        return value.hex(" ")
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def is_record(value: Any) -> bool:
    """Whether it is a dataclass or a named tuple."""
    return is_dataclass(value) or hasattr(value, "_fields")


def names_of(value: Any) -> list[str]:
    """What a record can be asked for by name: its fields, less those that its repr leaves out, then its properties."""
    stored = [field.name for field in fields(value) if field.repr] if is_dataclass(value) else list(value._fields)
    return stored + [name for name, item in vars(type(value)).items() if isinstance(item, property)]


def in_lines(result: Any) -> Iterable[str]:
    """A result as lines for a reader: its derivation, then each part that is one number, one word or a row of them."""
    for line in getattr(result, "lines", ()):
        expression = f"{line.expression} = " if line.expression else ""
        yield f"{line.label} = {expression}{in_words(line.value)} {line.unit}".rstrip()
    for name in names_of(result):
        value = getattr(result, name)
        parts = value if isinstance(value, tuple) else (value,)
        if all(isinstance(part, (int, float, str)) for part in parts):
            yield f"{name}: {', '.join(map(in_words, parts))}"


def in_words(value: float | str) -> str:
    """A number to six figures, its thousands apart; a word as it is."""
    return str(value) if isinstance(value, (str, bool)) else f"{value:,.6g}"
