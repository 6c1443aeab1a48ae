"""What kind of file was sent, and its notes."""
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from accounts.models import User
from accounts.rows import BadExport, Taken
from flashcards.transfer import anki_file, anki_in, tables
from flashcards.transfer.incoming import Clock, Incoming


@dataclass(frozen=True, slots=True)
class Found:
    """The notes of a file, read as they are asked for; `count` is how many there are in all, as far as is known."""

    what: str  # "a package from Anki"
    notes: Iterable[Incoming]
    count: int
    clock: Clock


def text_of(body: bytes) -> str:
    """The text of a file. Raises BadExport when it is none."""
    encoding = "utf-16" if body[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return body.decode(encoding).replace("\0", "")
    except UnicodeDecodeError:
        raise BadExport("This file is no text in UTF-8, and no package from Anki.") from None


def is_everything(body: bytes) -> bool:
    """Whether the file looks like JSON."""
    return body.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


@contextmanager
def read(body: bytes, name: str, user: User, taken: Taken) -> Iterator[Found]:
    """The notes of the file, for as long as it is open. Raises BadExport when it is of no kind that can be read."""
    if body[:2] == b"PK":
        with anki_file.opened(body) as collection:
            anki_in.check_decoy(collection)
            clock = anki_in.clock_of(collection, user)
            count = anki_in.count_of(collection)
            yield Found("a package from Anki", anki_in.notes_in(collection, user, clock, taken), count, clock)
        return
    ending = name.rpartition(".")[2].lower()
    if ending in ("apkg", "colpkg", "zip"):
        raise BadExport("This file is no package from Anki: it is no zip archive that can be read.")
    text, clock = text_of(body), Clock(user.profile.zone, user.profile.day_start)
    if ending in ("md", "markdown"):
        notes = list(tables.from_markdown(text, user, taken))
        yield Found("Markdown", notes, len(notes), clock)
    else:
        notes = list(tables.from_csv(text, user, taken))
        yield Found("a table", notes, len(notes), clock)
