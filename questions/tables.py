"""The tables of the authors' form: each array of a question, and its runs, as rows that are ordered and deleted."""
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.forms.formsets import DELETION_FIELD_NAME, ORDERING_FIELD_NAME
from django.utils.functional import cached_property

from calculators.labs import LABS
from questions.content import ARRAYS
from questions.runs import in_order
from questions.toml_lines import read_lines, write_lines

LONG = {"text", "named", "explained", "bounded", "said", "tempting", "refuted", "ask", "key", "why"}
FEWEST = {"rubric": 4}  # rows that an empty form begins with
MORE = "_more"  # the button that adds blank rows; its value is the table's name


class Words(forms.CharField):
    """A text as a document keeps it: its lines end as the files' do. What is missing is the checker's to say."""

    def __init__(self, *, rows: int = 0, code: bool = False, **more: Any) -> None:
        attrs = {"rows": rows} if rows else {}
        widget = forms.Textarea if rows else forms.TextInput
        super().__init__(required=False, widget=widget(attrs | ({"class": "code"} if code else {})), **more)

    def to_python(self, value: Any) -> str:
        return super().to_python(value).replace("\r\n", "\n")


class Toml(Words):
    """A table, typed as key = value lines; with `array`, an array of tables as well."""

    def __init__(self, *, rows: int = 3, array: bool = False, **more: Any) -> None:
        super().__init__(rows=rows, code=True, **more)
        self.array = array

    def prepare_value(self, value: Any) -> Any:
        return write_lines(value) if isinstance(value, (dict, list)) else value

    def to_python(self, value: Any) -> dict[str, Any] | list[Any]:
        try:
            table = read_lines(super().to_python(value))
        except ValueError as fault:
            raise forms.ValidationError(str(fault)) from None
        if isinstance(table, list) and not self.array:
            raise forms.ValidationError("It is one table: key = value in each line.")
        return table

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(initial or {}, data)


class Row(forms.Form):
    """One entry of a table."""

    use_required_attribute = False

    @property
    def cells(self) -> list[forms.BoundField]:
        """The entry's own fields."""
        return [self[name] for name in self.fields if name not in (ORDERING_FIELD_NAME, DELETION_FIELD_NAME)]

    @property
    def counts(self) -> bool:
        """Whether an entry was sent in it: neither marked for deletion nor left blank."""
        if not self.is_bound:
            return False
        said = set(self.errors) | {name for name, value in self.cleaned_data.items() if value}
        return DELETION_FIELD_NAME not in said and bool(said - {ORDERING_FIELD_NAME})


class RunRow(Row):
    name = Words(code=True)
    lab = forms.ChoiceField(required=False, choices=[("", "")] + [(slug, slug) for slug in LABS])
    view = Words(code=True)
    shown = forms.BooleanField(required=False)
    values = Toml(rows=4)
    vary = Toml(rows=4, array=True)


def row_of(array: str) -> type[Row]:
    """The row form of one of a document's arrays: the keys it must have, then those it may have."""
    def field(key: str) -> forms.Field:
        if key == "right":
            return forms.BooleanField(required=False)
        return Words(rows=2) if key in LONG else Words(code=key not in ("title", "date", "version"))

    return type(f"{array.title()}Row", (Row,), {key: field(key) for keys in ARRAYS[array] for key in keys})


class Table(forms.BaseFormSet):
    """The rows of one table; `faults` are those of the table as a whole."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.faults: list[str] = []

    def total_form_count(self) -> int:
        """As many rows as were sent, and more of them when that was asked for."""
        more = 2 if self.is_bound and self.data.get(MORE) == self.prefix else 0
        return super().total_form_count() + more

    @cached_property
    def rows(self) -> list[Row]:
        """The rows that are entries, in the order that their places say; those without a place come last."""
        def place(row: Row) -> tuple[bool, int]:
            number = row.cleaned_data.get(ORDERING_FIELD_NAME)
            return number is None, number or 0

        return sorted((row for row in self.forms if row.counts), key=place)

    def entries(self) -> list[dict[str, Any]]:
        """What the rows hold, each as a table of the document; a key that may be left out is, when it says nothing."""
        needed, allowed = ARRAYS[self.prefix]
        held = [{key: row.cleaned_data.get(key, "") for key in (*needed, *allowed)} for row in self.rows]
        return [{key: value for key, value in entry.items() if value or key in needed} for entry in held]


ROWS = {"runs": RunRow} | {array: row_of(array) for array in ARRAYS}


def make_table(name: str, data: Mapping[str, Any] | None, entries: list[dict[str, Any]]) -> Table:
    """The table of that name, with its entries, or with what was sent."""
    blank = max(1, FEWEST.get(name, 0) - len(entries))
    kind = forms.formset_factory(ROWS[name], formset=Table, extra=blank, can_order=True, can_delete=True, max_num=100)
    return kind(data, prefix=name, initial=entries)


def rows_of_runs(runs: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The runs as rows, each after those it takes values from."""
    return [{"name": name, **runs[name]} for name in in_order(runs)]


def runs_of(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """The runs that the rows hold, by name; of two with one name the first.

    Values that can't be read are carried as a text, so that the checker plays no lab with values it doesn't know.
    """
    runs: dict[str, dict[str, Any]] = {}
    for row in rows:
        given = {"values": "unread"} | row.cleaned_data
        run = {key: given.get(key) for key in ("lab", "view", "shown", "values", "vary")}
        runs.setdefault(given.get("name", ""), {key: value for key, value in run.items() if value})
    return runs
