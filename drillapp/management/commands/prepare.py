"""manage.py prepare: bring database, bank and static files up to this code. Run again, it changes nothing."""
import sys

from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from drillapp import startup


class Command(BaseCommand):
    help = "Migrate the database, load the bank and collect the static files, each only as far as it is needed."

    def handle(self, **_: object) -> None:
        try:
            with startup.one_at_a_time():
                self.prepare()
        except DatabaseError as fault:
            sys.exit(f"drillapp: the database can't be used: {' '.join(str(fault).split())}")

    def prepare(self) -> None:
        if unknown := startup.unknown_migrations(MigrationExecutor(connection)):
            more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            sys.exit(f"drillapp: the database is newer than this code (it has {unknown[0]}{more}); update the code")
        if applied := startup.migrate():
            self.stdout.write(f"Database: {applied} migrations applied.")
        try:
            call_command("load_bank")
        except CommandError as fault:
            # What the database holds is whole and can be drilled; the author settles it in time.
            self.stderr.write(f"Bank: {fault}")
        if startup.collect_static():
            self.stdout.write("Static files collected.")
