"""An instant to a person's study day, and back: the local date, counted from the hour at which their day starts."""
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)


@lru_cache(4096)
def start_of(day: date, zone: str, day_start: time) -> datetime:
    """The first instant, in UTC, at which clocks in `zone` show `day_start` of `day` or later.

    In the hour that autumn repeats it is the first of the two; an hour that spring skips starts when the skip ends.
    """
    wall = datetime.combine(day, day_start)
    start = wall.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    while _wall(start - MINUTE, zone) >= wall:  # true only inside a skipped hour: zones skip whole minutes
        start -= MINUTE
    return start


def end_of(day: date, zone: str, day_start: time) -> datetime:
    """The instant, in UTC, at which the next study day starts; 23 to 25 hours after this one where clocks change."""
    return start_of(day + timedelta(days=1), zone, day_start)


def study_day(instant: datetime, zone: str, day_start: time) -> date:
    """The study day that holds `instant`: start_of(day) <= instant < end_of(day), and never a day back in one zone."""
    since_midnight = timedelta(hours=day_start.hour, minutes=day_start.minute, seconds=day_start.second)
    day = (_wall(instant, zone) - since_midnight).date()
    # Clocks set back may show an hour before the day start again, after the day has begun.
    return day + timedelta(days=1) if instant >= end_of(day, zone, day_start) else day


def _wall(instant: datetime, zone: str) -> datetime:
    return instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
