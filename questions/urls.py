"""The search and the glossary."""
from django.urls import path

from questions import views

app_name = "questions"
urlpatterns = [
    path("search/", views.search_page, name="search"),
    path("glossary/", views.glossary_page, name="glossary"),
]
