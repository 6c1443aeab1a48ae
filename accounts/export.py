"""A person's account as an export has it: who they are and what they have set; no password, no secret address."""
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import fsrs
from django.core.exceptions import ValidationError

from accounts.forms import read_steps
from accounts.models import Profile, User
from accounts.rows import BadExport, Taken, fields_of, row_of

PERSON = ("email", "first_name", "last_name")
HERE_ALONE = ("id", "user", "mailed_on", "daily_mail")  # mail is asked for at each place by itself
GUESSED = ("zone", "zone_known", "theme")  # set without a visit to the settings
SETTINGS = tuple(field.name for field in Profile._meta.concrete_fields if field.name not in HERE_ALONE)
WEEK = "2222222"


def of(user: User) -> dict[str, Any]:
    """The person and their settings."""
    return {"person": row_of(user, PERSON), "settings": row_of(Profile.objects.get(user=user), SETTINGS)}


def put(user: User, part: Mapping[str, Any], now: datetime, taken: Taken) -> None:
    """Set what the file has set, where the settings are as they are for everyone at first; else they stay."""
    profile = Profile.objects.get(user=user)
    found = fields_of(Profile, SETTINGS, part.get("settings", {}))
    check(found)
    changed = [name for name, value in found.items() if getattr(profile, name) != value]
    if not changed:
        return
    chosen = [name for name in SETTINGS if name not in GUESSED]
    if row_of(profile, chosen) != row_of(Profile(), chosen):
        taken.left_out.append("The settings: this account has its own.")
        return
    for name in changed:
        setattr(profile, name, found[name])
    profile.save(update_fields=changed)
    taken.count("settings", new=len(changed))


def check(settings: Mapping[str, Any]) -> None:
    """Refuse steps and parameters that no card can be scheduled with. Raises BadExport."""
    for name in ("question_steps", "number_steps", "relearning_steps"):
        if not are_steps(settings.get(name, "")):
            raise BadExport(f"The settings hold steps that can’t be read: {settings[name][:60]!r}.")
    if len(settings.get("easy_days", WEEK)) != len(WEEK):
        raise BadExport("The settings hold easy days that are no week.")
    if not can_schedule(settings.get("fsrs_parameters", [])):
        raise BadExport("The settings hold FSRS parameters that no card can be scheduled with.")


def are_steps(text: str) -> bool:
    """Whether learning steps are written as they are kept."""
    try:
        return read_steps(text) == text
    except ValidationError:
        return False


def can_schedule(parameters: Any) -> bool:
    """Whether these are FSRS's 21 parameters, each within its bounds, or none for the defaults."""
    if parameters == []:
        return True
    try:
        return bool(fsrs.Scheduler(parameters=parameters))
    except (TypeError, ValueError):
        return False
