"""What is done to a card beside answering it: its place in the drill, and its earlier answers; each can be undone."""
from datetime import datetime

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_POST

from flashcards import access, services
from flashcards.card_history import title_of
from flashcards.forms import DueForm
from flashcards.models import Card, Rating
from flashcards.overview import due_words
from flashcards.views import (
    UNDOABLE,
    desk_for,
    is_current,
    is_key,
    keep_draft,
    moved_on,
    next_turn,
    show,
    sitting_of,
    turn,
)


@require_POST
@login_required
def add(request: HttpRequest, pk: int) -> HttpResponse:
    """Have the card in today's line, before all others."""
    card, at = named(request, pk)
    return told(request, card, services.add_to_drill(card, **at), "Added: {it} comes first in today’s drill.")


@require_POST
@login_required
def suspend(request: HttpRequest, pk: int) -> HttpResponse:
    """Take the card out of the drill until the person wants it back."""
    card, at = named(request, pk)
    done = services.set_suspended(card, True, **at)
    return told(request, card, done, "Suspended: {it} stays out of your drill until you want it.")


@require_POST
@login_required
def unsuspend(request: HttpRequest, pk: int) -> HttpResponse:
    """Take the card back into the drill, due when it was."""
    card, at = named(request, pk)
    back = f"Back in your drill: {due_words(card, at['now']) or 'new'}."
    return told(request, card, services.set_suspended(card, False, **at), back)


@require_POST
@login_required
def bury(request: HttpRequest, pk: int) -> HttpResponse:
    """Put the card off to tomorrow."""
    card, at = named(request, pk)
    return told(request, card, services.bury(card, **at), "Put off: {it} comes up tomorrow.")


@require_POST
@login_required
def reset(request: HttpRequest, pk: int) -> HttpResponse:
    """Begin the card anew."""
    card, at = named(request, pk)
    return told(request, card, services.reset(card, **at), "Begun anew: {it} is as a new card, and its history stays.")


@require_POST
@login_required
def set_due(request: HttpRequest, pk: int) -> HttpResponse:
    """Have the card come back on a day that is typed; a fault keeps what was typed and changes nothing."""
    card = access.card_for(request.user, pk)
    desk = desk_for(request, card, sitting_of(request.POST))
    desk.due_form = DueForm(desk.study_day, request.POST)
    if is_current(card, request.POST) and not desk.due_form.is_valid():
        if not desk.can_be_posed:
            return turn(request, card, desk.sitting)
        keep_draft(request, desk)
        return show(request, desk)
    card, at = named(request, pk)
    done = at["ordinal"] == card.next_ordinal and services.set_due(card, desk.due_form.cleaned_data["due"], **at)
    card.refresh_from_db()
    return told(request, card, done, f"Due day set: {{it}} comes back {due_words(card, at['now'])}.")


@require_POST
@login_required
def amend(request: HttpRequest, pk: int) -> HttpResponse:
    """Let an earlier answer count as another grade."""
    card, at = named(request, pk)
    review, grade = request.POST.get("review", ""), request.POST.get("grade", "")
    if not is_key(review) or grade not in map(str, Rating.values):
        return told(request, card, False, "")
    rating = Rating(int(grade))
    done = services.amend(card, int(review), rating, **at)
    return told(request, card, done, f"Changed to {rating.label}; {now_due(request, pk, at['now'])}")


@require_POST
@login_required
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Leave an earlier answer out of the card's memory and of every count."""
    card, at = named(request, pk)
    review = request.POST.get("review", "")
    done = is_key(review) and services.remove(card, int(review), **at)
    return told(request, card, done, f"Removed, it no longer counts; {now_due(request, pk, at['now'])}")


def named(request: HttpRequest, pk: int) -> tuple[Card, dict[str, int | datetime]]:
    """The person's card, and what a service asks for: the log position that the page offered (0, which is taken, from
    a page that offered none), and now. What is typed on the page is kept."""
    card = access.card_for(request.user, pk)
    ordinal = card.next_ordinal if is_current(card, request.POST) else 0
    if ordinal:
        keep_draft(request, desk_for(request, card, sitting_of(request.POST)))
    return card, {"ordinal": ordinal, "now": timezone.now()}


def now_due(request: HttpRequest, pk: int, now: datetime) -> str:
    """When the card comes back by what was just changed: "it comes back on 22 December."."""
    words = due_words(access.card_for(request.user, pk), now)
    return f"it comes back {words}." if words else "it is as a new card."


def told(request: HttpRequest, card: Card, done: bool, words: str) -> HttpResponse:
    """What comes next, or the card's own page again, with what was done, or that the page was stale.

    `{it}` in the words is the card, which is named where another one comes next.
    """
    sitting = sitting_of(request.POST)
    if done:
        it = "it" if sitting.only == "this" else f"“{title_of(card)}”"
        messages.success(request, words.replace("{it}", it), extra_tags=UNDOABLE)
    else:
        messages.info(request, moved_on(sitting))
    return next_turn(request, sitting, card)
