"""Commit, then check, inside a lab: what the reader said against what it is. Nothing of it is stored."""
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calculators.labs.base import Ask, Expected
from calculators.models import quantity

NEAR_SLIP = 0.03  # of a slip's value: as near as hand arithmetic gets to it
COUNT = re.compile(r"[0-9]{1,9}")
DECIMAL = re.compile(r"[-−]?(?:[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A committed number beside the computed one, in words: "250 ms", "984 ms", "3.9× too low", and the known slip."""

    said: str
    computed: str
    off: str
    slip: str = ""


@dataclass(frozen=True, slots=True)
class Slot:
    """One field of the strip: the request, what was typed, the sentence beside it, or the note that stands instead."""

    name: str
    typed: str = ""
    fault: str = ""
    note: str = ""
    decimals: int = 0
    unit: str = "tokens"


@dataclass(frozen=True, slots=True)
class Scored:
    """One predicted entry after the step: what was said, what it is, and why."""

    name: str
    said: float
    value: float
    why: str
    decimals: int = 0

    @property
    def right(self) -> bool:
        """A count is right when it is the same, a decimal when it rounds from the value or to it."""
        if not self.decimals:
            return self.said == self.value
        return abs(self.said - self.value) <= 0.5 * 10**-self.decimals * (1 + 1e-6)


def weigh(ask: Ask, result: Any, said: float) -> Verdict:
    """The said number (in the ask's unit) against the result's figure; a slip it lies within 3% of is named."""
    expected = getattr(result, ask.figure)
    near = [(abs(said / value - 1), sentence) for value, sentence in getattr(result, "slips", ()) if value]
    distance, sentence = min(near, default=(1.0, ""))
    off = how_far(said, expected)
    slip = sentence if distance <= NEAR_SLIP and off != "right" else ""
    return Verdict(quantity.say(said, ask.unit, 4), quantity.say(expected, ask.unit), off, slip)


def judge(ask: Ask, result: Any, said: str) -> Verdict:
    """The named choice against the result's own; a wrong one brings the slip that speaks against it."""
    labels, expected = dict(ask.choices), getattr(result, ask.figure)
    if said == expected:
        return Verdict(labels[said], labels[expected], "right")
    return Verdict(labels[said], labels[expected], "not that", dict(result.slips).get(said, ""))


def how_far(said: float, expected: float) -> str:
    """"3.9× too low", "1.03× too high", or "right" when no difference shows at two decimals."""
    if said == expected:
        return "right"
    direction = "too high" if said > expected else "too low"
    if said * expected <= 0:
        return direction
    ratio = max(said / expected, expected / said)
    digits = 2 if ratio < 2 else 1 if ratio < 10 else 0
    return "right" if round(ratio, 2) == 1 else f"{ratio:,.{digits}f}× {direction}"


def slots(entries: tuple[Expected, ...], given: Mapping[str, str]) -> tuple[Slot, ...]:
    """The strip's fields for a step's entries, with what was typed and a sentence beside what can't be read."""
    return tuple(
        Slot(entry.name, note=entry.note) if entry.note else slot(entry, given.get(entry.name, ""))
        for entry in entries
    )


def slot(entry: Expected, typed: str) -> Slot:
    """A field as typed, at fault when that is no such number."""
    fault = "" if number(typed, entry.decimals) is not None else f"“{typed}” for {entry.name} is no number"
    return Slot(entry.name, typed, fault and f"{fault} of {entry.unit}.", decimals=entry.decimals, unit=entry.unit)


def score(entries: tuple[Expected, ...], given: Mapping[str, str]) -> tuple[Scored, ...]:
    """Each asked entry beside what was said, in fields without fault; an empty one says 0."""
    return tuple(
        Scored(entry.name, number(given.get(entry.name, ""), entry.decimals) or 0, entry.value, entry.why,
               entry.decimals)
        for entry in entries if not entry.note
    )


def number(text: str, decimals: int = 0) -> float | None:
    """A typed count ("1,024", "2 045") or, where decimals are asked for, a number ("28.8"); 0 for an empty field.

    None for what is no such number.
    """
    bare = "".join(text.split()).replace(",", "")
    if not bare:
        return 0
    if not decimals:
        return int(bare) if COUNT.fullmatch(bare) else None
    return float(bare.replace("−", "-")) + 0.0 if DECIMAL.fullmatch(bare) else None
