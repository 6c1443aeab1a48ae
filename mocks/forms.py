"""The forms of teams."""
from typing import Any

from django import forms
from django.conf import settings

from mocks.models import MOST_NAME, Membership

Role = Membership.Role
MOST_USES = 50
ROLES = [(role.value, role.value) for role in Role]
INVITED_TO = [(role, role) for role, _ in ROLES if role != Role.OWNER]  # a team is handed over, not given by a link
LIVES = [("1", "a day"), ("7", "a week"), ("30", "30 days")]
NO_NAME = "A team needs a name, such as “Inference platform”."


class TeamForm(forms.Form):
    """What a team is called."""

    name = forms.CharField(
        label="Name", max_length=MOST_NAME, help_text="Its members see it, and whoever is invited.",
        error_messages={
            "required": NO_NAME, "max_length": f"A name has at most {MOST_NAME} characters.",
        })

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())


class DeleteTeamForm(forms.Form):
    """A team's name, typed, before the team goes."""

    name = forms.CharField(
        label="The team’s name", help_text="Typed in full, so that nobody does this by a slip.",
        error_messages={"required": "Type the name of the team in full."})

    def __init__(self, team_name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.team_name = team_name

    def clean_name(self) -> str:
        name = " ".join(self.cleaned_data["name"].split())
        if name != self.team_name:
            raise forms.ValidationError(f"This team is “{self.team_name}”, not “{name}”.")
        return name


class InviteForm(forms.Form):
    """Whom a link lets in: in which role, how long, how many; or one person, by mail."""

    role = forms.ChoiceField(
        label="As", choices=INVITED_TO, initial=Role.CANDIDATE,
        error_messages=dict.fromkeys(("required", "invalid_choice"), "One of the roles in the list."))
    days = forms.TypedChoiceField(
        label="Good for", choices=LIVES, coerce=int, initial="7",
        error_messages=dict.fromkeys(("required", "invalid_choice"), "One of the times in the list."))
    most_uses = forms.IntegerField(
        label="People", min_value=1, max_value=MOST_USES, initial=1,
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value", "max_value"), f"A whole number from 1 to {MOST_USES}."))
    email = forms.EmailField(
        label="Mail it to", required=False, help_text="Then it is for this address alone. Empty: a link to hand on.",
        error_messages={"invalid": "An address such as ada@example.org, or nothing."})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not settings.HAS_MAIL:
            del self.fields["email"]


class RoleForm(forms.Form):
    """The role that a member is to have."""

    role = forms.ChoiceField(choices=ROLES)
