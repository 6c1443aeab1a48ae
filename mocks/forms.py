"""The forms of teams."""
from typing import Any

from django import forms

from mocks.models import MOST_NAME


def read_name(text: str) -> str:
    """A name as it is kept: in one line. Raises ValidationError when nothing is left of it."""
    name = " ".join(text.replace("\0", "").split())
    if not name:
        raise forms.ValidationError("A team needs a name, such as “Inference platform”.")
    return name


class TeamForm(forms.Form):
    """What a team is called."""

    name = forms.CharField(
        label="Name", max_length=MOST_NAME, help_text="Its members see it, and whoever is invited.",
        error_messages={
            "required": "A team needs a name, such as “Inference platform”.",
            "max_length": f"A name has at most {MOST_NAME} characters.",
            "null_characters_not_allowed": "It holds a character that can’t be kept.",
        })

    def clean_name(self) -> Any:
        return read_name(self.cleaned_data["name"])
