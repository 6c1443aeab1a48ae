"""What waits after a break, as it stands with its person, and the act that spreads it over the coming days."""
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from hashlib import sha256

from django.db import transaction
from django.db.models import Avg, Count, Q, QuerySet

from accounts.models import User
from flashcards import catching_up, memory, queue, services
from flashcards.catching_up import DAYS_OFFERED, HORIZON, Order, Ordinary, Plan, Waiting
from flashcards.models import Card, Review, State
from flashcards.study_day import study_day

A_WEEK, FEW = 7, 10


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person chose of a plan: the days or the minutes a day, or neither; and what comes first."""

    days: int | None = None
    minutes: int | None = None
    order: Order = Order.FADING


class Backlog:
    """The cards in review that are due on a study day, but for those that were asked for."""

    def __init__(self, user: User, today: date) -> None:
        self.user, self.profile, self.today = user, user.profile, today

    @cached_property
    def pace(self) -> dict[str, int]:
        return queue.pace_of(self.user)

    @cached_property
    def waiting(self) -> list[Waiting]:
        """In the order of their keys."""
        rows = due_cards(self.user, self.today).order_by("pk").values_list(
            "pk", "note", "last_day", "due_day", "stability", "question__kind", "question__minutes")
        return [
            Waiting(pk, self.seconds(kind, minutes), max((self.today - last).days, 0), stability,
                    (self.today - due).days / max((due - last).days, 1), note)
            for pk, note, last, due, stability, kind, minutes in rows
        ]

    def seconds(self, kind: str | None, minutes: int | None) -> int:
        """How long a card should take its person; one without a question is a number card."""
        return self.pace.get(kind or "number") or (minutes * 60 if minutes else queue.NUMBER_SECONDS)

    @cached_property
    def ordinary(self) -> list[Ordinary]:
        """What the coming days hold beside the backlog: what falls due on them, and the new cards of a day."""
        loads = []
        for at, ahead in enumerate(queue.ahead(self.user, self.today, HORIZON)):
            seconds, reviews = ahead.seconds, ahead.cards
            if at == 0:
                seconds, reviews = max(seconds - self.seconds_in_all, 0), self.done_today
            loads.append(Ordinary(seconds + self.new_seconds(at), reviews))
        return loads

    @property
    def done_today(self) -> int:
        """How many reviews the day has seen, which count into its limit; learning steps don't."""
        answers = Review.objects.filter(card__user=self.user, study_day=self.today).answers()
        return answers.filter(was=State.REVIEW).count()

    @cached_property
    def new_at_hand(self) -> tuple[int, float, int]:
        """How many new questions there are, their mean stated seconds, and how many new number cards."""
        fresh = Card.objects.filter(user=self.user, suspended=False, state=State.NEW).aggregate(
            questions=Count("pk", filter=Q(question__draft=False, question__retired=False)),
            minutes=Avg("question__minutes", filter=Q(question__draft=False, question__retired=False)),
            numbers=Count("pk", filter=Q(note__draft=False, note__retired=False)))
        return fresh["questions"], (fresh["minutes"] or 0) * 60, fresh["numbers"]

    def new_seconds(self, at: int) -> int:
        """What the new cards of the day take that is `at` days ahead, within the limits and as long as there are any.
        """
        questions, question_s, numbers = self.new_at_hand
        by_day = self.profile.new_questions_per_day, self.profile.new_numbers_per_day
        new_questions, new_numbers = (
            min(max(there - at * limit, 0), limit) for there, limit in zip((questions, numbers), by_day, strict=True))
        return round(new_questions * question_s + new_numbers * self.seconds(None, None))

    def recall(self, days: float, stability: float) -> float:
        return memory.recall_after(days, stability, queue.parameters(self.profile))

    # What it says of itself

    @property
    def days_away(self) -> int:
        """Whole study days since the last answer; 0 when nothing was ever answered."""
        last = Card.objects.filter(user=self.user, last_day__isnull=False).order_by("-last_day").values_list(
            "last_day", flat=True).first()
        return max((self.today - last).days, 0) if last else 0

    @cached_property
    def is_heavy(self) -> bool:
        """Whether a plan helps: more is overdue than a day's limit, or a good deal after a week away."""
        overdue = due_cards(self.user, self.today).filter(due_day__lt=self.today).count()
        return overdue > max(self.profile.reviews_per_day, FEW) or overdue > FEW and self.days_away >= A_WEEK

    @cached_property
    def known(self) -> float:
        """How many of them are still known today, by predicted recall."""
        return catching_up.known_today(self.waiting, self.recall)

    @property
    def seconds_in_all(self) -> int:
        return sum(card.seconds for card in self.waiting)

    # A plan

    @cached_property
    def fewest_days(self) -> int | None:
        """The fewest days that the person's limit of reviews allows; None when that is more than a plan may take."""
        return catching_up.fewest_days(self.waiting, self.ordinary, self.profile.reviews_per_day)

    @property
    def limit(self) -> int:
        """The reviews a day that a plan keeps within; where it can't keep the person's limit, as many as there are."""
        return self.profile.reviews_per_day if self.fewest_days else len(self.waiting)

    @property
    def usual_days(self) -> int:
        """The fewest of the days offered that leave each day a quarter of the limit free."""
        return next((days for days in DAYS_OFFERED if days * 3 >= (self.fewest_days or HORIZON) * 4), HORIZON)

    def plan(self, wanted: Wanted) -> Plan | None:
        """The plan that is wanted; None when its minutes or its days are too few."""
        given = self.waiting, self.ordinary
        if wanted.minutes:
            return catching_up.plan_by_minutes(*given, wanted.minutes, self.limit, wanted.order, self.recall)
        return catching_up.plan_by_days(
            *given, wanted.days or self.usual_days, self.limit, wanted.order, self.recall)

    def seal(self, plan: Plan) -> str:
        """What tells this plan for this backlog on this day from every other."""
        moves = sorted(plan.later.items()), [card.pk for card in self.waiting]
        return sha256(f"{self.today} {moves}".encode()).hexdigest()[:16]


def due_cards(user: User, day: date) -> QuerySet[Card]:
    """The person's cards in review that are due and may come up, but for those that were asked for."""
    return Card.objects.filter(
        user=user, suspended=False, state=State.REVIEW, due_day__lte=day, asked=False).exclude(buried_until__gt=day)


@transaction.atomic
def spread(user: User, wanted: Wanted, seal: str, now: datetime) -> Plan | None:
    """Move the cards that the plan has wait, in one act that one undo takes back; the plan.

    None, and nothing is written, when what is due, or what the days hold, is no longer what the page showed: `seal`
    is then another one.
    """
    today = study_day(now, user.profile.zone, user.profile.day_start)
    list(due_cards(user, today).order_by("pk").select_for_update(of=("self",)))  # whoever answers one of them waits
    backlog = Backlog(user, today)
    plan = backlog.plan(wanted)
    if plan is None or backlog.seal(plan) != seal:
        return None
    days = {pk: today + timedelta(days=wait) for pk, wait in plan.later.items()}
    return plan if services.move_due(user, days, now=now) else None


def spread_today(user: User, today: date) -> tuple[Review, int] | None:
    """The latest act of this study day that gave several cards another due and stands: one of its rows, and their
    count. Rows that are `asked` brought cards into the day; the others gave them other days."""
    rows = Review.objects.filter(
        card__user=user, study_day=today, kind=Review.Kind.SET_DUE, batch__isnull=False).standing()
    row = rows.order_by("-pk").first()
    return row and (row, rows.filter(batch=row.batch).count())
