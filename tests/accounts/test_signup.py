"""Who may make an account: everybody, the invited, nobody."""
import time
from datetime import timedelta
from io import StringIO
from urllib.parse import urlsplit

import pytest
from django.core import mail
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client

from accounts import services
from accounts.models import User

pytestmark = pytest.mark.django_db
NEW = {"email": "new@example.org", "password1": "crib-tangle-9", "password2": "crib-tangle-9"}


@pytest.fixture(autouse=True)
def no_earlier_tries() -> None:
    """Tries are counted in the cache; each test starts from none."""
    cache.clear()


def invite(email: str = "new@example.org") -> str:
    """The path of an invitation made just now."""
    return urlsplit(services.invite_link(email)).path


def test_open_lets_anybody_in(client: Client, settings: object):
    settings.DRILL_SIGNUP = "open"
    assert client.post("/accounts/signup/", NEW).url == "/"
    assert client.session["_auth_user_id"] == str(User.objects.get(email="new@example.org").pk)


def test_closed_says_so_and_makes_nothing(client: Client, settings: object):
    settings.DRILL_SIGNUP = "closed"
    for response in (client.get("/accounts/signup/"), client.post("/accounts/signup/", NEW)):
        assert response.status_code == 200
        assert "Nobody can make an account here." in response.content.decode()
    assert not User.objects.exists()


def test_closed_ignores_an_invitation(client: Client, settings: object):
    settings.DRILL_SIGNUP = "closed"
    client.get(invite())
    client.post("/accounts/signup/", NEW)
    assert not User.objects.exists()


def test_invite_without_an_invitation_says_so(client: Client, settings: object):
    settings.DRILL_SIGNUP = "invite"
    response = client.post("/accounts/signup/", NEW)
    assert "Accounts here are by invitation." in response.content.decode()
    assert not User.objects.exists()


def test_an_invitation_makes_one_account(client: Client, settings: object):
    settings.DRILL_SIGNUP = "invite"
    link = invite()
    response = client.get(link, follow=True)
    assert 'value="new@example.org"' in response.content.decode()
    client.post("/accounts/signup/", NEW)
    assert User.objects.get().email == "new@example.org"
    assert "This invitation no longer makes an account." in Client().get(link).content.decode()


def test_an_invitation_is_for_its_address_alone(client: Client, settings: object):
    settings.DRILL_SIGNUP = "invite"
    client.get(invite("Ada@Example.org"))
    response = client.post("/accounts/signup/", NEW)
    assert response.status_code == 200
    assert "The invitation is for ada@example.org" in response.content.decode()
    assert 'value="new@example.org"' in response.content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize(("age", "holds"), [(timedelta(days=6, hours=23), True), (timedelta(days=7, seconds=2), False)])
def test_an_invitation_lives_seven_days(monkeypatch: pytest.MonkeyPatch, age: timedelta, holds: bool):
    token = invite().split("/")[-2]
    later = time.time() + age.total_seconds()
    monkeypatch.setattr("django.core.signing.time.time", lambda: later)
    assert services.read_invite(token) == ("new@example.org" if holds else None)


@pytest.mark.parametrize("token", ["", "x", "new@example.org", "a:b:c", "é" * 500])
def test_a_forged_invitation_is_none(token: str):
    assert services.read_invite(token) is None


def test_the_command_refuses_what_would_not_work(ada: User, settings: object):
    settings.DRILL_SIGNUP = "closed"
    with pytest.raises(CommandError, match="set DRILL_SIGNUP to invite"):
        call_command("invite", "new@example.org")
    settings.DRILL_SIGNUP = "invite"
    with pytest.raises(CommandError, match="has an account already"):
        call_command("invite", "ADA@example.org")
    with pytest.raises(CommandError, match="is not an e-mail address"):
        call_command("invite", "ada")
    out = StringIO()
    call_command("invite", "new@example.org", stdout=out)
    assert out.getvalue().startswith("http://localhost:8000/accounts/invited/")


def test_a_wrong_password_keeps_the_address_and_says_why(client: Client, ada: User):
    response = client.post("/accounts/login/", {"login": "ada@example.org", "password": "wrong"})
    text = response.content.decode()
    assert response.status_code == 200
    assert "This address and this password don&#x27;t belong together." in text
    assert 'value="ada@example.org"' in text


def test_too_many_tries_are_told_to_wait(client: Client, ada: User):
    for _ in range(12):
        response = client.post("/accounts/login/", {"login": "ada@example.org", "password": "wrong"})
    assert "Too many tries" in response.content.decode()
    assert 'class="wordmark"' in response.content.decode()


def test_signing_in_goes_where_one_was_going(client: Client, ada: User):
    typed = {"login": "ADA@example.org", "password": "a long password", "next": "/keys/"}
    response = client.post("/accounts/login/", typed)
    assert response.url == "/keys/"


def test_signing_in_goes_nowhere_else(client: Client, ada: User):
    typed = {"login": "ada@example.org", "password": "a long password", "next": "https://elsewhere.example/"}
    response = client.post("/accounts/login/", typed)
    assert response.url == "/"


def test_a_get_signs_nobody_out(as_ada: Client):
    assert "Sign out of this browser?" in as_ada.get("/accounts/logout/").content.decode()
    assert "_auth_user_id" in as_ada.session
    as_ada.post("/accounts/logout/")
    assert "_auth_user_id" not in as_ada.session


def test_a_password_is_set_anew_by_letter(client: Client, ada: User):
    client.post("/accounts/password/reset/", {"email": "ada@example.org"})
    link = next(word for word in mail.outbox[0].body.split() if "/password/reset/key/" in word)
    form = client.get(urlsplit(link).path, follow=True)
    address = form.redirect_chain[-1][0]
    short = client.post(address, {"password1": "short", "password2": "short"})
    assert "too short" in short.content.decode()
    done = client.post(address, {"password1": "crib-tangle-9", "password2": "crib-tangle-9"}, follow=True)
    assert "The new password is set." in done.content.decode()
    assert User.objects.get().check_password("crib-tangle-9")
    assert "This link no longer sets a password." in Client().get(urlsplit(link).path, follow=True).content.decode()


def test_nobody_learns_who_has_an_account(client: Client, ada: User):
    known, unknown = (
        client.post("/accounts/password/reset/", {"email": email}, follow=True).content
        for email in ("ada@example.org", "nobody@example.org")
    )
    assert known == unknown
    assert [letter.to for letter in mail.outbox] == [["ada@example.org"]]


def test_an_account_without_password_can_set_one(client: Client):
    owner = services.make_account("owner@localhost")
    client.force_login(owner)
    assert client.get("/accounts/password/change/").url == "/accounts/password/set/"
    client.post("/accounts/password/set/", {"password1": "crib-tangle-9", "password2": "crib-tangle-9"})
    owner.refresh_from_db()
    assert owner.check_password("crib-tangle-9")
