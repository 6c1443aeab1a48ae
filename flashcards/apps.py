from django.apps import AppConfig
from django.db.models.signals import post_delete, post_save


class FlashcardsConfig(AppConfig):
    name = "flashcards"

    def ready(self) -> None:
        from flashcards import kept

        for model in kept.HEARD:
            for signal in (post_save, post_delete):
                signal.connect(kept.hear, sender=model)
