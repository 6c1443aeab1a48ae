"""Fit to my reviews: begin one, see what it was worth, schedule by it, and go back."""
from collections.abc import Sequence

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from drillapp.htmx import render_page, wants_fragment
from flashcards import adoption, works
from flashcards.models import Work
from progress import access
from progress.fit_page import FitPage
from progress.views import as_csv


@require_safe
@login_required
def fit_page(request: HttpRequest) -> HttpResponse:
    """How the latest fit stands; a page that waits for it asks again until it is done."""
    page = FitPage(request.user, timezone.now())
    if wants_fragment(request) and not page.waits:
        messages.info(request, page.outcome)
        if page.switched_last:  # the parameters in use stand beside what waited
            return HttpResponse(headers={"HX-Refresh": "true"})
    return render_page(request, "progress/fit.html", "progress/_fit_turn.html", {"page": page})


@require_safe
@login_required
def fit_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """One of the tables of the latest fit as a CSV file."""
    if (sheet := FitPage(request.user, timezone.now()).sheet(slug)) is None:
        raise Http404(f"no table {slug!r} of a fit")
    return as_csv(sheet)


@require_POST
@login_required
def start_fit(request: HttpRequest) -> HttpResponse:
    """Begin a fit to the log as it is now; one that is under way is shown."""
    work, is_new = works.begin(request.user, Work.Kind.FIT, now=timezone.now())
    if is_new:
        works.start(work)
    return redirect("progress:fit")


@require_POST
@login_required
def adopt(request: HttpRequest) -> HttpResponse:
    """Schedule the person's cards by a fit that was worth it."""
    fit = access.fit_for(request.user, request.POST.get("fit", ""))
    if not fit.result.get("worth_it"):
        messages.error(request, "Nothing was changed: that fit predicts later reviews no better than the defaults.")
    else:
        switch(request, fit.result["parameters"], fit, "Your cards go by your own parameters now.")
    return redirect("progress:fit")


@require_POST
@login_required
def restore(request: HttpRequest) -> HttpResponse:
    """Schedule the person's cards by earlier parameters, or the defaults, again."""
    row = access.adoption_for(request.user, request.POST.get("adoption", ""))
    which = "your earlier parameters" if row.parameters else "the defaults"
    switch(request, row.parameters, row.fit, f"Your cards go by {which} again.")
    return redirect("progress:fit")


def switch(request: HttpRequest, parameters: Sequence[float], fit: Work | None, done: str) -> None:
    """Schedule the person's cards by these parameters, at once or, with a long log, by a process of its own, and say
    so; `done` is what is said when it is done at once."""
    now = timezone.now()
    if adoption.is_long(request.user):
        adoption.begin(request.user, parameters, now=now, fit=fit)
    elif adoption.adopt(request.user, parameters, now=now, fit=fit):
        messages.success(request, f"{done} What is due stays where it is.")
    else:
        messages.info(request, "Your cards go by these parameters already.")
