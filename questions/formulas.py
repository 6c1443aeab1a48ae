r"""Formulas in a text: what stands between \(…\), \[…\], $…$ and $$…$$, outside of code."""
import re
from collections.abc import Iterator
from dataclasses import dataclass

LINE = r"\n(?![ \t]*(?:\n|\Z))"  # a formula holds no empty line
BEGUN = re.compile(
    r"""^[ \t>]*(?P<fence>`{3,}|~{3,})[^`\n]*$
    | (?P<ticks>`+)
    | \]\([^()\s]* | <[a-z][a-z0-9+.-]+:[^<>\s]*>  # where a link leads
    | (?P<mark>\\[(\[]|\${1,2})
    | \\.""", re.VERBOSE | re.MULTILINE | re.DOTALL | re.IGNORECASE)
# No step of these is taken back, so that no text takes long to look through. The groups are atomic, (?>…), as Python
# before 3.11.5 reads a possessive one, (…)*+, wrongly.
ENDED = {
    r"\(": re.compile(rf"((?>(?:[^\\\n]|{LINE}|\\[^)])*))\\\)"),
    r"\[": re.compile(rf"((?>(?:[^\\\n]|{LINE}|\\[^\]])*))\\\]"),
    "$$": re.compile(rf"((?>(?:[^\\\n$]|{LINE}|\\.|\$(?!\$))+))\$\$", re.DOTALL),
    # As Pandoc has it, so that sums of money are none: no space inside the marks, no digit after them, or before. Nor
    # is there what makes one of them bold.
    "$": re.compile(rf"(?<!\d\$)(?!\s)((?>(?:[^\\\n$*]|{LINE}|\\.|\*(?!\*))+))(?<!\s)\$(?!\d)", re.DOTALL),
}
EMPTY_LINE = re.compile(r"\n[ \t]*(?=\n)|\Z")
FENCE_END = re.compile(r"^[ \t>]*(`{3,}|~{3,})[ \t]*$", re.MULTILINE)
TICKS = re.compile("`+")
CUT = re.compile("\ue000([0-9]+)\ue001")  # private-use characters: Markdown leaves them alone


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula, and where in its text it stands with its marks."""

    start: int
    end: int
    tex: str
    display: bool  # on a line of its own
    written: str  # with its marks


def found(text: str) -> Iterator[Formula]:
    """The formulas of a text in order."""
    if not any(mark in text for mark in ENDED):
        return
    at, paragraph, without = 0, -1, dict.fromkeys(ENDED, -1)  # up to where it is known that no mark of a kind ends
    while begun := BEGUN.search(text, at):
        at = begun.end()
        if at > paragraph:
            paragraph = EMPTY_LINE.search(text, at).start()
        if begun["fence"]:
            at = _fence_end(text, at, begun["fence"])
        elif begun["ticks"]:
            at = _code_end(text, at, paragraph, len(begun["ticks"]))
        elif (mark := begun["mark"]) and at > without[mark]:
            if ended := ENDED[mark].match(text, at):
                at = ended.end()
                if ended[1].strip():
                    yield Formula(begun.start(), at, ended[1].strip(), mark in (r"\[", "$$"), text[begun.start():at])
            elif mark != "$":
                without[mark] = paragraph


def _fence_end(text: str, at: int, fence: str) -> int:
    ends = (end for end in FENCE_END.finditer(text, at) if end[1].startswith(fence))
    return next((end.end() for end in ends), len(text))


def _code_end(text: str, at: int, paragraph: int, ticks: int) -> int:
    """Where the code ends that begins at a place; where none does, that place."""
    return next((run.end() for run in TICKS.finditer(text, at, paragraph) if len(run[0]) == ticks), at)


def cut(text: str) -> tuple[str, list[Formula]]:
    """The text with a sign (CUT) in place of each of its formulas, and these."""
    text = text.replace("\ue000", "").replace("\ue001", "")
    pieces, formulas, at = [], list(found(text)), 0
    for number, formula in enumerate(formulas):
        pieces += [text[at:formula.start], f"\ue000{number}\ue001"]
        at = formula.end
    return "".join([*pieces, text[at:]]), formulas


def as_written(text: str, formulas: list[Formula]) -> str:
    """A piece of a text with its formulas back in it."""
    return CUT.sub(lambda sign: formulas[int(sign[1])].written, text)


def in_line(formula: Formula) -> str:
    """A formula's source in one line, without marks; a gap in it by its brackets alone."""
    return " ".join(re.sub(r"\{(\[[^][{}]*\])\}", r"\1", re.sub(r"(?<!\\)\$", "", formula.tex)).split())


def unmarked(text: str) -> str:
    """A text with its formulas' sources in it, without their marks."""
    bare, formulas = cut(text)
    return CUT.sub(lambda sign: in_line(formulas[int(sign[1])]), bare)


def without(text: str) -> str:
    """A text with a zero in place of each of its formulas."""
    return CUT.sub("0", cut(text)[0])


def is_whole(formula: Formula) -> bool:
    """Whether each brace of the formula has its other: where two sums of money look like one, a gap's has not."""
    depth = 0
    for brace in re.findall(r"\\.|[{}]", formula.tex, re.DOTALL):
        depth += (brace == "{") - (brace == "}")
        if depth < 0:
            return False
    return depth == 0


def in_tex_marks(formula: Formula) -> str:
    r"""The formula as every reader of TeX takes it: in \(…\) or \[…\]."""
    return rf"\[{formula.tex}\]" if formula.display else rf"\({formula.tex}\)"
