"""What of the site is another while somebody is interviewed, beside the staff answers."""
from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from accounts.models import User
from calculators.labs import LABS
from drillapp.htmx import wants_fragment
from mocks import sides
from mocks.access import presence_in
from mocks.lab_address import opened
from mocks.models import Interview
from mocks.room import ASKING

View = Callable[[HttpRequest], HttpResponse]
WAITS = "This lab waits in your interview: say there first what it will show."


class LeadToRoom:
    """While a lab waits in a room for what the candidate says, its own address leads them there, as it would show them
    the result unsaid. To everybody else it is what it always is."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: View, args: list[str], kwargs: dict[str, str]
    ) -> HttpResponse | None:
        match = request.resolver_match
        if match.namespace != "calculators" or kwargs.get("slug") not in LABS or not request.user.is_authenticated:
            return None
        if (row := room_where_it_waits(request.user, kwargs["slug"])) is None:
            return None
        if match.view_name == "calculators:lab_json":
            return JsonResponse({"inputs": {}, "result": None, "faults": {"": WAITS}}, status=403)
        messages.info(request, WAITS)
        if wants_fragment(request):
            return HttpResponseClientRedirect(reverse("mocks:lab", args=[row.code]))
        return redirect("mocks:lab", row.code)


def room_where_it_waits(user: User, slug: str) -> Interview | None:
    """The running interview of which this person is the candidate and in which this lab still holds its result."""
    for row in Interview.objects.filter(candidate=user, team__isnull=False, phase__in=ASKING):
        lab = sides.lab_of(row.folded().item, {})
        waits = lab and not lab.committed and opened(lab.start).lab.slug == slug and opened(lab.start).needs_commit
        if waits and presence_in(user, row):
            return row
    return None
