"""What tells a person that something is due while they are elsewhere: a calendar to subscribe to, and a daily mail."""
import secrets
from datetime import date, datetime, timedelta
from urllib.parse import urlsplit

import icalendar
from django.conf import settings
from django.core import signing
from django.core.mail import EmailMultiAlternatives
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse

from accounts.models import CalendarKey, Profile, User
from flashcards import queue
from flashcards.study_day import start_of, study_day
from flashcards.templatetags.flashcards_tags import minutes_words

CALENDAR_DAYS = 30
STOP = "stop the daily mail"  # the salt of the link that does


# The calendar

def renew_calendar(user: User, now: datetime) -> CalendarKey:
    """A calendar address for the person; an older one is a stranger's from now on."""
    made, _ = CalendarKey.objects.update_or_create(
        user=user, defaults={"key": secrets.token_urlsafe(32), "made_at": now})
    return made


def remove_calendar(user: User) -> None:
    CalendarKey.objects.filter(user=user).delete()


def calendar_address(key: CalendarKey) -> str:
    return settings.SITE_URL + reverse("flashcards:calendar", args=[key.key])


def calendar(key: CalendarKey, now: datetime) -> bytes:
    """The coming 30 study days as an iCalendar (RFC 5545): a day's event for each on which something falls due.

    It is the same, byte for byte, until a card moves or the day ends.
    """
    user, profile = key.user, key.user.profile
    today = study_day(now, profile.zone, profile.day_start)
    made = icalendar.Calendar()
    made.add("prodid", "-//drillapp//due cards//EN")
    made.add("version", "2.0")
    made.add("x-wr-calname", "drillapp")
    made.add("x-published-ttl", "PT1H")
    for ahead in queue.ahead(user, today, CALENDAR_DAYS):
        if ahead.cards:
            made.add_component(_event(key, ahead, start_of(today, profile.zone, profile.day_start)))
    return made.to_ical()


def _event(key: CalendarKey, ahead: queue.Ahead, stamp: datetime) -> icalendar.Event:
    event = icalendar.Event()
    event.add("uid", f"due-{ahead.day:%Y%m%d}-{key.pk}@{urlsplit(settings.SITE_URL).hostname}")
    event.add("dtstamp", stamp)
    event.add("dtstart", ahead.day)
    event.add("dtend", ahead.day + timedelta(days=1))
    event.add("summary", due_line(ahead))
    event.add("url", settings.SITE_URL + reverse("flashcards:today"))
    event.add("transp", "TRANSPARENT")  # it makes nobody busy
    return event


def due_line(ahead: queue.Ahead) -> str:
    """What falls due on a day, in a line: "12 due, about 18 minutes"."""
    return f"{ahead.cards} due, about {minutes_words(max(round(ahead.seconds / 60), 1))}"


# The daily mail

def send_due(now: datetime) -> tuple[int, list[str]]:
    """Mail each person who asked for it what is due today, once a study day and not before their hour.

    How many were sent, and of each that could not be, why. Two that run at once send no mail twice: the day is written
    before the mail goes, and taken back when it can't.
    """
    sent, faults = 0, []
    for profile in Profile.objects.filter(daily_mail=True, user__is_active=True).select_related("user"):
        day = study_day(now, profile.zone, profile.day_start)
        unsent = Profile.objects.filter(pk=profile.pk, daily_mail=True).filter(
            Q(mailed_on__lt=day) | Q(mailed_on__isnull=True))
        if is_time(profile, now) and unsent.update(mailed_on=day):
            try:
                sent += send_one(profile.user, day)
            except OSError as fault:  # of the connection, or of what the mail server says
                Profile.objects.filter(pk=profile.pk).update(mailed_on=profile.mailed_on)
                faults.append(f"{profile.user.email}: {fault}")
    return sent, faults


def is_time(profile: Profile, now: datetime) -> bool:
    """Whether the study day has come to the hour at which the person wants the mail."""
    local, start = profile.local(now), profile.day_start
    since_start = (local.hour * 60 + local.minute - start.hour * 60 - start.minute) % (24 * 60)
    wanted = (profile.mail_at.hour * 60 + profile.mail_at.minute - start.hour * 60 - start.minute) % (24 * 60)
    return since_start >= wanted


def send_one(user: User, day: date) -> int:
    """Mail one person; 0 without a mail when nothing is due."""
    ahead = queue.ahead(user, day, 1)[0]
    if not ahead.cards:
        return 0
    stop = settings.SITE_URL + reverse("flashcards:stop_mail", args=[signing.dumps(user.pk, salt=STOP)])
    said = {"name": user.name, "line": due_line(ahead), "today": settings.SITE_URL + reverse("flashcards:today"),
            "stop": stop}
    mail = EmailMultiAlternatives(
        f"drillapp: {due_line(ahead)}", render_to_string("flashcards/daily_mail.txt", said), to=[user.email],
        headers={"List-Unsubscribe": f"<{stop}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"})
    return mail.send()


def reader_of(token: str) -> Profile | None:
    """Whose mail a link stops; None for one that was not made here."""
    try:
        return Profile.objects.filter(user=signing.loads(token, salt=STOP)).first()
    except signing.BadSignature:
        return None


def stop(profile: Profile) -> None:
    Profile.objects.filter(pk=profile.pk).update(daily_mail=False)
