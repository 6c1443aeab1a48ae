"""Do what a page asked for and left to be done; pages start this themselves."""
from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from flashcards import works


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("pk", type=int, help="the key of the work")

    def handle(self, *, pk: int, **_: object) -> None:
        if not works.do(pk):
            raise CommandError(f"There is no work {pk} that waits to be done.")
