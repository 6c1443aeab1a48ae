"""Mail each person who asked for it what is due today; to be run once an hour."""
import sys

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from flashcards import reminders


class Command(BaseCommand):
    help = __doc__

    def handle(self, **_: object) -> None:
        if not settings.HAS_MAIL:
            raise CommandError("This deployment has no mail: EMAIL_URL is not set.")
        sent, faults = reminders.send_due(timezone.now())
        self.stdout.write(f"{sent} sent")
        for fault in faults:
            self.stderr.write(fault)
        if faults:
            sys.exit(1)
