"""Who may do what with an account."""
from django.conf import settings
from django.http import HttpRequest
from django.utils.module_loading import import_string

from accounts import services

# In the session: the token of the invitation this visitor came by, and where they go on once they have an account.
INVITE_KEY, BACK_KEY = "invite", "back"


def invited_email(request: HttpRequest) -> str | None:
    """The address this visitor was invited at, in lower case, "" when the invitation is for whoever holds it; None
    without an invitation that still holds."""
    if not (token := request.session.get(INVITE_KEY)):
        return None
    found = (import_string(read)(token) for read in settings.DRILL_INVITATIONS)
    return next((email for email in found if email is not None), None)


def was_written_to(request: HttpRequest, email: str) -> bool:
    """Whether this visitor came by an invitation that whoever runs the site made for this address."""
    return email.lower() == services.read_invite(request.session.get(INVITE_KEY, ""))


def may_sign_up(request: HttpRequest) -> bool:
    """Whether this visitor may make an account under DRILL_SIGNUP."""
    if settings.DRILL_SIGNUP == "invite":
        return invited_email(request) is not None
    return settings.DRILL_SIGNUP == "open"
