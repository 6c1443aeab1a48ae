"""The calendar and the daily mail: what they say, to whom, how often, and how they stop."""
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from smtplib import SMTPException
from typing import Any

import icalendar
import pytest
from django.core import mail
from django.test import Client

from accounts.models import User
from flashcards import queue, reminders, services
from flashcards.models import Card, Rating
from flashcards.reminders import calendar, is_time, renew_calendar, send_due
from tests.flashcards.conftest import NOON

TODAY = NOON.date()
Deal = Callable[[int], list[Card]]


@pytest.fixture
def answered(deal: Deal) -> list[Card]:
    """Three cards, answered Good at noon: due in two days."""
    cards = deal(3)
    for card in cards:
        services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON)
    return cards


@pytest.fixture
def wants_mail(ada: User) -> User:
    ada.profile.daily_mail, ada.profile.mail_at = True, time(8)
    ada.profile.save()
    return ada


# The calendar

def test_a_day_with_due_cards_is_one_event_of_that_day(ada: User, answered: list[Card]) -> None:
    read = icalendar.Calendar.from_ical(calendar(renew_calendar(ada, NOON), NOON))
    [event] = read.walk("VEVENT")
    assert event["DTSTART"].dt == TODAY + timedelta(days=2)
    assert event["DTEND"].dt == TODAY + timedelta(days=3)
    assert event["SUMMARY"] == "3 due, about 9 minutes"  # three questions of three minutes
    assert event["UID"].startswith("due-20260304-")


def test_the_lines_are_as_the_format_wants_them(ada: User, answered: list[Card]) -> None:
    body = calendar(renew_calendar(ada, NOON), NOON)
    assert body.endswith(b"END:VCALENDAR\r\n")
    assert all(len(line) <= 75 for line in body.split(b"\r\n"))
    assert body.count(b"\n") == body.count(b"\r\n")


def test_overdue_cards_are_todays_and_the_file_is_the_same_all_day(ada: User, answered: list[Card]) -> None:
    key, later = renew_calendar(ada, NOON), NOON + timedelta(days=9)
    [event] = icalendar.Calendar.from_ical(calendar(key, later)).walk("VEVENT")
    assert event["DTSTART"].dt == TODAY + timedelta(days=9)
    assert calendar(key, later) == calendar(key, later + timedelta(hours=5))


def test_the_secret_address_is_all_that_it_takes_and_a_new_one_ends_it(ada: User, answered: list[Card]) -> None:
    old, stranger = renew_calendar(ada, NOON).key, Client()
    first = stranger.get(f"/calendar/{old}.ics")
    assert first["Content-Type"] == "text/calendar; charset=utf-8"
    assert stranger.get(f"/calendar/{old}.ics", headers={"If-None-Match": first["ETag"]}).status_code == 304
    new = renew_calendar(ada, NOON).key
    assert [stranger.get(f"/calendar/{key}.ics").status_code for key in (old, new)] == [404, 200]
    reminders.remove_calendar(ada)
    assert stranger.get(f"/calendar/{new}.ics").status_code == 404


def test_who_is_switched_off_has_no_calendar(ada: User) -> None:
    key = renew_calendar(ada, NOON).key
    User.objects.update(is_active=False)
    assert Client().get(f"/calendar/{key}.ics").status_code == 404


def test_settings_make_renew_and_remove_the_address(as_ada: Client, ada: User) -> None:
    assert "/calendar/" in as_ada.post("/calendar/renew/", follow=True).content.decode()
    key = ada.calendar_key.key
    assert f"/calendar/{key}.ics" in as_ada.get("/settings/").content.decode()
    page = as_ada.post("/calendar/remove/", follow=True).content.decode()
    assert f"/calendar/{key}.ics" not in page


# The mail

def test_what_is_due_is_mailed_once_a_study_day(wants_mail: User, answered: list[Card]) -> None:
    due = NOON + timedelta(days=2)
    assert send_due(due) == (1, [])
    assert send_due(due + timedelta(hours=3)) == (0, [])
    [sent] = mail.outbox
    assert (sent.subject, sent.to) == ("drillapp: 3 due, about 9 minutes", ["ada@example.org"])
    assert send_due(due + timedelta(days=1)) == (1, [])


def test_nothing_due_or_nobody_asking_is_no_mail(wants_mail: User, answered: list[Card]) -> None:
    assert send_due(NOON + timedelta(days=1)) == (0, [])
    wants_mail.profile.daily_mail = False
    wants_mail.profile.save()
    assert send_due(NOON + timedelta(days=2)) == (0, [])


def test_a_mail_that_fails_goes_with_the_next_run(
    wants_mail: User, answered: list[Card], monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise SMTPException("try again later")

    due = NOON + timedelta(days=2)
    with monkeypatch.context() as broken:
        broken.setattr("django.core.mail.EmailMultiAlternatives.send", refuse)
        assert send_due(due) == (0, ["ada@example.org: try again later"])
    assert send_due(due) == (1, [])


@pytest.mark.parametrize(("zone", "at", "now", "time_has_come"), [
    ("UTC", time(8), datetime(2026, 3, 2, 7, 59, tzinfo=UTC), False),
    ("UTC", time(8), datetime(2026, 3, 2, 8, 0, tzinfo=UTC), True),
    ("UTC", time(8), datetime(2026, 3, 3, 3, 59, tzinfo=UTC), True),  # the study day ends at four
    ("UTC", time(8), datetime(2026, 3, 3, 4, 0, tzinfo=UTC), False),
    ("UTC", time(2), datetime(2026, 3, 2, 23, 0, tzinfo=UTC), False),  # two at night is late in the study day
    ("UTC", time(2), datetime(2026, 3, 3, 2, 0, tzinfo=UTC), True),
    ("Pacific/Auckland", time(8), datetime(2026, 3, 1, 19, 0, tzinfo=UTC), True),  # 8 in the morning there
])
def test_the_hour_is_the_persons_own(ada: User, zone: str, at: time, now: datetime, time_has_come: bool) -> None:
    ada.profile.zone, ada.profile.mail_at = zone, at
    assert is_time(ada.profile, now) == time_has_come


def test_one_click_stops_it_signed_out_and_a_look_does_not(wants_mail: User, answered: list[Card]) -> None:
    send_due(NOON + timedelta(days=2))
    headers = mail.outbox[0].extra_headers
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    address = headers["List-Unsubscribe"].strip("<>").removeprefix("http://localhost:8000")
    assert address in mail.outbox[0].body
    stranger = Client(enforce_csrf_checks=True)
    assert "Stop the daily mail to ada@example.org?" in stranger.get(address).content.decode()
    wants_mail.profile.refresh_from_db()
    assert wants_mail.profile.daily_mail
    said = stranger.post(address, {"List-Unsubscribe": "One-Click"}).content.decode()
    assert "No daily mail goes to ada@example.org." in said
    wants_mail.profile.refresh_from_db()
    assert not wants_mail.profile.daily_mail


def test_a_link_that_was_tampered_with_stops_nothing(wants_mail: User) -> None:
    said = Client().post("/mail/abc:def:ghi/stop/")
    assert said.status_code == 404 and "This link stops no mail." in said.content.decode()


# The days ahead

def test_the_days_ahead_hold_each_card_once(ada: User, answered: list[Card]) -> None:
    services.answer_card(answered[0], Rating.AGAIN, ordinal=2, now=NOON + timedelta(days=2))  # back in ten minutes
    days = queue.ahead(ada, date(2026, 3, 4), 14)
    assert [(one.day, one.cards) for one in days if one.cards] == [(date(2026, 3, 4), 3)]
    assert len(days) == 14
