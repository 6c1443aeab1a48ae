"""Bring every card's stored memory back to what its log says, or say where the two differ."""
import sys
from argparse import ArgumentParser

from django.core.management.base import BaseCommand

from flashcards import services
from flashcards.models import Card


class Command(BaseCommand):
    """`rebuild_cards` rewrites what differs; `--check` writes nothing, names each card that differs, exit 1 on any."""

    help = "Recompute every card from its log."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="change nothing; exit 1 on a difference")

    def handle(self, *, check: bool, **options: object) -> None:
        cards = differing = 0
        for card in Card.objects.order_by("pk").iterator():
            difference = services.rebuild_card(card, write=not check)
            cards += 1
            if difference:
                differing += 1
                self.stdout.write(f"card {card.pk}: {difference}")
        if check and differing:
            sys.exit(1)
        if not check:
            self.stdout.write(f"{cards} cards, {differing} rebuilt")
