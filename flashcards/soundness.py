"""Whether the learner's side of the database is what its logs say, row by row, in words."""
from collections.abc import Iterator

from django.db.models import Count, F, Max, OuterRef, Q, Subquery

from accounts.models import Profile
from flashcards import services
from flashcards.models import Adoption, Attempt, Card, Review


def faults(*, repair: bool) -> Iterator[tuple[str, bool]]:
    """Each fault in words, and whether it is mended now: with `repair` a card's stored memory and a profile's
    parameters, which are derived, become what the logs say. The logs themselves are never touched."""
    yield from ((words, False) for words in gaps())
    yield from ((words, False) for words in strays())
    yield from adopted(repair=repair)
    for card in Card.objects.order_by("pk").iterator():
        if difference := services.rebuild_card(card, write=repair):
            yield f"card {card.pk}: {difference}", repair


def gaps() -> Iterator[str]:
    """Logs whose places do not run from 1 on without a gap."""
    logs = Review.objects.order_by().values("card").annotate(rows=Count("pk"), last=Max("ordinal"))
    for log in logs.exclude(rows=F("last")):
        yield f"card {log['card']}: its log has {log['rows']} rows and ends at place {log['last']}"


def strays() -> Iterator[str]:
    """Rows that point at another card's rows, or at a row that comes after them."""
    for row in Review.objects.exclude(names=None).exclude(names__card=F("card"), names__ordinal__lt=F("ordinal")):
        yield f"review {row.pk}: it names review {row.names_id}, which is no earlier row of its card"
    for row in Review.objects.exclude(attempt=None).exclude(attempt__card=F("card")):
        yield f"review {row.pk}: its attempt {row.attempt_id} is on another card"
    for row in Review.objects.filter(attempt__isnull=False).exclude(attempt__kind=Attempt.Kind.GRADE):
        yield f"review {row.pk}: its attempt {row.attempt_id} is no grade"


def adopted(*, repair: bool) -> Iterator[tuple[str, bool]]:
    """Profiles whose FSRS parameters are not those adopted last."""
    latest = Adoption.objects.filter(user=OuterRef("user")).order_by("-pk").values("parameters")[:1]
    for profile in Profile.objects.annotate(adopted=Subquery(latest)).filter(~Q(adopted=None)):
        if profile.fsrs_parameters != profile.adopted:
            if repair:
                profile.fsrs_parameters = profile.adopted
                profile.save(update_fields=["fsrs_parameters"])
            yield f"profile {profile.pk}: its FSRS parameters are not those adopted last", repair
