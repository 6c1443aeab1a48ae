"""Check the bank's files without a database."""
from argparse import ArgumentParser
from collections.abc import Iterable

from django.core.management.base import BaseCommand, CommandError

from questions import glossary, loading, search


class Command(BaseCommand):
    help = "Check every file of the bank: figures, labs, values, sources, rubric, Markdown, links, draws, terms."

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
        faults = report.faults | glossary_faults() | search_faults(files.questions)
        if faults:
            raise CommandError(str(loading.BadBank(faults)))
        counts = report.counts | {"terms": len(glossary.terms())}
        self.stdout.write(", ".join(f"{count:,} {name}" for name, count in counts.items()) + ": no fault")


def glossary_faults() -> dict[str, list[str]]:
    """What is wrong with the terms."""
    try:
        found = list(glossary.term_faults(glossary.read_terms()))
    except (OSError, ValueError) as fault:
        found = [f"It can't be read: {fault}"]
    return {"glossary.toml": found} if found else {}


def search_faults(questions: Iterable[str]) -> dict[str, list[str]]:
    """What is wrong with the words that the search knows."""
    try:
        unknown = search.read_words().asked_as.keys() - set(questions)
    except (OSError, ValueError) as fault:
        return {"search.toml": [f"It can't be read: {fault}"]}
    return {"search.toml": [f"There is no question “{slug}”." for slug in sorted(unknown)]} if unknown else {}
