"""Load the bank's files into the database."""
from argparse import ArgumentParser
from collections import Counter

from django.core.management.base import BaseCommand, CommandError

from questions import loading, search
from questions.content import Act

MOST_NAMED = 10
DONE = {
    Act.CREATE: "created", Act.UPDATE: "updated", Act.NOTHING: "unchanged", Act.KEEP_EDIT: "kept as edited",
    Act.CAME_HOME: "the edit came home", Act.CONFLICT: "in conflict", Act.RETIRE: "retired",
    Act.KEEP_OWN: "made in the admin and kept",
}


class Command(BaseCommand):
    help = "Load the bank's files; an edit made in the admin is kept and reported, never overwritten."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--take-file", metavar="SLUG", action="append", default=[],
                            help="settle the conflict about SLUG: the file replaces the edited row")

    def handle(self, *args: object, **options: object) -> None:
        try:
            files = loading.read_bank()
        except loading.BadBank as bad:
            raise CommandError(f"Nothing was loaded. These files have faults:\n{bad}") from None
        if unknown := set(options["take_file"]) - files.documents.keys():
            raise CommandError(f"No file of the bank is named {', '.join(sorted(unknown))}.")
        acts = loading.load_bank(files, options["take_file"])
        search.rebuild()
        counted = Counter(acts.values())
        for slug, act in acts.items():
            if act is Act.KEEP_EDIT:
                self.stdout.write(f"{slug}: edited in the admin; the edit is kept (export_bank {slug} writes its file)")
            elif act not in (Act.NOTHING, Act.CONFLICT) and counted[act] <= MOST_NAMED:
                self.stdout.write(f"{slug}: {DONE[act]}")
        loaded = f"{many(len(files.questions), 'question')} and {many(len(files.notes), 'number card')}"
        parts = [f"{count:,} {DONE[act]}" for act, count in counted.items()]
        self.stdout.write(f"{loaded}: {DONE[next(iter(counted))] if len(counted) == 1 else ', '.join(parts)}")
        if conflicts := [slug for slug, act in acts.items() if act is Act.CONFLICT]:
            raise CommandError("\n".join(
                f"{slug}: conflict. The row was edited and {files.path(slug)} changed as well; "
                f"the row stays. Settle it with load_bank --take-file {slug}, or with export_bank {slug}."
                for slug in conflicts
            ))


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
