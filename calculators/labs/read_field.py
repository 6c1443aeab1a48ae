"""A field that holds a short text of its own form, such as "A:0.4,B:0.6"."""
from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from calculators.models.base import Refusal


class ReadField(forms.CharField):
    """Read by `read`, which raises Refusal with a sentence, into a tuple that `write` gives back as the text.

    Where it need not be filled, empty is the empty tuple.
    """

    def __init__(self, *, read: Callable[[str], tuple[Any, ...]], write: Callable[[tuple[Any, ...]], str],
                 max_length: int, widget: type[forms.Widget] = forms.Textarea, **more: Any) -> None:
        super().__init__(max_length=max_length, widget=widget, **more)
        self.read, self.write = read, write

    def to_python(self, value: Any) -> tuple[Any, ...] | None:
        if not isinstance(value, str) or not value.strip():
            return None if self.required else ()
        if len(value) > self.max_length:
            raise ValidationError(self.error_messages["required"])
        try:
            return self.read(value)
        except Refusal as refusal:
            raise ValidationError(str(refusal)) from None

    def run_validators(self, value: Any) -> None:
        """Its length is judged as text, before it is read."""

    def prepare_value(self, value: Any) -> Any:
        return self.write(value) if isinstance(value, tuple) else value
