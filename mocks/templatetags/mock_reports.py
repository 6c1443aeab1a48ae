"""Scores and times as the pages of an interview say them, and the score sheet of who scores."""
from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.template import RequestContext
from django.utils import timezone

from flashcards.templatetags.flashcards_tags import clock
from mocks.access import Presence
from mocks.report_page import ReportPage
from mocks.score_page import ScoreSheet

register = template.Library()


@register.filter
def clock_ms(span_ms: float) -> str:
    """A span as a clock shows it: 520,000 ms is "8:40"."""
    return clock(int(span_ms / 1000))


@register.filter
def whole_minutes(span_ms: float) -> str:
    """A span in minutes, as short as it can be said: "45", "7.5"."""
    return score(round(span_ms / 60_000, 1))


@register.filter
def score(value: float | None) -> str:
    """A score or a sum of scores: "9", "9.5"; a dash for none."""
    return "–" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


@register.filter
def signed(value: int) -> str:
    """A difference with its sign: "−2", "+1"."""
    return f"−{-value}" if value < 0 else f"+{value}"


@register.filter
def percent(share: float) -> str:
    return f"{share:.0%}"


@register.filter
def item(values: Sequence[Any], at: int) -> Any:
    """The value at that place."""
    return values[at]


@register.inclusion_tag("mocks/_call.html", takes_context=True)
def score_desk(context: RequestContext, presence: Presence) -> dict[str, Any]:
    """What an interviewer does once the questions are asked: their score sheet, and when it is in, all side by side."""
    return desk_context(presence, ScoreSheet(presence)) | {"csrf_token": context.get("csrf_token")}


def desk_context(presence: Presence, sheet: ScoreSheet, sent: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What mocks/_call.html shows; `sent` names what was just settled, as a report's address does."""
    page = ReportPage(presence, timezone.now(), sent) if sheet.is_in else None
    return {"sheet": sheet, "page": page, "code": presence.interview.code, "target": "#scores",
            "points_target": "#compared"}
