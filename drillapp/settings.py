"""Settings, read from the environment; with none set, everything works on one SQLite file in the data folder."""
import os
import secrets
import sys
from pathlib import Path

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()


def read(kind: str, name: str, default: object) -> object:
    """One environment variable as `kind` ("bool", "int", "list", "str"); a value that can't be read stops the start."""
    try:
        return getattr(env, kind)(name, default=default)
    except ValueError as fault:
        raise ImproperlyConfigured(f"{name}={os.environ.get(name)!r} can't be read as {kind}: {fault}") from None


def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    """An environment variable that takes one of a few words."""
    value = env.str(name, default=default)
    if value not in allowed:
        raise ImproperlyConfigured(f"{name}={value!r} is not one of: {', '.join(allowed)}")
    return value


def data_folder() -> Path:
    """The folder that holds the SQLite file and the secret key; made on first use."""
    folder = Path(env.str("DRILL_DATA", default=str(BASE_DIR / "data"))).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError("not writable")
    except OSError as fault:
        raise ImproperlyConfigured(f"DRILL_DATA={str(folder)!r} can't be used as the data folder: {fault}") from None
    return folder


def secret_key() -> str:
    """SECRET_KEY, or one made once and kept in the data folder, readable by its owner alone."""
    if key := env.str("SECRET_KEY", default=""):
        return key
    if env.str("DATABASE_URL", default=""):
        raise ImproperlyConfigured("SECRET_KEY must be set when DATABASE_URL is: every process needs the same one")
    path = DATA_DIR / "secret_key"
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(50))
    except FileExistsError:
        pass
    return path.read_text().strip()


def database() -> dict[str, object]:
    """The database that DATABASE_URL names, else drill.sqlite3 in the data folder, made safe for many writers."""
    if env.str("DATABASE_URL", default=""):
        try:
            config = env.db_url("DATABASE_URL")
        except (ValueError, KeyError, ImproperlyConfigured) as fault:
            raise ImproperlyConfigured(f"DATABASE_URL can't be read: {fault}") from None
        if config["ENGINE"] == "django.db.backends.postgresql":
            return config | {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
        if config["ENGINE"] != "django.db.backends.sqlite3":
            raise ImproperlyConfigured("DATABASE_URL must name a PostgreSQL or an SQLite database")
    else:
        config = {"ENGINE": "django.db.backends.sqlite3", "NAME": DATA_DIR / "drill.sqlite3"}
    pragmas = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA busy_timeout=10000"
    options = {"transaction_mode": "IMMEDIATE", "timeout": 10, "init_command": pragmas}
    # The tests run threads against it, which an in-memory database can't show.
    return config | {"OPTIONS": options, "TEST": {"NAME": DATA_DIR / "test.sqlite3"}}


DATA_DIR = data_folder()
SECRET_KEY = secret_key()
DEBUG = read("bool", "DEBUG", False)
ALLOWED_HOSTS = read("list", "ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = read("list", "CSRF_TRUSTED_ORIGINS", [])
DATABASES = {"default": database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Who may make an account, and whether the labs are open to everyone who reaches the site.
DRILL_SIGNUP = choice("DRILL_SIGNUP", "closed", ("open", "invite", "closed"))
DRILL_PUBLIC_LABS = read("bool", "DRILL_PUBLIC_LABS", True)
DRILL_OWNER = "owner@localhost"
SITE_URL = env.str("SITE_URL", default=f"http://localhost:{env.str('PORT', default='8000')}")

INSTALLED_APPS = [
    "accounts",
    "calculators",
    "questions",
    "flashcards",
    "drillapp",
    "allauth",
    "allauth.account",
    "django_htmx",
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
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
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
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
SESSION_COOKIE_AGE = 60 * 60 * 24 * 60

# Mail: printed to the log unless EMAIL_URL names a server.
EMAIL_URL = env.str("EMAIL_URL", default="")
try:
    vars().update(env.email_url("EMAIL_URL") if EMAIL_URL else {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"})
except (ValueError, KeyError, ImproperlyConfigured) as fault:
    raise ImproperlyConfigured(f"EMAIL_URL can't be read: {fault}") from None
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="drillapp@localhost")
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
if "pytest" in sys.modules or DEBUG:
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
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if read("bool", "BEHIND_PROXY", False) else None
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SITE_URL.startswith("https://")
SESSION_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "drillapp.views.csrf_failure"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
}
