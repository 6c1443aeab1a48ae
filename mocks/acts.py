"""What a room's forms say, as the detail of an event: one reader for each kind of act."""
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.http import QueryDict

from mocks import lab_address
from mocks.room import Room
from mocks.sides import mark_of

NO_NUMBER = -1  # what a field holds that is no whole number: no place in any list, no score
MOVING = frozenset({"start", "call_off", "ask", "phase", "skip", "debrief", "end"})  # these name where they start from
REPLACED = "Another page of yours had written this meanwhile; yours took its place: {}"
MARKED = ("evidence", "comment")
WRITTEN = {"scratch": ("text",), "score": MARKED}  # the texts that a page keeps as they are typed, and marks
CALLED = ("verdict", "level", "reason")


def number(text: str) -> int:
    """A whole number as a form sends it, NO_NUMBER for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else NO_NUMBER


def text_of(form: QueryDict, name: str) -> str:
    """A text as it was typed, its lines ended by one character as everywhere here."""
    return form.get(name, "").replace("\r\n", "\n")


def key_of(form: QueryDict) -> UUID | None:
    """What the page called the act; None when it gave it no name."""
    try:
        return UUID(form.get("key", ""))
    except ValueError:
        return None


def stamp_of(form: QueryDict, kind: str) -> str | None:
    """Where the page saw the interview; only acts that move it on depend on that."""
    return form.get("stamp", "") if kind in MOVING else None


def mark_in(form: QueryDict, name: str) -> str:
    """What the page names as the text that a field goes on from; "" where it says nothing of it."""
    return form.get(f"mark-{name}", "")


def without_untouched(detail: Mapping[str, Any], form: QueryDict) -> dict[str, Any]:
    """What a whole form says, less the evidence and comment that stand in it as its page showed them: a page left open
    undoes nothing that was written elsewhere."""
    return {name: value for name, value in detail.items()
            if name not in MARKED or mark_in(form, name) != mark_of(value)}


def nothing(form: QueryDict) -> dict[str, Any]:
    return {}


def position(form: QueryDict) -> dict[str, Any]:
    return {"position": number(form.get("position", ""))}


def to(form: QueryDict) -> dict[str, Any]:
    return {"to": form.get("to", "")}


def extension(form: QueryDict) -> dict[str, Any]:
    return {"minutes": number(form.get("minutes", "")), "of": form.get("of", "")}


def numbered(form: QueryDict) -> dict[str, Any]:
    return {"number": number(form.get("number", ""))}


def pushed(form: QueryDict) -> dict[str, Any]:
    """The lab's address with nothing said in it. Raises Refusal for what is no lab's."""
    return {"address": lab_address.to_push(form.get("address", ""), is_before=form.get("stands") == "before")}


def scratched(form: QueryDict) -> dict[str, Any]:
    return position(form) | {"text": text_of(form, "text")}


def noted(form: QueryDict) -> dict[str, Any]:
    return {"text": text_of(form, "text")}


def named(form: QueryDict) -> dict[str, Any]:
    return {"names": number(form.get("names", ""))}


def scored(form: QueryDict) -> dict[str, Any]:
    """A point's score and words, of which the event names what the form brings. An empty value takes a score back."""
    detail = position(form) | {"point": form.get("point", "")}
    if "value" in form:
        detail["value"] = number(form["value"]) if form["value"] else None
    return detail | {name: text_of(form, name) for name in MARKED if name in form}


def called(form: QueryDict) -> dict[str, Any]:
    return {name: text_of(form, name) for name in CALLED if name in form}


def agreed(form: QueryDict) -> dict[str, Any]:
    return position(form) | {"point": form.get("point", ""), "value": number(form.get("value", ""))}


def released(form: QueryDict) -> dict[str, Any]:
    return {"parts": form.getlist("parts")}


READERS: Mapping[str, Callable[[QueryDict], dict[str, Any]]] = {
    "start": nothing, "call_off": nothing, "ask": position, "phase": to, "skip": nothing, "debrief": nothing,
    "end": nothing, "pause": nothing, "resume": nothing, "extend": extension, "hint": numbered, "follow_up": numbered,
    "push_lab": pushed, "close_lab": nothing, "scratch": scratched, "note": noted, "drop_note": named,
    "score": scored, "call": called, "submit": nothing, "agree": agreed, "agree_call": called, "release": released,
}


def held(kind: str, detail: Mapping[str, Any], room: Room, who: str) -> dict[str, Any]:
    """What the kept fields hold, by their names, of the place that an act of this person's is about; none for an act
    that has no such fields."""
    at = detail.get("position")
    if type(at) is not int or not 0 <= at < len(room.items):
        return {}
    if kind == "scratch":
        return {"text": room.items[at].scratch}
    if kind != "score":
        return {}
    mark = room.mark(who, at, detail["point"])
    return {name: getattr(mark, name) for name in ("value", *MARKED)}


def changes_nothing(kind: str, detail: Mapping[str, Any], room: Room, who: str) -> bool:
    """Whether the kept fields hold already what an act brings: then there is no act."""
    there = held(kind, detail, room, who)
    return bool(there) and all(detail[name] == value for name, value in there.items() if name in detail)
