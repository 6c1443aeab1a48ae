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
    """A number to know; `value` and `accept`, the lowest and the highest that is taken for right, are in `unit`.

    A person's own may be words as well: then `ask` is a line that it is known by, and `front` and `back`, Markdown, are
    its two sides; in a cloze the front holds what is left out, "{{c1::…}}".
    """

    class Kind(models.TextChoices):
        NUMBER = "number"
        BASIC = "basic", "front and back"
        CLOZE = "cloze"

    slug = models.SlugField(unique=True)
    kind = models.CharField(max_length=6, choices=Kind, default=Kind.NUMBER)
    topic = models.ForeignKey(
        Topic, on_delete=models.PROTECT, null=True, related_name="notes", help_text="none only for a person’s own"
    )
    position = models.PositiveSmallIntegerField(default=0)
    ask = models.CharField(max_length=160)
    front = models.TextField(blank=True)
    back = models.TextField(blank=True)
    tags = models.JSONField(default=list, blank=True)
    guid = models.CharField(
        max_length=100, blank=True, help_text="what an own one is known by wherever it is brought to"
    )
    value = models.FloatField(null=True)
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
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "guid"], condition=models.Q(owner__isnull=False) & ~models.Q(guid=""),
                name="one_own_note_of_a_guid",
            ),
            models.CheckConstraint(
                condition=models.Q(owner__isnull=False) | models.Q(topic__isnull=False, kind="number"),
                name="a_note_of_the_bank_is_a_number_of_a_topic",
            ),
            models.CheckConstraint(
                condition=~models.Q(kind="number") | models.Q(value__isnull=False), name="a_number_has_a_value"
            ),
        ]

    def __str__(self) -> str:
        return self.ask if self.owner_id else self.slug


class Embargo(models.Model):
    """A time in which the bank's staff answers are closed to somebody. Whoever sets it names it by `reference`."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="embargoes")
    reference = models.CharField(max_length=40)
    begins_at = models.DateTimeField()
    ends_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "reference"], name="one_embargo_of_a_reference")]
        indexes = [models.Index(fields=["user", "ends_at"])]

    def __str__(self) -> str:
        return f"{self.user} until {self.ends_at}"


class SearchDocument(models.Model):
    """What the search finds: a question, a lab, a flag, a number card, a term, or a person's own card, which they alone
    find; with the words it is found by.

    It is made anew from what it stands for by search.rebuild(), and holds nothing of its own.
    """

    class Kind(models.TextChoices):
        QUESTION = "questions"
        OWN = "cards"
        LAB = "labs"
        FLAG = "flags"
        NUMBER = "numbers"
        TERM = "terms"

    kind = models.CharField(max_length=9, choices=Kind)
    slug = models.CharField(max_length=100)
    title = models.CharField(max_length=200)
    line = models.TextField(blank=True)  # what a hit shows beside the title: nothing that is answered
    about = models.CharField(max_length=100, blank=True)  # "diagnose, sizing"
    question = models.ForeignKey(Question, on_delete=models.CASCADE, null=True, related_name="+")
    note = models.ForeignKey(Note, on_delete=models.CASCADE, null=True, related_name="+")
    words = models.TextField()  # every stem once, with spaces between: what the database's full text is made of
    counts = models.JSONField(default=dict)  # {stem: how often in each of words.FIELDS}
    lengths = models.JSONField(default=list)  # stems in each of them
    phrases = models.JSONField(default=list)  # that ask for it, each as its stems
    terms = models.JSONField(default=list)  # the glossary's terms that a question names
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "slug"], name="one_document_each")]

    def __str__(self) -> str:
        return f"{self.kind}/{self.slug}"


class SearchWord(models.Model):
    """A word that the search knows, as it is written, and how many documents hold it: what a slip is read as."""

    word = models.CharField(max_length=60, unique=True)
    stem = models.CharField(max_length=60, db_index=True)
    count = models.PositiveIntegerField()

    def __str__(self) -> str:
        return self.word
