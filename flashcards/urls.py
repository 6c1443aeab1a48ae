"""Today, Review, Numbers and Settings: what is seen by its page, what is done by its verb."""
from django.urls import path

from flashcards import views

app_name = "flashcards"
urlpatterns = [
    path("", views.today_page, name="today"),
    path("review/", views.review_page, name="review"),
    path("numbers/", views.numbers_page, name="numbers"),
    path("settings/", views.settings_page, name="settings"),
    path("cards/<int:pk>/draft/", views.draft, name="draft"),
    path("cards/<int:pk>/check/", views.check, name="check"),
    path("cards/<int:pk>/ticks/", views.ticks, name="ticks"),
    path("cards/<int:pk>/answer/", views.answer, name="answer"),
    path("undo/", views.undo, name="undo"),
]
