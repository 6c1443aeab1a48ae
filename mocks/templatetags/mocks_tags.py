"""How a room writes times, and the name that a page gives an act."""
from uuid import uuid4

from django import template

from mocks.sides import Clock, mark_of

BAR = 176  # units of the bar that a clock fills, up to its wall

register = template.Library()


@register.filter
def clock(ms: int) -> str:
    """A span as a clock shows it: "4:12", "1:04:10"."""
    seconds = max(0, int(ms)) // 1000
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"


@register.filter
def spent_by(measured: Clock, now_ms: int) -> int:
    """What is spent by then, in ms."""
    return measured.at(now_ms)


@register.filter
def left_by(measured: Clock, now_ms: int) -> int:
    """Whole minutes left by then, rounded up; 0 when none is."""
    return max(0, -(-(measured.allowed_ms - measured.at(now_ms)) // 60_000))


@register.filter
def over_by(measured: Clock, now_ms: int) -> int:
    """How far it is past its wall by then, in ms; 0 before."""
    return max(0, measured.at(now_ms) - measured.allowed_ms)


@register.filter
def bar_by(measured: Clock, now_ms: int) -> str:
    """The bar's width by then."""
    return f"{BAR * min(1, measured.at(now_ms) / max(1, measured.allowed_ms)):.1f}"


@register.filter
def mark(text: str) -> str:
    """What a page names as the text that a field goes on from."""
    return mark_of(text)


@register.simple_tag
def act_key() -> str:
    """A new name for an act: the same form sent twice is one act."""
    return str(uuid4())
