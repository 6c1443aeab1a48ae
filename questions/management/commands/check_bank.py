"""Check the bank's files without a database."""
from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from questions import loading


class Command(BaseCommand):
    help = "Check every file of the bank: figures, labs, values, sources, rubric, Markdown, links, draws."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--draws", type=int, default=loading.DRAWS, help="draws of each question that varies")

    def handle(self, *args: object, **options: object) -> None:
        if options["draws"] < 0:
            raise CommandError("--draws takes 0 or more.")
        try:
            files = loading.read_bank()
        except loading.BadBank as bad:
            raise CommandError(str(bad)) from None
        report = loading.check_bank(files, options["draws"])
        for slug, redrawn in report.redrawn.items():
            self.stdout.write(f"{slug}: {options['draws']} draws, {redrawn} thrown away before them")
        if report.faults:
            raise CommandError(str(loading.BadBank(report.faults)))
        self.stdout.write(", ".join(f"{count:,} {name}" for name, count in report.counts.items()) + ": no fault")
