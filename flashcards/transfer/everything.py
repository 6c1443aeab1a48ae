"""All that is known of a person as one JSON document, written and brought in again, each app its own part."""
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from django.conf import settings
from django.db import DataError, IntegrityError, transaction

from accounts.models import User
from accounts.rows import BadExport, Taken, rows_in
from flashcards import bring
from flashcards.models import Card

FORMAT, VERSION = "drillapp", 1
ROWS_AT_ONCE, CARDS_AT_ONCE = 4_000, 400  # of a log, brought in by one transaction
NOT_OURS = "This is no export of a person from here: it does not begin with what all of them say."


def parts() -> Iterator[tuple[str, ModuleType]]:
    """Each app's part: the app's name and its module, in the order in which they are brought in."""
    for path in settings.DRILL_EXPORTS:
        yield path.partition(".")[0], import_module(path)


def of(user: User, now: datetime) -> dict[str, Any]:
    """Everything of a person."""
    head = {"format": FORMAT, "version": VERSION, "made_at": now.isoformat()}
    return head | {name: module.of(user) for name, module in parts()}


def written(user: User, now: datetime) -> str:
    """Everything of a person as the text of a file."""
    return json.dumps(of(user, now), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read(text: str) -> Mapping[str, Any]:
    """The document of a file. Raises BadExport when it is none of ours, or one of a later version."""
    try:
        document = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadExport("This is no JSON that can be read.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT or type(document.get("version")) is not int:
        raise BadExport(NOT_OURS)
    if document["version"] > VERSION:
        raise BadExport(f"This file is of version {document['version']}; this drillapp reads up to {VERSION}. "
                        "Update drillapp, then bring it in again.")
    return document


def put(user: User, document: Mapping[str, Any], now: datetime) -> Taken:
    """Add to the account what it lacks of the document, all of it or, on a fault, nothing. Raises BadExport."""
    taken = Taken()
    with step(keep=True):
        put_all(user, document, now, taken)
    return taken


def put_in_steps(
    user: User, document: Mapping[str, Any], now: datetime, tell: Callable[[float], None], *, keep: bool
) -> Taken:
    """The same of a document with a long log, in steps that each leave every card as its log says, so that others wait
    for none of them long; or, where nothing is to be kept, all that would come of it.

    What stopped midway is taken up by doing it again: what is here by then is known. Raises BadExport.
    """
    taken, part = Taken(), document.get("flashcards", {})
    with step(keep=keep):
        cards = put_all(user, document, now, taken, without=("reviews", "attempts", "drafts"))
    parted: set[int] = set()
    done, count = 0, max(len(rows_in(part, "reviews")) + len(rows_in(part, "attempts")), 1)
    # What is not kept can't be gone on from.
    for cut in bring.cuts_in_order(part, ROWS_AT_ONCE) if keep else bring.cuts_by_card(part, CARDS_AT_ONCE):
        tell(done / count)
        with step(keep=keep):
            bring.put_logs(user, cards, cut, parted, taken)
        done += sum(map(len, cut))
    bring.say_parted(parted, taken)
    with step(keep=keep):
        bring.put_drafts(rows_in(part, "drafts"), cards, parted, taken)
    return taken


def is_long(document: Mapping[str, Any]) -> bool:
    """Whether the document's log is brought in by steps."""
    part = document.get("flashcards")
    return isinstance(part, dict) and isinstance(rows := part.get("reviews"), list) and len(rows) > ROWS_AT_ONCE


def put_all(
    user: User, document: Mapping[str, Any], now: datetime, taken: Taken, without: tuple[str, ...] = ()
) -> list[Card | None]:
    """Bring each app's part in, but for these lists of the learner's side; whose card is each of the file's."""
    cards: list[Card | None] = []
    for name, module in parts():
        part = document.get(name, {})
        if not isinstance(part, dict):
            raise BadExport(NOT_OURS)
        made = module.put(user, {key: value for key, value in part.items() if key not in without}, now, taken)
        cards = made or cards
    return cards


@contextmanager
def step(*, keep: bool) -> Iterator[None]:
    """One transaction, undone at its end unless it is to be kept. Raises BadExport for rows that no table takes."""
    try:
        with transaction.atomic():
            yield
            if not keep:
                transaction.set_rollback(True)
    except (IntegrityError, DataError):
        raise BadExport("The file contradicts itself: it holds rows that can’t stand beside each other.") from None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
