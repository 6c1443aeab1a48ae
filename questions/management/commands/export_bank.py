"""Write questions and number cards from the database to their files."""
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from questions import loading
from questions.models import Note, Question


class Command(BaseCommand):
    help = "Write the files of the questions and number cards named, or of all that were edited or made in the admin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slugs", metavar="SLUG", nargs="*")
        parser.add_argument("--to", metavar="FOLDER", type=Path, default=loading.FOLDER,
                            help="default: the bank; its deck lies beside it")

    def handle(self, *args: object, **options: object) -> None:
        found = [*Question.objects.select_related("topic"), *Note.objects.filter(owner=None).select_related("topic")]
        rows = {row.slug: row for row in found}
        if unknown := [slug for slug in options["slugs"] if slug not in rows]:
            raise CommandError(f"There is no question or number card {', '.join(unknown)}.")
        slugs = options["slugs"] or [slug for slug, row in rows.items() if loading.edited(row)]
        for slug in slugs:
            path, written = loading.export_row(rows[slug], options["to"])
            self.stdout.write(f"{slug}: {path}{'' if written else ' says the same already'}")
        if not slugs:
            self.stdout.write("Nothing was edited or made in the admin.")
