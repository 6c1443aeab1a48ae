"""What a person does on a lab's page that is kept; the page itself is the labs' own."""
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from calculators.labs import LABS
from calculators.stage import SAID, read_map
from flashcards import predictions


@require_POST
@login_required
def predict(request: HttpRequest, slug: str) -> HttpResponse:
    """Keep what was said of a step and go on to the step; what can't be read is said there, and nothing is kept."""
    if (lab := LABS.get(slug)) is None:
        raise Http404(f"There is no lab called {slug}.")
    view = lab.view(request.POST.get("view"))
    given = {name: text for name, text in request.POST.items() if name in ("view", "step", *view.form.base_fields)}
    given |= {name: text for name, text in request.POST.items() if name.startswith(SAID)}
    if shown := view.show(view.bind(given), given.get("step")):
        shown, _, scored = read_map(view, shown, given)
        predictions.keep(request.user, lab, view, shown, scored, timezone.now())
    response = redirect(f"{reverse('calculators:lab_page', args=[slug])}?{urlencode(given)}")
    response.status_code = 303
    return response
