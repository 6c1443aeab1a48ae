"""Words as the search compares them: stems, near spellings, and how well a document answers what was typed."""
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

WORD = re.compile(r"[0-9]+(?:\.[0-9]+)*(?=(?:[kmgt]i?b|[mu]s|[qr]ps)\b)|[^\W_]+(?:\.[0-9]+)*")  # 80gb is 80 and gb
STANDS_ANYWHERE = (
    "a an the is are was were be been am i my me our we you your it its of to in on at for and or with by from as that "
    "this these those there their them they what which how why when where who does do did can could should would will "
    "may has have had if then than but so just get gets got any some into about explain tell "
    "pick choose set want need needed use using make makes made happen happens much too very still now go goes went "
    "mean though might shall please rather thus ones"
)
STOPS = frozenset(STANDS_ANYWHERE.split())
ENDINGS = (
    "izations", "isations", "ization", "isation", "ations", "ation", "ative", "ating", "ated", "ators", "ator", "ate",
    "izing", "ising", "ized", "ised", "izer", "ize", "ise", "ances", "ance", "ences", "ence", "ments", "ment", "ings",
    "ing", "ions", "ion", "ers", "er", "ed", "ness", "able", "ible", "ly",
)
SHORTEST_STEM = 3
# A field's weight, and how much its length counts against a word in it.
FIELDS = {"title": (6.0, 0.3), "asked_as": (4.0, 0.0), "ask": (2.5, 0.4), "text": (1.0, 0.6)}
NUMBERS_COUNT = 0.3  # of what a word does: a typed number is an example more often than a name
GUESSES_COUNT = 0.6  # of what a word does: what a slip was read as may be a word we don't know
CLOSE = 1.5  # what a phrase of a document adds that is just what was typed, as a share of the score
SATURATION = 4.0  # from about which weighted count on one more says little


def words_of(text: str) -> list[str]:
    """The words of a text in small letters without accents; a number keeps its point."""
    plain = text.casefold()
    if not plain.isascii():
        spread = unicodedata.normalize("NFKD", plain)
        plain = "".join(letter for letter in spread if not unicodedata.combining(letter))
    return WORD.findall(plain)


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """What the forms of a word have in common: "preempted" and "preemption" are both "preempt"."""
    if any(letter.isdigit() for letter in word):
        return word.replace(".", "d")  # one word to any database
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith("ss") and len(word) > SHORTEST_STEM:
        word = word[:-1]
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            word = word[:-len(ending)]
            if word[-1] == word[-2] and word[-1] not in "lse":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > SHORTEST_STEM else word


def stems_of(text: str) -> list[str]:
    """The stems of a text's words, those left out that stand in any text."""
    return [stem(word) for word in words_of(text) if word not in STOPS]


def distance(one: str, other: str, most: int) -> int:
    """How many letters have to be changed, put in, left out or swapped with their neighbour; `most` + 1 for more."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before, row = [], list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        earlier, before, row = before, row, [at]
        for to, wanted in enumerate(other, 1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == wanted:
                cost = min(cost, earlier[to - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]


def nearest(word: str, vocabulary: Mapping[str, int]) -> str:
    """The word of a vocabulary {word: how often} that was probably meant; empty when none is near.

    Short words are abbreviations and are taken as they stand; from eight letters on two slips are forgiven. The first
    letter is hardly ever a slip, but for one swapped with the second: another one there makes another word.
    """
    if len(word) < 5 or word[0].isdigit():
        return ""
    most = 1 if len(word) < 8 else 2
    found = [
        (distance(word, other, most), -count, other) for other, count in vocabulary.items()
        if abs(len(other) - len(word)) <= most and len(set(word) ^ set(other)) <= 2 * most
        and (other[0] == word[0] or other[:2] == word[1::-1])
    ]
    near = min(found, default=(most + 1, 0, ""))
    return near[2] if near[0] <= most else ""


Counts = Mapping[str, Sequence[int]]  # {stem: how often in each of FIELDS}


@lru_cache(maxsize=2_048)
def counted(texts: tuple[str, ...]) -> tuple[dict[str, list[int]], list[int]]:
    """How often each stem stands in each of FIELDS, whose texts these are, and how many stems each has."""
    counts: dict[str, list[int]] = {}
    lengths = []
    for at, text in enumerate(texts):
        stems = stems_of(text)
        lengths.append(len(stems))
        for word, count in Counter(stems).items():
            counts.setdefault(word, [0] * len(texts))[at] = count
    return counts, lengths


@dataclass(frozen=True, slots=True)
class Term:
    """One thing looked for: stems that say it, each with how well it does, 1 for what was typed; and whether the word
    is a guess at what was meant."""

    typed: str
    weights: Mapping[str, float]
    guessed: bool = False


def terms_of(text: str, synonyms: Iterable[Sequence[str]], meant: Mapping[str, str]) -> list[Term]:
    """What a typed text looks for. `synonyms` are groups of phrases that say one thing, `meant` is what a misspelt word
    was read as; words that stand in any text count only where there are no others."""
    words = [meant.get(word, word) for word in words_of(text)]
    words = [word for word in words if word not in STOPS] or words
    typed = [stem(word) for word in words]
    weights: dict[str, dict[str, float]] = {word: {word: 1.0} for word in typed}
    for group in synonyms:
        phrases = [stems_of(phrase) for phrase in group]
        for phrase in phrases:
            if not stands_in(phrase, typed):
                continue
            for other in phrases:
                for word in other:
                    for own in phrase:
                        weight = 0.5 / len(other) ** 0.5
                        if word not in phrase:
                            weights[own][word] = max(weights[own].get(word, 0), weight)
    guesses = {stem(word) for word in meant.values()}
    return [Term(word, stems, word in guesses) for word, stems in weights.items()]


def stands_in(phrase: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the phrase's words stand one after the other in the words."""
    size = len(phrase)
    return bool(size) and any(list(words[at:at + size]) == list(phrase) for at in range(len(words) - size + 1))


@dataclass(frozen=True, slots=True)
class Bag:
    """A document as it is compared: its counts and lengths as counted() has them, and phrases that ask for it."""

    counts: Counts
    lengths: Sequence[int]
    phrases: Sequence[Sequence[str]] = ()  # each as its stems


def scores(terms: Sequence[Term], documents: Sequence[Bag], total: int) -> list[float]:
    """How well each document answers the terms (BM25 over weighted fields); of `total` documents in all these are those
    that hold at least one of the stems."""
    if not documents:
        return []
    sizes = list(zip(*(one.lengths for one in documents), strict=True))
    means = [max(sum(size) / len(documents), 1) for size in sizes]
    rarity = [rarity_of(term, documents, total) for term in terms]
    whole = sum(rarity) or 1
    found = []
    for one in documents:
        held = [weight_in(term, one.counts, one.lengths, means) for term in terms]
        score = sum(rare * weight / (SATURATION + weight) for rare, weight in zip(rarity, held, strict=True))
        share = sum(rare for rare, weight in zip(rarity, held, strict=True) if weight) / whole
        near = max((closeness(terms, rarity, phrase) for phrase in one.phrases), default=0)
        # Who answers all of it goes before who repeats a part, and who is asked for in such words before both.
        found.append(score * (0.4 + 0.6 * share) * (1 + CLOSE * near**2))
    return found


def rarity_of(term: Term, documents: Sequence[Bag], total: int) -> float:
    """How much a term tells. It is as rare as what was typed; only where that stands nowhere, as what else says it."""
    found = sum(term.typed in one.counts for one in documents)
    found = found or sum(any(word in one.counts for word in term.weights) for one in documents)
    rare = math.log(1 + (total - found + 0.5) / (found + 0.5))
    if term.guessed:
        rare *= GUESSES_COUNT
    return rare * NUMBERS_COUNT if term.typed.replace("d", "").isdigit() else rare


def closeness(terms: Sequence[Term], rarity: Sequence[float], phrase: Sequence[str]) -> float:
    """How near a phrase comes to what was typed, 1 for the same words: what both say over what either says."""
    said = [max((weight for word, weight in term.weights.items() if word in phrase), default=0) for term in terms]
    both = sum(rare * weight for rare, weight in zip(rarity, said, strict=True))
    more = len(set(phrase) - {word for term in terms for word in term.weights})
    return both / ((sum(rarity) or 1) * (1 + more / len(terms)))


def weight_in(term: Term, counts: Counts, lengths: Sequence[int], means: Sequence[float]) -> float:
    """The weighted count of a term in a document."""
    held = 0.0
    for word, weight in term.weights.items():
        if (stood := counts.get(word)) is None:
            continue
        for (worth, by_length), count, length, mean in zip(FIELDS.values(), stood, lengths, means, strict=True):
            held += weight * worth * count / (1 - by_length + by_length * length / mean)
    return held
