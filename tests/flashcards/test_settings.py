"""Settings: saved in one press, a fault keeps what was typed, and what was is said."""
from datetime import time

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Profile, User

AS_IT_IS = {
    "desired_retention": "0.9", "new_questions_per_day": "2", "new_numbers_per_day": "6",
    "reviews_per_day": "24", "question_steps": "", "number_steps": "1m 10m",
    "relearning_steps": "10m", "day_start": "04:00", "zone": "UTC", "theme": "auto",
}


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
