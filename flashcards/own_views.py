"""My cards: those that a person made or brought along, seen by nobody else."""
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from flashcards import own_cards
from flashcards.own_forms import FORMS, OwnCardForm
from questions.access import own_note_for
from questions.models import Note

KINDS = [("basic", "Front and back"), ("cloze", "A gap to fill"), ("number", "A number")]


@require_safe
@login_required
def own_cards_page(request: HttpRequest) -> HttpResponse:
    """The person's own cards, the latest first, those that hold what is looked for."""
    text, retired = request.GET.get("text", "")[:100].replace("\0", ""), request.GET.get("show") == "retired"
    notes = own_cards.notes_of(request.user, text, retired)
    counts = {which: own_cards.notes_of(request.user, retired=which).count() for which in (False, True)}
    return render(request, "flashcards/own_cards.html", {
        "page": own_cards.page_of(notes, request.GET.get("page", "1")), "text": text, "retired": retired,
        "count": counts[False], "retired_count": counts[True],
    })


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new_own_card(request: HttpRequest) -> HttpResponse:
    """A card to write; once written another of its kind."""
    kind = request.GET.get("kind", "basic")
    form = FORMS.get(kind, FORMS["basic"])(request.POST or None)
    if request.method == "POST" and form.is_valid():
        note = own_cards.save(request.user, form.note_fields(), timezone.now())
        messages.success(request, f"Added: {note.ask}")
        return redirect(f"{request.path}?kind={form.kind}")
    return shown(request, form)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def edit_own_card(request: HttpRequest, pk: int) -> HttpResponse:
    """One of the person's cards to change; its memory stays."""
    note = own_note_for(request.user, pk)
    form = FORMS[note.kind](request.POST or None, initial=OwnCardForm.initial_of(note))
    if request.method == "POST" and form.is_valid():
        own_cards.save(request.user, form.note_fields(), timezone.now(), note)
        messages.success(request, "Saved.")
        return redirect("flashcards:own_cards")
    return shown(request, form, note)


@require_POST
@login_required
def retire_own_card(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a card out of the drill, with all that was done with it kept; or take it back."""
    note = own_note_for(request.user, pk)
    retired = request.POST.get("retired") != "0"
    if own_cards.set_retired(note, retired, timezone.now()):
        messages.success(request, f"{'Retired' if retired else 'Back in your drill'}: {note.ask}")
    else:
        messages.info(request, "It was so already.")
    return redirect("flashcards:own_cards")


def shown(request: HttpRequest, form: OwnCardForm, note: Note | None = None) -> HttpResponse:
    return render(request, "flashcards/own_card.html", {"form": form, "note": note, "kinds": KINDS})
