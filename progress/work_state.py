"""How long work stands, in the words of its page."""
from datetime import datetime

from flashcards import works
from flashcards.models import Work


class WorkState:
    """A piece of work, or none yet, as it stands at `now`."""

    def __init__(self, work: Work | None, now: datetime) -> None:
        self.work = work
        self.is_open = work is not None and work.done_at is None
        self.has_stopped = work is not None and (works.is_silent(work, now) or work.fault == works.STOPPED)
        self.is_under_way = self.is_open and not self.has_stopped
        self.fault = work.fault if work else ""
        self.is_done = work is not None and not self.is_open and not self.fault

    @property
    def percent(self) -> int:
        return round(100 * self.work.progress)

    @property
    def stage(self) -> str:
        return self.work.stage or "Starting"
