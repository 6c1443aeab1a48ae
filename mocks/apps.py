from django.apps import AppConfig
from django.db.models.signals import pre_delete


class MocksConfig(AppConfig):
    name = "mocks"

    def ready(self) -> None:
        from accounts.models import User
        from mocks import services, teams

        def part_with(sender: type, instance: User, **_: object) -> None:
            """What an account that goes leaves to others, or takes out of what is theirs as well."""
            teams.pass_on(instance)
            services.erase_notes(instance)

        pre_delete.connect(part_with, sender=User, dispatch_uid="part_with", weak=False)
