"""The History page: all that the person did to cards, and the undo of any of it."""
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from flashcards import services
from flashcards.action_list import ActionList
from flashcards.card_history import deed, title_of
from flashcards.models import Review
from flashcards.views import is_key


@require_safe
@login_required
def history_page(request: HttpRequest) -> HttpResponse:
    """What the person did, the latest first; the page is in the address."""
    return render(request, "flashcards/history.html", {"list": ActionList(request.user, request.GET.get("page", "1"))})


@require_POST
@login_required
def undo_action(request: HttpRequest) -> HttpResponse:
    """Take back one action, of any age, with all that the same act did."""
    review, number = request.POST.get("review", ""), request.POST.get("page", "")
    undone = services.undo_any(request.user, int(review), now=timezone.now()) if is_key(review) else None
    if undone is None:
        messages.info(request, "Nothing was undone: it was taken back before, or the card was answered since.")
    else:
        messages.success(request, f"Undone: {what(undone)}.")
    query = f"?{urlencode({'page': number})}" if is_key(number) and number != "1" else ""
    return redirect(f"{reverse('flashcards:history')}{query}")


def what(undone: Review) -> str:
    """What an undo took back: "Good on “A title”", "Due day set, on 37 cards"."""
    named = undone.names
    count = Review.objects.filter(batch=named.batch).count() if named.batch else 1
    if count > 1:
        return f"{named.get_kind_display()}, on {count} cards"
    return f"{deed(named)} on “{title_of(undone.card)}”"
