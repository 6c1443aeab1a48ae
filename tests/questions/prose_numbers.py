"""Numbers written out in a question's prose, and which of them nothing there accounts for."""
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from questions.checking import texts_of
from questions.content import QuestionFile
from questions.figures import FIGURE, Ran
from questions.markup import MARK
from questions.runs import reference

UNITS = r"(?:[µnm]?s|min|h|%|[KMGT]i?B(?:/s)?|[GT]b/s|[MGT]?FLOPs?|TFLOP/s|B|bytes?|points?|GPU-hours)"
BEFORE_A_RELEASE = "[Ss]ince|[Bb]efore|[Ff]rom|[Ii]n|of|until|under|against|where|vLLM|for"
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
UNREAD = [
    r"`[^`]*`",  # flags, symbols, commands
    r"\]\([^)]*\)",  # where a link leads
    r"\b[A-Za-z][\w.+/-]*\d[\w+/-]*",  # names: H100, bf16, W8A8, Llama-3.1-8B, P99
    r"(?<![\d.,])\d+(?![kK]\b|ms\b|GB\b)[A-Za-z]+\d*\b",  # 8B, 2P
    r"\b(?:TP|DP|EP|PP|step|rank|stage|seed|token|position|block|request) \d+(?:(?:, | and | or | to )\d+)*\b(?! ?%)",
    r"\b\d+-(?:bit|way|GPU|card)\b",
    rf"\b(?:{BEFORE_A_RELEASE}) 0\.(?:[6-9]|[12]\d|3[0-3])(?:\.\d+)?(?!\.?\d| ?{UNITS}\b)",
    rf"\b(?:{BEFORE_A_RELEASE}|{MONTHS}) 20\d\d\b",
]
NUMBER = re.compile(
    rf"(?<![\w.,/^-])(?P<number>\d[\d,]*\d(?:\.\d+)?|\d(?:\.\d+)?)[kK]?(?!\w|\.\d)(?:(?P<unit>×| ?{UNITS}(?!\w)))?"
)
RULE = re.compile(r"\brules? of thumb\b|\bas a rule\b")
MARKED = "\ue000"  # stands for a source's mark
COUNTING = 12  # a whole number up to here, with no unit, is a word


@dataclass(frozen=True, slots=True)
class Loose:
    """A number of the prose: where, as written, its unit and the sentence."""

    where: str
    written: str
    unit: str
    sentence: str

    @property
    def value(self) -> float:
        return float(self.written.replace(",", ""))


def loose_numbers(document: QuestionFile, ran: Mapping[str, Ran]) -> Iterator[Loose]:
    """Numbers that are no figure, no name, no small count, no fixed input of a run, said as no rule of thumb, and that
    no source in any of the question's sentences stands behind. What a follow-up poses and what a trap quotes is its
    own matter: the key and the refutation are held."""
    given, sourced, found = fixed_inputs(document, ran), set(), []
    posed: dict[str, set[float]] = {}  # by follow-up
    for where, text in texts_of(document):
        entry, _, key = where.partition(", ")
        for sentence in sentences(text):
            plain = sentence.replace(MARKED, "")
            read = NUMBER.finditer(plain)
            numbers = [Loose(where, one["number"], (one["unit"] or "").strip(), plain) for one in read]
            if MARKED in sentence:
                sourced |= {one.value for one in numbers}
            elif key == "ask":
                posed.setdefault(entry, set()).update(one.value for one in numbers)
            elif key != "said" and not RULE.search(plain):
                found += [one for one in numbers if one.unit or one.value > COUNTING or "." in one.written]
    for one in found:
        known = {one.value, one.value / 100} if one.unit == "%" else {one.value}
        accounted = sourced | given | posed.get(one.where.partition(", ")[0], set())
        if one.value and (one.written, one.unit) != ("100", "%") and not known & accounted:
            yield one


def sentences(text: str) -> list[str]:
    """The sentences of a text, a table's rows as one each, with their figures and names cut out."""
    text = MARK.sub(MARKED, FIGURE.sub(" ", text))
    for pattern in UNREAD:
        text = re.sub(pattern, " ", text)
    return [one for one in re.split(r"(?<=[.?!])\s+|\n", text) if one.strip()]


def fixed_inputs(document: QuestionFile, ran: Mapping[str, Ran]) -> set[float]:
    """The numbers that the runs are given and that no draw changes, and those that `keep` holds them to."""
    numbers = {one for value in document.keep.values() for one in numbers_in(value)}
    for name, run in document.runs.items():
        vary = run.get("vary", {})
        drawn = set().union(*(vary if isinstance(vary, list) else [vary]))
        taken = {key for key, value in run.get("values", {}).items() if reference(value)}
        for key, value in ran[name].inputs.items():
            if key not in drawn | taken:
                numbers |= {*numbers_in(value), *numbers_in(run.get("values", {}).get(key))}
    return numbers


def numbers_in(value: Any) -> Iterator[float]:
    """The numbers of an input, of a list of them, or of a text such as "A:24/8@0"."""
    for one in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(one, str):
            yield from (float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", one))
        elif isinstance(one, (int, float)) and not isinstance(one, bool):
            yield float(one)
