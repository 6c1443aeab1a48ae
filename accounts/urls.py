"""Signing in and out. allauth looks its own pages up by their bare names, so those stand outside the app's space."""
from allauth.account import views as allauth
from django.urls import include, path, re_path

from accounts import views

own = [
    path("link/<str:token>/", views.sign_in, name="sign_in"),
    path("invited/<str:token>/", views.accept_invite, name="accept_invite"),
    path("delete/", views.delete_page, name="delete"),
    path("zone/", views.zone, name="zone"),
]
urlpatterns = [
    path("", include((own, "accounts"))),
    path("login/", allauth.login, name="account_login"),
    path("logout/", allauth.logout, name="account_logout"),
    path("signup/", allauth.signup, name="account_signup"),
    path("inactive/", allauth.account_inactive, name="account_inactive"),
    path("confirm-email/", allauth.email_verification_sent, name="account_email_verification_sent"),
    path("confirm-email/<str:key>/", allauth.confirm_email, name="account_confirm_email"),
    path("password/reset/", allauth.password_reset, name="account_reset_password"),
    path("password/reset/done/", allauth.password_reset_done, name="account_reset_password_done"),
    path("password/reset/key/done/", allauth.password_reset_from_key_done, name="account_reset_password_from_key_done"),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[^/]+)/$",
        allauth.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path("password/change/", allauth.password_change, name="account_change_password"),
    path("password/set/", allauth.password_set, name="account_set_password"),
]
