"""What catching up says and draws: what is still known, a plan by days or minutes, what else there is and its cost."""
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict

from accounts.models import User
from calculators.pictures import NARROW, Drawing
from flashcards import catch_up_pictures
from flashcards.backlog import Backlog, Wanted
from flashcards.catch_up_pictures import DayBar
from flashcards.catching_up import HORIZON, MOST_MINUTES, Order, Plan, around
from flashcards.templatetags.flashcards_tags import minutes_words, number_word

WIDE = 960
AFTER, LEAST_DRAWN = 7, 14  # days shown after the plan's last, and in all
ORDERS = {
    Order.FADING: "what fades fastest first",
    Order.RECALL: "lowest recall first",
    Order.OVERDUE: "most overdue first",
}
TAKES_DAYS = f"A whole number of days from 1 to {HORIZON}."
TAKES_MINUTES = f"A whole number of minutes from 1 to {MOST_MINUTES}."
A_WEEK, TWO_WEEKS = 7, 14


class PlanForm(forms.Form):
    """A plan's two fields; each may be left out."""

    days = forms.IntegerField(required=False, min_value=1, max_value=HORIZON, error_messages=dict.fromkeys(
        ("invalid", "min_value", "max_value"), TAKES_DAYS))
    minutes = forms.IntegerField(required=False, min_value=1, max_value=MOST_MINUTES, error_messages=dict.fromkeys(
        ("invalid", "min_value", "max_value"), TAKES_MINUTES))


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another plan, small: the address that chooses it, and how many are still known when asked."""

    days: int
    minutes: int
    known: float
    query: str
    chosen: bool
    drawing: Drawing


@dataclass(frozen=True, slots=True)
class OrderChoice:
    order: Order
    words: str
    lost: float | None  # cards by the wait; None when its minutes are too few
    query: str
    chosen: bool


class CatchUp:
    """The page as its address has it; a field that can't be used says what it takes, and the usual plan is shown."""

    def __init__(self, user: User, today: date, sent: QueryDict) -> None:
        self.backlog, self.profile, self.today, self.sent = Backlog(user, today), user.profile, today, sent
        self.form = PlanForm(sent)
        self.form.is_valid()

    @property
    def count(self) -> int:
        return len(self.backlog.waiting)

    @cached_property
    def order(self) -> Order:
        sent = self.sent.get("order", "")
        return Order(sent) if sent in list(Order) else Order.FADING

    @cached_property
    def wanted(self) -> Wanted:
        """What the address chooses. Of two fields it is the one that was changed; of both changed the days, where they
        keep within the minutes."""
        days, minutes = (self.form.cleaned_data.get(name) for name in ("days", "minutes"))
        by_days, by_minutes = Wanted(days, None, self.order), Wanted(None, minutes, self.order)
        if not (days and minutes):
            return by_minutes if minutes else by_days
        changed = [name for name in ("days", "minutes") if self.sent.get(f"was_{name}") != self.sent[name]]
        if changed == ["minutes"]:
            return by_minutes
        if changed == ["days"]:
            return by_days
        plan = self.backlog.plan(by_days)
        return by_days if plan and plan.minutes <= minutes else by_minutes

    @cached_property
    def asked_plan(self) -> Plan | None:
        return self.backlog.plan(self.wanted)

    @cached_property
    def plan(self) -> Plan | None:
        """The plan that is shown: the one asked for, or the usual one where that doesn't work out; None when there is
        more than the most days and minutes hold."""
        return self.asked_plan or self.backlog.plan(Wanted(order=self.order)) or self.backlog.plan(
            Wanted(HORIZON, order=self.order))

    @property
    def too_much_words(self) -> str:
        """Said where no plan is."""
        hours = MOST_MINUTES // 60
        return (f"{self.count:,} are due, more than {HORIZON} days of {hours} hours hold at your pace. Your limit of "
                f"{self.profile.reviews_per_day} reviews a day holds the rest back, and nothing is lost by it.")

    @property
    def by(self) -> tuple[str, int]:
        """The field that decides, and its value, as the button that applies the plan sends them."""
        if self.asked_plan and self.wanted.minutes:
            return "minutes", self.wanted.minutes
        return "days", (self.asked_plan and self.wanted.days) or len(self.plan.days)

    @property
    def seal(self) -> str:
        return self.backlog.seal(self.plan)

    # The fields

    @property
    def days_shown(self) -> str | int:
        """What stands in the field: what was typed, where that decides or can't be used, else the plan's days."""
        typed = "days" in self.form.errors or self.wanted.days
        return self.sent["days"] if typed else len(self.plan.days)

    @property
    def minutes_shown(self) -> str | int:
        unused = "minutes" in self.form.errors or not self.asked_plan and self.wanted.minutes
        return self.sent.get("minutes", "") if unused else self.plan.minutes

    @property
    def days_fault(self) -> str:
        if not self.asked_plan and self.wanted.days and self.backlog.fewest_days:
            return (f"At your limit of {self.profile.reviews_per_day} reviews a day it takes "
                    f"{self.days_words(self.backlog.fewest_days)} at least.")
        return " ".join(self.form.errors.get("days", ()))

    @property
    def minutes_fault(self) -> str:
        if not self.asked_plan and self.wanted.minutes:
            return (f"{minutes_words(self.wanted.minutes)} a day are not enough beside what falls due anyway; "
                    f"{minutes_words(self.plan.minutes)} are, over {self.days_words(len(self.plan.days))}.")
        return " ".join(self.form.errors.get("minutes", ()))

    @property
    def both_words(self) -> str:
        """Said when the days that were asked for don't go with the minutes."""
        days = self.form.cleaned_data.get("days")
        if not (self.asked_plan and self.wanted.minutes and days) or days >= len(self.plan.days):
            return ""
        if self.sent.get("was_days") == str(days):
            return ""
        return f"At {minutes_words(self.plan.minutes)} a day it takes {self.days_words(len(self.plan.days))}."

    # The sentences

    @property
    def lead(self) -> str:
        """What waits, and how much of it is still known."""
        verb = "is" if self.count == 1 else "are"
        return f"{self.count:,} {verb} due{self.away_words}. You would still know about {self.known:,} of them."

    @property
    def known(self) -> int:
        return round(self.backlog.known)

    @property
    def away_words(self) -> str:
        """How long it has been since the last answer; empty when that is no break."""
        days = self.backlog.days_away
        if days < 3:
            return ""
        if days < TWO_WEEKS:
            return f" after {number_word(days)} days away" if days != A_WEEK else " after a week away"
        return f" after {number_word(round(days / A_WEEK))} weeks away"

    @property
    def in_all_words(self) -> str:
        """How long all of it would take at once: "40 minutes", "about 4 hours"."""
        minutes = max(round(self.backlog.seconds_in_all / 60), 1)
        if minutes < 90:
            return f"about {minutes_words(minutes)}"
        return f"about {number_word(round(minutes / 60))} hours"

    @staticmethod
    def days_words(days: int) -> str:
        return "one day" if days == 1 else f"{days} days"

    @property
    def limit_words(self) -> str:
        """Said when no plan could keep the person's limit of reviews."""
        if self.backlog.fewest_days:
            return ""
        return (f"This has up to {max(day.reviews for day in self.plan.days)} reviews a day, more than your limit of "
                f"{self.profile.reviews_per_day}: what is past it would wait a day longer.")

    @property
    def new_words(self) -> str:
        """What new cards the days hold, as set."""
        questions, _, numbers = self.backlog.new_at_hand
        counts = {"new question": questions and self.profile.new_questions_per_day,
                  "new number": numbers and self.profile.new_numbers_per_day}
        said = [f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items() if count]
        return " and ".join(said)

    @property
    def end_words(self) -> str:
        """The day that ends the plan: "Monday 14 December"."""
        last = self.today + timedelta(days=len(self.plan.days) - 1)
        return f"{last:%A} {last.day} {last:%B}"

    @property
    def moved(self) -> int:
        """How many cards the plan gives another day."""
        return len(self.plan.later)

    # The pictures

    def bars(self, plan: Plan, days: int) -> list[DayBar]:
        """So many days from today, the plan's first."""
        ordinary = self.backlog.ordinary
        return [
            DayBar(self.today + timedelta(days=at), plan.days[at].seconds if at < len(plan.days) else 0,
                   ordinary[at].seconds, plan.days[at].left if at < len(plan.days) else 0)
            for at in range(min(days, len(ordinary)))
        ]

    @cached_property
    def days_drawn(self) -> list[DayBar]:
        return self.bars(self.plan, max(len(self.plan.days) + AFTER, LEAST_DRAWN))

    @property
    def tells_left(self) -> bool:
        """Whether the wide picture has room for what is left after each day."""
        return WIDE / len(self.days_drawn) >= catch_up_pictures.NAME_ROOM

    @property
    def wide(self) -> Drawing:
        return catch_up_pictures.plan_bars(self.days_drawn, len(self.plan.days), self.plan.minutes, width=WIDE)

    @property
    def narrow(self) -> Drawing:
        return catch_up_pictures.plan_bars(self.days_drawn, len(self.plan.days), self.plan.minutes, width=NARROW)

    @cached_property
    def alternatives(self) -> list[Alternative]:
        """The plan and its neighbours, over the same days and to the same scale."""
        own = len(self.plan.days)
        offered = {days: self.backlog.plan(Wanted(days, order=self.order)) for days in around(own)}
        plans = {len(plan.days): plan for plan in offered.values() if plan}
        if own not in plans and len(plans) == 3:
            del plans[min(plans, key=lambda days: abs(days - own))]
        plans[own] = self.plan
        drawn, most = max(plans), max(plan.minutes for plan in plans.values())
        return [
            Alternative(days, plan.minutes, plan.known, self.query(days), plan.later == self.plan.later,
                        catch_up_pictures.small_bars(self.bars(plan, drawn), plan.minutes, most,
                                                     chosen=plan.later == self.plan.later))
            for days, plan in sorted(plans.items())
        ]

    @cached_property
    def orders(self) -> list[OrderChoice]:
        """What may come first, each with the cards that the wait would cost in this plan's time."""
        field, value = self.by
        choices = []
        for order, words in ORDERS.items():
            plan = self.plan if order == self.order else self.backlog.plan(Wanted(**{field: value}, order=order))
            lost = plan and self.backlog.known - plan.known
            choices.append(OrderChoice(
                order, words, lost, f"?{urlencode({field: value, 'order': order.value})}", order == self.order))
        return choices

    def query(self, days: int) -> str:
        return f"?{urlencode({'days': days, 'order': self.order.value})}"

    @property
    def cost_words(self) -> str:
        """What waiting costs in memory in this plan, beside answering everything today."""
        lost = self.backlog.known - self.plan.known
        return f"about {lost:.0f} of the {self.count:,}" if lost >= 0.95 else "less than one card"
