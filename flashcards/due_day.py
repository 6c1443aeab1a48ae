"""A due day as a person types it, read."""
import re
from datetime import date, timedelta

from calculators.models.base import Refusal

FARTHEST = 36_500  # days
WAIT = re.compile(r"(?:in )?([0-9]{1,9}) ?(d|days?|w|weeks?)?")
TAKES = "a day such as 2026-12-24, or a number of days such as “in 5 days”"


def read_day(text: str, today: date) -> date:
    """The study day that is meant: "2026-12-24", "tomorrow", "in 5 days", "5", "in 2 weeks".

    Raises Refusal for what can't be read, has passed, or lies more than a hundred years ahead.
    """
    said = " ".join(text.lower().split())
    if not said:
        raise Refusal(f"Type {TAKES}.")
    day = _read(said, today)
    if day is None:
        raise Refusal(f"“{text.strip()}” can’t be read as a day; type {TAKES}.")
    if day < today:
        raise Refusal(f"That day has passed; today, {today.isoformat()}, is the earliest.")
    if (day - today).days > FARTHEST:
        raise Refusal(f"That is too far ahead; {FARTHEST:,} days are the most.")
    return day


def _read(said: str, today: date) -> date | None:
    if said in ("today", "tomorrow"):
        return today + timedelta(days=said == "tomorrow")
    if wait := WAIT.fullmatch(said):
        days = int(wait[1]) * (7 if (wait[2] or "d").startswith("w") else 1)
        return today + timedelta(days=min(days, FARTHEST + 1))
    try:
        return date.fromisoformat(said) if re.fullmatch(r"\d{4}-\d\d-\d\d", said) else None
    except ValueError:
        return None
