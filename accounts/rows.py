"""Rows as plain data that JSON can hold, and back: what an export writes and an import reads."""
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from math import isfinite
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models

EARLIEST, LATEST = date(1970, 1, 1), date(2999, 12, 31)  # what lies past them was no day of a drill


class BadExport(Exception):
    """A file that can't be brought in, as a sentence."""


@dataclass
class Taken:
    """What bringing a file in did, or would do: {what: how many}, and sentences about what is left out."""

    new: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def count(self, what: str, *, new: int = 0, known: int = 0) -> None:
        for counts, more in ((self.new, new), (self.known, known)):
            if more:
                counts[what] = counts.get(what, 0) + more


def row_of(row: models.Model, names: Iterable[str]) -> dict[str, Any]:
    """These fields of a row; instants in UTC, days and times of day in ISO's writing."""
    return {name: plain(getattr(row, name)) for name in names}


def plain(value: Any) -> Any:
    """A field's value as JSON has it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def fields_of(model: type[models.Model], names: Iterable[str], row: Any) -> dict[str, Any]:
    """The same fields as the model takes them; one that the row lacks keeps the model's default.

    Raises BadExport where a value is none that the field can hold.
    """
    if not isinstance(row, Mapping):
        raise BadExport(f"A row of {model._meta.verbose_name_plural} is not written as one.")
    found = {}
    for name in names:
        if name in row:
            held = model._meta.get_field(name)
            try:
                found[name] = read(held, row[name])
            except (ValidationError, TypeError, ValueError, OverflowError, RecursionError):
                raise BadExport(
                    f"“{held.verbose_name}” of a {model._meta.verbose_name} can’t be {str(row[name])[:60]!r}."
                ) from None
    return found


def read(held: models.Field, value: Any) -> Any:
    """A value as the field takes it. Raises ValidationError, TypeError or ValueError."""
    if value is None:
        if not held.null:
            raise ValidationError("null")
        return None
    if isinstance(held, models.JSONField):
        # Neither a number past all bounds nor half of a character can be stored everywhere.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        value = json.loads(json.dumps(value).replace("\\u0000", ""))
        if not isinstance(value, type(held.get_default())):
            raise ValidationError("another kind")
        return value
    if isinstance(held, models.CharField | models.TextField | models.UUIDField) and not isinstance(value, str):
        raise ValidationError("no text")
    value = held.to_python(value.replace("\0", "") if isinstance(value, str) else value)
    if isinstance(value, datetime) and value.tzinfo is None:
        raise ValidationError("no zone")
    if isinstance(value, date) and not EARLIEST <= (value.date() if isinstance(value, datetime) else value) <= LATEST:
        raise ValidationError("no day of a drill")
    if isinstance(value, float) and not isfinite(value):
        raise ValidationError("past all bounds")
    if isinstance(value, str):
        value.encode()  # half of a character can be stored nowhere
    held.run_validators(value)
    if held.choices and value not in {choice for choice, _ in held.flatchoices}:
        raise ValidationError("no choice")
    return value


def has_shape(value: Any, shape: Any) -> bool:
    """Whether plain data is built as `shape` has it: {name: shape}, [the shape of each] or a type; a float may be an
    int."""
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(name in value and has_shape(value[name], shape[name]) for name in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(has_shape(one, shape[0]) for one in value)
    return type(value) in ((int, float) if shape is float else (shape,))


def rows_in(part: Mapping[str, Any], name: str) -> list[Any]:
    """The list of this name; none where the file has none. Raises BadExport when it is no list."""
    found = part.get(name, [])
    if not isinstance(found, list):
        raise BadExport(f"“{name}” is no list.")
    return found
