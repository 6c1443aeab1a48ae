"""A field that takes a row of the catalogue: one that is listed, or one with numbers of one's own."""
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from calculators.models.base import Refusal
from calculators.models.catalogue import CHUNKED_LOCAL, FULL, GPUS, MLA, MODELS, SLIDING, Model
from calculators.models.catalogue_rows import LONGEST_TEXT, Rows, joined, kinds_in, split

KEEPS = {FULL: "every token", SLIDING: "a sliding window", CHUNKED_LOCAL: "the chunk at hand", MLA: "a latent"}


class RowField(forms.ChoiceField):
    """A row's slug, or "h100,tb_per_s:3.9" for that row with a number of one's own; cleaned to its shortest form."""

    rows: Rows

    def __init__(self, slugs: Iterable[str] = (), *, names: Mapping[str, str] | None = None, **more: Any) -> None:
        named = names or {slug: self.rows[slug].name for slug in slugs or self.rows}
        super().__init__(choices=list(named.items()), **more)

    def validate(self, value: str) -> None:
        """A listed slug always holds; any other row where it is one that the lab can follow."""
        if value in dict(self.choices):
            return
        forms.Field.validate(self, value)
        if len(value) > LONGEST_TEXT:
            raise ValidationError(f"That is longer than {LONGEST_TEXT:,} characters.")
        try:
            row = self.rows[value]
        except Refusal as refusal:
            raise ValidationError(str(refusal)) from None
        except KeyError:
            raise ValidationError(self.error_messages["invalid_choice"]) from None
        self.refuse(row)

    def clean(self, value: Any) -> str:
        text = super().clean(value)
        return text if not text or text in dict(self.choices) else self.rows.shortest(text)

    def refuse(self, row: Any) -> None:
        """Raise ValidationError for a row that the lab can't follow."""

    def with_numbers(self, text: str, typed: Mapping[str, str]) -> str:
        """The text with these numbers behind it, each without what would part it from the next."""
        slug, changes = split(text)
        return joined(slug, changes | {name: number.replace(",", "").strip() for name, number in typed.items()})


class ModelField(RowField):
    """A model whose layers keep what those of some listed model keep, and with experts only if one of them has some."""

    rows = MODELS

    def refuse(self, row: Model) -> None:
        listed = [self.rows[slug] for slug, _ in self.choices if slug in self.rows]
        followed = kinds_in(listed)
        if beyond := [kind for kind in KEEPS if kind in set(row.pattern) - followed]:
            here = " or ".join(says for kind, says in KEEPS.items() if kind in followed)
            there = " or ".join(KEEPS[kind] for kind in beyond)
            raise ValidationError(f"Here a layer keeps {here}; layers of this model keep {there}.")
        if row.experts and not any(model.experts for model in listed):
            raise ValidationError("Here every parameter works for every token; this model has experts.")


class GpuField(RowField):
    """Any GPU."""

    rows = GPUS
