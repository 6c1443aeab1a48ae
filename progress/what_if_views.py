"""What if: have the coming year played at each desired retention, and see what it asks and brings."""
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from drillapp.htmx import render_page, wants_fragment
from flashcards import services, works
from flashcards.models import Work
from progress.views import as_csv
from progress.what_if_page import WhatIfPage


@require_safe
@login_required
def what_if_page(request: HttpRequest) -> HttpResponse:
    """The year as it was last played; a page that waits for it asks again until it is done."""
    page = WhatIfPage(request.user, timezone.now())
    if wants_fragment(request) and not page.state.is_under_way:
        messages.info(request, page.outcome)
    return render_page(request, "progress/what_if.html", "progress/_what_if_turn.html", {"page": page})


@require_safe
@login_required
def what_if_csv(request: HttpRequest) -> HttpResponse:
    """The year as it was last played, as a CSV file."""
    if (sheet := WhatIfPage(request.user, timezone.now()).sheet) is None:
        raise Http404("no year was played")
    return as_csv(sheet)


@require_POST
@login_required
def start_what_if(request: HttpRequest) -> HttpResponse:
    """Have the year played from the cards as they stand now; one that is being played is shown."""
    services.ensure_cards(request.user)
    work, is_new = works.begin(request.user, Work.Kind.WHAT_IF, now=timezone.now())
    if is_new:
        works.start(work)
    return redirect("progress:what_if")
