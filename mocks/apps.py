from django.apps import AppConfig


class MocksConfig(AppConfig):
    name = "mocks"
