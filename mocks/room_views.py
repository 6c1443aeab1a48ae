"""The room: one address for everybody in it, its news, and what is done there."""
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from calculators.models.base import Refusal
from drillapp.htmx import wants_fragment
from mocks import access, acts, services
from mocks.access import Presence
from mocks.glance import Glance, glance_at, presence_of
from mocks.lab_page import LabPage
from mocks.models import Event, Interview
from mocks.room import Role
from mocks.room_page import RoomPage
from mocks.sides import mark_of
from mocks.voices import with_voices
from questions.access import embargo_on

OUT = "You are no longer in that interview."
View = Callable[..., HttpResponse]


def or_leave(view: View) -> View:
    """An open page of somebody who is out of the room goes to the Mock page, so that nothing of the room stays in view;
    a page that is asked for afresh is simply not there."""

    @wraps(view)
    def judged(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except Http404:
            if not (wants_fragment(request) or wants_json(request)):
                raise
            messages.info(request, OUT)
            if wants_json(request):
                return JsonResponse({"leave": reverse("mocks:mock")})
            return HttpResponse(headers={"HX-Redirect": reverse("mocks:mock")})

    return judged


@require_safe
@login_required
def room_page(request: HttpRequest, code: str) -> HttpResponse:
    """The interview as this person's part has it."""
    presence, now = access.room_for(request.user, code), timezone.now()
    services.be_seen(presence.interview, request.user, now)
    return show(request, RoomPage(presence, now, look=look_of(request.GET)))


@require_safe
@login_required
@or_leave
def feed(request: HttpRequest, code: str) -> HttpResponse:
    """What is new since the page was made: nothing (204), or the regions that have changed."""
    now = timezone.now()
    glance = getattr(request, "glance", None) or glance_for(request.user, code, now)
    if glance.to_be_seen:
        services.see(glance.interview, request.user, now)
    told = (request.GET.get("after"), request.GET.get("here"))
    if told == (str(glance.length), glance.here) and not glance.is_alone:
        return HttpResponse(status=204)
    if (glance.is_alone or glance.role != Role.CANDIDATE) and embargo_on(request.user, now):
        raise PermissionDenied("Closed until your own interview ends.")
    page = RoomPage(presence_of(request.user, glance), now, look=look_of(request.GET), glance=glance)
    if told == (str(page.length), page.glance.here):
        return HttpResponse(status=204)
    return changes(request, page, request.GET.get("seen", ""))


@require_POST
@login_required
@or_leave
def act(request: HttpRequest, code: str, kind: str) -> HttpResponse:
    """Do something in the room and show how it stands then: as news, as the page, or for a kept field as JSON."""
    now = timezone.now()
    presence = presence_of(request.user, glance_for(request.user, code, now))
    if kind not in acts.READERS:
        raise Http404("no such act")
    form, failed = request.POST, {}
    try:
        event = do(presence, kind, request, now)
    except services.Missed:
        event, sentence = None, who_moved(presence)
        messages.info(request, sentence)
        failed = {"kind": kind, "why": sentence}
    except Refusal as refusal:
        event, failed = None, {"kind": kind, "why": str(refusal), "typed": form.get("text", form.get("address", "")),
                         "position": form.get("position", "")}
        if not wants_json(request):
            messages.error(request, str(refusal))
    if wants_json(request):
        return JsonResponse({"fault": failed["why"]} if failed else kept(kind, event, form, presence.interview))
    for other in kept(kind, event, form, presence.interview).get("others", {}).values():
        messages.info(request, acts.REPLACED.format(other))
    glance = glance_for(request.user, code, now)
    page = RoomPage(presence_of(request.user, glance), now, look=look_of(form), failed=failed, glance=glance)
    if wants_fragment(request):
        return changes(request, page, form.get("seen", ""))
    if failed.get("typed"):
        return show(request, page)
    look = f"?look={page.look + 1}" if page.look is not None else ""
    return redirect(page.address + look)


@require_safe
@login_required
@or_leave
def lab(request: HttpRequest, code: str) -> HttpResponse:
    """The lab that was pushed, for its candidate to work in: what is set there is recorded, as each of its links is a
    step taken. For others it stands as the candidate has it."""
    presence, now = access.room_for(request.user, code), timezone.now()
    given = request.GET.dict() if request.method == "GET" else {}
    page = LabPage(presence, given, now)
    if page.lab is None:
        if wants_fragment(request):
            return HttpResponse("")
        messages.info(request, "No lab is open in this interview now.")
        return redirect("mocks:room", code)
    if request.method == "GET" and (said := page.to_record):
        try:
            services.record(request.user, presence.interview, *said, now)
        except Refusal as refusal:
            messages.info(request, str(refusal))
            return HttpResponse("") if wants_fragment(request) else redirect("mocks:room", code)
    return page.render(request)


def glance_for(user: User, code: str, now: datetime) -> Glance:
    """How the room stands for somebody in it as things stand; to any other it is unknown (404)."""
    if (glance := glance_at(user, code, now)) is None:
        raise Http404("no such interview")
    return glance


def do(presence: Presence, kind: str, request: HttpRequest, now: datetime) -> Event | None:
    """Write the act down; None where it would change nothing. Raises Refusal."""
    row, form = presence.interview, request.POST
    if kind == "start":
        return services.begin(request.user, row, now, acts.key_of(form), stamp=form.get("stamp", ""))
    detail = acts.READERS[kind](form)
    if not wants_json(request):
        detail = acts.without_untouched(detail, form)
    if acts.changes_nothing(kind, detail, row.folded(), presence.who):
        return None
    return services.record(
        request.user, row, kind, detail, now, key=acts.key_of(form), stamp=acts.stamp_of(form, kind))


def who_moved(presence: Presence) -> str:
    """Who did what made a page be behind."""
    if presence.is_alone:
        return "The interview had moved on; this is how it stands now. Nothing was done twice."
    last = Event.objects.filter(interview=presence.interview, kind__in=acts.MOVING).select_related("actor").last()
    who = "You" if last and last.actor == presence.user else last.actor.name if last and last.actor else "Somebody"
    return f"{who} moved on meanwhile; this is how the interview stands now. Nothing was done twice."


def kept(kind: str, event: Event | None, form: Any, row: Interview) -> dict[str, Any]:
    """What fields that are kept as one types are told, by their names: the `marks` that they go on from now, and the
    texts of `others`, devices of the same person, that they took the place of. `after` is for a scratchpad's page,
    which shows it nowhere else: one that had so many events has all of them with the next. `row` is as it was before
    the act."""
    names = [name for name in acts.WRITTEN.get(kind, ()) if name in form]
    told = {"marks": {name: mark_of(acts.text_of(form, name)) for name in names}} if names else {}
    replaced = {
        name: text_before(event, name, row) for name in names
        if event and name in event.detail and acts.mark_in(form, name)}
    others = {
        name: text for name, text in replaced.items() if text.strip() and acts.mark_in(form, name) != mark_of(text)}
    if kind == "scratch" and event and event.ordinal == row.log_length + 1:
        length = row.log_length if row.is_solo else row.open_length
        told["after"] = [length, length + 1]
    return told | ({"others": others} if others else {})


def text_before(event: Event, name: str, row: Interview) -> str:
    """What its writer had in that field before this act, "" where nothing: as the row has it unless another act came
    between."""
    if event.ordinal == row.log_length + 1:
        return acts.held(event.kind, event.detail, row.folded(), event.who)[name]
    place = {f"detail__{part}": event.detail[part] for part in ("position", "point") if part in event.detail}
    earlier = Event.objects.filter(
        interview=event.interview_id, kind=event.kind, who=event.who, ordinal__lt=event.ordinal,
        detail__has_key=name, **place).last()
    return earlier.detail[name] if earlier else ""


def look_of(form: Any) -> int | None:
    """The question that an interviewer's page looks at, counted from 0; None for the one in hand."""
    number = acts.number(form.get("look", ""))
    return number - 1 if number > 0 else None


def show(request: HttpRequest, page: RoomPage) -> HttpResponse:
    shown = with_voices(render) if page.part == "alone" else render
    response = shown(request, "mocks/room/room.html", {"room": page, "side": page.side, "now_ms": page.now_ms})
    response["Cache-Control"] = "no-store"  # so that Back never shows a room as it was
    return response


def changes(request: HttpRequest, page: RoomPage, seen: str) -> HttpResponse:
    """The regions that the page has not as they are, to be swapped out of band."""
    context = {
        "room": page, "side": page.side, "now_ms": page.now_ms, "regions": page.changed(seen), "out_of_band": True}
    response = render(request, "mocks/room/_changes.html", context)
    response["Room-Length"] = str(page.length)
    return response


def wants_json(request: HttpRequest) -> bool:
    """Whether a field that is kept as one types asks, not a page."""
    return request.headers.get("Accept") == "application/json"
