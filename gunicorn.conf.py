"""How gunicorn serves the site: a few processes of four threads each, as most of a request waits for the database."""
import signal
import sys
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from gunicorn.workers.base import Worker

sys.path.insert(0, str(Path(__file__).resolve().parent))
try:
    from drillapp import settings
except ImproperlyConfigured as fault:
    sys.exit(f"drillapp: {fault}")

wsgi_app = "drillapp.wsgi"
host = f"[{settings.DRILL_HOST}]" if ":" in settings.DRILL_HOST else settings.DRILL_HOST
bind = f"{host}:{settings.PORT}"
workers = settings.WEB_CONCURRENCY
worker_class = "gthread"
threads = 4
preload_app = True  # loaded once, before the processes part: none of them can be told to stop while it still loads
graceful_timeout = 10
limit_request_line = 8190  # the most it allows: a lab's address holds its whole state
loglevel = "warning"
control_socket_disable = True


def post_worker_init(worker: Worker) -> None:
    """Leave Ctrl-C to the first process, which then stops the others: a worker that a terminal interrupts as well can
    lock itself up between the two signals, and is only killed ten seconds later."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
