"""Teams, plans, rooms and reports. A literal path stands before those that begin with an interview's code."""
from django.urls import path

from mocks import team_views

app_name = "mocks"
urlpatterns = [
    path("", team_views.mock_page, name="mock"),
    path("teams/new/", team_views.new_team, name="new_team"),
    path("teams/<int:pk>/", team_views.team_page, name="team"),
]
