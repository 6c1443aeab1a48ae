"""A person's latest rows of a log that all people share."""
from collections.abc import Callable
from typing import Any

from django.db.models import Exists, Model, OuterRef, QuerySet, Subquery

from accounts.models import User
from flashcards.models import Card
from flashcards.prepared import Given, Prepared

END = 5_000  # rows


class Latest:
    """The latest so many of a person's rows, told by `build` from all of theirs, in queries written once.

    They are looked for at the log's end, where each row is asked whose card it is on. Where that has too few, as of a
    person who is new or was away, among all that is on the person's cards: the way back to them may be long.
    """

    def __init__(
        self, model: type[Model], build: Callable[[QuerySet], QuerySet], count: int = 1, *, bare: bool = False
    ) -> None:
        def latest(rows: QuerySet) -> QuerySet:
            return build(rows).order_by("-pk")[:count]

        def near(user: Given) -> QuerySet:
            own = Card.objects.filter(pk=OuterRef("card"), user=user)
            newest = model.objects.order_by("-pk").values("pk")[:1]
            return latest(model.objects.filter(Exists(own), pk__gt=Subquery(newest) - END))

        def anywhere(user: Given) -> QuerySet:
            return latest(model.objects.filter(card__user=user))

        self.count = count
        self.near, self.anywhere = (Prepared(one, "user", bare=bare) for one in (near, anywhere))

    def all(self, user: User) -> list[Any]:
        """The latest first; fewer where the person has no more."""
        found = self.near.all(user=user.pk)
        return found if len(found) == self.count else self.anywhere.all(user=user.pk)

    def first(self, user: User) -> Any:
        """The latest; None without any."""
        return next(iter(self.all(user)), None)
