"""What the sign-in pages say about this site."""
from django import template
from django.conf import settings
from django.forms import BoundField
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def signup_policy() -> str:
    """Who may make an account here: "open", "invite" or "closed"."""
    return settings.DRILL_SIGNUP


@register.simple_tag
def owner_email() -> str:
    """The address of the local owner's account."""
    return settings.DRILL_OWNER


@register.simple_tag
def labs_are_public() -> bool:
    """Whether the labs are open to people without an account."""
    return settings.DRILL_PUBLIC_LABS


@register.simple_tag
def typed(field: BoundField, help_text: str = "") -> SafeString:
    """The field itself, without words inside it; screen readers are pointed to the help and the fault below it."""
    told = [f"{field.auto_id}_error"] * bool(field.errors) + [f"{field.auto_id}_helptext"] * bool(help_text)
    return field.as_widget(attrs={"placeholder": False, "aria-describedby": " ".join(told) or False})
