"""How long work stands, in the words of its page."""
from datetime import datetime
from typing import Any

from accounts.models import User
from flashcards import works
from flashcards.models import Work


class WorkState:
    """A person's latest work of a kind, or none yet, as it stands at `now`; `done` is the last that has a result."""

    def __init__(self, user: User, kind: Work.Kind, now: datetime) -> None:
        self.work = work = works.latest(user, kind)
        self.done = works.latest_done(user, kind)
        self.is_open = work is not None and work.done_at is None
        self.has_stopped = work is not None and (works.is_silent(work, now) or work.fault == works.STOPPED)
        self.is_under_way = self.is_open and not self.has_stopped
        self.fault = work.fault if work else ""
        self.is_done = work is not None and not self.is_open and not self.fault

    @property
    def shows(self) -> bool:
        """Whether there is a result to show: while the next one is made, none is."""
        return self.done is not None and not self.is_under_way

    @property
    def result(self) -> dict[str, Any]:
        return self.done.result if self.done else {}

    @property
    def percent(self) -> int:
        return round(100 * self.work.progress)

    @property
    def stage(self) -> str:
        return self.work.stage or "Starting"
