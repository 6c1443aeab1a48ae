"""Print an address that signs a person in once, within ten minutes."""
from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounts import services
from accounts.models import User


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--make", action="store_true", help="make the account first if there is none")

    def handle(self, *, email: str, make: bool, **_: object) -> None:
        user = services.make_account(email) if make else User.objects.filter(email=email.lower()).first()
        if user is None:
            raise CommandError(f"There is no account {email}; add --make to make it.")
        if not user.is_active:
            raise CommandError(f"The account {email} is switched off.")
        self.stdout.write(services.signin_link(user, timezone.now()))
