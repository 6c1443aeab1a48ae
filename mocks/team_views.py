"""The Mock page, teams, and the way into them."""
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from mocks import access, services
from mocks.forms import TeamForm
from mocks.mock_page import MockPage


@require_safe
@login_required
def mock_page(request: HttpRequest) -> HttpResponse:
    """The person's interviews, running, planned and past, and their teams."""
    return render(request, "mocks/mock.html", {"page": MockPage(request.user, timezone.now())})


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new_team(request: HttpRequest) -> HttpResponse:
    """A team to begin; its page follows."""
    form = TeamForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        return redirect("mocks:team", services.make_team(request.user, form.cleaned_data["name"], timezone.now()).pk)
    return render(request, "mocks/new_team.html", {"form": form})


@require_safe
@login_required
def team_page(request: HttpRequest, pk: int) -> HttpResponse:
    """A team as this member sees it."""
    member = access.membership_for(request.user, pk)
    return render(request, "mocks/team.html", {"member": member, "team": member.team})
