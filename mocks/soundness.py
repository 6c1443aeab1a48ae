"""Whether the rooms in the database are what their events say, room by room, in words."""
from collections.abc import Iterator

from django.db.models import Count, F, Max

from mocks import services
from mocks.models import Event, Interview


def faults(*, repair: bool) -> Iterator[tuple[str, bool]]:
    """Each fault in words, and whether it is mended now: with `repair` a room's stored state becomes the fold of its
    events. The events themselves are never touched."""
    logs = Event.objects.order_by().values("interview").annotate(rows=Count("pk"), last=Max("ordinal"))
    broken = {log["interview"]: log for log in logs.exclude(rows=F("last"))}
    for row in Interview.objects.order_by("pk").iterator(chunk_size=100):
        if log := broken.get(row.pk):
            yield f"interview {row.pk}: its log has {log['rows']} events and ends at place {log['last']}", False
        elif not services.rebuild(row, write=repair):
            yield f"interview {row.pk}: its stored state is not what its events tell", repair
