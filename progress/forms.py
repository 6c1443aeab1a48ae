"""Which day readiness is asked for, and how much is wanted then."""
from datetime import date, timedelta

from django import forms

FARTHEST = timedelta(days=3650)


class ReadinessForm(forms.Form):
    """`on` is the day, `target` the recall in percent that counts as ready."""

    on = forms.DateField(label="On", widget=forms.DateInput(attrs={"type": "date"}), error_messages={
        "invalid": "This takes a day such as 2027-03-12.", "required": "Which day?"})
    target = forms.IntegerField(label="Ready from", min_value=50, max_value=97, error_messages={
        "invalid": "This takes a whole number of percent, 50 to 97.", "required": "How much counts as ready?",
        "min_value": "This takes 50 to 97%%.", "max_value": "This takes 50 to 97%%."})

    def __init__(self, *args: object, today: date, **more: object) -> None:
        super().__init__(*args, **more)
        self.today = today

    def clean_on(self) -> date:
        day = self.cleaned_data["on"]
        if day <= self.today:
            raise forms.ValidationError("This takes a day after today.")
        if day - self.today > FARTHEST:
            raise forms.ValidationError("This takes a day within ten years.")
        return day
