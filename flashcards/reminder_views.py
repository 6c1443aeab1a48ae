"""The calendar at its secret address, and the link that stops the daily mail: both work signed out."""
from hashlib import sha256

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import CalendarKey
from flashcards import reminders


@require_safe
def calendar(request: HttpRequest, key: str) -> HttpResponse:
    """What falls due in the coming days, for a calendar that asks now and then; whoever knows the address may read."""
    keys = CalendarKey.objects.select_related("user__profile").filter(user__is_active=True)
    if (found := keys.filter(key=key).first()) is None:
        raise Http404("no such calendar")
    body = reminders.calendar(found, timezone.now())
    response = HttpResponse(body, content_type="text/calendar; charset=utf-8", headers={
        "ETag": f'"{sha256(body).hexdigest()[:32]}"', "Cache-Control": "private, max-age=900",
        "Content-Disposition": 'inline; filename="drillapp.ics"', "X-Robots-Tag": "noindex",
    })
    return get_conditional_response(request, etag=response["ETag"], response=response)


@require_POST
@login_required
def renew_calendar(request: HttpRequest) -> HttpResponse:
    """Make the person's calendar address, or a new one in the old one's place."""
    reminders.renew_calendar(request.user, timezone.now())
    messages.success(request, "The address below is new. One that you gave out before shows nothing now.")
    return redirect("flashcards:settings")


@require_POST
@login_required
def remove_calendar(request: HttpRequest) -> HttpResponse:
    reminders.remove_calendar(request.user)
    messages.success(request, "The calendar is gone; its address shows nothing now.")
    return redirect("flashcards:settings")


@csrf_exempt  # a mail program posts here by itself; the token says whose mail it is
@require_http_methods(["GET", "HEAD", "POST"])
def stop_mail(request: HttpRequest, token: str) -> HttpResponse:
    """Stop the daily mail of whom the link was sent to: a visit asks, a post does."""
    profile = reminders.reader_of(token)
    if profile is not None and request.method == "POST":
        reminders.stop(profile)
        profile.daily_mail = False
    return render(request, "flashcards/stop_mail.html", {"reader": profile}, status=200 if profile else 404)
