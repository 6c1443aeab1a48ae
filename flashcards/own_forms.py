"""The form of a card of one's own, for each of the three kinds."""
import re
from typing import Any

from django import forms

from calculators.models.base import Refusal
from calculators.models.quantity import read, say, unit_of
from flashcards.own_cards import fields_of_words, tags_of
from questions import formulas, own
from questions.markup import unsafe
from questions.models import Note, Topic

LONGEST = 20_000
TAG = re.compile(r"[^\s,]{1,60}")
MATH = r"Math in $…$ or \(…\), in $$…$$ or \[…\] on a line of its own."


class OwnCardForm(forms.Form):
    """What every kind has: a front, a topic, tags."""

    kind: Note.Kind
    front = forms.CharField(
        label="Front", max_length=LONGEST, widget=forms.Textarea(attrs={"rows": 4}),
        error_messages={"required": "Write what the card asks."}, help_text=MATH,
    )
    back = forms.CharField(label="Back", max_length=LONGEST, required=False, widget=forms.Textarea(attrs={"rows": 4}))
    topic = forms.ModelChoiceField(Topic.objects.all(), to_field_name="slug", required=False, empty_label="none")
    tags = forms.CharField(label="Tags", required=False, max_length=400, help_text="words, with spaces between")
    ORDER = ("front", "back", "topic", "tags")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.order_fields(self.ORDER)
        self.fields["topic"].label_from_instance = lambda topic: topic.title

    def _safe(self, name: str) -> str:
        text = self.cleaned_data[name].replace("\r\n", "\n").replace("\0", "")
        if faults := unsafe(formulas.without(text)):
            raise forms.ValidationError(faults[0])
        return text

    def clean_front(self) -> str:
        return self._safe("front")

    def clean_back(self) -> str:
        return self._safe("back")

    def clean_tags(self) -> list[str]:
        tags = tags_of(self.cleaned_data["tags"])
        if not all(TAG.fullmatch(tag) for tag in tags):
            raise forms.ValidationError("A tag has 60 characters at most.")
        return tags

    def note_fields(self) -> dict[str, Any]:
        """What the valid form says, as a note holds it."""
        held = self.cleaned_data
        words = fields_of_words(self.kind, held["front"], held["back"], held["tags"], bool(held.get("reverse")))
        return words | {"topic": held["topic"]}

    @staticmethod
    def initial_of(note: Note) -> dict[str, Any]:
        """What the form holds of a note that is there."""
        initial = {"front": note.front or note.ask, "back": note.back, "reverse": note.reverse,
                   "topic": note.topic and note.topic.slug, "tags": " ".join(note.tags), "unit": note.unit}
        if note.kind == Note.Kind.NUMBER:
            reach = (note.accept[1] - note.value) / abs(note.value) if note.value else 0
            initial |= {"value": say(note.value, "", 12).replace("−", "-"), "tolerance": f"{round(reach * 100, 2):g}"}
        return initial


class BasicForm(OwnCardForm):
    kind = Note.Kind.BASIC
    reverse = forms.BooleanField(label="Ask it from the back as well", required=False)
    ORDER = ("front", "back", "reverse", "topic", "tags")

    def clean_back(self) -> str:
        back = self._safe("back")
        if not back.strip():
            raise forms.ValidationError("Write what stands on the other side.")
        return back


class ClozeForm(OwnCardForm):
    kind = Note.Kind.CLOZE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        front = self.fields["front"]
        front.label = "Text"
        front.help_text = f"Each {{{{c1::…}}}} is a gap, and each number a card; {{{{c1::gap::hint}}}} hints. {MATH}"
        self.fields["back"].label, self.fields["back"].help_text = "Said beside it", "may be empty"

    def clean_front(self) -> str:
        text = self._safe("front")
        if not own.cloze_numbers(text):
            raise forms.ValidationError("There is no gap in it: put one as {{c1::what is left out}}.")
        return text


class NumberForm(OwnCardForm):
    kind = Note.Kind.NUMBER
    value = forms.CharField(label="Value", max_length=40, error_messages={"required": "Write the number."})
    unit = forms.CharField(label="Unit", max_length=24, required=False, help_text="may be empty")
    tolerance = forms.FloatField(label="Tolerance, %", min_value=0, max_value=90, initial=10, error_messages={
        "required": "Say how far off still counts as right, 0 to 90.", "invalid": "It takes a number, 0 to 90.",
        "min_value": "It takes 0 to 90.", "max_value": "It takes 0 to 90.",
    })
    ORDER = ("front", "value", "unit", "tolerance", "back", "topic", "tags")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["front"].widget.attrs["rows"] = 2
        self.fields["front"].help_text = MATH.partition(",")[0] + "."
        self.fields["back"].label, self.fields["back"].help_text = "Where it is from", "may be empty"

    def clean_front(self) -> str:
        text = " ".join(self._safe("front").split())
        if len(text) > own.LONGEST_LINE:
            raise forms.ValidationError(f"It has {len(text)} characters; a number card asks in {own.LONGEST_LINE}.")
        line = formulas.unmarked(text)
        if "[[" in line or "[^" in line:
            raise forms.ValidationError("“[[” and “[^” mean something else here; leave a space after the first.")
        return text

    def clean_back(self) -> str:
        text = " ".join(self._safe("back").split())
        if len(text) > 300 or "[[" in text or "[^" in text:
            raise forms.ValidationError("It takes a line of at most 300 characters, without “[[” or “[^”.")
        return text

    def clean_unit(self) -> str:
        unit = self.cleaned_data["unit"].strip()
        if re.search(r"[0-9/ ]", unit) and unit_of(unit) is None:
            raise forms.ValidationError(f"The unit “{unit}” can’t be read.")
        return unit

    def clean(self) -> dict[str, Any]:
        """The value is read in the unit, so that "1.5 GiB" may stand there for 1536 MiB."""
        held = super().clean()
        if held.get("value") and "unit" in held:
            try:
                held["number"] = read(held["value"], held["unit"]).value
            except Refusal as refusal:
                self.add_error("value", str(refusal))
        return held

    def note_fields(self) -> dict[str, Any]:
        held = self.cleaned_data
        reach = abs(held["number"]) * held["tolerance"] / 100
        line = formulas.unmarked(held["front"])
        return {
            "kind": self.kind, "ask": line, "front": "" if line == held["front"] else held["front"],
            "back": held["back"], "origin": held["back"],
            "value": held["number"], "unit": held["unit"], "accept": [held["number"] - reach, held["number"] + reach],
            "tags": held["tags"], "topic": held["topic"], "reverse": False,
        }


FORMS: dict[str, type[OwnCardForm]] = {form.kind.value: form for form in (BasicForm, ClozeForm, NumberForm)}
