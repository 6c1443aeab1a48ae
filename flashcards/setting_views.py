"""Settings: what they do before they are saved, saving them, and how they were at first."""
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from accounts.forms import ProfileForm
from accounts.models import CalendarKey, Profile
from drillapp.htmx import render_page, wants_fragment
from flashcards import foresight, reminders, rescheduling, services
from flashcards.setting_rows import changed_labels, setting_groups

UNDOABLE = "undoable"


@require_http_methods(["GET", "POST"])
@login_required
def settings_page(request: HttpRequest) -> HttpResponse:
    """What the person has set; saving says what changed, a fault keeps what was typed."""
    form = ProfileForm(request.POST or None, instance=Profile.objects.get(user=request.user))
    if request.method == "POST" and form.is_valid():
        form.save()
        changed = ", ".join(changed_labels(form))
        said = f"Saved: {changed}." if changed else "Nothing was changed."
        if "move" in request.POST and rescheduling.is_long(request.user, timezone.now()):
            rescheduling.begin(request.user, timezone.now())
            messages.success(request, said)
            return redirect("flashcards:moving")
        moved = services.reschedule(request.user, timezone.now()) if "move" in request.POST else 0
        if "move" in request.POST:
            said += f" {moved} card{'' if moved == 1 else 's'} moved."
        messages.success(request, said, extra_tags=UNDOABLE if moved else "")
        return redirect("flashcards:settings")
    return render(request, "flashcards/settings.html", context(request, form))


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def moving_page(request: HttpRequest) -> HttpResponse:
    """How far the moving of what is scheduled is, or what came of it; it can be begun again."""
    if request.method == "POST":
        rescheduling.begin(request.user, timezone.now())
        return redirect("flashcards:moving")
    desk = rescheduling.MoveDesk(request.user, timezone.now())
    if wants_fragment(request) and not desk.is_running:
        messages.info(request, desk.lead)
    return render_page(request, "flashcards/moving.html", "flashcards/_moving_turn.html", {"desk": desk})


@require_POST
@login_required
def effect(request: HttpRequest) -> HttpResponse:
    """What the settings as typed do to the coming days; nothing is saved."""
    form = ProfileForm(request.POST, instance=Profile.objects.get(user=request.user))
    form.is_valid()
    if wants_fragment(request):
        return render(request, "flashcards/_effect.html", context(request, form) | {"swapped": True})
    return render(request, "flashcards/settings.html", context(request, form))


@require_POST
@login_required
def default_settings(request: HttpRequest) -> HttpResponse:
    """The form with every setting as it was at first; nothing is saved yet."""
    kept = ("zone",)  # where one is, is no matter of taste
    first = Profile(user=request.user, **{name: getattr(request.user.profile, name) for name in kept})
    form = ProfileForm(instance=first)
    typed = {name: form[name].value() for name in form.fields}
    shown = {name: "" if value is None else form[name].field.prepare_value(value) for name, value in typed.items()}
    form = ProfileForm({name: getattr(value, "strftime", lambda _, value=value: value)("%H:%M")
                        for name, value in shown.items()}, instance=Profile.objects.get(user=request.user))
    messages.info(request, "As at first, but for the time zone. Nothing is saved yet.")
    return render(request, "flashcards/settings.html", context(request, form))


def context(request: HttpRequest, form: ProfileForm) -> dict[str, Any]:
    """What the page shows beside the form; reading the form's faults also reads what is typed."""
    shown = effect_of(request, form)
    key = CalendarKey.objects.filter(user=request.user).first()
    return {"form": form, "groups": setting_groups(form), "effect": shown, "moving": "move" in request.POST,
            "calendar": key and reminders.calendar_address(key)}


def effect_of(request: HttpRequest, form: ProfileForm) -> foresight.Effect | None:
    """The coming days as they are and as the form has them; None while a field can't be used."""
    if form.is_bound and not form.is_valid():
        return None
    services.ensure_cards(request.user)
    saved = Profile.objects.get(user=request.user)
    return foresight.effect(request.user, saved, form.instance, timezone.now())
