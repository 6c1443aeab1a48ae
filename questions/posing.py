"""What must hold of a question as it is posed: its check judges as it should, and its numbers can be."""
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from calculators.models.base import Refusal
from calculators.models.quantity import UNITS, converted, unit_of
from questions.checking import texts_of
from questions.content import QuestionFile
from questions.figures import FIGURE, SPOKEN, Ran, resolve
from questions.grading import judge_map, judge_number
from questions.services import Check

HANDY = (0.01, 1e7)  # numbers that a person writes out
BEYOND = 0.001  # of the answer, outside its tolerance


def misjudged(check: Check, slips: Iterable[tuple[float, str]] = ()) -> Iterator[str]:
    """A sentence for each way of writing the answer that is refused, and for each number that is taken for it though it
    lies outside the tolerance or is a known wrong one."""
    if check.kind == "map":
        yield from misjudged_map(check.expected)
        return
    right, unit, tolerance = check.expected, check.unit, check.tolerance
    edges = [f"{right * (1 + side * tolerance):.15g}" for side in (1, -1)]
    for text in [*spellings(right, unit), *edges]:
        if not taken(text, check):
            yield f"The answer is refused as “{text}”."
    wrong = [right * (1 + side * (1.1 * tolerance + BEYOND)) for side in (1, -1)] if right else [1.0, -1.0]
    texts = [text for value in wrong for text in (f"{value:.12g}", f"{value:.12g} {unit}", *siblings(value, unit)[:1])]
    asked = unit_of(unit)
    for text in [*texts, f"{right:.12g} {'GiB' if asked and asked.kind == 'a time' else 's'}"]:
        if taken(text, check):
            yield f"“{text}” is taken for {right:.6g} {unit}."
    for value, sentence in slips:
        if taken(f"{value:.12g}", check):
            yield f"A known slip, {value:.6g}, is taken for {right:.6g} {unit}: {sentence}"


def taken(text: str, check: Check) -> bool:
    """Whether a typed number counts as the answer."""
    try:
        return judge_number(text, check.expected, check.unit, check.tolerance).within
    except Refusal:
        return False


def misjudged_map(right: Mapping[str, int]) -> Iterator[str]:
    """The same of a map, which is taken whole and not with a token more anywhere."""
    typed = {name: f"{tokens:,}" for name, tokens in right.items()}
    if not judge_map(typed, right, tuple(right)).within:
        yield "The answer is refused."
    for name, tokens in right.items():
        if judge_map(typed | {name: str(tokens + 1)}, right, tuple(right)).within:
            yield f"One more for {name} is taken for the answer."


def spellings(value: float, unit: str) -> list[str]:
    """A number as people may type it: bare, with its unit, grouped, as a fraction, in thousands, in other units."""
    plain = f"{value:.12g}"
    grouped = f"{value:,.12f}".rstrip("0").rstrip(".")
    texts = [plain, f"~{grouped}", f"{plain} {unit}", f"{grouped} {unit}", f"{4 * value:.12g}/4"]
    asked = unit_of(unit)
    if abs(value) >= 1_000 and (asked is None or asked.kind != "a size"):  # of bytes k may be two things
        texts += [f"{value / 1e3:.12g}k", f"{value / 1e3:.12g}k {unit}"]
    return texts + siblings(value, unit)


def siblings(value: float, unit: str) -> list[str]:
    """A number in each other unit of its kind in which it is handy to write."""
    found = [(value * factor, name) for name, factor in other_units(unit)]
    return [f"{same:.12g} {name}" for same, name in found if HANDY[0] <= abs(same) < HANDY[1]]


@lru_cache
def other_units(unit: str) -> tuple[tuple[str, float], ...]:
    """The other units of a kind, each with how many of it are one of this."""
    asked = unit_of(unit)
    if asked is None:
        return ()
    _, slash, under = asked.name.partition("/")
    names = dict.fromkeys(f"{found.name}{slash}{under}" for found in UNITS.values() if found.name)
    return tuple((name, factor) for name in names if name != asked.name and (factor := converted(1, unit, name)))


def shown_figures(document: QuestionFile) -> dict[str, str]:
    """The path of every figure of the prose that may be a number, with its format, and of what the check asks for."""
    found = {
        figure["path"].strip(): (figure["format"] or "").strip() for _, text in texts_of(document)
        for figure in FIGURE.finditer(text) if figure["format"] != "label" and not figure["path"].endswith(".lines")
    }
    return {**found, document.check["figure"]: ""} if document.check else found


def absurd(figures: Mapping[str, str], ran: Mapping[str, Ran], own: Mapping[str, Ran]) -> Iterator[str]:
    """A sentence for each figure that turns into what it can't be, and is not with the file's own values: below 0, more
    than the whole, a part of what comes whole, no time at all, or so small that it is shown as 0."""
    for path, form in figures.items():
        for value, usual in zip(numbers_in(resolve(path, ran)), numbers_in(resolve(path, own)), strict=False):
            if value < 0 <= usual:
                yield f"{path} is negative, {value:g}."
            elif form.startswith("%") and value > 1 >= usual:
                yield f"{path} is more than the whole, {value:.0%}."
            elif isinstance(usual, int) and value != int(value):
                yield f"{path} is no whole number, {value:g}."
            elif value == 0 < usual and path.endswith(("_ms", "_s")):
                yield f"{path} is no time at all."
            elif 0 < value < least_shown(form) <= usual:
                yield f"{path} is shown as 0, {value:g}."


def least_shown(form: str) -> float:
    """The least number that a format with fixed decimals shows as more than 0; 0 for any other format."""
    if not form or form in SPOKEN or form[0] == "g":
        return 0.0
    return 0.5 / 10 ** len(form.partition(".")[2]) / (100 if form[0] == "%" else 1)


def numbers_in(value: Any) -> Iterator[float]:
    """The numbers of a figure, which may be a list or a map of them."""
    if isinstance(value, Mapping):
        value = list(value.values())
    for one in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(one, (int, float)) and not isinstance(one, bool):
            yield one
