"""Progress, readiness for a day, a card's history, and the same figures as CSV files."""
import csv

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from flashcards.access import card_for
from flashcards.card_history import CardHistory
from flashcards.overview import front
from progress.engine import connect
from progress.pages import ProgressPage
from progress.readiness_page import ReadinessPage
from progress.reading import Reading
from progress.sheets import SHEETS, Sheet


@require_safe
@login_required
def progress_page(request: HttpRequest) -> HttpResponse:
    """What the log says of the person's learning."""
    with connect() as connection:
        page = ProgressPage(Reading(connection, request.user, timezone.now()))
        return render(request, "progress/progress.html", {"page": page})


@require_safe
@login_required
def sheet_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """One report as a CSV file."""
    if slug not in SHEETS:
        raise Http404(f"no report {slug!r}")
    with connect() as connection:
        return as_csv(SHEETS[slug](Reading(connection, request.user, timezone.now())))


@require_safe
@login_required
def readiness_page(request: HttpRequest) -> HttpResponse:
    """How much will be remembered on a day to come, and what to answer until then."""
    with connect() as connection:
        page = ReadinessPage(Reading(connection, request.user, timezone.now()), request.GET.dict())
        return render(request, "progress/readiness.html", {"page": page})


@require_safe
@login_required
def readiness_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """What the readiness page shows by question, or its plan, as a CSV file."""
    with connect() as connection:
        page = ReadinessPage(Reading(connection, request.user, timezone.now()), request.GET.dict())
        sheet = {"questions": page.questions_sheet, "plan": page.plan_sheet}.get(slug)
        if sheet is None:
            raise Http404(f"no report {slug!r}")
        return as_csv(sheet)


@require_safe
@login_required
def card_page(request: HttpRequest, pk: int) -> HttpResponse:
    """How a card of the person's own stands, its memory curve, and all that was done with it."""
    card = card_for(request.user, pk)
    past = CardHistory(card, timezone.now())
    return render(request, "progress/card.html", {"card": card, "past": past, "front": front(card)})


def as_csv(sheet: Sheet) -> HttpResponse:
    """The sheet as a file; a text that a spreadsheet would take for a formula is given a quote in front."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{sheet.slug}.csv"'
    writer = csv.writer(response)
    writer.writerow(sheet.heads)
    for row in sheet.rows:
        writer.writerow([f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@" and cell else cell for cell in row])
    return response
