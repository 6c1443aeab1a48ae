"""Whose work and whose switches of parameters one may act on: one's own; any other is unknown (404)."""
from django.http import Http404
from django.shortcuts import get_object_or_404

from accounts.models import User
from flashcards.models import Adoption, Work


def fit_for(user: User, key: str) -> Work:
    """This person's fit that was done."""
    return get_object_or_404(Work, pk=_pk(key), user=user, kind=Work.Kind.FIT, done_at__isnull=False)


def adoption_for(user: User, key: str) -> Adoption:
    """A switch of this person's parameters; with "0" that to the defaults which everybody begins with, not saved."""
    if key == "0":
        return Adoption(user=user, parameters=[])
    return get_object_or_404(Adoption.objects.select_related("fit"), pk=_pk(key), user=user)


def _pk(key: str) -> int:
    if not (key.isascii() and key.isdecimal() and len(key) <= 18):
        raise Http404(f"{key!r} is no key")
    return int(key)
