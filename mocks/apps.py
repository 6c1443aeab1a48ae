from django.apps import AppConfig
from django.db.models.signals import pre_delete


class MocksConfig(AppConfig):
    name = "mocks"

    def ready(self) -> None:
        from accounts.models import User
        from mocks import teams

        def pass_teams_on(sender: type, instance: User, **_: object) -> None:
            teams.pass_on(instance)

        pre_delete.connect(pass_teams_on, sender=User, dispatch_uid="pass_teams_on", weak=False)
