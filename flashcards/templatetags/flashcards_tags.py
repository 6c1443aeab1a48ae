"""Words for times and days on the learner's pages, and what the labs' pages show of the learner."""
from datetime import date
from typing import Any

from django import template
from django.template import RequestContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from flashcards import predictions
from flashcards.hits import next_words
from questions.search import Hit

register = template.Library()
SMALL_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@register.filter
def spent(seconds: float) -> str:
    """A time taken, in words: 171 is "2 min 51 s"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@register.filter
def clock(seconds: float) -> str:
    """A time as a clock shows it: 171 is "2:51"."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"


@register.filter
def minutes_words(minutes: int) -> str:
    """Minutes to come, in words: "1 minute", "31 minutes", "1 h 10 min"."""
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
    return "1 minute" if minutes == 1 else f"{minutes} minutes"


@register.filter
def day_words(day: date, today: date) -> str:
    """A day seen from today: "today", "tomorrow", "on 22 December", with its year when that is another."""
    distance = (day - today).days
    if distance <= 1:
        return "tomorrow" if distance == 1 else "today"
    return f"on {day.day} {day:%B}" + (f" {day.year}" if day.year != today.year else "")


@register.filter
def number_word(number: int) -> str:
    """A small count as a word: "four"; a large one in figures."""
    return SMALL_NUMBERS[number] if number < len(SMALL_NUMBERS) else f"{number:,}"


@register.filter
def thousands(number: int) -> str:
    """A whole number with its thousands apart: "2,045"."""
    return f"{number:,}"


@register.simple_tag
def with_next(user: User, hits: list[Hit]) -> list[tuple[Hit, str]]:
    """The hits of a search, each with when it is asked next."""
    return list(zip(hits, next_words(user, hits, timezone.now()), strict=True))


@register.inclusion_tag("flashcards/_predict.html", takes_context=True)
def predict_form(context: RequestContext) -> dict[str, Any]:
    """The form that says a lab's next step first, and the score so far.

    What a person says who is signed in is kept, and their score is of that lab; anybody else's is in the address alone.
    """
    stage, user = context["stage"], context["request"].user
    kept = user.is_authenticated and not context.get("in_room")  # what is said in an interview is the room's
    right, asked = predictions.score_of(user, stage.lab.slug) if kept else stage.score
    return {
        "stage": stage, "embedded": context.get("embedded"), "csrf_token": context.get("csrf_token"), "kept": kept,
        "action": reverse("flashcards:predict", args=[stage.lab.slug]) if kept else stage.reset,
        "right": right, "asked": asked,
    }
