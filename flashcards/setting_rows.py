"""The Settings page's rows: which setting stands in which group, and what it was before a change not yet saved."""
from dataclasses import dataclass, field
from datetime import date, time

from django.forms import BoundField

from accounts.forms import WEEKDAYS, ProfileForm

WEEK = tuple(f"easy_{at}" for at in range(len(WEEKDAYS)))
GROUPS = (
    (
        "how much", "and how well",
        ("desired_retention", "new_questions_per_day", "new_numbers_per_day", "reviews_per_day", "maximum_interval"),
    ),
    ("the day", "", ("day_start", "zone", "interview_day", "easy_days")),
    ("order", "", ("backlog_order", "new_place", "fuzz")),
    ("steps", "inside a day", ("question_steps", "number_steps", "relearning_steps", "leech_lapses")),
    ("keys and looks", "", ("single_keys", "theme")),
    ("mail", "", ("daily_mail", "mail_at")),
    ("in a team", "", ("name",)),
)


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting, of one field or of several side by side; `was` is its saved value while the form holds another."""

    field: BoundField
    was: str
    days: list[BoundField] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """What is wrong with it, each sentence once."""
        return list(dict.fromkeys(fault for one in self.days or [self.field] for fault in one.errors))


@dataclass(frozen=True, slots=True)
class SettingGroup:
    name: str
    note: str
    rows: list[SettingRow]


def setting_groups(form: ProfileForm) -> list[SettingGroup]:
    """The form's fields in the order shown; a group without any is left out."""
    groups = [
        SettingGroup(name, note, [row(form, field) for field in fields if field in form.fields or field == "easy_days"])
        for name, note, fields in GROUPS
    ]
    return [group for group in groups if group.rows]


def row(form: ProfileForm, name: str) -> SettingRow:
    if name != "easy_days":
        return SettingRow(form[name], was(form, name))
    days = [form[day] for day in WEEK]
    changed = [f"{form.fields[day].label} {was(form, day)}" for day in WEEK if was(form, day)]
    return SettingRow(days[0], ", ".join(changed), days)


def was(form: ProfileForm, name: str) -> str:
    """The saved value of a field that a sent form would change, as the page writes it; else empty."""
    if not form.is_bound or not form[name]._has_changed():
        return ""
    return said(form, name, form[name].initial)


def said(form: ProfileForm, name: str, value: object) -> str:
    """A value of a setting as the page writes it."""
    if isinstance(value, time):
        return f"{value:%H:%M}"
    if isinstance(value, date):
        return f"{value.day} {value:%B %Y}"
    labels = dict(getattr(form.fields[name], "choices", ()))
    return str(labels.get(value) or form.fields[name].prepare_value(value) or "none")


def changed_labels(form: ProfileForm) -> list[str]:
    """What a sent form changes, as the page calls it."""
    labels = ["easy days" if name in WEEK else form.fields[name].label.lower() for name in form.changed_data]
    return list(dict.fromkeys(labels))
