"""Settings: saved in one press, a fault keeps what was typed, and what was is said."""
import re
from collections.abc import Callable
from datetime import time, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Profile, User
from flashcards import services
from flashcards.models import Card, Rating
from flashcards.study_day import study_day

Deal = Callable[[int], list[Card]]

AS_IT_IS = {
    "desired_retention": "0.9", "new_questions_per_day": "2", "new_numbers_per_day": "6",
    "reviews_per_day": "24", "question_steps": "", "number_steps": "1m 10m",
    "relearning_steps": "10m", "day_start": "04:00", "zone": "UTC", "theme": "auto", "maximum_interval": "36500",
    "interview_day": "", "backlog_order": "recall", "new_place": "among", "fuzz": "on", "leech_lapses": "8",
    "single_keys": "on", "name": "Ada", **{f"easy_{at}": "2" for at in range(7)},
}


@pytest.fixture(autouse=True)
def with_fuzz(without_fuzz: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile as people have it at first."""
    monkeypatch.setattr(Profile._meta.get_field("fuzz"), "default", True)


def save(client: Client, **changed: str) -> str:
    response = client.post(reverse("flashcards:settings"), AS_IT_IS | changed, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def test_what_is_saved_is_said_and_stays(as_ada: Client, ada: User):
    page = save(as_ada, desired_retention="0.92", day_start="03:30", zone="Europe/Berlin", theme="dark")
    assert "Saved: desired retention, a day starts at, time zone, theme." in page
    assert 'data-theme="dark"' in page
    profile = Profile.objects.get(user=ada)
    assert (profile.desired_retention, profile.day_start, profile.zone) == (0.92, time(3, 30), "Europe/Berlin")


def test_a_name_is_what_others_read_and_without_one_it_is_the_address(as_ada: Client, ada: User):
    assert 'aria-label="Ada Lovelace, settings"' in save(as_ada, name=" Ada Lovelace ")
    assert 'aria-label="ada, settings"' in save(as_ada, name="")
    assert "At most 60 characters." in save(as_ada, name="A" * 61)


def test_saving_as_it_is_says_that_nothing_changed(as_ada: Client):
    assert "Nothing was changed." in save(as_ada)


def test_a_zone_that_was_saved_is_no_longer_guessed(as_ada: Client, ada: User):
    save(as_ada)
    assert Profile.objects.get(user=ada).zone_known


@pytest.mark.parametrize(("name", "typed", "sentence"), [
    ("desired_retention", "1.2", "A number from 0.80 to 0.97."),
    ("reviews_per_day", "many", "A whole number from 0 to 999."),
    ("day_start", "25:00", "A time from 00:00 to 23:59"),
    ("relearning_steps", "10 parsecs", "Write times with their units"),
])
def test_a_fault_is_told_and_saves_nothing(as_ada: Client, ada: User, name: str, typed: str, sentence: str):
    page = save(as_ada, **{name: typed}, new_questions_per_day="7")
    assert sentence in page
    assert f'value="{typed}"' in page
    assert "Not saved." in page
    assert Profile.objects.get(user=ada).new_questions_per_day == 2


def test_what_a_changed_field_was_stands_under_it_until_saved(as_ada: Client):
    page = save(as_ada, new_questions_per_day="7", day_start="25:00")
    assert "was 2" in page
    assert "was 04:00" in page
    assert "was 24" not in page


def test_another_persons_settings_stay(as_ada: Client, eve: User):
    save(as_ada, new_questions_per_day="9")
    assert Profile.objects.get(user=eve).new_questions_per_day == 2


def test_signing_out_is_a_press_and_no_link(as_ada: Client):
    page = as_ada.get(reverse("flashcards:settings")).content.decode()
    assert 'method="post" action="/accounts/logout/"' in page
    as_ada.post(reverse("account_logout"))
    assert as_ada.get(reverse("flashcards:settings")).status_code == 302


# The rest of what can be set

def test_each_setting_is_saved_as_it_was_typed(as_ada: Client, ada: User):
    interview = timezone.now().date() + timedelta(days=100)
    page = save(as_ada, maximum_interval="365", interview_day=interview.isoformat(), backlog_order="overdue",
                new_place="after", fuzz="off", leech_lapses="4", single_keys="off", easy_5="1", easy_6="0")
    assert "easy days" in page
    profile = Profile.objects.get(user=ada)
    assert (profile.maximum_interval, profile.interview_day) == (365, interview)
    assert profile.backlog_order == "overdue"
    assert (profile.new_place, profile.fuzz, profile.leech_lapses, profile.single_keys) == ("after", False, 4, False)
    assert profile.easy_days == "2222210"


def test_the_daily_mail_can_be_set_only_where_there_is_mail(as_ada: Client, ada: User, settings: Any):
    assert "A mail a day" not in as_ada.get("/settings/").content.decode()
    settings.HAS_MAIL = True
    assert "A mail a day" in as_ada.get("/settings/").content.decode()
    save(as_ada, daily_mail="on", mail_at="7:30")
    profile = Profile.objects.get(user=ada)
    assert (profile.daily_mail, profile.mail_at) == (True, time(7, 30))


@pytest.mark.parametrize(("name", "typed", "sentence"), [
    ("interview_day", "0001-01-01", "That day has passed."), ("interview_day", "9999-12-31", "A day within ten years."),
    ("interview_day", "12 March", "A date such as 2027-03-12, or nothing."),
    ("maximum_interval", "0", "A whole number of days from 1 to 36,500."),
    ("leech_lapses", "1", "A whole number from 2 to 99."),
    ("easy_3", "7", "Each day takes one of normal, half and free."),
    ("backlog_order", "x", "One of the three."),
])
def test_what_cannot_be_set_is_said_beside_it(as_ada: Client, ada: User, name: str, typed: str, sentence: str):
    assert sentence in save(as_ada, **{name: typed})


def test_the_effect_shows_before_anything_is_saved(as_ada: Client, ada: User, deal: Deal):
    deal(9)
    page = as_ada.post("/settings/effect/", AS_IT_IS | {"new_questions_per_day": "4"}).content.decode()
    said = re.search(r"Today (\d+) to (\d+) min", page)
    assert 9 * 3 <= int(said[1]) <= 9 * 6 and 4 * 3 <= int(said[2]) <= 4 * 6  # three minutes each, twice if forgotten
    assert Profile.objects.get(user=ada).new_questions_per_day == 63


def test_the_defaults_are_put_into_the_form_and_not_saved(as_ada: Client, ada: User):
    save(as_ada, new_questions_per_day="9", day_start="03:00", fuzz="off", zone="Europe/Berlin")
    page = as_ada.post("/settings/defaults/").content.decode()
    assert "was 9" in page and "was 03:00" in page and "was off" in page and "was Europe" not in page
    assert Profile.objects.get(user=ada).new_questions_per_day == 9


def test_what_is_scheduled_moves_only_when_asked_and_comes_back_by_one_undo(as_ada: Client, ada: User, deal: Deal):
    now = timezone.now()
    for card in deal(2):
        services.answer_card(card, Rating.EASY, ordinal=1, now=now)
    due = set(ada.cards.values_list("due_day", flat=True))
    save(as_ada, desired_retention="0.80")
    assert set(ada.cards.values_list("due_day", flat=True)) == due
    page = save(as_ada, desired_retention="0.80", move="on")
    assert "Nothing was changed. 2 cards moved." in page
    [moved] = set(ada.cards.values_list("due_day", flat=True))
    # Easy leaves 8.2956 days; at 0.80: 8.2956 / F x (0.8^(-1/0.1542) - 1), F = 0.9^(-1/0.1542) - 1, is 27.5
    assert (moved - study_day(now, "UTC", time(4))).days == pytest.approx(27.5, abs=0.6)
    services.undo(ada, services.last_action(ada).pk, now=now)
    assert set(ada.cards.values_list("due_day", flat=True)) == due
