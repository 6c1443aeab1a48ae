"""The pages of the bank that belong to nobody in particular: the search and the glossary."""
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from drillapp.htmx import render_page
from questions import search
from questions.terms_page import terms_page_rows


@require_safe
@login_required
def search_page(request: HttpRequest) -> HttpResponse:
    """What is found by the text in the address: the best of each kind, or all of one."""
    found = search.find(request.user, request.GET.get("q", ""), request.GET.get("of", ""))
    return render_page(request, "questions/search.html", "questions/_search.html", {"found": found})


@require_safe
@login_required
def glossary_page(request: HttpRequest) -> HttpResponse:
    """The field's terms, each with the questions that use it."""
    return render(request, "questions/glossary.html", {"rows": terms_page_rows()})
