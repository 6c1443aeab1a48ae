"""What Today does: more than the day's limits give, today only."""
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from flashcards import services
from flashcards.overview import MORE_KINDS, MOST_MORE
from flashcards.views import is_key


@require_POST
@login_required
def bring_more(request: HttpRequest) -> HttpResponse:
    """Have so many more of what a limit keeps back in today's line, once; a count that is none is asked for again."""
    kind, typed, after = (request.POST.get(name, "") for name in ("kind", "count", "after"))
    today = reverse("flashcards:today")
    if kind not in MORE_KINDS or not is_key(typed) or not 1 <= int(typed) <= MOST_MORE:
        return redirect(f"{today}?{urlencode({'more': typed[:20] or '?', 'kind': kind[:20]})}#more")
    at = {"after": int(after) if is_key(after) else 0, "now": timezone.now()}
    if brought := services.bring_more(request.user, kind, int(typed), **at):
        messages.success(request, f"{brought} more today, before the others.")
    else:
        messages.info(request, "None came: they were brought before, or nothing of the kind is held back.")
    return redirect(today)
