"""The page of a recorded scheduler run: the scheduler lab's picture of each step, beside what the record has."""
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from calculators.labs import scheduler
from calculators.labs.base import Shown, step_within
from calculators.models import scheduler_record
from calculators.models.scheduler_record import Record
from calculators.models.scheduler_trace import Difference

MOST_DIFFERENCES = 12  # listed of one step
LONGEST_VALUE = 300  # characters of what stands in a field


@dataclass(frozen=True, slots=True)
class RecordPage:
    """What the page shows of a text: its faults, or one step of the run, and how the record compares."""

    text: str
    faults: tuple[str, ...]
    shown: Shown | None = None
    verdict: str = ""
    agrees: bool = False
    first: int | None = None
    differences: tuple[Difference, ...] = ()
    more: int = 0

    @property
    def longest(self) -> int:
        """Characters that the page takes."""
        return scheduler_record.LONGEST

    @property
    def result(self) -> Any:
        return self.shown and self.shown.result

    @property
    def picture(self) -> Any:
        return self.shown and self.shown.picture


BLANK = RecordPage("", ())


def asked(given: Mapping[str, str], file: Any) -> RecordPage:
    """The page for a sent form: its file or else its text, at the step of a button or of the field to jump by."""
    text, fault = given.get("recorded", ""), ""
    if file:
        text, fault = scheduler_record.decoded(file.read())
    if fault or not text.strip():
        return RecordPage("", (fault or "Paste a recorded run, or choose a file of at most 2.5 MB.",))
    jump = given.get("jump", "")
    return page_of(text, given.get("step") or (jump if jump != given.get("at") else ""))


def page_of(text: str, step: str) -> RecordPage:
    """The page for a recorded run; without a step the first that differs, or the first of all."""
    record, faults = scheduler_record.read(text)
    if record is None:
        return RecordPage(text[: scheduler_record.LONGEST], faults)
    last = len(record.run.steps) - 1
    at = step_within(step, last) if step else record.first or 0
    shown = Shown(inputs_of(record), record.run, at, last)
    found = record.differences[at]
    return RecordPage(
        text, (), scheduler.LAB.views[0].drawn(shown), verdict(record), record.first is None and not record.ending,
        record.first, tuple(shortened(each) for each in found[:MOST_DIFFERENCES]),
        max(len(found) - MOST_DIFFERENCES, 0),
    )


def inputs_of(record: Record) -> Mapping[str, Any]:
    """The run's settings as the lab's form would give them; what its prompts share is in their token ids."""
    return asdict(record.knobs) | {"shared_prefix_tokens": 0}


def verdict(record: Record) -> str:
    """"All 17 steps agree with the record", or which is the first that doesn't, and in what."""
    count = len(record.run.steps)
    if record.first is None:
        agree = "The one step agrees" if count == 1 else f"All {count:,} steps agree"
        return f"{agree} with the record in every field. {record.ending}".rstrip()
    first = shortened(record.differences[record.first][0])
    differing = sum(map(bool, record.differences))
    others = f" {differing:,} of {count:,} steps differ." if differing > 1 else ""
    return (f"Step {record.first:,} is the first that differs: {first.path} is {first.ours} here and {first.theirs} in "
            f"the record.{others} {record.ending}").rstrip()


def shortened(found: Difference) -> Difference:
    ours, theirs = (value if len(value) <= LONGEST_VALUE else value[:LONGEST_VALUE] + "…" for value in found[1:])
    return Difference(found.path, ours, theirs)
