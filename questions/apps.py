from typing import Any

from django.apps import AppConfig, apps
from django.apps.registry import Apps
from django.db.models.signals import post_migrate

# What each group may do with questions and number cards; more may be given to it, these come back at every migration.
RIGHTS = {
    "Editors": ("view", "add", "change"),
    "Publishers": ("view", "add", "change", "delete", "publish"),
}
WRITTEN = ("question", "note")


class QuestionsConfig(AppConfig):
    name = "questions"

    def ready(self) -> None:
        # By then this app's own permissions are made: Django makes each app's in the order of INSTALLED_APPS.
        post_migrate.connect(make_groups, sender=apps.get_app_config("auth"), dispatch_uid="groups")


def make_groups(sender: AppConfig, apps: Apps = apps, **_: Any) -> None:
    """Make the groups Editors and Publishers, each with its rights."""
    try:
        group, permission = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
        content_type = apps.get_model("contenttypes", "ContentType")
    except LookupError:
        return  # a database that was not brought so far
    for model in WRITTEN:
        kind, _ = content_type.objects.get_or_create(app_label="questions", model=model)
        permission.objects.get_or_create(
            content_type=kind, codename=f"publish_{model}", defaults={"name": f"Can publish {model}"}
        )
    for name, acts in RIGHTS.items():
        codenames = [f"{act}_{model}" for act in acts for model in WRITTEN]
        rights = permission.objects.filter(content_type__app_label="questions", codename__in=codenames)
        group.objects.get_or_create(name=name)[0].permissions.add(*rights)
