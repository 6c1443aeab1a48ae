"""The person's own actions, page by page, the latest first: what was done, to what, and what can be taken back."""
from dataclasses import dataclass
from functools import cached_property

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils.safestring import SafeString

from accounts.models import User
from flashcards import services
from flashcards.card_history import deed
from flashcards.models import Card, Review
from flashcards.overview import front

PAGE = 50
IN_BATCHES = {  # the kinds that one act writes on several cards
    Review.Kind.SET_DUE: "Caught up: {count} cards moved", Review.Kind.SUSPEND: "Suspended {count} cards",
    Review.Kind.UNSUSPEND: "Took {count} cards back into the drill", Review.Kind.IMPORT: "Brought along {count} rows",
}


@dataclass(frozen=True, slots=True)
class Action:
    """One act: a row of the log, or the rows that one act wrote on several cards."""

    row: Review
    words: str  # "Good", "Caught up: 37 cards moved"
    card: Card | None  # None for several
    undone: bool
    may_be_undone: bool

    @property
    def front(self) -> SafeString:
        """What the card asks, as a line."""
        return front(self.card)

    @property
    def address(self) -> str:
        """The card's own page."""
        return reverse("flashcards:number" if self.card.note_id else "flashcards:question", args=[self.card.item.slug])


class ActionList:
    """A page of the history."""

    def __init__(self, user: User, number: str) -> None:
        self.user = user
        self.page: Page = Paginator(acts(user), PAGE).get_page(number)

    @cached_property
    def actions(self) -> list[Action]:
        rows = list(self.page.object_list)
        counts = dict(Review.objects.filter(batch__in={row.batch for row in rows if row.batch}).order_by()
                      .values_list("batch").annotate(Count("pk")))
        return [self.action(row, counts.get(row.batch, 1)) for row in rows]

    def action(self, row: Review, count: int) -> Action:
        several = count > 1
        words = IN_BATCHES.get(row.kind, "{count} cards changed")
        if row.kind == Review.Kind.SET_DUE and row.asked:
            words = "Brought {count} more cards into the day"
        return Action(
            row, words.format(count=count) if several else deed(row), None if several else row.card, row.undone,
            not row.undone and not (row.kind in services.MOVES_MEMORY and row.moved_since))


def acts(user: User) -> QuerySet[Review]:
    """The person's history with one row for each act, its latest; `moved_since` says whether the card's memory was
    moved by something later that stands."""
    of_the_same = Review.objects.filter(batch=OuterRef("batch"), card__user=user, pk__gt=OuterRef("pk"))
    later = Review.objects.standing().filter(
        card=OuterRef("card"), ordinal__gt=OuterRef("ordinal"), kind__in=services.MOVES_MEMORY)
    rows = services.history(user).filter(Q(batch=None) | ~Exists(of_the_same))
    return rows.annotate(moved_since=Exists(later))
