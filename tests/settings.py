"""The settings of the tests: a data folder that goes away, quick passwords, static files read where they lie."""
import atexit
import os
import shutil
import tempfile

folder = tempfile.mkdtemp(prefix="drillapp-tests-")
atexit.register(shutil.rmtree, folder, ignore_errors=True)
# A developer's own settings must not change what a test sees.
NAMES = (
    "ALLOWED_HOSTS BEHIND_PROXY DEBUG EMAIL_URL PORT REPORTS_DATABASE_URL SITE_URL "
    "DRILL_BACKUPS DRILL_HOST DRILL_PUBLIC_LABS DRILL_SIGNUP"
)
for name in NAMES.split():
    os.environ.pop(name, None)
os.environ["DRILL_DATA"] = folder
if os.environ.get("DATABASE_URL"):
    os.environ.setdefault("SECRET_KEY", "only for tests")

from drillapp.settings import *  # noqa: E402, F403
from drillapp.settings import DATABASES, STORAGES  # noqa: E402

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # In a file, as threads and the browser's server each need a connection to it. It need not outlive a power cut.
    DATABASES["default"]["TEST"] = {"NAME": os.path.join(folder, "test.sqlite3")}
    DATABASES["default"]["OPTIONS"]["init_command"] += "; PRAGMA synchronous=OFF"
else:
    # Threads come and go here; a connection that outlives its thread would keep the test database from being dropped.
    DATABASES["default"]["CONN_MAX_AGE"] = 0
os.mkdir(os.path.join(folder, "static"))
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
DRILL_BACKUPS = False
STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
