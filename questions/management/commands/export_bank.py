"""Write questions and number cards from the database to their files."""
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from questions import loading
from questions.content import BadFile
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
        kept_back = []
        for slug in slugs:
            try:
                path, written = loading.export_row(rows[slug], options["to"])
            except (OSError, BadFile) as fault:
                kept_back.append(f"{slug}: its file can't be written. {fault}")
                continue
            self.stdout.write(f"{slug}: {path}{'' if written else ' says the same already'}")
        if kept_back:
            raise CommandError("\n".join(kept_back))
        if not slugs:
            self.stdout.write("Nothing was edited or made in the admin.")
