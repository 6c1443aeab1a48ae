"""The cast: Ada learns, Ben interviews, Eve is a stranger, Kim edits."""
import pytest
from django.test import Client

from accounts.models import User


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
