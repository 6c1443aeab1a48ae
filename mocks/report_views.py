"""The score sheet of an interview, what is agreed on it, and its report in every form."""
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from calculators.models.base import Refusal
from drillapp.htmx import wants_fragment
from mocks import access, scoring, services
from mocks.access import Presence
from mocks.acts import REPLACED
from mocks.report import in_words
from mocks.report_page import PART_WORDS, ReportPage, report_of
from mocks.report_text import as_markdown
from mocks.room import CALLED, PARTS, Call, Phase, refuse_called
from mocks.score_page import ScoreSheet
from mocks.templatetags.mock_reports import desk_context
from mocks.voices import with_voices

SETTLING = (Phase.DEBRIEF, Phase.OVER)
IN_A_ROOM = ("scores", "compared")  # what a form of mocks/_call.html has changed
LONGEST_NUMBER = 3  # digits of a question's place


@require_safe
@login_required
@never_cache
def report_page(request: HttpRequest, code: str) -> HttpResponse:
    """The report, as its reader may see it."""
    presence = access.report_for(request.user, code)
    return shown_report(request, ReportPage(presence, timezone.now(), request.GET.dict()))


def shown_report(request: HttpRequest, page: ReportPage) -> HttpResponse:
    context = {"page": page, "code": page.interview.code, "target": "#report"}
    shown = with_voices(render) if page.presence.is_alone else render
    return shown(request, "mocks/report.html", context)


@require_safe
@login_required
@never_cache
def report_markdown(request: HttpRequest, code: str) -> HttpResponse:
    """The same as Markdown."""
    presence = access.report_for(request.user, code)
    text = as_markdown(ReportPage(presence, timezone.now()))
    return HttpResponse(text, content_type="text/markdown; charset=utf-8")


@require_safe
@login_required
@never_cache
def report_json(request: HttpRequest, code: str) -> HttpResponse:
    """The same as JSON."""
    row = (presence := access.report_for(request.user, code)).interview
    head = {
        "interview": row.code, "team": row.team and row.team.name, "candidate": row.candidate.name,
        "started_at": row.started_at.isoformat(), "ended_at": row.ended_at.isoformat(),
    }
    return JsonResponse(head | report_of(presence).to_json(), json_dumps_params={"ensure_ascii": False, "indent": 1})


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@never_cache
def scores(request: HttpRequest, code: str) -> HttpResponse:
    """An interviewer's score sheet. What is sent is kept; with `hand_in` it is in, or the sheet says what is missing.

    Asked for with ?after=N the answer is empty while nothing has happened since the event N.
    """
    presence = settling_for(request, code)
    if request.method == "POST":
        return keep_scores(request, presence)
    if request.GET.get("after") == str(presence.interview.log_length):
        return HttpResponse(status=204)
    return shown_scores(request, presence, ScoreSheet(presence), request.GET.dict())


def settling_for(request: HttpRequest, code: str) -> Presence:
    """The interview for one of its interviewers, once its questions are done with."""
    presence = access.room_for(request.user, code)
    if not presence.leads:
        raise PermissionDenied("This is for the interviewers.")
    if presence.interview.phase not in SETTLING:
        raise access.NotYet(
            "Scores are handed in at the debrief; until then they are kept in the room.", access.way_to_room(presence))
    return presence


def shown_scores(
    request: HttpRequest, presence: Presence, sheet: ScoreSheet, settled: Mapping[str, str] = MappingProxyType({})
) -> HttpResponse:
    """The sheet, or all side by side: the page, and for htmx what stands in it."""
    template = "mocks/_call.html" if wants_fragment(request) else "mocks/scores.html"
    shown = desk_context(presence, sheet, settled) | {"presence": presence, "back": back_to(presence)}
    return render(request, template, shown)


def keep_scores(request: HttpRequest, presence: Presence) -> HttpResponse:
    """Keep what was changed of the sheet, and hand it in where that was asked for."""
    sheet, hand_in = ScoreSheet(presence, request.POST), "hand_in" in request.POST
    if sheet.is_in:
        messages.info(request, "Your scores are in; they stay as they are.")
        return after_settling(request, presence)
    whole, replaced = hand_in or "keep" in request.POST, sheet.replaced
    if sheet.check(hand_in=hand_in):
        try:
            scoring.keep_scores(
                request.user, presence.interview, sheet.marks(), sheet.called(), timezone.now(), hand_in=hand_in)
        except Refusal as refused:
            sheet.faults["missing"] = str(refused)
        else:
            presence.interview.refresh_from_db()
            if not whole:
                return render(request, "mocks/_kept.html", {
                    "sheet": ScoreSheet(presence), "shown": sheet.shown_from_now, "replaced": replaced})
            for text in replaced.values():
                messages.info(request, REPLACED.format(text))
            messages.success(request, "Your scores are in." if hand_in else "Kept.")
            if hand_in and presence.interview.phase == Phase.OVER and wants_fragment(request):
                return HttpResponseClientRedirect(back_to(presence))  # all of the report opens with them
            return after_settling(request, presence)
    elif hand_in:  # what can be kept is kept, so that a fault loses nothing
        keep_what_fits(request, presence, sheet)
        presence.interview.refresh_from_db()
    if not whole:
        return render(request, "mocks/_kept.html", {"sheet": sheet, "fault": next(iter(sheet.faults.values()))})
    again = ScoreSheet(presence, request.POST)
    again.faults = sheet.faults
    return shown_scores(request, presence, again)


def keep_what_fits(request: HttpRequest, presence: Presence, sheet: ScoreSheet) -> None:
    """Keep a sheet that can't be handed in yet, where nothing in it is too long."""
    faults, kept = sheet.faults, sheet.check(hand_in=False)
    if kept:
        try:
            scoring.keep_scores(request.user, presence.interview, sheet.marks(), sheet.called(), timezone.now())
        except Refusal as refused:
            faults["missing"] = str(refused)
    sheet.faults = faults


@require_POST
@login_required
def agree(request: HttpRequest, code: str) -> HttpResponse:
    """Set the agreed score of a point."""
    presence = settling_for(request, code)
    position, value = (number(request.POST.get(name, "")) for name in ("position", "value"))
    try:
        scoring.agree(
            request.user, presence.interview, position, request.POST.get("point", ""), value, timezone.now())
    except Refusal as refused:
        messages.error(request, str(refused))
    return after_settling(request, presence, {} if position is None else {"open": str(position + 1)})


def number(text: str) -> int | None:
    """A small whole number that a form sent; None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER else None


@require_POST
@login_required
def agree_call(request: HttpRequest, code: str) -> HttpResponse:
    """Set the agreed call; what is wrong with it is said, and what was typed stays."""
    presence = settling_for(request, code)
    call = {name: request.POST.get(name, "").replace("\r\n", "\n").strip() for name in CALLED}
    try:
        refuse_called(call)
        scoring.agree_call(request.user, presence.interview, call, timezone.now())
    except Refusal as refused:
        fault = {"reason" if call["verdict"] else "verdict": str(refused)}
        return faulty_call(request, presence, Call(**call), fault)
    return after_settling(request, presence, {"called": ""})


def faulty_call(request: HttpRequest, presence: Presence, call: Call, faults: dict[str, str]) -> HttpResponse:
    """The page that an agreed call was sent from, with what was typed and what is wrong with it."""
    context: dict[str, Any] = desk_context(presence, ScoreSheet(presence))
    page = context["page"]
    if page is None:
        messages.error(request, next(iter(faults.values())))
        return redirect(back_to(presence))
    page.typed_call, page.faults = call, faults
    if presence.interview.phase == Phase.OVER and request.htmx.target not in IN_A_ROOM:
        return shown_report(request, page)
    template = "mocks/_call.html" if wants_fragment(request) else "mocks/scores.html"
    return render(request, template, context | {"presence": presence, "back": back_to(presence)})


def after_settling(
    request: HttpRequest, presence: Presence, settled: Mapping[str, str] = MappingProxyType({})
) -> HttpResponse:
    """Where a form of the debrief leads: the report once there is one, else all side by side, and there to what was
    settled."""
    presence.interview.refresh_from_db()
    if wants_fragment(request) and request.htmx.target in IN_A_ROOM:
        return render(request, "mocks/_call.html", desk_context(presence, ScoreSheet(presence), settled))
    where = "mocks:report" if presence.interview.phase == Phase.OVER else "mocks:scores"
    query = f"?{urlencode(settled)}" if settled else ""
    place = f"#criteria-{settled['open']}" if "open" in settled else ""
    return redirect(reverse(where, args=[presence.interview.code]) + query + place)


def back_to(presence: Presence) -> str:
    """The room, or once it is over the report."""
    code = presence.interview.code
    return reverse("mocks:report" if presence.interview.phase == Phase.OVER else "mocks:room", args=[code])


@require_POST
@login_required
def release(request: HttpRequest, code: str) -> HttpResponse:
    """Let the candidate read the ticked parts and no others."""
    presence = access.room_for(request.user, code)
    if not presence.releases:
        who = " or ".join(one.name for one in access.releasers_of(presence.interview)) or "Nobody in the team"
        raise PermissionDenied(f"{who} can release the report.")
    parts = [part for part in PARTS if part in request.POST.getlist("part")]
    try:
        scoring.release(request.user, presence.interview, parts, timezone.now())
        words = in_words([PART_WORDS[part].lower() for part in parts])
        messages.success(request, f"{presence.interview.candidate.name} sees {words or 'nothing of it'} now.")
    except Refusal as refused:
        messages.error(request, str(refused))
    return redirect("mocks:report", code)


@require_POST
@login_required
def take_missed(request: HttpRequest, code: str) -> HttpResponse:
    """Put the questions with missed points into the candidate's drill, each once."""
    presence = access.report_for(request.user, code)
    if not presence.is_candidate:
        raise PermissionDenied("The candidate takes these.")
    taken = []
    try:
        if slugs := report_of(presence, with_team=False).missed_slugs:
            taken = services.take_missed(request.user, presence.interview, slugs, timezone.now())
    except Refusal as refused:
        messages.error(request, str(refused))
        return redirect("mocks:report", code)
    if taken:
        come = "it comes" if len(taken) == 1 else "they come"
        messages.success(request, f"{len(taken)} added: {come} first in today’s drill.")
    else:
        messages.info(request, "Nothing was added: what the bank has of it is in your drill already.")
    return redirect("mocks:report", code)
