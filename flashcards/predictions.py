"""What a person said of a lab's steps before seeing them: kept once for each thing asked, and counted for each lab."""
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256

from django.db.models import Count, Q

from accounts.models import User
from calculators.labs.base import Lab, Shown, View
from calculators.labs.commit import Scored
from flashcards.models import Prediction

LONGEST_NAME = Prediction._meta.get_field("field").max_length

def keep(user: User, lab: Lab, view: View, shown: Shown, scored: Sequence[Scored], now: datetime) -> None:
    """Append a row for each entry that was asked for in the step shown.

    What the person said of the same entry of the same step before stands: who sends a form twice, or says it again
    knowing the answer, adds nothing.
    """
    address = lab.address(view, shown.inputs)
    state = sha256(address.encode()).hexdigest()
    rows = [
        Prediction(user=user, lab=lab.slug, state=state, address=address, step=shown.step, at=now,
                   field=entry.name[:LONGEST_NAME], predicted=entry.said, actual=entry.value, right=entry.right)
        for entry in scored
    ]
    Prediction.objects.bulk_create(rows, ignore_conflicts=True)


def score_of(user: User, slug: str) -> tuple[int, int]:
    """How many entries of a lab's steps the person had right, and how many were asked for."""
    said = Prediction.objects.filter(user=user, lab=slug)
    counted = said.aggregate(right=Count("pk", filter=Q(right=True)), asked=Count("pk"))
    return counted["right"], counted["asked"]
