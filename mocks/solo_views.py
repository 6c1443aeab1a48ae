"""Practising alone: the page on which an interview of one's own is put together and begun."""
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from calculators.models.base import Refusal
from drillapp.htmx import render_page
from mocks import services
from mocks.models import Interview
from mocks.room import Phase
from mocks.solo_page import SoloDesk, fresh_alone


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def solo_page(request: HttpRequest) -> HttpResponse:
    """Minutes, topics and levels in the address; sent, the interview begins, once.

    Nothing is closed meanwhile: who is alone with the bank has nobody to be fair to but themselves, and the room shows
    them the staff answer after each question anyway.
    """
    address, now = reverse("mocks:solo"), timezone.now()
    if request.method == "POST":
        return begun(request, SoloDesk(request.user, now, request.POST))
    if "seed" not in request.GET:
        return redirect(f"{address}?{fresh_alone(request.GET).urlencode()}")
    desk = SoloDesk(request.user, now, request.GET)
    return render_page(request, "mocks/solo.html", "mocks/_solo.html", {"desk": desk, "address": address})


def begun(request: HttpRequest, desk: SoloDesk) -> HttpResponse:
    """The room of the interview that a form begins; what can't be begun says why, with everything kept."""
    back = f"{reverse('mocks:solo')}?{desk.query}"
    if desk.form.errors or not desk.picks:
        return redirect(back)
    if Interview.objects.filter(code=desk.code).exclude(phase=Phase.LOBBY).exists():
        messages.info(request, "This one was begun before; here it is.")
        return redirect("mocks:room", desk.code)
    left = desk.unfinished
    row = services.plan_interview(
        None, desk.user, desk.user, desk.now, minutes=desk.minutes, plan=desk.plan_json(), spec=desk.spec_json(),
        code=desk.code)
    try:
        services.begin(desk.user, row, desk.now)
    except services.Missed:
        return redirect("mocks:room", row.code)
    except Refusal as refusal:
        row.delete()
        messages.info(request, f"{refusal} Propose others.")
        return redirect(back)
    for earlier in left:
        services.record(desk.user, earlier, "end", {}, desk.now)
    return redirect("mocks:room", row.code)
