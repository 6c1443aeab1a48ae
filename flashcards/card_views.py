"""What is done to a card beside answering it: its place in the drill, and its earlier answers; each can be undone."""
from collections.abc import Mapping
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
    already = "it is suspended; take it back into your drill first." if card.suspended else "it comes first already."
    done = services.add_to_drill(card, **at)
    return told(request, card, at, done, "Added: {it} comes first in today’s drill.", already)


@require_POST
@login_required
def suspend(request: HttpRequest, pk: int) -> HttpResponse:
    """Take the card out of the drill until the person wants it back."""
    card, at = named(request, pk)
    done = services.set_suspended(card, True, **at)
    words = "Suspended: {it} stays out of your drill until you want it."
    return told(request, card, at, done, words, "it is suspended already.")


@require_POST
@login_required
def unsuspend(request: HttpRequest, pk: int) -> HttpResponse:
    """Take the card back into the drill, due when it was."""
    card, at = named(request, pk)
    back = f"Back in your drill: {due_words(card, at['now']) or 'new'}."
    return told(request, card, at, services.set_suspended(card, False, **at), back, "it is in your drill already.")


@require_POST
@login_required
def bury(request: HttpRequest, pk: int) -> HttpResponse:
    """Put the card off to tomorrow."""
    card, at = named(request, pk)
    done = services.bury(card, **at)
    return told(request, card, at, done, "Put off: {it} comes up tomorrow.", "it is put off to tomorrow already.")


@require_POST
@login_required
def reset(request: HttpRequest, pk: int) -> HttpResponse:
    """Begin the card anew."""
    card, at = named(request, pk)
    words = "Begun anew: {it} is as a new card, and its history stays."
    return told(request, card, at, services.reset(card, **at), words, "it is as a new card already.")


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
    words = f"Due day set: {{it}} comes back {due_words(card, at['now'])}."
    return told(request, card, at, done, words, "a new card has no due day; it comes among the day’s new ones.")


@require_POST
@login_required
def amend(request: HttpRequest, pk: int) -> HttpResponse:
    """Let an earlier answer count as another grade."""
    card, at = named(request, pk)
    review, grade = request.POST.get("review", ""), request.POST.get("grade", "")
    if not is_key(review) or grade not in map(str, Rating.values):
        return told(request, card, at, False, "", "no answer was named, or no grade.")
    rating = Rating(int(grade))
    done = services.amend(card, int(review), rating, **at)
    words = f"Changed to {rating.label}; {now_due(request, pk, at['now'])}"
    return told(request, card, at, done, words, f"that answer counts as {rating.label} already, or no longer counts.")


@require_POST
@login_required
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Leave an earlier answer out of the card's memory and of every count."""
    card, at = named(request, pk)
    review = request.POST.get("review", "")
    done = is_key(review) and services.remove(card, int(review), **at)
    words = f"Removed, it no longer counts; {now_due(request, pk, at['now'])}"
    return told(request, card, at, done, words, "that answer no longer counts.")


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


def told(
    request: HttpRequest, card: Card, at: Mapping[str, int | datetime], done: bool, words: str, already: str
) -> HttpResponse:
    """What comes next, or the card's own page again, with what was done, or why nothing was: because the page was
    stale, or (`already`) because of how the card stands.

    `{it}` in the words is the card, which is named where another one comes next.
    """
    sitting = sitting_of(request.POST)
    if done:
        it = "it" if sitting.only == "this" else f"“{title_of(card)}”"
        messages.success(request, words.replace("{it}", it), extra_tags=UNDOABLE)
    elif at["ordinal"] == access.card_for(request.user, card.pk).next_ordinal:
        messages.info(request, f"Nothing changed: {already}")
    else:
        messages.info(request, moved_on(sitting))
    return next_turn(request, sitting, card)
