"""The authors' forms: a question or a number card as a whole, judged by the checks that its file has to pass."""
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django import forms
from django.db.models import Max
from django.utils.functional import cached_property

from calculators.models.base import Refusal
from questions import loading
from questions.checking import NAME, check
from questions.content import ARRAYS, TEXTS, Fault, QuestionFile, digest
from questions.figures import BadFigure
from questions.models import Note, Question, Topic
from questions.notes import NoteFile, check_note
from questions.services import Posed, column_of, document_of, pose, run_lab
from questions.tables import MORE, ROWS, Row, Table, Toml, Words, make_table, rows_of_runs, runs_of

LOOK, PUBLISH = "_look", "_publish"  # buttons: show what is typed and save nothing; save and publish
DRAWS = 20
ENTRY = re.compile(r"(?P<array>[a-z_]+) (?P<number>[0-9]+)(?:, (?P<key>\w+))?")
CHANGED = "It was changed since you opened it. What you typed is all here; saving again puts it over that change."


class Number(forms.FloatField):
    """A number written without needless decimals, 0.5 or 131072."""

    def __init__(self, **more: Any) -> None:
        super().__init__(widget=forms.TextInput(attrs={"inputmode": "decimal"}), **more)

    def prepare_value(self, value: Any) -> Any:
        return int(value) if isinstance(value, float) and value.is_integer() else value


class Slugs(Words):
    """Slugs with spaces between."""

    def prepare_value(self, value: Any) -> Any:
        return " ".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:
        return super().to_python(value).replace(",", " ").split()

    def has_changed(self, initial: Any, data: Any) -> bool:
        return self.to_python(data) != (initial or [])


class DocumentForm(forms.ModelForm):
    """A row of the bank as its document. Saved without a fault or not at all; every fault stands beside its field.

    `nested` are the document's small tables whose keys are fields of their own: `check` as check_figure, …
    `document` is what was typed, with what can't be read left blank, and `found` what the checks find wrong with it.
    """

    nested: dict[str, tuple[str, ...]]
    tables: dict[str, Table] = {}
    use_required_attribute = False
    topic = forms.ModelChoiceField(
        Topic.objects.all(), to_field_name="slug", error_messages={"required": "It belongs to one of the topics."}
    )

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        row = self.instance
        self.held = digest(document_of(row)) if row.pk else ""
        for part, keys in self.nested.items():
            self.initial |= {f"{part}_{key}": getattr(row, column_of(part)).get(key) for key in keys}
        if row.pk:
            self.initial["topic"] = row.topic.slug
        if row.loaded_digest or (row.pk and not row.draft):
            # Its file's path, and what cards know it by.
            for name in {"topic", "slug"} & self.fields.keys():
                self.fields[name].disabled = True

    def is_valid(self) -> bool:
        """Whether it may be saved: nothing is wrong with it, and saving is what was asked for."""
        asked = not {LOOK, MORE} & set(self.data)
        return super().is_valid() and asked and not self.faults

    def clean(self) -> dict[str, Any]:
        super().clean()
        if PUBLISH in self.data and not self.fields["draft"].disabled:
            self.cleaned_data["draft"] = False
        placed = [(*self.place(fault), fault.sentence) for fault in self.found]
        # A field that can't be read has said so; what the checker makes of its absence would only confuse.
        unread = {(form, key) for form, key, _ in placed if key in getattr(form, "errors", ())}
        for form, key, sentence in dict.fromkeys(placed):
            if (form, key) in unread:
                continue
            if isinstance(form, Table):
                form.faults.append(sentence)
            else:
                form.add_error(key, sentence)
        if self.data.get("seen", self.held) != self.held:
            self.add_error(None, CHANGED)
        return self.cleaned_data

    def place(self, fault: Fault) -> tuple[forms.BaseForm | Table, str | None]:
        """The form and the field that a fault is about; None for a form as a whole."""
        return self, self.nearest(re.sub(r"[., ]+", "_", fault.where))

    def nearest(self, name: str) -> str | None:
        """The field of that name, else the first of those it is a part or a whole of."""
        related = (field for field in self.fields if field.startswith(f"{name}_") or name.startswith(f"{field}_"))
        return name if name in self.fields else next(related, None)

    def small_table(self, part: str) -> dict[str, Any]:
        """One of the nested tables as it was typed. A key without a value is left out unless it stood there so."""
        stood = getattr(self.instance, column_of(part))
        typed = {key: self.cleaned_data.get(f"{part}_{key}") for key in self.nested[part]}
        stood = {key: value for key, value in stood.items() if typed.get(key) == value}
        return {key: value for key, value in typed.items() if value not in ("", None, {})} | stood

    @property
    def faults(self) -> list[dict[str, str]]:
        """Every fault's place in words, and the id that leads there, in the order of the page."""
        return list(self.named_faults())

    def named_faults(self) -> Iterator[dict[str, str]]:
        for sentence in self.non_field_errors():
            yield {"name": "", "sentence": sentence}
        for field in self:
            if field.errors:
                yield {"name": field.name.replace("_", " ").capitalize(), "id": field.id_for_label}
        for name, table in self.tables.items():
            title = name.replace("_", "-").capitalize()
            if table.faults or table.non_form_errors():
                yield {"name": title, "id": name}
            for number, row in enumerate(table.forms, 1):
                if not row.counts:
                    continue
                if row.non_field_errors():
                    yield {"name": f"{title} {number}", "id": row.prefix}
                for field in row:
                    if field.errors:
                        yield {"name": f"{title} {number}, {field.label.lower()}", "id": field.id_for_label}

    @cached_property
    def changed_data(self) -> list[str]:
        return [*super().changed_data, *(name for name, table in self.tables.items() if table.has_changed())]

    def save(self, commit: bool = True) -> Question | Note:
        """The row with the document in it; a new one comes last in its topic."""
        topic = self.cleaned_data["topic"]
        if not self.instance.pk:
            last = type(self.instance).objects.filter(topic=topic).aggregate(last=Max("position"))["last"]
            self.instance.position = (last or 0) + 1
        loading.write_row(self.instance, self.document, topic)
        return super().save(commit)


class QuestionForm(DocumentForm):
    nested = {"check": ("figure", "unit", "tolerance")}
    title = Words()
    slug = Words(code=True)
    kind = forms.ChoiceField(required=False, choices=[("", ""), *Question.Kind.choices])
    level = forms.ChoiceField(required=False, choices=[("", ""), *Question.Level.choices])
    minutes = forms.IntegerField(
        required=False, widget=forms.TextInput(attrs={"inputmode": "numeric"}),
        error_messages={"invalid": "A good answer takes 1 to 60 minutes."},
    )
    ask = Words(rows=9)
    said_aloud = Words(rows=9)
    derivation = Words(rows=5)
    catch = Words(rows=7)
    measure = Words(rows=6, label="What I would measure")
    check_figure = Words(code=True, label="Figure")
    check_unit = Words(label="Unit")
    check_tolerance = Number(required=False, label="Tolerance")
    keep = Toml()
    next = Slugs(code=True)

    class Meta:
        model = Question
        fields = ("topic", "slug", "title", "kind", "level", "minutes", "draft", *TEXTS, "keep", "next")

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The arrays and the runs, each as a table."""
        entries = {"runs": rows_of_runs(self.instance.runs)} | {name: getattr(self.instance, name) for name in ARRAYS}
        return {name: make_table(name, self.data if self.is_bound else None, entries[name]) for name in ROWS}

    @cached_property
    def document(self) -> QuestionFile:
        given = self.cleaned_data
        words = {name: given.get(name, "") for name in ("slug", "title", "kind", "level", *TEXTS)}
        return QuestionFile(
            topic=given["topic"].slug if given.get("topic") else "",
            minutes=given.get("minutes") or 0,
            draft=given.get("draft", False),
            next=given.get("next", []),
            check=self.small_table("check"),
            keep=given.get("keep", {}),
            runs=runs_of(self.tables["runs"].rows),
            **words,
            **{name: self.tables[name].entries() for name in ARRAYS},
        )

    @cached_property
    def found(self) -> list[Fault]:
        document = self.document
        faults = check(document, run_lab)
        varying = next((name for name, run in document.runs.items() if run.get("vary")), None)
        if varying and not faults and (odd := loading.try_draws(document, DRAWS)[1]):
            faults.append(Fault(f"runs.{varying}.vary", f"{len(odd)} of {DRAWS} draws fail. The first: {odd[0]}"))
        known = set(Question.objects.values_list("slug", flat=True))
        faults += [Fault("next", f"There is no question “{slug}”.") for slug in document.next if slug not in known]
        if Note.objects.filter(slug=document.slug).exists():
            faults.append(Fault("slug", "A number card has this slug."))
        return faults + loading.dead_links(document)

    def place(self, fault: Fault) -> tuple[forms.BaseForm | Table, str | None]:
        if entry := ENTRY.fullmatch(fault.where):
            row = self.tables[entry["array"]].rows[int(entry["number"]) - 1]
            return row, entry["key"] if entry["key"] in row.fields else None
        if fault.where in self.tables:
            return self.tables[fault.where], None
        if fault.field == "runs":
            return self.place_in_runs(fault.where.removeprefix("runs."))
        return super().place(fault)

    def place_in_runs(self, where: str) -> tuple[Row, str | None]:
        """The row and the field of "name.key…"; what is typed as a name may hold points itself."""
        named = {row.cleaned_data.get("name", ""): row for row in reversed(self.tables["runs"].rows)}
        name = max((name for name in named if where == name or where.startswith(f"{name}.")), key=len)
        key = where.removeprefix(name).removeprefix(".").partition(".")[0] if NAME.fullmatch(name) else "name"
        return named[name], key if key in named[name].fields else None

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        names = [row.cleaned_data.get("name") for row in self.tables["runs"].rows]
        for place, row in enumerate(self.tables["runs"].rows):
            if row.cleaned_data.get("name") in names[:place]:
                row.add_error("name", "Another run has this name.")
        return given

    def posed(self) -> Posed | None:
        """What was typed as a reader would meet it, if need be without its check; None when it can't be shown."""
        document = self.document
        if any(fault.field == "runs" and ".vary" not in fault.where for fault in self.found):
            return None
        if any(fault.field == "check" for fault in self.found):
            document = replace(document, check={})
        row = Question(pk=self.instance.pk)
        loading.write_row(row, document, self.cleaned_data.get("topic") or Topic())
        try:
            return pose(row)
        except (Refusal, BadFigure):
            return None


class NoteForm(DocumentForm):
    nested = {
        "source": ("title", "file", "url", "symbol", "flag", "version", "date"),
        "calc": ("lab", "view", "figure", "values"),
    }
    slug = Words(code=True)
    ask = Words()
    value = Number(error_messages=dict.fromkeys(("required", "invalid"), "It takes a number."))
    unit = Words()
    shown = Words(label="Written as")
    accept_low = Number(required=False, label="Accepted from")
    accept_high = Number(required=False, label="to")
    origin = Words(rows=3)
    cue = Words()
    source_title = Words(label="Title")
    source_file = Words(label="File", code=True)
    source_url = Words(label="Url", code=True)
    source_symbol = Words(label="Symbol", code=True)
    source_flag = Words(label="Flag", code=True)
    source_version = Words(label="Version")
    source_date = Words(label="Date")
    calc_lab = Words(label="Lab", code=True)
    calc_view = Words(label="View", code=True)
    calc_figure = Words(label="Figure", code=True)
    calc_values = Toml(label="Values")

    class Meta:
        model = Note
        fields = ("topic", "slug", "ask", "value", "unit", "shown", "origin", "reverse", "cue", "draft")

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.initial |= dict(zip(("accept_low", "accept_high"), self.instance.accept, strict=False))

    @cached_property
    def document(self) -> NoteFile:
        given = self.cleaned_data
        ends = [given.get("accept_low"), given.get("accept_high")]
        return NoteFile(
            topic=given["topic"].slug if given.get("topic") else "",
            value=given.get("value", 0),
            accept=[end for end in ends if end is not None],
            source=self.small_table("source"),
            calc=self.small_table("calc"),
            reverse=given.get("reverse", True),
            draft=given.get("draft", False),
            **{name: given.get(name, "") for name in ("slug", "ask", "unit", "shown", "origin", "cue")},
        )

    @cached_property
    def found(self) -> list[Fault]:
        faults = check_note(self.document, run_lab)
        if Question.objects.filter(slug=self.document.slug).exists():
            faults.append(Fault("slug", "A question has this slug."))
        return faults
