"""Pages of the account that django-allauth does not have."""
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import access, services
from accounts.forms import DeleteForm


def only_looks(request: HttpRequest) -> bool:
    """Whether a browser or a link previewer fetches the page before anybody has asked for it."""
    purpose = request.headers.get("Sec-Purpose") or request.headers.get("Purpose") or ""
    return request.method == "HEAD" or "prefetch" in purpose


@require_safe
@never_cache
def sign_in(request: HttpRequest, token: str) -> HttpResponse:
    """Sign in by the one-time link, or say why it doesn't and how to get another."""
    if only_looks(request):
        return HttpResponse(status=204)
    if user := services.use_link(token, timezone.now()):
        login(request, user, backend="django.contrib.auth.backends.ModelBackend")
        return redirect("flashcards:today")
    return render(request, "account/link_dead.html")


@require_safe
@never_cache
def accept_invite(request: HttpRequest, token: str) -> HttpResponse:
    """Keep the invitation in the session and go on to making the account."""
    if not (email := services.read_invite(token)):
        return render(request, "account/invite_dead.html")
    request.session[access.INVITE_KEY] = token
    return redirect(f"{reverse('account_signup')}?{urlencode({'email': email})}")


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@never_cache
def delete_page(request: HttpRequest) -> HttpResponse:
    """Delete the person's account with all that is theirs, once they have typed its address."""
    form = DeleteForm(request.user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        services.delete_account(request.user)
        logout(request)
        messages.success(request, "The account and everything that was in it are gone.")
        return redirect("account_login")
    is_owner = request.user.email == settings.DRILL_OWNER
    return render(request, "account/delete.html", {"form": form, "is_owner": is_owner})


@login_required
@require_POST
def zone(request: HttpRequest) -> HttpResponse:
    """Take the browser's time zone once."""
    services.guess_zone(request.user, request.POST.get("zone", ""))
    return HttpResponse(status=204)
