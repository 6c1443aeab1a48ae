"""Settings come from the environment; none is needed, and a wrong one stops the start with one line."""
import json
from pathlib import Path

import pytest

from tests.drillapp.commands import run

SHOW = """
import json
from drillapp import settings
shown = {name: value for name, value in vars(settings).items() if name.isupper()}
print(json.dumps(shown, default=str))
"""


def settings(data: Path, **environment: str) -> dict:
    answer = run(data, "-c", SHOW, **environment)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_nothing_set_is_a_private_site_on_one_file(tmp_path: Path):
    shown = settings(tmp_path / "data")
    assert shown["DEBUG"] is False
    assert shown["DATABASES"]["default"]["NAME"] == str(tmp_path / "data" / "drill.sqlite3")
    assert "synchronous=FULL" in shown["DATABASES"]["default"]["OPTIONS"]["init_command"]
    assert (shown["DRILL_HOST"], shown["PORT"], shown["DRILL_SIGNUP"]) == ("127.0.0.1", 8000, "closed")
    assert shown["SESSION_COOKIE_SECURE"] is False
    assert shown["REPORTS_DATABASE"] is None


def test_reports_may_have_a_database_of_their_own(tmp_path: Path):
    shown = settings(tmp_path, REPORTS_DATABASE_URL="postgres://replica/drill")
    assert (shown["REPORTS_DATABASE"]["HOST"], shown["REPORTS_DATABASE"]["NAME"]) == ("replica", "drill")
    assert shown["DATABASES"]["default"]["NAME"] == str(tmp_path / "drill.sqlite3")


def test_secret_key_is_made_once_and_for_its_owner_alone(tmp_path: Path):
    first, second = settings(tmp_path)["SECRET_KEY"], settings(tmp_path)["SECRET_KEY"]
    assert first == second
    assert len(first) > 50
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600


def test_empty_variables_count_as_not_set(tmp_path: Path):
    shown = settings(tmp_path, DATABASE_URL="", SECRET_KEY="", PORT="", ALLOWED_HOSTS="", SITE_URL="")
    assert shown["SITE_URL"] == "http://localhost:8000"
    assert shown["DATABASES"]["default"]["ENGINE"] == "django.db.backends.sqlite3"


def test_site_under_https_trusts_its_own_address_and_sends_cookies_only_there(tmp_path: Path):
    shown = settings(tmp_path, SITE_URL="https://drill.example.org/")
    assert shown["SITE_URL"] == "https://drill.example.org"
    assert "drill.example.org" in shown["ALLOWED_HOSTS"]
    assert shown["CSRF_TRUSTED_ORIGINS"] == ["https://drill.example.org"]
    assert shown["SESSION_COOKIE_SECURE"] is True
    assert shown["CSRF_COOKIE_SECURE"] is True


def test_secret_key_with_a_dollar_is_taken_as_it_is(tmp_path: Path):
    assert settings(tmp_path, SECRET_KEY="$HOME and more")["SECRET_KEY"] == "$HOME and more"


def test_postgres_on_a_socket(tmp_path: Path):
    url = "postgresql://postgres:@/drill?host=/var/run/pg"
    database = settings(tmp_path, DATABASE_URL=url, SECRET_KEY="k")["DATABASES"]["default"]
    assert (database["ENGINE"], database["NAME"]) == ("django.db.backends.postgresql", "drill")
    assert database["OPTIONS"]["host"] == "/var/run/pg"


def test_mail_goes_where_it_is_told(tmp_path: Path):
    shown = settings(tmp_path, EMAIL_URL="smtp+tls://kim:secret@mail.example.org:587")
    assert (shown["EMAIL_HOST"], shown["EMAIL_PORT"], shown["EMAIL_USE_TLS"]) == ("mail.example.org", 587, True)
    assert shown["ACCOUNT_EMAIL_VERIFICATION"] == "mandatory"


@pytest.mark.parametrize(("name", "value"), [
    ("PORT", "eighty"),
    ("PORT", "65536"),
    ("PORT", "0"),
    ("WEB_CONCURRENCY", "-1"),
    ("DEBUG", "maybe"),
    ("DRILL_SIGNUP", "all"),
    ("DRILL_PUBLIC_LABS", "2"),
    ("SITE_URL", "drill.example.org"),
    ("SITE_URL", "https://drill.example.org/app"),
    ("DATABASE_URL", "mysql://db/drill"),
    ("DATABASE_URL", "nonsense"),
    ("REPORTS_DATABASE_URL", "nonsense"),
    ("DATABASE_URL", "sqlite://:memory:"),
    ("DATABASE_URL", "postgres://user@host:port/name"),
    ("EMAIL_URL", "pigeon://mail"),
    ("EMAIL_URL", "smtp://host:port"),
])
def test_wrong_value_stops_with_one_line_that_names_it(tmp_path: Path, name: str, value: str):
    answer = run(tmp_path, "manage.py", "check", **{"SECRET_KEY": "k", name: value})
    assert answer.returncode == 1
    assert answer.stderr.startswith("drillapp: ")
    assert name in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_shared_database_needs_a_shared_key(tmp_path: Path):
    answer = run(tmp_path, "manage.py", "check", DATABASE_URL="postgres://db/drill")
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert "SECRET_KEY must be set" in answer.stderr


def test_data_folder_that_is_a_file_stops_with_one_line(tmp_path: Path):
    file = tmp_path / "taken"
    file.touch()
    answer = run(file, "manage.py", "check")
    assert answer.returncode == 1
    assert answer.stderr == f"drillapp: DRILL_DATA={str(file)!r} can't be used: File exists\n"


def test_empty_secret_key_file_stops_with_one_line(tmp_path: Path):
    (tmp_path / "secret_key").touch()
    answer = run(tmp_path, "manage.py", "check")
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert "is empty" in answer.stderr


def test_gunicorn_by_itself_stops_with_the_same_line(tmp_path: Path):
    answer = run(tmp_path, "-m", "gunicorn", "--check-config", PORT="eighty")
    assert answer.returncode == 1
    assert answer.stderr == "drillapp: PORT='eighty' is not a whole number from 1 to 65535\n"
