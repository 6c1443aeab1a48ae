"""The labs' pages: everything they show depends on the address alone."""
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods

from calculators.answer import answer
from calculators.labs import LABS
from calculators.labs import scheduler_record as recorded
from calculators.labs.base import Lab
from calculators.stage import stage_of
from drillapp.htmx import render_page, wants_fragment

LONGEST_PASTE = 400_000  # characters of a text that is pasted in place of knobs


def labs_open(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Let anyone in, so that a link can be shared; only people with an account where DRILL_PUBLIC_LABS is off."""

    @wraps(view)
    def judged(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if settings.DRILL_PUBLIC_LABS or request.user.is_authenticated:
            return view(request, *args, **kwargs)
        return redirect_to_login(request.get_full_path())

    return judged


def lab_called(slug: str) -> Lab:
    if (lab := LABS.get(slug)) is None:
        raise Http404(f"There is no lab called {slug}.")
    return lab


@require_GET
@labs_open
def labs_page(request: HttpRequest) -> HttpResponse:
    """Every lab as a small picture, by topic."""
    topics: dict[str, list[Lab]] = {}
    for lab in LABS.values():
        topics.setdefault(lab.topic, []).append(lab)
    return render(request, "calculators/index.html", {"topics": topics, "count": len(LABS)})


@require_GET
@labs_open
def lab_page(request: HttpRequest, slug: str) -> HttpResponse:
    """One lab: the whole page, or for htmx only its stage; a knob at fault then leaves the last good picture alone."""
    lab = lab_called(slug)
    stage = stage_of(lab, request.GET.dict())
    embedded = wants_fragment(request) and not on_lab_page(request)
    context = {"lab": lab, "stage": stage, "embedded": embedded, "fragment": wants_fragment(request)}
    if wants_fragment(request) and stage.faults and not embedded:
        response = render_page(request, "calculators/lab.html", "calculators/_knob_marks.html", context)
        response["HX-Reswap"] = "none"
        return response
    response = render_page(request, "calculators/lab.html", stage.fragment, context)
    if wants_fragment(request) and not embedded:
        response["HX-Push-Url"] = stage.here
    return response


@require_GET
def without_slash(request: HttpRequest, slug: str) -> HttpResponse:
    """The lab's own address, for one typed with a slash at its end."""
    query = request.META["QUERY_STRING"]
    return redirect(reverse("calculators:lab_page", args=[slug]) + (f"?{query}" if query else ""), permanent=True)


@csrf_exempt  # it changes nothing and looks at no account, so that a stranger needs no cookie
@require_http_methods(["GET", "HEAD", "POST"])
@labs_open
def paste(request: HttpRequest, slug: str) -> HttpResponse:
    """Reduce a pasted text to knobs: go to their address, or show them beside what can't be read. Nothing is kept.

    The address alone, copied or come back to, leads to the lab.
    """
    lab = lab_called(slug)
    if request.method != "POST":
        return redirect("calculators:lab_page", slug)
    given = request.POST.dict()
    view, text, name = lab.view(given.get("view")), given.pop("pasted", ""), given.pop("paste", "")
    taken = next((each for each in view.pastes if each.name == name), None)
    if taken is None:
        raise Http404(f"Nothing of that kind can be pasted into {slug}.")
    pasted = taken.read(text[:LONGEST_PASTE])
    faults = list(pasted.faults)
    if len(text) > LONGEST_PASTE:
        faults.append(f"Only the first {LONGEST_PASTE:,} characters were read.")
    given |= {name: "" if value is None else str(value) for name, value in pasted.values.items()}
    refused = view.bind(given).errors
    faults += [sentence for name in pasted.values if name in refused for sentence in refused[name]]
    if not faults:
        values = {name: given[name] for name in view.form.base_fields if name in given}
        return redirect(lab.address(view, values))
    context = {"lab": lab, "stage": stage_of(lab, given), "pasted": text[:LONGEST_PASTE], "paste_faults": faults,
               "pasted_into": name}
    return render(request, "calculators/lab.html", context)


@csrf_exempt  # as for paste
@require_http_methods(["GET", "HEAD", "POST"])
@labs_open
def scheduler_record(request: HttpRequest) -> HttpResponse:
    """A recorded run of the scheduler, pasted or uploaded, at one step; each request brings it and none keeps it."""
    request.upload_handlers = [MemoryFileUploadHandler(request)]  # a file too large for that is left out, not stored
    page = recorded.asked(request.POST, request.FILES.get("file")) if request.method == "POST" else recorded.BLANK
    return render(request, "calculators/scheduler_record.html", {"page": page})


@require_GET
@labs_open
def lab_json(request: HttpRequest, slug: str) -> JsonResponse:
    """Inputs, result and faults ({field: sentence}) of a lab for the same names as its page's address."""
    lab = lab_called(slug)
    given = request.GET.dict()
    return JsonResponse(answer(lab.view(given.get("view")), given, given.get("step")))


def on_lab_page(request: HttpRequest) -> bool:
    """Whether htmx asks from a lab's own page; elsewhere a lab is embedded, and its steps leave the address alone."""
    current = request.htmx.current_url_abs_path or ""
    return current.startswith(reverse("calculators:labs_page"))
