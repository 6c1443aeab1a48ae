"""What kind of file was sent, and its notes."""
from collections.abc import Iterable
from dataclasses import dataclass

from accounts.models import User
from accounts.rows import BadExport, Taken
from flashcards.transfer.incoming import Clock, Incoming


@dataclass(frozen=True, slots=True)
class Found:
    """The notes of a file, read as they are asked for; `count` is how many there are in all, as far as is known."""

    what: str  # "a package from Anki"
    notes: Iterable[Incoming]
    count: int
    clock: Clock


def clock_of(user: User) -> Clock:
    """The person's own days."""
    return Clock(user.profile.zone, user.profile.day_start)


def text_of(body: bytes) -> str:
    """The text of a file. Raises BadExport when it is none."""
    for encoding in ("utf-8-sig", "utf-16") if body[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig",):
        try:
            return body.decode(encoding).replace("\0", "")
        except UnicodeDecodeError:
            continue
    raise BadExport("This file is no text in UTF-8, and no package from Anki.")


def is_everything(body: bytes) -> bool:
    """Whether the file looks like JSON."""
    return body.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def read(body: bytes, name: str, user: User, taken: Taken) -> Found:
    """The notes of the file. Raises BadExport when it is of no kind that can be read."""
    raise BadExport("Only an export of drillapp can be brought in so far.")
