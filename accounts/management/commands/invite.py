"""Print an address by which one person can make an account within seven days."""
from argparse import ArgumentParser

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_email

from accounts import services
from accounts.models import User


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")

    def handle(self, *, email: str, **_: object) -> None:
        try:
            validate_email(email)
        except ValidationError:
            raise CommandError(f"“{email}” is not an e-mail address.") from None
        if User.objects.filter(email=email.lower()).exists():
            raise CommandError(f"{email} has an account already; signin_link {email} makes a link for it.")
        if settings.DRILL_SIGNUP == "closed":
            raise CommandError("Nobody can make an account here: set DRILL_SIGNUP to invite first.")
        self.stdout.write(services.invite_link(email))
