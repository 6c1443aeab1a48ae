"""What a person sets: the zone guessed once, and the settings form."""
from datetime import time

import pytest
from django.test import Client

from accounts.forms import ProfileForm, read_steps, zones
from accounts.models import Profile, User

GOOD = {
    "desired_retention": "0.92", "new_questions_per_day": "1", "new_numbers_per_day": "6",
    "reviews_per_day": "24", "question_steps": "", "number_steps": "1m 10m",
    "relearning_steps": "10m", "day_start": "04:00", "zone": "Europe/Berlin", "theme": "dark",
    "maximum_interval": "36500", "interview_day": "", "backlog_order": "recall", "new_place": "among", "fuzz": "on",
    "leech_lapses": "8", "single_keys": "on", **{f"easy_{at}": "2" for at in range(7)},
}  # fmt: skip


def test_a_new_person_begins_with_few_cards_and_no_steps_for_questions(ada: User) -> None:
    now = ada.profile
    assert (now.desired_retention, now.fsrs_parameters, now.day_start) == (0.9, [], time(4))
    assert (now.new_questions_per_day, now.new_numbers_per_day, now.reviews_per_day) == (2, 6, 24)
    assert (now.question_steps, now.number_steps, now.relearning_steps) == ("", "1m 10m", "10m")
    assert (now.fuzz, now.easy_days, now.interview_day, now.backlog_order) == (True, "2222222", None, "recall")


def test_the_browsers_zone_is_taken_once(as_ada: Client, ada: User):
    as_ada.post("/accounts/zone/", {"zone": "Asia/Tokyo"})
    as_ada.post("/accounts/zone/", {"zone": "Europe/Berlin"})
    ada.profile.refresh_from_db()
    assert (ada.profile.zone, ada.profile.zone_known) == ("Asia/Tokyo", True)


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../../etc/passwd", "x" * 500])
def test_a_zone_that_is_none_changes_nothing(as_ada: Client, ada: User, zone: str):
    assert as_ada.post("/accounts/zone/", {"zone": zone}).status_code == 204
    ada.profile.refresh_from_db()
    assert (ada.profile.zone, ada.profile.zone_known) == ("UTC", False)


def test_the_page_asks_for_the_zone_only_while_it_is_unknown(as_ada: Client, client: Client):
    assert "js/zone.js" in as_ada.get("/keys/").content.decode()
    as_ada.post("/accounts/zone/", {"zone": "Asia/Tokyo"})
    assert "js/zone.js" not in as_ada.get("/keys/").content.decode()
    client.logout()
    assert "js/zone.js" not in client.get("/keys/").content.decode()


def test_a_zone_set_by_the_person_is_no_guess(ada: User):
    form = ProfileForm(GOOD, instance=ada.profile)
    assert form.is_valid(), form.errors
    form.save()
    saved = Profile.objects.get(user=ada)
    assert (saved.zone, saved.zone_known, saved.theme, saved.desired_retention) == ("Europe/Berlin", True, "dark", 0.92)


@pytest.mark.parametrize(
    ("field", "typed", "sentence"),
    [
        ("desired_retention", "0.98", "A number from 0.80 to 0.97."),
        ("desired_retention", "ninety", "A number from 0.80 to 0.97."),
        ("desired_retention", "nan", "A number from 0.80 to 0.97."),
        ("new_questions_per_day", "-1", "A whole number from 0 to 63."),
        ("reviews_per_day", "1e9", "A whole number from 0 to 999."),
        ("day_start", "25:00", "A time from 00:00 to 23:59, such as 04:00."),
        ("relearning_steps", "ten minutes", "Write times with their units"),
        ("relearning_steps", "1d", "Each step takes from 1 minute to under a day"),
    ],
)
def test_a_bad_value_gets_a_sentence_and_stays(ada: User, field: str, typed: str, sentence: str):
    form = ProfileForm(GOOD | {field: typed}, instance=ada.profile)
    assert sentence in form.errors[field][0]
    assert f'value="{typed}"' in str(form[field])
    assert 'aria-invalid="true"' in str(form[field])


@pytest.mark.parametrize(
    ("typed", "kept"),
    [("", ""), ("1m 10m", "1m 10m"), ("1 min, 10 min", "1m 10m"), ("10M;1H", "10m 1h"), ("23h", "23h")],
)
def test_steps_are_kept_in_one_form(typed: str, kept: str):
    assert read_steps(typed) == kept
    assert read_steps(kept) == kept


def test_every_zone_offered_is_one_that_the_profile_takes():
    assert {"UTC", "Europe/Berlin", "America/New_York"} <= set(zones())
    for validator in Profile._meta.get_field("zone").validators:
        for name in zones():
            validator(name)


def test_an_old_zone_name_stays_choosable_for_its_person(ada: User):
    ada.profile.zone = "US/Pacific"
    form = ProfileForm(GOOD | {"zone": "US/Pacific"}, instance=ada.profile)
    assert form.is_valid()
    assert "US/Pacific" not in dict(ProfileForm(instance=Profile()).fields["zone"].choices)


def test_a_retention_reads_as_two_decimals_and_stays_as_typed(ada: User):
    assert 'value="0.90"' in str(ProfileForm(instance=ada.profile)["desired_retention"])
    sent = ProfileForm(GOOD | {"desired_retention": "0.9"}, instance=ada.profile)
    assert 'value="0.9"' in str(sent["desired_retention"])
    assert "desired_retention" not in sent.changed_data


def test_saving_leaves_alone_what_the_form_does_not_hold(ada: User):
    form = ProfileForm(GOOD, instance=Profile.objects.get(user=ada))
    assert form.is_valid()
    Profile.objects.filter(user=ada).update(fsrs_parameters=[1.0], mailed_on="2026-03-02")  # meanwhile
    form.save()
    profile = Profile.objects.get(user=ada)
    assert (profile.fsrs_parameters, str(profile.mailed_on), profile.theme) == ([1.0], "2026-03-02", "dark")
