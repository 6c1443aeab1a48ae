"""The Settings page's rows: which setting stands in which group, and what it was before a change not yet saved."""
from dataclasses import dataclass

from django.forms import BoundField

from accounts.forms import ProfileForm

GROUPS = (
    (
        "how much", "and how well",
        ("desired_retention", "new_questions_per_day", "new_numbers_per_day", "reviews_per_day"),
    ),
    ("steps", "inside a day", ("question_steps", "number_steps", "relearning_steps")),
    ("the day", "", ("day_start", "zone")),
    ("looks", "", ("theme",)),
)


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting; `was` is its saved value while the form holds another, else empty."""

    field: BoundField
    was: str


@dataclass(frozen=True, slots=True)
class SettingGroup:
    name: str
    note: str
    rows: list[SettingRow]


def setting_groups(form: ProfileForm) -> list[SettingGroup]:
    """The form's fields in the order shown."""
    return [
        SettingGroup(name, note, [SettingRow(form[field], was(form, field)) for field in fields])
        for name, note, fields in GROUPS
    ]


def was(form: ProfileForm, name: str) -> str:
    """The saved value of a field that a sent form would change, as the page writes it; else empty."""
    if not form.is_bound or not form[name]._has_changed():
        return ""
    saved = form[name].initial
    return str(form.fields[name].prepare_value(saved) or "none") if not hasattr(saved, "strftime") else f"{saved:%H:%M}"


def changed_labels(form: ProfileForm) -> list[str]:
    """What a sent form changes, as the page calls it."""
    return [form.fields[name].label.lower() for name in form.changed_data]
