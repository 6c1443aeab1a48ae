"""The cast: Ada learns, Ben interviews, Eve is a stranger, Kim edits."""
import pytest
from django.test import Client
from hypothesis import HealthCheck, settings

from accounts.models import User

# The same examples at every run, however slow the machine; to search for new ones: --hypothesis-profile=default.
steady = {"derandomize": True, "deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("steady", **steady)
settings.load_profile("steady")


def person(name: str) -> User:
    return User.objects.create_user(f"{name.lower()}@example.org", "a long password", first_name=name)


@pytest.fixture
def ada(db: None) -> User:
    return person("Ada")


@pytest.fixture
def ben(db: None) -> User:
    return person("Ben")


@pytest.fixture
def eve(db: None) -> User:
    return person("Eve")


@pytest.fixture
def kim(db: None) -> User:
    return person("Kim")


@pytest.fixture
def as_ada(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client
