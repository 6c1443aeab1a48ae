"""The one-time link: in on first use, dead after use, ten minutes or a newer link."""
from datetime import UTC, datetime, timedelta
from io import StringIO
from urllib.parse import urlsplit

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from accounts import services
from accounts.models import SigninLink, User

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def token_of(link: str) -> str:
    return urlsplit(link).path.rstrip("/").rsplit("/", 1)[1]


def fresh(user: User) -> str:
    """The path of a link made just now."""
    return urlsplit(services.signin_link(user, timezone.now())).path


def signed_in(client: Client) -> str | None:
    return client.session.get("_auth_user_id")


def test_a_link_signs_its_person_in_and_goes_to_today(client: Client, ada: User):
    response = client.get(fresh(ada))
    assert (response.status_code, response.url) == (302, "/")
    assert signed_in(client) == str(ada.pk)


def test_a_second_use_is_refused_in_words(client: Client, ada: User):
    link = fresh(ada)
    Client().get(link)
    response = client.get(link)
    assert response.status_code == 200
    assert "This link no longer signs in." in response.content.decode()
    assert "python manage.py signin_link owner@localhost" in response.content.decode()
    assert signed_in(client) is None


def test_a_second_click_in_the_same_browser_says_one_is_in(client: Client, ada: User):
    link = fresh(ada)
    client.get(link)
    assert "You are signed in already, as ada@example.org." in client.get(link).content.decode()
    assert signed_in(client) == str(ada.pk)


@pytest.mark.parametrize(("age", "works"), [(timedelta(minutes=9, seconds=59), True), (timedelta(minutes=10), False)])
def test_a_link_lives_ten_minutes(ada: User, age: timedelta, works: bool):
    token = token_of(services.signin_link(ada, NOON))
    assert services.use_link(token, NOON + age) == (ada if works else None)


def test_a_newer_link_voids_the_older(ada: User):
    older = token_of(services.signin_link(ada, NOON))
    newer = token_of(services.signin_link(ada, NOON))
    assert services.use_link(older, NOON) is None
    assert services.use_link(newer, NOON) == ada


def test_another_persons_link_stays(ada: User, ben: User):
    bens = token_of(services.signin_link(ben, NOON))
    services.signin_link(ada, NOON)
    assert services.use_link(bens, NOON) == ben


def test_a_link_changes_who_is_signed_in(as_ada: Client, ben: User):
    as_ada.get(fresh(ben))
    assert signed_in(as_ada) == str(ben.pk)


@pytest.mark.parametrize("purpose", [{"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}])
def test_a_browser_that_fetches_ahead_does_not_burn_it(client: Client, ada: User, purpose: dict[str, str]):
    link = fresh(ada)
    assert client.get(link, headers=purpose).status_code == 204
    assert client.head(link).status_code == 204
    assert signed_in(client) is None
    client.get(link)
    assert signed_in(client) == str(ada.pk)


def test_a_switched_off_account_stays_out(client: Client, ada: User):
    link = fresh(ada)
    User.objects.filter(pk=ada.pk).update(is_active=False)
    client.get(link)
    assert signed_in(client) is None


def test_the_token_itself_is_not_kept(ada: User):
    token = token_of(services.signin_link(ada, NOON))
    assert token not in str(SigninLink.objects.values())


def test_the_command_prints_a_link_that_works(client: Client, ada: User):
    out = StringIO()
    call_command("signin_link", "Ada@Example.org", stdout=out)
    assert out.getvalue().startswith("http://localhost:8000/accounts/link/")
    client.get(urlsplit(out.getvalue().strip()).path)
    assert signed_in(client) == str(ada.pk)


@pytest.mark.django_db
def test_the_command_names_an_address_without_account():
    with pytest.raises(CommandError, match=r"There is no account nobody@example\.org; add --make"):
        call_command("signin_link", "nobody@example.org")


@pytest.mark.django_db
def test_make_gives_the_owner_everything_and_others_nothing_more():
    for _ in range(2):
        call_command("signin_link", "owner@localhost", "--make", stdout=StringIO())
        call_command("signin_link", "new@example.org", "--make", stdout=StringIO())
    assert list(User.objects.order_by("email").values_list("email", "is_superuser")) == [
        ("new@example.org", False), ("owner@localhost", True),
    ]
    assert not User.objects.get(email="owner@localhost").has_usable_password()
