"""Catching up: the page with a plan in its address, the act that applies it, and its undo."""
from datetime import timedelta

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from drillapp.htmx import render_page
from flashcards import backlog, services
from flashcards.catch_up_page import CatchUp
from flashcards.study_day import study_day
from flashcards.views import is_key

CHANGED = "Nothing was moved: what is due has changed since this page was made. Here is the plan as of now."


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def catch_up_page(request: HttpRequest) -> HttpResponse:
    """A plan for what is overdue, its days or minutes in the address; sent, it gives the cards their new days, once."""
    services.ensure_cards(request.user)
    now, profile = timezone.now(), request.user.profile
    today = study_day(now, profile.zone, profile.day_start)
    if request.method != "POST":
        page = CatchUp(request.user, today, request.GET)
        planned = page.count and page.plan
        whole, fragment = ("catch_up.html", "_plan.html") if planned else ("caught_up.html", "caught_up.html")
        return render_page(request, f"flashcards/{whole}", f"flashcards/{fragment}", {"page": page})
    page = CatchUp(request.user, today, request.POST)
    plan = backlog.spread(request.user, page.wanted, request.POST.get("seal", ""), now)
    if plan is None:
        messages.info(request, CHANGED if page.count else "Nothing is overdue; nothing was moved.")
        return redirect("flashcards:catch_up" if page.count else "flashcards:today")
    last = today + timedelta(days=len(plan.days) - 1)
    messages.success(request, f"Spread out: the last of them come on {last:%A} {last.day} {last:%B}.")
    return redirect("flashcards:today")


@require_POST
@login_required
def undo_catch_up(request: HttpRequest) -> HttpResponse:
    """Put every date back that a plan moved."""
    review = request.POST.get("review", "")
    undone = services.undo_any(request.user, int(review), now=timezone.now()) if is_key(review) else None
    if undone is None:
        messages.info(request, "Nothing was undone: it was taken back before.")
    else:
        messages.info(request, "Undone: every card is due when it was before.")
    return redirect("flashcards:today")
