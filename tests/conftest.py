"""The cast: Ada learns, Ben interviews, Eve is a stranger, Kim edits."""
import gc
from collections.abc import Generator
from dataclasses import replace

import pytest
from django.test import Client
from hypothesis import HealthCheck, settings

from accounts.models import User
from questions import loading

# The same examples at every run, however slow the machine; to search for new ones: --hypothesis-profile=default.
steady = {"derandomize": True, "deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("steady", **steady)
settings.load_profile("steady")


DATABASE_FIXTURES = {"db", "transactional_db", "django_db_setup", "live_server"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--touching-database", action="store_true", help="only tests that touch the database")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --touching-database leave out the tests that can't tell one database from another.

    Pages (the labs', the browser's, the files named test_…_pages.py) add no queries to those of the models and
    services, whose own tests are here, but in a browser where two requests meet; nor does a month of them add any.
    """
    if not config.getoption("--touching-database"):
        return
    touching = {item: bool(DATABASE_FIXTURES & set(item.fixturenames)) for item in items}
    touching |= {item: True for item in items if item.get_closest_marker("django_db")}
    touching |= {item: False for item in items if {"calculators", "browser"} & set(item.path.parts)}
    touching |= {item: False for item in items if item.path.stem.endswith("_pages")}
    touching |= {item: False for item in items if item.get_closest_marker("month")}
    touching |= {item: True for item in items if item.get_closest_marker("race")}
    config.hook.pytest_deselected(items=[item for item in items if not touching[item]])
    items[:] = [item for item in items if touching[item]]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep all that is collected out of the collector's rounds: ten thousand tests, which it went over at every one."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


@pytest.fixture(scope="session")
def real_bank() -> loading.Bank:
    """The bank as its files have it. Reading it plays every question's runs, so it is read once."""
    return loading.read_bank()


@pytest.fixture(scope="session")
def on_scheduling(real_bank: loading.Bank) -> loading.Bank:
    """The bank with the questions of one topic alone: what a page of a question shows does not grow with the bank."""
    questions = {slug: file for slug, file in real_bank.questions.items() if file.topic == "scheduling"}
    return replace(real_bank, questions=questions)


@pytest.fixture(scope="session")
def real_deck(real_bank: loading.Bank) -> loading.Bank:
    """The bank's number cards without its questions."""
    return replace(real_bank, questions={})


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
