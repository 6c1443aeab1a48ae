"""Put a copy that `backup` made in the database's place."""
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from drillapp import backups


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--replace", action="store_true", help="where there are reviews too; they are copied first")

    def handle(self, *, file: Path, replace: bool, **_: object) -> None:
        try:
            made_at = backups.read_manifest(file).made_at
            kept = backups.take_back(file, replace=replace, now=timezone.now())
        except backups.BackupFault as fault:
            raise CommandError(str(fault)) from None
        self.stdout.write(f"Restored as of {made_at}." + (f" What was here is in {kept}." if kept else ""))
