"""Who may do what with an account."""
from django.conf import settings
from django.http import HttpRequest

from accounts import services

INVITE_KEY = "invite"  # in the session: the token of the invitation this visitor came by


def invited_email(request: HttpRequest) -> str | None:
    """The address this visitor was invited at, in lower case; None without an invitation that still holds."""
    token = request.session.get(INVITE_KEY)
    return services.read_invite(token) if token else None


def may_sign_up(request: HttpRequest) -> bool:
    """Whether this visitor may make an account under DRILL_SIGNUP."""
    if settings.DRILL_SIGNUP == "invite":
        return invited_email(request) is not None
    return settings.DRILL_SIGNUP == "open"
