"""A file that a person sends: kept for them until it is looked through and brought in, or left."""
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from accounts.rows import BadExport, Taken
from calculators.models.base import Refusal
from flashcards import works
from flashcards.models import Upload, Work
from flashcards.transfer import everything, incoming, reading
from flashcards.works import Tell

MOST_BYTES = 100 * 2**20
AT_ONCE_BYTES = 2**18  # a small file is looked through while its page waits
LOOK, APPLY = "look", "apply"


def receive(user: User, file: UploadedFile | None, now: datetime) -> str:
    """Keep the file and have it looked through; what comes back is why not, as a sentence, or nothing."""
    if file is None:
        return "Choose a file first."
    if file.size > MOST_BYTES:
        return (f"This file has {file.size / 2**20:,.0f} MiB; up to {MOST_BYTES // 2**20} are read. A package from "
                "Anki gets smaller when it is exported without its media, which are left out here anyway.")
    if file.size == 0:
        return "This file is empty."
    if running(user, now):
        return "Another file is being brought in; wait until that is done."
    name = (file.name or "a file").replace("\0", "")[:200]
    Upload.objects.update_or_create(user=user, defaults={"name": name, "at": now, "body": file.read()})
    begin(user, LOOK, now, file.size)
    return ""


def apply(user: User, now: datetime) -> bool:
    """Bring in the file that was looked through; False when none waits for it."""
    desk = ImportDesk(user, now)
    if not (desk.can_apply or desk.can_go_on):
        return False
    begin(user, APPLY, now, len(desk.upload.body))
    return True


def drop(user: User) -> None:
    """Forget the file that was sent."""
    Upload.objects.filter(user=user).delete()


def begin(user: User, act: str, now: datetime, size: int) -> None:
    work, is_new = works.begin(user, Work.Kind.IMPORT, now=now, given={"act": act})
    if not is_new:
        return
    if size <= AT_ONCE_BYTES:
        works.do(work.pk)
    else:
        works.start(work)


def running(user: User, now: datetime) -> bool:
    work = works.latest(user, Work.Kind.IMPORT)
    return bool(work and work.done_at is None and not works.is_silent(work, now))


def bring(work: Work, tell: Tell) -> dict[str, Any]:
    """What the work of an import does: looks through the person's file, or brings it in; what it came to, by name.

    Raises Refusal with the sentence that says why the file can't be brought in.
    """
    upload = Upload.objects.filter(user=work.user).first()
    if upload is None:
        raise Refusal("The file is gone; send it again.")
    body, applies, now = bytes(upload.body), work.given.get("act") == APPLY, timezone.now()
    taken = Taken()
    tell(0.02, "reading the file")
    try:
        if reading.is_everything(body):
            document = everything.read(reading.text_of(body))
            stage = "bringing it in" if applies else "looking it through"
            tell(0.1, stage)
            if everything.is_long(document):
                taken = everything.put_in_steps(
                    work.user, document, now, lambda share: tell(0.1 + 0.89 * share, stage), keep=applies)
            else:
                with transaction.atomic():
                    taken = everything.put(work.user, document, now)
                    if not applies:
                        transaction.set_rollback(True)
            what = "an export of drillapp"
        else:
            with reading.read(body, upload.name, work.user, taken) as found:
                adding = (work.user, found.notes, found.clock, now, taken)
                steps = incoming.put(*adding) if applies else looked(work.user, found, taken)
                for done in steps:
                    tell(min(0.1 + 0.9 * done / max(found.count, 1), 0.99), f"{done:,} of {found.count:,} notes")
            what = found.what
    except BadExport as fault:
        raise Refusal(str(fault)) from None
    if applies:
        upload.delete()
    return {"what": what, "name": upload.name, "applied": applies, "new": taken.new, "known": taken.known,
            "left_out": taken.left_out}


def looked(user: User, found: reading.Found, taken: Taken) -> Iterator[int]:
    """Count what the file holds; what comes every so often is how many new notes were counted."""
    for done, _ in enumerate(incoming.count(found.notes, incoming.known_guids(user), taken), 1):
        if done % incoming.AT_ONCE == 0:
            yield done


class ImportDesk:
    """How the import of a person stands."""

    def __init__(self, user: User, now: datetime) -> None:
        self.work, self.now = works.latest(user, Work.Kind.IMPORT), now
        self.upload = Upload.objects.filter(user=user).first()

    @property
    def is_running(self) -> bool:
        return bool(self.work and self.work.done_at is None and not works.is_silent(self.work, self.now))

    @property
    def is_dead(self) -> bool:
        return bool(self.work and self.work.done_at is None and not self.is_running)

    @property
    def fault(self) -> str:
        """Why the last file came to nothing, as a sentence."""
        if self.is_dead:
            return works.STOPPED
        return self.work.fault if self.work and self.upload else ""

    @property
    def applies(self) -> bool:
        """Whether what runs, or ran last, brings in; else it looks through."""
        return bool(self.work and self.work.given.get("act") == APPLY)

    @property
    def can_apply(self) -> bool:
        """Whether a file was looked through and waits to be brought in."""
        looked_through = self.work and self.work.done_at and not self.work.fault and not self.applies
        return bool(looked_through and self.upload and self.upload.at <= self.work.asked_at)

    @property
    def can_go_on(self) -> bool:
        """Whether bringing the file in stopped midway, so that what it lacks can be brought in still."""
        stopped = self.is_dead or (self.work and self.work.fault == works.STOPPED)
        return bool(stopped and self.applies and self.upload and self.upload.at <= self.work.asked_at)

    @property
    def is_brought(self) -> bool:
        """Whether the last file was brought in."""
        return bool(self.work and self.work.done_at and not self.work.fault and self.applies)

    @property
    def percent(self) -> int:
        return round(self.work.progress * 100) if self.work else 0

    @property
    def rows(self) -> list[tuple[str, int, int]]:
        """What the file holds: of what, how many are new, how many are known."""
        new, known = self.work.result.get("new", {}), self.work.result.get("known", {})
        return [(what, new.get(what, 0), known.get(what, 0)) for what in dict.fromkeys([*new, *known])]

    @property
    def adds(self) -> bool:
        return bool(self.work.result.get("new"))
