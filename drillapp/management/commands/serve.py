"""manage.py serve: prepare, listen, and print the owner's sign-in link once the site answers. bin/run calls it."""
import os
import sys
import time
from contextlib import suppress
from http.client import HTTPConnection
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connections
from django.utils import timezone

from accounts import services
from drillapp import startup


class Command(BaseCommand):
    help = "Prepare, then serve with gunicorn until Ctrl-C."

    def handle(self, **_: object) -> None:
        where = f"port {settings.PORT} of {settings.DRILL_HOST}"
        if fault := startup.port_fault(settings.DRILL_HOST, settings.PORT):
            sys.exit(f"drillapp: can't listen on {where}: {fault}; PORT=… chooses another one")
        call_command("prepare", stdout=self.stdout, stderr=self.stderr)
        self.stdout.write(f"Serving {settings.SITE_URL} from {settings.DATA_DIR}; Ctrl-C stops it.")
        connections.close_all()
        sys.stdout.flush()
        server = os.getpid()
        if os.fork() == 0:
            with suppress(KeyboardInterrupt):
                announce(server)
            os._exit(0)
        config = str(settings.BASE_DIR / "gunicorn.conf.py")
        os.execv(sys.executable, [sys.executable, "-m", "gunicorn", "--config", config])


def announce(server: int) -> None:
    """Wait until the site answers, then print a link that signs the owner in; give up when process `server` ends."""
    patience = time.monotonic() + 60
    while not is_healthy():
        if os.getppid() != server:
            return
        if time.monotonic() > patience:
            print("drillapp: the site does not answer at /healthz; what is printed above may say why", file=sys.stderr)
            return
        time.sleep(0.1)
    link = services.signin_link(services.make_account(settings.DRILL_OWNER), timezone.now())
    print(f"Sign in, once, within 10 minutes: {link}", flush=True)


def is_healthy() -> bool:
    """Whether the site answers, and its database with it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.DRILL_HOST, settings.DRILL_HOST)
    ask = HTTPConnection(host, settings.PORT, timeout=5)
    try:
        ask.request("GET", "/healthz", headers={"Host": urlsplit(settings.SITE_URL).netloc})
        return ask.getresponse().status == 200
    except OSError:
        return False
    finally:
        ask.close()
