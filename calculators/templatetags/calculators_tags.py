"""How labs write numbers and pictures."""
from collections.abc import Iterable

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from calculators.models import quantity
from calculators.pictures import Shape

register = template.Library()


@register.filter
def figure(value: float, digits: int = 4) -> str:
    """A number to that many significant figures, no digit before the point dropped: "766.3", "8,192"."""
    return quantity.say(value, "", digits)


@register.filter
def percent(value: float, decimals: int = 1) -> str:
    """A share of 1 in per cent: "10.9%"."""
    return f"{value:.{decimals}%}"


@register.filter
def seconds(value: float) -> str:
    """A time in seconds as it is said: "83 ms", "3.07 s"."""
    return quantity.span(value)


@register.filter
def breakable(name: str) -> SafeString:
    """An identifier that may break after its underscores, never inside a word."""
    return format_html_join("", "{}<wbr>", ((part,) for part in str(name).replace("_", "_\n").split("\n")))


@register.filter
def svg(shapes: Iterable[Shape]) -> SafeString:
    """Shapes as SVG, a line each. Each escapes its own texts; a template's loop over them takes ten times as long."""
    return SafeString("".join(f"{shape.svg()}\n" for shape in shapes))
