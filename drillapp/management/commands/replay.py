"""Recompute recorded files through the code that the pages use, and name the first difference of each case."""
import json
import sys
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand

from calculators.models import kv_sizing_trace, scheduler_trace
from calculators.models.kv_sizing_trace import NotModelled
from flashcards import fsrs_trace

# Each kind has recognise(document) and cases(document, name): pairs of a case's name and its first difference, None for
# none, or a NotModelled that says why it was not computed.
KINDS = [scheduler_trace, kv_sizing_trace, fsrs_trace]


class Command(BaseCommand):
    """`replay FILE…`: "ok NAME" or "FAIL NAME: where, ours …, theirs …" for each case; exit 1 on any difference.

    What is "not modelled" neither passes nor fails.
    """

    help = "Recompute recorded files (scheduler runs, KV sizings, review histories) and compare every value."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")

    def handle(self, *, files: list[Path], **options: object) -> None:
        found = [difference for file in files for difference in self.replay(file)]
        differences = [difference for difference in found if not isinstance(difference, NotModelled)]
        failed = sum(difference is not None for difference in differences)
        self.stdout.write(f"{len(differences) - failed} passed, {failed} failed")
        if failed:
            sys.exit(1)

    def replay(self, file: Path) -> list[str | None]:
        """Print a line for each case in the file; the first difference of each, None where there is none."""
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except OSError as fault:
            return [self.report(str(file), fault.strerror)]
        except ValueError:
            return [self.report(str(file), "not JSON")]
        for kind in KINDS:
            if kind.recognise(document):
                return [self.report(name, difference) for name, difference in kind.cases(document, file.stem)]
        return [self.report(str(file), "of no known kind")]

    def report(self, name: str, difference: str | None) -> str | None:
        if isinstance(difference, NotModelled):
            self.stdout.write(f"not modelled {name}: {difference}")
        else:
            self.stdout.write(f"ok {name}" if difference is None else f"FAIL {name}: {difference}")
        return difference
