from django.apps import AppConfig
from django.db.models.signals import post_save


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        from accounts.models import Profile, User

        def give_profile(sender: type, instance: User, created: bool, raw: bool, **_: object) -> None:
            if created and not raw:
                Profile.objects.create(user=instance)

        post_save.connect(give_profile, sender=User, dispatch_uid="profile", weak=False)
