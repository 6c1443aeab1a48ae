"""The labs' addresses."""
from django.urls import path

from calculators import views

app_name = "calculators"
urlpatterns = [
    path("", views.labs_page, name="labs_page"),
    path("scheduler/recorded", views.scheduler_record, name="scheduler_record"),
    path("<slug:slug>", views.lab_page, name="lab_page"),
    path("<slug:slug>/", views.without_slash, name="without_slash"),
    path("<slug:slug>/paste", views.paste, name="paste"),
    path("<slug:slug>.json", views.lab_json, name="lab_json"),
]
