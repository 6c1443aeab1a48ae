"""People: an account known by its e-mail address, and what a person has set."""
from datetime import datetime, time
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

NORMAL_WEEK = "2222222"


class UserManager(BaseUserManager):
    def create_user(self, email: str, password: str | None = None, **more: object) -> "User":
        """A new account with its profile; without a password it can only sign in by link."""
        user = self.model(email=self.normalize_email(email).lower(), **more)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **more: object) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **more)


class User(AbstractUser):
    username = None
    email = models.EmailField(unique=True)
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = []
    objects = UserManager()

    @property
    def name(self) -> str:
        """What the header calls this person: the first name, else the part of the address before the @."""
        return self.first_name or self.email.split("@")[0]

    def rename(self, name: str) -> None:
        """Be called so from now on; by the address again when the name is empty."""
        self.first_name = name
        self.save(update_fields=["first_name"])


@cache
def zone_names() -> frozenset[str]:
    """The IANA time zones, looked for on the disk once."""
    return frozenset(available_timezones())


def check_zone(name: str) -> None:
    """Refuse a name that is no IANA time zone."""
    if name not in zone_names():
        raise ValidationError(f"“{name}” is not a time zone; one is named like Europe/Berlin.")


class Profile(models.Model):
    """What a person has set; the review log keeps its own copy of zone and day start with every answer."""

    class Theme(models.TextChoices):
        AUTO = "auto", "as the device has it"
        LIGHT = "light", "light"
        DARK = "dark", "dark"

    class BacklogOrder(models.TextChoices):
        RECALL = "recall", "lowest predicted recall first"
        OVERDUE = "overdue", "relatively most overdue first"
        DAY = "day", "longest due first"

    class NewPlace(models.TextChoices):
        AMONG = "among", "among the reviews"
        AFTER = "after", "after the reviews"
        BEFORE = "before", "before the reviews"

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="profile")
    zone = models.CharField("time zone", max_length=64, default="UTC", validators=[check_zone])
    zone_known = models.BooleanField(default=False, help_text="guessed from the browser once, or set by the person")
    day_start = models.TimeField("a day starts at", default=time(4))
    desired_retention = models.FloatField(default=0.90, validators=[MinValueValidator(0.80), MaxValueValidator(0.97)])
    new_questions_per_day = models.PositiveSmallIntegerField(default=2, validators=[MaxValueValidator(63)])
    new_numbers_per_day = models.PositiveSmallIntegerField(default=6, validators=[MaxValueValidator(200)])
    reviews_per_day = models.PositiveSmallIntegerField(default=24, validators=[MaxValueValidator(999)])
    question_steps = models.CharField(max_length=60, default="", blank=True)
    number_steps = models.CharField(max_length=60, default="1m 10m", blank=True)
    relearning_steps = models.CharField(max_length=60, default="10m", blank=True)
    maximum_interval = models.PositiveIntegerField(
        default=36_500, validators=[MinValueValidator(1), MaxValueValidator(36_500)], help_text="days"
    )
    fuzz = models.BooleanField(default=True)
    easy_days = models.CharField(
        max_length=7, default=NORMAL_WEEK, validators=[RegexValidator(r"^[012]{7}$")],
        help_text="how much a weekday takes, Monday first: 2 as much as any, 1 half as much, 0 as little as can be",
    )
    backlog_order = models.CharField(max_length=7, choices=BacklogOrder, default=BacklogOrder.RECALL)
    new_place = models.CharField(max_length=6, choices=NewPlace, default=NewPlace.AMONG)
    interview_day = models.DateField(null=True, blank=True, help_text="no interval passes it")
    leech_lapses = models.PositiveSmallIntegerField(
        default=8, validators=[MinValueValidator(2), MaxValueValidator(99)], help_text="lapses that make a leech"
    )
    single_keys = models.BooleanField(default=True, help_text="keys without Ctrl or Alt do something")
    daily_mail = models.BooleanField(default=False)
    mail_at = models.TimeField(default=time(8))
    mailed_on = models.DateField(null=True, help_text="the study day of the latest daily mail")
    theme = models.CharField(max_length=5, choices=Theme, default=Theme.AUTO)
    fsrs_version = models.CharField(max_length=20, default="6")
    fsrs_parameters = models.JSONField(default=list, blank=True, help_text="21 numbers; empty: the package's defaults")

    def __str__(self) -> str:
        return f"settings of {self.user}"

    def local(self, instant: datetime) -> datetime:
        """The instant on this person's clock."""
        return instant.astimezone(ZoneInfo(self.zone))


class SigninLink(models.Model):
    """A link that signs its person in once; only the token's digest is kept, and a newer link removes an unused one."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="signin_links")
    digest = models.CharField(max_length=64, unique=True)
    made_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"sign-in link of {self.user}"


class CalendarKey(models.Model):
    """The secret in the address of a person's calendar; a new one makes the old address a stranger's."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="calendar_key")
    key = models.CharField(max_length=43, unique=True)
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"calendar of {self.user}"
