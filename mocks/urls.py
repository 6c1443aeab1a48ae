"""Teams, plans, rooms and reports."""
app_name = "mocks"
urlpatterns: list = []
