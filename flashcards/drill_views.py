"""Drills by filters: the page that says what one would be, its beginning, and going on where nothing counts."""
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from flashcards import access, drills, services
from flashcards.drill_page import DrillPage
from flashcards.views import is_current, is_key, moved_on, next_turn, sitting_of, ticked


@require_safe
@login_required
def drill_page(request: HttpRequest) -> HttpResponse:
    """What a drill by the address's filters would be."""
    services.ensure_cards(request.user)
    return render(request, "flashcards/drill.html", {"page": DrillPage(request.user, timezone.now(), request.GET)})


@require_safe
@login_required
def begin(request: HttpRequest) -> HttpResponse:
    """Begin the drill that the address names: the review, with the instant in its address."""
    services.ensure_cards(request.user)
    drill = drills.begun(drills.drill_of(request.GET), timezone.now())
    return redirect(f"{reverse('flashcards:review')}?{urlencode(drill.fields, safe=',:')}")


@require_POST
@login_required
def go_on(request: HttpRequest, pk: int) -> HttpResponse:
    """Close the committed answer of a drill that doesn't count, and show its next card."""
    card, sitting = access.card_for(request.user, pk), sitting_of(request.POST)
    attempt, done = request.POST.get("attempt", ""), False
    if is_current(card, request.POST) and is_key(attempt):
        services.set_ticks(card, card.next_ordinal, ticked(request))
        done = services.leave_uncounted(
            card, ordinal=card.next_ordinal, now=timezone.now(), attempt_pk=int(attempt))
    if not done:
        messages.info(request, moved_on(sitting))
    return next_turn(request, sitting, card)
