"""A person's own cards as words: the sides of a cloze, and the line that a card is known by."""
import re
from html import unescape

from questions.markup import MARKDOWN, safe_html

LONGEST_LINE = 160
# A gap and its hint are of limited length, so that no text takes long to look through.
CLOZE = re.compile(
    r"\{\{c(\d{1,3})::((?:(?!\{\{|\}\}).){0,4000}?)(?:::((?:(?!\{\{|\}\}).){0,400}?))?\}\}", re.DOTALL)
INLINE_TAG = re.compile(r"</?(?:em|strong|code|a)\b[^>]*>")
TAG = re.compile(r"<[^>]*>")


def cloze_numbers(text: str) -> list[int]:
    """The numbers of a text's clozes, 1 to 999, each once, in order: there is a card for each."""
    found, inner = set(), text
    while matches := list(CLOZE.finditer(inner)):
        found |= {int(match[1]) for match in matches}
        inner = CLOZE.sub(lambda match: match[2], inner)
    return sorted(found - {0})


def cloze_sides(text: str, number: int) -> tuple[str, str]:
    """The front and the back of the card of one cloze, in Markdown: it left out or by its hint, and it in bold; what
    other clozes hold is said."""
    return _filled(text, number, shown=False), _filled(text, number, shown=True)


def _filled(text: str, number: int, shown: bool) -> str:
    def said(match: re.Match[str]) -> str:
        if int(match[1]) != number:
            return match[2]
        return f"**{match[2].strip()}**" if shown else f"**\\[{(match[3] or '…').strip()}\\]**"

    while CLOZE.search(text):  # the innermost first
        text = CLOZE.sub(said, text)
    return text


def filled(text: str) -> str:
    """A text with its clozes filled in."""
    while CLOZE.search(text):
        text = CLOZE.sub(lambda match: match[2], text)
    return text


def asked_line(text: str) -> str:
    """A text in one plain line as line_of() has it, but with each of its gaps left open."""
    while CLOZE.search(text):
        text = CLOZE.sub(lambda match: f"\\[{(match[3] or '…').strip()}\\]", text)
    return line_of(text)


def line_of(text: str) -> str:
    """A text in one plain line of at most 160 characters, its clozes filled in, safe wherever a note's `ask` stands."""
    text = filled(text)
    plain = " ".join(unescape(TAG.sub(" ", INLINE_TAG.sub("", MARKDOWN.render(text)))).split())
    plain = plain.replace("[[", "[").replace("[^", "[")
    return plain if len(plain) <= LONGEST_LINE else f"{plain[:LONGEST_LINE - 1]}…"


def html_of(text: str) -> str:
    """Safe HTML of a side; no figures are filled in."""
    return safe_html(text, False).strip()
