"""The learner's pages: Today, Review and Settings."""
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods, require_POST


@require_GET
@login_required
def today_page(request: HttpRequest) -> HttpResponse:
    """What is due today, how long it should take, and the days ahead."""
    return render(request, "flashcards/today.html")


@require_GET
@login_required
def review_page(request: HttpRequest) -> HttpResponse:
    """One item of the day: asked, or, once committed, beside the staff answer."""
    return render(request, "flashcards/review.html")


@require_http_methods(["GET", "POST"])
@login_required
def settings_page(request: HttpRequest) -> HttpResponse:
    """What the person has set."""
    return render(request, "flashcards/settings.html")


draft = check = ticks = answer = undo = require_POST(login_required(today_page))
