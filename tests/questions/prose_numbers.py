"""Numbers written out in a question's prose, and which of them nothing there accounts for."""
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from calculators.models.quantity import unit_of
from questions.checking import texts_of
from questions.content import QuestionFile
from questions.figures import FIGURE
from questions.markup import MARK

UNITS = r"(?:[µnm]?s|min|h|%|[KMGT]i?B(?:/s)?|[GT]b/s|[MGT]?FLOPs?|TFLOP/s|B|bytes?|points?|GPU-hours)"
BEFORE_A_RELEASE = "[Ss]ince|[Bb]efore|[Ff]rom|[Ii]n|of|until|under|against|where|with|vLLM|for"
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
UNREAD = [
    r"`[^`]*`",  # flags, symbols, commands
    r"\]\([^)]*\)",  # where a link leads
    r"\b[A-Za-z][\w.+/-]*\d[\w+/-]*",  # names: H100, bf16, W8A8, Llama-3.1-8B, P99
    r"(?<![\d.,])\d+(?![kK]\b|ms\b|GB\b|st\b|nd\b|rd\b|th\b)[A-Za-z]+\d*\b",  # 8B, 2P
    r"\b(?:4|8|16|32) bits?\b",  # of a format
    r"(?m)^\d\. ",  # of a list
    r"\b(?:TP|DP|EP|PP|[Pp]hase|step|rank|stage|seed|token|position|block|request) \d+"
    r"(?:(?:, | and | or | to )\d+)*\b(?! ?%)",
    r"\b\d+-(?:bit|way|GPU|card)\b",
    rf"\b(?:{BEFORE_A_RELEASE}) 0\.(?:[6-9]|[12]\d|3[0-3])(?:\.\d+)?(?!\.?\d| ?{UNITS}\b)",
    rf"\b(?:{BEFORE_A_RELEASE}|{MONTHS}) 20\d\d\b",
]
NUMBER = re.compile(
    rf"(?<![\w.,/^-])(?P<number>\d[\d,]*\d(?:\.\d+)?|\d(?:\.\d+)?)(?P<k>[kK]?)(?!\w|\.\d)"
    rf"(?=(?P<range>(?:,? (?:to|and|or) |–)\d[\d,.]*(?P<unit_of_range>×| ?{UNITS}(?!\w)))?)"
    rf"(?:(?P<unit>×| times\b| ?{UNITS}(?!\w))|(?= (?P<noun>[a-z]+)))?"
)
ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TEENS = ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
POWERS = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
IN_WORDS = re.compile(
    rf"\b(?<!few )(?:(?P<times>{'|'.join(ONES)}) )?(?P<power>{'|'.join(POWERS)})\b"
    rf"|\b(?P<tens>{'|'.join(TENS)})(?:-(?P<one>{'|'.join(ONES)}))?\b(?!-)|\b(?P<teen>{'|'.join(TEENS)})\b", re.I
)
MARKED = "\ue000"  # stands for a source's mark
COUNTING = 3  # a whole number up to here, with no unit, is a word
SHORT = {"Gb/s": "Gbit/s", "Tb/s": "Tbit/s"}
COUNT, SHARE = "a count", "a share"


class Amount(NamedTuple):
    """A number in its kind's base unit, to nine digits, and the kind: "a time", "a number of tokens", a share of one,
    or a count of what is not said."""

    value: float
    kind: str

    def vouches_for(self, other: "Amount") -> bool:
        """Whether both are the same quantity; a count of what is not said is one of anything."""
        if self.value != other.value:
            return False
        counts = [kind == COUNT or kind.startswith("a number of") for kind in (self.kind, other.kind)]
        return self.kind == other.kind or (all(counts) and COUNT in (self.kind, other.kind))


def amount(value: float, unit: str) -> Amount:
    """A number with its unit as an amount; a fraction without a unit is a share."""
    unit = SHORT.get(unit, unit)
    found = unit_of(unit) if unit else None
    if unit in ("%", "×"):
        return Amount(nine_digits(value * found.factor), SHARE)
    if found:
        return Amount(nine_digits(value * found.factor), found.kind)
    if unit:
        return Amount(value, unit)
    return Amount(nine_digits(value), COUNT if value == int(value) else SHARE)


def nine_digits(value: float) -> float:
    return float(f"{value:.9g}")


@dataclass(frozen=True, slots=True)
class Loose:
    """A number of the prose as written, its unit (of a bare one what it counts, if that is known), where, and the
    sentence."""

    written: str
    unit: str
    where: str = ""
    sentence: str = ""

    @property
    def value(self) -> float:
        return float(self.written.replace(",", "").rstrip("kK")) * (1_000 if self.written[-1] in "kK" else 1)

    @property
    def amount(self) -> Amount:
        return amount(self.value, self.unit)

    @property
    def bare(self) -> bool:
        return self.amount.kind == COUNT or self.amount.kind.startswith("a number of")


def loose_numbers(document: QuestionFile, known: Iterable[tuple[float, str]] = ()) -> Iterator[Loose]:
    """Numbers that are no figure, no name and no count up to three, that are not, as the same quantity, among those
    known, (value, unit), and that no source stands behind.

    A sentence's marks stand behind its numbers, where these come again in the same part and, with a unit, in any other.
    What a follow-up poses holds in its key, and what a trap quotes is its own matter: the refutation is held.
    """
    accounted, found = {amount(*one) for one in known}, []
    nearby: dict[str, set[Amount]] = defaultdict(set)  # by part of the answer or entry
    for where, text in texts_of(document):
        entry, _, key = where.partition(", ")
        for sentence in sentences(text):
            plain = sentence.replace(MARKED, "")
            numbers = [Loose(*one, where, plain) for one in numbers_of(plain)]
            if MARKED in sentence:
                accounted |= {one.amount for one in numbers if one.amount.kind != COUNT}
            if MARKED in sentence or key == "ask":
                nearby[entry].update(one.amount for one in numbers)
            elif key != "said":
                found += [one for one in numbers if not (one.bare and one.value <= COUNTING)]
    for one in found:
        behind = accounted | nearby[one.where.partition(", ")[0]]
        if one.value and (one.written, one.unit) != ("100", "%") and not any(a.vouches_for(one.amount) for a in behind):
            yield one


def numbers_of(sentence: str) -> Iterator[tuple[str, str]]:
    """Every number of a sentence as written, with its unit; the first of "5 to 10 µs" is in µs as well."""
    for one in NUMBER.finditer(sentence):
        unit = (one["unit"] or one["unit_of_range"] or "").strip().replace("times", "×")
        noun = one["noun"] if one["noun"] and (of := unit_of(one["noun"])) and of.kind.startswith("a number") else ""
        yield one["number"] + one["k"], unit or noun


def sentences(text: str) -> list[str]:
    """The sentences of a text, a table's rows as one each, with their figures and names cut out, and from thirteen on
    what is said in words in digits."""
    text = MARK.sub(MARKED, FIGURE.sub(" ", text))
    for pattern in UNREAD:
        text = re.sub(pattern, " ", text)
    text = IN_WORDS.sub(lambda found: f"{said_in(found):,}", text)
    return [one for one in re.split(r"(?<=[.?!])\s+|\n", text) if one.strip()]


def said_in(found: re.Match[str]) -> int:
    """The number that stands there in words."""
    words = {name: (found[name] or "").lower() for name in found.re.groupindex}
    ones = {"": 0} | {word: number for number, word in enumerate(ONES, 1)}
    if words["power"]:
        return POWERS[words["power"]] * (ones[words["times"]] or 1)
    if words["teen"]:
        return 13 + TEENS.index(words["teen"])
    return 20 + 10 * TENS.index(words["tens"]) + ones[words["one"]]
