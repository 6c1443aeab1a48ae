"""The bank in the database: one row a question or number card, which holds the parsed document whole."""
from django.conf import settings
from django.db import models


class Topic(models.Model):
    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=120)
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["position"]

    def __str__(self) -> str:
        return self.title


class Question(models.Model):
    class Kind(models.TextChoices):
        EXPLAIN = "explain"
        SIZE = "size"
        TRACE = "trace"
        DIAGNOSE = "diagnose"
        DECIDE = "decide"

    class Level(models.TextChoices):
        SENIOR = "senior"
        STAFF = "staff"
        PRINCIPAL = "principal"

    # A slug is an identity: a question with a new meaning gets a new one, and this one retires.
    slug = models.SlugField(unique=True)
    topic = models.ForeignKey(Topic, on_delete=models.PROTECT, related_name="questions")
    position = models.PositiveSmallIntegerField(default=0)
    title = models.CharField(max_length=160)
    kind = models.CharField(max_length=8, choices=Kind)
    level = models.CharField(max_length=9, choices=Level)
    minutes = models.PositiveSmallIntegerField()
    ask = models.TextField()
    said_aloud = models.TextField()
    derivation = models.TextField(blank=True)
    catch = models.TextField()
    measure = models.TextField()
    checked = models.JSONField(default=dict, blank=True)  # the document's `check`, a name that Model has taken
    runs = models.JSONField(default=dict, blank=True)
    keep = models.JSONField(default=dict, blank=True)
    rubric = models.JSONField(default=list)
    hints = models.JSONField(default=list, blank=True)
    traps = models.JSONField(default=list, blank=True)
    follow_ups = models.JSONField(default=list, blank=True)
    options = models.JSONField(default=list, blank=True)
    sources = models.JSONField(default=list, blank=True)
    next = models.JSONField(default=list, blank=True)
    draft = models.BooleanField(default=False)
    retired = models.BooleanField(default=False)
    loaded_digest = models.CharField(max_length=64, blank=True, editable=False)

    class Meta:
        ordering = ["topic__position", "position"]

    def __str__(self) -> str:
        return self.slug


class Note(models.Model):
    """A number to know; `value` and `accept`, the lowest and the highest that is taken for right, are in `unit`."""

    slug = models.SlugField(unique=True)
    topic = models.ForeignKey(Topic, on_delete=models.PROTECT, related_name="notes")
    position = models.PositiveSmallIntegerField(default=0)
    ask = models.CharField(max_length=160)
    value = models.FloatField()
    shown = models.CharField(max_length=16, blank=True, help_text="as the card writes it, where not the number itself")
    unit = models.CharField(max_length=24, blank=True)
    accept = models.JSONField(default=list)
    origin = models.CharField(max_length=300)
    source = models.JSONField(default=dict, blank=True)
    calc = models.JSONField(default=dict, blank=True)
    reverse = models.BooleanField(default=True, help_text="whether it is asked from the number as well")
    cue = models.CharField(max_length=120, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="notes",
        help_text="who made it for themselves; none for the bank’s own",
    )
    draft = models.BooleanField(default=False)
    retired = models.BooleanField(default=False)
    loaded_digest = models.CharField(max_length=64, blank=True, editable=False)

    class Meta:
        ordering = ["topic__position", "position", "pk"]

    def __str__(self) -> str:
        return self.slug
