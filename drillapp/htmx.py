"""One address, two answers: the whole page, or only the fragment that htmx asked for."""
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def wants_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks for a part of the page (a history restore needs the whole of it)."""
    return bool(request.htmx) and not request.htmx.history_restore_request


def render_page(
    request: HttpRequest, page: str, fragment: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render `fragment` for htmx and `page`, which includes it, for everyone else."""
    response = render(request, fragment if wants_fragment(request) else page, context, status=status)
    patch_vary_headers(response, ("HX-Request", "HX-History-Restore-Request"))
    return response
