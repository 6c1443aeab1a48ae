"""What is done to accounts: links that sign in, invitations, the owner, the time zone."""
import hashlib
import secrets
from datetime import datetime, timedelta
from zoneinfo import available_timezones

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.urls import reverse

from accounts.models import Profile, SigninLink, User

LINK_LIVES = timedelta(minutes=10)
INVITE_LIVES = timedelta(days=7)
INVITE_SALT = "accounts.invite"


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def make_account(email: str) -> User:
    """The account of that address, made without a password when there is none; the owner's may do everything."""
    user = User.objects.filter(email=email.lower()).first()
    if user is None:
        make = User.objects.create_superuser if email.lower() == settings.DRILL_OWNER else User.objects.create_user
        user = make(email)
    return user


@transaction.atomic
def signin_link(user: User, now: datetime) -> str:
    """A new address that signs this person in once, within ten minutes; an earlier unused one stops working."""
    user.signin_links.filter(used_at=None).delete()
    token = secrets.token_urlsafe(32)
    SigninLink.objects.create(user=user, digest=digest(token), made_at=now)
    return settings.SITE_URL + reverse("accounts:sign_in", args=[token])


def use_link(token: str, now: datetime) -> User | None:
    """The person whom this link signs in now; None when it was used, replaced, is too old or never was."""
    links = SigninLink.objects.filter(digest=digest(token))
    good = links.filter(used_at=None, made_at__gt=now - LINK_LIVES, user__is_active=True)
    # One statement decides, so of two clicks at once only one gets in.
    if not good.update(used_at=now):
        return None
    return links.get().user


def invite_link(email: str) -> str:
    """An address by which the person at `email` can make an account within seven days."""
    token = signing.dumps(email.lower(), salt=INVITE_SALT)
    return settings.SITE_URL + reverse("accounts:accept_invite", args=[token])


def read_invite(token: str) -> str | None:
    """The address that was invited; None when the invitation is forged, too old, or has become an account."""
    try:
        email = signing.loads(token, salt=INVITE_SALT, max_age=INVITE_LIVES)
    except signing.BadSignature:
        return None
    return None if User.objects.filter(email=email).exists() else email


def guess_zone(user: User, zone: str) -> bool:
    """Take the browser's time zone as the person's, unless one is known; whether it was taken."""
    if zone not in available_timezones():
        return False
    return bool(Profile.objects.filter(user=user, zone_known=False).update(zone=zone, zone_known=True))


@transaction.atomic
def delete_account(user: User) -> None:
    """Remove the account and, by their keys to it, all rows that are the person's."""
    User.objects.select_for_update().get(pk=user.pk).delete()
