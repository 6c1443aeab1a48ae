"""What django-allauth asks about this site: who may make an account, and what a fault is called."""
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.utils.http import urlencode

from accounts import access


class Adapter(DefaultAccountAdapter):
    error_messages = DefaultAccountAdapter.error_messages | {
        "account_inactive": "This account is switched off. Ask whoever runs this site.",
        "email_password_mismatch": "This address and this password don't belong together.",
        "too_many_login_attempts": "Too many tries with this address. Wait five minutes, then try again.",
        "rate_limited": "Too many tries. Wait a few minutes, then try again.",
        "email_taken": "There is an account with this address already. Sign in, or set a new password.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Whether this visitor may make an account."""
        return access.may_sign_up(request)

    def is_email_verified(self, request: HttpRequest, email: str) -> bool:
        """An invited address was reached by its invitation, so it needs no second letter."""
        return access.was_written_to(request, email) or super().is_email_verified(request, email)

    def get_email_verification_redirect_url(self, email_address: EmailAddress) -> str:
        """Sign-in, and from there to where the visitor was about to go."""
        address = super().get_email_verification_redirect_url(email_address)
        back = self.request.session.get(access.BACK_KEY)
        return f"{resolve_url(address)}?{urlencode({'next': back})}" if back else address

    def add_message(self, *args: object, **kwargs: object) -> None:
        """Say nothing: the page that follows shows what was done."""
