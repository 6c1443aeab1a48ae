"""Every address of the site: one include an app."""
from django.contrib import admin
from django.urls import include, path

from drillapp import views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("keys/", views.keys_page, name="keys_page"),
    path("accounts/", include("accounts.urls")),
    path("admin/", admin.site.urls),
    path("labs/", include("calculators.urls")),
    path("", include("questions.urls")),
    path("", include("flashcards.urls")),
    path("mock/", include("mocks.urls")),
    path("progress/", include("progress.urls")),
]
handler400 = "drillapp.views.bad_request"
handler403 = "drillapp.views.forbidden"
handler404 = "drillapp.views.not_found"
handler500 = "drillapp.views.server_error"
