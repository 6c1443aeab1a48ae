"""The learner's side in the database: cards, what was tried on them, and the log that is the truth about them."""
import secrets
from datetime import datetime, timedelta
from typing import Any, NoReturn

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from flashcards.memory import Due, Memory
from questions.models import Note, Question


class Rating(models.IntegerChoices):
    AGAIN = 1
    HARD = 2
    GOOD = 3
    EASY = 4


class State(models.TextChoices):
    NEW = "new"
    LEARNING = "learning"
    REVIEW = "review"
    RELEARNING = "relearning"


class Direction(models.TextChoices):
    """Which side of a number card is asked from; a question has one side only, the forward one, and of a cloze each gap
    is one: "c1", "c2"."""

    FORWARD = "forward", "meaning to number"
    REVERSE = "reverse", "number to meaning"


class AppendOnlyQuerySet(models.QuerySet):
    def update(self, **fields: Any) -> NoReturn:
        raise TypeError(f"{self.model.__name__} rows are never changed")

    def delete(self) -> NoReturn:
        raise TypeError(f"{self.model.__name__} rows are never deleted")


class AppendOnly(models.Model):
    """Rows that are written once; they go only with the account that they belong to."""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **more: Any) -> None:
        if not self._state.adding:
            raise TypeError(f"{type(self).__name__} rows are never changed")
        super().save(*args, **more)

    def delete(self, *args: Any, **more: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__} rows are never deleted")


class Card(models.Model):
    """One question, or one direction of a number card, as one person knows it; everything but whose it is and what it
    asks can be rebuilt from its log."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="cards")
    question = models.ForeignKey(Question, on_delete=models.PROTECT, null=True, related_name="cards")
    note = models.ForeignKey(Note, on_delete=models.RESTRICT, null=True, related_name="cards")
    direction = models.CharField(max_length=7, choices=Direction, default=Direction.FORWARD)
    log_length = models.PositiveIntegerField(default=0)
    answers = models.PositiveIntegerField(default=0, help_text="without what was undone, with what was removed since")
    lapses = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=10, choices=State, default=State.NEW)
    step = models.PositiveSmallIntegerField(null=True)
    stability = models.FloatField(null=True, help_text="days until predicted recall falls to 90%")
    difficulty = models.FloatField(null=True, help_text="1 to 10")
    fed_at = models.DateTimeField(null=True, help_text="the last answer on the scheduler's own clock")
    last_day = models.DateField(null=True, help_text="the latest study day answered on")
    last_at = models.DateTimeField(null=True)
    due_day = models.DateField(null=True)
    due_at = models.DateTimeField(null=True, help_text="only inside learning steps")
    asked = models.BooleanField(default=False, help_text="for out of turn, by its person; until it is answered")
    suspended = models.BooleanField(default=False)
    buried_until = models.DateField(null=True)

    MEMORY = ("state", "step", "stability", "difficulty", "fed_at", "last_day", "last_at", "answers", "lapses")
    DERIVED = ("log_length", *MEMORY, "due_day", "due_at", "asked", "suspended", "buried_until")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "question"], name="one_card_for_each_question"),
            models.UniqueConstraint(fields=["user", "note", "direction"], name="one_card_for_each_side_of_a_note"),
            models.CheckConstraint(
                condition=Q(question__isnull=False, note__isnull=True, direction=Direction.FORWARD)
                | Q(question__isnull=True, note__isnull=False),
                name="a_card_asks_one_thing",
            ),
        ]
        indexes = [
            models.Index(fields=["user", "due_day"]),
            models.Index(  # all that a card's place in line hangs on
                fields=[
                    "user", "state", "due_day", "suspended", "asked", "buried_until", "last_day", "stability", "note",
                ],
                name="cards_in_line",
            ),
            models.Index(fields=["user", "due_at"], condition=Q(due_at__isnull=False), name="cards_in_steps"),
        ]

    def __str__(self) -> str:
        return f"{self.item} of {self.user}"

    @property
    def item(self) -> Question | Note:
        """What the card asks: its question, or its number card."""
        return self.note if self.note_id else self.question

    @property
    def kind(self) -> str:
        """The question's kind, or "number"."""
        return "number" if self.note_id else self.question.kind

    @property
    def kind_words(self) -> str:
        """What kind of card it is to its person: the question's kind, "number", or "own" for one of their own words."""
        return self.kind if not self.note_id or self.note.kind == Note.Kind.NUMBER else "own"

    @property
    def side_words(self) -> str:
        """Which side of its note the card asks."""
        if self.note.kind == Note.Kind.CLOZE:
            return f"gap {self.direction[1:]}"
        if self.note.kind == Note.Kind.BASIC:
            return "back to front" if self.direction == Direction.REVERSE else "front to back"
        return self.get_direction_display()

    @property
    def next_ordinal(self) -> int:
        """The log position that a page made now offers."""
        return self.log_length + 1

    @property
    def seed(self) -> int:
        """What fresh numbers are drawn with: the same at every look, and again after an undo."""
        return self.pk * 1_000_003 + self.answers

    @property
    def memory(self) -> Memory:
        return Memory(**{name: getattr(self, name) for name in self.MEMORY})

    @property
    def due(self) -> Due:
        return Due(self.due_day, self.due_at, self.asked)

    def take(self, memory: Memory, due: Due, *, log_length: int) -> None:
        """Become what an offer or a replay says; the caller saves DERIVED."""
        for name in self.MEMORY:
            setattr(self, name, getattr(memory, name))
        self.due_day, self.due_at, self.asked, self.log_length = due.day, due.at, due.asked, log_length


class Given(AppendOnly):
    """An answer as it was given: what was drawn, typed and ticked, how sure, how long it took."""

    at = models.DateTimeField()
    values = models.JSONField(default=dict, help_text="what was drawn: {run: {input: value}}")
    digest = models.CharField(max_length=64, blank=True, help_text="of the question's content then")
    typed = models.TextField(blank=True)
    said = models.JSONField(default=dict, help_text="a map as it was typed: {request: text}")
    outline = models.TextField(blank=True)
    aloud = models.BooleanField(default=False)
    value = models.FloatField(null=True, help_text="the number as read, in the unit asked for")
    ratio = models.FloatField(null=True, help_text="value over the expected one")
    within = models.BooleanField(null=True, help_text="the tolerance; null without a number or map")
    confidence = models.PositiveSmallIntegerField(null=True, help_text="percent")
    ticks = models.JSONField(default=list, help_text="ids of rubric points")
    seconds = models.PositiveIntegerField(help_text="since the card was first looked at")

    class Meta:
        abstract = True


class Attempt(Given):
    """What was tried on a card: one row when it is checked, one, with the final ticks, when it is graded or left."""

    class Kind(models.TextChoices):
        CHECK = "check"
        GRADE = "grade"
        LEAVE = "leave", "left uncounted"

    card = models.ForeignKey(Card, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    ordinal = models.PositiveIntegerField(help_text="the log position that the page offered")
    kind = models.CharField(max_length=5, choices=Kind)
    seed = models.BigIntegerField(help_text="the card and its count of standing answers; see Card.seed")
    take = models.PositiveSmallIntegerField(default=0, help_text="how often it was left uncounted before, at this seed")

    COMMITTED = (
        "seed", "take", "values", "digest", "typed", "said", "outline", "aloud", "value", "ratio", "within",
        "confidence",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["card", "ordinal", "kind", "take"], name="one_attempt_of_a_kind")
        ]
        indexes = [
            # for reports, which need not read what was typed
            models.Index(fields=["card", "kind", "seconds", "confidence", "within"], name="grades_alone"),
            models.Index(fields=["card", "seed"], name="tries_at_a_seed"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.ordinal} of {self.card}"


class ReviewQuerySet(AppendOnlyQuerySet):
    def of(self, user: models.Model) -> "ReviewQuerySet":
        """The person's rows, for a look at the log's end or at a day of it: each row there is asked whose card it is
        on, where a join would begin with all of the person's cards and go through all that was ever done with them."""
        return self.filter(Exists(Card.objects.filter(pk=OuterRef("card"), user=user)))

    def standing(self) -> "ReviewQuerySet":
        """The person's own actions that were not undone."""
        return self.exclude(kind=Review.Kind.UNDO).exclude(named_by__kind=Review.Kind.UNDO)

    def answers(self) -> "ReviewQuerySet":
        """The answers that stand, those brought along from elsewhere included; `rated` is what each counts as now."""
        amends = Review.objects.standing().filter(kind=Review.Kind.AMEND, names=OuterRef("pk")).order_by("-ordinal")
        removed = Review.objects.standing().filter(kind=Review.Kind.REMOVE, names=OuterRef("pk"))
        given = self.standing().filter(kind__in=[Review.Kind.ANSWER, Review.Kind.IMPORT], rating__isnull=False)
        return given.exclude(Exists(removed)).annotate(
            rated=Coalesce(Subquery(amends.values("rating")[:1]), F("rating")))


class Review(AppendOnly):
    """A row of a card's log: what was done, when, on which study day, and what the card became by it."""

    class Kind(models.TextChoices):
        ANSWER = "answer"
        AMEND = "amend", "Grade changed"
        REMOVE = "remove", "Answer removed"
        SET_DUE = "set_due", "Due day set"
        SUSPEND = "suspend", "Suspended"
        UNSUSPEND = "unsuspend", "Back in the drill"
        BURY = "bury", "Put off to tomorrow"
        RESET = "reset", "Begun anew"
        IMPORT = "import", "Brought along"
        UNDO = "undo", "Undone"

    card = models.ForeignKey(Card, on_delete=models.CASCADE, related_name="reviews", db_index=False)
    ordinal = models.PositiveIntegerField()
    kind = models.CharField(max_length=9, choices=Kind)
    names = models.ForeignKey(
        "self", on_delete=models.RESTRICT, null=True, related_name="named_by", help_text="the row undone or amended"
    )
    rating = models.PositiveSmallIntegerField(choices=Rating, null=True)
    at = models.DateTimeField()
    attempt = models.ForeignKey(Attempt, on_delete=models.RESTRICT, null=True, related_name="reviews")
    study_day = models.DateField(db_index=True)
    zone = models.CharField(max_length=64)
    day_start = models.TimeField()
    was = models.CharField(max_length=10, choices=State, help_text="the state that this row found")
    state = models.CharField(max_length=10, choices=State)
    step = models.PositiveSmallIntegerField(null=True)
    stability = models.FloatField(null=True)
    difficulty = models.FloatField(null=True)
    fed_at = models.DateTimeField(null=True)
    due_day = models.DateField(null=True)
    due_at = models.DateTimeField(null=True)
    asked = models.BooleanField(default=False, help_text="due was set by asking for the card out of turn")
    batch = models.UUIDField(null=True, db_index=True, help_text="of the rows that one act wrote on several cards")

    objects = ReviewQuerySet.as_manager()

    class Meta:
        ordering = ["card", "ordinal"]
        indexes = [
            # All that reports ask of an answer: they read a log from the index alone, in its order.
            models.Index(fields=["card", "ordinal", "kind", "study_day", "rating", "was", "stability", "due_day",
                                 "attempt"], name="answers_in_order"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["card", "ordinal"], name="one_row_for_each_ordinal"),
            models.UniqueConstraint(fields=["names"], condition=Q(kind="undo"), name="undone_once"),
            models.CheckConstraint(
                condition=~Q(kind__in=["answer", "amend"]) | Q(rating__isnull=False), name="an_answer_is_rated"
            ),
            models.CheckConstraint(
                condition=~Q(kind__in=["amend", "remove", "undo"]) | Q(names__isnull=False), name="an_undo_names_a_row"
            ),
            models.CheckConstraint(
                condition=Q(rating__isnull=True) | Q(rating__range=(1, 4)), name="a_rating_is_1_to_4"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.ordinal} of {self.card}"


def new_mark() -> int:
    """A value that no mark had."""
    return secrets.randbits(62)


class Mark(models.Model):
    """Stands for all of a person's cards that no log tells; it becomes another with every such change (see kept.py)."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="mark")
    value = models.BigIntegerField(default=new_mark)

    def __str__(self) -> str:
        return f"mark of {self.user}"


class Prediction(AppendOnly):
    """One entry of a lab's step as a person said it before seeing it, beside what it was."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="predictions")
    lab = models.CharField(max_length=50, help_text="the lab's slug")
    state = models.CharField(max_length=64, help_text="digest of the address")
    address = models.TextField(help_text="of the lab with its values, without the step")
    step = models.PositiveIntegerField()
    field = models.CharField(max_length=200, help_text="what was asked for: a request, a rank, a count")
    predicted = models.FloatField()
    actual = models.FloatField()
    right = models.BooleanField()
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "lab", "state", "step", "field"], name="one_prediction_of_an_entry")
        ]

    def __str__(self) -> str:
        return f"{self.field} of {self.lab} step {self.step} by {self.user}"


class Memo(models.Model):
    """What a person noted down for themselves about a question or a number card; nobody else sees it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memos")
    question = models.ForeignKey(Question, on_delete=models.CASCADE, null=True, related_name="memos")
    note = models.ForeignKey(Note, on_delete=models.CASCADE, null=True, related_name="memos")
    text = models.TextField(max_length=20_000)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "question"], name="one_memo_for_each_question"),
            models.UniqueConstraint(fields=["user", "note"], name="one_memo_for_each_note"),
            models.CheckConstraint(
                condition=Q(question__isnull=False, note__isnull=True) | Q(question__isnull=True, note__isnull=False),
                name="a_memo_is_about_one_thing",
            ),
        ]

    def __str__(self) -> str:
        return f"note of {self.user} on {self.item}"

    @property
    def item(self) -> Question | Note:
        """What it is about."""
        return self.note if self.note_id else self.question


class Draft(models.Model):
    """What is being typed on a card, and since when it is looked at; gone once the card is graded."""

    card = models.OneToOneField(Card, on_delete=models.CASCADE, related_name="draft")
    opened_at = models.DateTimeField()
    typed = models.TextField(blank=True)
    said = models.JSONField(default=dict)
    outline = models.TextField(blank=True)
    aloud = models.BooleanField(default=False)
    confidence = models.PositiveSmallIntegerField(null=True)
    ticks = models.JSONField(default=list)

    TYPED = ("typed", "said", "outline", "aloud", "confidence", "ticks")

    def __str__(self) -> str:
        return f"draft on {self.card}"


class Quiz(models.Model):
    """A set of questions that a person answers one after the other; how it stands is in its answers and the clock."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="quizzes")
    title = models.CharField(max_length=200)
    query = models.CharField(max_length=1000, blank=True, help_text="the filters that it was made from")
    questions = models.JSONField(help_text="the keys of its questions, in the order asked")
    by_options = models.BooleanField(default=True, help_text="options are offered where a question has some")
    seed = models.BigIntegerField(help_text="numbers are drawn and options shuffled by it")
    started_at = models.DateTimeField()
    seconds_allowed = models.PositiveIntegerField(null=True, help_text="in all; null when it is not timed")
    ended_at = models.DateTimeField(null=True, help_text="by its last answer, or by its person before that")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "seed"], name="one_quiz_from_one_form")]

    def __str__(self) -> str:
        return f"{self.title} of {self.user}"

    @property
    def deadline(self) -> datetime | None:
        """When an answer comes too late; None when it is not timed."""
        return self.started_at + timedelta(seconds=self.seconds_allowed) if self.seconds_allowed else None


class QuizLook(models.Model):
    """Since when a question of a quiz is looked at, and what is typed there so far."""

    quiz = models.ForeignKey(Quiz, on_delete=models.CASCADE, related_name="looks")
    place = models.PositiveSmallIntegerField()
    opened_at = models.DateTimeField()
    draft = models.JSONField(default=dict, help_text="{field of an answer: what stands there}")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["quiz", "place"], name="one_look_at_a_place")]

    def __str__(self) -> str:
        return f"place {self.place} of {self.quiz}"


class QuizAnswer(Given):
    """What was answered in a quiz: one row when it is committed, and one when its person has scored it by the rubric.

    `within` is whether it was right; null while an outline is still to be scored.
    """

    class Kind(models.TextChoices):
        CHECK = "check"
        SCORE = "score"

    quiz = models.ForeignKey(Quiz, on_delete=models.CASCADE, related_name="answers")
    place = models.PositiveSmallIntegerField(help_text="of the question in the quiz, from 1")
    kind = models.CharField(max_length=5, choices=Kind)
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="quiz_answers")
    chosen = models.PositiveSmallIntegerField(null=True, help_text="the option, counted as the question has them")
    passed = models.BooleanField(default=False, help_text="“I don’t know”")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["quiz", "place", "kind"], name="one_quiz_answer_of_a_kind")]

    def __str__(self) -> str:
        return f"{self.kind} {self.place} of {self.quiz}"


class Work(models.Model):
    """What takes a while: begun by a page that may be left, done by a process of its own, its result kept."""

    class Kind(models.TextChoices):
        FIT = "fit"
        WHAT_IF = "what_if"
        IMPORT = "import"
        ADOPT = "adopt"
        MOVE = "move"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="works")
    kind = models.CharField(max_length=7, choices=Kind)
    asked_at = models.DateTimeField()
    given = models.JSONField(default=dict)
    progress = models.FloatField(default=0, help_text="0 to 1")
    stage = models.CharField(max_length=100, blank=True, help_text="what is being done, in words")
    seen_at = models.DateTimeField(null=True, help_text="when its process last said how far it is")
    done_at = models.DateTimeField(null=True)
    fault = models.TextField(blank=True, help_text="why it came to nothing, as a sentence")
    result = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["user", "kind", "asked_at"])]

    def __str__(self) -> str:
        return f"{self.kind} of {self.user}"


class Upload(models.Model):
    """A file that a person sent to be brought in; it goes when that is done, or with the next one."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="upload")
    name = models.CharField(max_length=200)
    at = models.DateTimeField()
    body = models.BinaryField()

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"


class Adoption(AppendOnly):
    """A switch of the FSRS parameters that a person's cards are scheduled with; the latest holds."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="adoptions")
    at = models.DateTimeField()
    version = models.CharField(max_length=20, default="6")
    parameters = models.JSONField(default=list, help_text="21 numbers; empty: the package's defaults")
    fit = models.ForeignKey(Work, on_delete=models.SET_NULL, null=True, related_name="adoptions")

    def __str__(self) -> str:
        return f"parameters of {self.user} from {self.at}"
