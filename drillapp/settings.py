"""Settings, read from the environment; with none set, everything works on one SQLite file in the data folder."""
import contextlib
import os
import secrets
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent


def text(name: str, default: str = "") -> str:
    """An environment variable; one that is set but empty counts as not set."""
    return os.environ.get(name, "").strip() or default


def words(name: str, default: list[str]) -> list[str]:
    """An environment variable that holds a list, with commas between."""
    return [word.strip() for word in text(name).split(",") if word.strip()] or default


def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    """An environment variable that takes one of a few words."""
    value = text(name, default)
    if value not in allowed:
        raise ImproperlyConfigured(f"{name}={value!r} is not one of: {', '.join(allowed)}")
    return value


def flag(name: str, default: bool) -> bool:
    """An environment variable that is on or off."""
    value = text(name, "on" if default else "off").lower()
    if value not in ("on", "off", "true", "false", "yes", "no", "1", "0"):
        raise ImproperlyConfigured(f"{name}={value!r} is neither on nor off")
    return value in ("on", "true", "yes", "1")


def number(name: str, default: int, most: int) -> int:
    """An environment variable that is a whole number from 1 to `most`."""
    value = text(name, str(default))
    if not (value.isascii() and value.isdecimal() and 1 <= int(value) <= most):
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number from 1 to {most}")
    return int(value)


def address(name: str, default: str) -> str:
    """An environment variable that is the address of a site, without a slash at its end."""
    value = text(name, default).rstrip("/")
    try:
        parts = urlsplit(value)
        bare = not (parts.path or parts.query or parts.fragment)
        good = parts.scheme in ("http", "https") and parts.hostname and bare
    except ValueError:
        good = False
    if not good:
        raise ImproperlyConfigured(f"{name}={value!r} is not an address such as https://drill.example.org")
    return value


def data_folder() -> Path:
    """The folder that holds the SQLite file, the secret key and the static files; made on first use."""
    folder = Path(text("DRILL_DATA", str(BASE_DIR / "data"))).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError("it is not writable")
    except OSError as fault:
        raise ImproperlyConfigured(f"DRILL_DATA={str(folder)!r} can't be used: {fault.strerror or fault}") from None
    return folder


def secret_key() -> str:
    """SECRET_KEY, or one made once and kept in the data folder, readable by its owner alone."""
    if key := text("SECRET_KEY"):
        return key
    if text("DATABASE_URL"):
        raise ImproperlyConfigured("SECRET_KEY must be set when DATABASE_URL is: every process needs the same one")
    path = DATA_DIR / "secret_key"
    try:
        if not path.exists():
            make_key(path)
        key = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as fault:
        raise ImproperlyConfigured(f"The secret key in {path} can't be read or made: {fault}") from None
    if not key:
        raise ImproperlyConfigured(f"{path} is empty; remove it, and the next start makes a new one")
    return key


def make_key(path: Path) -> None:
    """Write a new key; of several starts at once one puts its own in place, and none ever finds half of one."""
    handle, written = tempfile.mkstemp(dir=path.parent)  # readable by its owner alone
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(50))
    try:
        with contextlib.suppress(FileExistsError):
            os.link(written, path)
    finally:
        os.unlink(written)


def database(name: str = "DATABASE_URL") -> dict[str, object]:
    """The database that a variable names, else drill.sqlite3 in the data folder, made safe for many writers."""
    config: dict[str, object] = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATA_DIR / "drill.sqlite3")}
    if url := text(name):
        try:
            known = url.startswith(("postgres://", "postgresql://", "sqlite:///"))
            config = environ.Env.db_url_config(url) if known else {}
        except ValueError as fault:
            raise ImproperlyConfigured(f"{name} can't be read: {fault}") from None
        # Every thread would see an in-memory database of its own.
        if config.get("NAME", "") in ("", ":memory:"):
            example = "postgres://user:password@host/name or sqlite:////path/to/file"
            raise ImproperlyConfigured(f"{name} must look like {example}")
    if config["ENGINE"] == "django.db.backends.postgresql":
        # Django's own cursors never prepare a statement; those that ask for it may.
        options = {"OPTIONS": config.get("OPTIONS", {}) | {"prepare_threshold": 5}}
        return config | options | {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
    pragmas = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA busy_timeout=10000"
    return config | {"OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 10, "init_command": pragmas}}


DATA_DIR = data_folder()
SECRET_KEY = secret_key()
DEBUG = flag("DEBUG", False)
DATABASES = {"default": database()}
# Where reports are read from, when not from the database itself: a replica of it.
REPORTS_DATABASE = database("REPORTS_DATABASE_URL") if text("REPORTS_DATABASE_URL") else None
DRILL_HOST = text("DRILL_HOST", "127.0.0.1").strip("[]")
PORT = number("PORT", 8000, most=65535)
WEB_CONCURRENCY = number("WEB_CONCURRENCY", 2, most=99)
SITE_URL = address("SITE_URL", f"http://localhost:{PORT}")
ALLOWED_HOSTS = [*words("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"]), urlsplit(SITE_URL).hostname]
CSRF_TRUSTED_ORIGINS = [SITE_URL]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Who may make an account, and whether the labs are open to everyone who reaches the site.
DRILL_SIGNUP = choice("DRILL_SIGNUP", "closed", ("open", "invite", "closed"))
# What reads the token of an invitation that a visitor came by: which address may make an account, "" for any; None
# where the token is none of its own or no longer holds.
DRILL_INVITATIONS = ["accounts.services.read_invite", "mocks.teams.invited_email"]
DRILL_PUBLIC_LABS = flag("DRILL_PUBLIC_LABS", True)
DRILL_BACKUPS = flag("DRILL_BACKUPS", True)
DRILL_OWNER = "owner@localhost"

# What an export of everything of a person is made of; each app writes and reads its own part, in this order.
DRILL_EXPORTS = ["accounts.export", "questions.export", "flashcards.export", "mocks.export"]

# What looks whether the database is what its logs say, app by app: each has faults(repair=).
DRILL_SOUNDNESS = ["flashcards.soundness", "mocks.soundness"]

# What does the work that a page leaves to a process of its own, by its kind: of (work, tell), it gives the result.
WORKS = {
    "fit": "progress.fitting.fit_log", "what_if": "progress.what_if.play",
    "import": "flashcards.transfer.bringing.bring", "adopt": "flashcards.adoption.take",
    "move": "flashcards.rescheduling.take",
}

INSTALLED_APPS = [
    "accounts",
    "calculators",
    "questions",
    "flashcards",
    "mocks",
    "progress",
    "drillapp",
    "allauth",
    "allauth.account",
    "django_htmx",
    "drillapp.author_site.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "mocks.quiet.answer_quiet_rooms",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "drillapp.middleware.keep_daily_copy",
    "drillapp.middleware.CloseAnswers",
    "mocks.middleware.LeadToRoom",
    "drillapp.middleware.lead_back",
    "drillapp.middleware.show_forms_address",
]
ROOT_URLCONF = "drillapp.urls"
WSGI_APPLICATION = "drillapp.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "drillapp" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# People
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "accounts.adapter.Adapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_FORMS = {"signup": "accounts.forms.SignupForm"}
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_EMAIL_SUBJECT_PREFIX = "drillapp: "
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
SESSION_COOKIE_AGE = 60 * 60 * 24 * 60

# Mail: printed to the log unless EMAIL_URL names a server.
EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
if EMAIL_URL := text("EMAIL_URL"):
    try:
        vars().update(environ.Env.email_url_config(EMAIL_URL))
    except (ValueError, ImproperlyConfigured):
        raise ImproperlyConfigured("EMAIL_URL must look like smtp+tls://user:password@host:587") from None
DEFAULT_FROM_EMAIL = text("DEFAULT_FROM_EMAIL", "drillapp@localhost")
HAS_MAIL = bool(EMAIL_URL)
ACCOUNT_EMAIL_VERIFICATION = "mandatory" if EMAIL_URL else "none"

# Time and language
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

# Static files, served by the app itself
STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
if DEBUG:
    STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    WHITENOISE_USE_FINDERS = True

# Safety
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if flag("BEHIND_PROXY", False) else None
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SITE_URL.startswith("https://")
SESSION_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "drillapp.views.csrf_failure"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    # A page that isn't there or a host that isn't ours is the visitor's matter, not the log's.
    "loggers": {"django.request": {"level": "ERROR"}, "django.security.DisallowedHost": {"level": "CRITICAL"}},
}
