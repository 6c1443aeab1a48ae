"""The field's terms: read from their file, checked, and found in what the bank says."""
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path

FILE = Path(__file__).resolve().parent / "bank" / "glossary.toml"
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SENTENCES = 2
LONGEST = 420  # characters of a term's two sentences
SENTENCE_END = re.compile(r"(?<=[.])\s+(?=[A-Z`])")
# Where a term stays plain text: what is code, a link or a heading already.
SHUT = re.compile(r"<(a|code|pre|h[1-6]|th)\b.*?</\1>|<[^>]*>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Term:
    """A term as this site uses it, in two sentences of Markdown; `also` are other ways to write it."""

    slug: str
    name: str
    text: str
    also: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.also)

    @property
    def first(self) -> str:
        """Its first sentence."""
        return SENTENCE_END.split(self.text)[0]


def parse_terms(text: str) -> list[Term]:
    """The terms of a file's text in its order. Raises ValueError with a sentence when it can't be read as terms."""
    entries = tomllib.loads(text).get("term", [])
    terms = []
    for number, entry in enumerate(entries, 1):
        if unknown := entry.keys() - {"slug", "name", "text", "also"}:
            raise ValueError(f"term {number}: There is no such key: {', '.join(sorted(unknown))}.")
        if missing := {"slug", "name", "text"} - entry.keys():
            raise ValueError(f"term {number}: It has no {', '.join(sorted(missing))}.")
        terms.append(Term(entry["slug"], entry["name"], entry["text"].strip(), tuple(entry.get("also", ()))))
    return terms


def term_faults(terms: Iterable[Term]) -> Iterator[str]:
    """A sentence for each fault of the terms."""
    slugs: set[str] = set()
    names: dict[str, str] = {}
    for term in terms:
        if not SLUG.fullmatch(term.slug):
            yield f"{term.slug}: It is no slug: small letters, digits and single hyphens."
        if term.slug in slugs:
            yield f"{term.slug}: The slug is taken by another term."
        slugs.add(term.slug)
        if len(found := SENTENCE_END.split(term.text)) != SENTENCES:
            yield f"{term.slug}: It has {len(found)} sentences; {SENTENCES} are asked for."
        if len(term.text) > LONGEST:
            yield f"{term.slug}: It has {len(term.text)} characters; {LONGEST} at most."
        for name in term.names:
            if not name.strip():
                yield f"{term.slug}: One of its names is empty."
            if names.setdefault(spelling(name), term.slug) != term.slug:
                yield f"{term.slug}: “{name}” is {names[spelling(name)]} already."


def read_terms(path: Path = FILE) -> list[Term]:
    """The terms of the bank."""
    return parse_terms(path.read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def terms() -> dict[str, Term]:
    """The bank's terms by slug, in the order of their names."""
    return {term.slug: term for term in sorted(read_terms(), key=lambda term: term.name.casefold())}


def spelling(name: str) -> str:
    """A name as it is compared: capitals count only in what is written with them alone, such as TP."""
    abbreviation = name.isupper() or re.fullmatch(r"[A-Z0-9]+s?", name)
    return name if abbreviation else name.casefold().replace("’", "'")


@lru_cache(maxsize=1)
def names() -> tuple[re.Pattern[str], Mapping[str, str]]:
    """What finds any of the terms' names, the longest first, and the term of each name."""
    slugs = {spelling(name): term.slug for term in terms().values() for name in term.names}
    exact = [name for name in slugs if name != name.casefold()]
    loose = [name for name in slugs if name == name.casefold()]
    longest = sorted(exact + loose, key=len, reverse=True)
    written = "|".join(re.escape(name) if name in exact else any_case(name) for name in longest)
    return re.compile(rf"(?<![\w/.-])(?:{written})(?:s|es)?(?![\w-])"), slugs


def any_case(name: str) -> str:
    """What finds a name in small letters or capitals, its words apart by spaces or hyphens, either apostrophe in it."""
    return f"(?i:{re.escape(name)})".replace(r"\ ", r"[\s\u00a0-]+").replace("'", "['’]")


def slug_of(written: str) -> str | None:
    """The term that a text names, in the plural as well."""
    _, slugs = names()
    joined = re.sub(r"\s+", " ", written.replace("\u00a0", " ").replace("’", "'"))
    for text in (joined, joined.removesuffix("s"), joined.removesuffix("es")):
        for form in (text, text.casefold(), text.casefold().replace("-", " ")):
            if form in slugs:
                return slugs[form]
    return None


@lru_cache(maxsize=8_192)
def pieces(html: str) -> tuple[str | tuple[str, str], ...]:
    """Safe HTML in pieces: what stays as it is, and (term, text) where one is named in running text."""
    found: list[str | tuple[str, str]] = []
    at = 0
    for shut in [*SHUT.finditer(html), None]:
        found += named(html[at:shut.start() if shut else len(html)])
        if shut:
            found.append(shut[0])
            at = shut.end()
    return tuple(found)


def named(text: str) -> Iterator[str | tuple[str, str]]:
    """A text without tags in such pieces."""
    pattern, _ = names()
    at = 0
    for match in pattern.finditer(text):
        if slug := slug_of(match[0]):
            yield text[at:match.start()]
            yield slug, match[0]
            at = match.end()
    yield text[at:]


def named_in(html: str) -> set[str]:
    """The terms that safe HTML names in its running text."""
    return {piece[0] for piece in pieces(html) if not isinstance(piece, str)}


class Linked:
    """Links each term where one page names it first."""

    def __init__(self, address: str, seen: Iterable[str] = ()) -> None:
        self.address = address
        self.seen = set(seen)

    def __call__(self, html: str) -> str:
        """The HTML with a link at each term that was not seen before."""
        return "".join(piece if isinstance(piece, str) else self.link(*piece) for piece in pieces(html))

    def link(self, slug: str, text: str) -> str:
        if slug in self.seen:
            return text
        self.seen.add(slug)
        return f'<a class="term" href="{escape(self.address)}#{slug}">{text}</a>'
