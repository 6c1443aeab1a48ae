"""Copy the whole database to a file, while it is in use."""
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from drillapp import backups


class Command(BaseCommand):
    """`backup` writes into the data folder, `backup FILE` there; `--daily` makes today's automatic copy once."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", type=Path)
        parser.add_argument("--daily", action="store_true", help="today's automatic copy, unless it is there; thins")

    def handle(self, *, file: Path | None, daily: bool, **_: object) -> None:
        now = timezone.now()
        try:
            if daily:
                path = backups.make_daily(now)
            else:
                path = file or backups.folder() / f"drill-{now:%Y%m%d-%H%M%S}.tar.gz"
                backups.make(path, now)
        except backups.BackupFault as fault:
            raise CommandError(str(fault)) from None
        self.stdout.write(f"{path}, {path.stat().st_size / 2**20:.1f} MiB" if path else "Today's copy is there.")
