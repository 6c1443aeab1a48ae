"""The authors' side: Django's admin behind the site's own sign-in, for those who may write the bank."""
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from django.contrib import admin
from django.contrib.admin import apps
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect


class AdminConfig(apps.AdminConfig):
    default_site = "drillapp.author_site.AuthorSite"


class AuthorSite(admin.AdminSite):
    site_title = site_header = "drillapp administration"
    index_title = "What you may edit"

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether this person may edit anything: one of the staff, or one with rights on the bank."""
        user = request.user
        return user.is_active and (user.is_staff or user.has_module_perms("questions"))

    def admin_view(self, view: Callable[..., HttpResponse], cacheable: bool = False) -> Callable[..., HttpResponse]:
        """The view behind the site's own sign-in; to whoever has no business here the address does not exist."""
        inner = super().admin_view(view, cacheable)

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            # Imported late, as Django's own site does: it needs the models, which this module comes before.
            from django.contrib.auth.views import redirect_to_login

            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            if not self.has_permission(request):
                raise Http404("no such page")
            if "%00" in request.META["QUERY_STRING"]:  # a filter's value goes to PostgreSQL, which has no NUL in a text
                raise BadRequest("a NUL in the address")
            return inner(request, *args, **kwargs)

        return update_wrapper(guarded, view)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The first page, by way of the site's own sign-in."""
        return self.admin_view(lambda request: redirect("admin:index"))(request)

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return redirect("account_logout")

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return redirect("account_change_password")
