"""How labs write numbers."""
from django import template

from calculators.models import quantity

register = template.Library()


@register.filter
def figure(value: float, digits: int = 4) -> str:
    """A number to that many significant figures, no digit before the point dropped: "766.3", "8,192"."""
    return quantity.say(value, "", digits)
