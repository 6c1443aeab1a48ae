"""Making an account, and what a person sets about the drill."""
import re
from datetime import date, timedelta
from typing import Any

from allauth.account.forms import SignupForm as AllauthSignupForm
from allauth.core import context
from django import forms
from django.conf import settings
from django.utils import timezone

from accounts import access
from accounts.models import Profile, User, zone_names

STEP = re.compile(r"(\d{1,4})\s*(m|min|h|d)\b", re.IGNORECASE)
PLACES = ["Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"]
UNITS = {"m": timedelta(minutes=1), "min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def read_steps(text: str) -> str:
    """Learning steps as they are kept, "1m 10m"; commas and "min" are read too.

    Raises ValidationError with a sentence when a part is no time from 1 m to under a day, or there are more than six.
    """
    text = text.strip()
    if STEP.sub("", text).strip(" ,;"):
        raise forms.ValidationError("Write times with their units, as in “1m 10m” or “10 min, 1 h”.")
    steps = [(int(number), unit.lower()[0]) for number, unit in STEP.findall(text)]
    if any(not timedelta(0) < number * UNITS[unit] < timedelta(days=1) for number, unit in steps):
        raise forms.ValidationError("Each step takes from 1 minute to under a day.")
    if len(steps) > 6:
        raise forms.ValidationError("At most six steps.")
    return " ".join(f"{number}{unit}" for number, unit in steps)


def zones() -> list[str]:
    """The time zones named after a place, as people look for theirs, and UTC."""
    return ["UTC", *sorted(name for name in zone_names() if name.split("/")[0] in PLACES)]


def always(sentence: str) -> dict[str, str]:
    """One sentence for whatever is wrong: it says what the field takes."""
    return dict.fromkeys(("required", "invalid", "invalid_choice", "min_value", "max_value"), sentence)


class FractionField(forms.FloatField):
    def prepare_value(self, value: float | str) -> float | str:
        """A saved 0.9 as "0.90"; what was typed stays as it was typed."""
        return f"{value:.2f}" if isinstance(value, float) and round(value, 2) == value else value


class SignupForm(AllauthSignupForm):
    def clean_email(self) -> str:
        """The address; on a site by invitation it is the one that was invited, where the invitation names one."""
        email = super().clean_email()
        invited = access.invited_email(context.request) if settings.DRILL_SIGNUP == "invite" else ""
        if invited and email != invited:
            raise forms.ValidationError(f"The invitation is for {invited} and makes an account for that address alone.")
        return email


FARTHEST = timedelta(days=3650)  # that an interview is planned for
ON_OFF = [("on", "on"), ("off", "off")]
WEEKDAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
TAKES = [("2", "normal"), ("1", "half"), ("0", "free")]


def is_on(choice: str) -> bool:
    return choice == "on"


def name_field() -> forms.CharField:
    """The name that others know a person by."""
    return forms.CharField(
        label="Your name",
        help_text="As the members of a team see it. Empty: the part of your address before the @.",
        required=False,
        max_length=60,
        error_messages={"max_length": "At most 60 characters."},
    )


class NameForm(forms.Form):
    """A person's name alone, as it is asked for where others come to see it."""

    name = name_field()


class ProfileForm(forms.ModelForm):
    """What a person sets; a field that can't be read says what it takes and keeps what was typed."""

    name = name_field()
    zone = forms.ChoiceField(
        label="Time zone",
        help_text="Says when your day begins and ends.",
        error_messages=always("One of the zones in the list."),
    )
    day_start = forms.TimeField(
        label="A day starts at",
        help_text="A review at 1 in the morning counts for the day before.",
        widget=forms.TimeInput(format="%H:%M"),
        input_formats=["%H:%M", "%H.%M", "%H"],
        error_messages=always("A time from 00:00 to 23:59, such as 04:00."),
    )
    desired_retention = FractionField(
        label="Desired retention",
        help_text="How often you want to be right when something comes up. Higher means shorter intervals.",
        min_value=0.80,
        max_value=0.97,
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
        error_messages=always("A number from 0.80 to 0.97."),
    )
    new_questions_per_day = forms.IntegerField(
        label="New questions a day",
        help_text="Begun each day among the reviews.",
        min_value=0,
        max_value=63,
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
        error_messages=always("A whole number from 0 to 63."),
    )
    new_numbers_per_day = forms.IntegerField(
        label="New number cards a day",
        help_text="They take seconds each.",
        min_value=0,
        max_value=200,
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
        error_messages=always("A whole number from 0 to 200."),
    )
    reviews_per_day = forms.IntegerField(
        label="Most reviews a day",
        help_text="What is past it waits, and Today says so.",
        min_value=0,
        max_value=999,
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
        error_messages=always("A whole number from 0 to 999."),
    )
    question_steps = forms.CharField(
        label="Learning steps of questions",
        help_text="Waits before a new question counts as learned, such as “10m”. Empty: none.",
        required=False,
    )
    number_steps = forms.CharField(
        label="Learning steps of number cards",
        help_text="Waits before a new number counts as learned, such as “1m 10m”. Empty: none.",
        required=False,
    )
    relearning_steps = forms.CharField(
        label="Relearning steps",
        help_text="Waits after you grade one Again, such as “10m”. Empty: none.",
        required=False,
    )
    maximum_interval = forms.IntegerField(
        label="Longest interval",
        help_text="In days. Nothing is put off for longer.",
        min_value=1,
        max_value=36_500,
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
        error_messages=always("A whole number of days from 1 to 36,500."),
    )
    interview_day = forms.DateField(
        label="Interview on",
        help_text="Nothing is put off past it. Empty: none.",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        error_messages=always("A date such as 2027-03-12, or nothing."),
    )
    backlog_order = forms.ChoiceField(
        label="When more is due than fits",
        help_text="Which comes first.",
        choices=[("recall", "lowest recall"), ("overdue", "most overdue"), ("day", "longest due")],
        widget=forms.RadioSelect,
        error_messages=always("One of the three."),
    )
    new_place = forms.ChoiceField(
        label="New cards come",
        choices=[("among", "among the reviews"), ("before", "first"), ("after", "last")],
        widget=forms.RadioSelect,
        error_messages=always("One of the three."),
    )
    fuzz = forms.TypedChoiceField(
        label="Fuzz",
        help_text="Moves a due day a little, towards a quieter one.",
        choices=ON_OFF,
        coerce=is_on,
        widget=forms.RadioSelect,
        error_messages=always("On or off."),
    )
    leech_lapses = forms.IntegerField(
        label="Lapses that make a leech",
        help_text="It is flagged then; nothing is suspended by itself.",
        min_value=2,
        max_value=99,
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
        error_messages=always("A whole number from 2 to 99."),
    )
    single_keys = forms.TypedChoiceField(
        label="Single-key shortcuts",
        help_text="Ctrl Enter and Tab always work.",
        choices=ON_OFF,
        coerce=is_on,
        widget=forms.RadioSelect,
        error_messages=always("On or off."),
    )
    daily_mail = forms.TypedChoiceField(
        label="A mail a day",
        help_text="On days when something is due. Each one can be stopped from the mail itself.",
        choices=ON_OFF,
        coerce=is_on,
        widget=forms.RadioSelect,
        error_messages=always("On or off."),
    )
    mail_at = forms.TimeField(
        label="The mail goes at",
        widget=forms.TimeInput(format="%H:%M"),
        input_formats=["%H:%M", "%H.%M", "%H"],
        error_messages=always("A time from 00:00 to 23:59, such as 08:00."),
    )
    theme = forms.ChoiceField(
        label="Theme",
        choices=Profile.Theme,
        widget=forms.RadioSelect,
        error_messages=always("One of the three."),
    )

    class Meta:
        model = Profile
        fields = (
            "desired_retention", "new_questions_per_day", "new_numbers_per_day", "reviews_per_day", "maximum_interval",
            "question_steps", "number_steps", "relearning_steps", "day_start", "zone", "interview_day", "backlog_order",
            "new_place", "fuzz", "leech_lapses", "single_keys", "theme", "daily_mail", "mail_at",
        )  # fmt: skip

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        # A browser may have named a zone by an older name; it stays choosable for whom it is set.
        names = zones()
        names += [self.instance.zone] if self.instance.zone not in names else []
        self.fields["zone"].choices = [(name, name.replace("_", " ")) for name in names]
        for at, day in enumerate(WEEKDAYS):
            self.fields[f"easy_{at}"] = forms.ChoiceField(
                label=day, choices=TAKES, error_messages=always("Each day takes one of normal, half and free."))
            self.initial[f"easy_{at}"] = self.instance.easy_days[at]
        self.initial["name"] = user.first_name if (user := getattr(self.instance, "user", None)) else ""
        for name in ("fuzz", "single_keys", "daily_mail"):
            self.initial[name] = "on" if self.initial[name] else "off"
        if not settings.HAS_MAIL:  # a switch that sends nothing is none
            del self.fields["daily_mail"], self.fields["mail_at"]

    def clean(self) -> dict[str, Any]:
        taken = [self.cleaned_data.get(f"easy_{at}") for at in range(len(WEEKDAYS))]
        if all(taken):
            self.instance.easy_days = "".join(taken)
        return super().clean()

    def clean_interview_day(self) -> date | None:
        """The day, from today to ten years ahead; one that has passed since it was set may stay."""
        day, today = self.cleaned_data["interview_day"], self.instance.local(timezone.now()).date()
        if day is None or day == self.initial["interview_day"]:
            return day
        if day < today:
            raise forms.ValidationError("That day has passed.")
        if day - today > FARTHEST:
            raise forms.ValidationError("A day within ten years.")
        return day

    def clean_question_steps(self) -> str:
        return read_steps(self.cleaned_data["question_steps"])

    def clean_number_steps(self) -> str:
        return read_steps(self.cleaned_data["number_steps"])

    def clean_relearning_steps(self) -> str:
        return read_steps(self.cleaned_data["relearning_steps"])

    def save(self, commit: bool = True) -> Profile:
        """The profile as set; from now on the time zone is the person's own and no guess.

        Only what the form holds is written: parameters that were adopted meanwhile stay.
        """
        self.instance.zone_known = True
        if commit:
            mine = [name for name in self._meta.fields if name in self.fields]
            self.instance.save(update_fields=[*mine, "easy_days", "zone_known"])
            self.instance.user.rename(self.cleaned_data["name"])
        return self.instance


class DeleteForm(forms.Form):
    """The address of one's own account, typed, before it goes."""

    email = forms.EmailField(
        label="Your e-mail address", help_text="Typed in full, so that nobody does this by a slip.",
        error_messages=always("Type the address of this account in full."),
    )

    def __init__(self, user: User, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_email(self) -> str:
        email = self.cleaned_data["email"].lower()
        if email != self.user.email:
            raise forms.ValidationError(f"This account is {self.user.email}, not {email}.")
        return email
