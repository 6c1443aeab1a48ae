"""The Questions page and a question's own page; what is committed and graded there goes through the review's verbs."""
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from drillapp.htmx import render_page, wants_fragment
from flashcards import access, services
from flashcards.desk import Sitting
from flashcards.models import Card
from flashcards.print_page import PrintPage
from flashcards.question_list import QuestionList
from flashcards.views import MOVED_ON_HERE, is_current, is_key, next_turn, ticked, turn

HERE = Sitting(only="this")
MOST_NOTED = 20_000


@require_safe
@login_required
def questions_page(request: HttpRequest) -> HttpResponse:
    """Every question by topic, as it stands with the person; filters and text are in the address."""
    services.ensure_cards(request.user)
    listed = QuestionList(request.user, timezone.now(), request.GET)
    return render_page(request, "flashcards/questions.html", "flashcards/_questions.html", {"list": listed})


@require_safe
@login_required
def print_page(request: HttpRequest) -> HttpResponse:
    """The questions that the address's filters leave, on paper; answers only where the person has committed before."""
    services.ensure_cards(request.user)
    page = PrintPage(request.user, timezone.now(), request.GET)
    return render(request, "flashcards/print.html", {"page": page})


@require_safe
@login_required
def question_page(request: HttpRequest, slug: str) -> HttpResponse:
    """A question to commit on, then its answer; with the person's own history and notes."""
    services.ensure_cards(request.user)
    return turn(request, access.question_card_for(request.user, slug), HERE)


@require_POST
@login_required
def note(request: HttpRequest, slug: str) -> HttpResponse:
    """Keep what the person notes down about the question."""
    return keep_note(request, access.question_card_for(request.user, slug), "flashcards:question")


@require_POST
@login_required
def number_note(request: HttpRequest, slug: str) -> HttpResponse:
    """Keep what the person notes down about the number card."""
    return keep_note(request, access.number_card_for(request.user, slug), "flashcards:number")


def keep_note(request: HttpRequest, card: Card, page: str) -> HttpResponse:
    """Keep what was sent about what the card asks, and say so: to htmx alone, else on the item's page of this name."""
    text = request.POST.get("text", "").replace("\0", "").replace("\r\n", "\n")
    fits = len(text) <= MOST_NOTED
    services.save_memo(request.user, card.item, text[:MOST_NOTED], timezone.now())
    kept = "Kept; only you see it." if fits else f"Kept up to its first {MOST_NOTED:,} characters, which is the most."
    if wants_fragment(request):
        return HttpResponse(kept)
    messages.success(request, kept)
    return redirect(page, card.item.slug)


@require_POST
@login_required
def leave(request: HttpRequest, pk: int) -> HttpResponse:
    """Close the committed answer without a grade: it stays in the history, and nothing is scheduled by it."""
    card, attempt = access.card_for(request.user, pk), request.POST.get("attempt", "")
    if is_current(card, request.POST) and is_key(attempt):
        services.set_ticks(card, card.next_ordinal, ticked(request))
        at = {"ordinal": card.next_ordinal, "now": timezone.now()}
        if services.leave_uncounted(card, attempt_pk=int(attempt), **at):
            messages.info(request, "Left uncounted: it stands in your history, and no interval moved.")
            return next_turn(request, HERE, card)
    messages.info(request, MOVED_ON_HERE)
    return next_turn(request, HERE, card)
