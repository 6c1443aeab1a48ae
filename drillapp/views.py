"""The pages that belong to no app: is it alive, the keys, and what is said when something fails."""
from difflib import get_close_matches

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from calculators.labs import LABS
from drillapp.htmx import render_page


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """200 when the database answers, 503 when it does not."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return HttpResponse("the database does not answer\n", content_type="text/plain", status=503)
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def keys_page(request: HttpRequest) -> HttpResponse:
    """What each key does, on which page."""
    return render_page(request, "keys.html", "_keys.html", {})


def pages(signed_in: bool) -> dict[str, str]:
    """Address to name of the pages that a lost visitor may have meant."""
    found = {reverse("calculators:labs_page"): "Labs", reverse("keys_page"): "Keys"}
    found |= {reverse("calculators:lab_page", args=[lab.slug]): lab.title for lab in LABS.values()}
    if signed_in:
        own = {
            "review": "Review", "questions": "Questions", "numbers": "Numbers", "settings": "Settings",
            "history": "History",
        }
        found |= {reverse("questions:search"): "Search", reverse("questions:glossary"): "Glossary"}
        found[reverse("mocks:mock")] = "Mock"
        return found | {reverse(f"flashcards:{name}"): title for name, title in own.items()}
    return found | {reverse("account_login"): "Sign in", reverse("account_reset_password"): "Set a new password"}


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Name what is missing, and the nearest page that is not."""
    known = pages(request.user.is_authenticated)
    near = get_close_matches(request.path, known, n=1, cutoff=0.6)
    context = {"near": {"address": near[0], "name": known[near[0]]} if near else None}
    return render(request, "404.html", context, status=404)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Say that this page is somebody else’s to see or to change, with the reason where one was given, and where its
    visitor goes on when it is only too early."""
    way = getattr(exception, "way", None)
    return render(request, "403.html", {"reason": str(exception), "way": way}, status=403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Say that the form came from an old page, and how to send it after all."""
    return render(request, "csrf.html", status=403)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Say that the request can't be read; it may come from a host the site does not know, so nothing is looked up."""
    return HttpResponse(render(None, "400.html").content, status=400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Say that it is our fault, without asking the database, which may be what failed."""
    return HttpResponse(render(None, "500.html").content, status=500)
