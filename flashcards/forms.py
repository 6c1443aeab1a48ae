"""What a reader commits before the staff answer is shown: a number, a map or an outline, and how sure they are."""
from collections.abc import Iterator
from datetime import date
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator

from calculators.models.base import Refusal
from flashcards.due_day import read_day
from questions.grading import Judgement, UnreadEntries
from questions.models import Note
from questions.services import Posed, judge, judge_note

CONFIDENCES = (50, 60, 70, 80, 90, 95, 99)
NOTHING_YET = {
    "number": "Type a number first, or say the answer out loud.",
    "map": "Give at least one request its tokens first, or say the answer out loud.",
    "outline": "Write a line or two first, or say the answer out loud.",
}


class CommitForm(forms.Form):
    """The commit of one posed question; said out loud, everything else may be empty.

    Once it is valid, `judgement` holds how the number or map stands, None without one.
    """

    typed = forms.CharField(required=False, max_length=200)
    outline = forms.CharField(required=False, max_length=20_000)
    confidence = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None,
        choices=[(value, f"{value}%" if value == 99 else str(value)) for value in CONFIDENCES],
        error_messages={"invalid_choice": "Confidence takes one of the stops from 50 to 99, or none."},
    )
    aloud = forms.BooleanField(required=False)

    def __init__(self, posed: Posed, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.posed = posed
        self.kind = posed.check.kind if posed.check else "outline"
        self.main_field = "outline" if self.kind == "outline" else "typed"
        self.judgement: Judgement | None = None
        for name in self.request_names():
            self.fields[f"said_{name}"] = forms.CharField(required=False, max_length=60)

    def request_names(self) -> list[str]:
        """The requests of a map, in the order served; empty for any other commit."""
        return [request.name for request in self.posed.check.requests] if self.kind == "map" else []

    def said(self) -> dict[str, str]:
        """What stands in the map's fields, as typed; empty ones are left out."""
        texts = {name: self[f"said_{name}"].value() or "" for name in self.request_names()}
        return {name: str(text) for name, text in texts.items() if str(text).strip()}

    def stops(self) -> Iterator[tuple[int, str, bool]]:
        """The confidence ruler: value, label, chosen."""
        chosen = str(self["confidence"].value() or "")
        return ((value, label, str(value) == chosen) for value, label in self.fields["confidence"].choices)

    def clean(self) -> dict[str, Any]:
        given = self.said() if self.kind == "map" else self.cleaned_data.get(self.main_field)
        if not given:
            if not self.cleaned_data.get("aloud") and not self.errors:
                self.add_error(self.main_field, NOTHING_YET[self.kind])
        elif self.kind != "outline":
            self.judge(given)
        return self.cleaned_data

    def judge(self, given: str | dict[str, str]) -> None:
        """Read the number or the map; what can't be read gets its sentence."""
        try:
            self.judgement = judge(self.posed, given)
        except UnreadEntries as unread:
            for name, sentence in unread.faults.items():
                self.add_error(f"said_{name}", sentence)
        except Refusal as refusal:
            self.add_error("typed", str(refusal))


class EstimateForm(forms.Form):
    """The estimate of a number card's value; just flipped, or asked from the number, it may be empty.

    Once it is valid, `judgement` holds how the estimate stands, None without one.
    """

    typed = forms.CharField(required=False, max_length=200)
    aloud = forms.BooleanField(required=False)

    def __init__(self, note: Note, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.note = note
        self.judgement: Judgement | None = None

    def clean(self) -> dict[str, Any]:
        typed = self.cleaned_data.get("typed")
        if not typed and not self.errors and not self.cleaned_data.get("aloud"):
            self.add_error("typed", "Type an estimate first, or just flip.")
        if typed:
            try:
                self.judgement = judge_note(self.note, typed)
            except Refusal as refusal:
                self.add_error("typed", str(refusal))
        return self.cleaned_data


class DueForm(forms.Form):
    """The study day on which a card is to come back; once the form is valid, `cleaned_data["due"]` is a date."""

    due = forms.CharField(required=False, max_length=40)

    def __init__(self, today: date, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.today = today

    def clean_due(self) -> date:
        try:
            return read_day(self.cleaned_data["due"], self.today)
        except Refusal as refusal:
            raise forms.ValidationError(str(refusal)) from refusal

    @property
    def fault(self) -> str:
        """What is wrong with it, as a sentence; empty without a fault."""
        return " ".join(self.errors.get("due", ())) if self.is_bound else ""


class OptionForm(forms.Form):
    """The commit of a question by its options, each known by the letter that it is shown with."""

    choice = forms.ChoiceField(error_messages={
        "required": "Choose one of the answers first.", "invalid_choice": "Choose one of the answers shown.",
    })
    confidence = CommitForm.base_fields["confidence"]

    def __init__(self, letters: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["choice"].choices = [(letter, letter) for letter in letters]

    stops = CommitForm.stops


class NewQuizForm(forms.Form):
    """How many of the questions at hand a quiz asks, in what time, and how it is answered."""

    count = forms.IntegerField(label="Questions", min_value=1)
    minutes = forms.IntegerField(label="Minutes in all", required=False, min_value=1, max_value=600)
    by_options = forms.TypedChoiceField(
        label="Answered by", coerce=lambda text: text == "options",
        choices=[("options", "options, where a question has some"), ("words", "numbers, maps and outlines alone")],
    )
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)

    def __init__(self, most: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        count = self.fields["count"]
        count.max_value, count.help_text = most, f"1 to {most}"
        count.validators.append(MaxValueValidator(most, f"These filters leave {most}."))


def kept(form: forms.Form, name: str, most: int) -> str:
    """What stands in a field, readable or not, as a draft keeps it (without what no database can)."""
    return (form[name].value() or "").replace("\0", "")[:most]
