"""Quiet rooms: each open page asks every second, and most often nothing is new. That is answered here with one query,
ahead of most of the way that a request goes, since it is most of what a site with rooms is asked."""
import re
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, load_backend
from django.db import DEFAULT_DB_ALIAS, OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.models import User
from accounts.often import rows_of
from mocks import services
from mocks.glance import SEAT, SEATS, Standing, glance_of, instants

View = Callable[[HttpRequest], HttpResponse]
FEED = re.compile(r"/mock/([-\w]+)/feed/")
ACCOUNT = ("id", "password", "first_name", "is_active", "email")  # in the order of User's fields, as from_db needs them
ASKED = f"""
SELECT session.session_data, {", ".join(f"person.{name}" for name in ACCOUNT)}, {SEAT}
FROM {SEATS}
JOIN django_session AS session ON session.session_key = %(session)s AND session.expire_date > %(now)s
WHERE room.code = %(code)s
ORDER BY seat.id
"""


def answer_quiet_rooms(get_response: View) -> View:
    """Tell a page of a room that nothing is new (204); all else is answered as ever.

    Nothing is refused here and nothing shown: unless the session holds, is that of an active account, has not outlived
    a change of its password, and its person still has a seat that the team lets them take, the request goes on to those
    who judge it. Passed over are only messages and what closes staff answers: a 204 has none. Of a room that has news
    it is known from then on who asks, as django.contrib.auth would say after two queries more, and how it stands.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        found = FEED.fullmatch(request.path_info)
        if found and request.method == "GET" and is_quiet(request, found[1]):
            return HttpResponse(status=204)
        return get_response(request)

    return answer


def is_quiet(request: HttpRequest, code: str) -> bool:
    """Whether who asks is in the room and has all of its news; that they are there is noted."""
    if (key := request.session.session_key) is None:
        return False
    request.session.accessed = True  # what is answered depends on the cookie, as wherever somebody is signed in
    now = timezone.now()
    try:
        rows = rows_of(ASKED, {"session": key, "code": code} | instants(now))
    except OperationalError:  # the connection was lost since it was last used; whoever asks next gets a new one
        return False
    if (user := who_asks(request, rows)) is None:
        return False
    request.user = user
    glance = glance_of(user, [Standing(*row[1 + len(ACCOUNT):]) for row in rows])
    request.glance = glance
    told = (request.GET.get("after"), request.GET.get("here"))
    if glance is None or glance.is_alone or told != (str(glance.length), glance.here):
        return False
    if glance.to_be_seen:
        services.see(glance.interview, user, now)
    return True


def who_asks(request: HttpRequest, rows: Sequence[tuple[Any, ...]]) -> User | None:
    """The person in the room whose session it is, as django.contrib.auth.get_user would find them: of an account that
    may sign in, with the password that it was begun with. None where that is to be judged at length."""
    kept = request.session.decode(rows[0][0]) if rows else {}
    seated = (User.from_db(DEFAULT_DB_ALIAS, ACCOUNT, row[1:1 + len(ACCOUNT)]) for row in rows)
    user = next((user for user in seated if str(user.pk) == kept.get(SESSION_KEY)), None)
    if user is None or kept.get(BACKEND_SESSION_KEY) not in settings.AUTHENTICATION_BACKENDS:
        return None
    holds = constant_time_compare(kept.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())
    return user if holds and load_backend(kept[BACKEND_SESSION_KEY]).user_can_authenticate(user) else None
