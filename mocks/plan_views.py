"""Planning an interview: the page on which it is made or changed, the invitation, and a team's templates."""
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.mail import send_mail
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from calculators.models.base import Refusal
from drillapp.htmx import render_page
from mocks import access, services
from mocks.models import MOST_NAME, Interview, Template
from mocks.plan_page import PlanDesk, changed, fresh, invitation, standing, template_spec
from mocks.room import RUNNING, Phase, Room
from questions.models import Question

CHANGED = "Somebody has changed this plan meanwhile. What you see is yours; save it again to put it in place of theirs."


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new_plan(request: HttpRequest, pk: int) -> HttpResponse:
    """An interview of a team while it is planned. Each button sends the whole form; the answer is an address that
    holds all of it, and only Save writes an interview."""
    member, now = access.led_team_for(request.user, pk), timezone.now()
    address = reverse("mocks:new_plan", args=[pk])
    if request.method == "POST":
        desk = PlanDesk(member.team, request.user, now, request.POST)
        if request.POST.get("do") == "save" and desk.can_be_saved():
            return saved_new(request, desk)
        return acted(request, desk, address)
    if not holds_plan(request.GET):
        template = kept_template(member.team_id, request.GET.get("template", ""))
        desk = PlanDesk(member.team, request.user, now, fresh(request.user, request.GET, template))
        desk.propose()
        return redirect(f"{address}?{desk.query}")
    desk = PlanDesk(member.team, request.user, now, request.GET)
    return shown(request, desk, address)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def plan_page(request: HttpRequest, code: str) -> HttpResponse:
    """A planned interview: its invitation, and its plan, which can be changed until it begins."""
    presence, now = access.plan_for(request.user, code), timezone.now()
    row, address = presence.interview, reverse("mocks:plan", args=[code])
    if presence.is_alone:
        return redirect("mocks:room", code)
    if row.phase != Phase.LOBBY:
        if request.method == "POST":
            messages.info(request, "It has been called off." if row.phase == Phase.CALLED_OFF
                          else "It has begun; its plan stands as it was.")
            return redirect(address)
        again = changed(standing(row, request.user, ""), candidate=str(row.candidate_id), seal="")
        return render(request, "mocks/plan_stands.html", {
            "row": row, "titles": titles_of(row), "again": again.urlencode(),
            "stamp": row.folded().stamp if row.phase in RUNNING else ""})
    if request.method == "POST":
        desk = PlanDesk(row.team, request.user, now, request.POST, row)
        if request.POST.get("do") == "save" and desk.can_be_saved():
            return saved_changed(request, desk, address)
        return acted(request, desk, address)
    unsaved = holds_plan(request.GET)
    sent = request.GET if unsaved else standing(row, request.user, services.plan_seal(row))
    desk = PlanDesk(row.team, request.user, now, sent, row)
    return shown(request, desk, address, invitation=invitation(row, reverse("mocks:room", args=[code])),
                 unsaved=unsaved, mails=settings.HAS_MAIL)


def holds_plan(given: QueryDict) -> bool:
    """Whether an address says what is asked: it names questions, or they were proposed and taken out again."""
    return "seed" in given and ("pick" in given or "of" in given)


def shown(request: HttpRequest, desk: PlanDesk, address: str, **more: Any) -> HttpResponse:
    if "tried" in request.GET:
        desk.can_be_saved()
    context = {"desk": desk, "address": address, "name": request.GET.get("name", "")[:MOST_NAME]} | more
    return render_page(request, "mocks/plan.html", "mocks/_plan.html", context)


def acted(request: HttpRequest, desk: PlanDesk, address: str) -> HttpResponseRedirect:
    """What a button does, and the address that holds what has come of it."""
    act, more = request.POST.get("do", ""), {}
    if act == "save":
        more["tried"] = "1"
    elif act == "template":
        if why := save_template(desk, request.POST.get("name", "")):
            messages.info(request, why)
            more["name"] = request.POST.get("name", "")[:MOST_NAME]
        else:
            messages.success(request, "Saved as a template of the team.")
    elif why := desk.act(act):
        messages.info(request, why)
    return redirect(f"{address}?{desk.state(**more).urlencode(safe=',:')}")


def saved_new(request: HttpRequest, desk: PlanDesk) -> HttpResponseRedirect:
    form = desk.form
    try:
        row = services.plan_interview(
            desk.team, desk.planner, form.candidate_user, desk.now, minutes=desk.minutes, plan=desk.plan_json(),
            spec=desk.spec_json(), scheduled_at=form.cleaned_data.get("scheduled_at"), seats=form.seats(),
            code=desk.code)
    except Refusal as refusal:
        messages.info(request, str(refusal))
        return redirect(f"{reverse('mocks:new_plan', args=[desk.team.pk])}?{desk.query}")
    if row.phase == Phase.CALLED_OFF:
        messages.info(request, "This plan was saved before and has been called off since. Plan it again from here.")
    else:
        messages.success(request, f"Saved. {row.candidate.name} gets in by the link below.")
    return redirect("mocks:plan", row.code)


def saved_changed(request: HttpRequest, desk: PlanDesk, address: str) -> HttpResponseRedirect:
    try:
        services.replan(
            desk.row, minutes=desk.minutes, plan=desk.plan_json(), spec=desk.row.spec | desk.spec_json(),
            scheduled_at=desk.form.cleaned_data.get("scheduled_at"), seats=desk.form.seats(),
            seal=desk.sent.get("seal", ""))
    except services.Missed:
        messages.info(request, CHANGED)
        seal = services.plan_seal(Interview.objects.get(pk=desk.row.pk))
        return redirect(f"{address}?{desk.state(seal=seal).urlencode(safe=',:')}")
    except Refusal as refusal:
        messages.info(request, str(refusal))
        return redirect(address)
    messages.success(request, "Saved.")
    return redirect(address)


def titles_of(row: Interview) -> list[dict[str, Any]]:
    """A plan that stands: as it was posed, else as the bank has it, else by its slugs."""
    titles = {one["slug"]: one["title"] for one in row.asked} or dict(
        Question.objects.filter(slug__in=[one["slug"] for one in row.plan]).values_list("slug", "title"))
    return [one | {"title": titles.get(one["slug"], one["slug"])} for one in row.plan]


@require_POST
@login_required
def call_off(request: HttpRequest, code: str) -> HttpResponse:
    """Take an interview back before it begins; its candidate sees that, and the staff answers are open again."""
    presence = access.plan_for(request.user, code)
    try:
        services.record(
            request.user, presence.interview, "call_off", {}, timezone.now(), stamp=Room().stamp)
    except Refusal:
        messages.info(request, "It is called off already, or it has begun: nothing was changed.")
    else:
        messages.success(request, "Called off. Whoever opens its address is told so.")
    return redirect("mocks:plan", code)


@require_POST
@login_required
def mail_invitation(request: HttpRequest, code: str) -> HttpResponse:
    """Mail the invitation to the candidate, once for each time that it is appointed for."""
    row = access.plan_for(request.user, code).interview
    address = reverse("mocks:plan", args=[code])
    if row.is_solo or row.phase != Phase.LOBBY or not settings.HAS_MAIL:
        messages.info(request, "Nothing was mailed.")
    elif not services.note_mailed(row):
        messages.info(request, "It was mailed before, for this time.")
    else:
        told = invitation(row, reverse("mocks:room", args=[code]))
        try:
            send_mail(told.subject, told.text, None, [row.candidate.email])
        except OSError:
            services.forget_mailed(row)
            messages.error(request, "The mail could not be sent; copy the invitation instead.")
        else:
            messages.success(request, f"Mailed to {row.candidate.name}.")
    return redirect(address)


# Templates

def kept_template(team: int, text: str) -> Template | None:
    """The team's template of that number; None without one."""
    return Template.objects.filter(team=team, pk=number(text) or 0).first()


def save_template(desk: PlanDesk, name: str) -> str:
    """Keep the plan as a template; what comes back says why not, or is empty."""
    name, why = read_template_name(name)
    if why:
        return why
    try:
        with transaction.atomic():
            Template.objects.create(team=desk.team, name=name, made_by=desk.planner, spec=template_spec(desk))
    except IntegrityError:
        return f"The team has a template “{name}” already; give this one another name."
    return ""


def read_template_name(text: str) -> tuple[str, str]:
    """A template's name, and what is wrong with it."""
    name = " ".join(text.replace("\0", "").split())
    if not name:
        return name, "A template needs a name, such as “Platform, staff, 45 min”."
    return name, f"A name has at most {MOST_NAME} characters." if len(name) > MOST_NAME else ""


@require_POST
@login_required
def rename_template(request: HttpRequest, pk: int) -> HttpResponse:
    """Another name for a template."""
    if (template := template_in(request, pk)) is None:
        return gone_template(request)
    name, why = read_template_name(request.POST.get("name", ""))
    if not why and Template.objects.filter(team=template.team_id, name=name).exclude(pk=pk).exists():
        why = f"The team has a template “{name}” already."
    if why:
        messages.info(request, why)
    else:
        Template.objects.filter(pk=pk).update(name=name)
        messages.success(request, f"It is called “{name}” now.")
    return back_to_plan(request, template.team_id)


@require_POST
@login_required
def delete_template(request: HttpRequest, pk: int) -> HttpResponse:
    """Do away with a template; what was planned from it stays."""
    if (template := template_in(request, pk)) is None:
        return gone_template(request)
    template.delete()
    messages.success(request, f"The template “{template.name}” is gone; what was planned from it stays.")
    return back_to_plan(request, template.team_id)


def template_in(request: HttpRequest, pk: int) -> Template | None:
    """The template of a form; None where the team that its page was of has it no more, as a second click finds it."""
    try:
        return access.template_for(request.user, pk)
    except Http404:
        if (team := number(request.POST.get("team", ""))) is None:
            raise
        access.led_team_for(request.user, team)
        return None


def gone_template(request: HttpRequest) -> HttpResponseRedirect:
    messages.info(request, "That template is gone already; what was planned from it stays.")
    return back_to_plan(request, number(request.POST.get("team", "")))


def number(text: str) -> int | None:
    """The number of a team or a template, as sent; None when it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def back_to_plan(request: HttpRequest, team: int) -> HttpResponseRedirect:
    """To the plan that the form stood on, as it was."""
    query = request.POST.get("back", "")[:8000]
    return redirect(f"{reverse('mocks:new_plan', args=[team])}{'?' + query if query else ''}")
