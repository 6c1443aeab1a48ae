"""What lies before the person in a review: the sitting, the card in hand, what was committed on it, the grades."""
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from accounts.models import User
from flashcards import queue, services
from flashcards.card_history import CardHistory
from flashcards.drills import Drill, Round
from flashcards.forms import DueForm
from flashcards.models import Attempt, Card, Draft, Rating, Review, State
from flashcards.overview import action_words, next_words
from flashcards.study_day import study_day
from flashcards.why import why


@dataclass(frozen=True, slots=True)
class Sitting:
    """What a person sits down to: the cards put off so far, in that order, and what alone comes."""

    later: tuple[int, ...] = ()
    only: str = ""  # "numbers", "this" (one question or number card, on its own page) or "" (all of the day)
    drill: Drill | None = None  # the filters by which it goes instead of by the day

    def without(self, card: Card) -> "Sitting":
        """The sitting once this card is put off too, it last."""
        return replace(self, later=(*(pk for pk in self.later if pk != card.pk), card.pk))

    @property
    def fields(self) -> dict[str, str]:
        """What a page's forms and addresses carry of it."""
        carried = {"later": ",".join(map(str, self.later)), "only": self.only}
        carried |= self.drill.fields if self.drill else {}
        return {name: text for name, text in carried.items() if text}


class Desk:
    """One turn of a review; without a card, its end. What is asked, and how, is its heirs' matter."""

    page, fragment = "flashcards/review.html", "flashcards/_turn.html"  # shown whole, and to htmx
    can_be_posed = True
    alone = False  # on the card's own page

    def __init__(self, user: User, card: Card | None, now: datetime, sitting: Sitting) -> None:
        self.user, self.card, self.now, self.sitting = user, card, now, sitting

    @cached_property
    def line(self) -> queue.Line:
        """What is left of the day."""
        return queue.line(self.user, self.now, self.sitting.only)

    @cached_property
    def day(self) -> queue.Day:
        """The day with all that Today tells of it, for the end of the sitting."""
        return queue.today(self.user, self.now, self.sitting.only)

    @cached_property
    def round(self) -> Round | None:
        """The drill by filters that this sitting is; None when it goes by the day."""
        return Round(self.user, self.sitting.drill, self.now) if self.sitting.drill else None

    @property
    def drill_query(self) -> str:
        """The address's query of the same filters, not yet begun."""
        return urlencode(replace(self.sitting.drill, since=None).fields, safe=",")

    @property
    def left(self) -> int:
        """Cards still to be answered in this sitting."""
        return len(self.round.line) if self.round else len(self.line.learning) + len(self.line.rest)

    @property
    def done(self) -> int:
        """Cards answered in it, or on this day."""
        return len(self.round.done) if self.round else self.line.agenda.begun.done["answers"]

    @property
    def minutes_left(self) -> int:
        return self.round.minutes if self.round else queue.minutes_of(self.user, self.line)

    @property
    def left_beside(self) -> int:
        """What the day still holds beside the number cards that this sitting is about."""
        if not self.sitting.only:
            return 0
        whole = queue.line(self.user, self.now)
        return len(whole.learning) + len(whole.rest) - self.left

    @property
    def place(self) -> int:
        return self.done + 1

    @property
    def day_length(self) -> int:
        return self.done + max(self.left, 1)

    @cached_property
    def last(self) -> Review | None:
        """The action that undo would take back."""
        return services.last_action(self.user)

    @property
    def last_words(self) -> str:
        return action_words(self.last)

    @cached_property
    def last_past(self) -> CardHistory:
        """How the card of that action stands."""
        return CardHistory(self.last.card, self.now)

    @property
    def undoable(self) -> Review | None:
        """The action that a message's Undo takes back."""
        return self.last

    @property
    def put_off_address(self) -> str:
        """The review without this card, for as long as the sitting lasts."""
        return address(sitting=self.sitting.without(self.card))

    @property
    def next_words(self) -> str:
        return next_words(self.day, self.user.profile)

    @property
    def here(self) -> str:
        """The address that shows this very turn again, or tells that it is over."""
        return address(self.card, self.sitting)

    # The card in hand

    @property
    def ordinal(self) -> int:
        """The place in the card's log that an answer from this page would take."""
        return self.card.next_ordinal

    @cached_property
    def attempt(self) -> Attempt | None:
        """What was committed for this turn; None while the card is still open."""
        return services.committed(self.card)

    @cached_property
    def draft(self) -> Draft:
        return services.open_card(self.card, self.now)

    @cached_property
    def study_day(self) -> date:
        profile = self.user.profile
        return study_day(self.now, profile.zone, profile.day_start)

    @property
    def seen(self) -> str:
        """How often this card was answered, and when last: "seen twice, last 8 days ago"."""
        if not self.card.last_day:
            return "begun anew" if self.card.answers else "new"
        often = {1: "once", 2: "twice"}.get(self.card.answers, f"{self.card.answers} times")
        days = (self.study_day - self.card.last_day).days
        return f"seen {often}, last {'today' if days < 1 else 'yesterday' if days == 1 else f'{days} days ago'}"

    @property
    def elapsed_s(self) -> int:
        return max(int((self.now - self.draft.opened_at).total_seconds()), 0)

    @property
    def suggestion(self) -> tuple[Rating | None, str]:
        """The suggested grade, None without one, and the reason."""
        raise NotImplementedError

    @property
    def space_takes(self) -> Rating | None:
        """The grade that Space takes."""
        return self.suggestion[0]

    @cached_property
    def offers(self) -> dict[Rating, queue.Offer]:
        """What each button will do."""
        return queue.offer(self.card, self.ordinal, self.now, self.user.profile)

    @property
    def grades(self) -> list[dict[str, Any]]:
        """The four buttons: rating, its interval and due day, whether it is the suggested one, whether Space takes it.
        """
        return [{"rating": rating, "interval": offer.label, "due_day": offer.due_day,
                 "suggested": rating == self.suggestion[0], "space": rating == self.space_takes}
                for rating, offer in self.offers.items()]

    @property
    def why(self) -> str:
        """Why the intervals are as they are, when it matters; else empty."""
        card, profile = self.card, self.user.profile
        overdue = (self.study_day - card.due_day).days if card.state == State.REVIEW else 0
        placed = {int(rating): offer.placed for rating, offer in self.offers.items() if offer.placed}
        by = queue.placing(card, self.ordinal, self.study_day, profile)
        return why(placed, by, chosen=self.space_takes, interview=profile.interview_day, overdue=overdue)

    # Its place in the drill

    @cached_property
    def due_form(self) -> DueForm:
        """The day on which the card is to come back, as it was typed."""
        return DueForm(self.study_day)

    @cached_property
    def past(self) -> CardHistory:
        """How it stands, and all that was done with it."""
        return CardHistory(self.card, self.now)


def address(card: Card | None = None, sitting: Sitting = Sitting()) -> str:
    """The review's address: of the next card, or of this one at its present place in its log; or the card's own."""
    if card and sitting.only == "this":
        return reverse("flashcards:number" if card.note_id else "flashcards:question", args=[card.item.slug])
    query = {"card": card.pk, "ordinal": card.next_ordinal} if card else {}
    query |= sitting.fields
    return reverse("flashcards:review") + (f"?{urlencode(query, safe=',:')}" if query else "")
