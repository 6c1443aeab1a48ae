"""Study days across day starts, clock changes and date lines. Wall times worked out by hand from the zones' rules."""
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashcards.study_day import end_of, start_of, study_day

FOUR = time(4)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Auckland", "Pacific/Apia")


def wall(text: str, zone: str, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)


def test_a_minute_before_four_is_still_yesterday() -> None:
    assert study_day(wall("2026-03-02T03:59", "Europe/Berlin"), "Europe/Berlin", FOUR) == date(2026, 3, 1)
    assert study_day(wall("2026-03-02T04:00", "Europe/Berlin"), "Europe/Berlin", FOUR) == date(2026, 3, 2)


def test_one_instant_is_two_days_in_two_zones() -> None:
    instant = datetime(2026, 3, 2, 12, tzinfo=UTC)  # 07:00 in New York, 01:00 of the next day in Auckland
    assert study_day(instant, "America/New_York", FOUR) == date(2026, 3, 2)
    assert study_day(instant, "Pacific/Auckland", FOUR) == date(2026, 3, 2)
    assert study_day(instant, "Pacific/Auckland", time(0)) == date(2026, 3, 3)


@pytest.mark.parametrize(("zone", "day", "hours"), [
    ("Europe/Berlin", date(2026, 3, 28), 23),  # clocks go on in the night to 29 March
    ("Europe/Berlin", date(2026, 3, 29), 24),
    ("Europe/Berlin", date(2026, 10, 24), 25),  # and back in the night to 25 October
    ("America/New_York", date(2026, 3, 7), 23),
    ("America/New_York", date(2026, 10, 31), 25),
    ("Pacific/Apia", date(2011, 12, 29), 20),  # Samoa left 30 December 2011 out
    ("Pacific/Apia", date(2011, 12, 30), 4),
])
def test_a_day_with_a_clock_change_is_shorter_or_longer(zone: str, day: date, hours: int) -> None:
    assert end_of(day, zone, FOUR) - start_of(day, zone, FOUR) == timedelta(hours=hours)


@pytest.mark.parametrize(("zone", "night"), [("Europe/Berlin", "2026-03-29"), ("America/New_York", "2026-11-01")])
def test_four_is_four_by_the_clock_on_the_wall_in_a_night_of_change(zone: str, night: str) -> None:
    today = date.fromisoformat(night)
    assert study_day(wall(f"{night}T03:59", zone), zone, FOUR) == today - timedelta(days=1)
    assert study_day(wall(f"{night}T04:00", zone), zone, FOUR) == today


def test_a_day_start_that_spring_skips_falls_where_the_clock_jumps_past_it() -> None:
    half_past_two = time(2, 30)
    assert start_of(date(2026, 3, 29), "Europe/Berlin", half_past_two) == datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert study_day(wall("2026-03-29T03:00", "Europe/Berlin"), "Europe/Berlin", half_past_two) == date(2026, 3, 29)


def test_a_day_that_has_begun_stays_begun_when_autumn_repeats_the_hour() -> None:
    half_past_two, zone = time(2, 30), "Europe/Berlin"
    assert study_day(wall("2026-10-25T02:29", zone), zone, half_past_two) == date(2026, 10, 24)
    assert study_day(wall("2026-10-25T02:30", zone), zone, half_past_two) == date(2026, 10, 25)
    assert study_day(wall("2026-10-25T02:00", zone, fold=1), zone, half_past_two) == date(2026, 10, 25)


@given(
    instant=st.datetimes(datetime(2008, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    later=st.timedeltas(timedelta(0), timedelta(hours=30)),
    zone=st.sampled_from(ZONES),
    day_start=st.times(time(0), time(12)).map(lambda start: start.replace(second=0, microsecond=0)),
)
def test_every_instant_lies_in_exactly_its_own_day(
    instant: datetime, later: timedelta, zone: str, day_start: time
) -> None:
    day = study_day(instant, zone, day_start)
    assert start_of(day, zone, day_start) <= instant < end_of(day, zone, day_start)
    assert end_of(day, zone, day_start) == start_of(day + timedelta(days=1), zone, day_start)
    assert study_day(instant + later, zone, day_start) >= day
