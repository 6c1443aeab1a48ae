"""In and out: everything of a person as files, and files from elsewhere looked through before they are brought in."""
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from drillapp.htmx import render_page
from flashcards.transfer import bringing, files


@require_safe
@login_required
def export_page(request: HttpRequest) -> HttpResponse:
    """What can be taken out, each as a file."""
    return render(request, "flashcards/export.html", {"files": files.FILES.values()})


@require_safe
@login_required
def export_file(request: HttpRequest, what: str) -> HttpResponse:
    """One of the files, made now."""
    if (file := files.FILES.get(what)) is None:
        raise Http404(f"no file {what!r}")
    now = timezone.now()
    response = HttpResponse(file.write(request.user, now), content_type=file.content_type)
    day = request.user.profile.local(now).date()
    response["Content-Disposition"] = f'attachment; filename="drillapp-{day}-{file.name}"'
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def import_page(request: HttpRequest) -> HttpResponse:
    """A file to bring in: sent, looked through, told what it holds; nothing is added before that is agreed to."""
    fault = ""
    if request.method == "POST":
        fault = bringing.receive(request.user, request.FILES.get("file"), timezone.now())
        if not fault:
            return redirect("flashcards:import")
    desk = bringing.ImportDesk(request.user, timezone.now())
    return render_page(
        request, "flashcards/import.html", "flashcards/_import.html", {"desk": desk, "fault": fault})


@require_POST
@login_required
def apply_import(request: HttpRequest) -> HttpResponse:
    """Bring the file in that was looked through."""
    if not bringing.apply(request.user, timezone.now()):
        messages.info(request, "There is no file that waits to be brought in.")
    return redirect("flashcards:import")


@require_POST
@login_required
def drop_import(request: HttpRequest) -> HttpResponse:
    """Leave the file; nothing of it is kept."""
    bringing.drop(request.user)
    return redirect("flashcards:import")
