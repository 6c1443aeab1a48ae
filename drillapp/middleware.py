"""What is answered where the view itself has no page to show."""
from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils import timezone
from django.utils.http import urlencode

from drillapp import backups
from drillapp.htmx import wants_fragment
from questions.access import embargo_on

View = Callable[[HttpRequest], HttpResponse]
# What stays open to somebody who is being interviewed, as it tells nothing of a staff answer; a new address is closed
# until it is named here. Of the rooms only the person's own is open.
OPEN_IN_AN_INTERVIEW = {
    "healthz", "keys_page", "flashcards:today", "flashcards:predict", "flashcards:calendar", "flashcards:stop_mail",
    "flashcards:settings", "flashcards:effect", "flashcards:default_settings", "flashcards:moving",
    "flashcards:renew_calendar", "flashcards:remove_calendar", "questions:glossary", "admin:logout", "mocks:mock",
    "mocks:join", "mocks:team",
    "mocks:feed",  # asked every second: it judges by itself, and only where there is something to tell
}
OPEN_SPACES = {"accounts", "calculators"}
OWN_ROOM = {"mocks:room", "mocks:act", "mocks:lab"}


def lead_back(get_response: View) -> View:
    """Whoever sent a form and is signed out by then comes back, once signed in, to the page it was on: the form's own
    address can't be visited. htmx gets a note to show above that page, so that what is typed there stays."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        sign_in = resolve_url(settings.LOGIN_URL)
        if response.status_code != 302 or response.url != redirect_to_login(request.get_full_path()).url:
            return response
        if wants_fragment(request):
            return render(request, "signed_out.html", status=403)
        if request.method in ("GET", "HEAD"):
            return response
        return redirect(f"{sign_in}?{urlencode({'next': page_of(request)})}")

    return answer


def keep_daily_copy(get_response: View) -> View:
    """The first answer of a day has the database copied by a process of its own; nobody waits for it."""
    looked = None

    def answer(request: HttpRequest) -> HttpResponse:
        nonlocal looked
        response = get_response(request)
        if looked != (today := timezone.now().date()):
            looked = today
            backups.begin_daily(today)
        return response

    return answer


class CloseAnswers:
    """While somebody is interviewed the bank's staff answers are closed to them, wherever the site has them."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: View, args: list[str], kwargs: dict[str, object]
    ) -> HttpResponse | None:
        """The page that says so, in place of one that is closed to this person now."""
        match = request.resolver_match
        is_open = match.view_name in OPEN_IN_AN_INTERVIEW or match.view_name.startswith("account_")
        if is_open or match.namespace in OPEN_SPACES or not request.user.is_authenticated:
            return None
        room = kwargs["code"] if match.view_name in OWN_ROOM else ""
        embargo = embargo_on(request.user, timezone.now(), own=room)
        if embargo is None:
            return None
        return render(request, "closed.html", {"embargo": embargo}, status=403)


def show_forms_address(get_response: View) -> View:
    """An address that only takes forms gets a page in words when it is visited."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if response.status_code != 405 or request.method != "GET":
            return response
        page = render(request, "405.html", status=405)
        page["Allow"] = response["Allow"]
        return page

    return answer


def page_of(request: HttpRequest) -> str:
    """The address on this site of the page that sent the request; "/" when the browser does not tell."""
    try:
        came_from = urlsplit(request.headers.get("Referer", ""))
    except ValueError:
        return "/"
    if came_from.netloc != request.get_host():
        return "/"
    return came_from.path + (f"?{came_from.query}" if came_from.query else "")
