"""A person's account as an export has it: who they are and what they have set; no password, no secret address."""
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from accounts.models import Profile, User
from accounts.rows import BadExport, Taken, fields_of, row_of

PERSON = ("email", "first_name", "last_name")
HERE_ALONE = ("id", "user", "mailed_on", "daily_mail")  # mail is asked for at each place by itself
GUESSED = ("zone", "zone_known", "theme")  # set without a visit to the settings
SETTINGS = tuple(field.name for field in Profile._meta.concrete_fields if field.name not in HERE_ALONE)
STEPS = re.compile(r"(?:[1-9]\d{0,3}[mhd](?: [1-9]\d{0,3}[mhd])*)?")


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
        if not STEPS.fullmatch(settings.get(name, "")):
            raise BadExport(f"The settings hold steps that can’t be read: {settings[name][:60]!r}.")
    parameters = settings.get("fsrs_parameters", [])
    if len(parameters) not in (0, 21) or not all(type(one) in (int, float) and abs(one) <= 100 for one in parameters):
        raise BadExport("The settings hold FSRS parameters that are no 21 numbers.")
