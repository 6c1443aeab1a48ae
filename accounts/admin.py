"""Who may write the bank: people and their groups, for superusers alone."""
# These two are imported for what they register, so that it can be taken off again.
import allauth.account.admin  # noqa: F401
import django.contrib.auth.admin  # noqa: F401
from allauth.account.models import EmailAddress
from django import forms
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db import models
from django.http import HttpRequest

from accounts.models import User

admin.site.unregister([EmailAddress, Group])


@admin.register(User)
class UserAdmin(admin.ModelAdmin):
    """Accounts are made by invitation, and nobody's log is deleted from here; a person gets a name and rights."""

    list_display = ("email", "first_name", "group_names", "is_superuser", "is_active", "last_login")
    list_filter = ("groups", "is_superuser", "is_active")
    search_fields = ("email", "first_name", "last_name")
    ordering = ("email",)
    fields = ("email", "first_name", "last_name", "groups", "is_superuser", "is_active", "date_joined", "last_login")
    formfield_overrides = {models.ManyToManyField: {"widget": forms.CheckboxSelectMultiple}}
    actions = None

    @admin.display(description="Groups")
    def group_names(self, user: User) -> str:
        return ", ".join(group.name for group in user.groups.all()) or "–"

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """What is not set here; nobody locks themselves out."""
        own = ("is_superuser", "is_active") if obj == request.user else ()
        return ("email", "date_joined", "last_login", *own)

    def has_view_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return request.user.is_superuser

    has_change_permission = has_module_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False
