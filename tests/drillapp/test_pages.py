"""The pages that belong to no app, and what holds for every page."""
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.models import User
from drillapp import views

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted(path for path in ROOT.glob("*/templates/**/*.html") if ".venv" not in path.parts)
OPEN_TO_STRANGERS = {
    "healthz", "keys_page", "accounts:sign_in", "accounts:accept_invite", "account_login", "account_logout",
    "account_signup", "account_inactive", "account_email_verification_sent", "account_confirm_email",
    "account_reset_password", "account_reset_password_done", "account_reset_password_from_key",
    "account_reset_password_from_key_done", "calculators:labs_page", "calculators:lab_page", "calculators:lab_json",
    "calculators:paste", "calculators:scheduler_record", "calculators:without_slash",
}  # fmt: skip
# Open to whoever holds the secret in the address.
BY_SECRET = {"flashcards:calendar", "flashcards:stop_mail", "mocks:join"}
SAMPLE = {"pk": "1", "slug": "scheduler", "token": "none", "key": "none", "uidb36": "1", "app_label": "questions"}
SAMPLE |= {"kind": "note", "object_id": "1", "number": "1", "content_type_id": "1", "url": "none", "what": "none"}
SAMPLE |= {"code": "none", "member": "1"}


def routes(resolver: URLResolver, prefix: str = "", space: str = "") -> Iterator[tuple[str, str]]:
    """Every address as (name, path), with something in place of what varies."""
    for entry in resolver.url_patterns:
        varying = r"\(\?P<(\w+)>[^)]+\)|<\w+:(\w+)>"
        path = prefix + re.sub(varying, lambda match: SAMPLE[match[1] or match[2]], str(entry.pattern)).strip("^$")
        if isinstance(entry, URLPattern):
            yield space + (entry.name or path), path  # the admin has two that bear no name
        else:
            yield from routes(entry, path, f"{entry.namespace}:" if entry.namespace else space)


ROUTES = dict(routes(get_resolver(), "/"))


def test_the_walk_sees_every_app():
    assert {"healthz", "account_login", "accounts:zone", "calculators:lab_page", "flashcards:answer"} <= set(ROUTES)


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(set(ROUTES) - OPEN_TO_STRANGERS - BY_SECRET))
def test_a_stranger_is_asked_to_sign_in(client: Client, name: str):
    # An address takes GET, POST or both; what it takes leads a stranger to sign-in.
    taken = [
        answer for answer in (client.get(ROUTES[name]), client.post(ROUTES[name])) if answer.status_code != 405
    ]
    assert taken
    assert all(answer.status_code == 302 and answer.url.startswith("/accounts/login/?next=") for answer in taken)


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(BY_SECRET))
def test_a_secret_address_is_not_found_without_its_secret(client: Client, name: str):
    assert client.get(ROUTES[name]).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(OPEN_TO_STRANGERS))
def test_an_open_page_answers_a_stranger(client: Client, name: str):
    assert client.get(ROUTES[name], follow=True).status_code == 200


@pytest.mark.django_db
def test_labs_close_to_strangers_when_told(client: Client, settings: object):
    settings.DRILL_PUBLIC_LABS = False
    assert client.get(ROUTES["calculators:lab_page"]).url.startswith("/accounts/login/?next=")
    assert "open to anyone" not in client.get("/accounts/login/").content.decode()


@pytest.mark.django_db
def test_healthz_says_ok_while_the_database_answers(client: Client):
    response = client.get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok\n")


def test_healthz_says_503_when_the_database_does_not(rf: RequestFactory, monkeypatch: pytest.MonkeyPatch):
    def refuse() -> None:
        raise OperationalError("could not connect")

    monkeypatch.setattr(connection, "cursor", refuse)
    assert views.healthz(rf.get("/healthz")).status_code == 503


@pytest.mark.django_db
def test_a_missing_page_is_named_and_the_nearest_offered(client: Client):
    response = client.get("/labs/shceduler")
    text = response.content.decode()
    assert response.status_code == 404
    assert "There is no page at <code>/labs/shceduler</code>." in text
    assert 'Nearest: <a href="/labs/scheduler">' in text


@pytest.mark.django_db
def test_nothing_is_offered_when_nothing_is_near(client: Client):
    text = client.get("/wp-admin/setup.php").content.decode()
    assert "Nearest" not in text
    assert "/labs/" in text


@pytest.mark.django_db
def test_a_missing_page_offers_no_locked_door(client: Client):
    assert 'Nearest: <a href="/settings/">' not in client.get("/setings/").content.decode()


def test_a_missing_page_offers_the_signed_in_their_own(as_ada: Client):
    assert 'Nearest: <a href="/settings/">Settings</a>' in as_ada.get("/setings/").content.decode()


@pytest.mark.django_db
def test_an_address_in_the_404_page_is_text(client: Client):
    text = client.get("/<script>alert(1)</script>").content.decode()
    assert "<script>alert" not in text


def test_a_broken_page_asks_no_database(rf: RequestFactory):
    # Without the django_db mark a query would fail the test.
    response = views.server_error(rf.get("/"))
    assert response.status_code == 500
    assert b"Something broke here" in response.content


def test_a_host_that_is_not_ours_gets_a_page_in_words(client: Client):
    response = client.get("/healthz", headers={"host": "elsewhere.example"})
    assert response.status_code == 400
    assert b"This request can't be read." in response.content


@pytest.mark.django_db
def test_a_form_from_an_old_page_is_told_what_to_do():
    response = Client(enforce_csrf_checks=True).post("/accounts/login/", {"login": "ada@example.org"})
    assert response.status_code == 403
    assert b"Nothing was recorded." in response.content


@pytest.mark.django_db
def test_every_answer_carries_the_content_policy(client: Client):
    for address in ("/accounts/login/", "/healthz", "/nowhere"):
        policy = client.get(address).headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy


@pytest.mark.parametrize("theme", User.profile.related.related_model.Theme.values)
def test_a_page_wears_the_persons_theme(as_ada: Client, ada: User, theme: str):
    ada.profile.theme = theme
    ada.profile.save()
    assert f'<html lang="en" data-theme="{theme}">' in as_ada.get("/keys/").content.decode()


@pytest.mark.django_db
def test_a_strangers_page_follows_the_device(client: Client):
    assert '<html lang="en" data-theme="auto">' in client.get("/keys/").content.decode()


@pytest.mark.django_db
def test_a_strangers_header_has_no_locked_doors(client: Client):
    header = client.get("/keys/").content.decode().split("</header>")[0]
    assert {"/labs/", "/accounts/login/"} == set(re.findall(r'<a href="([^"]+)"', header))


@pytest.mark.django_db
def test_a_look_around_leaves_no_cookie(client: Client):
    for address in ("/keys/", "/nowhere", "/healthz"):
        assert not client.get(address).cookies


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_template_carries_script_or_style_of_its_own(path: Path):
    text = path.read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|hx-on", text, re.IGNORECASE)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text, re.IGNORECASE))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_template_reaches_off_the_site(path: Path):
    outside = re.findall(r"""(?:src|href|action|hx-\w+)=["'](?:https?:)?//[^"']*""", path.read_text())
    assert outside == []


def test_every_key_is_listed_on_the_keys_page():
    shown = {"Ctrl+Enter": "Ctrl ↵", "Enter": "↵"}
    keys = {key for path in TEMPLATES for key in re.findall(r'data-key="([^"{ ]+)[" {]', path.read_text())}
    listed = (ROOT / "drillapp/templates/_keys.html").read_text()
    assert keys >= {"?", "u", "Ctrl+Enter"}
    assert {key for key in keys if f'<kbd class="key">{shown.get(key, key)}</kbd>' not in listed} == set()


def test_htmx_runs_nothing_that_a_page_brings():
    base = (ROOT / "drillapp/templates/base.html").read_text()
    config = json.loads(base.split("name=\"htmx-config\" content='")[1].split("'")[0])
    assert {name: config[name] for name in ("includeIndicatorStyles", "allowEval", "allowScriptTags")} == {
        "includeIndicatorStyles": False, "allowEval": False, "allowScriptTags": False}


def test_the_site_is_its_own_source_for_everything():
    allowed = {source for sources in settings.CONTENT_SECURITY_POLICY["DIRECTIVES"].values() for source in sources}
    assert allowed == {"'self'", "'none'"}
