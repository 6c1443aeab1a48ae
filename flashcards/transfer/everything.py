"""All that is known of a person as one JSON document, written and brought in again, each app its own part."""
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from django.conf import settings
from django.db import DataError, IntegrityError, transaction

from accounts.models import User
from accounts.rows import BadExport, Taken

FORMAT, VERSION = "drillapp", 1
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
    try:
        with transaction.atomic():
            for name, module in parts():
                part = document.get(name, {})
                if not isinstance(part, dict):
                    raise BadExport(NOT_OURS)
                module.put(user, part, now, taken)
    except (IntegrityError, DataError):
        raise BadExport("The file contradicts itself: it holds rows that can’t stand beside each other.") from None
    return taken


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
