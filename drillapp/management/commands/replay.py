"""Recompute recorded files through the code that the pages use, and name the first difference of each case."""
import json
import sys
from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand

from calculators.models import (
    batch_defaults_trace,
    capture_sizes_trace,
    detokenizer_trace,
    kv_sizing_trace,
    ngram_trace,
    rejection_trace,
    sampling_trace,
    scheduler_trace,
    startup_trace,
)
from calculators.models.kv_sizing_trace import NotModelled
from calculators.models.startup_trace import Told
from flashcards import fsrs_trace

# What following a record raises that lacks a field, or holds another type in it.
MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

# Each kind has recognise(document) and cases(document, name): pairs of a case's name and its first difference, None for
# none, a NotModelled that says why it was not computed, or a Told with more to say than yes and no. A kind that has a
# summary(of these) ends with its lines.
KINDS = [
    scheduler_trace, kv_sizing_trace, batch_defaults_trace, capture_sizes_trace, startup_trace, sampling_trace,
    ngram_trace, rejection_trace, detokenizer_trace, fsrs_trace,
]


class Command(BaseCommand):
    """`replay FILE…`: "ok NAME" or "FAIL NAME: where, ours …, theirs …" for each case; exit 1 on any difference.

    What is "not modelled" neither passes nor fails. A record that can't be followed fails in a line; with --traceback
    it is raised.
    """

    help = "Recompute recorded files (scheduler runs, sizings, start-up logs, review histories) and compare."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")

    def handle(self, *, files: list[Path], traceback: bool, **options: object) -> None:
        found = [difference for file in files for difference in self.replay(file, traceback)]
        modelled = [each for each in found if not isinstance(each, NotModelled)]
        failed = sum(map(is_failure, modelled))
        self.stdout.write(f"{len(modelled) - failed} passed, {failed} failed")
        if failed:
            sys.exit(1)

    def replay(self, file: Path, traceback: bool) -> list[str | Told | None]:
        """Print a line for each case in the file; what was found in each, None for no difference."""
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except OSError as fault:
            return [self.report(str(file), fault.strerror)]
        except (ValueError, RecursionError):
            return [self.report(str(file), "not JSON")]
        found: list[str | Told | None] = []
        try:
            kind = next((kind for kind in KINDS if kind.recognise(document)), None)
            for name, each in kind.cases(document, file.stem) if kind else ():
                found.append(self.report(name, each))
            for line in kind.summary(found) if hasattr(kind, "summary") else ():
                self.stdout.write(line)
        except MALFORMED as fault:
            if traceback:
                raise
            found.append(self.report(str(file), f"can't be followed from here on ({type(fault).__name__}: {fault})"))
        return found or [self.report(str(file), "of no known kind, or without a case")]

    def report(self, name: str, found: str | Told | None) -> str | Told | None:
        if isinstance(found, NotModelled):
            self.stdout.write(f"not modelled {name}: {found}")
        else:
            word = "FAIL" if is_failure(found) else "ok"
            self.stdout.write(f"{word} {name}" if found is None else f"{word} {name}: {found}")
        return found


def is_failure(found: str | Told | None) -> bool:
    """Whether a case differs from its record; what a Told says may be right."""
    return found.failed if isinstance(found, Told) else found is not None
