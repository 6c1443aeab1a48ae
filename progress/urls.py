"""Progress: what the log says, what is fitted to it, and what other settings would ask for."""
from django.urls import path

from progress import fit_views, views, what_if_views

app_name = "progress"
urlpatterns = [
    path("", views.progress_page, name="page"),
    path("readiness/", views.readiness_page, name="readiness"),
    path("readiness/<slug:slug>.csv", views.readiness_csv, name="readiness_csv"),
    path("cards/<int:pk>/", views.card_page, name="card"),
    path("<slug:slug>.csv", views.sheet_csv, name="csv"),
    path("fit/", fit_views.fit_page, name="fit"),
    path("fit/<slug:slug>.csv", fit_views.fit_csv, name="fit_csv"),
    path("fit/start/", fit_views.start_fit, name="start_fit"),
    path("fit/adopt/", fit_views.adopt, name="adopt"),
    path("fit/restore/", fit_views.restore, name="restore"),
    path("what-if/", what_if_views.what_if_page, name="what_if"),
    path("what-if/year.csv", what_if_views.what_if_csv, name="what_if_csv"),
    path("what-if/start/", what_if_views.start_what_if, name="start_what_if"),
]
