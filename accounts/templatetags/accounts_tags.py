"""What the sign-in pages say about this site."""
from django import template
from django.conf import settings

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
